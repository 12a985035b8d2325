"""`completions SHELL`: asked of the shells themselves where they are there."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest


def complete(call: Any, line: str) -> set[str]:
    """What bash offers after this line, whose last word is being typed."""
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    typed = f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _transcript_indexer"
    script = call("completions", "bash").out + typed + "; printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")


@bash
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("transcript-indexer se", {"search", "sessions", "service"}),
        ("transcript-indexer search --pro", {"--project"}),
        ("transcript-indexer --home /x sea", {"search"}),
        ("transcript-indexer service ", {"install", "uninstall", "status", "logs"}),
        ("transcript-indexer service install --dry", {"--dry-run"}),
        ("transcript-indexer search --group ", {"session"}),
        ("transcript-indexer search --color al", {"always"}),
        ("transcript-indexer completions f", {"fish"}),
        ("transcript-indexer project e", {"explain"}),
        ("transcript-indexer stats --by t", {"tool"}),
    ],
)
def test_bash_offers_what_the_parser_knows(call: Any, line: str, offered: set[str]) -> None:
    found = complete(call, line)
    assert offered <= found
    assert not {word for word in found if not word.startswith(line.rpartition(" ")[2])}


@bash
def test_a_value_is_not_taken_for_a_command(call: Any) -> None:
    assert "install" not in complete(call, "transcript-indexer search --tool service ")


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_can_read_it(call: Any) -> None:
    done = subprocess.run(["fish", "--no-execute"], input=call("completions", "fish").out, text=True, check=False)
    assert done.returncode == 0


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_can_read_it(call: Any) -> None:
    done = subprocess.run(["zsh", "-n"], input=call("completions", "zsh").out, text=True, check=False)
    assert done.returncode == 0


def test_fish_knows_each_option_where_it_belongs(call: Any) -> None:
    lines = call("completions", "fish").out.splitlines()
    (one,) = [line for line in lines if "-l allow-network" in line]
    assert "__fish_seen_subcommand_from service; and __fish_seen_subcommand_from install" in one
    assert any("-l kind -r" in line for line in lines)


def test_zsh_uses_the_same_function(call: Any) -> None:
    assert call("completions", "bash").out.splitlines()[1:] == call("completions", "zsh").out.splitlines()[3:]


def test_a_script_for_programs(call: Any) -> None:
    answer = call("completions", "fish", "--json").json
    assert (answer["shell"], answer["script"].startswith("# fish completion")) == ("fish", True)


def test_an_unknown_shell_is_refused(call: Any) -> None:
    assert call("completions", "tcsh").code == 2
