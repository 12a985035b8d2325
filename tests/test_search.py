"""From what was typed to hits with a title, a snippet and a place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from near import Near
from searchable import HOME, NOON, Searchable

from indexer import search
from indexer.query import Filters, parse
from indexer.search import Group, Results
from indexer.store.items import Place


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


def test_a_hit_has_all_that_a_person_needs(memory: Searchable) -> None:
    session = memory.session("second", "/home/dev/b", ai_title="Fix it", cwd="/home/dev/b")
    memory.prompt("why does the auth timeout fire", session=session)
    (hit,) = memory.search("timeout").hits
    assert (hit.kind, hit.id, hit.time, hit.title, hit.session_title) == (
        "prompt",
        "prompt:1",
        NOON + 1000,
        "Fix it",
        "Fix it",
    )
    assert (hit.project, hit.project_key, hit.session, hit.platform) == ("b", "/home/dev/b", "second", "claude")
    assert (hit.snippet, hit.source) == (
        "why does the auth timeout fire",
        Place("/home/dev/.claude/projects/second.jsonl", 1),
    )
    assert hit.score > 0


def test_hits_keep_the_order_of_their_ranking(memory: Searchable) -> None:
    best = memory.prompt("timeout timeout", time=NOON)
    later = memory.tool("Bash", "a timeout among many other words that were said", time=NOON + 9)
    worst = memory.assistant("a timeout among many other words that were said here too", time=NOON + 5)
    assert memory.found("timeout") == [best, later, worst]


def test_nothing_found_is_an_empty_answer(memory: Searchable) -> None:
    results = memory.search("nowhere")
    assert (results.hits, results.via, results.notes) == ((), ("lexical",), ())


def test_a_title_is_the_first_line_of_what_names_the_session(memory: Searchable) -> None:
    memory.prompt("hello", session=memory.session("second", user_prompt="\nFix the login\nand more"))
    (hit,) = memory.search("hello").hits
    assert hit.title == "Fix the login"


def test_tools_observations_and_summaries_have_titles_of_their_own(memory: Searchable) -> None:
    memory.conn.execute("UPDATE sdk_sessions SET custom_title = 'Session'")
    memory.tool("Read", "word", file=f"{HOME}/auth.ts")
    memory.observation("Seen\nword", "x")
    memory.summary("Asked for a word")
    titles = {hit.kind: (hit.title, hit.session_title) for hit in memory.search("word").hits}
    assert titles == {
        "tool_use": (f"Read {HOME}/auth.ts", "Session"),
        "observation": ("Seen word", "Session"),
        "summary": ("Asked for a word", "Session"),
    }


def test_a_snippet_is_made_of_the_original_text(memory: Searchable) -> None:
    memory.prompt("修改了项目配置，payload优先使用LLM\nin useState")
    (hit,) = memory.search("项目").hits
    assert hit.snippet == "修改了项目配置，payload优先使用LLM in useState"


def test_a_long_text_is_shown_around_its_words(memory: Searchable) -> None:
    memory.assistant("前言" * 500 + "这里修改了项目配置" + "后记" * 500)
    (hit,) = memory.search("项目配置").hits
    assert "项目配置" in hit.snippet
    assert len(hit.snippet) < 330


def test_the_snippet_of_a_tool_use_reads_its_input_and_result(memory: Searchable) -> None:
    memory.tool("Bash", {"command": "npm test", "limits": [1, None]}, "ok: timeout")
    (hit,) = memory.search("timeout").hits
    assert hit.snippet == "npm test ok: timeout"


def test_a_snippet_holds_only_the_strings_of_an_input(memory: Searchable) -> None:
    memory.tool("Edit", {"replace_all": False, "old_string": "pass", "line": 3, "none": None}, "timeout")
    (hit,) = memory.search("timeout").hits
    assert hit.snippet == "pass timeout"


@pytest.mark.parametrize(("limit", "more"), [(1, True), (2, False), (3, False)])
@pytest.mark.parametrize("typed", ["timeout", ""])
def test_more_is_promised_only_where_there_is_more(memory: Searchable, typed: str, limit: int, more: bool) -> None:
    rows = [memory.prompt("timeout"), memory.prompt("a timeout")]
    results = memory.search(typed, limit=limit)
    assert (len(results.hits), results.more) == (min(limit, len(rows)), more)


@pytest.mark.parametrize("stored", ['{"command": "npm te…[truncated: 90000 bytes]', "[" * 100_000, "{}", "[not json]"])
def test_an_input_that_was_cut_or_is_no_json_is_shown_as_it_is(memory: Searchable, stored: str) -> None:
    memory.tool("Bash", response="timeout", tool_input=stored)
    (hit,) = memory.search("timeout").hits
    assert "timeout" in hit.snippet or stored.startswith("[[")


def test_facts_of_an_observation_are_part_of_its_snippet(memory: Searchable) -> None:
    memory.observation("timeout", "so it was", facts='["30 s"]', subtitle="sub")
    (hit,) = memory.search("timeout").hits
    assert hit.snippet == "sub so it was 30 s"


def test_an_empty_query_lists_the_newest(memory: Searchable) -> None:
    rows = [memory.prompt("a"), memory.tool("Bash")]
    assert memory.found("") == rows[::-1]
    assert {hit.score for hit in memory.search("").hits} == {0.0}
    assert memory.search("").via == ("newest",)


def test_a_fork_is_searched_with_the_history_it_shows(memory: Searchable) -> None:
    row = memory.prompt("auth timeout")
    memory.shows(memory.session("fork"), row)
    (hit,) = memory.search("timeout", session="fork").hits
    assert (hit.session, hit.source) == ("first", Place("/home/dev/.claude/projects/first.jsonl", 1))


def test_what_was_asked_for_in_vain_stands_first_in_the_notes(memory: Searchable) -> None:
    assert memory.search("timeout", limit=1000).notes[0].startswith("at most 500 results")


def test_limit_and_offset(memory: Searchable) -> None:
    for _ in range(30):
        memory.prompt("timeout")
    assert len(memory.found("timeout")) == 20
    assert len(memory.found("timeout", limit=30)) == 30
    assert memory.found("timeout", limit=5, offset=28) == memory.found("timeout", limit=30)[28:]


# --- by session


def by_session(memory: Searchable, text: str, near: Near | None = None, **filters: object) -> tuple[Group, ...]:
    return search.search_sessions(memory.conn, parse(text, Filters(**filters)), near)[1]  # type: ignore[arg-type]


def test_a_session_ranks_by_its_best_hit_however_many_others_have(memory: Searchable) -> None:
    for _ in range(9):
        memory.prompt("a timeout among many other words that were said and were of no importance")
    short = memory.session("short")
    memory.prompt("timeout", session=short)
    assert [(group.row_id, group.total) for group in by_session(memory, "timeout")] == [(short, 1), (1, 9)]


def test_a_limit_counts_sessions(memory: Searchable) -> None:
    sessions = [1, memory.session("b"), memory.session("c")]
    for session in sessions:
        for _ in range(30):
            memory.prompt("timeout", session=session)
    assert [group.row_id for group in by_session(memory, "timeout", limit=2)] == [3, 2]
    assert [group.row_id for group in by_session(memory, "timeout", limit=2, offset=2)] == [1]


def test_a_group_shows_a_few_hits_and_says_how_many_there_are(memory: Searchable) -> None:
    for _ in range(9):
        memory.prompt("timeout")
    (group,) = by_session(memory, "timeout")
    assert (len(group.hits), group.total) == (search.HITS_OF_A_SESSION, 9)


def test_hits_of_groups_come_with_them(memory: Searchable) -> None:
    memory.prompt("timeout")
    results, groups = search.search_sessions(memory.conn, parse("timeout"))
    assert [hit.id for hit in results.hits] == [name for group in groups for name in group.hits]


def test_a_fork_is_a_session_too_but_after_the_origin(memory: Searchable) -> None:
    row = memory.prompt("timeout")
    fork = memory.session("fork")
    memory.shows(fork, row)
    assert [group.row_id for group in by_session(memory, "timeout")] == [1, fork]
    assert [group.row_id for group in by_session(memory, "timeout", session="fork")] == [fork]


def test_a_list_of_sessions_has_no_note_about_rows(memory: Searchable) -> None:
    memory.prompt("auth timeout")
    memory.prompt("timeout")
    assert search.search_sessions(memory.conn, parse("auth timeout"))[0].notes == ()


def test_sessions_are_found_by_meaning_too(memory: Searchable) -> None:
    memory.prompt("timeout")
    other = memory.session("other")
    meant = memory.prompt("too early", session=other)
    assert [group.row_id for group in by_session(memory, "timeout", Near(meant))] == [1, other]


# --- like one, by file, around


def test_what_is_like_a_hit(memory: Searchable) -> None:
    row = memory.prompt("the websocket reconnects")
    twin, meant = memory.prompt("a websocket"), memory.prompt("it dials in again")
    found = search.similar(memory.conn, row, Filters(), Near(meant))
    assert {hit.id for hit in found.hits} == {f"prompt:{twin // 8}", f"prompt:{meant // 8}"}


def test_signs_in_a_text_mean_nothing_when_it_is_compared(memory: Searchable) -> None:
    row, twin = memory.prompt('run "x y" --force -websocket'), memory.prompt("a websocket")
    assert [hit.id for hit in search.similar(memory.conn, row, Filters()).hits] == [f"prompt:{twin // 8}"]


def test_nothing_is_like_a_row_that_is_not_there(memory: Searchable) -> None:
    assert search.similar(memory.conn, 8_000, Filters()) == Results((), (), ())


def of_file(memory: Searchable, text: str, near: Near | None = None) -> list[str]:
    query = parse(text, Filters(file="auth.ts"))
    return [hit.id for hit in search.by_file(memory.conn, query, near).hits]


def test_what_touched_a_file_the_answering_first_and_then_the_newest(memory: Searchable) -> None:
    for text in ("the login", "a timeout", "the token"):
        memory.tool("Edit", text, file=f"{HOME}/auth.ts")
    memory.tool("Edit", "timeout", file=f"{HOME}/other.ts")
    assert of_file(memory, "") == ["tool_use:3", "tool_use:2", "tool_use:1"]
    assert of_file(memory, "timeout") == ["tool_use:2", "tool_use:3", "tool_use:1"]


def test_what_nearness_leaves_out_stays_behind_what_it_ranks(memory: Searchable) -> None:
    rows = [memory.observation(f"n{i}", "x", files_read='["src/auth.ts"]') for i in range(3)]
    assert of_file(memory, "early", Near(rows[0])) == ["observation:1", "observation:3", "observation:2"]


def test_a_file_that_nobody_touched(memory: Searchable) -> None:
    assert of_file(memory, "timeout") == []


def test_a_timeline_has_its_anchor_and_its_neighbours(memory: Searchable) -> None:
    rows = [memory.prompt("a"), memory.assistant("b"), memory.tool("Bash")]
    found = search.timeline(memory.conn, rows[1], Filters(), 5, 5)
    assert [hit.kind for hit in found.hits] == ["prompt", "assistant", "tool_use"]
    assert (found.via, found.notes, found.more) == (("timeline",), (), False)


def test_an_undated_anchor_has_no_neighbours_and_it_is_said(memory: Searchable) -> None:
    memory.prompt("a")
    found = search.timeline(memory.conn, memory.prompt("b", time=None), Filters(), 5, 5)
    assert ([hit.id for hit in found.hits], found.notes) == (["prompt:2"], (search._UNDATED,))


def test_there_is_no_timeline_of_nothing(memory: Searchable) -> None:
    assert search.timeline(memory.conn, 8_000, Filters(), 5, 5) == Results((), (), ())
