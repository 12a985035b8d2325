"""Sessions of excluded projects: not stored, counted, and read when they are excluded no longer.

Whether a session is of an excluded project is known once a line names its folder, which may be late in a
file, or in another one. So it is judged after each transaction's survey, and once it is excluded it stays
so until the settings change: on the side of not storing, whatever is read first. What had been stored of a
session before that was known goes as a forgotten session's rows go, but without a tombstone; a session that
was stored before its project was excluded keeps what it had.

Only a keyed hash of an excluded session is kept, and the files it stands in: these are read from 0 when the
settings change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

from indexer.exclude import Exclusion
from indexer.store.checkpoints import FileRow, read_again
from indexer.store.erasing import owed
from indexer.store.sessions import Session, Sessions
from indexer.store.tombstones import Tombstones

_SETTINGS = 0
"""In the place of a file's id: the hash is that of the settings."""
COUNT = "SELECT count(DISTINCT hash) FROM excluded_sessions WHERE file_id > 0"
_HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'excluded_sessions'"


class Exclusions:
    """What one transaction keeps out by the settings."""

    def __init__(self, conn: sqlite3.Connection, exclusion: Exclusion) -> None:
        self._conn, self._exclusion, self._stones = conn, exclusion, Tombstones(conn)
        self.any = exclusion.any
        self._known: dict[str, bool] = {}

    def _hash(self, session_id: str) -> bytes:
        return self._stones.hash("excluded", session_id)

    def known(self, session_id: str | None) -> bool:
        """Whether a session is known to be excluded."""
        if session_id is None or not self.any:
            return False
        known = self._known.get(session_id)
        if known is None:
            sql = "SELECT 1 FROM excluded_sessions WHERE hash = ? AND file_id > 0"
            known = bool(self._conn.execute(sql, (self._hash(session_id),)).fetchone())
            self._known[session_id] = known
        return known

    def holds(self, session_id: str | None, file: FileRow) -> bool:
        """Whether a session is known to be excluded; then its file is noted."""
        known = self.known(session_id)
        if known and session_id is not None:
            self._note(session_id, file)
        return known

    def _note(self, session_id: str, file: FileRow) -> None:
        sql = "INSERT OR IGNORE INTO excluded_sessions (hash, file_id) VALUES (?, ?)"
        self._conn.execute(sql, (self._hash(session_id), file.id))

    def judge(self, sessions: Sessions, files: Collection[FileRow]) -> set[str]:
        """Sessions that this transaction has found to be excluded. Those that are new leave no trace."""
        covers = self._exclusion.covers
        found = [one for one in sessions.all() if covers(one.project_key, one.project, one.cwd)]
        for session in found:
            self._known[session.content_session_id] = True
            for file in files:
                self._note_if_there(session, file)
            if not session.stored:
                self._drop(sessions, session)
            elif session.moved_project:
                self._take_back(session)
        return {session.content_session_id for session in found}

    def _note_if_there(self, session: Session, file: FileRow) -> None:
        sql = "SELECT 1 FROM session_files WHERE session_db_id = ? AND file_id = ?"
        if self._conn.execute(sql, (session.id, file.id)).fetchone():
            self._note(session.content_session_id, file)

    def _drop(self, sessions: Sessions, session: Session) -> None:
        """It has been made a row of, and a folder was looked at: both go."""
        sessions.drop(session)
        self._conn.execute("DELETE FROM session_files WHERE session_db_id = ?", (session.id,))
        self._conn.execute("DELETE FROM sdk_sessions WHERE id = ?", (session.id,))
        self._conn.execute(
            "DELETE FROM project_resolutions WHERE cwd = ?1 AND NOT EXISTS (SELECT 1 FROM sdk_sessions WHERE cwd = ?1)",
            (session.cwd,),
        )

    def _take_back(self, session: Session) -> None:
        sql = "INSERT OR IGNORE INTO erasures (kind, value) VALUES (?, ?)"
        self._conn.executemany(sql, [("session", session.id), *owed()])


def adopt(conn: sqlite3.Connection, exclusion: Exclusion) -> bool:
    """Make the settings those in force; says whether they have changed. Then what was kept out under the old
    ones is read again. In the caller's transaction."""
    noted = [row for (row,) in conn.execute("SELECT hash FROM excluded_sessions WHERE file_id = ?", (_SETTINGS,))]
    if not exclusion.any and not noted:
        return False
    wanted = Tombstones(conn).hash("excluded", f"settings\n{exclusion.spelling}")
    if noted == [wanted]:
        return False
    _read_again(conn, [file_id for (file_id,) in conn.execute("SELECT DISTINCT file_id FROM excluded_sessions")])
    conn.execute("DELETE FROM excluded_sessions")
    if exclusion.any:
        conn.execute("INSERT INTO excluded_sessions (hash, file_id) VALUES (?, ?)", (wanted, _SETTINGS))
    return True


def _read_again(conn: sqlite3.Connection, files: Iterable[int]) -> None:
    sql = "SELECT 1 FROM ingest_files WHERE id = ? AND status = 'active' AND offset > 0"
    for file_id in files:
        if conn.execute(sql, (file_id,)).fetchone():
            read_again(conn, file_id)


def count(conn: sqlite3.Connection) -> int:
    """How many sessions are kept out now. A database of an older version keeps out none."""
    if conn.execute(_HAS_TABLE).fetchone() is None:
        return 0
    return int(conn.execute(COUNT).fetchone()[0])


def stored(conn: sqlite3.Connection, exclusion: Exclusion) -> list[str]:
    """Stored sessions of excluded projects, by their content session ids."""
    rows = conn.execute("SELECT content_session_id, project_key, project, cwd FROM sdk_sessions ORDER BY 1")
    return [name for name, key, display, cwd in map(tuple, rows) if exclusion.covers(key, display, cwd)]
