"""Rows of sdk_sessions: what a batch of entries says about its sessions, merged into what is stored.

Everything here is a smallest, a largest or a best-ranked value, so that it does not matter in which
order files are read, or in how many batches: first and last time, age, client version, and the working
directory that names the project. That one is written once and only replaced by better evidence: a main
file's before a sub-agent's, a directory that fits the transcript's folder before one that does not
(19 % of sessions change directory), and for equal evidence the first in file order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from indexer.project import Evidence, Resolution, evidence
from indexer.records import Entry, PromptKind, Title
from indexer.store.checkpoints import IMPORTED, FileRow
from indexer.store.membership import Age
from indexer.store.turns import touch

Resolve: TypeAlias = Callable[[str, str], Resolution]
"""(cwd, folder) -> the project; asked once a directory."""

TITLE_LENGTH = 1_000
_COLUMNS = (
    "id, content_session_id, origin_rank, origin_epoch, project, project_key, project_key_source, project_rank, "
    "project_file_id, cwd, git_branch, client_version, forked_from, started_at_epoch, last_at_epoch, "
    "prompt_counter, user_prompt, custom_title, ai_title, status, observed_model, observed_model_epoch"
)


_ENDS_PRIVATE = (
    "SELECT 1 FROM user_prompts p CROSS JOIN session_records r ON r.uuid = p.native_prompt_id "
    "WHERE p.is_private AND p.prompt_kind = 'prompt' AND r.session_db_id = ? AND p.prompt_number = ?"
)


BORROWED = f"""
SELECT coalesce(min(f.path GLOB '{IMPORTED}*'), 0) FROM session_files x JOIN ingest_files f ON f.id = x.file_id
WHERE x.session_db_id = ?
"""
_AGE = f"""
SELECT f.path GLOB '{IMPORTED}*' AS imported, x.is_agent, min(x.first_epoch) FROM session_files x
JOIN ingest_files f ON f.id = x.file_id WHERE x.session_db_id = ? GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 1
"""
UNTITLED = f"""
UPDATE session_files SET custom_title = NULL, ai_title = NULL WHERE session_db_id = ?
AND file_id IN (SELECT id FROM ingest_files WHERE path GLOB '{IMPORTED}*')
"""


@dataclass(slots=True)
class Session:
    """A session in hand for one transaction."""

    id: int
    content_session_id: str
    age: Age
    project: str = ""
    project_key: str = ""
    project_key_source: str | None = None
    project_rank: int = -1
    project_file_id: int | None = None
    cwd: str | None = None
    git_branch: str | None = None
    client_version: str | None = None
    forked_from: str | None = None
    started: int | None = None
    last: int | None = None
    prompt_counter: int = 0
    user_prompt: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    status: str = "active"
    observed_model: str | None = None
    observed_model_epoch: int | None = None
    memory_session_id: str = ""
    tail: dict[int, int] = field(default_factory=dict)
    """Largest position per main file; a record beyond it is simply the next one."""
    renumber: bool = False
    renumber_agents: bool = False
    agents_from: tuple[int, int] | None = None
    """Ids of tool_uses and assistant_messages beyond which sub-agents' rows are new."""
    moved_project: bool = False
    aged: bool = False
    """Its age has changed although it had records before."""
    titles: dict[int, dict[str, str]] = field(default_factory=dict)
    """New titles by file and kind."""
    stored: bool = False
    private: bool = False
    """Its latest prompt is wholly private: what follows it is not stored (private.py)."""
    borrowed: bool | None = None
    """Known from imports alone: what they say of it counts until a transcript is read. None: not known yet."""
    agent_calls: frozenset[str] = frozenset()
    """Calls that are known to have spawned a sub-agent."""

    def reclaim(self) -> None:
        """Its first transcript is being read: that says all there is to say of it."""
        self.borrowed, self.moved_project = False, bool(self.project_key)
        self.started = self.last = None
        self.project_rank, self.project_file_id, self.cwd, self.git_branch = -1, None, None, None
        self.client_version = self.forked_from = self.custom_title = self.ai_title = None
        self.observed_model = self.observed_model_epoch = None


