"""Files that hold nothing but secrets: their names, and what a text shows of one.

A call on such a file is known by its path (redact). Here is what a text alone tells: a command that writes
one (`cat > .env <<EOF`, `echo KEY=… >> .env`, `tee .env`), and output that names it, line by line (`grep -r`:
`.env:3:KEY=…`) or at its head (`==> .env <==`, ripgrep's headings, a diff). What is shown of the file goes
whole, its name stays. A redirection is looked for first, from there back to the `echo` that feeds it and on
to the end of a here-document: what leads nowhere costs one scan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

IsSecret: TypeAlias = Callable[[str], bool]
"""Whether a path names a file of secrets."""

FILE_HINT = (
    r"(?i)(?:(?:^|[/\"'\s=\\<>(,:`])\.env(?:rc)?(?:[\"'\s\\.:;|&)*`-]|$)|\.env(?:[\"'\s\\:*]|$)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|\.(?:pem|p12|pfx|ppk|jks|keystore|kdbx|key"
    r"|tfstate|tfvars|asc|gpg)(?:[\"'\s\\.:;|&)-]|$)|credentials|[._](?:netrc|npmrc|pypirc|pgpass"
    r"|htpasswd|dockercfg|authinfo"
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
    r"|[^/\\]+\.(?:pem|p12|pfx|ppk|jks|keystore|kdbx|key|tfstate|tfstate\.backup|auto\.tfvars|asc"
    r"|gpg)|terraform\.tfvars"
    r"|\.?credentials(?:\.(?:json|ya?ml|toml|ini|xml|csv|txt|ya?ml\.enc|db))?|\.git-credentials"
    r"|[._]netrc|\.npmrc|\.pypirc|\.pgpass|\.htpasswd|\.dockercfg|\.authinfo|\.vault-token|\.my\.cnf"
    r"|secrets?\.(?:ya?ml|json|toml|env|ini)|service[-_]account[^/\\]*\.json|kubeconfig"
    r"|\.kube[/\\]config|\.docker[/\\]config\.json|\.aws[/\\]config)",
    re.IGNORECASE,
).fullmatch
"""Truthy for the path of a file whose content is never stored."""

READERS = re.compile(
    r"(?:^|[;&|(`$\s\"'/])(?:cat|bat|batcat|less|more|head|tail|nl|tac|strings|xxd|od|base64|base32"
    r"|sed|awk|gawk|grep|egrep|fgrep"
    r"|rg|ag|ack|diff|cut|sort|type|Get-Content|gc|jq|yq|openssl|gpg2?|sops|ansible-vault|paste"
    r"|column|fold|rev|hexdump|hd"
    r"|view|uniq|comm|dotenv|tee|source|git\s+(?:show|diff|log|blame|cat-file|grep))\s([^;&|`)\n]{1,2000})"
    r"|<\s{0,4}([^\s<>(;&|`)]{1,400})"
    r"|(?:open|read\w{0,20}|load\w{0,20}|Path|slurp)\(\s{0,4}([^\s,)]{1,400})"
    r"|\b(?:find|fd|xargs|ls)\s([^;`\n]{1,2000}(?:-exec|xargs|-x|cat)\b)"
)
"""Shell commands that print files; one of the groups holds their arguments."""

TELLERS = re.compile(
    r"(?:^|[;&|(`$\s])(?:kubectl\s[^;|&\n]{0,200}?\bsecrets?\b|oc\s[^;|&\n]{0,100}?\bsecrets?\b"
    r"|op\s+(?:read|item\s+get)\b|pass\s+show\b"
    r"|security\s+find-(?:generic|internet)-password\b|gh\s+auth\s+token\b|gcloud\s+auth\s+print-\w+-token\b"
    r"|gcloud\s+secrets\s+versions\s+access\b|az\s+account\s+get-access-token\b|az\s+keyvault\s+secret\s+show\b"
    r"|aws\s+secretsmanager\s+get-secret-value\b|aws\s+ssm\s+get-parameters?\b[^;|&\n]{0,200}?--with-decryption\b"
    r"|aws\s+ecr\s+get-login-password\b|vault\s+(?:kv\s+get|read)\b|bw\s+get\b"
    r"|secret-tool\s+lookup\b|doppler\s+secrets\b"
    r"|heroku\s+config\b|heroku\s+auth:token\b|npm\s+token\b|terraform\s+output\b[^;|&\n]{0,80}?-raw\b"
    r"|ansible-vault\s+view\b|sops\s+(?:-d|--decrypt|decrypt)\b|openssl\s+(?:rand|genrsa|genpkey)\b"
    r"|wg\s+genkey\b|pwgen\b)"
)
"""Commands whose output is a secret, whatever it looks like."""
TELLER_HINT = (
    r"(?:(?:kubectl|oc)\s.{0,200}secret|op (?:read|item)|pass show|find-(?:generic|internet)-password|gh auth token"
    r"|auth print-|secrets versions|get-access-token|keyvault secret|get-secret-value"
    r"|with-decryption|get-login-password"
    r"|vault (?:kv|read|view)|bw get|secret-tool|doppler secrets|heroku (?:config|auth)|npm token"
    r"|terraform output|sops |openssl (?:rand|gen)|wg genkey|pwgen)"
)
TELLER_WORDS = (
    *("secret", "op read", "op item", "pass show", "-password", "auth token", "auth print-", "get-access-token"),
    *(
        "with-decryption",
        "vault ",
        "bw get",
        "heroku",
        "npm token",
        "terraform output",
        "sops ",
        "openssl ",
        "wg genkey",
    ),
    "pwgen",
)


def is_read(command: str, is_secret: IsSecret) -> bool:
    """Whether a command's output shows a file of secrets, or is one."""
    if TELLERS.search(command):
        return True
    for found in READERS.finditer(command):
        arguments = next(group for group in found.groups() if group is not None)
        words = re.split(r"[\s\"'<>,;()\\:=]+", arguments)
        if any(is_secret(word.strip("*?{}[]")) for word in words if word):
            return True
    return False


