"""Service managers of the test's own on PATH: programs that note what they are asked and answer as told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_SCRIPT = """\
#!{python}
import pathlib, sys
folder = pathlib.Path({folder!r})
words = sys.argv[1:]
with (folder / "calls").open("a") as calls:
    print({name!r}, *words, file=calls)
for rule in (folder / "answers").read_text().splitlines():
    word, code, text = rule.split("|", 2)
    if word in words:
        print(text.replace("\\\\n", "\\n"), file=sys.stderr if int(code) else sys.stdout)
        sys.exit(int(code))
"""
RUNNING = (
    "LoadState=loaded\\nUnitFileState=enabled\\nActiveState=active\\nSubState=running\\nMainPID=4711\\nNRestarts=2\\n"
    "StatusText=up to date; 0 files to read\\nResult=success"
)


class FakeManager:
    """Programs of the given names, first on PATH. `answer` says how a word among the arguments is answered;
    everything else succeeds silently."""

    def __init__(self, folder: Path, *names: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / "answers").write_text("")
        for name in names:
            script = folder / name
            script.write_text(_SCRIPT.format(python=sys.executable, folder=str(folder), name=name))
            script.chmod(0o755)

    def answer(self, word: str, text: str, code: int = 0) -> None:
        """From now on a call with `word` prints `text`; the first word told wins."""
        with (self.folder / "answers").open("a") as answers:
            print(f"{word}|{code}|{text}", file=answers)

    def calls(self) -> list[str]:
        """What was asked, in order, each as one line."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def asked(self) -> list[str]:
        """The verbs of systemctl that were asked, those that change nothing left out."""
        words = [line.split() for line in self.calls()]
        return [line[2] for line in words if line[0] == "systemctl" and line[2] != "show"]


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, *names: str) -> FakeManager:
    """Fakes that stand alone on PATH."""
    fake = FakeManager(folder, *names)
    monkeypatch.setenv("PATH", str(folder))
    return fake


def executable(path: Path) -> str:
    """A program that does nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)
