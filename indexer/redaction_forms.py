"""What a rule of redaction is, and the last looks at what its pattern has found: password, code or prose?

A pattern says where a secret may stand, these say whether what stands there is one. They look at one value,
never at the text around it for longer than a few hundred characters, so that they cost a constant each.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret.

    pattern: finds it in decoded text; the group `v` is the secret, without one all of the match.
    hint:    superset of the pattern over undecoded text, in the syntax common to re and Hyperscan.
    words:   of which one must stand in the lower-cased text: for machines without Hyperscan.
    accepts: a last look at the match.
    within:  where several secrets stand in one place: finds each (its group `v`) in what `pattern` found;
             `accepts` then looks at these.
    """

    kind: str
    pattern: re.Pattern[str]
    hint: str
    words: tuple[str, ...]
    accepts: Callable[[re.Match[str]], bool] = lambda _: True
    within: re.Pattern[str] | None = None


QUOTES = r"""["'`\\]{0,12}"""
VALUE = r"""[^\s"'`\\]"""
NAME = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|api[_-]?key|access[_-]?key|auth[_-]?key"
    r"|private[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|account[_-]?key|license[_-]?key|preshared[_-]?key)"
)
SUFFIX = r"(?:[_-]?(?:key|value|hash|base64|b64|prod|dev|test|staging|live|old|new|backup|string|base|\d{1,3})){0,2}s?"
NAME_WORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential"),
    *(f"{name}{between}key" for name in ("api", "access", "auth", "private", "signing") for between in ("", "_", "-")),
    *(
        f"{name}{between}key"
        for name in ("encryption", "master", "account", "license", "preshared")
        for between in ("", "_", "-")
    ),
)
START = r"(?:(?<![A-Za-z0-9_.-])|(?<=\\[nrt]))"
"""Of a word, also behind a line break that is escaped."""
BREAK = r"\\{1,8}[rnt]"
"""A line break or tab that was escaped, once or oftener."""
GAP = r"(?:[\s>|+]|\\{1,8}(?:[rnt]|u2192)|[0-9]{1,6}(?:[\t→:|)-]|\\{1,8}(?:t|u2192)))"
"""What may stand between two words that belong together: also the number of the next line."""
QUOTED = r"""(?P<q>\\{0,8}["'])?(?P<v>(?(q)(?:(?!(?P=q))[^\n]){1,200}+|[^\s"'`\\;|&<>]{3,}+))"""
"""A command's argument: in quotes, as far as these go."""

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
_SIGNS = "@!%&=/+*^"
_NO_VALUE = re.compile(r"\$[\w({!@?].*|<.*>?|\{.*|%[\w(].*%|%[sdvq]|@[\w./-]+|\.+|[*x#_-]+|\d{1,2}", re.IGNORECASE)


def is_place(value: str) -> bool:
    """Whether `value` only stands for a secret: `<password>`, `$TOKEN`, `changeme`."""
    return bool(_PLACEHOLDER.fullmatch(value))


def is_code(value: str) -> bool:
    """Whether `value` reads as code or as a word."""
    return bool(_CODE.fullmatch(value))


def looks_chosen(value: str) -> bool:
    """Whether `value` reads as a password or a key rather than as code or prose around the name: digits
    and letters mixed beyond a name with a number, or a mark among letters."""
    if is_place(value) or is_code(value):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    return digits >= 1 and letters >= 2


def is_random(value: str) -> bool:
    """Whether `value` is a key that begins with a sign which base64 has too: no path has a piece of ten
    characters with two numbers and both cases."""
    rest = value.rstrip("=,;")
    if value[0] not in "/+" or not re.fullmatch(r"[A-Za-z0-9+/]{16,}", rest):
        return False
    longest = max(re.split("[/+]", rest), key=len)
    return len(longest) >= 10 and _cases(rest) and bool(re.search(r"\d\D+\d", rest))


def _cases(value: str) -> bool:
    return any(c.isupper() for c in value) and any(c.islower() for c in value)


