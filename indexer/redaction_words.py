"""Secrets told by the words around them: headers, assignments, elements of XML, lines of well-known files.

Where a name is one of a secret's (`NAME`), its value is looked at (redaction_forms) unless the place leaves
no doubt, as `<password>` or the `data:` of a Kubernetes secret do. Of cookies those values go that are
random or that a session hangs on; base64 is decoded to see whether it holds `user:password` or a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.redaction_forms import (
    BREAK,
    GAP,
    NAME,
    NAME_WORDS,
    QUOTES,
    START,
    SUFFIX,
    VALUE,
    Rule,
    assigned,
    credential,
    given,
    is_code,
    is_encoded,
    is_pair,
    is_place,
    is_quoted,
    login,
    looks_chosen,
    mixed,
)

_PLACES = "|".join(f"{VALUE * n}[A-Za-z]{VALUE * (5 - n)}" for n in range(5))
_SOME = rf"""[=>]?[\s\\nrtbuf"'`]*(?:{_PLACES}|{VALUE * 5}+[A-Za-z])"""
"""Of a hint: six characters of a value, one of them a letter. Token counts stand in every answer's line."""


def _words() -> Iterator[Rule]:
    """Secrets told by the words before them."""
    yield Rule(
        "url-password",
        re.compile(r"""(?<=://)[^\s/:@"'`\\<>\[\]]*+:(?P<v>[^\s/@"'`\\<>\[\](){}]{3,}+)@(?=[\w\[.-])"""),
        r"""/[^\s/:@"]*:[^\s/@"]*@""",
        ("://",),
        login,
    )
    yield Rule(
        "url-token",
        re.compile(r"(?<=://)(?P<v>[A-Za-z0-9_-]{20,256}+)@(?=\w)"),
        r"/[A-Za-z0-9_-]{20,}@",
        ("://",),
        mixed,
    )
    yield Rule(
        "authorization",
        re.compile(
            rf"(?i:authorization{QUOTES}\s{{0,4}}[:=,]\s{{0,4}}{QUOTES}(?:basic|bearer|token|digest"
            rf"|apikey|bot)?\s{{0,4}})"
            r"(?P<v>[A-Za-z0-9._~+/=:-]{8,}+)"
        ),
        r"(?i)authorization[^A-Za-z0-9]",
        ("authorization",),
        credential,
    )
    yield Rule(
        "bearer-token",
        re.compile(r"(?<![A-Za-z0-9])(?i:bearer)\s{1,4}(?P<v>[A-Za-z0-9._~+/=-]{16,}+)"),
        r"(?i)bearer[\s\\nrt]",
        ("bearer",),
        credential,
    )
    yield Rule(
        "flag",
        re.compile(
            r"(?<![\w-])--?(?:[a-z]{1,20}-){0,3}+(?:pass(?:word|wd|phrase)?|secret|token|api-?key|access-?key|auth)"
            rf"(?P<sep>=|\s{{1,2}}){QUOTES}(?P<v>{VALUE}{{6,}}+)"
        ),
        r"-(?:pass|secret|token|api-?key|access-?key|auth)",
        ("-pass", "-secret", "-token", "-apikey", "-api-key", "-accesskey", "-access-key", "-auth"),
        _flagged,
    )
    yield Rule(
        "assignment",
        re.compile(
            rf"(?P<name>(?i:{NAME})(?i:{SUFFIX})){QUOTES}\]?\s{{0,8}}(?P<sep>:=|=>|->|[:=])\s{{0,8}}"
            rf"(?:[bruf]{{1,2}}(?=[\"']))?{QUOTES}(?![0-9a-f]{{8}}\])(?P<v>{VALUE}{{6,}}+)"
        ),
        rf"(?i){NAME}(?:[_-]?[a-z0-9]{{1,7}}){{0,2}}s?[\"'`\\\]]*[\s\\nrt]*[:=-]{_SOME}",
        NAME_WORDS,
        assigned,
    )


def _flagged(match: re.Match[str]) -> bool:
    """`--password=x` says that x is one; behind a space it may be prose that tells of the option."""
    value = match["v"]
    return looks_chosen(value) or (match["sep"] == "=" and "pass" in match[0] and value.isalpha() and _long(value))


def _long(value: str) -> bool:
    return len(value) >= 10 and not is_place(value) and not value.isupper()


# -- files and headers that have a form ----------------------------------------------------------------


def _netrc(match: re.Match[str]) -> bool:
    """A triple as .netrc has it. "The login page password field" is none: words, and no machine."""
    value, start = match["v"], match.start()
    if is_place(value):
        return False
    named = match["lead"] == "machine" or match.string.rfind("machine", max(0, start - 300), start) >= 0
    return named or not re.fullmatch(r"[a-z]+[,.;:)]*", value)


_ATTRIBUTES = frozenset({"expires", "path", "domain", "max-age", "samesite", "version", "comment", "priority"})
_SESSION = re.compile(r"sess|sid$|^sid|auth|token|csrf|xsrf|login|jwt|remember|secret|passw", re.IGNORECASE)


def _cookie(match: re.Match[str]) -> bool:
    name, value = match["name"], match["v"]
    if name.lower() in _ATTRIBUTES or is_place(value) or value.isdigit():
        return False
    if _SESSION.search(name):
        return mixed(match) or len(value) >= 12
    return len(value) >= 12 and mixed(match) and not is_code(value)


def _kubernetes(match: re.Match[str]) -> bool:
    """A value of a Secret's `data` or `stringData`; a ConfigMap has `data` too."""
    value = match["v"]
    text, start = match.string, match.start()
    if text.rfind("stringData", max(0, start - 2_000), start) >= 0:
        return not is_place(value)
    place = text.find("Secret", max(0, start - 4_000), start + 4_000)
    of_secret = place >= 0 and "kind" in text[max(0, place - 24) : place]
    return of_secret and (is_encoded(value) or len(value) >= 16)


def _element(match: re.Match[str]) -> bool:
    value = match["v"]
    if is_place(value):
        return False
    return "pass" in match["name"].lower() or "pwd" in match["name"].lower() or (len(value) >= 8 and _key(match))


def _key(match: re.Match[str]) -> bool:
    return mixed(match) and not is_code(match["v"])


def _named(match: re.Match[str]) -> bool:
    """The value beside a name, as container settings have it."""
    value = match["v"].rstrip(",;)]}")
    if is_place(value) or len(value) < 3:
        return False
    if is_quoted(match) or match["name"].isupper():
        return _long(value) or not (value.isdigit() or value.isalpha() or re.search(r"[(){}<>\[\]|]", value))
    return looks_chosen(value)


def _aws(match: re.Match[str]) -> bool:
    value = match["v"]
    return any(c.isupper() for c in value) and any(c.islower() for c in value)


def _environment(match: re.Match[str]) -> bool:
    value = match["v"]
    return given(match) and not re.search(r"[(){}<>\[\]|]", value) and not re.fullmatch(r"[\d.,%]+|/.*|[A-Z_]+", value)


_LT, _GT = r"(?:<|&lt;|\\{1,8}u003c)", r"(?:>|&gt;|\\{1,8}u003e)"
_ID = re.compile(r"(?:req|msg|toolu)_\w+|[0-9a-f]{40}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OPEN, _SHUT = r"\\{0,8}[\"']", r"\\{0,8}[\"']"
_TAB = r"(?:\t|\\{1,8}t)"


def _files() -> Iterator[Rule]:
    """Secrets in files that are known by their words."""
    word = r"[^\s\\]{1,128}+"
    yield Rule(
        "netrc-password",
        re.compile(
            rf"{START}(?P<lead>machine|login|account){GAP}{{1,24}}+{word}{GAP}{{1,24}}+"
            rf"password{GAP}{{1,24}}+(?P<v>[^\s\"'\\]{{3,}}+)"
        ),
        r"(?:machine|login|account)[\s\\](?s:.){1,300}password[\s\\]",
        ("password",),
        _netrc,
    )
    yield Rule(
        "putty-key",
        re.compile(
            r"Private-(?:Lines|MAC|Hash): ?(?P<v>(?:[0-9]{1,4}(?=\s|\\))?"
            rf"(?:{GAP}{{0,24}}+[A-Za-z0-9+/=]{{16,}}+)++(?:{GAP}{{1,24}}+[A-Za-z0-9+/]{{2,}}+={{1,2}})?)"
        ),
        r"Private-(?:Lines|MAC|Hash):",
        ("private-lines:", "private-mac:", "private-hash:"),
    )
    yield Rule(
        "aws-secret-key",
        re.compile(
            rf"(?:(?i:secret[_ -]?(?:access[_ -]?)?key){QUOTES}\]?\s{{0,4}}(?::=|=>|[:=|])?\s{{0,8}}{QUOTES}"
            r"|(?<![A-Z0-9])A[KSB]IA[A-Z0-9]{16}(?:[\s,;:|\"']|\\{1,8}[rnt\"]){1,12}+)"
            r"(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        r"(?:(?i:secret[_ -]?(?:access[_ -]?)?key)|A[KSB]IA[A-Z0-9]{16}).{1,40}[A-Za-z0-9/+]{40}",
        ("secret", "akia", "asia", "abia"),
        _aws,
    )
    yield Rule(
        "kubernetes-secret",
        re.compile(
            rf"{START}(?:data|stringData){QUOTES}:(?P<v>(?:[\s{{,|]|{BREAK}|[0-9]{{1,6}}[\t→:])*+"
            rf"(?:{QUOTES}[\w.-]{{1,80}}+{QUOTES}:\s{{0,4}}{QUOTES}[^\s\"'\\,}}]{{1,65536}}+"
            rf"(?:[\s,\"'|]|{BREAK}|\\{{1,8}}\"|[0-9]{{1,6}}[\t→:])*+){{1,200}}+)"
        ),
        r"stringData[\"'\\]*:|kind[\"'\\]*:[\s\\\"']*Secret",
        ("secret", "stringdata"),
        _kubernetes,
        re.compile(rf"[\w.-]{{1,80}}+{QUOTES}:\s{{0,4}}{QUOTES}(?P<v>[^\s\"'\\,}}]{{3,}}+)"),
    )
    yield Rule(
        "encoded-key",
        re.compile(r"LS0tLS1CRUdJTi(?P<x>[A-Za-z0-9+/]{40})[A-Za-z0-9+/=]{40,}+"),
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40}",
        ("ls0tls1crudjti",),
        lambda match: any(part in match[0][:80] for part in ("UFJJVkFURS", "BSSVZBVE", "QUklWQVRF")),
    )
    yield Rule(
        "basic-auth",
        re.compile(rf"(?<![A-Za-z])_?auth{QUOTES}\s{{0,4}}[:=]\s{{0,4}}{QUOTES}(?P<v>[A-Za-z0-9+/]{{8,}}+={{0,2}})"),
        r"auth[\"'\\]*\s*[:=][\s\\\"']*[A-Za-z0-9+/]{8}",
        ("auth",),
        lambda match: is_pair(match["v"]),
    )


def _elements() -> Iterator[Rule]:
    """Secrets in markup, in headers and beside their names."""
    attributes = r"(?:\s[^<>&]{0,200}+)?"
    yield Rule(
        "xml-element",
        re.compile(
            rf"{_LT}(?:string name=|key)?{QUOTES}{_GT}?"
            rf"(?P<name>[\w.:-]{{0,40}}?(?i:{NAME}){SUFFIX}){QUOTES}{attributes}"
            rf"(?:{_GT}|{_LT}/key{_GT}(?:\s|{BREAK}){{0,40}}+{_LT}string{_GT})(?:\s"
            rf"|{BREAK}){{0,24}}+(?:{_LT}!\[CDATA\[)?"
            r"(?P<v>(?:[^<>\s&\\\[\]]|&(?!lt;)){3,}+)(?=(?:\]\]>)?\s{0,40}(?:<|&lt;|\\{1,8}u003c|\\{1,8}n)[/\s<]?)"
        ),
        rf"(?s)(?:<|&lt;).{{0,60}}(?i:{NAME}).{{0,240}}(?:>|&gt;)",
        NAME_WORDS,
        _element,
    )
    yield Rule(
        "named-secret",
        re.compile(
            rf"{START}(?:name|key|id|variable|Name|Key){QUOTES}\s{{0,4}}[:=]\s{{0,4}}{QUOTES}"
            rf"(?P<name>[\w.:-]{{0,40}}?(?i:{NAME}){SUFFIX}){QUOTES}(?:[\s,]|{GAP}){{1,40}}+"
            rf"{QUOTES}[vV]alue{QUOTES}\s{{0,4}}[:=]\s{{0,4}}{QUOTES}(?P<v>{VALUE}{{3,}}+)"
        ),
        rf"(?s)(?i:{NAME}).{{0,80}}[vV]alue[\"'\\]*\s{{0,4}}[:=]",
        NAME_WORDS,
        _named,
    )
    yield Rule(
        "environment",
        re.compile(
            rf"{START}(?P<name>(?:[A-Z0-9]{{1,30}}_){{0,6}}+(?:[A-Z0-9]{{0,20}}(?:PASSWORD|PASSWD|PASS|PWD|PASSPHRASE)"
            rf"|AUTH|PW|PAT|CREDS))=(?P<q>{QUOTES})(?P<v>{VALUE}{{3,}}+)"
        ),
        r"(?:PASSWORD|PASSWD|PASS|PWD|PASSPHRASE|AUTH|PW|PAT|CREDS)=[^\s]",
        ("password=", "passwd=", "pass=", "pwd=", "passphrase=", "auth=", "pw=", "pat=", "creds="),
        _environment,
    )
    yield Rule(
        "dsn-password",
        re.compile(
            rf"{START}(?i:host|hostaddr|dbname|user|server|data source|uid|user id)\s?=[^\n]{{0,160}}?"
            rf"{START}(?i:password|pwd)\s?=\s?{QUOTES}(?P<v>[^\s\"'\\;,&]{{3,}}+)"
        ),
        r"(?i)(?:host|hostaddr|dbname|user|server|source|uid|id)\s?=.{1,170}(?:password|pwd)\s?=",
        ("password", "pwd"),
        lambda match: given(match) and not re.search(r"[(){}<>\[\]|]|\w\.[a-z]", match["v"]),
    )
    yield Rule(
        "cookie",
        re.compile(
            rf"(?i:{START}(?:set-)?cookies?2?{QUOTES}\]?\s{{0,4}}[:=,]\s{{0,4}}\[?{QUOTES}|\s(?:-b"
            rf"|--cookie)[ =]{QUOTES})"
            r"(?P<v>[\w!#$%&*+.^|~-]{1,80}+=[^\r\n\"'`\\]{1,8192}+)"
        ),
        r"(?:(?i:cookies?2?)|-b)[\"'\\\] :=,\[].{0,90}=",
        ("cookie", "-b "),
        _cookie,
        re.compile(r"(?:(?<![\w-])|(?<=\\[nrt]))(?P<name>[\w!#$%&*+.^|~-]{1,80}+)=(?P<v>[^\s;,\"'\\]{6,}+)"),
    )
    yield Rule(
        "cookie-jar",
        re.compile(
            rf"(?:TRUE|FALSE){_TAB}[^\s\\]{{1,200}}+{_TAB}(?:TRUE|FALSE){_TAB}[0-9]{{1,12}}+{_TAB}"
            rf"[^\s\\]{{1,100}}+{_TAB}(?P<v>[^\s\\\"]{{6,}}+)"
        ),
        r"(?:TRUE|FALSE)[\t\\]+t?/",
        ("true\t/", "false\t/", "true\\t/", "false\\t/"),
        login,
    )


def _code() -> Iterator[Rule]:
    """Secrets in statements of programs, of SQL and of settings that have a form of their own."""
    yield Rule(
        "password-hash",
        re.compile(
            r"\$(?:apr1|1|2[abxy]|5|6|7|y|argon2(?:id?|d)?|scrypt|pbkdf2[a-z0-9-]{0,10})\$[A-Za-z0-9./$=,+-]{20,}+"
        ),
        r"\$(?:apr1|1|2[abxy]|5|6|7|y|argon2(?:id?|d)?|scrypt|pbkdf2[a-z0-9-]{0,10})\$[A-Za-z0-9./$=,+-]{20}",
        ("$",),
    )
    yield Rule(
        "app-key",
        re.compile(r"(?<![A-Za-z0-9])base64:(?P<v>[A-Za-z0-9+/]{42,88}+={0,2})(?![A-Za-z0-9+/])"),
        r"base64:[A-Za-z0-9+/]{42}",
        ("base64:",),
    )
    yield from _statements()
    yield from _lines()


def _statements() -> Iterator[Rule]:
    """Passwords in statements of SQL and of programs."""
    yield Rule(
        "sql-password",
        re.compile(
            rf"(?i:identified\s{{1,4}}(?:with\s\S{{1,40}}\s)?by\s{{1,4}}|(?:with"
            rf"|encrypted)\s{{1,4}}password\s{{1,4}}){_OPEN}(?P<v>[^'\"\\\n]{{3,200}}+)"
        ),
        r"(?i)(?:identified\s.{0,60}by|(?:with|encrypted)\s+password)[\s\\]",
        ("identified", "password"),
        given,
    )
    yield Rule(
        "code-password",
        re.compile(
            rf"(?:set(?:Db)?Pass(?:word|phrase)\(\s{{0,4}}|SecureString\s{{1,4}}(?:-String\s)?"
            rf"|auth=\(\s{{0,4}}{_OPEN}[^'\"\\\n]{{1,80}}+{_SHUT},\s{{0,4}}"
            rf"|\.login\(\s{{0,4}}{_OPEN}[^'\"\\\n]{{1,80}}+{_SHUT},\s{{0,4}}|requirepass\s{{1,4}}|masterauth\s{{1,4}}"
            rf"|-(?:store|key|src|dest)(?:store)?pass\s{{1,4}}|(?:FormData|-F|--form)\s{_OPEN}password="
            rf"|name={_OPEN}passw(?:or)?d{_SHUT}(?:[\r\n]|{BREAK}){{2,4}}+|(?:psk"
            rf"|wpa_passphrase)\s{{0,2}}[=:]\s{{0,2}}{_OPEN}"
            rf"|define\(\s{{0,4}}{_OPEN}\w{{0,40}}(?:PASS(?:WORD|WD)?|SECRET|TOKEN|_KEY){_SHUT},\s{{0,4}}"
            rf"|variable\s{_OPEN}\w{{0,40}}(?:password|secret|token"
            rf"|_key){_SHUT}\s{{0,4}}\{{[^{{}}]{{0,200}}?\bdefault\s{{1,20}}=\s{{1,4}}"
            rf"|(?:ssh|become|sudo|db|user|smtp|mail|ftp|root)_pass\s{{0,2}}[=:]\s{{0,2}}"
            rf"|(?:set\s-[gUx]{{1,3}}|ENV)\s[A-Z0-9_]{{0,40}}(?:PASS(?:WORD|WD)?|SECRET|TOKEN|_KEY)\s"
            rf")[\"'\\]{{0,8}}(?P<v>{VALUE}{{4,200}}+)"
        ),
        r"(?:Pass(?:word|phrase)\(|SecureString\s|auth=\(|\.login\(|requirepass\s|masterauth\s|pass\s|password="
        r"|(?:psk|wpa_passphrase)[ =:]"
        r"|passw(?:or)?d[\"'\\]+[rn]|passw(?:or)?d[\"'\\]*[\r\n]|(?:set\s-[gUx]{1,3}|ENV)\s[A-Z0-9_]{0,40}(?:PASS|SECRET|TOKEN|KEY)|define\(|variable\s|(?:ssh|become|sudo|db|user|smtp|mail|ftp|root)_pass)",
        (
            "pass",
            "securestring",
            "auth=(",
            ".login(",
            "masterauth",
            "psk",
            "define(",
            "variable",
            "secret",
            "token",
            "_key",
        ),
        lambda match: given(match) and not re.search(r"[(){}<>\[\]]|^\w+\.\w+$", match["v"].rstrip(",;)")),
    )


def _lines() -> Iterator[Rule]:
    """Secrets in addresses and in lines of settings."""
    yield Rule(
        "query-secret",
        re.compile(
            r"[?&](?:key|api_?key|access_token|token|client_secret|sig|signature|secret"
            r"|auth)=(?P<v>[A-Za-z0-9_.~%-]{20,}+)"
        ),
        r"[?&](?:key|api_?key|access_token|token|client_secret|sig|signature|secret|auth)=[A-Za-z0-9_.~%-]{20}",
        ("key=", "token=", "secret=", "sig=", "signature=", "auth="),
        lambda match: mixed(match) and not is_place(match["v"]) and not _ID.fullmatch(match["v"]),
    )
    yield Rule(
        "pgpass-password",
        re.compile(
            r"(?<![\w.:])[\w.*-]{1,100}+:(?:543[0-9]|6432|\*):[\w*-]{1,60}+:[\w*-]{1,60}+:(?P<v>[^\s:\"'\\]{3,200}+)"
        ),
        r":(?:543[0-9]|6432|\*):[A-Za-z0-9_*-]{1,60}:[A-Za-z0-9_*-]{1,60}:",
        (":543", ":6432", ":*:"),
        given,
    )


def around() -> Iterator[Rule]:
    """Every rule of this module."""
    yield from _code()
    yield from _files()
    yield from _elements()
    yield from _words()
