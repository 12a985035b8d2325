"""Keys come from where the user says, and stand in no message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from indexer.compressors.keys import Keys, NoKey

PRINTS = (sys.executable, "-c", "print('sk-command')\nprint('more')")


def test_a_command_before_a_file_before_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-file\n")
    env = {"ANTHROPIC_API_KEY": "sk-env", "OPENAI_API_KEY": "sk-other"}
    assert Keys("anthropic", command=PRINTS, file=file, env=env)() == "sk-command"
    assert Keys("anthropic", file=file, env=env)() == "sk-file"
    assert Keys("anthropic", env=env)() == "sk-env"
    assert Keys("openai", env=env)() == "sk-other"


def test_a_key_that_was_changed_is_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "key"
    keys = Keys("openai", file=file, env={})
    for key in ("one", "two"):
        file.write_text(key)
        assert keys() == key


@pytest.mark.parametrize("text", ["", "\n\n", "two words", "sk-\x00", "schlüssel"])
def test_what_is_no_key_is_not_shown(text: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(text)
    with pytest.raises(NoKey) as error:
        Keys("openai", file=file, env={})()
    assert str(error.value) == "the file of compress.key_file gives no key"


@pytest.mark.parametrize("command", [(sys.executable, "-c", "raise SystemExit('sk-secret')"), ("/nowhere/at/all",)])
def test_a_command_that_fails(command: tuple[str, ...]) -> None:
    with pytest.raises(NoKey, match="failed: ") as error:
        Keys("openai", command=command, env={})()
    assert "sk-" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoKey, match="cannot be read"):
        Keys("openai", file=tmp_path / "none", env={})()


def test_no_key_where_one_is_needed_and_where_none_is() -> None:
    with pytest.raises(NoKey, match="ANTHROPIC_API_KEY"):
        Keys("anthropic", env={})()
    assert Keys("openai", env={}, needed=False)() == ""
