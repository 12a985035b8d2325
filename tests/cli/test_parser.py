from __future__ import annotations

import re

import pytest
from grammar import COMMANDS, argv

from indexer.cli.commands import KINDS
from indexer.cli.parser import _OPTIONS, parse
from indexer.errors import UsageError

FILTERS = (
    "project=p session=s since=3d until=now tool=Bash file=a.ts type=bugfix concept=c agent=a1 "
    "platform=claude group=session mode=lexical"
)


@pytest.mark.parametrize("command", COMMANDS)
def test_common_options_may_follow_every_command(command: str) -> None:
    args = parse(argv(command, "--json", "--home", "/h", "--root", "/a", "--color", "never", "--root", "/b"))
    assert (args.json, args.home, args.roots, args.color) == (True, "/h", ["/a", "/b"], "never")


@pytest.mark.parametrize("command", COMMANDS)
def test_common_options_may_stand_before_every_command(command: str) -> None:
    args = parse(["--json", "--home", "/h", "--root", "/a", *argv(command)])
    assert (args.json, args.home, args.roots) == (True, "/h", ["/a"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_does(command: str) -> None:
    text = COMMANDS[command].format_help()
    assert str(COMMANDS[command].description) in text
    assert all(option in text for option in ("--home", "--root", "--json", "--color", "--help"))


def test_common_options_may_stand_before_a_sub_command() -> None:
    args = parse(["project", "--home", "/h", "--root", "/a", "explain", "/p", "--root", "/b", "--json"])
    assert (args.home, args.roots, args.json, args.path) == ("/h", ["/a", "/b"], True, "/p")


def test_the_last_home_counts() -> None:
    assert parse(["--home", "/a", "config", "--home", "/b", "show", "--home", "/c"]).home == "/c"


def test_nothing_is_set_that_was_not_given() -> None:
    args = parse(["status"])
    assert (args.home, args.roots, args.json, args.color) == (None, [], False, None)


# --- words of a search


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("a b", ["a", "b"]),
        ("a --limit 3 b", ["a", "b"]),
        ("--limit 3 a b", ["a", "b"]),
        ("a -b c", ["a", "-b", "c"]),
        ("-b", ["-b"]),
        ("-hello", ["-hello"]),
        ("a -5 b", ["a", "-5", "b"]),
        ("a - b", ["a", "-", "b"]),
        ("-a=b", ["-a=b"]),
        ("--limit 3 -- --home -x", ["home", "x"]),
        ("a -- --json -h", ["a", "json", "h"]),
        ("search rescan", ["search", "rescan"]),
        ("", []),
    ],
)
def test_words_of_a_search(given: str, words: list[str]) -> None:
    assert parse(["search", *given.split()]).words == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("timeline a --before 2 b -c", ["a", "b", "-c"]),
        ("by-file a.ts x --limit 3 y -z", ["x", "y", "-z"]),
        ("by-type bugfix -- --json", ["json"]),
        ("by-concept gotcha", []),
        ("similar prompt:1", []),
    ],
)
def test_words_of_other_commands_that_find(given: str, words: list[str]) -> None:
    assert parse(given.split()).words == words


@pytest.mark.parametrize("command", ["search", "timeline", "similar", "by-file", "by-type", "by-concept"])
def test_what_finds_can_be_narrowed(command: str) -> None:
    given = ["--project", "p", "--kind", "prompt", "--since", "3d", "--session", "s", "--tool", "Bash"]
    args = parse(argv(command, *given))
    assert (args.project, args.kind, args.since, args.session, args.tool) == ("p", ["prompt"], "3d", "s", "Bash")


def test_a_search_is_hybrid_unless_told() -> None:
    assert parse(["search", "x"]).mode == "hybrid"


def test_a_timeline_shows_five_of_each_side_unless_told() -> None:
    args = parse(["timeline", "prompt:1", "--after", "0"])
    assert (args.before, args.after) == (5, 0)


def test_words_keep_their_order_between_options() -> None:
    args = parse(["search", "a", "--kind", "prompt", "b", "--json", "-c", "d", "--kind", "shell,command"])
    assert (args.words, args.kind, args.json) == (["a", "b", "-c", "d"], ["prompt", "shell,command"], True)


def test_filters_of_a_search_can_all_be_combined() -> None:
    given = dict(pair.split("=") for pair in FILTERS.split())
    args = parse(["search", *(word for name, value in given.items() for word in (f"--{name}", value))])
    assert {name: getattr(args, name) for name in given} == given


