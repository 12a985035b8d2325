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
from collections.abc import Callable, Iterator
from typing import NamedTuple

VERSION = 1
"""Goes up with every change of a rule below: what is stored is then redacted anew."""


class Rule(NamedTuple):
    """One kind of secret.

    pattern: finds it in decoded text; the group `v` is the secret, without one all of the match.
    hint:    superset of the pattern over undecoded text, in the syntax common to re and Hyperscan.
    words:   of which one must stand in the lower-cased text: for machines without Hyperscan.
    accepts: a last look at the match.
    """

    kind: str
    pattern: re.Pattern[str]
    hint: str
    words: tuple[str, ...]
    accepts: Callable[[re.Match[str]], bool] = lambda _: True


# A token does not start inside a word; the `n` of a line break that is escaped once more is none.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
_END = "(?![A-Za-z0-9])"
"""After a token of fixed length: a longer run is something else, and would be peeled piece by piece."""
_QUOTES = r"""["'`\\]{0,12}"""
_NAME = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|api[_-]?key|access[_-]?key|auth[_-]?key"
    r"|private[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|account[_-]?key|license[_-]?key)"
)
_SUFFIX = r"(?:[_-]?(?:key|value|hash|base64|b64|prod|dev|test|staging|live|old|new|backup|string|base|\d{1,3})){0,2}s?"
_NAME_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential"),
    *(f"{name}{between}key" for name in ("api", "access", "auth", "private", "signing") for between in ("", "_", "-")),
    *(f"{name}{between}key" for name in ("encryption", "master", "account", "license") for between in ("", "_", "-")),
)
_VALUE = r"""[^\s"'`\\]"""
_PLACES = "|".join(f"{_VALUE * n}[A-Za-z]{_VALUE * (5 - n)}" for n in range(5))
_SOME = rf"""[=>]?[\s\\nrtbuf"'`]*(?:{_PLACES}|{_VALUE * 5}+[A-Za-z])"""
"""Of a hint: six characters of a value, one of them a letter. Token counts stand in every answer's line."""

_PLACEHOLDER = re.compile(
    r"(?:x+|\*+|\.+|-+|_+|#+|\?+|0+|1234\w*|abcd\w*|your[-_ ].*|my[-_ ].*|[<$%{(\[@&!=/].*"
    r"|.*(?:example|placeholder|changeme|change_me|redacted|dummy).*"
    r"|(?:.*[-_. ])?(?:fake|sample|insert|here|todo|tests?)(?:[-_. ].*)?"
    r"|none|null|nil|true|false|undefined|test|string|str|int|bytes|bool|object|any|required|optional"
    r"|pass(?:word|wd|phrase)?|pwd|secret|token|user(?:name)?|admin|root|guest|postgres|\w+_here)[;,]?",
    re.IGNORECASE,
)
_CODE = re.compile(
    r".*[({\[<>]|.*\)|[A-Za-z_][\w.]*[(\[{].*|[a-z_]\w*(?:\.[A-Za-z_]\w*)+[,;)\]}]*|[a-z]+(?:[-_][a-z]+)*\d{0,4}[,;)\]}]*|(?:[a-z]+[-_/])*[a-z]+\d{1,3}"
    r"(?:[-_/][a-z]+\d{0,3})*[,;)\]}]*|\w+:\w*|[A-Za-z]+|[A-Z]+(?:_[A-Z]+)*|\d+[,;)\]}.]*|[\d.,:;/+-]+|(?:\.{0,2}|~)/.*|https?:.*|[+*|&].*"
)


def _looks_chosen(value: str) -> bool:
    """Whether `value` reads as a password or a key rather than as code or prose around the name: digits
    and letters mixed beyond a name with a number, or a mark among letters."""
    if _PLACEHOLDER.fullmatch(value) or _CODE.fullmatch(value):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    return digits >= 1 and letters >= 2


