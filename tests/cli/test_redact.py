"""`redact --rescan`, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from seeded import secrets

from indexer.store.connection import WriterLock

TOKEN = next(one.value for one in secrets(1) if one.kind == "github")


def test_it_says_what_changed(ask: Any, edit: Callable[..., None]) -> None:
    edit("UPDATE user_prompts SET prompt_text = ? WHERE id = (SELECT min(id) FROM user_prompts)", f"use {TOKEN}")
    answer = ask("redact", "--rescan")
    assert answer.code == 0
    assert "user_prompts: 1" in answer.out
    assert TOKEN not in answer.out + answer.err


def test_as_json(ask: Any, edit: Callable[..., None]) -> None:
    edit("UPDATE user_prompts SET prompt_text = ? WHERE id = (SELECT min(id) FROM user_prompts)", f"use {TOKEN}")
    found = ask("redact", "--rescan", "--json").json
    assert found["changed"] == {"user_prompts": 1}
    assert found["secrets"] == 1


def test_without_saying_what_it_is_a_usage_error(ask: Any) -> None:
    answer = ask("redact")
    assert answer.code == 2
    assert "redact --rescan" in answer.err


def test_while_another_writes_it_says_so(ask: Any, home: object) -> None:
    lock = WriterLock(home)  # type: ignore[arg-type]
    answer = ask("redact", "--rescan")
    lock.release()
    assert answer.code == 4
    assert "is writing" in answer.err


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(call: Any, flag: str) -> None:
    with pytest.raises(SystemExit):
        call("redact", flag)
