"""What is stored, what the index sees, what a person is shown."""

from __future__ import annotations

import json
import sqlite3
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer import text

FTS = Path(text.__file__).parent / "store" / "fts.sql"


@pytest.fixture
def index() -> Iterator[sqlite3.Connection]:
    """An empty index with the product's own tokeniser, and its vocabulary."""
    conn = sqlite3.connect(":memory:")
    tokenize = next(line for line in FTS.read_text().splitlines() if "tokenize" in line)
    conn.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, {tokenize.strip()})")
    conn.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    yield conn
    conn.close()


def tokens(conn: sqlite3.Connection, body: str) -> list[str]:
    """What FTS5 makes of `body`, in order, after `search_tokens`."""
    conn.execute("DELETE FROM t")
    conn.execute("INSERT INTO t VALUES (?)", (text.search_tokens(body),))
    return [row[0] for row in conn.execute("SELECT term FROM v ORDER BY offset")]


# clean


@pytest.mark.parametrize("good", ["", "plain", "naïve 项目 🙂", "tab\tline\n\x1b[0m"])
def test_clean_leaves_good_text_alone(good: str) -> None:
    assert text.clean(good) is good


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("a\0b", "a\ufffdb"),
        ("\ud83d", "\ufffd"),
        ("项\udc80\0目", "项\ufffd\ufffd目"),
        ("\ud83d🙂", "\ufffd🙂"),
    ],
)
def test_clean_replaces_what_sqlite_cannot_hold(bad: str, good: str) -> None:
    assert text.clean(bad) == good


# json_text


def nested(levels: int) -> object:
    value: object = "é\ud800"
    for level in range(levels):
        value = {"k": value, "n": level} if level % 2 else [value, None]
    return value


@pytest.mark.parametrize("value", [{}, [], 1, None, "é", [[], {}, 1.5, True], nested(50), {"a": {}, "b": [[10**30]]}])
def test_json_text_is_what_json_writes(value: object) -> None:
    assert text.json_text(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_json_text_takes_any_depth() -> None:
    assert text.json_text(nested(5_000)).count("[") == 2_500


# cut


def test_cut_leaves_a_text_that_fits() -> None:
    assert text.cut("a" * 65536) == "a" * 65536


def test_cut_says_how_long_the_text_was() -> None:
    assert text.cut("abcdef", 4) == "abcd…[truncated: 6 bytes]"


@pytest.mark.parametrize(("limit", "kept"), [(3, "项"), (4, "项"), (5, "项"), (2, ""), (0, "")])
def test_cut_never_splits_a_character(limit: int, kept: str) -> None:
    assert text.cut("项目", limit) == f"{kept}…[truncated: 6 bytes]"


def test_cutting_twice_changes_nothing() -> None:
    once = text.cut("项目" * 100, 64)
    assert text.cut(once, 64) == once


def test_a_mark_does_not_save_a_text_that_is_too_long() -> None:
    assert text.cut("x" * 20 + "…[truncated: 99 bytes]", 10).startswith("xxxxxxxxxx…[truncated: ")


def test_cut_takes_lone_surrogates() -> None:
    assert text.cut("\ud83d" * 4, 4) == "\ud83d…[truncated: 12 bytes]"


# hashes


def test_content_hash_is_sixteen_hex_digits_of_the_joined_parts() -> None:
    assert text.content_hash("a", b"b") == text.content_hash("a\0b") == "59b271ae1bbcb1d3"


def test_content_hash_tells_the_parts_apart() -> None:
    assert text.content_hash("ab", "c") != text.content_hash("a", "bc")


def test_prompt_hash_is_the_whole_sha256() -> None:
    assert text.prompt_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_hashes_take_lone_surrogates() -> None:
    assert len(text.content_hash("\ud800")) == 16
    assert len(text.prompt_hash("\ud800")) == 64


# title_key


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Fixed: the *Auth* bug!", "fixed the auth bug"),
        ("  café ", "café"),
        ("cafe\u0301", "café"),
        ("修复，超时", "修复 超时"),
        ("…!?", None),
        ("", None),
        ("snake_case", "snake case"),
    ],
)
def test_title_key(title: str, key: str | None) -> None:
    assert text.title_key(title) == key


