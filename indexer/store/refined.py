"""What models made of turns, what was spent on that, and which providers are left alone for a while.

A call is counted before it is made, at the most that it can cost, and put right afterwards: whatever
happens in between, no more was spent than stands here. Days are UTC days.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from indexer.compressors.base import Finding
from indexer.store.connection import Connection

_TURN = "SELECT hash, state, model, attempts, retry_at_epoch, amiss, made, session_db_id FROM model_turns"
_UNSETTLED = """
FROM compress_marks c JOIN sdk_sessions s ON s.id = c.session_db_id
LEFT JOIN model_sessions m ON m.session_db_id = c.session_db_id
WHERE c.error IS NULL AND (c.seen IS NOT NULL OR c.revision <> c.done) -- neither: somebody else's, imported
  AND (m.seen IS NOT c.seen OR m.model IS NOT :model) AND (:since IS NULL OR s.last_at_epoch >= :since)
"""
_COMPRESSED = "c.revision = c.done AND c.seen IS NOT NULL"
UNSETTLED = f"SELECT c.session_db_id {_UNSETTLED} AND {_COMPRESSED} ORDER BY s.last_at_epoch DESC, s.id"
WAITING = f"""
SELECT count(*) {_UNSETTLED.replace("WHERE", "JOIN user_prompts p ON p.session_db_id = s.id WHERE", 1)}
  AND p.prompt_kind = 'prompt' AND NOT p.is_private AND (:since IS NULL OR p.created_at_epoch >= :since)
  AND NOT EXISTS (SELECT 1 FROM model_turns t WHERE t.turn_id = p.native_prompt_id AND t.state <> 'asked')
"""
FAILED = """
SELECT s.content_session_id, t.turn_id, t.error FROM model_turns t JOIN sdk_sessions s ON s.id = t.session_db_id
WHERE t.state = 'failed' ORDER BY s.content_session_id, t.turn_id LIMIT :limit
"""
_PUT = """
INSERT INTO model_turns (turn_id, session_db_id, hash, state, model, attempts, retry_at_epoch, amiss, error, made)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET session_db_id = excluded.session_db_id,
  hash = excluded.hash, state = excluded.state, model = excluded.model, attempts = excluded.attempts,
  retry_at_epoch = excluded.retry_at_epoch, amiss = excluded.amiss, error = excluded.error, made = excluded.made
"""


class Row(NamedTuple):
    """How far a turn is. state: asked, made, nothing or failed. findings: what was made of it."""

    hash: str
    state: str
    model: str
    attempts: int
    retry_at: int | None
    amiss: str | None
    findings: tuple[Finding, ...]
    session: int


class Spent(NamedTuple):
    """On one day."""

    calls: int
    tokens: int


class Pause(NamedTuple):
    """Why a provider is left alone, and until when (epoch milliseconds). failures: in a row."""

    kind: str
    message: str
    failures: int
    since: int
    until: int


class Failed(NamedTuple):
    """A turn that no model could be made to answer for."""

    session: str
    turn: str
    error: str


def present(conn: Connection) -> bool:
    """Whether the database has these tables: one that an older version has written may not."""
    return bool(conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'model_turns'").fetchone())


# --- turns ----------------------------------------------------------------------------------------------


def of_turns(conn: Connection, ids: Sequence[str]) -> dict[str, Row]:
    """What is known of these turns."""
    found: dict[str, Row] = {}
    if not conn.execute("SELECT 1 FROM model_turns LIMIT 1").fetchone():
        return found
    for turn in ids:
        row = conn.execute(f"{_TURN} WHERE turn_id = ?", (turn,)).fetchone()
        if row is not None:
            hashed, state, model, attempts, retry_at, amiss, made, session = row
            found[turn] = Row(hashed, state, model, attempts, retry_at, amiss, _findings(made), session)
    return found


def _findings(made: str | None) -> tuple[Finding, ...]:
    return tuple(Finding.of(row) for row in json.loads(made)) if made else ()


def put(
    conn: Connection,
    turn: str,
    row: Row,
    *,
    error: str | None = None,
) -> None:
    """Note how far a turn is. In a transaction."""
    made = json.dumps(row.findings, ensure_ascii=False) if row.findings else None
    values = (row.hash, row.state, row.model, row.attempts, row.retry_at, row.amiss, error, made)
    conn.execute(_PUT, (turn, row.session, *values))


def move(conn: Connection, turns: Iterable[str], session: int) -> None:
    """These turns are another session's by now. In a transaction."""
    sql = "UPDATE model_turns SET session_db_id = ?1 WHERE turn_id = ?2 AND session_db_id <> ?1"
    conn.executemany(sql, [(session, turn) for turn in turns])


