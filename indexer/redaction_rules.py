"""What a secret looks like: one rule a kind, and the names of files that hold nothing else.

A rule has two faces. `pattern` (Python's re) says exactly what is taken out: its group `v`, or all of it.
`hint` says, in the language that re and Hyperscan share, what must stand in the *undecoded* JSON line for
the pattern to be able to match the decoded text: no quotes, no line breaks, no look-around. So one scan of
the line's bytes tells that none of the rules can match, which is so for 97 of 100 lines.

Bounded by construction (worst hostile input 200 ms for 200 KB): what repeats is possessive or has a bound,
no two repeated parts can take the same characters, and what may start anywhere in a run of its own
characters is anchored to the run's start.

Formats are those the vendors document and gitleaks lists; `assignment` and `flag` are ours. Not found, by
design: a password in a sentence ("it is hunter2"), a secret without a known form that no name announces,
ids that are no secrets by themselves (commit shas, uuids, `req_`, `msg_`, `toolu_`), publishable keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.redaction_commands import on_command_lines
from indexer.redaction_forms import GAP, Rule, mixed
from indexer.redaction_words import around

VERSION = 2
"""Goes up with every change of a rule below: what is stored is then redacted anew."""


# A token does not start inside a word; the `n` of a line break that is escaped once more is none.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
_END = "(?![A-Za-z0-9])"
"""After a token of fixed length: a longer run is something else, and would be peeled piece by piece."""
_TOKENS = (
    ("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{20,}+", "sk-ant-", ""),
    (
        "openai-key",
        r"sk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}+",
        "sk-proj- sk-svcacct- sk-admin- sk-none- sk-or-v1-",
        "",
    ),
    ("aws-access-key-id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "akia asia abia acca", "word"),
    ("github-token", r"gh[pousr]_[A-Za-z0-9]{30,}+", "ghp_ gho_ ghu_ ghs_ ghr_", ""),
    ("github-pat", r"github_pat_[A-Za-z0-9_]{22,}+", "github_pat_", ""),
    (
        "gitlab-token",
        r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt|ffct)-[A-Za-z0-9_-]{20,}+",
        "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glagent- gloas- glimt- glffct-",
        "",
    ),
    ("slack-token", r"xox[abeoprs][.-][A-Za-z0-9.-]{10,}+", "xox", ""),
    ("slack-app-token", r"xapp-[0-9]-[A-Za-z0-9-]{20,}+", "xapp-", ""),
    (
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/+-]{20,}+",
        "hooks.slack.com",
        "",
    ),
    ("discord-webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{20,}+", "/api/webhooks/", ""),
    ("stripe-key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+", "k_live_ k_test_", "start"),
    ("webhook-secret", r"whsec_[A-Za-z0-9+/=]{24,}+", "whsec_", ""),
    ("google-api-key", r"AIza[A-Za-z0-9_-]{30,}+", "aiza", ""),
    ("google-oauth-secret", r"GOCSPX-[A-Za-z0-9_-]{20,}+", "gocspx-", ""),
    ("google-oauth-token", r"ya29\.[A-Za-z0-9_-]{20,}+", "ya29.", ""),
    ("google-refresh-token", r"1//0[A-Za-z0-9_-]{30,}+", "1//0", "start"),
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+", "eyj", "start"),
    ("jwe", r"eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{10,}+){4}", "eyj", "start"),
    ("npm-token", r"npm_[A-Za-z0-9]{36,}+", "npm_", ""),
    ("pypi-token", r"pypi-[A-Za-z0-9_-]{50,}+", "pypi-", ""),
    ("rubygems-key", r"rubygems_[0-9a-f]{40,}+", "rubygems_", ""),
    ("huggingface-token", r"hf_[A-Za-z0-9]{30,}+", "hf_", "start"),
    ("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+", "sg.", "start"),
    ("mailgun-key", r"key-[0-9a-f]{32}", "key-", "word"),
    ("mailchimp-key", r"[0-9a-f]{32}-us[0-9]{1,2}", "-us", "word"),
    ("twilio-key", r"SK[0-9a-f]{32}", "sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf", "word"),
    ("digitalocean-token", r"do[opr]_v1_[0-9a-f]{40,}+", "doo_v1_ dop_v1_ dor_v1_", ""),
    ("shopify-token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}+", "shpat_ shpca_ shppa_ shpss_", ""),
    ("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{20,}+", "hvs. hvb. hvr.", "start"),
    ("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}+", "lin_api_ lin_oauth_", ""),
    ("postman-key", r"PMAK-[0-9a-f-]{40,}+", "pmak-", ""),
    ("docker-token", r"dckr_[op]at_[A-Za-z0-9_-]{20,}+", "dckr_", ""),
    ("telegram-token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}+", ":aa", "start"),
    ("new-relic-key", r"NRAK-[A-Z0-9]{27,}+", "nrak-", ""),
    ("doppler-token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}+", "dp.", "start"),
    ("databricks-token", r"dapi[0-9a-f]{32}", "dapi", "word"),
    ("figma-token", r"figd_[A-Za-z0-9_-]{38,}+", "figd_", ""),
    ("notion-token", r"(?:ntn|secret)_[A-Za-z0-9]{40,}+", "ntn_ secret_", "start"),
    ("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat", "word"),
    ("grafana-token", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}+", "glsa_ glc_", ""),
    ("groq-key", r"gsk_[A-Za-z0-9]{40,}+", "gsk_", "start"),
    ("xai-key", r"xai-[A-Za-z0-9]{60,}+", "xai-", "start"),
    ("perplexity-key", r"pplx-[A-Za-z0-9]{40,}+", "pplx-", ""),
    ("replicate-token", r"r8_[A-Za-z0-9]{37,}+", "r8_", "start"),
    ("atlassian-token", r"ATATT3[A-Za-z0-9_=-]{50,}+", "atatt3", ""),
    ("supabase-key", r"sb(?:p|_secret)_[A-Za-z0-9_-]{30,}+", "sbp_ sb_secret_", "start"),
    ("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}+", "pscale_", ""),
    ("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}+", "sntrys_ sntryu_", ""),
    ("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}+", ".atlasv1.", "start"),
    ("tailscale-key", r"tskey-[a-z]{2,12}-[A-Za-z0-9-]{20,}+", "tskey-", ""),
    ("square-token", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}+", "sq0atp- sq0csp- sq0idp-", ""),
    ("dropbox-token", r"sl\.[A-Za-z0-9_-]{60,}+", "sl.", "start"),
    ("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+", "age-secret-key-1", ""),
    ("1password-token", r"ops_eyJ[A-Za-z0-9+/=_-]{40,}+", "ops_eyj", ""),
)
"""Keys that vendors gave a prefix so that they can be found: kind, form, words, where it may stand. "start": not
inside a word; "word": nor may a word go on after it, which would else be peeled piece by piece."""


_LONG = re.compile(r"\{(?:1[7-9]|[2-9][0-9]|[0-9]{3})(?=,?\})")


def _token(kind: str, form: str, words: str, place: str) -> Rule:
    """A token told by its own form. Its characters are never escaped, so the form is its own hint; long
    repeats, which take Hyperscan its time to compile, are shortened in it."""
    start, end = _START if place else "", _END if place == "word" else ""
    return Rule(
        kind, re.compile(start + form + end), _LONG.sub("{16", re.sub(r"(?<=[}*])\+", "", form)), tuple(words.split())
    )


def _shapes() -> Iterator[Rule]:
    """Secrets told by what stands around them."""
    yield Rule(
        "private-key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            # As far as its end; without one, lines of base64, however they are broken, escaped, quoted or numbered.
            r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rf"|(?:(?:[\"',]|{GAP}){{0,48}}+(?:[A-Za-z0-9+/=:,-]{{16,}}+|[A-Za-z0-9+/]{{2,15}}+={{1,2}}))*+)"
        ),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY",
        ("private key",),
    )
    yield Rule(
        "azure-key",
        re.compile(r"(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,}+={0,2})"),
        r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40}",
        ("accountkey=", "sharedaccesskey="),
    )
    yield Rule(
        "azure-sas",
        re.compile(r"[?&;]sig=(?P<v>[A-Za-z0-9%+/]{40,}+={0,2})"),
        r"sig=[A-Za-z0-9%+/]{40}",
        ("sig=",),
    )
    crates, key = r"(?P<v>cio[A-Za-z0-9]{32})", r"sk-(?P<v>[A-Za-z0-9]{32,}+)"
    yield Rule("crates-token", re.compile(_START + crates + _END), r"cio[A-Za-z0-9]{32}", ("cio",), mixed)
    yield Rule("sk-key", re.compile(_START + key), r"sk-[A-Za-z0-9]{32}", ("sk-",), mixed)


BUILTIN: tuple[Rule, ...] = (*(_token(*row) for row in _TOKENS), *_shapes(), *around(), *on_command_lines())
"""Every rule; where two find the same place, the first names the kind."""