def test_title_key_keeps_thai_tones() -> None:
    assert text.title_key("ไม่") != text.title_key("ไม้")


# times


def test_parse_time_and_iso_are_each_others_inverse() -> None:
    assert text.parse_time("2026-11-30T15:03:23.136Z") == 1796050 * 10**6 + 1003136
    assert text.iso(1796051003136) == "2026-11-30T15:03:23.136Z"


@pytest.mark.parametrize(
    ("stamp", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00", 0),
        ("1970-01-01", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("1970-01-01T00:00:00.001999Z", 1),
        ("soon", None),
        ("", None),
        ("2026-13-01T00:00:00Z", None),
    ],
)
def test_parse_time(stamp: str, ms: int | None) -> None:
    assert text.parse_time(stamp) == ms


def test_parse_time_of_what_is_no_string() -> None:
    assert text.parse_time(12) is None  # type: ignore[arg-type]  # JSON may hold anything


@pytest.mark.parametrize(
    ("ms", "stamp"), [(None, None), (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z")]
)
def test_iso(ms: int | None, stamp: str | None) -> None:
    assert text.iso(ms) == stamp


@pytest.mark.parametrize("ms", [10**18, -(10**18), 10**30])
def test_iso_has_no_word_for_impossible_years(ms: int) -> None:
    assert text.iso(ms) is None


# token_estimate


@pytest.mark.parametrize(
    ("words", "count"), [("", 0), ("abcd", 1), ("abcde", 2), ("项目配置", 4), ("项目 abc", 3), ("\ud800", 1)]
)
def test_token_estimate(words: str, count: int) -> None:
    assert text.token_estimate(words) == count


# search_tokens: words and identifiers


def test_of_a_text_beyond_any_models_reach_the_beginning_is_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "INDEXED", 9)
    assert text.search_tokens("one two three four") == "one two t"
    assert text.search_tokens("one two t") == "one two t"


def test_plain_text_is_its_own_search_text() -> None:
    plain = "fix the websocket reconnect loop in auth.ts, see gen-itgc and is_valid_email"
    assert text.search_tokens(plain) is plain


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("useState", ("use", "State")),
        ("parseHTTPResponse", ("parse", "HTTP", "Response")),
        ("HTTPServer2", ("HTTP", "Server2")),
        ("getURLs", ("get", "URLs")),
        ("URLsList", ("URLs", "List")),
        ("base64Decode", ("base64", "Decode")),
        ("isAOk", ("is", "A", "Ok")),
        ("URLs", ()),
        ("Error", ()),
        ("sha256", ()),
        ("NASA", ()),
        ("", ()),
        ("a1B2c3D4e5F6", ()),
        ("aB" * 40, ()),
    ],
)
def test_humps(word: str, parts: tuple[str, ...]) -> None:
    assert text.humps(word) == parts


def test_identifier_parts_stand_after_the_text() -> None:
    seen = text.search_tokens("call parseHTTPResponse twice")
    assert seen.split("\n") == ["call parseHTTPResponse twice", "parseHTTPResponse parse HTTP Response "]


def test_digits_at_the_end_of_a_part_are_found_without_them_too() -> None:
    assert text.search_tokens("HTTPServer2").split() == [
        "HTTPServer2",
        "HTTPServer2",
        "HTTP",
        "Server2",
        "Server",
    ]


def test_the_parts_of_a_word_are_added_once() -> None:
    assert text.search_tokens("useState(useState)").count("State") == 4


