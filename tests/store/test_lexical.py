"""Full-text search: right hits or none, never an error; the best first, at a bounded cost."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

import pytest
from searchable import NOON, Searchable

from indexer.query import Filters, parse
from indexer.store import lexical, listing


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


@pytest.fixture
def talk(memory: Searchable) -> Searchable:
    """The prompts that users of other tools could not find."""
    memory.prompt("修改了项目配置，payload优先使用LLM zqc")
    memory.prompt("설정을 확인")
    memory.prompt("サンドボックス修正テスト")
    memory.prompt("重跑gen-itgc后50条悬空引用清零")
    memory.prompt('auth.ts has a "timeout" on C++ and foo-bar NOT working: a*b (x) zqq')
    memory.prompt("the claude-mem worker died, see isValidEmail and parse_http_response")
    memory.prompt("ทดสอบการค้นหาที่นี่")
    return memory


def texts(memory: Searchable, typed: str, **filters: object) -> list[str]:
    return [hit.snippet for hit in memory.search(typed, **filters).hits]


# --- what must be found


@pytest.mark.parametrize(
    ("typed", "start"),
    [
        ("项目", "修改了"),
        ("配置", "修改了"),
        ("项目配置", "修改了"),
        ("项", "修改了"),
        ("payload", "修改了"),
        ("LLM", "修改了"),
        ("payload优先使用LLM", "修改了"),
        ("使用LLM", "修改了"),
        ("先", "修改了"),
        ("설정", "설정을"),
        ("설정을", "설정을"),
        ("サンドボックス", "サンド"),
        ("ｻﾝﾄﾞﾎﾞｯｸｽ", "サンド"),
        ("テスト", "サンド"),
        ("itgc", "重跑gen"),
        ("gen-itgc", "重跑gen"),
        ("悬空", "重跑gen"),
        ("50条", "重跑gen"),
        ("ค้นหา", "ทดสอบ"),
        ("ที่", "ทดสอบ"),
        ('auth.ts "timeout', "auth.ts"),
        ("timeout auth", "auth.ts"),
        ("foo-bar", "auth.ts"),
        ("C++", "auth.ts"),
        ("NOT", "auth.ts"),
        ("a*b", "auth.ts"),
        ("working:", "auth.ts"),
        ("claude-mem", "the claude"),
        ("is_valid_email", "the claude"),
        ("isvalidemail", "the claude"),
        ("parseHTTPResponse", "the claude"),
        ("validEmail", "the claude"),
        ("worker dies", "the claude"),
    ],
)
def test_one_thing_is_found_and_nothing_else(talk: Searchable, typed: str, start: str) -> None:
    found = texts(talk, typed)
    if typed == "worker dies":  # a stem that English does not share: ranked by the other word
        assert found[0].startswith(start)
    else:
        assert [text[: len(start)] for text in found] == [start]


@pytest.mark.parametrize("typed", ["目了", "配置先", "gen-other", "zqNowhere", "置pay", "LL", "suspended"])
def test_what_is_not_there_is_not_found(talk: Searchable, typed: str) -> None:
    assert talk.found(f'"{typed}"') == []


@pytest.mark.parametrize("typed", ["", "-", '"', "()", "。"])
def test_without_words_the_newest_are_listed(talk: Searchable, typed: str) -> None:
    assert talk.search(typed).via == ("newest",)
    assert talk.found(typed) == sorted(talk.found("", kinds=("prompt",)), reverse=True)
    assert len(talk.found(typed)) == 7


def test_a_question_in_plain_language_finds_its_answer(memory: Searchable) -> None:
    for i in range(60):
        memory.prompt(f"why do we have to do the thing number {i} in the other way")
    row = memory.prompt("the websocket reconnects in a loop because the token has expired")
    assert memory.found("why does the websocket keep reconnecting in a loop after login")[0] == row


def test_a_chinese_question_without_spaces_finds_its_answer(memory: Searchable) -> None:
    for i in range(60):
        memory.prompt(f"如何在这里做第{i}件事")
    row = memory.prompt("组件重新渲染时，状态会被保留")
    assert memory.found("如何在组件重新渲染后保留状态")[0] == row


# --- order


def test_the_match_decides_and_not_the_date(memory: Searchable) -> None:
    rows = [memory.prompt(f"unrelated chore {i}" if i != 3 else "fix the websocket reconnect loop") for i in range(60)]
    assert memory.found("websocket reconnect") == [rows[3]]


def test_all_words_come_before_some_of_them(memory: Searchable) -> None:
    both = memory.prompt("auth and then, after a long story about other matters altogether, a timeout")
    some = memory.prompt("auth")
    results = memory.search("auth timeout")
    assert memory.found("auth timeout") == [both, some]
    assert results.notes == ("the first holds all words, the other some of them",)


def test_the_note_on_all_words_counts_in_the_plural(memory: Searchable) -> None:
    for text in ("auth timeout", "timeout of auth", "auth", "timeout"):
        memory.prompt(text)
    assert memory.search("auth timeout").notes == ("the first 2 hold all words, the others some of them",)


def test_a_hit_beyond_the_limit_is_not_spoken_of(memory: Searchable) -> None:
    memory.prompt("auth timeout")
    memory.prompt("auth")
    results = memory.search("auth timeout", limit=1)
    assert (results.notes, results.more) == ((), True)


def test_a_title_counts_more_than_a_text(memory: Searchable) -> None:
    body = memory.observation("one", "timeout two three")
    title = memory.observation("timeout", "one two three")
    assert memory.found("timeout") == [title, body]


def test_scores_fall_and_are_positive(memory: Searchable) -> None:
    for i in range(5):
        memory.prompt("timeout " * (i + 1) + "filler " * (9 - i))
    scores = [hit.score for hit in memory.search("timeout").hits]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_equals_come_newest_first_then_by_id(memory: Searchable) -> None:
    old, new = memory.prompt("go on", time=NOON), memory.prompt("go on", time=NOON + 1)
    undated, twin = memory.prompt("go on", time=None), memory.prompt("go on", time=NOON)
    assert memory.found("go") == [new, old, twin, undated]
    assert memory.found("go", limit=1) == [new]
    assert memory.found("go", limit=2) == [new, old]


def test_pages_follow_each_other(memory: Searchable) -> None:
    for i in range(9):
        memory.prompt("auth timeout" if i % 2 else f"auth {'filler ' * i}")
    whole = memory.found("auth timeout", limit=9)
    pages = [row for page in range(3) for row in memory.found("auth timeout", limit=3, offset=page * 3)]
    assert pages == whole
    assert len(set(whole)) == 9
    assert memory.found("auth timeout", offset=9) == []


def test_ranked_pages_of_a_question_follow_each_other(memory: Searchable) -> None:
    for i in range(8):
        memory.prompt(" ".join(("auth", "timeout", "token", "expired")[: i % 4 + 1]) + f" {i}")
    asked = "auth timeout token expired today"
    pages = [row for page in range(4) for row in memory.found(asked, limit=2, offset=page * 2)]
    assert pages == memory.found(asked, limit=8)


# --- phrases, exclusions, titles


def test_a_phrase_is_exact(memory: Searchable) -> None:
    row = memory.prompt("reset the auth timeout now")
    memory.prompt("reset the timeout of auth now")
    assert memory.found('"auth timeout"') == [row]
    assert memory.found('"auth timeout" banana') == [row]


def test_a_phrase_does_not_straddle_two_identifiers(memory: Searchable) -> None:
    memory.prompt("useState setCount")
    assert memory.found('"state set"') == []


def test_a_word_is_left_out(memory: Searchable) -> None:
    row = memory.prompt("auth works")
    memory.prompt("auth timeout")
    assert memory.found("auth -timeout") == [row]
    assert memory.found("auth -timeouts") == [row]
    assert memory.found("auth works again somehow today -timeout") == [row]


def test_a_word_alone_is_left_out_of_the_newest(memory: Searchable) -> None:
    row = memory.prompt("auth works")
    memory.prompt("项目配置")
    assert memory.found("-项目") == [row]


def test_a_title_is_asked_for(memory: Searchable) -> None:
    row = memory.observation("auth timeout", "one")
    memory.observation("one", "auth timeout")
    assert memory.found("title:timeout") == [row]
    assert memory.found('title:"auth timeout" one two three four') == [row]


# --- cost


def test_a_question_is_asked_with_its_rarest_words(memory: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "RAREST", 2)
    common = memory.prompt("alpha")
    memory.prompt("alpha beta")
    rare = memory.prompt("gamma delta")
    assert memory.found("alpha beta gamma delta unheard") == [rare, common + 8]


def test_common_words_are_left_out_when_others_remain(memory: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "COMMON", (1, 10))
    rows = [memory.prompt(f"common {i}") for i in range(12)]
    rare = memory.prompt("rare")
    assert memory.found("one two three common rare") == [rare]
    assert set(memory.found("one two three common")) == set(rows)


def test_no_more_rows_are_ranked_than_the_words_may_have_together(
    memory: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "TOGETHER", 4)
    few = {memory.prompt("few") for _ in range(3)}
    for _ in range(4):
        memory.prompt("more")
    assert set(memory.found("one two three few more")) == few


def test_of_very_many_rows_the_last_of_each_kind_are_ranked(
    memory: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "RANKED", 5)
    monkeypatch.setattr(lexical, "LAST_STORED", 2)
    prompts = [memory.prompt("word") for _ in range(4)]
    calls = [memory.tool("Bash", "word") for _ in range(4)]
    results = memory.search("word")
    assert set(memory.found("word")) == {*prompts[2:], *calls[2:]}
    assert "rows match" in results.notes[0]


def test_of_very_many_rows_filters_still_choose_first(memory: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "RANKED", 5)
    row = memory.prompt("word", time=NOON - 10**6)
    for _ in range(9):
        memory.prompt("word")
    assert memory.found("word", until=NOON - 10**6) == [row]
    assert memory.search("word", until=NOON - 10**6).notes == ()


# --- the index itself


@pytest.mark.parametrize("typed", ["项目", "payload", "itgc", "timeout auth", "is_valid_email", "설정"])
def test_rebuilding_the_index_changes_no_hit(talk: Searchable, typed: str) -> None:
    before = talk.found(typed)
    talk.conn.execute("INSERT INTO search_fts(search_fts) VALUES ('rebuild')")
    talk.conn.execute("INSERT INTO search_fts(search_fts) VALUES ('integrity-check')")
    assert talk.found(typed) == before != []


def test_a_row_that_is_taken_away_is_not_found(talk: Searchable) -> None:
    talk.conn.execute("DELETE FROM user_prompts WHERE prompt_text LIKE '%LLM%'")
    talk.conn.execute("INSERT INTO search_fts(search_fts) VALUES ('integrity-check')")
    assert talk.found("LLM") == []


BREAKS = {
    "missing": "DROP TRIGGER search_texts_ai; DROP TRIGGER search_texts_ad; DROP TRIGGER search_texts_au; "
    "DROP TABLE search_fts",
    "damaged": "UPDATE search_fts_data SET block = zeroblob(3) WHERE id = 10",
    "silent": "UPDATE search_fts_data SET block = zeroblob(length(block)) WHERE id > 10",
    "emptied": "INSERT INTO search_fts(search_fts) VALUES ('delete-all')",
}


def broken(memory: Searchable, how: str) -> None:
    memory.conn.executescript(BREAKS[how])


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize(
    ("typed", "start"), [("项目", "修改了"), ("gen-itgc", "重跑"), ("timeout auth.ts", "auth"), ("설", "설정")]
)
def test_without_the_index_the_newest_texts_are_searched(talk: Searchable, how: str, typed: str, start: str) -> None:
    broken(talk, how)
    results = talk.search(typed)
    assert [hit.snippet[: len(start)] for hit in results.hits] == [start]
    assert (results.via, results.notes) == (("scan",), (lexical._NO_INDEX,))


def test_an_empty_memory_is_not_taken_for_a_broken_index(memory: Searchable) -> None:
    assert memory.search("word").via == ("lexical",)
    memory.prompt("")
    memory.prompt('"!"')
    assert memory.search("word").via == ("lexical",)


def test_without_the_index_words_are_left_out_too(talk: Searchable) -> None:
    broken(talk, "missing")
    assert talk.found("zqc -payload") == talk.found("zqc zqq -auth -项目") == []
    assert len(talk.found("-payload")) == 6


def test_a_search_that_runs_out_of_time_says_so(talk: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(talk, "missing")
    monkeypatch.setattr(listing, "SECONDS", -1.0)
    monkeypatch.setattr(listing, "_OPCODES", 1)
    assert talk.search("项目").notes == (lexical._NO_INDEX, lexical._STOPPED)


def test_another_error_is_not_taken_for_a_broken_index(talk: Searchable) -> None:
    talk.conn.set_progress_handler(lambda: True, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        talk.search("项目")


def test_a_reader_that_may_not_write_can_search(memory: Searchable) -> None:
    row = memory.prompt("why does the auth timeout fire so early in the day")
    memory.conn.execute("PRAGMA query_only = ON")
    assert memory.found("what makes the auth timeout fire too early") == [row]


def test_no_statement_walks_the_texts(memory: Searchable) -> None:
    for statement in (
        lexical.RANKED_ROWS,
        lexical.LAST_ROWS,
        lexical.TOP_ROWS,
        lexical.COUNT,
        lexical.TIMES,
        lexical.HOLDERS,
    ):
        sql = statement.format(codes="0", where="s.kind = 'prompt'")
        values = dict.fromkeys(re.findall(r":([a-z]+)", sql), "1")
        steps = [row["detail"] for row in memory.conn.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        assert [step for step in steps if re.match("SCAN s( |$)", step)] == []


def test_match_needs_no_more_than_the_words_and_filters(talk: Searchable) -> None:
    found = lexical.match(talk.conn, parse("itgc", Filters(limit=1)), 10)
    assert found == ((lexical.Match(32, found.matches[0].score),), "lexical", (), False)


# --- for rankings that are combined


def test_without_tiers_all_scores_are_of_one_kind(memory: Searchable) -> None:
    both = memory.prompt("an auth timeout among very many other words that were said here and there")
    one = memory.prompt("timeout timeout timeout")
    query = parse("auth timeout")
    assert [row.id for row in lexical.match(memory.conn, query, 5).matches] == [both, one]
    rows = lexical.match(memory.conn, query, 5, tiers=False).matches
    assert {row.id for row in rows} == {both, one}
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)


def test_without_tiers_a_chinese_word_is_its_bigrams(memory: Searchable) -> None:
    whole, half = memory.prompt("修改项目配置"), memory.prompt("项目很大")
    assert {row.id for row in lexical.match(memory.conn, parse("项目配置"), 5, tiers=False).matches} == {whole, half}


def test_without_tiers_one_common_word_is_still_bounded(memory: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "RANKED", 5)
    for _ in range(9):
        memory.prompt("timeout")
    assert lexical.match(memory.conn, parse("timeout"), 5, tiers=False).matches


@pytest.mark.parametrize(("typed", "is_bound"), [("a b", False), ('"a b"', True), ("a -b", True), ("title:a", True)])
def test_a_query_that_requires_or_excludes_is_bound(typed: str, is_bound: bool) -> None:
    assert lexical.bound(parse(typed)) is is_bound


def test_holders_are_all_rows_that_meet_the_conditions(talk: Searchable) -> None:
    everything = [row["id"] for row in talk.conn.execute("SELECT id FROM search_texts")]
    for typed in ('"claude-mem worker"', '"项目配置"', '"nowhere"', '"timeout" -foo', '"died" "worker"'):
        query = parse(typed)
        holders = lexical.holders(talk.conn, query, 10)
        assert holders is not None
        assert set(holders) == lexical.holding(talk.conn, query, everything)


def test_holders_meet_the_filters(talk: Searchable) -> None:
    assert lexical.holders(talk.conn, parse('"worker"', Filters(kinds=("assistant",))), 10) == []


def test_more_holders_than_asked_for_are_not_listed(memory: Searchable) -> None:
    for _ in range(4):
        memory.prompt("auth timeout")
    assert lexical.holders(memory.conn, parse('"auth timeout"'), 3) is None
    assert lexical.holders(memory.conn, parse("auth -x"), 3) is None


def test_of_given_rows_those_with_what_is_left_out_go(memory: Searchable) -> None:
    a, b = memory.prompt("auth timeout"), memory.prompt("auth redis")
    assert lexical.holding(memory.conn, parse("auth -redis"), [a, b]) == {a}


def test_times_of_rows(memory: Searchable) -> None:
    row, undated = memory.prompt("a"), memory.prompt("b", time=None)
    assert lexical.times(memory.conn, [undated, row, 8_000]) == {row: NOON + 1000, undated: None}


def test_of_very_many_equals_the_newest_are_listed(memory: Searchable) -> None:
    rows = [memory.prompt("auth timeout") for _ in range(lexical.LONG + 50)]
    found = lexical.match(memory.conn, parse("auth timeout"), lexical.LONG, tiers=False).matches
    assert [row.id for row in found] == rows[: -lexical.LONG - 1 : -1]


def test_the_end_of_a_long_list_is_not_asked_for_twice(memory: Searchable) -> None:
    for i in range(lexical.LONG + 50):
        memory.prompt("auth timeout" if i > lexical.LONG else "auth and others")
    asked: list[str] = []
    memory.conn.set_trace_callback(asked.append)
    lexical.match(memory.conn, parse("auth timeout"), lexical.LONG, tiers=False)
    assert [sql for sql in asked if "created_at_epoch AS time" in sql] == []
