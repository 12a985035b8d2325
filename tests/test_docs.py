"""The documents say what is so: their commands, options, settings and defaults are those of the code."""

from __future__ import annotations

import argparse
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer import config, errors, share
from indexer.cli import build_parser, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM = "transcript-indexer"


def verbs(parser: argparse.ArgumentParser, name: str = PROGRAM) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be run, as `transcript-indexer project explain`, with its parser."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for word, child in action.choices.items():
            yield from verbs(child, f"{name} {word}")


VERBS = dict(verbs(build_parser()))
SETTINGS = [key for key, _, _ in config.load(env={}).shown()]


def section(title: str) -> str:
    return re.split(r"^##+ ", README.partition(f"## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_is_in_the_readme(verb: str) -> None:
    assert re.search(rf"^\| `{verb}\b", section("Commands"), re.MULTILINE)


def test_the_readme_has_no_other_commands() -> None:
    named = re.findall(rf"^\| `({PROGRAM} [a-z -]+[a-z])\b", section("Commands"), re.MULTILINE)
    assert sorted(named) == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help(verb: str) -> None:
    assert VERBS[verb].description


def options(verb: str) -> set[str]:
    return {option for action in VERBS[verb]._actions for option in action.option_strings if option[:2] == "--"}


def test_every_option_of_search_is_in_the_readme() -> None:
    told = set(re.findall(r"--[a-z-]+", section("Searching") + section("Commands")))
    assert options(f"{PROGRAM} search") - told == set()


def test_the_readme_has_no_other_options_of_search() -> None:
    told = set(re.findall(r"`(--[a-z-]+)", section("Searching")))
    assert told - options(f"{PROGRAM} search") - options(f"{PROGRAM} timeline") == set()


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_is_in_the_readme(key: str) -> None:
    assert f"| `{key}` |" in section("Settings")


def test_the_readme_has_no_other_settings() -> None:
    assert re.findall(r"^\| `([a-z_.]+)` \|", section("Settings"), re.MULTILINE) == SETTINGS


def test_the_readmes_defaults_are_the_defaults() -> None:
    told = dict(re.findall(r"^\| `([a-z_.]+)` \| `(.+?)` \|", section("Settings"), re.MULTILINE))
    file = tomllib.loads(share.find("config/default.toml").read_text(encoding="utf-8"))
    kept = {f"{name}.{key}": value for name, table in file.items() for key, value in table.items()}
    assert tomllib.loads("\n".join(f"{key} = {value}" for key, value in told.items())) == file
    assert told.keys() == kept.keys()


def all_errors(kind: type[errors.IndexerError] = errors.IndexerError) -> Iterator[type[errors.IndexerError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from all_errors(child)


@pytest.mark.parametrize("code", sorted({error.exit_code for error in all_errors()} | {0, 130}))
def test_every_exit_code_is_in_the_readme(code: int) -> None:
    told = section("Commands").partition("Exit codes:")[2].partition("\n\n")[0]
    assert re.search(rf"\b{code} [a-z]", told)


def test_the_first_two_blocks_are_the_first_two_commands() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    first = f"python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/{PROGRAM} rescan\n"
    assert blocks[:2] == [first, "sh tests/check\n"]


def examples() -> list[list[str]]:
    """The commands after "Then ask:", but for the one that stays."""
    block = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[2]
    lines = [shlex.split(line) for line in block.splitlines()]
    assert all(line[0] == f".venv/bin/{PROGRAM}" for line in lines)
    return [line[1:] for line in lines if line[1:] != ["watch"]]


def test_the_first_examples_work_as_typed_on_the_bundled_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rescan"]) == 0
    assert "sample" in capsys.readouterr().out
    for words in examples():
        assert (main(words), "nothing found" in capsys.readouterr().err) == (0, False), words


def test_ci_runs_the_readmes_test_command() -> None:
    assert "\nsh tests/check\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_link_within_the_repository_leads_somewhere() -> None:
    for document in ("README.md", "CHANGELOG.md", "SECURITY.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        assert [to for to in re.findall(r"\]\((?!https?:)(.+?)\)", text) if not (ROOT / to).exists()] == []


def test_every_file_the_readme_names_is_there() -> None:
    named = re.findall(r"`((?:indexer|tests|systemd|config|\.ci)/[\w./-]*)`", README)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_newest_version_in_the_changelog_is_this_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.findall(r"^## \[(\d[^\]]*)\] - \d{4}-\d{2}-\d{2}$", changes, re.MULTILINE)
    assert dated[0] == project["version"]
