"""What was typed becomes expressions that cannot be malformed."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from indexer.errors import UsageError
from indexer.query import LIMITS, LONGEST, MOST_WORDS, Filters, parse, parse_when, plain

NOW = 1_795_176_000_000  # 2026-11-20T12:00:00Z
HOUR, DAY = 3_600_000, 86_400_000


# words


@pytest.mark.parametrize(
    ("typed", "match"),
    [
        ("timeout", '("timeout")'),
        ("timeout auth", '("timeout") AND ("auth")'),
        ("claude-mem", '("claude mem")'),
        ("auth.ts", '("auth ts")'),
        ('auth.ts "timeout', '("auth ts") AND ("timeout")'),
        ("C++", '("C")'),
        ("NOT", '("NOT")'),
        ("a AND b OR c NEAR d", '("a") AND ("AND") AND ("b") AND ("OR") AND ("c") AND ("NEAR") AND ("d")'),
        ("a*b", '("a b")'),
        ("x:y", '("x y")'),
        ("^start", '("start")'),
        ("(x)", '("x")'),
        ("src/auth/login.ts:42", '("src auth login ts 42")'),
        ("timeout Timeout timeout", '("timeout") AND ("Timeout")'),
        ("naïve", '("naïve")'),
        ("हिन्दी", '("हिन्दी")'),
        ("what’s up", '("what s") AND ("up")'),
        ("x\ty\nz", '("x") AND ("y") AND ("z")'),
        ("\x1b[31mred\x1b[0m", '("red")'),
        ("--no-cache", '("no cache")'),
        ("a - b", '("a") AND ("b")'),
        ("a ->b", '("a") AND ("b")'),
    ],
)
def test_every_word_is_quoted(typed: str, match: str) -> None:
    assert parse(typed).all == match


@pytest.mark.parametrize(
    "typed", ["", " ", "-", '"', '""', "''", "***", "()", "。，", "🙂", "-- -", '-"', "_", "\0", "้"]
)
def test_what_holds_no_letter_or_digit_is_no_word(typed: str) -> None:
    query = parse(typed)
    assert (query.all, query.any, query.terms, query.excluded) == ("", "", (), ())


@pytest.mark.parametrize(
    ("typed", "match"),
    [
        ("isValidEmail", '("isValidEmail" OR "is Valid Email")'),
        ("is_valid_email", '("is valid email")'),
        ("parseHTTPResponse", '("parseHTTPResponse" OR "parse HTTP Response")'),
        ("src/getUser.ts", '("src getUser ts" OR ("src" AND "get User" AND "ts"))'),
        ("a.is_valid", '("a is valid" OR ("a" AND "is valid"))'),
        ("GitHub", '("GitHub" OR "Git Hub")'),
        ("Error", '("Error")'),
    ],
)
def test_an_identifier_is_itself_or_its_parts(typed: str, match: str) -> None:
    assert parse(typed).all == match


# scripts without spaces


@pytest.mark.parametrize(
    ("typed", "match"),
    [
        ("项目", '("项目")'),
        ("项目配置", '("项目 目配 配置")'),
        ("项", '("项" *)'),
        ("설정", '("설정")'),
        ("サンド", '("サン ンド")'),
        ("ｻﾝﾄﾞ", '("サン ンド")'),
        ("优先使用LLM", '("优先 先使 使用 用 LLM")'),
        ("使用LLM吗", '("使用 用 LLM 吗" *)'),
        ("gen-itgc后", '("gen itgc 后" *)'),
        ("配置)", '("配置")'),
        ("配置，超时", '("配置") AND ("超时")'),
        ("第3章", '("第 3 章" *)'),
        ("𠀀𠀁", '("𠀀𠀁")'),
    ],
)
def test_a_run_is_the_phrase_of_its_bigrams(typed: str, match: str) -> None:
    assert parse(typed).all == match


def test_a_question_without_spaces_is_asked_by_its_bigrams() -> None:
    assert parse("如何更新状态").any == '"如何" OR "何更" OR "更新" OR "新状" OR "状态"'


def test_single_characters_are_not_asked_for_beside_others() -> None:
    assert parse("使用LLM吗").any == '"使用" OR "LLM"'


# what a ranked search asks for


def test_a_latin_word_alone_stays_whole() -> None:
    assert parse("gen-itgc").any == '"gen itgc"'
    assert parse("useState").any == '"useState" OR "use State"'


def test_among_others_a_word_is_asked_for_by_its_pieces_too() -> None:
    assert parse("crash gen-itgc").any == '"crash" OR "gen itgc" OR "gen" OR "itgc"'
    assert parse("crash useState").any == '"crash" OR "useState" OR "use State" OR "use" OR "State"'


def test_brackets_show_that_one_word_is_several() -> None:
    assert parse("preconnect(href)").any == '"preconnect href" OR "preconnect" OR "href"'


def test_the_owner_of_something_is_asked_for() -> None:
    assert '"user"' in parse("the user's session").any


# phrases, exclusions, titles


def test_a_phrase_is_one_term_and_required() -> None:
    term, other = parse('"fix the loop" now').terms
    assert (term.match, term.loose, term.required) == ('"fix the loop"', ('"fix the loop"',), True)
    assert not other.required


@pytest.mark.parametrize("typed", ["“fix the loop”", "„fix the loop“", '"fix  the\tloop"'])
def test_quotation_marks_that_a_keyboard_turns_are_quotation_marks(typed: str) -> None:
    assert parse(typed).all == '("fix the loop")'


def test_a_chinese_phrase_ends_as_a_word_does() -> None:
    assert parse('"使用 项目"').all == '("使用 用 项目")'


@pytest.mark.parametrize(
    ("typed", "excluded"),
    [
        ("a -b", ['"b"']),
        ('a -"b c"', ['"b c"']),
        ("a -项目配置", ['"项目 目配 配置"']),
        ("a -title:b", ['title : "b"']),
        ("a -isOk", ['"isOk" OR "is Ok"']),
    ],
)
def test_a_dash_leaves_out(typed: str, excluded: list[str]) -> None:
    query = parse(typed)
    assert [term.match for term in query.excluded] == excluded
    assert query.all == '("a")'


def test_a_dash_inside_a_word_is_part_of_it() -> None:
    assert parse("foo-bar").excluded == ()


@pytest.mark.parametrize(
    ("typed", "match"),
    [
        ("title:auth", '(title : "auth")'),
        ("TITLE:auth", '(title : "auth")'),
        ('title:"auth fix"', '(title : "auth fix")'),
        ("title:项", '(title : "项" *)'),
        ("title:isOk", '(title : "isOk" OR title : "is Ok")'),
        ("title:", '("title")'),
        ("title: auth", '("title") AND ("auth")'),
        ("mytitle:auth", '("mytitle auth")'),
        ('title:"', '("title")'),
    ],
)
def test_title_restricts_a_word_to_titles(typed: str, match: str) -> None:
    assert parse(typed).all == match


def test_a_title_is_required() -> None:
    assert [term.required for term in parse("title:a b").terms] == [True, False]


# words to show, needles, limits


def test_words_to_look_for_in_the_original_are_the_word_and_its_pieces() -> None:
    assert parse("Auth.ts").words == ("auth.ts", "auth", "ts")
    assert parse("用useState").words == ("用usestate", "用", "usestate", "use", "state")
    assert parse("a -b").words == ("a",)


def test_needles_are_pieces_of_search_text() -> None:
    assert parse("项目配置LLM").terms[0].needles == ("项目", "目配", "配置", "llm")
    assert parse("项").terms[0].needles == ("项",)
    assert parse("Auth.ts").terms[0].needles == ("auth.ts",)


def test_a_pasted_log_is_read_in_part() -> None:
    query = parse(" ".join(f"w{i}" for i in range(5000)))
    assert len(query.terms) == MOST_WORDS
    assert parse("x" * 10 * LONGEST).terms[0].match == f'"{"x" * LONGEST}"'


@pytest.mark.parametrize(("limit", "kept"), [(20, 20), (0, 1), (-5, 1), (10**9, LIMITS[1]), (10**30, LIMITS[1])])
def test_limits_are_brought_into_range(limit: int, kept: int) -> None:
    assert parse("", Filters(limit=limit)).filters.limit == kept


def test_a_limit_beyond_what_is_given_is_told_of() -> None:
    assert parse("", Filters(limit=500)).notes == ()
    assert parse("", Filters(limit=501)).notes == ("at most 500 results are given at a time; --offset leads on",)


def test_filters_hold_what_sqlite_can_bind() -> None:
    kept = parse("", Filters(session="\ud800", project=("\0",), since=10**40, offset=-3)).filters
    assert (kept.session, kept.project, kept.offset) == ("\ufffd", ("\ufffd",), 0)
    assert kept.since is not None
    assert kept.since < 1 << 63


def test_the_text_is_kept_as_typed() -> None:
    assert parse('a "b').text == 'a "b'


# parse_when


@pytest.mark.parametrize(
    ("typed", "ago"),
    [("now", 0), ("30m", HOUR // 2), ("12h", 12 * HOUR), ("7d", 7 * DAY), ("2w", 14 * DAY), (" 7 D ", 7 * DAY)],
)
def test_spans_go_back_from_now(typed: str, ago: int) -> None:
    assert parse_when(typed, NOW, UTC) == NOW - ago


@pytest.mark.parametrize(
    ("typed", "moment"),
    [
        ("2026-11-20", NOW - 12 * HOUR),
        ("today", NOW - 12 * HOUR),
        ("yesterday", NOW - 36 * HOUR),
        ("2026-11-20T12:00", NOW),
        ("2026-11-20 12:00", NOW),
        ("2026-11-20t12:00z", NOW),
        ("2026-11-20T12:00+01:00", NOW - HOUR),
        ("2026-11-20T12:00:00.250", NOW + 250),
    ],
)
def test_days_and_times(typed: str, moment: int) -> None:
    assert parse_when(typed, NOW, UTC) == moment


@pytest.mark.parametrize("typed", ["2026-11-20", "today"])
def test_the_end_of_a_day_is_its_last_millisecond(typed: str) -> None:
    assert parse_when(typed, NOW, UTC, end=True) == NOW + 12 * HOUR - 1


def test_what_has_no_offset_is_in_the_zone_given() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    assert parse_when("2026-11-20", NOW, tokyo) == NOW - 21 * HOUR
    assert parse_when("2026-11-20T21:00", NOW, tokyo) == NOW
    assert parse_when("2026-11-20T12:00Z", NOW, tokyo) == NOW


def test_today_is_the_day_of_the_zone() -> None:
    late = NOW + 4 * HOUR  # the 21st in Tokyo
    assert parse_when("today", late, ZoneInfo("Asia/Tokyo")) == NOW + 3 * HOUR


def test_a_day_of_a_clock_change_has_its_own_length() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start, end = parse_when("2026-10-25", NOW, berlin), parse_when("2026-10-25", NOW, berlin, end=True)
    assert end - start == 25 * HOUR - 1


@pytest.mark.parametrize("typed", ["", "soon", "2026-13-01", "25:00", "7y", "9999999w", "\ud800", "12", "2026-11-20T"])
def test_what_is_no_time_is_an_error_that_names_the_zone(typed: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_when(typed, NOW, timezone(timedelta(hours=5, minutes=30), "IST"))
    assert "IST, UTC+05:30" in raised.value.message
    assert "7d" in raised.value.hint


@pytest.mark.parametrize("hours", [-14, 0, 14])
def test_a_clock_beyond_the_last_year_asks_back_all_the_same(hours: int) -> None:
    now, zone = 300_000_000_000_000, timezone(timedelta(hours=hours))
    assert parse_when("3d", now, zone) == now - 3 * 86_400_000
    assert parse_when("now", now, zone) == now
    assert parse_when("2026-11-20", now, UTC) == 1_795_132_800_000
    with pytest.raises(UsageError, match="not a time"):
        parse_when("soon", now, zone)


# --- a question in whole, and texts that are none


@pytest.mark.parametrize(
    ("typed", "question"),
    [
        ("why does it fail", "why does it fail"),
        ('"auth timeout" -redis now', "auth timeout now"),
        ("title:Bash  fails", "Bash fails"),
        ("'<' not supported -> why", "'<' not supported -> why"),
        ("配置在哪里？", "配置在哪里"),
        ("-redis", ""),
    ],
)
def test_the_question_is_what_is_asked_for_without_signs(typed: str, question: str) -> None:
    assert parse(typed).question == question


@pytest.mark.parametrize("text", ['say "x y" -z', "- a list\n- of -v and --force", "title:a -title:b", '"', "“x y”"])
def test_a_text_that_nobody_typed_requires_and_excludes_nothing(text: str) -> None:
    query = plain(text)
    assert query.excluded == ()
    assert not any(term.required for term in query.terms)


def test_a_plain_text_keeps_its_words_and_filters() -> None:
    query = plain('the "auth" timeout', Filters(limit=3))
    assert (query.question, query.filters.limit, len(query.terms)) == ("the auth timeout", 3, 3)


@pytest.mark.parametrize(("text", "said"), [("!!!", True), ("→ …", True), ("", False), ("  ", False), ("-x", False)])
def test_a_question_without_a_word_is_said_to_be_none(text: str, said: bool) -> None:
    note = "there is no word or number in that to look for: these are the newest"
    assert parse(text).notes == ((note,) if said else ())


def test_a_text_that_nobody_typed_is_not_complained_of() -> None:
    assert plain("!!!").notes == ()