def _assigned(match: re.Match[str]) -> bool:
    """Of `NAME=value` in capitals, as an environment has it, any value counts that is none of code."""
    value = match["v"].rstrip(",;)]}")
    if not any(c.isascii() and c.isalpha() for c in match["v"]):
        return False
    if match["name"].isupper() and match["sep"] == "=" and not _PLACEHOLDER.fullmatch(value):
        code = value.isupper() or value.isdigit() or re.search(r"[(){}<>\[\]|]|^[a-z_]+\.[a-z_.]+$", value)
        return len(value) >= 6 and not code
    return len(value) >= 8 and _looks_chosen(value)


def _login(match: re.Match[str]) -> bool:
    """The password of a URL, unless it is only the place of one."""
    return not _PLACEHOLDER.fullmatch(match["v"])


def _mixed(match: re.Match[str]) -> bool:
    """Letters and digits, as random keys have them and words do not."""
    value = match["v"]
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _credential(match: re.Match[str]) -> bool:
    """What follows `Authorization:` or `Bearer`, unless it is a name or a piece of code."""
    value = match["v"]
    return _mixed(match) and not _CODE.fullmatch(value) and not _PLACEHOLDER.fullmatch(value)


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
            # As far as its end; without one, lines of base64, however they are broken, escaped or numbered.
            r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\\[rn]|[\s>|]|[0-9]{1,6}(?:\t|→))*+[A-Za-z0-9+/=:,-]{16,}+)*+)"
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
    yield Rule("crates-token", re.compile(_START + crates + _END), r"cio[A-Za-z0-9]{32}", ("cio",), _mixed)
    yield Rule("sk-key", re.compile(_START + key), r"sk-[A-Za-z0-9]{32}", ("sk-",), _mixed)


def _words() -> Iterator[Rule]:
    """Secrets told by the words before them."""
    yield Rule(
        "url-password",
        re.compile(r"""(?<=://)[^\s/:@"'`\\<>\[\]]*+:(?P<v>[^\s/@"'`\\<>\[\](){}]{3,}+)@(?=[\w\[.-])"""),
        r"""/[^\s/:@"]*:[^\s/@"]*@""",
        ("://",),
        _login,
    )
    yield Rule(
        "url-token",
        re.compile(r"(?<=://)(?P<v>[A-Za-z0-9_-]{20,256}+)@(?=\w)"),
        r"/[A-Za-z0-9_-]{20,}@",
        ("://",),
        _mixed,
    )
    yield Rule(
        "authorization",
        re.compile(
            rf"(?i:authorization{_QUOTES}\s{{0,4}}[:=,]\s{{0,4}}{_QUOTES}(?:basic|bearer|token|digest|apikey|bot)?\s{{0,4}})"
            r"(?P<v>[A-Za-z0-9._~+/=:-]{8,}+)"
        ),
        r"(?i)authorization[^A-Za-z0-9]",
        ("authorization",),
        _credential,
    )
    yield Rule(
        "bearer-token",
        re.compile(r"(?<![A-Za-z0-9])(?i:bearer)\s{1,4}(?P<v>[A-Za-z0-9._~+/=-]{16,}+)"),
        r"(?i)bearer[\s\\nrt]",
        ("bearer",),
        _credential,
    )
    yield Rule(
        "netrc-password",
        re.compile(r"(?<![a-z])login\s{1,8}[^\s]{1,128}+\s{1,8}password\s{1,8}(?P<v>[^\s\"'\\]{3,}+)"),
        r"(?s)login[\s\\].*password",
        ("password",),
        _login,
    )
    yield Rule(
        "curl-password",
        re.compile(r"""(?<=\s)(?:-u|--user|--proxy-user)[ =]{1,2}["']?[^\s:"'\\$]{1,128}+:(?P<v>[^\s"'\\$]{3,}+)"""),
        r"(?:-u|-user)[\s=\\]",
        ("-u ", "-u=", "-user ", "-user="),
        _login,
    )
    yield Rule(
        "flag",
        re.compile(
            r"(?<![\w-])--?(?:[a-z]{1,20}-){0,3}+(?:pass(?:word|wd|phrase)?|secret|token|api-?key|access-?key|auth)"
            rf"(?:=|\s{{1,2}}){_QUOTES}(?P<v>{_VALUE}{{6,}}+)"
        ),
        r"-(?:pass|secret|token|api-?key|access-?key|auth)",
        ("-pass", "-secret", "-token", "-apikey", "-api-key", "-accesskey", "-access-key", "-auth"),
        lambda match: _looks_chosen(match["v"]),
    )
    yield Rule(
        "assignment",
        re.compile(
            rf"(?P<name>(?i:{_NAME})(?i:{_SUFFIX})){_QUOTES}\]?\s{{0,8}}(?P<sep>:=|=>|->|[:=])\s{{0,8}}"
            rf"(?:[bruf]{{1,2}}(?=[\"']))?{_QUOTES}(?P<v>{_VALUE}{{6,}}+)"
        ),
        rf"(?i){_NAME}(?:[_-]?[a-z0-9]{{1,7}}){{0,2}}s?[\"'`\\\]]*[\s\\nrt]*[:=-]{_SOME}",
        _NAME_WORDS,
        _assigned,
    )


