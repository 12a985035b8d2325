"""Every command, its options, and the module that carries it out (`run`: `module:function`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

PROG = "transcript-indexer"
KINDS = ("prompt", "command", "shell", "assistant", "tool_use", "observation", "summary")
MODES = ("hybrid", "lexical", "semantic")
PROVIDERS = ("rules", "claude-cli", "anthropic", "openai")
COLORS = ("auto", "always", "never")

_SEARCH_EPILOG = f"""\
WORD finds it in any language, whole identifiers and their parts; "exact phrase", -word and title:word are
understood. DATE is a day (2026-11-20), a time (2026-11-20T15:00+01:00), or a span back from now (3d, 12h).
kinds: {", ".join(KINDS)}
"""


_FORGET_EPILOG = """\
What is forgotten leaves no byte in any file of the memory, and is not read again from a transcript that
still stands, nor from a copy of it. A forgotten session stays so: what is written into it later is not
stored either. What a fork shares with it stays with the fork. --id takes the record itself (of a tool use
its result's too), not the rest of its turn. Sessions of a project that begin later are stored again, unless
its name is in `exclude.projects` of your settings.
"""


_EXPORT_EPILOG = """\
Without SESSION, jsonl of the whole memory: `import` takes that in on another machine, or on this one again,
where it changes nothing. Texts are as they are stored, redacted; the file is for you alone (0600).
"""
_IMPORT_EPILOG = """\
Everything is taken in once, however often it is imported, and in whatever order with `rescan`. What was
forgotten here stays forgotten, what `exclude.projects` names is left out, and secrets are redacted. What a
transcript of this machine says itself is never replaced. A running service takes it in; nothing is locked.
claude-mem's usual place is ~/.claude-mem/claude-mem.db (or CLAUDE_MEM_DATA_DIR); it is only read.
"""


def common(parser: argparse.ArgumentParser, level: int) -> None:
    group = parser.add_argument_group("everywhere")
    unset = None if level == 0 else argparse.SUPPRESS
    group.add_argument("--home", metavar="DIR", default=unset, help="folder of the memory")
    group.add_argument(
        "--root",
        metavar="DIR",
        dest=f"roots{level}",
        action="append",
        default=argparse.SUPPRESS,
        help="folder of transcripts, instead of Claude Code's own; may be repeated",
    )
    group.add_argument(
        "--json", action="store_true", default=False if level == 0 else unset, help="print JSON, errors too"
    )
    group.add_argument("--color", choices=COLORS, default=unset, help="colour: auto (default), always, never")


def _command(commands: Any, name: str, run: str, text: str, **settings: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", **settings
    )
    parser.set_defaults(run=run)
    common(parser, 1)
    return parser


def _span(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--project", metavar="NAME", help="a project's name, key, alias or folder (`.`)")
    parser.add_argument("--since", metavar="DATE", help=f"{what} from this time on")
    parser.add_argument("--until", metavar="DATE", help=f"{what} up to this time")


def _window(parser: argparse.ArgumentParser, what: str) -> None:
    _span(parser, what)
    parser.add_argument("--limit", metavar="N", type=_count(1), help="how many at most (default 20)")
    parser.add_argument("--offset", metavar="N", type=_count(0), default=0, help="leave out the first N")


def _count(lowest: int, most: int | None = None) -> Any:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} up")
        if most is not None and int(text) > most:
            raise argparse.ArgumentTypeError(f"{text!r} is more than {most}")
        return min(int(text), 1 << 31)

    return number


# --- one function a command --------------------------------------------------------------------------


def _watch(commands: Any) -> None:
    _command(commands, "watch", "indexer.cli.feed:watch", "keep the memory up to date until stopped")


def _rescan(commands: Any) -> None:
    parser = _command(
        commands, "rescan", "indexer.cli.feed:rescan", "read all transcripts; what is known costs nothing"
    )
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="make the whole memory anew from transcripts and archive; nothing is lost, and it stays usable meanwhile",
    )


def _redact(commands: Any) -> None:
    parser = _command(commands, "redact", "indexer.cli.redact:redact", "take secrets out of what is stored")
    parser.add_argument("--rescan", action="store_true", help="go over everything stored, by the present rules")


def _search(commands: Any) -> None:
    parser = _command(
        commands,
        "search",
        "indexer.cli.search:search",
        "find what was said and done, the best first",
        epilog=_SEARCH_EPILOG,
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="what to look for")
    _window(parser, "hits")
    _narrowing(parser)
    parser.add_argument("--file", metavar="PATH", help="what touched this file: a path or the end of one")
    parser.add_argument("--type", metavar="TYPE", help="observations of this type")
    parser.add_argument("--concept", metavar="NAME", help="observations with this concept")
    parser.add_argument("--group", choices=("session",), help="list sessions by their best hits")
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="hybrid",
        help="by words and meaning (hybrid, the default), words alone (lexical) or meaning alone (semantic)",
    )


def _narrowing(parser: argparse.ArgumentParser) -> None:
    """Filters that every command which finds hits has, beside `_window`."""
    parser.add_argument("--session", metavar="ID", help="hits of one session: its id or the start of it")
    parser.add_argument(
        "--kind",
        metavar="KIND",
        action="append",
        default=[],
        help="hits of this kind; may be repeated, or a,b",
    )
    parser.add_argument("--tool", metavar="NAME", help="tool calls of this tool, as Bash")
    parser.add_argument("--agent", metavar="ID", help="what this sub-agent (id or type) did")
    parser.add_argument("--platform", metavar="NAME", help="transcripts of this client, as claude")


def _timeline(commands: Any) -> None:
    parser = _command(
        commands,
        "timeline",
        "indexer.cli.timeline:timeline",
        "show what stood before and after a result, or the best hit of a search",
    )
    parser.add_argument("words", nargs="*", metavar="ANCHOR|WORD", help="an id as prompt:12, or what to look for")
    parser.add_argument("--before", metavar="N", type=_count(0), default=5, help="how many before (default 5)")
    parser.add_argument("--after", metavar="N", type=_count(0), default=5, help="how many after (default 5)")
    _span(parser, "what happened")
    _narrowing(parser)
    parser.set_defaults(limit=None, offset=0)


def _similar(commands: Any) -> None:
    parser = _command(commands, "similar", "indexer.cli.search:similar", "find what is like one result")
    parser.add_argument("id", metavar="ID", help="as prompt:12")
    _window(parser, "hits")
    _narrowing(parser)
    parser.set_defaults(words=[])


def _by_file(commands: Any) -> None:
    parser = _command(
        commands, "by-file", "indexer.cli.search:by_file", "find what touched a file, what answers WORD first"
    )
    parser.add_argument("of", metavar="PATH", help="a path, the end of one, or a folder")
    _finding(parser)


def _by_type(commands: Any) -> None:
    parser = _command(commands, "by-type", "indexer.cli.search:by_type", "find observations of one type")
    parser.add_argument("of", metavar="TYPE", help="as bugfix, decision or discovery")
    _finding(parser)


def _by_concept(commands: Any) -> None:
    parser = _command(commands, "by-concept", "indexer.cli.search:by_concept", "find observations with one concept")
    parser.add_argument("of", metavar="NAME", help="the concept")
    _finding(parser)


def _finding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="what to look for; without, the newest")
    _window(parser, "hits")
    _narrowing(parser)


def _show(commands: Any) -> None:
    parser = _command(
        commands, "show", "indexer.cli.show:show", "show one result or session in whole, with its context"
    )
    parser.add_argument("id", metavar="ID", help="as prompt:12, tool_use:7, a session id or the start of one")


def _observations(commands: Any) -> None:
    parser = _command(
        commands, "observations", "indexer.cli.memory:observations", "list what was learned and done, the newest first"
    )
    _some(parser)
    parser.add_argument("--type", metavar="TYPE", help="bugfix, feature, refactor, change, discovery, decision")
    parser.add_argument("--offset", metavar="N", type=_count(0), default=0, help="leave out the first N")


def _summary(commands: Any) -> None:
    parser = _command(commands, "summary", "indexer.cli.memory:summary", "show what a session came to")
    parser.add_argument("id", metavar="SESSION", help="a session id or the start of one")


def _work(commands: Any) -> None:
    parser = _command(commands, "work", "indexer.cli.memory:work", "list what is open in agents' to-do lists")
    _some(parser)
    parser.add_argument("--all", action="store_true", help="what is done or dropped too")


def _compress(commands: Any) -> None:
    parser = _command(
        commands, "compress", "indexer.cli.compress:compress", "make observations of finished turns that have none"
    )
    parser.add_argument("--dry-run", action="store_true", help="say how much there is to do, and what it costs")
    parser.add_argument("--provider", choices=PROVIDERS, help="have its model word what rules have observed anew")
    parser.add_argument("--since", metavar="DATE", help="of turns from this time on (with a provider)")
    parser.add_argument("--failed", action="store_true", help="ask again about turns that no model answered for")
    parser.add_argument("--max-calls", metavar="N", type=_count(0), help="ask at most N times")
    parser.add_argument("--max-tokens", metavar="N", type=_count(0), help="spend at most N tokens")


def _context(commands: Any) -> None:
    parser = _command(
        commands, "context", "indexer.cli.remembering:context", "print what a session of a project should know"
    )
    parser.add_argument("--project", metavar="NAME", help="a project's name, key, alias or folder (default: here)")
    parser.add_argument("--budget", metavar="N", type=_count(400), help="characters at most, up to 9000")


def _dedup(commands: Any) -> None:
    parser = _command(commands, "dedup", "", "see and decide which observations say the same")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    run = "indexer.cli.remembering:"
    listed = _sub(actions, "candidates", run + "candidates", "pairs of titles that are alike, the most alike first")
    listed.add_argument("--limit", metavar="N", type=_count(1), help="how many at most (default 20)")
    for name, text in (("accept", "merge a pair into its earlier"), ("dismiss", "keep a pair apart for good")):
        pair = _sub(actions, name, run + name, text)
        pair.add_argument("first", metavar="ID", help="as observation:12")
        pair.add_argument("second", metavar="ID", help="as observation:15")
    _sub(actions, "scan", run + "scan", "compare all titles now")


def _some(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="NAME", help="a project's name, key, alias or folder (`.`)")
    parser.add_argument("--limit", metavar="N", type=_count(1), help="how many at most (default 20)")


def _sessions(commands: Any) -> None:
    parser = _command(commands, "sessions", "indexer.cli.lists:sessions", "list sessions, the newest first")
    _window(parser, "sessions going on")


def _projects(commands: Any) -> None:
    _command(commands, "projects", "indexer.cli.lists:projects", "list projects, the last active first")


def _project(commands: Any) -> None:
    parser = _command(commands, "project", "", "ask about one project")
    questions = parser.add_subparsers(metavar="QUESTION", dest="question", required=True)
    explain = _sub(questions, "explain", "indexer.cli.lists:explain", "say which project a folder is, and why")
    explain.add_argument("path", metavar="PATH", nargs="?", default=".", help="the folder (default: here)")


def _status(commands: Any) -> None:
    parser = _command(commands, "status", "indexer.cli.status:status", "say how far the memory has come")
    parser.add_argument(
        "--dead-letters", metavar="N", type=_count(0), default=5, help="list so many dead letters (default 5)"
    )
    parser.add_argument("--sizes", action="store_true", help="sizes by table, also of a large memory (1 s for 500 MB)")
    parser.add_argument(
        "--watch", metavar="SECONDS", type=_count(1), nargs="?", const=2, help="again every so many seconds (default 2)"
    )


def _stats(commands: Any) -> None:
    parser = _command(commands, "stats", "indexer.cli.stats:stats", "count what was said and done, with small bars")
    parser.add_argument("--by", choices=("day", "project", "tool", "model"), help="this alone, and all of it")
    parser.add_argument("--project", metavar="NAME", help="a project's name, key, alias or folder (`.`)")
    parser.add_argument("--since", metavar="DATE", help="from this time on")
    parser.add_argument("--until", metavar="DATE", help="up to this time")


def _metrics(commands: Any) -> None:
    _command(commands, "metrics", "indexer.cli.metrics:metrics", "print the state of the memory for Prometheus")


def _backup(commands: Any) -> None:
    parser = _command(commands, "backup", "indexer.cli.backup:backup", "copy the memory while it is written to")
    parser.add_argument("file", metavar="FILE", help="the copy, which must not exist yet")


def _export(commands: Any) -> None:
    text = "write a session as Markdown or HTML, or memory that another machine can import"
    parser = _command(commands, "export", "indexer.cli.export:export", text, epilog=_EXPORT_EPILOG)
    parser.add_argument("id", metavar="SESSION", nargs="?", help="a session's id or the start of it")
    parser.add_argument(
        "--format", choices=("markdown", "html", "jsonl"), help="default: markdown of a SESSION, else jsonl"
    )
    parser.add_argument("--session", metavar="ID", help="the same as SESSION, for jsonl")
    parser.add_argument("--project", metavar="NAME", help="jsonl of this project alone: a name, key, alias or folder")
    parser.add_argument("--output", metavar="FILE", help="write to this new file instead of printing")


def _import(commands: Any) -> None:
    text = "take in what `export` wrote, a copy of another machine's index.db, or claude-mem's database"
    parser = _command(commands, "import", "indexer.cli.imports:take_in", text, epilog=_IMPORT_EPILOG)
    parser.add_argument("what", metavar="FILE|claude-mem", help="an export, a copy of index.db, or claude-mem's")
    parser.add_argument("path", metavar="PATH", nargs="?", help="claude-mem's database, if not in its usual place")


def _completions(commands: Any) -> None:
    parser = _command(
        commands, "completions", "indexer.cli.completions:completions", "print the completions of a shell"
    )
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def _doctor(commands: Any) -> None:
    text = "look for what keeps the memory from being whole, and say what to do; exit code 1 for a problem"
    _command(commands, "doctor", "indexer.cli.doctor:doctor", text)


def _mcp(commands: Any) -> None:
    parser = _command(commands, "mcp", "indexer.cli.mcp:mcp", "serve the memory to Claude and other MCP clients")
    parser.add_argument(
        "--http", metavar="PORT", type=_count(1, 65_535), help="by HTTP on 127.0.0.1, with the token in HOME/mcp.token"
    )


def _web(commands: Any) -> None:
    parser = _command(
        commands, "web", "indexer.cli.web:web", "show the memory in your browser, from this machine alone"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--port", metavar="N", type=_count(0, 65_535), help="the port; 0 takes a free one")
    where.add_argument("--socket", metavar="PATH", help="a Unix socket for you alone, instead of a port")
    parser.add_argument("--open", action="store_true", help="open the browser")
    parser.add_argument("--bind", metavar="ADDRESS", default="127.0.0.1", help="the address (default 127.0.0.1)")
    parser.add_argument(
        "--allow-remote", action="store_true", help="an address that other machines reach, without encryption"
    )


def _hook(commands: Any) -> None:
    parser = _command(commands, "hook", "", "answer a hook of Claude Code's; only reads, and never fails")
    events = parser.add_subparsers(metavar="EVENT", dest="event", required=True)
    _sub(events, "session-start", "indexer.cli.hook:session_start", "print what earlier sessions were about")


def _service(commands: Any) -> None:
    parser = _command(commands, "service", "", "the service that keeps the memory up to date by itself")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    install = _sub(actions, "install", "indexer.cli.service:install", "install and start it, or bring it up to date")
    install.add_argument("--dry-run", action="store_true", help="print the unit and touch nothing")
    install.add_argument("--force", action="store_true", help="also a command that may soon be gone")
    install.add_argument("--allow-network", action="store_true", help="let it open network connections (systemd)")
    uninstall = _sub(actions, "uninstall", "indexer.cli.service:uninstall", "stop and remove it; the memory stays")
    uninstall.add_argument("--purge", action="store_true", help="delete the memory, settings and logs too")
    _sub(actions, "status", "indexer.cli.service:status", "say whether it runs; exit code 1 if not")
    logs = _sub(actions, "logs", "indexer.cli.service:logs", "print the end of its log")
    logs.add_argument("--lines", metavar="N", type=_count(1), default=50, help="so many lines (default 50)")
    logs.add_argument("--follow", action="store_true", help="go on printing what is added")


def _archive(commands: Any) -> None:
    parser = _command(commands, "archive", "", "see, restore or prune the archived transcripts")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    _sub(actions, "status", "indexer.cli.archive:status", "what the archive holds, and what stands nowhere else")
    restore = _sub(actions, "restore", "indexer.cli.archive:restore", "write archived transcripts into a folder")
    which = restore.add_mutually_exclusive_group(required=True)
    which.add_argument("--session", metavar="ID", help="those of one session: its id or the start of it")
    which.add_argument("--project", metavar="NAME", help="those of a project: its name, key, alias or folder")
    which.add_argument("--all", action="store_true", help="all of them")
    restore.add_argument("--to", metavar="DIR", required=True, help="folder to write to; never Claude Code's own")
    prune = _sub(actions, "prune", "indexer.cli.archive:prune", "take out what is over the limits of your settings")
    prune.add_argument("--yes", action="store_true", help="do it; without, only say what would go")


def _forget(commands: Any) -> None:
    parser = _command(
        commands,
        "forget",
        "indexer.cli.forget:forget",
        "say what would be forgotten; with --yes, forget it for good",
        epilog=_FORGET_EPILOG,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--session", metavar="ID", help="a session: its id or the start of it")
    what.add_argument("--project", metavar="NAME", help="a project's sessions, as they are stored now")
    what.add_argument("--id", metavar="ID", help="one result, as prompt:12, in every session that shows it")
    what.add_argument("--before", metavar="DATE", help="sessions whose last record is older")
    what.add_argument("--excluded", action="store_true", help="sessions of the projects that the settings exclude")
    parser.add_argument("--yes", action="store_true", help="do it; without, nothing is changed")


def _vectors(commands: Any) -> None:
    parser = _command(commands, "vectors", "", "see and mend what finds by meaning")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    _sub(actions, "status", "indexer.cli.vectors:status", "how far vectors are, and whether the index holds them all")
    _sub(actions, "sync", "indexer.cli.vectors:sync", "bring vectors up to date, and wait until they are")
    _sub(actions, "rebuild", "indexer.cli.vectors:rebuild", "make the index anew from the vectors in SQLite")
    _sub(actions, "serve", "indexer.cli.vectors:serve", "be the vector worker; others start it as they need it")


def _config(commands: Any) -> None:
    parser = _command(commands, "config", "", "see or begin the settings")
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    _sub(actions, "show", "indexer.cli.settings:show", "every setting, its value, and where it came from")
    _sub(actions, "path", "indexer.cli.settings:path", "where your settings file is looked for")
    _sub(actions, "init", "indexer.cli.settings:init", "write a settings file to edit")


def _help(commands: Any) -> None:
    parser = _command(commands, "help", "indexer.cli.help:show", "explain a topic, as search, privacy or service")
    parser.add_argument("topic", metavar="TOPIC", nargs="?", help="without, the topics are listed")


def _sub(commands: Any, name: str, run: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.set_defaults(run=run)
    common(parser, 2)
    return parser


_FINDING = (_search, _timeline, _similar, _by_file, _by_type, _by_concept)
EVERY: tuple[Callable[[Any], None], ...] = (
    *(_watch, _rescan, _redact, *_FINDING, _show, _observations, _summary, _work, _context, _compress, _dedup),
    *(_sessions, _projects, _project, _status, _stats, _metrics, _vectors, _archive, _forget, _backup, _export),
    *(_import, _completions, _doctor, _mcp, _web, _hook, _service, _config, _help),
)
"""Each adds its command to the sub-parsers it is given; in the order of the help text."""