@dataclass(slots=True)
class Facts:
    """What the entries of one file say of one session."""

    first: int | None = None
    low: int | None = None
    high: int | None = None
    version: str | None = None
    forked_from: str | None = None
    evidence: Evidence | None = None
    branch: str | None = None
    cwd: str | None = None
    """The last one looked at."""
    _seen: set[str] = field(default_factory=set)

    def add_time(self, time: int | None) -> None:
        """Take in when an entry was written; its own time, never a neighbour's."""
        if time is None:
            return
        if self.low is None or self.high is None:
            self.first = self.low = self.high = time
        elif time > self.high:
            self.high = time
        elif time < self.low:
            self.low = time

    def add(self, entry: Entry, folder: str) -> None:
        """Take in what an entry says beyond its time."""
        if entry.version is not None and entry.version != self.version:
            self.version = max(self.version or entry.version, entry.version, key=version_key)
        if entry.forked_from is not None:
            self.forked_from = min(self.forked_from or entry.forked_from, entry.forked_from)
        self.cwd = entry.cwd
        if entry.cwd is not None and entry.cwd not in self._seen:
            self._consider(entry, folder)

    def _consider(self, entry: Entry, folder: str) -> None:
        self._seen.add(entry.cwd or "")
        found = evidence(entry.cwd, folder)
        if found is not None and (self.evidence is None or found.rank > self.evidence.rank):
            self.evidence, self.branch = found, entry.git_branch


def version_key(version: str) -> tuple[int, ...]:
    """`2.1.101` -> (2, 1, 101); what is no number counts as 0."""
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))


def note_prompt(session: Session, kind: PromptKind, text: str, *, private: bool = False) -> None:
    """Count a prompt at the session's end; the first one becomes its title."""
    if kind == "prompt":
        session.private = private
        session.prompt_counter += 1
        if session.prompt_counter == 1:
            session.user_prompt = text[:TITLE_LENGTH]


def set_title(session: Session, file_id: int, title: Title) -> None:
    """A title line was read: the last one of its kind wins (of several files: numbering.choose_titles)."""
    text = title.text[:TITLE_LENGTH]
    if title.kind == "custom":
        session.custom_title = text
    else:
        session.ai_title = text
    session.titles.setdefault(file_id, {})[title.kind] = text


def note_model(session: Session, model: str | None, time: int | None) -> None:
    """The session's model is that of its latest message, copied history included."""
    if model is not None and (time or 0, model) > (
        session.observed_model_epoch or -1,
        session.observed_model or "",
    ):
        session.observed_model, session.observed_model_epoch = model, time or 0


