"""`help TOPIC`: short, and true: what a text names is there."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from grammar import COMMANDS, argv

from indexer import config
from indexer.cli.parser import parse
from indexer.cli.topics import TOPICS
from indexer.errors import IndexerError
from indexer.recall.tools import TOOLS

PROGRAM = "transcript-indexer "


def told(topic: str) -> str:
    return TOPICS[topic][1]


def test_without_a_topic_all_are_listed(call: Any) -> None:
    answer = call("help")
    assert answer.code == 0
    assert all(f"help {topic} " in answer.out for topic in TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_explained(call: Any, topic: str) -> None:
    answer = call("help", topic)
    assert (answer.code, answer.out, answer.err) == (0, told(topic), "")
    assert call("help", topic, "--json").json["text"] == told(topic)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_text_is_short(topic: str) -> None:
    lines = told(topic).splitlines()
    assert (len(lines) <= 24, max(map(len, lines)) <= 110) == (True, True)


def test_a_command_that_is_no_topic_shows_its_options(call: Any) -> None:
    assert "--before N" in call("help", "timeline").out


def test_another_word_is_answered_with_the_nearest(call: Any) -> None:
    answer = call("help", "privcy")
    assert (answer.code, "did you mean privacy?" in answer.err) == (2, True)
    assert "topics are search" in call("help", "xyzzy").err


# --- what the texts name


def examples(topic: str) -> list[str]:
    """The command lines of a text, without what stands behind them."""
    lines = [line.strip() for line in told(topic).splitlines() if line.startswith(f"  {PROGRAM}")]
    return [re.split(r"\s{2,}", line)[0].removeprefix(PROGRAM) for line in lines]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_example_is_understood(topic: str) -> None:
    for example in examples(topic):
        try:
            parse(shlex.split(example))
        except IndexerError as error:
            pytest.fail(f"{example}: {error.message}")


def quoted(topic: str) -> list[str]:
    return re.findall(r"`([^`]+)`", told(topic))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_setting_that_is_named_exists(topic: str) -> None:
    known = {key for key, _, _ in config.load(env={}).shown()}
    named = {word.split(" ")[0] for word in quoted(topic) if re.match(r"[a-z]+\.[a-z_]+( =|$)", word)}
    assert named - known == set()


@pytest.mark.parametrize("topic", TOPICS)
def test_every_command_that_is_named_exists(topic: str) -> None:
    commands = {command.split(" ")[0] for command in COMMANDS}
    words = [word.removeprefix(PROGRAM).split(" ") for word in quoted(topic)]
    others = {"pipx", "uv", "loginctl", "archive", "url"}
    named = {word[0] for word in words if re.fullmatch(r"[a-z-]+", word[0]) and not word[0].startswith("-")}
    assert named - commands - others == set()


@pytest.mark.parametrize("topic", TOPICS)
def test_every_option_that_is_named_exists(topic: str) -> None:
    known = {option for parser in COMMANDS.values() for a in parser._actions for option in a.option_strings}
    assert set(re.findall(r"(?<![\w-])--[a-z-]+", told(topic))) - known - {"--scope"} == set()


def test_the_tools_of_mcp_are_those_there_are() -> None:
    line = next(line for line in told("mcp").split("\n\n") if line.startswith("Its tools are"))
    assert all(tool.name in line for tool in TOOLS)


def test_every_exit_code_is_told() -> None:
    codes = {error.exit_code for error in every(IndexerError)} | {0}
    assert {int(code) for code in re.findall(r"\b([0-6]) [a-z]", told("troubleshooting"))} >= codes


def every(base: type[IndexerError]) -> list[type[IndexerError]]:
    return [base, *(deeper for sub in base.__subclasses__() for deeper in every(sub))]


def test_help_of_help() -> None:
    assert parse(argv("help")).topic is None