def failed(conn: Connection, limit: int) -> list[Failed]:
    """Turns that no model could be made to answer for."""
    return [Failed(*row) for row in conn.execute(FAILED, {"limit": limit})] if present(conn) else []


def ask_again(conn: Connection) -> None:
    """Have all failed turns asked about once more, as if they never had been. In a transaction."""
    of_failed = "SELECT session_db_id FROM model_turns WHERE state = 'failed'"
    conn.execute(f"DELETE FROM model_sessions WHERE session_db_id IN ({of_failed})")
    conn.execute("DELETE FROM model_turns WHERE state = 'failed'")


def count_failed(conn: Connection) -> int:
    """How many there are."""
    if not present(conn):
        return 0
    return int(conn.execute("SELECT count(*) FROM model_turns WHERE state = 'failed'").fetchone()[0])


# --- sessions -------------------------------------------------------------------------------------------


def unsettled(conn: Connection, model: str, since: int | None) -> list[int]:
    """Sessions that rules have compressed and a model has not, those that went on last first."""
    return [row[0] for row in conn.execute(UNSETTLED, {"model": model, "since": since})]


def settle(conn: Connection, session: int, model: str) -> None:
    """All turns of a session are put to the model, as it stands now. In a transaction."""
    conn.execute(
        "INSERT INTO model_sessions SELECT session_db_id, seen, ?2 FROM compress_marks WHERE session_db_id = ?1 "
        "AND seen IS NOT NULL ON CONFLICT DO UPDATE SET seen = excluded.seen, model = excluded.model",
        (session, model),
    )


def waiting(conn: Connection, model: str, since: int | None = None) -> int:
    """About how many turns have not been put to the model: prompts of sessions that are not settled, also while
    rules are about to take an answer in."""
    return int(conn.execute(WAITING, {"model": model, "since": since}).fetchone()[0])


# --- budget ---------------------------------------------------------------------------------------------


def day_of(now: int) -> str:
    """The UTC day of epoch milliseconds: the budget's day."""
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()


def spent(conn: Connection, day: str) -> Spent:
    """What was spent on a day, or set aside for calls that are being made."""
    if not present(conn):
        return Spent(0, 0)
    row = conn.execute("SELECT calls, tokens FROM model_days WHERE day = ?", (day,)).fetchone()
    return Spent(*row) if row else Spent(0, 0)


def spend(conn: Connection, day: str, calls: int, tokens: int) -> None:
    """Count calls and tokens; negative ones put right what was set aside. In a transaction."""
    conn.execute(
        "INSERT INTO model_days VALUES (?, ?, max(0, ?)) ON CONFLICT DO UPDATE "
        "SET calls = calls + excluded.calls, tokens = max(0, tokens + ?)",
        (day, calls, tokens, tokens),
    )


# --- providers ------------------------------------------------------------------------------------------


def pause(conn: Connection, provider: str) -> Pause | None:
    """The last error of a provider, if nothing went well since."""
    row = conn.execute(
        "SELECT kind, message, failures, since_epoch, until_epoch FROM model_pauses WHERE provider = ?", (provider,)
    ).fetchone()
    return Pause(*row) if row else None


def leave_alone(conn: Connection, provider: str, why: Pause) -> None:
    """Note an error. In a transaction."""
    conn.execute("INSERT OR REPLACE INTO model_pauses VALUES (?, ?, ?, ?, ?, ?)", (provider, *why))


def resume(conn: Connection, provider: str) -> None:
    """It went well, or somebody asks to try again. In a transaction."""
    conn.execute("DELETE FROM model_pauses WHERE provider = ?", (provider,))


def pauses(conn: Connection) -> Mapping[str, Pause]:
    """All providers whose last call went wrong."""
    if not present(conn):
        return {}
    sql = "SELECT provider, kind, message, failures, since_epoch, until_epoch FROM model_pauses ORDER BY provider"
    return {row[0]: Pause(*tuple(row)[1:]) for row in conn.execute(sql)}
