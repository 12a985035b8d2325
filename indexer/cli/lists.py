"""`sessions`, `projects` and `project explain`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence

from indexer import config
from indexer.cli import scope, views
from indexer.cli.output import Output
from indexer.cli.render import Style, aside, columns, duration, fit, many, one_line, pad, when
from indexer.errors import IndexerError
from indexer.project import fold
from indexer.store import browse
from indexer.store.reads import aliases, reading
from indexer.text import iso

_INDENT = "    "


def sessions(args: Namespace, out: Output) -> int:
    """List the newest sessions, each with the command that takes it up again."""
    settings = config.load(args.home, args.roots)
    since, until = scope.window(args)
    limit = args.limit or settings.search_limit
    with reading(settings.home) as conn:
        keys = scope.project_keys(conn, settings, args.project)
        ahead = browse.sessions(conn, keys, since, until, limit + 1, args.offset)
    found = ahead[:limit]
    if out.as_json:
        listed = [views.session_json(session) for session in found]
        out.data({"sessions": listed, "limit": limit, "offset": args.offset})
        return 0
    names = views.project_names((session.project, session.project_key) for session in found)
    for session in found:
        out.lines(_session_lines(session, names[session.project, session.project_key], out.style, out.width))
    if not found:
        out.note("no sessions" if not args.offset else f"no more sessions after the first {args.offset:,}")
    elif len(ahead) > limit:
        out.note(aside(many(limit, "session"), f"--offset {args.offset + limit} for more"))
    return 0


def _session_lines(session: browse.Session, project: str, style: Style, width: int) -> Iterator[str]:
    span = None if session.started is None or session.last is None else session.last - session.started
    yield style.bold(fit(one_line(views.title(session)) or "(untitled)", width))
    about = aside(
        project,
        when(session.started),
        duration(span),
        many(session.prompts, "prompt"),
        many(session.tool_uses, "tool use"),
        one_line(session.model),
        "" if session.status == "completed" else session.status,
    )
    yield _INDENT + style.dim(fit(about, width - len(_INDENT)))
    # Never cut: it is there to be copied.
    yield _INDENT + style.name(views.resume_text(session) or one_line(session.session))


def projects(args: Namespace, out: Output) -> int:
    """List all projects, the last active first."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        found = browse.projects(conn, aliases(conn, settings.aliases))
    if out.as_json:
        out.data({"projects": [_project_json(project) for project in found]})
        return 0
    out.lines(_project_lines(found, out))
    if not found:
        out.note("no projects")
    return 0


def _project_json(project: browse.Project) -> dict[str, object]:
    return {
        "project": project.display,
        "project_key": project.key,
        "source": project.source,
        "sessions": project.sessions,
        "prompts": project.prompts,
        "tool_uses": project.tool_uses,
        "last": iso(project.last),
        "spellings": list(project.spellings),
        "keys": list(project.keys),
    }


def _project_lines(found: Sequence[browse.Project], out: Output) -> Iterator[str]:
    names = [one_line(project.display) for project in found]
    width = min(max(map(columns, names), default=0), out.width // 3)
    for name, project in zip(names, found, strict=True):
        numbers = aside(
            when(project.last),
            many(project.sessions, "session"),
            many(project.prompts, "prompt"),
            many(project.tool_uses, "tool use"),
        )
        yield f"{out.style.bold(pad(fit(name, width), width))}  {numbers}"
        others = [one_line(other) for other in project.spellings if other != project.display]
        also = "also " + ", ".join(others) if others else ""
        merged = "with " + ", ".join(map(one_line, project.keys[1:])) if project.keys[1:] else ""
        yield out.style.dim(_INDENT + aside(one_line(project.key), project.source, also, merged))


def explain(args: Namespace, out: Output) -> int:
    """Say which project a folder is, and why, and which sessions of it were given another one before.

    Needs no memory, and the folder need not exist.
    """
    settings = config.load(args.home, args.roots)
    resolver = scope.resolver(settings)
    # Not resolve(): links are part of what is to be explained.
    path = os.path.normpath(config.absolute(os.path.expanduser(args.path)))  # noqa: PTH111 - Path's may raise
    why = resolver.explain(path)
    key = resolver.resolve(path).key
    why += [f"alias: read as {new}, by project.aliases" for old, new in settings.aliases if fold(old) == key]
    kept = _kept_keys(settings, path, key)
    why += [
        f"stored: {many(number, 'session')} of this folder kept under {old}; rules are for sessions that begin later"
        for old, number in kept.items()
    ]
    if out.as_json:
        out.data({"path": path} | resolver.resolve(path)._asdict() | {"why": why, "stored_keys": kept})
    else:
        out.lines([one_line(path), *(_INDENT + one_line(line) for line in why)])
    return 0


def _kept_keys(settings: config.Config, path: str, key: str) -> dict[str, int]:
    """Keys under which stored sessions of the folder are found, unless they are read as `key`."""
    try:
        with reading(settings.home) as conn:
            merged = aliases(conn, settings.aliases)
            stored = browse.keys_of_folder(conn, path)
    except IndexerError:  # no memory yet, or none that can be read: the rules explain themselves without
        return {}
    wanted = merged.get(key, key)
    return {old: number for old, number in stored.items() if merged.get(old, old) != wanted}