def test_every_option_of_search_can_be_suggested() -> None:
    in_help = {
        option
        for command in ("search", "timeline")
        for option in re.findall(r"(?<!\S)--[a-z]+", COMMANDS[command].format_help())
    }
    assert in_help - {"--help"} == set(_OPTIONS)


def test_the_kinds_are_told() -> None:
    assert all(kind in COMMANDS["search"].format_help() for kind in KINDS)


# --- other commands


def test_what_follows_two_dashes_is_no_option() -> None:
    assert parse(["show", "--", "--help"]).id == "--help"


def test_explain_means_here_unless_told() -> None:
    assert parse(["project", "explain"]).path == "."


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ("", "a command is missing", "transcript-indexer --help"),
        ("serch x", "there is no command 'serch'", "did you mean search?"),
        ("zzz", "there is no command 'zzz'", "--help"),
        ("show", "required: ID", "show --help"),
        ("show a b", "not understood: b", "show --help"),
        ("status --jsn", "not understood: --jsn", "status --help"),
        ("search x --projct y", "search has no option --projct", "did you mean --project?"),
        ("timeline x --befor 2", "timeline has no option --befor", "did you mean --before?"),
        ("search x --mode vector", "invalid choice: 'vector'", ""),
        ("search x --zzz=1", "search has no option --zzz", "after `--` all are words"),
        ("search x --limit 0", "'0' is not a whole number from 1 up", "search --help"),
        ("search x --limit ten", "'ten' is not a whole number", ""),
        ("search x --offset -1", "argument --offset", ""),
        ("search x --limit ²", "'²' is not a whole number", ""),
        ("search x --group project", "invalid choice: 'project'", ""),
        ("search --since", "expected one argument", ""),
        ("status --color blue", "invalid choice: 'blue'", ""),
        ("project", "required: QUESTION", "project --help"),
        ("config edit", "invalid choice: 'edit'", ""),
        ("search --project=--", "`--` is no value for an option", "--help"),
        ("status --hom x", "not understood: --hom x", ""),
    ],
)
def test_what_makes_no_sense_is_said(given: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        parse(given.split())
    assert hint in caught.value.hint
    assert caught.value.hint


@pytest.mark.parametrize("given", ["--help", "-h", "search --help", "search -h", "project explain -h"])
def test_help_leaves_with_0(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(given.split())
    assert caught.value.code == 0
    assert "usage: transcript-indexer" in capsys.readouterr().out


def test_a_huge_limit_is_bounded() -> None:
    assert parse(["sessions", "--limit", "9" * 30]).limit == 1 << 31


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ("--colour never status", "there is no option --colour", "did you mean --color?"),
        ("--limit 2 search login", "--limit is an option of a command", "put it after the command"),
        ("--home --hom status", "expected one argument", "--help"),
    ],
)
def test_options_before_the_command(given: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(given.split())
    assert message in caught.value.message
    assert hint in caught.value.hint


# --- nothing given


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("value", ["", "  "])
def test_an_argument_that_is_empty_is_named_as_the_help_names_it(command: str, value: str) -> None:
    for action in COMMANDS[command]._actions:
        takes_text = action.nargs is None and action.type is None and not action.choices and action.const is None
        if not takes_text or action.dest.startswith(("home", "roots")):
            continue
        given = argv(command)
        if action.option_strings:
            given, label = [*given, action.option_strings[0], value], ""
        else:
            given[len(command.split())], label = value, str(action.metavar)
        with pytest.raises(UsageError) as raised:
            parse(given)
        said = raised.value.message
        # Of options that exclude each other, argparse speaks first.
        assert said == f"{label or action.option_strings[0]} is empty" or "not allowed with argument" in said


def test_a_search_without_words_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(["search", ""]).words == [""]


@pytest.mark.parametrize("option", ["--limit", "--offset", "--group", "--mode"])
def test_an_option_that_a_command_lacks_is_not_hinted_at(option: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(["timeline", "x", option, "3"])
    assert option not in raised.value.hint


def test_a_misspelt_option_is_answered_with_one_that_the_command_has() -> None:
    with pytest.raises(UsageError) as raised:
        parse(["timeline", "x", "--befor", "3"])
    assert raised.value.hint == "did you mean --before?"


def test_a_word_that_is_no_command_is_not_answered_with_all_of_them() -> None:
    with pytest.raises(UsageError) as raised:
        parse(["serach"])
    assert (raised.value.message, raised.value.hint) == ("there is no command 'serach'", "did you mean search?")
    with pytest.raises(UsageError) as raised:
        parse(["search", "x", "--mode", "lexicl"])
    assert ("choose from" in raised.value.message, raised.value.hint) == (True, "did you mean lexical?")
