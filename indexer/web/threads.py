"""A session's steps as a person follows them: the main thread by pages, each sub-agent a thread of its own.

A page ends where the next step would make it too heavy, so that pages are of about one size whatever stands on
them, and where they end depends on nothing but the steps: an address of a page stays the same page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from indexer.store.items import Step

LONGEST = 6_000
"""Characters of a prompt or an answer; the whole is one link away."""
HEAVIEST = 70_000
"""Of a page, in characters as `weight` counts them."""
MOST = 120
"""Steps of a page."""
MADE = ("observation", "summary")


class Threads(NamedTuple):
    """main: the thread itself. agents: those in files of their own, by id. made: what was remembered of it."""

    main: list[Step]
    agents: dict[str, list[Step]]
    made: list[Step]


def apart(steps: Sequence[Step], files: Mapping[str, str]) -> Threads:
    """The threads of a session. files: path -> sub-agent. An old client's sub-agents stand among the main
    thread's lines, and stay there."""
    found = Threads([], {}, [])
    for step in steps:
        agent = files.get(step.place.file) if step.sidechain and step.place else None
        if step.kind in MADE:
            found.made.append(step)
        elif agent is None:
            found.main.append(step)
        else:
            found.agents.setdefault(agent, []).append(step)
    return found


def weight(step: Step) -> int:
    """About how much a step takes on a page."""
    if step.kind == "event":
        return 200
    return 400 + (2_500 if step.kind == "tool_use" else min(len(step.text), LONGEST))


def pages(steps: Sequence[Step]) -> list[int]:
    """Where each page begins: places in `steps`, the first of them 0."""
    starts, heavy, held = [0], 0, 0
    for place, step in enumerate(steps):
        heavy, held = heavy + weight(step), held + 1
        if held > 1 and (heavy > HEAVIEST or held > MOST):
            starts.append(place)
            heavy, held = weight(step), 1
    return starts


def page_of(steps: Sequence[Step], starts: Sequence[int], name: str) -> int:
    """The page, from 1, that shows the entry `name`; the first if none does."""
    place = next((place for place, step in enumerate(steps) if step.id == name), 0)
    return sum(start <= place for start in starts)
