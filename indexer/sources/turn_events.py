"""The facts of a turn that only the transcript holds, and that the compressor will need when it is gone.

Here: those that are records of their own, and the bound that all events keep; `tool_events` has those that
hang on a tool call. An event's JSON stays within 8 KiB (DECISIONS, Turn). We stop at 7.5 KiB, so that
redaction marks, which are longer than some of the secrets they replace, still fit.
"""

from __future__ import annotations

import orjson

from indexer.records import TurnEvent
from indexer.sources.fields import Fields, facts
from indexer.text import cut

_MOST = 7680
_ERROR_FACTS = {"error": "error", "apiErrorStatus": "status"}
_COMPACTION_FACTS = {"trigger": "trigger", "preTokens": "pre_tokens"}
_PR_FACTS = {"prNumber": "number", "prUrl": "url", "prRepository": "repository"}


def error(record: Fields, text: str) -> TurnEvent:
    """An API error that ended a turn (`isApiErrorMessage`)."""
    return TurnEvent("error", bounded({**facts(record, _ERROR_FACTS), "text": text}))


def interruption(text: str) -> TurnEvent:
    """The user pressed escape; `tool` is true if that refused a tool call."""
    return TurnEvent("interruption", {"tool": "for tool use" in text})


def compaction(summary: str) -> TurnEvent:
    """The summary that a compaction put in place of the conversation."""
    return TurnEvent("compaction", bounded({"summary": summary}))


def compact_boundary(record: Fields) -> TurnEvent:
    """Where a compaction took place: what set it off, and the size before it."""
    return TurnEvent("compaction", bounded(facts(record.get("compactMetadata"), _COMPACTION_FACTS)))


def duration(record: Fields) -> TurnEvent | None:
    """How long a turn took, from `system/turn_duration`; None if the record does not say."""
    ms = record.get("durationMs")
    return TurnEvent("duration", {"ms": ms}) if type(ms) is int else None


def pull_request(record: Fields) -> TurnEvent:
    """A `pr-link` record."""
    return TurnEvent("pr", bounded(facts(record, _PR_FACTS)))


def bounded(data: Fields) -> Fields:
    """`data` if its JSON fits into an event; else with every string cut to the most that fits, and lists
    shortened with them."""
    room, fitting = _MOST, data
    while len(orjson.dumps(fitting)) > _MOST and room > 1:
        room = room * 3 // 4
        fitting = {key: _shortened(value, room) for key, value in data.items()}
    return fitting


def _shortened(value: object, room: int) -> object:
    if type(value) is str:
        return cut(value, room)
    if type(value) is list:
        return [_shortened(item, room) for item in value[: max(1, room // 32)]]
    if type(value) is dict:
        return {key: _shortened(item, room) for key, item in value.items()}
    return value
