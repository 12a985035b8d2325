"""The program from its first line on: what runs, and what an interruption while it starts leaves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

import pytest

from indexer import cli
from indexer.__main__ import main


class Interruption:
    """Ctrl-C when a module is looked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name == self.name:
            raise KeyboardInterrupt
        return None


@pytest.mark.parametrize("module", ["indexer.cli", "indexer.cli.parser", "indexer.cli.output"])
def test_interrupted_while_it_starts_it_says_nothing(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    for name in [name for name in sys.modules if name.startswith("indexer.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Interruption(module), *sys.meta_path])
    assert main() == 130


def test_the_exit_code_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "main", lambda: 4)
    assert main() == 4


def test_nothing_is_imported_before_an_interruption_can_be_caught() -> None:
    code = "import sys; before = set(sys.modules); import indexer.__main__; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['__future__', 'indexer', 'indexer.__main__']"
