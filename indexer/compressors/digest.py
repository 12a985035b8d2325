"""The summary of a session's part, and its work items: gathered from turns and observations. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from indexer.compressors import prose
from indexer.compressors.base import Event, Observation, Summary, Turn, WorkItem
from indexer.compressors.evidence import Evidence, Run, is_trivial

_NEXT = re.compile(
    r"(?i)\b(?:next (?:steps?|up|time)|remaining|still (?:need|to|missing|open|fails?)|left to do"
    r"|follow[- ]?ups?|not yet|todo|to be done|you (?:should|may want to|need to)|later)\b"
    r"|下一步|接下来|后续|还需要?|尚未|待办|待处理|剩下|剩余|未完成|稍后"
)
_DONE, _LEARNED = ("bugfix", "feature", "refactor", "change"), ("discovery", "decision")
_MOST, _LISTED = 8, 12
_STATUSES = {"pending", "in_progress", "completed", "dropped"}


def summarise(turns: Sequence[Turn], found: Sequence[Evidence], seen: Sequence[Observation]) -> Summary | None:
    """One part of a session, from its turns in order, what their calls prove and what was observed in them;
    None when nothing was done, learned or left over."""
    items = list(_last_states(event for turn in turns for event in _tasks(turn)))
    reads = tuple(dict.fromkeys(file for one in found for file in one.reads))
    edits = tuple(dict.fromkeys(edit.file for one in found for _, edit in one.edits))
    searched = list(dict.fromkeys(text for one in found for text in one.searched))
    done = [*_titles(seen, _DONE), *(subject for subject, status in items if status == "completed")]
    learned = _titles(seen, _LEARNED)
    ahead = [*(subject for subject, status in items if status in ("pending", "in_progress")), *_ahead(turns[-1])]
    if not (done or learned or ahead):
        return None
    return Summary(
        turns[0].part, _request(turns), _investigated(reads, searched), _lines(learned), _lines(done), _lines(ahead),
        _lines(_unsolved([run for one in found for run in one.runs])), reads[:_LISTED * 2], edits[:_LISTED * 2],
        turns[-1].number, sum(turn.tokens for turn in turns), _latest(turns),
    )  # fmt: skip


def _request(turns: Sequence[Turn]) -> str:
    asked = list(dict.fromkeys(text for turn in turns if (text := prose.asked(turn.prompt))))
    return "; ".join(prose.subtitle(text) for text in asked[:_MOST])


def _investigated(reads: Sequence[str], searched: Sequence[str]) -> str:
    names = list(dict.fromkeys(name.rpartition("/")[2] for name in reads))
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    read = ", ".join(names[:_LISTED]) + more
    looked = ", ".join(f"“{text}”" for text in searched[:_MOST])
    return "; ".join(part for part in (read, looked) if part)


def _titles(seen: Iterable[Observation], types: Sequence[str]) -> list[str]:
    return [one.title for one in seen if one.type in types]


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(list(dict.fromkeys(texts))[-_LISTED:])


def _ahead(turn: Turn) -> Iterator[str]:
    """Sentences of the last answer that say what is still to be done."""
    last = [text.text for text in turn.texts if text.agent_id is None][-1:]
    for unit in prose.sentences(last[0]) if last else ():
        if _NEXT.search(unit.text) and not prose.is_question(unit.text) and not unit.filler:
            yield prose.subtitle(unit.text)


def _unsolved(runs: Sequence[Run]) -> Iterator[str]:
    """Commands whose last run failed."""
    last: dict[str, Run] = {}
    for run in runs:
        last[run.key] = run
    for run in last.values():
        if run.failed and run.error and not is_trivial(run):
            yield f"{run.command}: {run.error}"


def _latest(turns: Sequence[Turn]) -> int | None:
    times = [
        time for turn in turns for time in (turn.time, *(c.time for c in turn.calls), *(t.time for t in turn.texts))
    ]
    return max((time for time in times if time is not None), default=None)


# --- work items -----------------------------------------------------------------------------------------


def _tasks(turn: Turn) -> list[Event]:
    """Task records of the main thread."""
    return [event for call in turn.calls if call.agent_id is None for event in call.events if event.kind == "task"]


def _last_states(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    last: dict[str, WorkItem] = {}
    for item in work_items((event, "") for event in events):
        last[item.key] = item
    return ((item.subject, item.status) for item in last.values() if item.subject)


def of_turns(turns: Iterable[Turn]) -> tuple[WorkItem, ...]:
    """Every change to a session's to-dos, in order."""
    return tuple(work_items((event, event.record) for turn in turns for event in _tasks(turn)))


def work_items(events: Iterable[tuple[Event, str]]) -> Iterator[WorkItem]:
    """The changes that task records tell of. With each event comes what names its record.

    TodoWrite gives the whole list each time: only what differs from before is a change, and what is not
    in it any more was dropped, unless it was done. The task tools give one item each.
    """
    state: dict[str, tuple[str, str]] = {}
    listed: set[str] = set()
    for event, record in events:
        changes = list(_changes(event.data, state, listed))
        for number, (key, subject, status) in enumerate(changes):
            if state.get(key) != (subject, status):
                state[key] = subject, status
                yield WorkItem(f"{record}#{number}", key, subject, status, event.time)


def _changes(
    data: dict[str, Any], state: dict[str, tuple[str, str]], listed: set[str]
) -> Iterator[tuple[str, str, str]]:
    if data.get("op") == "list":
        tasks = [task for task in data.get("tasks") or () if isinstance(task, dict) and _text(task, "content")]
        now = {_text(task, "content"): _status(task.get("status")) for task in tasks}
        yield from ((key, key, status) for key, status in now.items())
        gone = [key for key in listed - now.keys() if state.get(key, ("", ""))[1] in ("pending", "in_progress")]
        yield from ((key, state[key][0], "dropped") for key in sorted(gone))
        listed.update(now)
        return
    key = _text(data, "id")
    if not key:
        return
    subject, status = state.get(f"#{key}", ("", "pending"))
    given = data.get("to") if data.get("op") == "update" else data.get("status", "pending")
    yield f"#{key}", _text(data, "subject") or subject, _status(given, status)


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return value.strip() if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _status(given: object, before: str = "pending") -> str:
    if given == "deleted":
        return "dropped"
    return given if isinstance(given, str) and given in _STATUSES else before
