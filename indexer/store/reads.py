"""Questions to the memory that every door asks: which project is meant, how much there is, the newest N.

Each statement is a module constant, so that tests/store/test_plans.py can look at the plan of every
one of them. "Newest N of a project" is one indexed branch a key, merged here: with `IN (…)` SQLite
sorts all rows of the project to find the first few (claude-mem read 63 MB a start-up that way).
"""

from __future__ import annotations

import difflib
import heapq
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from indexer.errors import AmbiguousProject, NotFound
from indexer.project import fold
from indexer.store.connection import Connection as Connection
from indexer.store.connection import open_reader, translated
from indexer.text import clean

COUNTS = """
SELECT (SELECT COUNT(*) FROM sdk_sessions),
       (SELECT COUNT(*) FROM user_prompts WHERE prompt_kind = 'prompt'),
       (SELECT COUNT(*) FROM tool_uses),
       (SELECT COUNT(*) FROM assistant_messages),
       (SELECT COUNT(DISTINCT coalesce(
           (SELECT a.project_key FROM project_aliases a WHERE a.alias_key = p.project_key), p.project_key))
          FROM projects p
         WHERE EXISTS (SELECT 1 FROM sdk_sessions s WHERE s.project_key = p.project_key)),
       (SELECT COUNT(*) FROM dead_letters)
"""

PROJECT_NAMES = "SELECT project_key, display FROM projects"
PROJECT_SPELLINGS = "SELECT DISTINCT project_key, project FROM sdk_sessions"
ALIASES = "SELECT alias_key, project_key FROM project_aliases"
RESOLUTION = "SELECT project_key FROM project_resolutions WHERE cwd = :cwd"

NEWEST_PROMPTS = """
SELECT prompt_kind AS kind, id, content_session_id AS session, created_at_epoch AS time, prompt_text AS text
FROM user_prompts WHERE project_key = :key ORDER BY created_at_epoch DESC, id LIMIT :limit
"""
NEWEST_ASSISTANT = """
SELECT 'assistant' AS kind, m.id, m.content_session_id AS session, m.created_at_epoch AS time,
       (SELECT group_concat(text, char(10)) FROM
         (SELECT text FROM assistant_texts WHERE message_row_id = m.id ORDER BY position)) AS text
FROM assistant_messages m WHERE m.project_key = :key ORDER BY m.created_at_epoch DESC, m.id LIMIT :limit
"""
NEWEST_TOOL_USES = """
SELECT 'tool_use' AS kind, id, content_session_id AS session, created_at_epoch AS time,
       tool_name || ' ' || coalesce(file_path, tool_input, '') AS text
FROM tool_uses WHERE project_key = :key ORDER BY created_at_epoch DESC, id LIMIT :limit
"""
_OBSERVATION = """
SELECT 'observation' AS kind, o.id, s.content_session_id AS session, o.created_at_epoch AS time,
       coalesce(o.title, o.text, '') AS text
FROM observations o JOIN sdk_sessions s ON s.memory_session_id = o.memory_session_id
WHERE o.{column} = :key ORDER BY o.created_at_epoch DESC, o.id LIMIT :limit
"""
NEWEST_OBSERVATIONS = _OBSERVATION.format(column="project_key")
NEWEST_MERGED_OBSERVATIONS = _OBSERVATION.format(column="merged_into_project")
_SUMMARY = """
SELECT 'summary' AS kind, y.id, s.content_session_id AS session, y.created_at_epoch AS time,
       coalesce(y.request, y.completed, '') AS text
FROM session_summaries y JOIN sdk_sessions s ON s.memory_session_id = y.memory_session_id
WHERE y.{column} = :key ORDER BY y.created_at_epoch DESC, y.id LIMIT :limit
"""
NEWEST_SUMMARIES = _SUMMARY.format(column="project_key")
NEWEST_MERGED_SUMMARIES = _SUMMARY.format(column="merged_into_project")

_NEWEST = {
    "prompt": (NEWEST_PROMPTS,),
    "assistant": (NEWEST_ASSISTANT,),
    "tool_use": (NEWEST_TOOL_USES,),
    "observation": (NEWEST_OBSERVATIONS, NEWEST_MERGED_OBSERVATIONS),
    "summary": (NEWEST_SUMMARIES, NEWEST_MERGED_SUMMARIES),
}


class Counts(NamedTuple):
    """How much the memory holds. prompts: what people typed as prompts, not commands or shell input."""

    sessions: int
    prompts: int
    tool_uses: int
    assistant_messages: int
    projects: int
    dead_letters: int


class Recent(NamedTuple):
    """One remembered thing in a list of the newest. time: epoch milliseconds, None if undated."""

    kind: str
    id: str
    session: str
    time: int | None
    text: str


@contextmanager
def reading(home: Path) -> Iterator[Connection]:
    """A connection that cannot write, closed at the end, with SQLite's errors turned into ours.

    Raises NoDatabase, CorruptDatabase, NewerDatabase, Busy.
    """
    with translated():
        conn = open_reader(home)
        try:
            yield conn
        finally:
            conn.close()


def counts(conn: Connection) -> Counts:
    """The numbers that `rescan` and `status` report; from indexes alone."""
    return Counts(*conn.execute(COUNTS).fetchone())


