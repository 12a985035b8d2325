from __future__ import annotations

import shlex

import pytest

from indexer.resume import resume

ID = "8c1f0a52-0000-4000-8000-000000000001"


def test_the_command_goes_to_the_folder_first() -> None:
    assert resume("claude", ID, "/home/dev/shop") == f"cd /home/dev/shop && claude --resume {ID}"


def test_without_a_folder_it_is_the_command_alone() -> None:
    assert resume("claude", ID, None) == f"claude --resume {ID}"


@pytest.mark.parametrize("cwd", ["/home/dev/a b", "/home/dev/$(id)", "/home/dev/it's", "/home/dev/项目;ls", "/a&&b"])
def test_folders_are_quoted(cwd: str) -> None:
    line = resume("claude", ID, cwd)
    assert line is not None
    assert shlex.split(line) == ["cd", cwd, "&&", "claude", "--resume", ID]


@pytest.mark.parametrize("cwd", ["", "relative", "-P", "/a\nrm -rf ~", "/a\x1b[2J", "/a\u202eb", "/a\udc80"])
def test_folders_that_are_none_are_left_out(cwd: str) -> None:
    assert resume("claude", ID, cwd) == f"claude --resume {ID}"


@pytest.mark.parametrize("session", ["", "--help", "-x", "a b", "a;ls", "$(id)", "x\n", "é", "a" * 201])
def test_an_id_that_is_no_plain_word_gives_no_command(session: str) -> None:
    assert resume("claude", session, "/home/dev") is None


def test_another_client_has_no_command() -> None:
    assert resume("codex", ID, "/home/dev") is None
