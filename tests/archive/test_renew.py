"""What was archived under older redaction rules is taken through the newer ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import Archived, Library
from forgetting import holding
from transcripts import Transcript

from indexer import app
from indexer.archive.renew import renew
from indexer.redact import Redactor
from indexer.redaction_settings import Settings, UserRule, user_rule
from indexer.store import redaction

BADGE = "BADGE-4711"


@pytest.fixture
def rule() -> UserRule:
    return user_rule("badge", "BADGE-[0-9]{4}", "BADGE-")


@pytest.fixture
def redactor(rule: UserRule) -> Redactor:
    return Redactor(b"k", Settings((rule,)))


def talk(folder: Path) -> Path:
    made = Transcript("talk")
    made.user(f"my badge is {BADGE}")
    made.user("and nothing else")
    return made.write(folder)


@pytest.mark.parametrize("sealed", [False, True])
def test_every_line_comes_out_by_the_new_rules(tmp_path: Path, redactor: Redactor, sealed: bool) -> None:
    memory = Archived(tmp_path)
    path = talk(memory.root)
    memory.read()
    if sealed:
        memory.seal()
    assert sum(renew(memory.conn, memory.archive, redactor)) == 1
    assert BADGE.encode() not in memory.everything()
    assert memory.text(path).count(b"\n") == 2
    assert sum(renew(memory.conn, memory.archive, redactor)) == 0
    memory.close()


def test_of_the_old_chunks_nothing_is_left(tmp_path: Path, redactor: Redactor) -> None:
    memory = Archived(tmp_path)
    talk(memory.root)
    memory.read()
    memory.seal()
    (before,) = memory.chunks
    list(renew(memory.conn, memory.archive, redactor))
    (after,) = memory.chunks
    assert before != after
    memory.close()


def test_a_tail_that_becomes_a_chunk_between_two_steps_is_met_there(tmp_path: Path, redactor: Redactor) -> None:
    memory = Archived(tmp_path)
    for name in ("a", "b", "c"):
        made = Transcript(name)
        made.user(f"my badge is {BADGE}")
        made.write(memory.root)
    memory.read()
    steps = renew(memory.conn, memory.archive, redactor)
    next(steps)
    memory.seal()
    list(steps)
    assert BADGE.encode() not in memory.everything()
    memory.close()


def test_a_damaged_chunk_stops_nothing(tmp_path: Path, redactor: Redactor) -> None:
    memory = Archived(tmp_path)
    talk(memory.root)
    memory.read()
    memory.seal()
    memory.chunks[0].write_bytes(b"rotten")
    assert list(renew(memory.conn, memory.archive, redactor)) == []
    memory.close()


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_rescan_after_a_new_rule_renews_the_archive(tmp_path: Path, rule: UserRule, rebuild: bool) -> None:
    library = Library(tmp_path)
    path = talk(library.root)
    library.age()
    path.unlink()
    stricter = Library(tmp_path, redact_rules=(rule,))
    stricter.rescan(rebuild=rebuild)
    assert BADGE.encode() not in stricter.everything
    assert "[REDACTED:badge:" in str(stricter.held)


def test_so_does_redact(tmp_path: Path, rule: UserRule) -> None:
    library = Library(tmp_path)
    talk(library.root)
    library.age()
    report = app.redact(Library(tmp_path, redact_rules=(rule,)).config)
    assert report.changed["archive"] == 1
    assert BADGE.encode() not in library.everything


def test_no_byte_of_it_is_left_in_any_file(tmp_path: Path, rule: UserRule) -> None:
    """Rows that were moved within their pages leave copies in the free room of these."""
    library = Library(tmp_path)
    badges = [f"BADGE-{number}" for number in range(1000, 1060)]
    made = Transcript("many")
    for badge in badges:
        made.user(f"it is {badge} " + "and so on " * 30)
        made.tool("Bash", {"command": f'git commit -m "fix: {badge}"'}, f"[main 1234567] fix: {badge}\n" * 9)
        made.text(f"done with {badge}")
    made.write(library.root)
    library.rescan()
    assert holding(library.home, *badges) != []
    app.redact(Library(tmp_path, redact_rules=(rule,)).config)
    assert holding(library.home, *badges) == []
    assert library.rows("SELECT * FROM erasures") == []


def test_a_renewal_owes_that_the_database_is_written_anew(tmp_path: Path, rule: UserRule) -> None:
    """Whether copies are left depends on how pages were filled, so that what is done about it is asked for."""
    memory = Archived(tmp_path)
    redaction.adopt(memory.conn, Redactor().rules)
    talk(memory.root)
    memory.read()
    renewed = Redactor(b"", Settings((rule,)))
    redaction.adopt(memory.conn, renewed.rules)
    list(redaction.reapply(memory.conn, renewed))
    assert {kind for (kind,) in memory.conn.execute("SELECT kind FROM erasures")} == {"index", "pages", "log"}
    memory.close()
