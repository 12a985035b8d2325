"""A session's threads and pages."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from indexer.store.items import Place, Step
from indexer.web.threads import HEAVIEST, MOST, apart, page_of, pages, weight


def step(kind: str = "prompt", number: int = 1, text: str = "x", file: str = "/a", side: bool = False) -> Step:
    return Step(kind, f"{kind}:{number}", None, text, Place(file, number), side)


def test_threads_are_told_apart_by_their_files() -> None:
    main, sub, old, made = step(), step(side=True, file="/agent"), step(side=True), step("observation")
    found = apart([main, sub, old, made], {"/agent": "a1"})
    assert (found.main, found.agents, found.made) == ([main, old], {"a1": [sub]}, [made])


def test_a_step_without_a_place_is_of_the_main_thread() -> None:
    one = step(side=True)._replace(place=None)
    assert apart([one], {"/a": "x"}).main == [one]


def test_few_steps_are_one_page() -> None:
    assert pages([step()] * 5) == [0]
    assert pages([]) == [0]


def test_many_steps_are_several_pages() -> None:
    assert pages([step("event")] * (2 * MOST + 1)) == [0, MOST, 2 * MOST]


def test_a_heavy_step_has_a_page_of_its_own_only_where_it_must() -> None:
    heavy = step(text="x" * 999_999)
    assert len(pages([heavy] * 30)) == -(-30 // (HEAVIEST // weight(heavy)))


@given(st.lists(st.integers(0, 9_000), max_size=300))
def test_no_page_is_too_heavy_and_none_is_empty(sizes: list[int]) -> None:
    steps = [step(number=number, text="x" * size) for number, size in enumerate(sizes)]
    starts = [*pages(steps), len(steps)]
    for start, end in pairwise(starts):
        assert start < end or not steps
        assert end - start == 1 or sum(map(weight, steps[start:end])) <= HEAVIEST


@given(st.integers(1, 600), st.integers(0, 599))
def test_every_entry_is_on_the_page_that_is_said_to_show_it(many: int, wanted: int) -> None:
    steps = [step(number=number) for number in range(many)]
    starts = pages(steps)
    page = page_of(steps, starts, f"prompt:{wanted}")
    end = starts[page] if page < len(starts) else many
    assert wanted in range(starts[page - 1], end) or (wanted >= many and page == 1)
