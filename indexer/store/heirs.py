"""Who has a record once its owner is forgotten: the best of the sessions that are left.

The rows stay as they are, under their ids; their session's columns become the heir's. What the heir's own
copy says otherwise (an old client re-stamps times on copies) is taken over when its file is read again,
which `INHERITED` on its membership asks for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from indexer.project import Resolution
from indexer.store import numbering
from indexer.store.checkpoints import read_again
from indexer.store.membership import INHERITED, OWNER, Members, in_chunks
from indexer.store.sessions import Sessions

_OWNER_OF = f"(SELECT r.session_db_id FROM session_records r WHERE r.uuid = {{}} AND r.flags & {OWNER})"
_COLUMNS = {
    "user_prompts": ("content_session_id", "project_key"),
    "assistant_messages": ("content_session_id", "project_key"),
    "tool_uses": ("content_session_id", "memory_session_id", "project", "project_key"),
}
_UUID = {"user_prompts": "native_prompt_id", "assistant_messages": "record_uuid", "tool_uses": "record_uuid"}


def hand_over(conn: sqlite3.Connection, uuids: Sequence[str], leaving: str) -> None:
    """Give records to the best of their members that stay, and take those that leave out. In the caller's
    transaction. leaving: a SELECT of the row ids of sessions that are forgotten."""
    members = Members(conn)
    members.load(uuids)
    gone = {session for (session,) in conn.execute(leaving)}
    former = {owner.session for uuid in uuids if (owner := members.owner(uuid)) and owner.session in gone}
    heirs, sessions = [], set()
    for uuid in uuids:
        staying = [member for member in members.of(uuid) if member.session not in gone]
        sessions |= {member.session for member in staying}
        if not any(member.flags & OWNER for member in staying):
            best = min(staying, key=lambda member: members.age(member.session, {}).rank(member.flags))
            heirs.append((OWNER | INHERITED, uuid, best.session))
    conn.executemany(
        f"DELETE FROM session_records WHERE uuid = ? AND session_db_id IN ({leaving})", [(uuid,) for uuid in uuids]
    )
    conn.executemany("UPDATE session_records SET flags = flags | ? WHERE uuid = ? AND session_db_id = ?", heirs)
    _take_all(conn, [uuid for _, uuid, _ in heirs], former)
    reread_files(conn, sorted(sessions))
    settle(conn, sorted(sessions))


def reread_files(conn: sqlite3.Connection, sessions: Sequence[int]) -> None:
    """Have all files of these sessions read from 0 at the next sweep, but for those that are gone: what
    they gave is all there is of them."""
    sql = (
        "SELECT DISTINCT f.id FROM session_files x JOIN ingest_files f ON f.id = x.file_id "
        "WHERE f.status = 'active' AND f.offset > 0 AND x.session_db_id IN ({})"
    )
    for (file_id,) in list(in_chunks(conn, sql, sessions)):
        read_again(conn, file_id)


def _take_all(conn: sqlite3.Connection, uuids: Sequence[str], former: Iterable[int]) -> None:
    """All rows of these records, that had these owners, become their present owners'."""
    owners = ",".join(str(int(session)) for session in sorted(former))
    for code, table in enumerate(_COLUMNS):
        sql = f"SELECT id FROM {table} WHERE session_db_id IN ({owners}) AND {_UUID[table]} IN ({{}})"
        take_rows(conn, table, code, [row_id for (row_id,) in in_chunks(conn, sql, uuids)])
    for table in ("turn_events", "unmatched_results"):
        owner = _OWNER_OF.format(f"{table}.uuid")
        conn.executemany(f"UPDATE {table} SET session_db_id = {owner} WHERE uuid = ?", [(uuid,) for uuid in uuids])


def take_rows(conn: sqlite3.Connection, table: str, code: int, rows: Sequence[int]) -> None:
    """Make rows, and their index texts, those of the session that owns their record."""
    owner = _OWNER_OF.format(f"{table}.{_UUID[table]}")
    names = _COLUMNS[table]
    chosen = ", ".join(f"s.{name}" for name in names)
    values = [(row_id,) for row_id in rows]
    conn.executemany(
        f"UPDATE {table} SET (session_db_id, {', '.join(names)}) = "
        f"(SELECT s.id, {chosen} FROM sdk_sessions s WHERE s.id = {owner}) WHERE id = ?",
        values,
    )
    conn.executemany(
        f"UPDATE search_texts SET (session_db_id, project_key, uuid) = (SELECT b.session_db_id, b.project_key, "
        f"b.{_UUID[table]} FROM {table} b WHERE b.id = ?1) WHERE id = ?1 * 8 + {code}",
        values,
    )


def settle(conn: sqlite3.Connection, sessions: Sequence[int]) -> None:
    """Redo what follows from several records of these sessions: numbers, turns of sub-agents."""
    for platform, names in _by_platform(conn, sessions).items():
        held = Sessions(conn, platform, _unasked)
        for name in names:
            held.get(name).renumber = True
        numbering.settle(conn, held.all())


def _by_platform(conn: sqlite3.Connection, sessions: Sequence[int]) -> dict[str, list[str]]:
    sql = "SELECT platform_source, content_session_id FROM sdk_sessions WHERE id IN ({}) ORDER BY id"
    found: dict[str, list[str]] = {}
    for platform, name in in_chunks(conn, sql, sessions):
        found.setdefault(platform, []).append(name)
    return found


def _unasked(cwd: str, folder: str) -> Resolution:
    raise AssertionError("nothing here resolves a folder")
