"""Secrets of many shapes go through the whole product, and no byte of one is in any file of the memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from archives import Library
from seeded import CONTEXTS
from shapes import SHAPES, written
from transcripts import Transcript

from indexer import app
from indexer.forget import forget
from indexer.redact import Redactor
from indexer.store.connection import WriterLock


def standing(home: Path) -> list[str]:
    data = b"\n".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    return [text for secret, text in written() if secret.encode() in data]


def lay(root: Path) -> None:
    """Each in a prompt, a command, its answer, a file that is written, and an answer's text."""
    for number, (_, text) in enumerate(written()):
        session = Transcript(f"s{number}", "/home/dev/shop")
        session.user(f"please run\n{text}\nnow")
        session.tool("Bash", {"command": text}, f"$ it\n{text}\nexit 0", toolUseResult={"stdout": text, "stderr": ""})
        session.tool("Write", {"file_path": "/home/dev/notes.md", "content": text}, "ok")
        session.tool("mcp__x__y", {"body": json.dumps({"inner": json.dumps({"line": text})})}, text)
        session.text(f"I have run\n\n    {text}\n")
        session.write(root)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = Library(tmp_path)
    lay(made.root)
    made.rescan()
    return made


def test_no_byte_of_a_secret_is_in_any_file(library: Library) -> None:
    assert standing(library.home) == []
    library.age()
    assert standing(library.home) == []
    library.rescan(rebuild=True)
    assert standing(library.home) == []


def test_nor_after_forgetting(library: Library) -> None:
    lock, conn = WriterLock(library.home), library.connect()
    names = [name for (name,) in conn.execute("SELECT content_session_id FROM sdk_sessions LIMIT 5").fetchall()]
    assert forget(conn, library.home, names, [], app.sinks(library.config))
    conn.close()
    lock.release()
    library.rescan(rebuild=True)
    assert standing(library.home) == []
    assert library.rows("SELECT count(*) FROM sdk_sessions") == [(len(SHAPES) - 5,)]


@pytest.mark.parametrize("context", [name for name in CONTEXTS if name not in ("code", "json in json")])
def test_the_shapes_are_found_in_any_context(context: str) -> None:
    redactor = Redactor(b"k" * 32)
    assert [text for secret, text in written() if secret in redactor.text(CONTEXTS[context](text))] == []
