"""Observations of one title over sessions: the earliest stands for all, variants stay, nothing is lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from itertools import permutations
from pathlib import Path

import pytest
from remembered import end, made, remember
from stores import check, read, store
from transcripts import Transcript

from indexer import compress
from indexer.compressors.rules import Rules
from indexer.store import duplicates


def session(name: str, day: int, said: str = "Fixed the login timeout.", more: str = "") -> Transcript:
    made = Transcript(name)
    made.start += timedelta(days=day)
    made.user("the login times out")
    made.tool("Edit", {"file_path": "/home/dev/shop/login.py"}, "ok")
    made.text(f"{said} {more}".strip())
    return made


FIRST, AGAIN, OTHER = session("a", 0), session("b", 3), session("c", 5, more="The cause was the index, not the query.")


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = store(tmp_path / "home")
    yield opened
    check(opened)
    opened.close()


def take(conn: sqlite3.Connection, root: Path, *sessions: Transcript, merge: bool = True) -> None:
    """Read and compress the sessions one after the other."""
    for one in sessions:
        one.write(root)
        read(conn, root)
        end(conn)
        list(compress.everything(conn, Rules(), merge=merge))


def standing(conn: sqlite3.Connection) -> list[tuple[str, int, str | None]]:
    """Session, count and canonical session of each observation."""
    sql = (
        "SELECT s.content_session_id, o.occurrence_count, "
        "(SELECT t.content_session_id FROM observation_origins c JOIN sdk_sessions t ON t.id = c.session_db_id "
        " WHERE c.observation_id = g.canonical_id) "
        "FROM observations o JOIN observation_origins g ON g.observation_id = o.id "
        "JOIN sdk_sessions s ON s.id = g.session_db_id ORDER BY o.created_at_epoch"
    )
    return conn.execute(sql).fetchall()


def indexed(conn: sqlite3.Connection) -> int:
    return int(conn.execute("SELECT count(*) FROM search_texts WHERE id % 8 = 3").fetchone()[0])


def test_without_dedup_each_stands_for_itself(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN, merge=False)
    assert [(count, canonical) for _, count, canonical in standing(conn)] == [(1, None), (1, None)]


def test_the_earliest_counts_the_others_and_their_days(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN)
    assert standing(conn) == [(FIRST.session_id, 2, None), (AGAIN.session_id, 1, FIRST.session_id)]
    days = conn.execute("SELECT reinforcement_dates FROM observations WHERE occurrence_count = 2").fetchone()
    assert json.loads(days[0]) == ["2026-11-01", "2026-11-04"]


def test_what_says_the_same_is_found_once(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN)
    assert indexed(conn) == 1


def test_what_says_something_else_stays_as_a_variant(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN, OTHER)
    (variant,) = conn.execute("SELECT narrative FROM observation_variants").fetchall()
    assert "not the query" in variant[0]
    assert indexed(conn) == 2


@pytest.mark.parametrize(
    "order", list(permutations((FIRST, AGAIN, OTHER))), ids=lambda order: " ".join(s.name for s in order)
)
def test_the_order_of_reading_does_not_matter(order: tuple[Transcript, ...], tmp_path: Path) -> None:
    held = []
    for name, sessions in (("plain", (FIRST, AGAIN, OTHER)), ("other", order)):
        opened = store(tmp_path / name)
        take(opened, tmp_path / f"p {name}", *sessions)
        held.append(made(opened))
        opened.close()
    assert held[0] == held[1]


def test_when_the_earliest_is_forgotten_the_next_stands(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN, OTHER)
    (gone,) = conn.execute("SELECT id FROM sdk_sessions WHERE content_session_id = ?", (FIRST.session_id,)).fetchone()
    conn.execute("DELETE FROM search_texts WHERE session_db_id = ?", (gone,))
    conn.execute("DELETE FROM sdk_sessions WHERE id = ?", (gone,))
    duplicates.merge_all(conn)
    assert standing(conn) == [(AGAIN.session_id, 2, None), (OTHER.session_id, 1, AGAIN.session_id)]


def test_when_only_one_is_left_it_counts_itself(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN)
    (key,) = conn.execute("SELECT DISTINCT title_norm_key FROM observations").fetchone()
    conn.execute("DELETE FROM search_texts WHERE id / 8 = 2 AND id % 8 = 3")
    conn.execute("DELETE FROM observations WHERE occurrence_count = 1")
    duplicates.settle(conn, [key])
    assert conn.execute("SELECT occurrence_count, reinforcement_dates FROM observations").fetchall() == [
        (1, '["2026-11-01"]')
    ]


def test_what_was_never_merged_is_not_merged_by_forgetting(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN, merge=False)
    (key,) = conn.execute("SELECT DISTINCT title_norm_key FROM observations").fetchone()
    duplicates.settle(conn, [key])
    assert [(count, canonical) for _, count, canonical in standing(conn)] == [(1, None), (1, None)]


def test_switching_it_off_takes_all_back(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN, OTHER)
    remember(conn, merge=False)
    plain = store(tmp_path / "plain")
    take(plain, tmp_path / "p", merge=False)
    read(plain, tmp_path / "p")
    remember(plain)
    assert made(conn) == made(plain)
    plain.close()


def test_switching_it_on_merges_what_is_there(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path / "p", FIRST, AGAIN, merge=False)
    remember(conn, merge=True)
    assert [count for _, count, _ in standing(conn)] == [2, 1]


# --- candidates


def alike(conn: sqlite3.Connection, root: Path) -> None:
    """Twelve titles, two of them alike."""
    names = ["cart", "order", "user", "mail", "stock", "price", "page", "route", "form", "token"]
    take(conn, root, *(session(name, n, f"Added the {name} table to the shop schema.") for n, name in enumerate(names)))
    take(conn, root, session("x", 20, "Moved the shop to the new price table."))
    take(conn, root, session("y", 21, "Moved the new shop to the price table."))


def test_titles_that_are_alike_are_proposed(conn: sqlite3.Connection, tmp_path: Path) -> None:
    alike(conn, tmp_path / "p")
    found = duplicates.pending(conn, 10)
    assert all(pair.score >= 0.8 for pair in found)
    assert [(pair.first_title, pair.second_title) for pair in found if "Moved" in pair.first_title] == [
        ("Moved the shop to the new price table", "Moved the new shop to the price table")
    ] * len([pair for pair in found if "Moved" in pair.first_title])


def pair(conn: sqlite3.Connection, root: Path) -> tuple[int, int]:
    take(conn, root, FIRST, session("d", 9, "Fixed the other login."))
    first, second = (row[0] for row in conn.execute("SELECT id FROM observations ORDER BY created_at_epoch"))
    duplicates.propose(conn, "/home/dev/shop", [(first, second, 0.9)])
    return first, second


def test_an_accepted_pair_is_one(conn: sqlite3.Connection, tmp_path: Path) -> None:
    first, second = pair(conn, tmp_path / "p")
    assert duplicates.decide(conn, second, first, merge=True)
    assert [(count, canonical is None) for _, count, canonical in standing(conn)] == [(2, True), (1, False)]


@pytest.mark.parametrize("merge", [False, True])
def test_an_accepted_pair_stays_one(conn: sqlite3.Connection, tmp_path: Path, merge: bool) -> None:
    first, second = pair(conn, tmp_path / "p")
    duplicates.decide(conn, first, second, merge=True)
    remember(conn, merge=merge)
    remember(conn, merge=merge)
    assert [(count, canonical is None) for _, count, canonical in standing(conn)] == [(2, True), (1, False)]
    days = conn.execute("SELECT reinforcement_dates FROM observations WHERE id = ?", (first,)).fetchone()
    assert json.loads(days[0]) == ["2026-11-01", "2026-11-10"]


def test_a_dismissed_pair_is_not_asked_again(conn: sqlite3.Connection, tmp_path: Path) -> None:
    first, second = pair(conn, tmp_path / "p")
    assert duplicates.decide(conn, first, second, merge=False)
    duplicates.propose(conn, "/home/dev/shop", [(first, second, 0.9)])
    assert duplicates.pending(conn, 10) == []


def test_who_are_no_candidates_cannot_be_decided_on(conn: sqlite3.Connection) -> None:
    assert not duplicates.decide(conn, 1, 2, merge=True)
