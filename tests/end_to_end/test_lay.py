"""Faults that users of such tools met, each laid as a small tree and put through the command line."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from stores import check
from transcripts import Transcript

from indexer import ingest
from indexer.cli import main
from indexer.store.connection import database_path

CWD = "/home/dev/work/shop-api"
REPLACED = "\ufffd"


class Lay:
    """A root to lay transcripts in, a home, and the command line between the two."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.root, self.home, self._capsys = folder, folder / "projects", folder / "home", capsys
        self.root.mkdir()

    def session(self, name: str = "s", cwd: str = CWD) -> Transcript:
        return Transcript(name, cwd)

    def run(self, *argv: str, code: int = 0) -> Any:
        assert main([argv[0], "--home", str(self.home), "--json", *argv[1:]]) == code
        return json.loads(self._capsys.readouterr().out)

    def rescan(self) -> dict[str, Any]:
        """Read what is there; returns the counts."""
        counts: dict[str, Any] = self.run("rescan", "--root", str(self.root))["counts"]
        return counts

    def found(self, text: str) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.run("search", "--", text)["results"]
        return results

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        conn = sqlite3.connect(database_path(self.home))
        check(conn)
        rows = [tuple(row) for row in conn.execute(sql)]
        conn.close()
        return rows


@pytest.fixture
def lay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lay:
    return Lay(tmp_path, capsys)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_c01_a_line_torn_inside_a_character_is_read_when_it_is_whole(lay: Lay) -> None:
    session = lay.session()
    session.user("first prompt zqfirst")
    path = session.write(lay.root)
    session.records.clear()
    session.user("torn 索引 prompt zqtorn")
    cut = session.data.index("索".encode()) + 1
    append(path, session.data[:cut])
    assert (lay.rescan()["prompts"], lay.found("zqtorn")) == (1, [])
    append(path, session.data[cut:-1])
    assert lay.rescan()["prompts"] == 2
    (hit,) = lay.found("zqtorn")
    assert REPLACED not in hit["snippet"]


def steps(session: Transcript, first: int, last: int) -> None:
    for number in range(first, last):
        session.user(f"prompt number {number}")
        session.tool("Bash", {"command": f"echo {number}"}, f"out {number}")


@pytest.mark.parametrize(
    "point", ["ingest.opened", "ingest.begin", "ingest.rows", "ingest.checkpoint", "ingest.committed"]
)
def test_c02_stopped_at_any_point_nothing_is_lost_or_doubled(
    lay: Lay, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = lay.session()
    steps(session, 0, 20)
    session.write(lay.root)
    lay.rescan()
    steps(session, 20, 40)
    session.write(lay.root)
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "passing", lambda name: {}[name] if name == point else None)
        lay.run("rescan", "--root", str(lay.root), code=1)
    counts = lay.rescan()
    assert (counts["prompts"], counts["tool_uses"]) == (40, 40)
    assert lay.rows("SELECT count(DISTINCT native_prompt_id), max(prompt_number) FROM user_prompts") == [(40, 40)]


def test_c03_a_resumed_copy_adds_a_session_and_what_is_new(lay: Lay) -> None:
    origin = lay.session("a")
    origin.user("original question zqorig")
    origin.tool("Read", {"file_path": f"{CWD}/a.py"}, "x = 1")
    origin.text("original answer")
    origin.write(lay.root)
    fork = origin.fork("b", marked=True)
    fork.user("continued in the fork zqfork")
    fork.text("fork answer")
    fork.write(lay.root)
    counts = lay.rescan()
    assert (counts["sessions"], counts["prompts"], counts["tool_uses"], counts["assistant_messages"]) == (2, 2, 1, 3)
    assert [len(lay.found(word)) for word in ("zqorig", "zqfork")] == [1, 1]
    links = "SELECT content_session_id, forked_from FROM sdk_sessions WHERE forked_from IS NOT NULL"
    assert lay.rows(links) == [(fork.session_id, origin.session_id)]
    assert lay.rows("SELECT sum(input_tokens), sum(output_tokens) FROM assistant_messages") == [(30, 60)]


def test_c05_a_message_over_four_lines_is_one(lay: Lay) -> None:
    session = lay.session()
    session.user("one question zqsplit")
    for block in (
        {"type": "thinking", "thinking": "hmm", "signature": "s"},
        {"type": "text", "text": "visible prose zqprose"},
        {"type": "tool_use", "id": "toolu_a", "name": "Read", "input": {"file_path": "a"}},
        {"type": "tool_use", "id": "toolu_b", "name": "Read", "input": {"file_path": "b"}},
    ):
        session.assistant(block, message_id="msg_same_for_all_four")
    session.write(lay.root)
    counts = lay.rescan()
    assert (counts["assistant_messages"], counts["tool_uses"]) == (1, 2)
    assert lay.rows("SELECT input_tokens, output_tokens FROM assistant_messages") == [(10, 20)]
    assert [hit["kind"] for hit in lay.found("zqprose")] == ["assistant"]


