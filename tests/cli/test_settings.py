from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from indexer import config


def test_every_setting_is_shown_with_its_origin(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_SEARCH_LIMIT", "7")
    lines = call("config", "show", "--home", "/srv/memory").out.splitlines()
    assert len(lines) == len(list(config.load().shown()))
    assert [line.split() for line in lines if line.startswith("search.limit")] == [
        ["search.limit", "=", "7", "TRANSCRIPT_INDEXER_SEARCH_LIMIT"]
    ]
    assert ["storage.home", "=", '"/srv/memory"', "--home"] in [line.split() for line in lines]
    assert ["watch.debounce_ms", "=", "50", "default"] in [line.split() for line in lines]


def test_settings_for_programs(call: Any) -> None:
    shown = {row["key"]: row for row in call("config", "show", "--json", "--root", "/a").json["settings"]}
    assert shown["sources.roots"] == {"key": "sources.roots", "value": ["/a"], "origin": "--root"}
    assert shown["watch.sweep_seconds"]["value"] == 300


def test_the_path_is_told_whether_or_not_it_is_there(call: Any) -> None:
    assert call("config", "path").out == f"{config.user_file()}\n"
    assert call("config", "path", "--json").json["exists"] is False


def test_init_writes_every_setting_commented_out(call: Any, isolated: Path) -> None:
    answer = call("config", "init")
    file = config.user_file()
    assert file.is_relative_to(isolated)
    assert str(file) in answer.out
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text(encoding="utf-8") == config.initial_text()
    assert all(not table for table in tomllib.loads(file.read_text(encoding="utf-8")).values())
    assert call("config", "show").code == 0


def test_init_for_programs(call: Any) -> None:
    answer = call("config", "init", "--json").json
    assert (answer["path"], answer["created"]) == (str(config.user_file()), True)


def test_init_never_writes_over_a_file(call: Any) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n", encoding="utf-8")
    answer = call("config", "init", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (2, "usage")
    assert "exists already" in answer.json["error"]["message"]
    assert file.read_text(encoding="utf-8") == "# mine\n"


def test_init_does_not_follow_a_dangling_link(call: Any, tmp_path: Path) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "elsewhere")
    assert call("config", "init").code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_init_says_when_it_cannot_write(call: Any) -> None:
    folder = config.user_file().parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file where the folder should be", encoding="utf-8")
    answer = call("config", "init")
    assert answer.code == 1
    assert f"{config.user_file()} cannot be written" in answer.err


def test_a_broken_file_can_still_be_found(call: Any) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.write_text("nonsense = ", encoding="utf-8")
    assert call("config", "show").code == 2
    assert call("config", "path").out == f"{file}\n"
