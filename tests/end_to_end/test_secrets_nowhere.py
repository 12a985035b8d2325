"""What a rule knows as a secret comes out nowhere: exports, answers to Claude, what a session begins with, what is
embedded, backups, restored transcripts."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from seeded import CONTEXTS, Secret, secrets
from transcripts import Transcript

from indexer import app, config
from indexer.cli import main
from indexer.config import Config
from indexer.documents import documents
from indexer.recall import tools
from indexer.redact import Redactor
from indexer.store import embeddable
from indexer.store.connection import open_reader

EVEN = Redactor(b"k" * 32)
KNOWN = [one for one in secrets(each=2) if all(one.value not in EVEN.text(at(one.written)) for at in CONTEXTS.values())]
pytestmark = pytest.mark.slow


def session(found: list[Secret]) -> Transcript:
    """Turns that rules make observations of: each with secrets in all that is said and done."""
    made = Transcript("secrets")
    for number, one in enumerate(found):
        text = list(CONTEXTS.values())[number % len(CONTEXTS)](one.written)
        made.user(f"prompt {number} {text}")
        made.tool("Bash", {"command": f"deploy --with '{one.written}'"}, f"out {text}", toolUseResult={"stdout": text})
        made.tool("Edit", {"file_path": f"/home/dev/shop/{number}.py", "old_string": "a", "new_string": text}, "ok")
        commit = f"git commit -m 'fix {number} {one.written}'"
        made.tool("Bash", {"command": commit}, f"[main 1a2b3c4] fix {number} {one.written}\n 1 file changed")
        made.text(f"I fixed {number}, because {text}")
        made.add("system", subtype="turn_duration", durationMs=7)
    made.tool("TodoWrite", {"todos": [{"content": found[0].written, "status": "pending", "activeForm": "x"}]}, "ok")
    made.user("and then")
    return made


class House:
    """A memory of them, and everything that leaves it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.root = folder, folder / "home", folder / "projects"
        self.made = session(KNOWN)
        self.made.write(self.root)
        self.said = ""
        app.rescan(self.config)

    @property
    def config(self) -> Config:
        return config.load(str(self.home), [str(self.root)], {"TRANSCRIPT_INDEXER_VECTORS": "none"})

    def run(self, *words: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([words[0], "--home", str(self.home), "--root", str(self.root), *words[1:]])
        return out.getvalue() + err.getvalue()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house"))


def told(house: House) -> str:
    """Commands that print what is stored, for people and for programs."""
    name = house.made.session_id
    commands = [
        ("search", "--json", "--limit", "500"), ("search", "fixed", "--json", "--limit", "500"),
        ("show", name, "--json"), ("observations", "--json"), ("summary", name), ("work", "--all"), ("context",),
        ("stats", "--json"), ("status", "--json"), ("timeline", "prompt:1"), ("sessions", "--json"), ("export", name),
        ("export", name, "--format", "html"), ("metrics",), ("hook", "session-start"),
    ]  # fmt: skip
    return "".join(house.run(*words) for words in commands)


def answered(house: House) -> str:
    """What Claude gets by MCP."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "fixed"}), ("recent", {}), ("recent", {"kind": "observation"}), ("work", {}),
        ("get_observations", {"ids": [f"observation:{number}" for number in range(1, 20)]}),
        ("get_tool_uses", {"ids": [f"tool_use:{number}" for number in range(1, 20)]}),
    ]  # fmt: skip
    return "".join(json.dumps(tools.call(house.config, name, given), ensure_ascii=False) for name, given in asked)


def embedded(house: House) -> str:
    """The texts that vectors are made of."""
    conn = open_reader(house.home)
    ids = list(embeddable.ids(conn, 0, embeddable.last_id(conn) + 1))
    texts = [one.text for row in embeddable.rows(conn, ids) for one in documents(row)]
    conn.close()
    return "\n".join(texts)


def copied(house: House) -> str:
    """A backup, and what the archive gives back."""
    house.run("backup", str(house.folder / "copy.db"))
    house.run("archive", "restore", "--all", "--to", str(house.folder / "restored"))
    files = [house.folder / "copy.db", *(house.folder / "restored").rglob("*.jsonl")]
    assert len(files) == 2
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def kept(house: House) -> str:
    """Every file of the memory."""
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in house.home.rglob("*") if path.is_file())


@pytest.mark.parametrize("out", [told, answered, embedded, copied, kept])
def test_no_secret_comes_out(house: House, out: Callable[[House], str]) -> None:
    text = out(house)
    lines = [line for one in KNOWN for line in one.value.split("\n") if len(line) >= 12 and "KEY-----" not in line]
    assert [line for line in lines if line in text] == []


@pytest.mark.parametrize("out", [told, answered, embedded, copied, kept])
def test_what_stood_around_it_does(house: House, out: Callable[[House], str]) -> None:
    """Or the test above would find nothing in nothing."""
    text = out(house)
    assert "[REDACTED:" in text
    assert "I fixed 1" in text