def test_c06_a_sub_agent_shares_the_session_and_its_prompt_is_none(lay: Lay) -> None:
    session = lay.session()
    session.user("delegate it zqmain")
    session.tool("Agent", {"prompt": "look around zqsubprompt"}, "done zqsubresult")
    session.write(lay.root)
    agent = session.subagent("a1")
    agent.user("look around zqsubprompt")
    agent.tool("Grep", {"pattern": "lock"}, "zqsubtool")
    agent.write(lay.root)
    counts = lay.rescan()
    assert (counts["sessions"], counts["prompts"], counts["tool_uses"]) == (1, 1, 2)
    assert lay.rows("SELECT tool_name, agent_id FROM tool_uses ORDER BY 1") == [("Agent", None), ("Grep", "a1")]
    assert len(lay.found("zqsubtool")) == 1
    assert lay.rows("SELECT user_prompt FROM sdk_sessions") == [("delegate it zqmain",)]


def test_c07_noise_before_the_first_prompt_names_nothing(lay: Lay) -> None:
    session = lay.session()
    session.plain("file-history-snapshot", snapshot={})
    session.user("<local-command-caveat>Caveat: generated</local-command-caveat>", isMeta=True)
    session.user("<command-name>/clear</command-name><command-message>clear</command-message>")
    session.user("<local-command-stdout></local-command-stdout>")
    session.user("Real first question zqreal<system-reminder>not typed zqreminder</system-reminder>")
    session.plain("last-prompt", lastPrompt="x")
    session.write(lay.root)
    assert lay.rescan()["prompts"] == 1
    (listed,) = lay.run("sessions")["sessions"]
    assert listed["title"].startswith("Real first question")
    assert [len(lay.found(word)) for word in ("zqreal", "zqreminder")] == [1, 0]


def test_c09_four_paths_that_share_a_folder_are_four_projects(lay: Lay) -> None:
    for number, cwd in enumerate(["/home/dev/a.b", "/home/dev/a b", "/home/dev/a_b", "/home/dev/a-b"]):
        session = lay.session(f"s{number}", cwd)
        session.user(f"in {number} zqpath{number}")
        session.write(lay.root)
    assert len(list(lay.root.iterdir())) == 1
    assert lay.rescan()["projects"] == 4
    assert [lay.found(f"zqpath{number}")[0]["project"] for number in range(4)] == ["a.b", "a b", "a_b", "a-b"]


def repository(place: Path, address: str) -> Path:
    """A repository as git leaves it on disk, without running git."""
    git = place / ".git"
    (git / "refs").mkdir(parents=True)
    (git / "objects").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {address}\n')
    return place


def worktree(of: Path, name: str) -> Path:
    place, admin = of / ".worktrees" / name, of / ".git" / "worktrees" / name
    place.mkdir(parents=True)
    admin.mkdir(parents=True)
    (place / ".git").write_text(f"gitdir: {admin}\n")
    (admin / "gitdir").write_text(f"{place / '.git'}\n")
    (admin / "commondir").write_text("../..\n")
    (admin / "HEAD").write_text("ref: refs/heads/feat\n")
    return place


def test_c12_case_worktree_subfolder_and_second_clone_are_one_project(lay: Lay) -> None:
    disk = lay.folder / "disk"
    first = repository(disk / "Shop-API", "git@example.invalid:Team/Shop-API.git")
    second = repository(disk / "moved" / "shop-api", "https://example.invalid/team/shop-api")
    (first / "src").mkdir()
    for number, cwd in enumerate([first, first / "src", worktree(first, "noble-hare"), second]):
        session = lay.session(f"s{number}", str(cwd))
        session.user(f"at {number} zqkey{number}")
        session.write(lay.root)
    counts = lay.rescan()
    assert (counts["sessions"], counts["projects"]) == (4, 1)
    assert lay.rows("SELECT project_key FROM projects") == [("example.invalid/team/shop-api",)]


def test_c14_what_was_read_outlives_its_transcript(lay: Lay) -> None:
    session = lay.session()
    session.user("kept for good zqkeep")
    path = session.write(lay.root)
    lay.rescan()
    path.unlink()
    assert lay.rescan()["prompts"] == 1
    assert lay.rows("SELECT status FROM ingest_files") == [("gone",)]
    assert len(lay.found("zqkeep")) == 1


