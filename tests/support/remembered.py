"""Makes memory of what was read and takes it apart for comparison, row ids apart."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from stores import Content, read, store
from transcripts import Transcript

from indexer import compress
from indexer.compressors.base import Compressor, Observation, Summary, Turn, WorkItem
from indexer.compressors.rules import Rules
from indexer.store import turns
from indexer.store.connection import transaction
from indexer.store.sessions import complete_idle

FOREVER = 1 << 60

_MADE = {
    "observations": "SELECT g.turn_id, g.slot, o.memory_session_id, o.project, o.project_key, o.type, o.title, "
    "o.subtitle, "
    "o.narrative, o.facts, o.concepts, o.files_read, o.files_modified, o.prompt_number, o.discovery_tokens, "
    "o.content_hash, o.generated_by_model, o.agent_type, o.agent_id, o.metadata, o.title_norm_key, "
    "o.occurrence_count, "
    "o.reinforcement_dates, o.last_reinforced, o.created_at_epoch, c.turn_id, c.slot "
    "FROM observations o JOIN observation_origins g ON g.observation_id = o.id "
    "LEFT JOIN observation_origins c ON c.observation_id = g.canonical_id",
    "links": "SELECT g.turn_id, g.slot, t.identity FROM observation_tool_uses l "
    "JOIN observation_origins g ON g.observation_id = l.observation_id JOIN tool_uses t ON t.id = l.tool_use_row",
    "first links": "SELECT t.identity, g.turn_id, g.slot FROM tool_uses t "
    "JOIN observation_origins g ON g.observation_id = t.observation_id",
    "summaries": "SELECT s.content_session_id, g.part, y.project_key, y.request, y.investigated, y.learned, "
    "y.completed, "
    "y.next_steps, y.notes, y.files_read, y.files_edited, y.prompt_number, y.discovery_tokens, y.created_at_epoch "
    "FROM session_summaries y JOIN summary_origins g ON g.summary_id = y.id "
    "JOIN sdk_sessions s ON s.id = g.session_db_id",
    "work": "SELECT g.identity, e.project_key, e.list_name, e.fields, e.created_at_epoch FROM work_state_entries e "
    "JOIN work_state_origins g ON g.entry_id = e.id",
    "index": "SELECT x.kind, x.uuid, s.content_session_id, x.project_key, x.created_at_epoch, x.detail, x.title, "
    "x.body FROM search_texts x JOIN sdk_sessions s ON s.id = x.session_db_id WHERE x.id % 8 > 2",
    "candidates": "SELECT a.turn_id, a.slot, b.turn_id, b.slot, round(d.score, 6), d.status "
    "FROM observation_dedup_candidates d JOIN observation_origins a ON a.observation_id = d.first_id "
    "JOIN observation_origins b ON b.observation_id = d.second_id",
}


def end(conn: sqlite3.Connection) -> None:
    """Every session has gone quiet."""
    with transaction(conn):
        complete_idle(conn, FOREVER)


def remember(conn: sqlite3.Connection, compressor: Compressor | None = None, **how: Any) -> compress.Done:
    """End every session and compress all there is."""
    end(conn)
    return compress.all_of(conn, compressor or Rules(), **how)


def made(conn: sqlite3.Connection) -> Content:
    """All that was made, in an order that does not depend on row ids."""
    return {name: sorted(map(tuple, conn.execute(sql)), key=repr) for name, sql in _MADE.items()}


def turns_of(folder: Path, *transcripts: Transcript) -> list[Turn]:
    """The turns of these transcripts, read as a service would, all of them finished."""
    for transcript in transcripts:
        transcript.write(folder / "projects")
    conn = store(folder / "home")
    read(conn, folder / "projects")
    end(conn)
    sessions = [turns.header(conn, row) for (row,) in conn.execute("SELECT session_db_id FROM compress_marks")]
    found = [turn for session in sessions if session for turn in turns.turns(conn, session).finished]
    conn.close()
    return found


def observed(folder: Path, *transcripts: Transcript) -> list[Observation]:
    """What the rules observe in these transcripts."""
    rules = Rules()
    return [one for turn in turns_of(folder, *transcripts) for one in rules.observe(turn)]


class Verbatim:
    """A compressor that writes down all that it was given, so that nothing a turn holds can differ unseen."""

    name = "verbatim/1"

    def observe(self, turn: Turn) -> tuple[Observation, ...]:
        """One observation, whose narrative is the turn itself, row ids apart."""
        calls = tuple(call._replace(row=0) for call in turn.calls)
        told, rows = repr(turn._replace(calls=calls)), tuple(call.row for call in turn.calls)
        title = turn.prompt[:20] or "nothing"
        return (
            Observation("all", "change", title, "", told, (), (), (), (), turn.tokens, None, None, turn.time, rows),
        )

    def summarise(self, turns: tuple[Turn, ...], seen: tuple[Observation, ...]) -> Summary | None:
        """The turns' ids."""
        ids = " ".join(turn.id for turn in turns)
        return Summary(turns[0].part, ids, "", "", "", "", "", (), (), turns[-1].number, 0, turns[-1].time)

    def items(self, turns: tuple[Turn, ...]) -> tuple[WorkItem, ...]:
        """Those of the rules."""
        return Rules().items(turns)
