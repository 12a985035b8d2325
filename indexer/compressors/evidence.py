"""What the calls of a turn prove: files read and changed, commands and how they ended, commits. Pure.

Prose may claim anything; files, exit codes and commits are taken from calls and their events alone.
Calls of our own tools, and of other memories, are none: what was recalled is not to be learned again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from indexer.compressors.base import Call, Event, Turn
from indexer.text import glance, sanitize

EDITS = frozenset(
    {"Edit", "MultiEdit", "Write", "NotebookEdit", "write_file", "apply_patch", "create_file", "str_replace"}
)
READS = frozenset({"Read", "NotebookRead", "read_file"})
SEARCHES = frozenset({"Grep", "Glob", "LSP", "codebase_search", "grep_search"})
SHELLS = frozenset({"Bash", "PowerShell", "shell", "run_terminal_cmd"})
WEB = frozenset({"WebFetch", "WebSearch"})
AGENTS = frozenset({"Task", "Agent"})
_OWN_TOOL = re.compile(
    r"(?i)^(?:memory_\w+|mcp__\w*(?:transcript[-_]?indexer|claude[-_]mem|mcp-search|cmem)[\w-]*?__\w+)$"
)
_OWN_COMMAND = re.compile(r"(?:^|[\s/;&|(])(?:transcript-indexer|claude-mem)(?:\s|$)|-m indexer(?:\s|$)")

_LEADING = re.compile(
    r"^(?:\s*(?:cd|pushd)\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)|\s*export\s+\S+\s*(?:&&|;)|\s*\w+=\S*\s+(?=\S))+\s*"
)
_TRAILING = re.compile(
    r"\s*(?:\|\s*(?:tail|head|grep|tee|cat|less|wc|sort)\b[^|]*)+$|\s*(?:[12]?>\s*&[12]|[12]?>\s*/dev/null)+\s*"
)
_TRIVIAL = re.compile(
    r"^(?:ls|ll|pwd|cd|echo|date|whoami|which|true|clear|sleep|wait|type|hostname|env|printenv|uname|id|history|mkdir|touch|chmod|ps|kill"
    r"|pkill|lsof|git (?:status|branch|add|stash|fetch|checkout|switch|config|remote|rev-parse|init)"
    r"|[\w./-]+ (?:-v|-V|--version|version))\b"
)
_INSTALL = re.compile(
    r"^(?:sudo )?(?:pip3?|python3? -m pip|uv (?:pip|add|sync)|poetry|npm (?:i|ci|install)|pnpm (?:i|install"
    r"|add)|yarn(?: add| install)?$|apt(?:-get)?"
    r"|brew|cargo (?:add|install)|go (?:get|mod)|bundle|gem|conda)\b"
)
_QUIET = frozenset(
    [
        "grep",
        "rg",
        "egrep",
        "fgrep",
        "ls",
        "cat",
        "test",
        "find",
        "cd",
        "which",
        "diff",
        "[",
        "echo",
        "head",
        "tail",
        "sed",
        "awk",
        "wc",
        "stat",
        "type",
        "pgrep",
        "kill",
        "pkill",
        "true",
        "false",
        "cmp",
        "jq",
    ]
)
"""Commands whose non-zero exit is an answer, not a failure."""
_QUIET_GIT = ("git diff", "git grep", "git status", "git log", "git show", "git check-ignore", "git rev-parse")
_READING = re.compile(
    r"^(?:cat|head|tail|less|sed -n|rg|grep|find|git (?:log|show|diff|blame|grep)|tree|jq|awk|nl|wc|curl"
    r"|stat|file|xxd|sqlite3|psql|docker (?:ps|logs|inspect)|kubectl (?:get|describe|logs))\b"
)
_WRAPPERS = frozenset(
    {
        "sudo",
        "time",
        "timeout",
        "npx",
        "bunx",
        "uv",
        "poetry",
        "pipenv",
        "run",
        "env",
        "nice",
        "xvfb-run",
        "exec",
        "-m",
        "python",
        "python3",
        "node",
        "command",
    }
)
_WITH_VERBS = frozenset(
    [
        "npm",
        "pnpm",
        "yarn",
        "make",
        "cargo",
        "go",
        "git",
        "docker",
        "kubectl",
        "gradle",
        "gradlew",
        "mvn",
        "dotnet",
        "bun",
        "just",
        "rake",
    ]
)
_ALONE = frozenset(["pytest", "jest", "vitest", "mypy", "ruff", "tsc", "eslint", "flake8", "black", "rspec", "phpunit"])
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")

_MOVE = re.compile(r"(?:^|[;&|]\s*)(?:git )?mv (?:-\w+ )*([^\s;&|\"']+) ([^\s;&|\"']+)(?=\s*(?:$|[;&|]))", re.MULTILINE)
_REMOVE = re.compile(
    r"(?:^|[;&|]\s*)(?:git )?rm (?:-\w+ )*([^\s;&|\"'*-][^\s;&|\"'*]*)(?=\s*(?:$|[;&|]))", re.MULTILINE
)
_IN_PLACE = re.compile(r"\bsed (?:-\w+ )*-i\S*\s.*?([\w./-]+\.\w+)\s*(?=$|[;&|])", re.MULTILINE)
_HEREDOC = re.compile(r"\bcat\s*>{1,2}\s*([^\s<>|&;\"']+)\s*<<|<<-?\s*['\"]?\w+['\"]?\s*>{1,2}\s*([^\s<>|&;\"']+)")
_NOWHERE = re.compile(r"/(?:dev|tmp)/|[$&]")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$", re.MULTILINE)
_SHOWN = re.compile(
    r"^(?:cat|head|tail|less|nl|sed -n)\s+(?:-\S+\s+|\d+\s+|'[^']*'\s+)*([\w./~-]+\.\w+|[\w./~-]*/[\w./~-]+)\b"
)

_ERROR_LINE = re.compile(
    r"(?i)^E\s{2,}\S|(?:Error|Exception|Failure|fatal|panic|failed|cannot|can't|could not|undefined|unresolved"
    r"|not found|no such|denied|refused|traceback|assertion|assert)\b|错误|失败|异常|^[✗✕×]"
)
_ERROR_PIECES = (
    "err", "exc", "fail", "fat", "pan", "can", "could n", "unde", "unr", "no", "deni", "refu", "trace", "ass",
)  # fmt: skip
_NOISE = re.compile(
    r"(?i)^(?:traceback \(most recent|error:?\s*exit code \d+|exit code \d+|error:?$|=+.*=+$|_+.*_+$"
    r"|\s*at .*|.*\bnpm (?:err|error)!? (?:code|errno|a complete log).*|.*\b0 (?:errors|failed)\b.*|failed$|.*={5,}.*)"
)
_COUNTS = (
    re.compile(r"\btest result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed"),
    re.compile(
        r"^Tests:\s+(?:(?P<failed>\d+) failed, )?(?:\d+ skipped, )?(?:\d+ todo, )?(?P<passed>\d+) passed", re.MULTILINE
    ),
    re.compile(r"(?P<failed>\d+) failed(?:,| \|) (?P<passed>\d+) passed"),
    re.compile(r"(?P<passed>\d+) passed(?:, (?P<failed>\d+) failed)?"),
    re.compile(r"(?P<failed>\d+) failed"),
    re.compile(r"(?P<passed>\d+) passing(?:[\s\S]{0,80}?(?P<failed>\d+) failing)?"),
)
_UNITTEST = re.compile(
    r"^Ran (\d+) tests? in [\s\S]{0,400}?^(OK|FAILED)\b(?: \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?)?",
    re.MULTILINE,
)
_VERSION = re.compile(r"(?<![\w/])(@?[a-zA-Z][\w./-]*)(?:==|@)v?(\d+(?:\.\d+)+[\w.-]*)")
_SUBJECT = re.compile(
    r"""(?s)-[a-z]*m\s+(?:"\$\(cat <<-?\s*'?"?(\w+)"?'?\s*\n(.*?)\n\s*\1|"((?:[^"\\]|\\.)*)"|'([^']*)')"""
)
_TRAILER = re.compile(r"(?im)^(?:co-authored-by|signed-off-by|claude-session|generated with|🤖).*$")


class Edit(NamedTuple):
    """A change to a file. added, removed: lines, None when not known."""

    call: Call
    file: str
    added: int | None
    removed: int | None
    created: bool


class Run(NamedTuple):
    """A command. key: what it is, whatever its arguments: two runs of one key are the same thing tried
    again. error: the line that says what went wrong, "" if it went well. place: among the turn's calls."""

    call: Call
    command: str
    key: str
    failed: bool
    code: int | None
    error: str
    place: int


class Commit(NamedTuple):
    """A commit that was made. body: the rest of its message."""

    call: Call
    sha: str
    branch: str
    subject: str
    body: str
    place: int


@dataclass
class Evidence:
    """All that the calls of a turn prove, in their order; places count its calls."""

    edits: list[tuple[int, Edit]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    looked: list[Call] = field(default_factory=list)
    """Calls by which something can have been found out."""
    outside: list[Call] = field(default_factory=list)
    """Of those, the ones that asked the web or an MCP server."""
    own: list[Call] = field(default_factory=list)
    """Calls that asked a memory: no evidence."""


def gather(turn: Turn) -> Evidence:
    """Look at each call of a turn once."""
    found = Evidence()
    for place, call in enumerate(turn.calls):
        if is_own(call):
            found.own.append(call)
        elif call.name in SHELLS:
            _shell(found, call, place)
        elif call.name in EDITS or any(event.kind == "patch" for event in call.events):
            if not call.failed:
                found.edits += [(place, edit) for edit in _edits(call)]
        elif not call.failed:
            _look(found, call)
    _drop_amended(found)
    return found


def is_own(call: Call) -> bool:
    """Whether a call asked this memory, or one like it."""
    if call.name in SHELLS:
        command = _command(call)
        named = "indexer" in command or "claude-mem" in command
        return named and bool(_OWN_COMMAND.search(command))
    return call.name.startswith(("mcp__", "memory_")) and bool(_OWN_TOOL.match(call.name))


def _look(found: Evidence, call: Call) -> None:
    if call.name in READS and call.file:
        found.reads.append(call.file)
        found.looked.append(call)
    elif call.name in SEARCHES:
        pattern = call.given.get("pattern") or call.given.get("query")
        if isinstance(pattern, str):
            found.searched.append(glance(pattern, 60))
        found.looked.append(call)
    elif call.name in WEB or call.name.startswith("mcp__"):
        found.looked.append(call)
        found.outside.append(call)
    elif call.name in AGENTS:
        found.looked.append(call)


# --- edits -------------------------------------------------------------------------------------------


def _edits(call: Call) -> Iterator[Edit]:
    patched = [event.data for event in call.events if event.kind == "patch"]
    for data in patched:
        yield Edit(
            call,
            str(data.get("file") or call.file),
            _count(data, "added"),
            _count(data, "removed"),
            data.get("created") is True,
        )
    if patched:
        return
    text = call.given.get("patch") or call.given.get("input")
    if call.name == "apply_patch" and isinstance(text, str):
        for file in _PATCHED.findall(text):
            yield Edit(call, file, None, None, False)
    elif call.file:
        yield _by_input(call, call.file)


def _by_input(call: Call, file: str) -> Edit:
    """A sub-agent's edit, whose result says nothing of lines: counted from what was given."""
    pairs = call.given.get("edits") if call.name == "MultiEdit" else [call.given]
    old = [pair.get("old_string") for pair in pairs if isinstance(pair, dict)] if isinstance(pairs, list) else []
    new = [pair.get("new_string") for pair in pairs if isinstance(pair, dict)] if isinstance(pairs, list) else []
    if call.name == "Write" or not all(isinstance(text, str) for text in (*old, *new)):
        content = call.given.get("content")
        return Edit(call, file, len(content.splitlines()) if isinstance(content, str) else None, None, False)
    before = [line for text in old for line in str(text).splitlines()]
    after = [line for text in new for line in str(text).splitlines()]
    kept = sum(1 for line in set(before) & set(after))
    return Edit(call, file, max(0, len(after) - kept), max(0, len(before) - kept), False)


def _count(data: dict[str, Any], name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) else None


# --- commands ----------------------------------------------------------------------------------------


def _command(call: Call) -> str:
    command = call.given.get("command")
    return command if isinstance(command, str) else ""


def _shell(found: Evidence, call: Call, place: int) -> None:
    command = _command(call)
    bare = bare_command(command)
    code = next((event.data.get("code") for event in call.events if event.kind == "exit"), None)
    failed = call.failed and not _answers_by_exit(bare)
    error = first_error(call.response) if failed else ""
    found.runs.append(Run(call, bare, command_key(bare), failed, code if isinstance(code, int) else None, error, place))
    commits = [event for event in call.events if event.kind == "commit"]
    found.commits += [_commit(call, event, command, place) for event in commits]
    if call.failed:
        return
    found.edits += [(place, Edit(call, file, None, None, made)) for file, made in _written(command)]
    if shown := _SHOWN.match(bare):
        found.reads.append(shown[1])
    if not _TRIVIAL.match(bare) and not _INSTALL.match(bare) and not commits and "git push" not in bare:
        found.looked.append(call)


def bare_command(command: str) -> str:
    """A command on one line, without the `cd`, variables and pipes around it."""
    line = command.split("<<", 1)[0] if "<<" in command else command[:1000]
    if "&&" in line or ";" in line or "=" in line:
        line = _LEADING.sub("", line, count=1)
    if "|" in line or ">" in line:
        line = _TRAILING.sub("", line)
    return sanitize(glance(line, 200))


def command_key(command: str) -> str:
    """`python -m pytest -q tests/a.py` -> `pytest`; `npm run build` -> `npm run build`."""
    tokens = [
        token
        for token in _TOKEN.findall(command.split("&&")[-1].split(";")[-1][:160])[:12]
        if "=" not in token.partition("/")[0]
    ]
    while len(tokens) > 1 and (tokens[0] in _WRAPPERS or tokens[0].isdigit()):
        tokens = tokens[1:]
    if not tokens:
        return ""
    head = tokens[0].rpartition("/")[2]
    rest = [token for token in tokens[1:4] if token[0] not in "-\"'"]
    if head in _WITH_VERBS:
        keep = 2 if rest[:1] in (["run"], ["compose"], ["exec"]) else 1
        return " ".join([head, *rest[:keep]])
    if head in _ALONE:
        return str(head)
    return " ".join([head, *rest[:1]])


def _answers_by_exit(command: str) -> bool:
    return command.partition(" ")[0].rpartition("/")[2] in _QUIET or command.startswith(_QUIET_GIT)


def is_trivial(run: Run) -> bool:
    """Whether a command is one of those that nobody wants to remember."""
    return bool(_TRIVIAL.match(run.command)) or bool(_READING.match(run.command))


def _written(command: str) -> Iterator[tuple[str, bool]]:
    """Files that a command line itself says it writes, and whether it makes them."""
    for old, new in _MOVE.findall(command) if "mv " in command else ():
        yield old, False
        yield new, True
    for name in _REMOVE.findall(command) if "rm " in command else ():
        yield name, False
    for name in _IN_PLACE.findall(command) if "sed " in command else ():
        yield name, False
    for first, second in _HEREDOC.findall(command) if "<<" in command else ():
        name = first or second
        if not _NOWHERE.match(name):
            yield name, True


def moves(run: Run) -> bool:
    """Whether a command moves files about."""
    command = _command(run.call)
    return "mv " in command and bool(_MOVE.search(command))


def first_error(response: str) -> str:
    """The line of an output that says what went wrong, at most 160 characters; "" for none."""
    ends = response if len(response) <= 6000 else f"{response[:3000]}\n{response[-3000:]}"
    lines = [line.strip() for line in sanitize(ends).splitlines() if line.strip()]
    telling = [line[:400] for line in lines if _tells(line[:400]) and not _NOISE.match(line)]
    assertions = [line for line in telling if line.startswith("E  ") or re.match(r"[\w.]*(?:Error|Exception)\b", line)]
    chosen = (assertions or telling or [line for line in lines if not _NOISE.match(line)] or [""])[0]
    return glance(re.sub(r"^E\s+", "", chosen), 160)


def _tells(line: str) -> bool:
    """Whether a line speaks of an error. Without a piece of one of the words, the regex need not look for them."""
    if line.isascii() and line[:1] not in "Ee":
        lower = line.lower()
        if not any(piece in lower for piece in _ERROR_PIECES):
            return False
    return bool(_ERROR_LINE.search(line))


def tests_told(response: str) -> str:
    """`12 passed`, `1 failed, 11 passed`: what a test runner reported last; "" if none did."""
    tail = response[-2000:]
    if not ("pass" in tail or "fail" in tail or "Ran " in tail):
        return ""
    if ran := _UNITTEST.search(tail):
        bad = int(ran[3] or 0) + int(ran[4] or 0)
        return _told(int(ran[1]) - bad, bad)
    for pattern in _COUNTS:
        if found := list(pattern.finditer(tail)):
            values = found[-1].groupdict()
            return _told(int(values.get("passed") or 0), int(values.get("failed") or 0))
    return ""


def _told(passed: int, failed: int) -> str:
    said = [f"{failed} failed"] if failed else []
    return ", ".join([*said, f"{passed} passed"] if passed or not said else said)


def versions(runs: Iterable[Run]) -> list[str]:
    """Packages whose version a command pins, as `httpx 0.28.1`."""
    found = [
        f"{name} {version}"
        for run in runs
        if not run.failed and _INSTALL.match(run.command)
        for name, version in _VERSION.findall(run.command)
    ]
    return list(dict.fromkeys(found))


# --- commits -----------------------------------------------------------------------------------------


def _commit(call: Call, event: Event, command: str, place: int) -> Commit:
    """The subject as git reported it; of a quiet commit that of the message given."""
    given = _SUBJECT.search(command)
    message = next((part for part in given.groups()[1:] if part), "") if given else ""
    message = sanitize(_TRAILER.sub("", message)).strip()
    head, _, body = message.partition("\n")
    told = event.data.get("subject")
    subject = told if isinstance(told, str) and told else head.strip()
    return Commit(
        call,
        str(event.data.get("sha") or ""),
        str(event.data.get("branch") or ""),
        sanitize(subject),
        body.strip(),
        place,
    )


def _drop_amended(found: Evidence) -> None:
    """Of a commit that was amended the last state counts; one told twice counts once."""
    last: dict[str, Commit] = {}
    for commit in found.commits:
        if "--amend" in _command(commit.call) and last:
            last.pop(next(reversed(last)))
        last.pop(commit.subject or commit.sha, None)
        last[commit.subject or commit.sha] = commit
    found.commits = [commit for commit in last.values() if commit.subject]


def relative(file: str, cwd: str) -> str:
    """A path as people say it within the folder of the session."""
    return file.removeprefix(cwd.rstrip("/") + "/") if cwd else file


def files(edits: Sequence[Edit]) -> tuple[str, ...]:
    """Each changed file once, in the order of the first change."""
    return tuple(dict.fromkeys(edit.file for edit in edits))