def test_c16_a_file_that_moves_and_grows_is_read_on(lay: Lay) -> None:
    session = lay.session()
    session.user("before move zqmv1")
    path = session.write(lay.root)
    lay.rescan()
    moved = lay.root / "-home-dev-archive" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    session.user("after move zqmv2")
    moved.write_bytes(session.data)
    assert lay.rescan()["prompts"] == 2
    assert lay.rows("SELECT path, status FROM ingest_files") == [(str(moved.resolve()), "active")]
    assert [len(lay.found(word)) for word in ("zqmv1", "zqmv2")] == [1, 1]


def test_c18_a_linked_project_folder_is_read_once(lay: Lay) -> None:
    session = lay.session()
    session.user("behind a link zqlink")
    path = session.write(lay.root)
    real = lay.folder / "elsewhere" / path.parent.name
    real.parent.mkdir()
    shutil.move(path.parent, real)
    path.parent.symlink_to(real)
    (lay.root / "loop").symlink_to(lay.root)
    assert lay.rescan()["sessions"] == 1
    session.user("through the real path zqreal")
    (real / path.name).write_bytes(session.data)
    assert lay.rescan()["prompts"] == 2
    assert [len(lay.found(word)) for word in ("zqlink", "zqreal")] == [1, 1]


def test_c19_bad_bytes_are_reported_and_stop_nothing(lay: Lay) -> None:
    session = lay.session()
    session.user("before zqb1")
    path = session.write(lay.root)
    append(path, b"\x00" * 4096 + b"\n" + b'{"type":"user","message":{"role":"user","content":"\xff\xfe broken"}}\n')
    append(path, b'[1,2]\n"str"\nnull\n\n')
    session.records.clear()
    session.user("lone surrogate \\ud83d zqb2")
    append(path, session.data.replace(b"\\\\ud83d", b"\\ud83d"))
    session.records.clear()
    session.user("after zqb3")
    append(path, session.data)
    assert lay.rescan()["dead_letters"] >= 1
    assert [len(lay.found(word)) for word in ("zqb1", "zqb2", "zqb3")] == [1, 1, 1]


def test_c22_two_characters_of_any_script_are_enough(lay: Lay) -> None:
    session = lay.session()
    session.user("修改了项目配置，payload优先使用LLM zqc")
    session.user("설정을 확인")
    session.user("サンドボックス修正テスト")
    session.user("重跑gen-itgc后50条悬空引用清零")
    session.write(lay.root)
    lay.rescan()
    words = ["项目", "配置", "项目配置", "설정", "サンドボックス", "payload", "itgc", "悬空", "LLM"]
    assert {word: len(lay.found(word)) for word in words} == dict.fromkeys(words, 1)


def test_c23_no_query_is_an_error(lay: Lay) -> None:
    session = lay.session()
    session.user('auth.ts has a "timeout" on C++ and foo-bar NOT working: a*b (x) zqq')
    session.write(lay.root)
    lay.rescan()
    words = ['auth.ts "timeout', "foo-bar", "C++", "NOT", "a*b", "timeout auth"]
    assert {word: len(lay.found(word)) for word in words} == dict.fromkeys(words, 1)
    assert [isinstance(lay.found(word), list) for word in ("-", '"', "", "NEAR(", "*", "title:", "()")] == [True] * 7


def test_c25_the_best_match_comes_before_the_newest(lay: Lay) -> None:
    session = lay.session()
    for number in range(60):
        what = "fix the websocket reconnect loop" if number == 3 else f"unrelated chore {number}"
        session.user(f"{what} zqr{number}")
    session.write(lay.root)
    lay.rescan()
    assert "zqr3" in lay.found("websocket reconnect")[0]["snippet"]


def test_c26_what_was_recalled_and_what_observers_wrote_is_not_learned(lay: Lay) -> None:
    session = lay.session()
    session.user('<indexer-memory source="this-tool">Recalled: zqrecalled</indexer-memory> what did we do? zqask')
    session.tool("Edit", {"file_path": f"{CWD}/a.py"}, "ok")
    session.text("Added the thing again. zqsaid")
    observer = lay.session("obs")
    observer.user("<transcript-indexer-compressor> Summarise this session. zqpayload")
    observer.tool("Edit", {"file_path": f"{CWD}/b.py"}, "ok")
    observer.text("Added a title. zqtitle")
    for one in (session, observer):
        one.write(lay.root)
    lay.rescan()
    asked = [hit for hit in lay.found("zqask") if hit["kind"] == "prompt"]
    assert (len(asked), lay.found("zqrecalled")) == (1, [])
    made = lay.run("observations")["observations"]
    assert [one["session"] for one in made] == [session.session_id]