# -- what a text shows of one ---------------------------------------------------------------------------


class _Part(NamedTuple):
    start: int
    end: int


_NAME = re.compile(r"[^\s\"'`\\;|&)(<>:=+→\[\]{},$]+")
"""What may be a path."""
_INTO = re.compile(
    r"(?:(?P<sign>>{1,2}\|?)|\btee\b(?:\s+-{1,2}[\w-]+){0,3}|\b(?P<cmdlet>Set-Content|Add-Content"
    r"|Out-File)\b(?:\s+-\w+){0,3}"
    r"|/dev/stdin)\s{0,4}[\"'\\]{0,8}$"
)
_LEADS = (
    ">",
    "|",
    "tee",
    "Content",
    "Out-File",
    "stdin",
    "-a",
    "-p",
    "-i",
    "-Path",
    "-Append",
    "-FilePath",
    "--append",
)
_FEEDS = re.compile(r"(?:echo|printf|print|Write-Output|Set-Content|Add-Content)\b")
_HERE = re.compile(r"<<-?\s{0,4}[\"'\\]{0,8}(?P<word>[A-Za-z_]\w{0,60})[\"'\\]{0,8}")
_HERE_STRING = re.compile(r"<<<\s{0,4}([^\n]{1,4000})")
_ESCAPED = re.compile(r"\\{1,8}[nrt]")
_AROUND = re.compile(r"(.{1,400}?)-[0-9]{1,7}-")
_LISTED = re.compile(r":(?:(?P<number>[0-9]{1,7})[:-])?(?P<v>[^\n]+)")
_LISTABLE = re.compile(r"\s{0,8}(?:export\s+)?[\w.\"'-]{1,100}\s{0,8}[=:].|[A-Za-z0-9+/=]{16,}|-----BEGIN")
_PLACE = re.compile(r"[0-9]+(?::|$)")
_NEXT_HEAD = re.compile(r"^(?:==> |diff --git )", re.MULTILINE)
_NUMBERED = re.compile(r"(?:[ \r]*+\n[0-9]{1,7}[:-][^\n]*+)++")
_BACK, _DENSE = 4_000, 2_000
_HIDDEN = "[REDACTED:secret-file:"


def shown(text: str, is_secret: IsSecret) -> Iterator[_Part]:
    """Parts of a text that are a secret file's content, without the blanks around them."""
    flat = _ESCAPED.sub(_flat, text)
    for start, end in _shown(flat, is_secret):
        part = flat[start:end]
        begin = start + len(part) - len(part.lstrip())
        if part.strip():
            yield _Part(begin, begin + len(part.strip()))


def _flat(escape: re.Match[str]) -> str:
    """A line break or tab instead of what stands for it in JSON, as long as that is."""
    return " " * (len(escape[0]) - 1) + {"n": "\n", "r": "\r", "t": "\t"}[escape[0][-1]]


