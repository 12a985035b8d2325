"""Secrets that a command line gives to a program: `mysql -uroot -p…`, `curl -u …`, `echo … | docker login`.

Which option of which program takes a password is known, so that any value counts there, also a word, but
not a variable or `<password>`. Between a program's name and its option a few words may stand, none of
which ends a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.redaction_forms import QUOTED, QUOTES, START, Rule, given, is_place, looks_chosen

_ARGUMENTS = r"(?:[^\s;|&]{1,120}+(?:[ \t]++|(?<=\\)\r?\n[ \t]*+)){0,12}?"
"""What stands before an option, word by word; a line may go on behind a backslash."""
_MYSQL = r"(?:mysql(?:dump|admin|import|check|show|slap|binlog|pump|sh|_upgrade)?|mariadb(?:-[a-z]{1,12})?|mycli)"
_LOGIN = r"(?:docker|podman|nerdctl|buildah|skopeo|oras|crane|regctl|helm|az|oc|cf|npm|argocd|doctl|kubelogin|ibmcloud)"
_CLIENT = r"(?:mongo[a-z]{0,10}|cqlsh|clickhouse(?:-client)?|influx|couchbase-cli|arangosh|cypher-shell|kinit|nmcli)"
_LDAP = r"(?:ldap(?:search|add|modify|delete|whoami|passwd|compare|modrdn)|security|tsql|isql)"
_STDIN = (
    r"(?:--password-stdin|--with-token|--stdin|\bsudo\s[^\n|]{0,80}?-S\b|chpasswd|--passphrase-fd"
    r"|\bstdin\b|\blogin\s-|\bcryptsetup\b|\bkinit\s|\bsu\s-"
    r"|\b(?:secrets?|env|variable)[ :](?:set|put|add|create|import)\b)"
)
_NAMES = (
    r"(?:^|[^A-Za-z]|\\[nrt])(?:sshpass|mysql|mariadb|mycli|(?:redis|valkey|keydb)-cli|mongo|cqlsh|clickhouse|influx"
    r"|ldap|login|cypher-shell|couchbase-cli|arangosh|kinit|nmcli|security|tsql|isql|sqlcmd|bcp|zip|unzip|ipmitool"
    r"|7z|rar|unrar|gpg|openssl)[a-z0-9_-]*[\s\\]"
)
_WORDS = (
    *("sshpass", "mysql", "mariadb", "mycli", "-cli", "mongo", "cqlsh", "clickhouse", "influx", "ldap", "login"),
    *("cypher-shell", "arangosh", "kinit", "nmcli", "security", "tsql", "isql", "sqlcmd", "bcp", "zip", "ipmitool"),
    *("7z", "rar", "gpg", "openssl", "rabbitmqctl", "net use", "htpasswd", "smbclient", "lftp", "password"),
)

_FETCHING = ("curl ", "wget ", "http ", "https ", "xh ", "lftp ", "curl\n", "curl\\n")


def _user_password(match: re.Match[str]) -> bool:
    """`user:password`; ids of users and groups look alike, but to programs that fetch something."""
    before = match.string[max(0, match.start() - 400) : match.start()]
    fetches = any(program in before for program in _FETCHING)
    if (match["glued"] is not None or match["other"] is not None) and not fetches:
        return False
    return given(match) and (fetches or not (match["v"].isdigit() or is_place(match["v"])))


def _set_value(match: re.Match[str]) -> bool:
    value = match["v"]
    name = match["name"] or match["key"]
    told = name is None or re.search(r"pass|pwd|secret|token|key|auth|cred|salt|dsn", name, re.IGNORECASE)
    return given(match) and (bool(told) or looks_chosen(value))


def on_command_lines() -> Iterator[Rule]:
    """Every rule of this module."""
    yield from _options()
    yield from _inputs()


def _options() -> Iterator[Rule]:
    """Passwords that an option gives."""
    yield Rule(
        "command-password",
        re.compile(
            rf"{START}(?:sshpass\s{_ARGUMENTS}-p\s?"
            rf"|{_MYSQL}\s{_ARGUMENTS}(?:-p|--password=|--password[1-3]=)"
            rf"|(?:redis|valkey|keydb)-cli\s{_ARGUMENTS}(?:-a\s|--pass[ =])"
            rf"|{_CLIENT}\s{_ARGUMENTS}(?:-p\s?|--password[ =]|-pw\s)"
            rf"|{_LOGIN}\s{_ARGUMENTS}login\s{_ARGUMENTS}(?:-p\s?|--password[ =]|--token[ =])"
            rf"|{_LDAP}\s{_ARGUMENTS}(?:-w\s?|-P\s)"
            rf"|(?:sqlcmd|bcp|zip|unzip|ipmitool)\s{_ARGUMENTS}-P\s?"
            rf"|(?:7z[arz]?|rar|unrar)\s{_ARGUMENTS}-p"
            rf"|gpg2?\s{_ARGUMENTS}--passphrase[ =]"
            rf"|openssl\s{_ARGUMENTS}(?:-pass(?:in|out)?\s{QUOTES}pass:|-k\s)"
            rf"|rabbitmqctl\s(?:add_user|change_password)\s\S{{1,64}}\s|net user\s\S{{1,64}}\s|net use\s{_ARGUMENTS}/user:\S{{1,64}}\s"
            rf"|smbclient\s{_ARGUMENTS}-U\s[\w./\\-]{{1,64}}%|lftp\s{_ARGUMENTS}-u\s[\w.@-]{{1,64}},"
            rf"|(?:svn|hg|cvs|wget)\s{_ARGUMENTS}--(?:http-|ftp-)?password[ =]"
            rf"|htpasswd\s-[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}}\s\S{{1,200}}\s\S{{1,64}}\s"
            rf"){QUOTED}"
        ),
        rf"{_NAMES}(?:.{{0,240}}[\s\\])?(?:-[pPawk]|--pass|--token|[\"'\\]*pass:)"
        r"|rabbitmqctl (?:add_user|change_p)|net user? |htpasswd -|smbclient.{0,200}%|lftp.{0,80},|(?:svn|hg|cvs|wget).{0,240}--(?:http-|ftp-)?password",
        _WORDS,
        given,
    )
    yield Rule(
        "curl-password",
        re.compile(
            r"(?<=\s)(?:-[sSkLfivgI]{0,5}u(?:[ =]{1,2}|(?P<glued>))|--user[ =]{1,2}|--proxy-user[ =]{1,2}"
            r"|--auth[ =](?P<other>))(?P<q>\\{0,8}[\"'])?[A-Za-z0-9_.@+-]{1,80}+:(?P<r>\\{0,8}[\"'])?"
            r"(?P<v>(?(q)(?:(?!(?P=q))[^\n]){1,200}+|(?(r)(?:(?!(?P=r))[^\n]){1,200}+|[^\s\"'`\\;|&<>]{3,}+)))"
        ),
        r"(?:-u|-user|-auth|-[sSkLfivgI]{1,5}u)[\s=\\\"'A-Za-z0-9_.@+-]{1,100}:",
        ("-u", "-user", "-auth", *(f"{flag}u" for flag in "skLfivg".lower())),
        _user_password,
    )


def _inputs() -> Iterator[Rule]:
    """Secrets that go to a program's input, or into the settings of a service."""
    yield Rule(
        "stdin-password",
        re.compile(
            rf"{START}(?:(?:echo|printf"
            rf"|Write-Output)\s(?:-[neE]{{1,3}}\s)?(?:[\"'\\]{{0,8}}%s(?:\\{{1,8}}n)?[\"'\\]{{0,8}}\s)?"
            rf"{QUOTED}[\"'\\]{{0,9}}\s{{0,2}}\|\s{{0,2}}[^\n;|&]{{0,200}}?{_STDIN})"
        ),
        rf"(?:echo|printf|Write-Output)\s.*\|.*{_STDIN}".replace(r"\b", ""),
        ("|",),
        given,
    )
    yield Rule(
        "here-string-password",
        re.compile(rf"{_STDIN}[^\n;|&]{{0,40}}?<<<\s{{0,2}}{QUOTED}"),
        rf"{_STDIN}.*<<<".replace(r"\b", ""),
        ("<<<",),
        given,
    )
    yield Rule(
        "set-secret",
        re.compile(
            rf"{START}(?P<v>(?:config:set|env:set|secrets?[ :](?:set|put|create|add|import)"
            rf"|create\ssecret|create-secret"
            r"|setenv|dotenv\sset|variables?\s(?:set|--set)|put-parameter|put-secret-value|config(?:ure)?\sset|kv\sput|vault\swrite)\s"
            r"(?:[^\n;|&]|(?<=\\)\n){1,2000}+)"
        ),
        r"(?:config:set|env:set|secrets?[ :](?:set|put|create|add|import)|create secret|create-secret"
        r"|setenv|dotenv set|variables? (?:set|--set)|put-parameter|put-secret-value|config(?:ure)? set|kv put|vault write)\s",
        ("set ", "kv put", "vault write", "secret", "setenv", "put-parameter"),
        _set_value,
        re.compile(
            rf"(?:(?<![\w-])(?P<name>[A-Za-z_][\w.-]{{0,80}}+)=|\bset\s(?P<key>[\w/:.@-]{{1,80}})\s(?!-)"
            rf"|(?:--from-literal[ =]{QUOTES}[\w.-]{{1,80}}=|--(?:body|value|secret-string"
            rf"|docker-password)[ =]|\s-b\s?))"
            rf"{QUOTED}"
        ),
    )
