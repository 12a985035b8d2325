"""What must hold for every string there is."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from indexer import text

FTS = Path(text.__file__).parent / "store" / "fts.sql"
ANY = st.text(st.characters())
MIXED = st.text(st.sampled_from("项目配置超时ガド설정ที่𠀀，。 aZ9_.-\n\x1b[m＿ｶﾞé\u0301\u200b"), max_size=30)
CHINESE = st.text(st.sampled_from("项目配置"), min_size=2, max_size=4)


@cache
def index() -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    tokenize = next(line for line in FTS.read_text().splitlines() if "tokenize" in line)
    conn.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, {tokenize.strip()})")
    return conn


def finds(body: str, match: str) -> bool:
    conn = index()
    conn.execute("DELETE FROM t")
    conn.execute("INSERT INTO t VALUES (?)", (text.search_tokens(body),))
    return bool(conn.execute("SELECT count(*) FROM t WHERE t MATCH ?", (match,)).fetchone()[0])


@given(ANY)
def test_clean_text_can_be_stored_and_comes_back(raw: str) -> None:
    kept = text.clean(raw)
    assert index().execute("SELECT ?", (kept,)).fetchone()[0] == kept
    assert text.clean(kept) is kept
    assert len(kept) == len(raw)


@given(ANY, st.integers(0, 200))
def test_cut_keeps_a_prefix_within_the_limit(raw: str, limit: int) -> None:
    short = text.cut(raw, limit)
    head = short.rpartition("…[truncated: ")[0] if short != raw else short
    assert raw.startswith(head)
    assert short == raw or len(head.encode("utf-8", "surrogatepass")) <= limit
    assert text.cut(short, limit) == short


@given(ANY | MIXED)
def test_nothing_breaks_the_search_text(raw: str) -> None:
    seen = text.search_tokens(raw)
    assert "\0" not in seen or "\0" in raw
    assert seen.isascii() or not raw.isascii()


@given(st.text(st.sampled_from("项目配置，。 ax"), max_size=12), CHINESE)
def test_a_phrase_of_bigrams_is_found_exactly_where_the_characters_stand(body: str, word: str) -> None:
    assert finds(body, f'"{" ".join(text.bigrams(word))}"') == (word in body)


@given(st.text(st.sampled_from("项目配置，。 ax"), max_size=12), st.sampled_from("项目配置"))
def test_one_character_is_found_exactly_where_it_stands(body: str, character: str) -> None:
    assert finds(body, f'"{character}" *') == (character in body)


@given(st.lists(st.text(st.sampled_from("项目配置"), min_size=1, max_size=9), min_size=1, max_size=9))
def test_spelling_all_runs_at_once_is_spelling_each(runs: list[str]) -> None:
    each = [" ".join((*text.bigrams(run), run[-1])) for run in runs]
    assert text.search_tokens("，".join(runs)).split("，") == [f" {e} " for e in each]


@given(st.integers(-62135596800000, 253402300799999))
def test_times_come_back(ms: int) -> None:
    stamp = text.iso(ms)
    assert stamp is not None
    assert text.parse_time(stamp) == ms


@given(ANY)
def test_parse_time_never_raises(raw: str) -> None:
    text.parse_time(raw)


@given(ANY | st.text(st.sampled_from("\x1b[]0;m\x07\x9b\x9d\\\nab"), max_size=20))
def test_nothing_safe_can_move_the_cursor(raw: str) -> None:
    safe = text.sanitize(raw)
    assert not any((c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f" for c in safe)
    assert text.sanitize(safe) == safe.encode().decode()


@given(ANY, st.lists(st.text(max_size=8), max_size=5), st.integers(20, 400))
def test_a_snippet_is_one_line_of_the_size_asked_for(raw: str, words: list[str], limit: int) -> None:
    shown = text.snippet(raw, [word.lower() for word in words], limit)
    assert len(shown) <= limit + 2
    assert "\n" not in shown


@given(ANY)
def test_a_glance_is_short_and_a_title_key_is_settled(raw: str) -> None:
    assert len(text.glance(raw, 40)) <= 40
    key = text.title_key(raw)
    assert key is None or text.title_key(key) == key
