"""Sessions of excluded projects leave nothing but a hash, and come back when they are excluded no longer."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from daemons import Service, settings
from forgetting import holding
from stores import store
from transcripts import Transcript

from indexer import app
from indexer.config import Config
from indexer.exclude import Exclusion
from indexer.store import exclusions

WORD = "zqsecret"


class Desk:
    """Two projects, `shop` and `secret`, and a memory of them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "projects"
        self.secret, self.shop = Transcript("s", "/home/dev/secret"), Transcript("a", "/home/dev/shop")
        self.secret.user(f"{WORD} prompt")
        self.secret.tool("Bash", {"command": f"{WORD} call"}, f"{WORD} result")
        self.secret.plain("ai-title", aiTitle=f"{WORD} title")
        self.shop.user("zqshop prompt")
        agent = self.secret.subagent("f00")
        agent.text(f"{WORD} agent")
        for transcript in (self.secret, self.shop, agent):
            transcript.write(self.root)

    def config(self, *globs: str) -> Config:
        return replace(settings(self.home, self.root), excluded=globs)

    def rescan(self, *globs: str) -> None:
        app.rescan(self.config(*globs))

    def prompts(self) -> list[str]:
        conn = store(self.home)
        found = [text for (text,) in conn.execute("SELECT prompt_text FROM user_prompts ORDER BY 1")]
        conn.close()
        return found

    def count(self) -> int:
        conn = store(self.home)
        found = exclusions.count(conn)
        conn.close()
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("glob", ["secret", "/home/dev/SECRET", "*/sec*"])
def test_nothing_of_an_excluded_project_is_stored(desk: Desk, glob: str) -> None:
    for _ in range(2):
        desk.rescan(glob)
        assert desk.prompts() == ["zqshop prompt"]
        assert holding(desk.home, WORD, desk.secret.session_id, "dev/secret") in ([], ["index.db"])
        assert holding(desk.home, WORD) == []
    assert desk.count() == 1


def test_only_the_name_of_its_file_is_known(desk: Desk) -> None:
    desk.rescan("secret")
    conn = store(desk.home)
    tables = ("sdk_sessions", "projects", "project_resolutions", "session_records", "session_files", "session_agents")
    assert {table: conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables} == {
        "sdk_sessions": 1, "projects": 1, "project_resolutions": 1, "session_records": 1, "session_files": 1,
        "session_agents": 0,
    }  # fmt: skip
    conn.close()


def test_its_files_are_read_once(desk: Desk) -> None:
    desk.rescan("secret")
    assert app.rescan(desk.config("secret")).files_read == 0


def test_taking_it_off_the_list_brings_it_back(desk: Desk) -> None:
    desk.rescan("secret")
    desk.rescan()
    assert desk.prompts() == ["zqsecret prompt", "zqshop prompt"]
    assert desk.count() == 0
    conn = store(desk.home)
    assert conn.execute("SELECT ai_title FROM sdk_sessions WHERE project = 'secret'").fetchone() == (f"{WORD} title",)
    conn.close()


def test_another_list_that_still_excludes_it_keeps_it_out(desk: Desk) -> None:
    desk.rescan("secret")
    desk.rescan("secret", "other")
    assert (desk.prompts(), desk.count()) == (["zqshop prompt"], 1)


def test_what_was_stored_before_stays_and_nothing_is_added(desk: Desk) -> None:
    desk.rescan()
    desk.secret.user("zqlater prompt")
    desk.secret.write(desk.root)
    desk.rescan("secret")
    assert desk.prompts() == ["zqsecret prompt", "zqshop prompt"]
    desk.rescan()
    assert desk.prompts() == ["zqlater prompt", "zqsecret prompt", "zqshop prompt"]


def late(desk: Desk) -> Transcript:
    """A session that names its folder only after 2,000 lines."""
    made = Transcript("late", "/home/dev/secret")
    for number in range(2_000):
        made.user(f"{WORD} {number}", cwd=None)
    made.user(f"{WORD} at last")
    folder = desk.root / "odd"
    folder.mkdir()
    (folder / f"{made.session_id}.jsonl").write_bytes(made.data)
    return made


def test_a_project_that_is_found_out_later_in_the_file_is_taken_back(desk: Desk) -> None:
    shutil.rmtree(desk.root / "-home-dev-secret")
    desk.rescan("secret")
    late(desk)
    desk.rescan("secret")
    assert desk.prompts() == ["zqshop prompt"]
    assert holding(desk.home, WORD) == []


def test_it_is_taken_back_from_a_first_load_as_well(desk: Desk) -> None:
    late(desk)
    desk.rescan("secret")
    assert holding(desk.home, WORD) == []


def test_a_running_service_keeps_it_out_too(desk: Desk) -> None:
    service = Service(desk.config("secret"))
    service.settle()
    desk.secret.user(f"{WORD} later")
    service.hint(desk.secret.write(desk.root))
    service.stop()
    assert desk.prompts() == ["zqshop prompt"]
    assert holding(desk.home, WORD) == []


def test_a_fork_of_it_in_another_project_is_that_projects(desk: Desk) -> None:
    fork = desk.secret.fork("fork")
    for record in fork.records:
        record["cwd"] = "/home/dev/shop"
    fork.cwd = "/home/dev/shop"
    fork.user("zqfork prompt")
    fork.write(desk.root)
    desk.rescan("secret")
    assert desk.prompts() == ["zqfork prompt", "zqsecret prompt", "zqshop prompt"]


def test_stored_sessions_of_excluded_projects_are_told(desk: Desk) -> None:
    desk.rescan()
    conn = store(desk.home)
    assert exclusions.stored(conn, Exclusion(["secret"])) == [desk.secret.session_id]
    assert exclusions.stored(conn, Exclusion()) == []
    conn.close()


def test_what_is_forgotten_does_not_come_back_off_the_list(desk: Desk) -> None:
    desk.rescan()
    app.forget(desk.config("secret"), [desk.secret.session_id], ())
    desk.rescan("secret")
    desk.rescan()
    assert desk.prompts() == ["zqshop prompt"]


def test_adopting_the_same_settings_again_changes_nothing(desk: Desk) -> None:
    desk.rescan("secret")
    conn, globs = store(desk.home), Exclusion(["secret"])
    assert not exclusions.adopt(conn, globs)
    assert exclusions.adopt(conn, Exclusion())
    assert not exclusions.adopt(conn, Exclusion())
    conn.close()


@pytest.mark.parametrize("agent_first", [False, True])
def test_a_sub_agents_file_alone_is_enough(desk: Desk, agent_first: bool) -> None:
    main = desk.secret.path(desk.root)
    if agent_first:
        data = main.read_bytes()
        main.unlink()
        desk.rescan("secret")
        main.write_bytes(data)
    desk.rescan("secret")
    assert desk.prompts() == ["zqshop prompt"]
    assert desk.count() == 1
