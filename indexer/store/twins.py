"""Imported rows give way to what a transcript of ours says itself, in whatever order the two are read.

A record that came with its uuid needs nothing of this: membership decides (an imported copy ranks last). What
claude-mem keeps has no uuid: a prompt is known by its session and the hash of its cleaned text (claude-mem
cuts a prompt at 4,000 characters and ends it with `…`, so a long one is known by its beginning), a call by its
session and tool id. Such a row goes when its twin is there; what had one name in the import and is held under
another by a transcript leaves no membership behind. An import that has nothing left to say of a session whose
transcript was read leaves its files too, so that importing first or last comes to the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from indexer.store.checkpoints import IMPORTED as PATHS
from indexer.store.membership import IMPORTED
from indexer.store.rows import PROMPT_CODE, TOOL_CODE
from indexer.store.sessions import Session
from indexer.text import prompt_hash, unkeyed

FOREIGN = "claude-mem:"
"""Begins the uuid that an import gives to a record of claude-mem, which has none."""
CUT, ELLIPSIS = 4_000, "…"
"""Characters that claude-mem keeps of a prompt, the last of them this one."""

ANY = f"SELECT 1 FROM ingest_files WHERE path GLOB '{PATHS}*' AND status <> 'replaced' LIMIT 1"
_PROMPTS = """
SELECT p.id, p.native_prompt_id, p.prompt_text, r.flags & 16 FROM session_records r
JOIN user_prompts p ON p.native_prompt_id = r.uuid WHERE r.session_db_id = ?
"""
_CALLS = """
SELECT t.id, t.record_uuid, t.tool_use_id, r.flags & 16 FROM tool_uses t
LEFT JOIN session_records r ON r.uuid = t.record_uuid AND r.session_db_id = t.session_db_id WHERE t.session_db_id = ?
"""
_FILES = f"""
SELECT x.file_id FROM session_files x JOIN ingest_files f ON f.id = x.file_id
WHERE x.session_db_id = ? AND f.path GLOB '{PATHS}*'
AND NOT EXISTS (SELECT 1 FROM session_records r WHERE r.session_db_id = x.session_db_id AND r.file_id = x.file_id)
"""
_MEMORIES = (("observation", "observations"), ("summary", "session_summaries"), ("work", "work_state_entries"))


class Twins:
    """Looks after the imported rows of one transaction's sessions."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self.any = bool(conn.execute(ANY).fetchone())
        """Whether anything was ever imported."""

    def settle(self, sessions: Iterable[Session]) -> None:
        """Take out what transcripts say themselves, and what hung on it. Before numbers are settled."""
        if not self.any and not self._conn.execute(ANY).fetchone():
            return
        for session in sessions:
            self._settle(session)

    def _settle(self, session: Session) -> None:
        gone = self._withdraw_prompts(session) | self._withdraw_calls(session) | self._unused(session)
        for uuid in sorted(gone):
            self._conn.execute("DELETE FROM session_records WHERE uuid = ?", (uuid,))
        self._conn.execute(
            "DELETE FROM imported_records WHERE session_db_id = ?1 AND uuid NOT IN "
            f"(SELECT uuid FROM session_records WHERE session_db_id = ?1 AND flags & {IMPORTED})",
            (session.id,),
        )
        session.renumber = session.renumber or bool(gone)
        if not session.borrowed:
            self._retire_files(session)
        self._follow(session)

    # -- twins -------------------------------------------------------------------------------------

    def _withdraw_prompts(self, session: Session) -> set[str]:
        rows = self._conn.execute(_PROMPTS, (session.id,)).fetchall()
        foreign = [row for row in rows if row[3] and row[1].startswith(FOREIGN)]
        own = [row[2] for row in rows if not row[1].startswith(FOREIGN)]
        if not foreign or not own:
            return set()
        known = {prompt_hash(text.strip()) for text in own}
        gone = [row for row in foreign if _is_twin(row[2], known, own)]
        self._delete("user_prompts", PROMPT_CODE, [row[0] for row in gone])
        return {row[1] for row in gone}

    def _withdraw_calls(self, session: Session) -> set[str]:
        """Calls with a weak id, of which a transcript's has another identity."""
        rows = self._conn.execute(_CALLS, (session.id,)).fetchall()
        own = {row[2] for row in rows if not (row[1] or "").startswith(FOREIGN)}
        gone = [row for row in rows if row[1].startswith(FOREIGN) and row[2] in own]
        self._delete("tool_uses", TOOL_CODE, [row[0] for row in gone])
        return {row[1] for row in gone}

    def _delete(self, table: str, code: int, rows: Sequence[int]) -> None:
        # A side file has no triggers yet.
        self._conn.executemany("DELETE FROM search_texts WHERE id = ? * 8 + ?", [(row, code) for row in rows])
        self._conn.executemany(f"DELETE FROM {table} WHERE id = ?", [(row,) for row in rows])

    def _unused(self, session: Session) -> set[str]:
        """Foreign records for which no row stands any more: their calls and answers are a transcript's."""
        sql = f"SELECT uuid FROM session_records WHERE session_db_id = ? AND uuid GLOB '{FOREIGN}*'"
        foreign = {uuid for (uuid,) in self._conn.execute(sql, (session.id,))}
        if not foreign:
            return set()
        for sql in (
            "SELECT record_uuid FROM tool_uses WHERE session_db_id = ?",
            "SELECT result_uuid FROM tool_uses WHERE session_db_id = ?",
            "SELECT native_prompt_id FROM user_prompts WHERE session_db_id = ?",
            "SELECT uuid FROM unmatched_results WHERE session_db_id = ?",
        ):
            foreign -= {uuid for (uuid,) in self._conn.execute(sql, (session.id,))}
        return foreign

    # -- what hangs on a session -------------------------------------------------------------------

    def _retire_files(self, session: Session) -> None:
        """Imports that say nothing of the session which its transcripts do not."""
        files = [file_id for (file_id,) in self._conn.execute(_FILES, (session.id,)).fetchall()]
        for file_id in files:
            sql = "DELETE FROM session_files WHERE session_db_id = ? AND file_id = ?"
            self._conn.execute(sql, (session.id, file_id))
            session.tail.pop(file_id, None)
            session.titles.pop(file_id, None)
            self._conn.execute(
                "DELETE FROM ingest_files WHERE id = ?1 AND NOT EXISTS "
                "(SELECT 1 FROM session_files WHERE file_id = ?1)",
                (file_id,),
            )

    def _follow(self, session: Session) -> None:
        """Imported memories are of their session's project, whatever that turns out to be."""
        for kind, table in _MEMORIES:
            of_session = "SELECT row_id FROM imported_memories WHERE session_db_id = ? AND kind = ?"
            self._conn.execute(
                f"UPDATE {table} SET project = ?, project_key = ? WHERE id IN ({of_session}) "
                "AND (project_key <> ? OR project <> ?)",
                (session.project, session.project_key, session.id, kind, session.project_key, session.project),
            )


def is_twin(text: str, own: Sequence[str]) -> bool:
    """Whether one of a session's prompts is this one of claude-mem's: the same, or begins so if that was cut."""
    return _is_twin(text, {prompt_hash(whole.strip()) for whole in own}, own)


def _is_twin(text: str, known: set[str], own: Sequence[str]) -> bool:
    if prompt_hash(text.strip()) in known:
        return True
    if len(text) < CUT or not text.endswith(ELLIPSIS):
        return False
    start = unkeyed(text[:-1])
    return any(unkeyed(whole.strip()).startswith(start) for whole in own)