def newest(conn: Connection, kind: str, keys: Sequence[str], limit: int) -> list[Recent]:
    """The newest `limit` rows of a kind (prompt, assistant, tool_use, observation, summary) in the
    projects `keys`; undated ones last. `prompt` holds commands and shell input too."""
    branches = [
        conn.execute(statement, {"key": key, "limit": limit})
        for key in dict.fromkeys(keys)
        for statement in _NEWEST[kind]
    ]
    rows = unique(merge_newest(branches, "time"))
    return [
        Recent(row["kind"], f"{row['kind']}:{row['id']}", row["session"], row["time"], row["text"] or "")
        for row in islice(rows, limit)
    ]


def merge_newest(branches: Sequence[Iterator[sqlite3.Row]], column: str) -> Iterator[sqlite3.Row]:
    """Merge branches that each come newest first, the undated last, into one of the same order."""
    return heapq.merge(*branches, key=lambda row: (row[column] is None, -(row[column] or 0), row["id"]))


def unique(rows: Iterator[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """Leave out rows already seen: one may stand in the branch of its key and in that of its merge."""
    seen: set[int] = set()
    for row in rows:
        if row["id"] not in seen:
            seen.add(row["id"])
            yield row


def aliases(conn: Connection, configured: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Keys that are read as another key: those stored, and those of the settings as they stand now.

    configured: pairs (old key or display name, key) of `[project.aliases]`; a reader cannot store them,
    and they are to hold for everything already stored.
    """
    merged = dict(conn.execute(ALIASES))
    pairs = [(fold(old), fold(new)) for old, new in configured]
    known = dict(conn.execute(PROJECT_NAMES)) if pairs else {}
    for old, new in pairs:
        named = [key for key, display in known.items() if fold(display) == old and key != new]
        merged |= dict.fromkeys([old] if old in known or not named else named, new)
    return merged


def resolve_project(
    conn: Connection,
    name: str,
    cwd: str,
    key_of_path: Callable[[str], str] | None = None,
    configured: Iterable[tuple[str, str]] = (),
) -> tuple[str, ...]:
    """The keys to filter on for what a person calls a project: a key, display name, alias or path.

    cwd: the folder a relative path starts from. key_of_path: what a folder resolves to today
    (Resolver.resolve). configured: as in `aliases`; one hop of them is followed, both ways.
    Raises AmbiguousProject with the candidates as its hint, NotFound with the nearest names.
    """
    known = dict(conn.execute(PROJECT_NAMES))
    merged = aliases(conn, configured)
    key = _exact(fold(name), known, merged)
    key = key or _by_name(conn, name, known)
    key = key or _by_path(conn, name, cwd, known, key_of_path)
    key = key or _only([k for k in known if k.endswith("/" + fold(name).strip("/"))], name, known)
    if key is None:
        raise NotFound(f"no project is called {name!r}", _nearest(name, known))
    return _spread(key, merged)


def _exact(folded: str, known: dict[str, str], merged: dict[str, str]) -> str | None:
    return folded if folded in known or folded in merged or folded in merged.values() else None


def _by_name(conn: Connection, name: str, known: dict[str, str]) -> str | None:
    """By display name; then by a spelling that only some of the project's sessions use."""
    folded = fold(name)
    keys = [key for key, display in known.items() if fold(display) == folded]
    if not keys:
        keys = sorted({key for key, project in conn.execute(PROJECT_SPELLINGS) if fold(project) == folded})
    return _only(keys, name, known)


def _by_path(
    conn: Connection, name: str, cwd: str, known: dict[str, str], key_of_path: Callable[[str], str] | None
) -> str | None:
    if "/" not in name and name not in (".", "..", "~"):
        return None
    # normpath, not resolve(): sessions keep their folders as the client saw them, links and all.
    path = clean(os.path.normpath(Path(cwd, os.path.expanduser(name))))  # noqa: PTH111 - Path's may raise
    key = fold(key_of_path(path)) if key_of_path else fold(path)
    if key in known:
        return key
    row = conn.execute(RESOLUTION, {"cwd": path}).fetchone()
    return str(row["project_key"]) if row else None


def _only(keys: Sequence[str], name: str, known: dict[str, str]) -> str | None:
    """The single candidate, or None when there is none. Raises AmbiguousProject for several."""
    if len(keys) > 1:
        names = "; ".join(f"{key} ({known.get(key, '')})" for key in sorted(keys))
        raise AmbiguousProject(f"{name!r} names {len(keys)} projects", f"give one of the keys: {names}")
    return keys[0] if keys else None


def _nearest(name: str, known: dict[str, str]) -> str:
    spelled = {fold(word): word for pair in known.items() for word in pair}
    close = difflib.get_close_matches(fold(name), list(spelled), n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(spelled[word] for word in close) + "?"
    return "`transcript-indexer projects` lists what there is"


def _spread(key: str, merged: dict[str, str]) -> tuple[str, ...]:
    """The key, what it is read as, and whatever is read as either."""
    targets = [key, merged[key]] if key in merged else [key]
    return tuple(dict.fromkeys([*targets, *(old for old, new in merged.items() if new in targets)]))