def test_the_parts_of_two_words_are_kept_apart(index: sqlite3.Connection) -> None:
    found = tokens(index, "useState setCount")
    assert found[2:] == ["usest", "us", "state", "setcount", "set", "count"]


def test_path_and_hyphen_come_apart_in_the_tokeniser(index: sqlite3.Connection) -> None:
    assert tokens(index, "auth.ts gen-itgc foo_bar") == ["auth", "ts", "gen", "itgc", "foo", "bar"]


def test_words_glued_by_colour_codes_are_the_words_one_sees(index: sqlite3.Connection) -> None:
    assert tokens(index, "\x1b[31mfail\x1b[0m \x1b]0;title\x07 is\x1b[1mok\x1b[m") == ["fail", "isok"]


# search_tokens: scripts without spaces


@pytest.mark.parametrize(
    ("body", "spelt"),
    [
        ("项目配置", "项目 目配 配置 置"),
        ("项", "项"),
        ("payload优先使用LLM", "payload 优先 先使 使用 用 LLM"),
        ("설정을 확인", "설정 정을 을 확인 인"),
        ("サンド", "サン ンド ド"),
        ("ที่นี่", "ที ี่ ่น นี ี่ ่"),
        ("𠀀𠀁x", "𠀀𠀁 𠀁 x"),
        ("ລາວ ខ្មែរ မြန်", "ລາ າວ ວ ខ្ ្ម មែ ែរ រ မြ ြန န် ်"),
    ],
)
def test_runs_are_spelt_as_bigrams_and_the_last_character(body: str, spelt: str) -> None:
    assert text.search_tokens(body).split() == spelt.split()


def test_a_run_never_runs_on_past_punctuation() -> None:
    assert text.search_tokens("项目，配置").split() == ["项目", "目", "，", "配置", "置"]


@pytest.mark.parametrize("body", ["ｐａｙｌｏａｄ２", "pay\u200bload2", "pay\u00adload2", "payload\ufe0f2"])
def test_spellings_one_cannot_see_are_one_word(body: str) -> None:
    assert text.search_tokens(body) == "payload2"


def test_half_width_kana_and_split_syllables_are_composed() -> None:
    assert text.search_tokens("ｶﾞﾄﾞ").split() == ["ガド", "ド"]
    assert text.search_tokens(unicodedata.normalize("NFD", "설정")).split() == ["설정", "정"]


def test_a_trade_mark_is_not_glued_to_its_word(index: sqlite3.Connection) -> None:
    assert tokens(index, "React™ 好") == ["react", "好"]


def test_camel_case_beside_chinese_has_its_parts() -> None:
    assert text.search_tokens("调用useState更新").split() == [
        "调用",
        "用",
        "useState",
        "更新",
        "新",
        "useState",
        "use",
        "State",
    ]


def test_every_character_of_a_run_is_a_character_to_the_tokeniser(index: sqlite3.Connection) -> None:
    runs = [chr(c) for c in range(0xE00, sys.maxunicode) if text.search_tokens(f"{chr(c)}a") == f" {chr(c)} a"]
    assert len(runs) > 100_000
    index.executemany("INSERT INTO t VALUES (?)", ((c,) for c in runs))
    index.execute("CREATE VIRTUAL TABLE words USING fts5vocab(t, 'row')")
    assert index.execute("SELECT count(*) FROM words").fetchone()[0] == len(runs)


def test_segments_alternate_between_spaced_and_unspaced() -> None:
    assert text.segments("优先使用LLM吗?") == ["", "优先使用", "LLM", "吗", "?"]
    assert text.segments("plain") == ["plain"]


@pytest.mark.parametrize(("run", "pairs"), [("", []), ("项", []), ("项目", ["项目"]), ("项目配", ["项目", "目配"])])
def test_bigrams(run: str, pairs: list[str]) -> None:
    assert text.bigrams(run) == pairs


