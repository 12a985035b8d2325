"""Rows of turn_events: what a compressor will need of a turn, keyed by the record that told of it."""

from __future__ import annotations

from indexer.records import TurnEvent
from indexer.store.bodies import dump
from indexer.store.placing import NEW, WIN, Context
from indexer.store.rows import Rows
from indexer.text import cut

EVENT_LIMIT = 8 << 10
"""Bytes of JSON that are stored of an event (DECISIONS, Turn)."""


class TurnEvents:
    """Puts events, for one transaction."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, context: Context, event: TurnEvent, ordinal: int) -> None:
        """Store an event; a better copy of its record takes it along."""
        if context.mode is NEW:
            data = cut(dump(event.data)[0], EVENT_LIMIT)
            self._rows.events.append((context.uuid, ordinal, context.session.id, context.time, event.kind, data))
        elif context.mode is WIN:
            self._rows.update(
                "UPDATE turn_events SET session_db_id = ?, created_at_epoch = ? WHERE uuid = ? AND ordinal = ?",
                context.session.id, context.time, context.uuid, ordinal,
            )  # fmt: skip
            if self._rows.refresh:
                data = cut(dump(event.data)[0], EVENT_LIMIT)
                self._rows.update(
                    "UPDATE turn_events SET data = ? WHERE uuid = ? AND ordinal = ?", data, context.uuid, ordinal
                )
