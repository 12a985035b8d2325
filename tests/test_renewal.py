"""renewal: `redact --rescan` goes over all that is stored, and only while nobody else writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from daemons import settings
from transcripts import Transcript

from indexer.config import Config
from indexer.errors import Busy, NoDatabase
from indexer.redaction_settings import user_rule
from indexer.renewal import renew
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import WriterLock

BADGE = "BADGE-1234"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    session = Transcript()
    session.user(f"my {BADGE}")
    session.write(tmp_path / "projects")
    return settings(tmp_path / "home", tmp_path / "projects")


def ruled(config: Config) -> Config:
    return replace(config, redact_rules=(user_rule("badge", "BADGE-[0-9]{4}", "BADGE-"),))


def held(config: Config) -> bytes:
    return b"".join(path.read_bytes() for path in config.home.rglob("*") if path.is_file())


def test_it_says_what_changed(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    report = renew(ruled(config))
    assert report.changed == {"user_prompts": 1, "sdk_sessions": 1, "archive": 1}
    assert (report.marks, report.number) == (3, 2)


def test_nothing_of_what_is_taken_out_is_left_on_disk(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    assert BADGE.encode() in held(config)
    renew(ruled(config))
    assert BADGE.encode() not in held(config)
    assert b"1234" not in held(config).replace(b"REDACTED", b"")


def test_it_may_be_run_again(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    renew(ruled(config))
    again = renew(ruled(config))
    assert (again.changed, again.marks) == ({}, 0)


def test_the_next_rescan_finds_no_conflict_and_nothing_new(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    renew(ruled(config))
    report = rescan(ruled(config), ClaudeCode(), {})
    assert (report.files_read, report.rows_new, report.conflicts) == (1, 0, 0)
    assert rescan(ruled(config), ClaudeCode(), {}).files_read == 0


def test_a_rescan_alone_does_it_too(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    report = rescan(ruled(config), ClaudeCode(), {})
    assert (report.rows_new, report.conflicts) == (0, 0)
    assert BADGE.encode() not in held(config)


def test_a_transcript_that_is_gone_is_cleaned_all_the_same(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    next(Path(config.roots[0]).rglob("*.jsonl")).unlink()
    rescan(ruled(config), ClaudeCode(), {})
    assert BADGE.encode() not in held(config)


def test_while_another_writes_it_is_busy(config: Config) -> None:
    rescan(config, ClaudeCode(), {})
    lock = WriterLock(config.home)
    with pytest.raises(Busy):
        renew(config)
    lock.release()


def test_without_a_memory_there_is_nothing_to_do(config: Config) -> None:
    with pytest.raises(NoDatabase):
        renew(config)
    assert not config.home.exists()
