"""Each filter leaves exactly the rows it names, and any of them combine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from searchable import NOON, Searchable

from indexer.query import Filters
from indexer.store.filters import ANYTHING, codes, where

OTHER = "/home/dev/other"


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


def both(memory: Searchable, **filters: Any) -> set[int]:
    """What a filter leaves: the same whether a word is asked for or the newest are listed."""
    listed, ranked = memory.found("", **filters), memory.found("word", **filters)
    assert set(listed) == set(ranked)
    return set(listed)


def test_no_filter_is_no_condition() -> None:
    assert where(Filters()) == (ANYTHING, {}, "")
    assert codes(Filters()) == (0, 1, 2, 3, 4)


def test_project(memory: Searchable) -> None:
    row = memory.prompt("word")
    other = memory.prompt("word", session=memory.session("second", OTHER))
    assert both(memory, project=(OTHER,)) == {other}
    assert both(memory, project=(OTHER, "/home/dev/shop")) == {row, other}
    assert both(memory, project=()) == set()


def test_project_reads_what_was_merged_into_it(memory: Searchable) -> None:
    session = memory.session("second", OTHER)
    merged = memory.observation("word", session=session, merged_into_project="/home/dev/shop")
    summary = memory.summary("word", session=session, merged_into_project="/home/dev/shop")
    assert both(memory, project=("/home/dev/shop",)) == {merged, summary}
    assert both(memory, project=("/home/dev/shop", OTHER)) == {merged, summary}


def test_session(memory: Searchable) -> None:
    memory.prompt("word")
    other = memory.session("second")
    rows = {memory.prompt("word", session=other), memory.observation("word", session=other)}
    assert both(memory, session="second") == rows
    assert both(memory, session="third") == set()


def test_a_fork_shows_the_history_it_was_copied_from(memory: Searchable) -> None:
    copied, tool, own = memory.prompt("word"), memory.tool("Bash", "word"), memory.prompt("word word")
    fork = memory.session("fork")
    memory.shows(fork, copied, tool)
    later = memory.prompt("word", session=fork)
    assert both(memory, session="fork") == {copied, tool, later}
    assert both(memory, session="first") == {copied, tool, own}


def test_kinds(memory: Searchable) -> None:
    rows = {
        "prompt": memory.prompt("word"),
        "command": memory.prompt("/word", kind="command"),
        "shell": memory.prompt("word", kind="shell"),
        "assistant": memory.assistant("word"),
        "tool_use": memory.tool("Bash", "word"),
        "observation": memory.observation("word"),
        "summary": memory.summary("word"),
    }
    assert all(both(memory, kinds=(kind,)) == {row} for kind, row in rows.items())
    assert both(memory, kinds=("shell", "summary")) == {rows["shell"], rows["summary"]}
    assert both(memory, kinds=("unheard-of",)) == set()
    assert both(memory) == set(rows.values())


def test_since_and_until_hold_their_own_moment(memory: Searchable) -> None:
    early, middle, late = (memory.prompt("word", time=NOON + i) for i in range(3))
    undated = memory.prompt("word", time=None)
    assert both(memory, since=NOON + 1) == {middle, late}
    assert both(memory, until=NOON + 1) == {early, middle}
    assert both(memory, since=NOON + 1, until=NOON + 1) == {middle}
    assert both(memory) == {early, middle, late, undated}


def test_tool_in_any_letter_case(memory: Searchable) -> None:
    row = memory.tool("Bash", "word")
    memory.tool("BashOutput", "word")
    memory.observation("word", type="Bash")
    assert both(memory, tool="bash") == {row}


FILES = "/home/dev/shop/src/auth.ts"


@pytest.mark.parametrize(
    "name",
    [FILES, "auth.ts", "src/auth.ts", "./src/auth.ts", "/home/dev/shop", "/home/dev/shop/", "src", "shop/src/", "dev"],
)
def test_file_is_a_path_or_the_end_of_one_or_a_folder(memory: Searchable, name: str) -> None:
    row = memory.tool("Read", "word", file=FILES)
    assert both(memory, file=name) == {row}


@pytest.mark.parametrize(
    "name", ["uth.ts", "auth", "/src", "/src/auth.ts", "/home/dev/sho", "AUTH.TS", "%", "a_th.ts", "src/auth.tsx", "\\"]
)
def test_file_is_no_pattern_and_no_part_of_a_name(memory: Searchable, name: str) -> None:
    memory.tool("Read", "word", file=FILES)
    memory.tool("Read", "word")
    memory.prompt("word")
    assert both(memory, file=name) == set()


@pytest.mark.parametrize("column", ["files_read", "files_modified"])
def test_file_looks_into_what_an_observation_read_and_changed(memory: Searchable, column: str) -> None:
    touched: dict[str, Any] = {column: f'["README.md", "{FILES}"]'}
    row = memory.observation("word", **touched)
    memory.observation("word", **{**touched, column: '["src/other.ts"]'})
    assert both(memory, file="auth.ts") == {row}


@pytest.mark.parametrize("column", ["files_read", "files_edited"])
def test_file_looks_into_what_a_summary_names(memory: Searchable, column: str) -> None:
    touched: dict[str, Any] = {column: f'["{FILES}"]'}
    row = memory.summary("word", **touched)
    assert both(memory, file="src") == {row}


def test_a_list_that_is_no_json_is_empty(memory: Searchable) -> None:
    memory.observation("word", files_read="auth.ts", concepts="auth, [")
    assert both(memory, file="auth.ts") == set()
    assert both(memory, concept="auth") == set()


def test_type_and_concept(memory: Searchable) -> None:
    row = memory.observation("word", type="bugfix", concepts='["Gotcha", "how-it-works"]')
    other = memory.observation("word", concepts='["gotcha-not"]')
    memory.tool("bugfix", "word")
    assert both(memory, type="BugFix") == {row}
    assert both(memory, concept="gotcha") == {row}
    assert both(memory, concept="gotcha-not") == {other}
    assert both(memory, type="bugfix", concept="gotcha-not") == set()


def test_agent_by_id_and_by_type(memory: Searchable) -> None:
    memory.conn.execute("INSERT INTO session_agents VALUES (1, 'a1', NULL, 'Explore', NULL)")
    answer = memory.assistant("word", agent_id="a1")
    call = memory.tool("Bash", "word", agent_id="a1")
    typed = memory.tool("Bash", "word", agent_id="a2", agent_type="Plan")
    seen = memory.observation("word", agent_id="a1", agent_type="Explore")
    memory.prompt("word")
    memory.assistant("word")
    assert both(memory, agent="a1") == {answer, call, seen}
    assert both(memory, agent="explore") == {answer, call, seen}
    assert both(memory, agent="Plan") == {typed}


def test_platform(memory: Searchable) -> None:
    memory.prompt("word")
    row = memory.prompt("word", session=memory.session("other", platform_source="codex"))
    assert both(memory, platform="Codex") == {row}


def test_filters_hold_together(memory: Searchable) -> None:
    session = memory.session("second", OTHER)
    row = memory.tool("Edit", "word", session=session, file=FILES, time=NOON, agent_id="a1")
    memory.tool("Edit", "word", session=session, file=FILES, time=NOON - 1, agent_id="a1")
    memory.tool("Read", "word", session=session, file=FILES, time=NOON, agent_id="a1")
    memory.tool("Edit", "word", file=FILES, time=NOON, agent_id="a1")
    narrow: dict[str, Any] = {"project": (OTHER,), "session": "second", "kinds": ("tool_use",), "since": NOON}
    narrow |= {"until": NOON, "tool": "Edit", "file": "auth.ts", "agent": "a1", "platform": "claude"}
    assert both(memory, **narrow) == {row}


def test_a_filter_is_applied_before_the_limit(memory: Searchable) -> None:
    row = memory.tool("Edit", "word and a long tail that ranks it last of all", time=NOON - 10**6)
    for _ in range(30):
        memory.prompt("word")
    assert memory.found("word", tool="Edit", limit=1) == [row]
    assert memory.found("", tool="Edit", limit=1) == [row]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"kinds": ("prompt", "shell")}, (0,)),
        ({"tool": "Bash"}, (2,)),
        ({"file": "a"}, (2, 3, 4)),
        ({"agent": "a", "type": "bugfix"}, (3,)),
        ({"tool": "Bash", "concept": "x"}, ()),
    ],
)
def test_tables_that_cannot_hold_hits_are_left_alone(filters: dict[str, Any], left: tuple[int, ...]) -> None:
    assert codes(Filters(**filters)) == left


def test_membership_is_found_by_indexes(memory: Searchable) -> None:
    among = where(Filters(session="first")).among
    steps = [row["detail"] for row in memory.conn.execute(f"EXPLAIN QUERY PLAN {among}", {"session": "first"})]
    assert [step for step in steps if step.startswith("SCAN ") and step.split()[1] in ("x", "r", "o", "d")] == []