class Sessions:
    """The sessions of one transaction, by content_session_id."""

    def __init__(self, conn: sqlite3.Connection, platform: str, resolve: Resolve) -> None:
        self._conn, self._platform, self._resolve = conn, platform, resolve
        self._held: dict[str, Session] = {}
        self._left: set[str] = set()
        self.given: Mapping[str, Resolution] = {}
        """Projects of sessions that an import names, by content session id."""

    def __getitem__(self, content_session_id: str) -> Session:
        return self._held[content_session_id]

    def all(self) -> list[Session]:
        """Every session the transaction touches."""
        return list(self._held.values())

    def get(self, content_session_id: str) -> Session:
        """A session by its id, made if it is new."""
        return self._held.get(content_session_id) or self._load(content_session_id)

    def drop(self, session: Session) -> None:
        """Take a session out of the transaction."""
        del self._held[session.content_session_id]

    def disturb(self, ids: Iterable[int]) -> None:
        """Records of these sessions have changed for reasons outside of them: what their sub-agents'
        work belongs to is found out again."""
        held = {session.id: session for session in self._held.values()}
        for row_id in sorted(ids):
            session = held.get(row_id)
            if session is None:
                sql = "SELECT content_session_id FROM sdk_sessions WHERE id = ?"
                session = self.get(self._conn.execute(sql, (row_id,)).fetchone()[0])
            session.renumber_agents = True

    def ages(self) -> dict[int, Age]:
        """Ages by row id, for the choice of owners."""
        return {session.id: session.age for session in self._held.values()}

    def merge(self, file: FileRow, facts: dict[str, Facts], *, from_start: bool) -> None:
        """Take in what a file says of its sessions; new sessions get their row at once.

        from_start: the facts are of the file's first lines, which say how old the session is there."""
        for content_session_id, fact in facts.items():
            session = self.get(content_session_id)
            self._age(session, file, fact, from_start)
            if not self._speaks(session, file):
                continue
            self._times(session, fact)
            self._project(session, file, fact)
            session.client_version = _newer(session.client_version, fact.version)
            if fact.forked_from is not None:  # of two, the smaller id, in any order of reading
                session.forked_from = min(session.forked_from or fact.forked_from, fact.forked_from)

    def _speaks(self, session: Session, file: FileRow) -> bool:
        """Whether what a file says of a session counts: an import's does only while there is nothing else."""
        if session.borrowed is None:
            session.borrowed = file.imported
        elif session.borrowed and not file.imported:
            self._left.add(session.project_key)
            session.reclaim()
            self._conn.execute("UPDATE sdk_sessions SET ai_title = NULL WHERE id = ?", (session.id,))
            self._conn.execute(UNTITLED, (session.id,))
        return session.borrowed or not file.imported

    def _load(self, content_session_id: str) -> Session:
        sql = f"SELECT {_COLUMNS} FROM sdk_sessions WHERE platform_source = ? AND content_session_id = ?"
        found = self._conn.execute(sql, (self._platform, content_session_id)).fetchone()
        memory_id = f"{self._platform}:{content_session_id}"
        if found is None:
            insert = (
                "INSERT INTO sdk_sessions (content_session_id, memory_session_id, platform_source) VALUES (?, ?, ?)"
            )
            row_id = self._conn.execute(insert, (content_session_id, memory_id, self._platform)).lastrowid or 0
            session = Session(row_id, content_session_id, Age(content_session_id, 1, None))
        else:
            row_id, _, rank, epoch, *rest = found
            session = Session(row_id, content_session_id, Age(content_session_id, rank, epoch), *rest)
            session.tail, session.stored = self._tails(row_id), True
            session.borrowed = bool(self._conn.execute(BORROWED, (row_id,)).fetchone()[0])
            calls = "SELECT tool_use_id FROM session_agents WHERE session_db_id = ? AND tool_use_id IS NOT NULL"
            session.private = bool(self._conn.execute(_ENDS_PRIVATE, (row_id, session.prompt_counter)).fetchone())
            session.agent_calls = frozenset(call for (call,) in self._conn.execute(calls, (row_id,)))
        session.memory_session_id = memory_id
        self._held[content_session_id] = session
        return session

    def _tails(self, session_id: int) -> dict[int, int]:
        """Each file's last position costs one look at the end of an index, however long the file is."""
        sql = (
            "SELECT s.file_id, (SELECT max(r.position) FROM session_records r WHERE r.session_db_id = s.session_db_id "
            "AND r.file_id = s.file_id) FROM session_files s WHERE s.session_db_id = ? AND NOT s.is_agent"
        )
        return {file_id: position or 0 for file_id, position in self._conn.execute(sql, (session_id,))}

    def _age(self, session: Session, file: FileRow, fact: Facts, from_start: bool) -> None:
        """Note the session's first time in this file, and take the age that follows from all its files.

        A time is never unlearned: a file that is read again because of it would be for ever."""
        insert = (
            "INSERT INTO session_files (session_db_id, file_id, is_agent, first_epoch) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET first_epoch = excluded.first_epoch "
            "WHERE (first_epoch IS NULL OR ?) AND first_epoch IS NOT excluded.first_epoch "
            "AND excluded.first_epoch IS NOT NULL RETURNING 1"
        )
        values = (session.id, file.id, file.is_agent, fact.first, from_start)
        if not self._conn.execute(insert, values).fetchone():
            return
        if not file.is_agent:
            session.tail.setdefault(file.id, 0)
            session.renumber = session.renumber or len(session.tail) > 1
        _, rank, epoch = self._conn.execute(_AGE, (session.id,)).fetchone()
        if (rank, epoch) != (session.age.origin_rank, session.age.origin_epoch):
            session.aged = session.stored
            session.age.origin_rank, session.age.origin_epoch = rank, epoch

    @staticmethod
    def _times(session: Session, fact: Facts) -> None:
        if fact.low is None or fact.high is None:
            return
        session.started = fact.low if session.started is None else min(session.started, fact.low)
        if session.last is None or fact.high > session.last:
            session.last = fact.high
            session.status = "active"

    def _project(self, session: Session, file: FileRow, fact: Facts) -> None:
        found = fact.evidence or evidence(None, file.folder)
        rank = found.rank * 2 + (not file.is_agent)
        if rank < session.project_rank or (rank == session.project_rank and not self._earlier(session, file)):
            return
        resolution = self.given.get(session.content_session_id) or self._remembered(found.cwd, file.folder)
        if session.project_rank >= 0:
            session.moved_project = True
            self._left.add(session.project_key)
        session.project_rank, session.project_file_id = rank, file.id
        session.cwd, session.git_branch = found.cwd or None, fact.branch
        session.project, session.project_key = resolution.display, resolution.key
        session.project_key_source = resolution.source

    def _earlier(self, session: Session, file: FileRow) -> bool:
        """Whether `file` speaks before the file that gave the present evidence."""
        if session.project_file_id in (None, file.id):
            return False
        sql = "SELECT path FROM ingest_files WHERE id = ?"
        stored = self._conn.execute(sql, (session.project_file_id,)).fetchone()
        return stored is None or file.path < stored[0]

    def _remembered(self, cwd: str, folder: str) -> Resolution:
        """What the directory was resolved to when it was first seen; it may be gone since."""
        sql = "SELECT project_key, display, source, root FROM project_resolutions WHERE cwd = ?"
        stored = self._conn.execute(sql, (cwd,)).fetchone() if cwd else None
        if stored is not None:
            return Resolution(*stored)
        made = self._resolve(cwd, folder)
        if cwd:
            insert = "INSERT INTO project_resolutions VALUES (?, ?, ?, ?, ?, unixepoch() * 1000)"
            self._conn.execute(insert, (cwd, made.key, made.display, made.source, made.root))
        return made

    def flush(self) -> None:
        """Write the sessions back, and the projects they name."""
        self._conn.executemany(
            "UPDATE sdk_sessions SET origin_rank = ?, origin_epoch = ?, project = ?, project_key = ?, "
            "project_key_source = ?, project_rank = ?, project_file_id = ?, cwd = ?, git_branch = ?, "
            "client_version = ?, forked_from = ?, started_at_epoch = ?, last_at_epoch = ?, prompt_counter = ?, "
            "user_prompt = ?, custom_title = ?, ai_title = coalesce(?, ai_title), observed_model = ?, "
            "observed_model_epoch = ?, status = ?, "
            "completed_at_epoch = CASE WHEN ? = 'active' THEN NULL ELSE completed_at_epoch END WHERE id = ?",
            [
                (
                    s.age.origin_rank, s.age.origin_epoch, s.project, s.project_key, s.project_key_source,
                    s.project_rank, s.project_file_id, s.cwd, s.git_branch, s.client_version, s.forked_from,
                    s.started, s.last, s.prompt_counter, s.user_prompt, s.custom_title, s.ai_title,
                    s.observed_model, s.observed_model_epoch, s.status, s.status, s.id,
                )
                for s in self._held.values()
            ],
        )  # fmt: skip
        self._move_rows()
        self._note_projects()

    def _move_rows(self) -> None:
        for session in self._held.values():
            if session.moved_project:
                for table in ("user_prompts", "assistant_messages", "tool_uses", "search_texts"):
                    sql = f"UPDATE {table} SET project_key = ? WHERE session_db_id = ?"
                    self._conn.execute(sql, (session.project_key, session.id))
                self._conn.execute(
                    "UPDATE tool_uses SET project = ? WHERE session_db_id = ?", (session.project, session.id)
                )
        if any(session.moved_project for session in self._held.values()):
            unused = "NOT EXISTS (SELECT 1 FROM sdk_sessions s WHERE s.project_key = projects.project_key)"
            self._conn.execute(f"DELETE FROM projects WHERE {unused}")

    def _note_projects(self) -> None:
        """A project is spelled as in its earliest session, whatever session is read first."""
        keys = {session.project_key for session in self._held.values()} | self._left
        self._conn.executemany(
            "INSERT INTO projects (project_key, display, source) SELECT project_key, project, project_key_source "
            "FROM sdk_sessions WHERE project_key = ?1 ORDER BY started_at_epoch, content_session_id LIMIT 1 "
            "ON CONFLICT (project_key) DO UPDATE SET display = excluded.display, source = excluded.source "
            "WHERE display <> excluded.display OR source <> excluded.source",
            [(key,) for key in sorted(keys - {""})],
        )


def _newer(old: str | None, new: str | None) -> str | None:
    if old is None or new is None:
        return old or new
    return max(old, new, key=version_key)


def complete_idle(conn: sqlite3.Connection, before: int) -> int:
    """Close sessions whose last record is older than `before` (epoch ms), at that record's own time."""
    quiet = "status = 'active' AND last_at_epoch < ?"
    touch(conn, [row[0] for row in conn.execute(f"SELECT id FROM sdk_sessions WHERE {quiet}", (before,)).fetchall()])
    return conn.execute(
        f"UPDATE sdk_sessions SET status = 'completed', completed_at_epoch = last_at_epoch WHERE {quiet}", (before,)
    ).rowcount