BUILTIN: tuple[Rule, ...] = (*(_token(*row) for row in _TOKENS), *_shapes(), *_words())
"""Every rule; where two find the same place, the first names the kind."""

# --- files that hold secrets -------------------------------------------------------------------------

FILE_HINT = (
    r"(?i)(?:[/\"'\s=\\]\.env(?:rc)?[\"'\s\\.:;|&)]|\.env[\"'\s\\]|id_(?:rsa|dsa|ecdsa|ed25519)|\.(?:pem|p12|pfx|ppk|jks|keystore|kdbx|key"
    r"|tfstate|tfvars|asc|gpg)[\"'\s\\.:;|&)]|credentials|[._](?:netrc|npmrc|pypirc|pgpass|htpasswd|dockercfg|authinfo"
    r"|vault-token|my\.cnf)|secrets?\.(?:ya?ml|json|toml|env|ini)|service[-_]account|kubeconfig|\.kube|\.docker)"
)
"""What must stand in a line that names a secret file."""
FILE_WORDS = (
    *(".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".pem", ".p12", ".pfx", ".ppk", ".jks", ".keystore"),
    *(".kdbx", ".key", ".tfstate", ".tfvars", ".asc", ".gpg", "credentials", "netrc", ".npmrc", ".pypirc", ".pgpass"),
    *(".htpasswd", ".dockercfg", ".authinfo", ".vault-token", ".my.cnf", "secret.", "secrets.", "service-account"),
    *("service_account", "kubeconfig", ".kube", ".docker"),
)
SECRET_FILE = re.compile(
    r"(?:.*[/\\])?(?:"
    r"\.env(?:rc|\.(?!example$|sample$|template$|dist$|defaults?$|schema$)[^/\\]*)?|[^/\\]+\.env"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)[^/\\.]*"
    r"|[^/\\]+\.(?:pem|p12|pfx|ppk|jks|keystore|kdbx|key|tfstate|tfstate\.backup|auto\.tfvars|asc|gpg)|terraform\.tfvars"
    r"|\.?credentials(?:\.(?:json|ya?ml|toml|ini|xml|csv|txt|ya?ml\.enc|db))?|\.git-credentials"
    r"|[._]netrc|\.npmrc|\.pypirc|\.pgpass|\.htpasswd|\.dockercfg|\.authinfo|\.vault-token|\.my\.cnf"
    r"|secrets?\.(?:ya?ml|json|toml|env|ini)|service[-_]account[^/\\]*\.json|kubeconfig"
    r"|\.kube[/\\]config|\.docker[/\\]config\.json|\.aws[/\\]config)",
    re.IGNORECASE,
).fullmatch
"""Truthy for the path of a file whose content is never stored."""

READERS = re.compile(
    r"(?:^|[;&|(`$\s])(?:cat|bat|batcat|less|more|head|tail|nl|tac|strings|xxd|od|base64|sed|awk|grep|egrep|rg|diff|cut|sort"
    r"|type|Get-Content|gc)\s([^;&|`)\n]{1,2000})"
)
"""Shell commands that print files; group 1 holds their arguments."""