# sanitize


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain", "plain"),
        ("two\n\tlines 项目", "two\n\tlines 项目"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hx", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://h.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x9b31mred\x9d0;t\x9cx", "redx"),
        ("a\rb\x08c\x07\x7f\x85", "abc"),
        ("\u202eevil\u2066x\u200b\ufeff", "evilx"),
        ("\U000e0041tag", "tag"),
        ("\ud83d", "\ufffd"),
        ("\x1b\x1b[0m[31mx", "[31mx"),
        ("\x1b(Bx\x1bcy", "xy"),
        ("\x1b]0;no end\nnext", "\nnext"),
        ("end\x1b", "end"),
    ],
)
def test_sanitize(raw: str, safe: str) -> None:
    assert text.sanitize(raw) == safe


# glance and snippet


@pytest.mark.parametrize(
    ("whole", "seen"),
    [("  a\n b ", "a b"), ("", ""), ("abcdef", "abcd…"), ("abcde", "abcde"), ("a" + " " * 90 + "b", "a…")],
)
def test_glance(whole: str, seen: str) -> None:
    assert text.glance(whole, 5) == seen


def test_a_short_text_stands_whole_in_its_snippet() -> None:
    assert text.snippet(" fix\n the   loop ", ("loop",)) == "fix the loop"


def test_a_snippet_shows_the_first_place_of_the_word() -> None:
    shown = text.snippet("lorem ipsum " * 200 + "the websocket broke " + "dolor sit " * 200, ("websocket",))
    assert shown.startswith("…")
    assert "the websocket broke" in shown
    assert shown.endswith("…")
    assert len(shown) <= 322


def test_a_snippet_prefers_the_place_where_the_words_stand_together() -> None:
    whole = "timeout " + "x " * 500 + "auth timeout here " + "y " * 500
    assert "auth timeout here" in text.snippet(whole, ("auth", "timeout"))


def test_a_snippet_finds_chinese_inside_a_run() -> None:
    assert "项目配置" in text.snippet("无关" * 400 + "修改了项目配置" + "其他" * 400, ("项目配置",))


@pytest.mark.parametrize(
    ("word", "shown"),
    [("log", "the log"), ("state", "useState"), ("connection", "connected"), ("nowhere", "start")],
)
def test_a_snippet_finds_words_as_the_index_does(word: str, shown: str) -> None:
    whole = "start catalog " + "x " * 300 + "the log " + "x " * 300 + "useState " + "x " * 300 + "connected"
    assert shown in text.snippet(whole, (word,))


def test_a_snippet_without_words_is_the_start() -> None:
    assert text.snippet("start " + "x " * 999, ()).startswith("start x")


def test_a_snippet_at_the_end_has_no_mark_there() -> None:
    assert text.snippet("x " * 500 + "the end", ("end",)).endswith("the end")


@pytest.mark.parametrize(
    ("body", "is_unspaced"),
    [
        ("", False),
        ("plain", False),
        ("naïve Straße", False),
        ("配置", True),
        ("a 설정", True),
        ("ｻﾝﾄﾞ", True),
        ("ค้น", True),
    ],
)
def test_scripts_without_spaces_are_told_apart(body: str, is_unspaced: bool) -> None:
    assert text.unspaced(body) is is_unspaced


@pytest.mark.parametrize(
    ("body", "least", "most"),
    [
        ("", 0, 0),
        ("why does it time out", 0, 0),
        ("naïve Straße", 0, 0),
        ("修改了项目配置，重新启动", 0.6, 1),
        ("在现有网站的子路由中使用 React", 0.5, 0.8),
        ("call useState and useReducer from the component, not 更新", 0, 0.1),
        ("设置 timeout", 0.05, 0.3),
        ("サンドボックス修正テスト", 0.7, 1),
    ],
)
def test_the_share_of_such_scripts_is_known_by_the_tokens(body: str, least: float, most: float) -> None:
    assert least <= text.unspaced_share(text.search_tokens(body)) <= most
