"""A model's wording in the place of the rules', under the same identity. Pure.

The rules say what stands: identity (turn and slot), calls, files that were changed, tokens. A model words it
better, so its findings take the rules' slots in order, and rows keep their ids. Where it has fewer, the last
one takes over the evidence of the rest; where it has more, they get slots of their own. What came from the
web or an MCP server alone stays marked so, whoever words it: it is never put into a session's context.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from indexer.compressors.base import Finding, Observation, Turn

CALLS_MOST, FILES_MOST = 60, 30
_OUTSIDE = ("WebFetch", "WebSearch")


def fingerprint(turn: Turn) -> str:
    """Names what a turn holds, whichever session shows it, whatever its rows' ids: 32 hex digits."""
    calls = [(c.id, c.name, c.file, c.given, c.response, c.failed, [(e.kind, e.data) for e in c.events])
             for c in turn.calls]  # fmt: skip
    texts = [(text.text, text.agent_id) for text in turn.texts]
    held = repr((turn.id, turn.prompt, calls, texts, [(event.kind, event.data) for event in turn.events]))
    return hashlib.sha256(held.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def overlaid(
    turn: Turn, seen: Sequence[Observation], findings: Sequence[Finding], model: str
) -> tuple[Observation, ...]:
    """What stands of a turn: `seen` by rules, in a model's words. No findings: as rules have it."""
    if not findings:
        return tuple(seen)
    last, made = len(findings) - 1, []
    for place, finding in enumerate(findings):
        own = seen[place:] if place == last else seen[place : place + 1]
        made.append(_worded(turn, own, finding, place, model))
    parts, rest = divmod(turn.tokens, len(made))
    return tuple(one._replace(tokens=parts + (place < rest)) for place, one in enumerate(made))


def _worded(turn: Turn, own: Sequence[Observation], finding: Finding, place: int, model: str) -> Observation:
    first = own[0] if own else None
    calls = [call for one in own for call in one.calls] or [call.row for call in turn.calls]
    read = [file for one in own for file in one.files_read] + list(finding.files_read)
    changed = [file for one in own for file in one.files_modified]
    outside = any(one.outside for one in own) if own else _all_outside(turn)
    return Observation(
        first.slot if first else f"model:{place}", finding.type, finding.title, finding.subtitle, finding.narrative,
        finding.facts, finding.concepts, _once(read), _once(changed), 0,
        first.agent_type if first else None, first.agent_id if first else None,
        first.time if first else _latest(turn), tuple(dict.fromkeys(calls))[:CALLS_MOST], outside, model,
    )  # fmt: skip


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:FILES_MOST]


def _all_outside(turn: Turn) -> bool:
    return bool(turn.calls) and all(c.name in _OUTSIDE or c.name.startswith("mcp__") for c in turn.calls)


def _latest(turn: Turn) -> int | None:
    return max((call.time for call in turn.calls if call.time is not None), default=turn.time)