def _decoded(value: str) -> str:
    """What base64 stands for, if that is plain text; else nothing."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return text if text.isprintable() or text.strip().isprintable() else ""


def is_encoded(value: str) -> bool:
    """Whether `value` is base64 of a text, as Kubernetes keeps secrets. A word of eight letters decodes to
    one once in 400 times; none has a capital inside and decodes."""
    padded = value.endswith("=")
    if len(value) < 8 or len(value) % 4 or not (padded or _cases(value[1:])):
        return False
    return len(_decoded(value)) >= 4


def is_pair(value: str) -> bool:
    """Whether `value` is base64 of `user:password`."""
    user, colon, secret = _decoded(value).partition(":")
    return bool(user and colon and secret) and not is_place(secret)


def is_quoted(match: re.Match[str]) -> bool:
    """Whether the value stands in quotes."""
    before = match.start("v")
    return before > 0 and match.string[before - 1] in "\"'"


def assigned(match: re.Match[str]) -> bool:
    """Of `NAME=value` in capitals, as an environment has it, any value counts that is none of code."""
    value = match["v"].rstrip(",;)]}")
    if not any(c.isascii() and c.isalpha() for c in match["v"]):
        return False
    if is_random(value) or is_encoded(match["v"]):
        return True
    upper = match["name"].isupper() and match["sep"] == "="
    if value[:1] in _SIGNS and (upper or is_quoted(match)) and _cases(value) and looks_chosen(value[1:] + "!"):
        return True
    if _word(match, value):
        return True
    if is_quoted(match) and len(value) >= 40 and not re.search(r"\s", value) and len(set(value)) > 20 and _signs(value):
        return True
    if upper and not is_place(value):
        code = value.isupper() or value.isdigit() or re.search(r"[(){}<>\[\]|]|^[a-z_]+\.[a-z_.]+$", value)
        return len(value) >= 6 and not code
    return len(value) >= 8 and looks_chosen(value)


_WORDS = re.compile(
    r"pass|word|secret|token|(?<!mon)key|user|valid|requir|confirm|enter|strong|weak|short|long|forgot|reset|change|current|old"
    r"|new|hash|crypt|plain|text|auth|login|string|field|input|label|error|empty|missing|match|prompt|default|none|test",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"pass(?:word|wd|phrase|code)|pwd", re.IGNORECASE)


def _signs(value: str) -> bool:
    """Signs of many kinds, as frameworks put them into their keys."""
    return len({c for c in value if not c.isalnum()} - set("-_./:")) >= 4


def _word(match: re.Match[str], value: str) -> bool:
    """A password of words: in quotes that end behind it, or alone on its line as settings have it. What tells of
    passwords (labels, names of fields) mostly says so."""
    if not re.fullmatch(r"[a-z]{10,40}", value) or not _PASSWORD.fullmatch(match["name"]) or _WORDS.search(value):
        return False
    text, end = match.string, match.end("v")
    before = re.split(r"\n|\\+n", text[max(0, match.start() - 80) : match.start()])[-1]
    alone = text[end : end + 1] in ("", "\n", "\r", "\\") and re.fullmatch(r"[\s\w.→:|-]*", before)
    return (is_quoted(match) and text[end : end + 1] in ('"', "'", "\\")) or (match["sep"] in ":=" and bool(alone))


def login(match: re.Match[str]) -> bool:
    """The password of a URL, unless it is only the place of one."""
    return not is_place(match["v"])


def given(match: re.Match[str]) -> bool:
    """What a command is given as a password: anything but a variable or a word that stands for one."""
    value = match["v"]
    if _NO_VALUE.fullmatch(value):
        return False
    return value[0] in _SIGNS or not is_place(value)


def mixed(match: re.Match[str]) -> bool:
    """Letters and digits, as random keys have them and words do not."""
    value = match["v"]
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def credential(match: re.Match[str]) -> bool:
    """What follows `Authorization:` or `Bearer`, unless it is a name or a piece of code."""
    value = match["v"]
    if is_pair(value):
        return True
    return mixed(match) and not is_code(value) and not is_place(value)
