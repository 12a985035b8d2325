"""`compress`, and what `status` says of a model's budget."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time
from scripted_model import Fixed, many, told

from indexer import app, guard
from indexer.compressors.base import Failure
from indexer.store.connection import open_writer

NOTHING = {"sessions": 0, "turns": 0, "observations": 0, "failed": 0}


@pytest.fixture
def where(tmp_path: Path) -> tuple[str, ...]:
    many("s", range(5)).write(tmp_path / "projects")
    return ("--home", str(tmp_path / "memory"), "--root", str(tmp_path / "projects"))


@pytest.fixture
def made(call: Any, where: tuple[str, ...]) -> Any:
    """Ask a memory of five turns."""
    assert call("rescan", *where).code == 0
    return lambda *argv: call(*argv, *where)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Fixed:
    fixed, real = Fixed(told()), app.model
    fixed.name = "anthropic/small"
    monkeypatch.setattr(
        app, "model", lambda config, provider="": fixed if provider != "rules" else real(config, provider)
    )
    return fixed


# --- rules


def test_compress_has_nothing_left_to_do_after_a_rescan(made: Any) -> None:
    assert made("compress", "--json").json["compress"] == NOTHING


def test_a_dry_run_of_rules_counts_and_costs_nothing(call: Any, home: Path) -> None:
    answer = call("compress", "--dry-run", "--json", "--home", str(home)).json["compress"]
    assert (answer["pending_sessions"], answer["pending_turns"] >= 6, answer["tokens"], answer["calls"]) == (
        6,
        True,
        0,
        0,
    )
    assert "rules cost no tokens" in call("compress", "--dry-run", "--home", str(home)).out


def test_without_a_memory_there_is_nothing_to_compress(call: Any, tmp_path: Path) -> None:
    assert call("compress", "--home", str(tmp_path / "none")).code == 3


def test_no_model_is_asked_unless_somebody_says_so(made: Any, model: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_COMPRESS_PROVIDER", "anthropic")
    for command in (("compress",), ("rescan",), ("rescan", "--rebuild"), ("status",)):
        assert made(*command).code == 0
    assert model.asked == []


# --- a model


def test_a_provider_words_turns_anew(made: Any, model: Fixed) -> None:
    answer = made("compress", "--provider", "anthropic")
    assert (answer.code, answer.out) == (0, "5 calls · 5,000 tokens · 5 turns worded anew\n")
    assert made("observations", "--json").json["observations"][0]["model"] == "anthropic/small"


def test_one_of_each_is_said_as_one(made: Any, model: Fixed) -> None:
    answer = made("compress", "--provider", "anthropic", "--max-calls", "4")
    assert "4 calls" in answer.out
    assert "about 1 turn is left" in answer.out


def test_a_bound_ends_the_run_and_says_what_is_left(made: Any, model: Fixed) -> None:
    answer = made("compress", "--provider", "anthropic", "--max-calls", "2", "--json")
    said = answer.json["compress"]
    assert (answer.code, said["calls"], said["made"], said["left"], said["stop"]["reason"]) == (0, 2, 2, 3, "calls")


def test_a_bound_alone_asks_the_model_of_the_settings(made: Any, model: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_COMPRESS_PROVIDER", "anthropic")
    assert made("compress", "--max-tokens", "50000").code in (0, 1)
    assert model.asked


def test_a_bound_without_a_model_asks_nobody(made: Any) -> None:
    assert made("compress", "--max-calls", "2", "--json").json["compress"] == NOTHING


def test_the_days_budget_is_said(made: Any, model: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_COMPRESS_DAILY_CALLS", "2")
    with freeze_time("2026-11-20T15:00:00Z"):
        out = made("compress", "--provider", "anthropic").out
    assert "2 calls" in out
    assert "today's budget of 2 calls is spent; it is whole again at 00:00 UTC (until 2026-11-21" in out


def test_since_leaves_out_what_is_older(made: Any, model: Fixed) -> None:
    made("compress", "--provider", "anthropic", "--since", "2030-01-01")
    assert model.asked == []


def test_a_dry_run_prices_the_backlog_and_sends_nothing(made: Any, model: Fixed) -> None:
    said = made("compress", "--dry-run", "--provider", "anthropic", "--json").json["compress"]
    assert (said["calls"], said["tokens"] > 5 * 1500, said["model"], model.asked) == (5, True, "anthropic/small", [])
    assert "5 calls to anthropic/small, at most" in made("compress", "--dry-run", "--provider", "anthropic").out
    made("compress", "--provider", "anthropic")
    assert "nothing to ask" in made("compress", "--dry-run", "--provider", "anthropic").out


def test_under_our_own_compressor_none_starts(made: Any, model: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.NAME, "1")
    assert (made("compress", "--provider", "anthropic").code, model.asked) == (2, [])
    assert (made("watch").code, made("context").out, made("hook", "session-start").out) == (2, "", "")


def test_openai_needs_the_name_of_a_model(made: Any) -> None:
    answer = made("compress", "--provider", "openai", "--json")
    assert (answer.code, answer.json["error"]["message"]) == (2, "compress.model is empty")


def test_without_a_key_nothing_is_sent_and_status_says_why(made: Any) -> None:
    answer = made("compress", "--provider", "anthropic")
    assert (answer.code, "there is no key: set ANTHROPIC_API_KEY" in answer.out) == (1, True)
    (paused,) = made("status", "--json").json["budget"]["paused"]
    assert (paused["provider"], paused["kind"]) == ("anthropic", "auth")
    assert "model paused" in made("status").out


def test_a_key_goes_only_to_the_provider_it_is_set_for(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "asked"
    command = [sys.executable, "-c", f"open({str(marker)!r}, 'w'); print('sk-x')"]
    (tmp_path / "c").mkdir()
    monkeypatch.setattr("indexer.config.user_file", lambda: tmp_path / "c" / "config.toml")
    (tmp_path / "c" / "config.toml").write_text(
        f"[compress]\nprovider = 'openai'\nmodel = 'm'\nkey_command = {json.dumps(command)}\n"
    )
    made("compress", "--provider", "anthropic")
    assert not marker.exists()


# --- status


def test_status_has_the_budget(made: Any, model: Fixed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "model budget" not in made("status").out
    monkeypatch.setenv("TRANSCRIPT_INDEXER_COMPRESS_PROVIDER", "anthropic")
    with freeze_time("2026-11-20T15:00:00Z"):
        made("compress", "--max-calls", "3")
        said = made("status", "--json").json["budget"]
        assert "3 of 100 calls · 3,000 of 1,000,000 tokens" in made("status").out
    assert said == {
        "provider": "anthropic", "day": "2026-11-20", "calls_today": 3, "calls_limit": 100, "tokens_today": 3000,
        "tokens_limit": 1_000_000, "paused": [],
    }  # fmt: skip


def test_turns_that_no_model_answered_for_are_listed(made: Any, model: Fixed) -> None:
    model.answers = [Failure("rejected", "the provider answered 413"), told()]
    made("compress", "--provider", "anthropic")
    status = made("status", "--json").json
    assert (status["counts"]["failed_turns"], status["failed"][0]["error"]) == (1, "the provider answered 413")
    assert "no model answered for" in made("status").out


def test_turns_that_failed_are_asked_about_again_when_somebody_says_so(made: Any, model: Fixed) -> None:
    model.answers = [Failure("rejected", "no"), told()]
    made("compress", "--provider", "anthropic")
    assert made("compress", "--provider", "anthropic", "--json").json["compress"]["calls"] == 0
    assert made("compress", "--provider", "anthropic", "--failed", "--json").json["compress"]["made"] == 1
    assert made("status", "--json").json["counts"]["failed_turns"] == 0


def test_pending_turns_are_turns(made: Any, tmp_path: Path) -> None:
    conn = open_writer(tmp_path / "memory")
    conn.execute("UPDATE compress_marks SET revision = revision + 1, last_turn = NULL")
    conn.close()
    assert made("status", "--json").json["counts"]["pending_turns"] == 5
    assert "5 turns to compress" in made("status").out
