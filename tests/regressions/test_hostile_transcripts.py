"""Transcripts that somebody wrote to do harm: to the terminal, to queries, to sums, to other files of the machine."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transcripts import Transcript

from indexer import app, config, ingest
from indexer.cli import main
from indexer.files.tail import open_source
from indexer.store.connection import database_path

UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\u202egnp.exe\u200b\x7f\x08\r"


class Memory:
    """A memory over one folder of transcripts, asked as a person asks it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "projects"

    def rescan(self) -> Any:
        return app.rescan(config.load(str(self.home), [str(self.root)], {}))

    def run(self, *words: str) -> tuple[int, str]:
        """Exit code, and all that was printed."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([words[0], "--home", str(self.home), "--root", str(self.root), *words[1:]])
        return code, out.getvalue() + err.getvalue()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        conn = sqlite3.connect(database_path(self.home))
        try:
            return conn.execute(sql).fetchall()
        finally:
            conn.close()


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path)


# -- the terminal --------------------------------------------------------------------------------------


def spoiling(name: str) -> Transcript:
    """A session with escape sequences wherever a text may stand."""
    made = Transcript("evil", f"/home/dev/{EVIL}", version="2.1.240")
    made.user(f"{name} {EVIL} prompt", gitBranch=EVIL)
    made.assistant({"type": "text", "text": f"answer {EVIL}"})
    made.records[-1]["message"]["model"] = EVIL
    made.tool(f"Tool{EVIL}", {"file_path": f"/home/dev/{EVIL}.py", "x": EVIL}, f"result {EVIL}")
    spawn = made.call("Task", {"prompt": EVIL, "subagent_type": EVIL})
    made.result(spawn, EVIL, toolUseResult={"agentId": EVIL, "agentType": EVIL})
    made.tool("TodoWrite", {"todos": [{"content": f"todo {EVIL}", "status": "pending", "activeForm": EVIL}]}, "ok")
    commit = made.call("Bash", {"command": f"git commit -m '{EVIL}'"})
    made.result(commit, f"[main 1a2b3c4] fix {EVIL}\n 1 file changed, 1 insertion(+)", toolUseResult={"stdout": "x"})
    made.plain("custom-title", customTitle=f"title {EVIL}")
    made.plain(f"kind {EVIL}")
    made.user("and then")
    made.text("done")
    return made


COMMANDS = [
    ("search", "zqevil"), ("search",), ("search", "zqevil", "--group", "session"), ("sessions",), ("projects",),
    ("status",), ("status", "--dead-letters", "5"), ("show", "prompt:1"), ("show", "tool_use:1"), ("show", "SESSION"),
    ("show", "assistant:1"), ("timeline", "prompt:1"), ("similar", "prompt:1"), ("by-file", "/home/dev"),
    ("observations",),
    ("summary", "SESSION"), ("work", "--all"), ("context",), ("stats",), ("stats", "--by", "tool"), ("metrics",),
    ("export", "SESSION"), ("doctor",), ("archive", "status"), ("forget", "--session", "SESSION"),
    ("project", "explain", f"/home/dev/{EVIL}"), ("vectors", "status"), ("dedup", "candidates"),
    ("compress", "--dry-run"), ("search", EVIL), ("show", EVIL), ("search", "--since", EVIL),
    ("search", "--project", EVIL),
]  # fmt: skip


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    made = Memory(tmp_path_factory.mktemp("spoilt"))
    spoiling("zqevil").write(made.root)
    (made.root / "-home-dev-x").mkdir()
    (made.root / "-home-dev-x" / "broken.jsonl").write_bytes(f"{{{EVIL}\n".encode())
    made.rescan()
    return made


@pytest.mark.parametrize(
    "words", COMMANDS, ids=[" ".join(words)[:30].encode("unicode_escape").decode() for words in COMMANDS]
)
def test_nothing_of_it_reaches_a_terminal(spoilt: Memory, words: tuple[str, ...]) -> None:
    session = Transcript("evil").session_id
    _, said = spoilt.run(*(word.replace("SESSION", session) for word in words))
    assert UNSAFE.findall(said) == []
    assert "Traceback" not in said


def test_it_was_stored_at_all(spoilt: Memory) -> None:
    assert spoilt.rows("SELECT count(*) FROM user_prompts") == [(2,)]
    assert spoilt.rows("SELECT count(*) FROM tool_uses") == [(4,)]
    assert "zqevil" in spoilt.run("search", "zqevil")[1]


# -- queries -------------------------------------------------------------------------------------------

INJECTED = [
    "x' OR 1=1 --", '"; DROP TABLE user_prompts; --', "Robert'); DELETE FROM search_fts; --", "title : body", ":name",
    "col:x AND NOT y", "{title body} : x", "^first", '"unbalanced', "%", "_", "100%", "a_b", "\\", "[a-z]*", "?",
    "a* NEAR(b c)", "search_fts MATCH 'x'", "x\0y", "NOT", "AND OR NOT", "()", "--",
]  # fmt: skip


@pytest.fixture(scope="module")
def injected(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    made = Memory(tmp_path_factory.mktemp("injected"))
    session = Transcript("injected")
    for text in INJECTED:
        session.user(f"{text} zqinjected")
        session.tool(text, {"file_path": f"/home/dev/{text}"}, text)
    session.user("plain")
    session.write(made.root)
    made.rescan()
    return made


@pytest.mark.parametrize("text", INJECTED)
def test_what_looks_like_a_query_is_a_text(injected: Memory, text: str) -> None:
    before = injected.rows("SELECT count(*) FROM user_prompts")
    for words in (("search", "--", text), ("search", f'"{text}"'), ("by-file", "--", text), ("search", "--tool", text)):
        code, said = injected.run(*words)
        assert (code in (0, 2), "SQLite" in said, "Traceback" in said) == (True, False, False)
    assert injected.rows("SELECT count(*) FROM user_prompts") == before == [(len(INJECTED) + 1,)]
    assert injected.rows("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("pattern", ["%", "_", "%.py", "*", "?", "/home/dev/%", "a_b%"])
def test_a_file_or_tool_with_a_wildcard_is_that_one_and_no_other(injected: Memory, pattern: str) -> None:
    for option in ("--file", "--tool"):
        _, said = injected.run("search", option, pattern, "--json")
        found = said.count('"kind": "tool_use"') + said.count('"kind":"tool_use"')
        assert found <= 1


# -- numbers -------------------------------------------------------------------------------------------

NUMBERS = [
    "1e308",
    "-1e308",
    "1e999",
    "NaN",
    "-Infinity",
    "9" * 40,
    "-" + "9" * 40,
    "1.5",
    "true",
    '"12"',
    "[]",
    "null",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_giant_numbers_stop_nothing(memory: Memory, number: str) -> None:
    made = Transcript("n")
    made.user("before")
    made.text("counted")
    made.records[-1]["message"]["usage"] = dict.fromkeys(("input_tokens", "output_tokens"), "NUMBER")
    made.tool("Bash", {"command": "x"}, "y", toolUseResult={"exitCode": "NUMBER", "durationMs": "NUMBER"})
    made.add("system", subtype="turn_duration", durationMs="NUMBER")
    made.user("timed", timestamp="NUMBER")
    made.user("after")
    path = made.write(memory.root)
    path.write_bytes(made.data.replace(b'"NUMBER"', number.encode()))
    assert memory.rescan().problems == ()
    assert memory.rows("SELECT count(*) FROM user_prompts") == [(3,)]
    for words in (("stats",), ("status",), ("metrics",), ("sessions",), ("search", "after"), ("context",)):
        code, said = memory.run(*words)
        assert (code, "Traceback" in said) == (0, False), words


@pytest.mark.parametrize(
    "stamp", ["+99999-01-01T00:00:00Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999Z", "\0", "x" * 999]
)
def test_times_that_are_none_stop_nothing(memory: Memory, stamp: str) -> None:
    made = Transcript("t")
    made.user("one", timestamp=stamp)
    made.user("two")
    made.write(memory.root)
    assert memory.rescan().problems == ()
    assert memory.rows("SELECT count(*) FROM user_prompts") == [(2,)]
    assert memory.run("sessions")[0] == memory.run("timeline", "prompt:1")[0] == 0


# -- files that change between a look and an opening -------------------------------------------------------


def link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, _: Path) -> None:
    path.mkdir()


def device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("swap", [link, pipe, folder, device])
def test_what_is_swapped_between_stat_and_open_is_not_read(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: Callable[[Path, Path], None]
) -> None:
    path, other = Transcript("victim").write(memory.root), Transcript("other")
    secret = tmp_path / "elsewhere.jsonl"
    hidden = Transcript("hidden")
    hidden.user("zqhidden")
    secret.write_bytes(hidden.data)
    other.user("goes on")
    other.write(memory.root)

    def late(name: str) -> int:
        if name == str(path) and not path.is_symlink():
            path.unlink()
            swap(path, secret)
        return open_source(name)

    monkeypatch.setattr(ingest, "open_source", late)
    memory.rescan()
    assert memory.rows("SELECT prompt_text FROM user_prompts") == [("goes on",)]
    assert b"zqhidden" not in b"".join(one.read_bytes() for one in memory.home.rglob("*") if one.is_file())


def test_no_transcript_is_ever_opened_for_writing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    spoiling("x").write(memory.root)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in memory.root.rglob("*.jsonl")}
    opened: list[int] = []

    def noted(name: str, flags: int, *rest: Any, **more: Any) -> int:
        if str(name).startswith(str(memory.root)):
            opened.append(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))
        return real(name, flags, *rest, **more)

    real = os.open
    monkeypatch.setattr(os, "open", noted)
    memory.rescan()
    monkeypatch.undo()
    assert opened
    assert set(opened) == {0}
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in memory.root.rglob("*.jsonl")} == before


# -- names that lead elsewhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../../zqout", "/zqout", "a/../../zqout", "..", "~/zqout", "zqout\0"])
def test_what_is_restored_or_exported_stays_where_it_was_asked_for(memory: Memory, tmp_path: Path, name: str) -> None:
    evil = Transcript("e", session_id=name)
    evil.user("zqrestored", cwd=name)
    path = memory.root / "-w" / "evil.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(evil.data)
    memory.rescan()
    code, _ = memory.run("archive", "restore", "--all", "--to", str(tmp_path / "there"))
    assert code == 0
    made = {one for one in tmp_path.rglob("*") if one.is_file() and "zqrestored" in one.read_text(errors="ignore")}
    assert {one.relative_to(tmp_path).parts[0] for one in made} <= {"there", "home", "projects"}
    assert any(one.is_relative_to(tmp_path / "there") for one in made)