def _shown(text: str, is_secret: IsSecret) -> Iterator[_Part]:
    """Name by name: what stands before and behind those of secret files."""
    done = wrote = 0
    for name in _NAME.finditer(text):
        start, end = name.span()
        if start < done:
            continue
        if "-" in name[0] and (around := _AROUND.match(name[0])) and is_secret(around[1]):
            done = _line_end(text, start)
            yield _Part(start + around.end(), done)
        elif is_secret(name[0]):
            written = _written(text, max(done, wrote), start, end)
            wrote = end if written else wrote
            for part in (*written, *_listed(text, end), *_headed(text, start, end)):
                done = max(done, part.end)
                yield part


def _written(text: str, floor: int, start: int, end: int) -> list[_Part]:
    """What a command writes to the file; an empty part if that is nothing."""
    head = text[max(floor, start - 120) : start]
    if not head.rstrip(" \t\"'\\").endswith(_LEADS) or (into := _INTO.search(head)) is None:
        return []
    floor = max(floor, start - _BACK)
    parts = [_Part(end, end), *_fed(text, floor, start - len(head) + into.start())]
    if into["cmdlet"]:
        parts.append(_Part(end, _line_end(text, end)))
    body = _here_document(text, floor, end)
    return parts if body is None else [*parts, body]


def _fed(text: str, floor: int, start: int) -> Iterator[_Part]:
    """What an `echo` before the redirection says; of `{ …; } >`, all that stands in the braces."""
    head = text[floor:start].rstrip("| \t")
    if head.endswith("sudo"):
        head = head[:-4].rstrip("| \t")
    if head.endswith(("}", ")")) and (opened := head.rfind("{" if head[-1] == "}" else "(")) >= 0:
        yield _Part(floor + opened + 1, floor + len(head) - 1)
        return
    feeds = list(_FEEDS.finditer(head))
    if feeds:
        yield _Part(floor + feeds[-1].end(), floor + len(head))


def _here_document(text: str, floor: int, end: int) -> _Part | None:
    """The here-document that stands on the line of the redirection."""
    begin = max(text.rfind("\n", floor, end) + 1, floor)
    stop = text.find("\n", end, end + _BACK)
    line = text[begin : stop if stop >= 0 else end + 200]
    if told := _HERE_STRING.search(line):
        return _Part(begin + told.start(1), begin + told.end(1))
    opened = _HERE.search(line)
    if opened is None or stop < 0:
        return None
    last = re.compile(rf"\n\s{{0,40}}{opened['word']}(?![\w.-])").search(text, stop)
    return _Part(stop + 1, last.start() if last else len(text))


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start, start + _BACK)
    return found if found >= 0 else min(len(text), start + _BACK)


def _listed(text: str, end: int) -> Iterator[_Part]:
    """The rest of a line that begins with the file's name, as grep writes it."""
    found = _LISTED.match(text, end)
    if found is None:
        return
    rest = found["v"]
    if found["number"] is None:
        if _LISTABLE.match(rest) and not rest.startswith(("/", " ")):
            yield _Part(*found.span("v"))
    elif not _PLACE.match(rest):
        yield _Part(*found.span("v"))


def _headed(text: str, start: int, end: int) -> Iterator[_Part]:
    """What stands below the file's name: to the next one, or as far as lines are numbered."""
    lead = text[max(0, start - 6) : start]
    if (lead.endswith("==> ") and text.startswith(" <==", end)) or lead.endswith("+++ "):
        following = _NEXT_HEAD.search(text, end + 4)
        yield _Part(
            min(end + (4 if lead.endswith("==> ") else 0), len(text)), following.start() if following else len(text)
        )
    elif (not lead or lead[-1] in '\n"') and (below := _NUMBERED.match(text, end)):
        yield _Part(*below.span())


def _joined(parts: Iterable[_Part]) -> Iterator[_Part]:
    """Parts close to each other as one: a text of thousands is none that anyone reads."""
    last = None
    for part in parts:
        if last is not None and part.start < last.end + 64:
            last = _Part(last.start, max(last.end, part.end))
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def hide_shown(text: str, is_secret: IsSecret, hide: Callable[[str], str]) -> str:
    """`text` with what it shows of secret files hidden; marks stay as they are."""
    kept: list[str] = []
    at = 0
    parts = sorted(shown(text, is_secret))
    for start, end in parts if len(parts) <= _DENSE else _joined(parts):
        begin = max(start, at)
        if begin < end and not text.startswith(_HIDDEN, begin):
            kept += text[at:begin], hide(text[begin:end])
            at = end
    kept.append(text[at:])
    return "".join(kept) if at else text
