"""What one machine exports another takes in, once, and gives back without a row too many."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from claude_mem_db import CALL, transcript
from daemons import settings
from moving import (
    differing,
    everything,
    export,
    itself,
    lines_of,
    remember_all,
    rescanned,
    rewritten,
    share_key,
    take,
    take_claude_mem,
)
from stores import store
from transcripts import Transcript

from indexer import app
from indexer.cli import main
from indexer.redaction_settings import UserRule


def history() -> list[Transcript]:
    """A session with a sub-agent and bodies that are cut, its fork, and one of another project."""
    origin = Transcript("origin", "/home/dev/shop")
    origin.user("fix the login")
    origin.tool("Edit", {"file_path": "/home/dev/shop/a.py", "old_string": "a", "new_string": "b"}, "ok")
    origin.tool("Bash", {"command": "pytest " + "x" * 70_000}, "y" * 70_000)
    spawn = origin.call("Task", {"prompt": "look around"})
    origin.text("done")
    fork = origin.fork("fork", marked=True)
    fork.user("now the logout")
    fork.text("done too")
    agent = origin.subagent("a1b2c3d4e5")
    agent.tool("Read", {"file_path": "/home/dev/shop/b.py"}, "b")
    agent.text("nothing there")
    origin.result(spawn, "looked", toolUseResult={"agentId": "a1b2c3d4e5", "agentType": "explore"})
    origin.add("system", subtype="turn_duration", durationMs=7)
    origin.user("and the docs")
    origin.plain("custom-title", customTitle="Login")
    other = Transcript("other", "/home/dev/attic")
    other.user("sweep the attic")
    other.text("swept")
    return [origin, fork, agent, other]


@pytest.fixture
def a(tmp_path: Path) -> Path:
    """The home of machine A, which has read the history."""
    (tmp_path / "A").mkdir()
    return rescanned(tmp_path / "A" / "home", *history())


@pytest.fixture
def b(tmp_path: Path, a: Path) -> Path:
    """The home of machine B, which holds nothing."""
    (tmp_path / "B").mkdir()
    share_key(a, tmp_path / "B" / "home")
    return tmp_path / "B" / "home"


def one(home: Path, sql: str) -> Any:
    conn = store(home)
    found = conn.execute(sql).fetchone()[0]
    conn.close()
    return found


def forget(home: Path, *options: str) -> None:
    assert main(["forget", *options, "--yes", "--home", str(home)]) == 0


def test_another_machine_holds_the_same_then(a: Path, b: Path, tmp_path: Path) -> None:
    report = take(b, export(a, tmp_path / "x.jsonl"))
    assert (report.known, report.faulty) == (0, 0)
    assert differing(itself(b), itself(a)) == {}


def test_twice_changes_nothing(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    before, ids = everything(b), one(b, "SELECT group_concat(name || seq) FROM sqlite_sequence")
    report = take(b, tmp_path / "x.jsonl")
    assert (report.prompts, report.tool_uses, report.messages, report.memories) == (0, 0, 0, 0)
    assert differing(everything(b), before) == {}
    assert one(b, "SELECT group_concat(name || seq) FROM sqlite_sequence") == ids


def test_there_and_back_leaves_no_row_twice(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    before = everything(a)
    report = take(a, export(b, tmp_path / "y.jsonl"))
    assert (report.prompts, report.tool_uses, report.messages, report.memories) == (0, 0, 0, 0)
    assert differing(everything(a), before) == {}


def test_where_things_come_from_stays_known_over_two_moves(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    share_key(a, tmp_path / "C")
    take(tmp_path / "C", export(b, tmp_path / "y.jsonl"))
    device = one(a, "SELECT id FROM device")
    assert one(tmp_path / "C", "SELECT group_concat(DISTINCT origin_device_id) FROM imported_records") == device
    assert differing(everything(tmp_path / "C"), everything(b)) == {}


def test_a_copy_of_the_database_is_as_good_as_an_export(a: Path, b: Path, tmp_path: Path) -> None:
    assert main(["backup", str(tmp_path / "copy.db"), "--home", str(a)]) == 0
    take(b, tmp_path / "copy.db")
    share_key(a, tmp_path / "C")
    take(tmp_path / "C", export(a, tmp_path / "x.jsonl"))
    assert differing(everything(b), everything(tmp_path / "C")) == {}
    assert [path.name for path in b.iterdir() if "import" in path.name] == []


def test_importing_before_or_after_reading_the_same_transcripts(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    rescanned(b, *history())
    (tmp_path / "C").mkdir()
    share_key(a, tmp_path / "C" / "home")
    last = rescanned(tmp_path / "C" / "home", *history())
    take(last, tmp_path / "x.jsonl")
    assert differing(itself(b), itself(last)) == {}
    assert one(b, "SELECT count(*) FROM session_records WHERE flags & 16") == 0


def test_what_was_forgotten_here_stays_forgotten(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    session = history()[3].session_id
    forget(b, "--session", session)
    report = take(b, tmp_path / "x.jsonl")
    assert (report.forgotten > 0, report.prompts) == (True, 0)
    assert one(b, f"SELECT count(*) FROM sdk_sessions WHERE content_session_id = '{session}'") == 0


def test_a_forgotten_prompt_does_not_come_back_from_an_export(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    row = one(b, "SELECT id FROM user_prompts WHERE prompt_text = 'sweep the attic'")
    forget(b, "--id", f"prompt:{row}")
    report = take(b, tmp_path / "x.jsonl")
    assert (report.prompts, report.forgotten > 0) == (0, True)
    assert one(b, "SELECT count(*) FROM user_prompts WHERE prompt_text LIKE '%attic%'") == 0
    assert one(b, "SELECT count(*) FROM imported_memories WHERE identity LIKE '%attic%'") == 0


def test_a_forgotten_prompt_does_not_come_back_from_claude_mem(tmp_path: Path) -> None:
    home = rescanned(tmp_path / "home", transcript())
    row = one(home, "SELECT id FROM user_prompts WHERE prompt_text = 'fix the login'")
    call = one(home, f"SELECT id FROM tool_uses WHERE tool_use_id = '{CALL}'")
    forget(home, "--id", f"prompt:{row}")
    forget(home, "--id", f"tool_use:{call}")
    take_claude_mem(home)
    assert one(home, "SELECT count(*) FROM user_prompts WHERE prompt_text = 'fix the login'") == 0
    assert one(home, f"SELECT count(*) FROM tool_uses WHERE tool_use_id = '{CALL}'") == 0


def test_what_is_forgotten_of_an_import_leaves_no_byte(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    forget(b, "--project", "attic")
    files = [path for path in b.rglob("*") if path.is_file()]
    needles = [b"attic", b"swept", history()[3].session_id.encode()]
    assert [path for path in files if any(needle in path.read_bytes() for needle in needles)] == []


def test_excluded_projects_are_left_out(a: Path, b: Path, tmp_path: Path) -> None:
    report = take(b, export(a, tmp_path / "x.jsonl"), excluded=("attic",))
    assert report.excluded >= 2
    assert one(b, "SELECT count(*) FROM sdk_sessions WHERE project = 'attic'") == 0


def test_a_project_or_a_session_can_be_moved_alone(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl", "--project", "attic"))
    assert one(b, "SELECT group_concat(DISTINCT project) FROM sdk_sessions") == "attic"
    take(b, export(a, tmp_path / "y.jsonl", "--session", history()[1].session_id))
    assert one(b, "SELECT count(*) FROM sdk_sessions") == 2


def test_a_fork_that_came_alone_shows_all_its_history(a: Path, b: Path, tmp_path: Path) -> None:
    fork = history()[1].session_id
    take(b, export(a, tmp_path / "y.jsonl", "--session", fork))
    sql = f"SELECT prompt_counter FROM sdk_sessions WHERE content_session_id = '{fork}'"
    assert one(b, sql) == one(a, sql) == 2
    take(b, export(a, tmp_path / "x.jsonl"))
    assert differing(itself(b), itself(a)) == {}


def test_a_session_that_goes_on_here_is_compressed_here(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    longer = history()
    longer[0].tool("Edit", {"file_path": "/home/dev/shop/docs.md", "old_string": "a", "new_string": "b"}, "ok")
    rescanned(b, *longer)
    assert one(b, "SELECT count(*) FROM observation_origins") > 0
    assert one(b, "SELECT count(*) FROM (SELECT 1 FROM observations GROUP BY title HAVING count(*) > 1)") == 0


def test_imported_memories_are_never_replaced(a: Path, b: Path, tmp_path: Path) -> None:
    lines = lines_of(export(a, tmp_path / "x.jsonl"))
    told = next(line for line in lines if line["kind"] == "observation")
    told["values"]["title"] = "said by a model that costs money"
    rescanned(b, *history())
    take(b, rewritten(tmp_path / "y.jsonl", lines))
    conn = store(b)
    remember_all(conn)
    conn.close()
    assert one(b, "SELECT count(*) FROM observations WHERE title LIKE '%costs money'") == 1
    assert one(b, "SELECT count(*) FROM observations") == one(a, "SELECT count(*) FROM observations")


def test_a_hostile_copy_of_a_record_does_not_get_over_ours(a: Path, b: Path, tmp_path: Path) -> None:
    """Whoever writes an export may name our records, in an older session of their own."""
    lines = lines_of(export(a, tmp_path / "x.jsonl"))
    for line in lines:
        if line["kind"] == "session":
            line |= {"started": 1, "last": 2, "session": "evil-" + line["session"][:8]}
            line["files"] = [file | {"first": 1} for file in line["files"]]
        elif "session" in line:
            line["session"] = "evil-" + line["session"][:8]
        if line.get("prompt"):
            line["prompt"]["text"], line["time"] = "obey", 1
        for call in line["calls"] if line["kind"] == "record" and "calls" in line else []:
            call["input"] = '{"command":"rm"}'
    before = itself(a)
    take(a, rewritten(tmp_path / "evil.jsonl", lines))
    after = itself(a)
    for kind in ("prompts", "tool uses", "messages", "texts"):
        assert [row for row in before[kind] if row not in after[kind]] == [], kind


def test_secrets_are_redacted_before_they_are_written(a: Path, b: Path, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    lines = lines_of(export(a, tmp_path / "x.jsonl"))
    for line in lines:
        if line.get("prompt"):
            line["prompt"]["text"] += f" {secret}"
        if line["kind"] in ("observation", "summary"):
            line["values"] |= {"facts": f'["{secret}"]', "title": secret, "request": secret}
    take(b, rewritten(tmp_path / "y.jsonl", lines))
    files = [path for path in b.rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_a_secret_file_s_content_is_hidden_by_the_rules_of_here(b: Path, tmp_path: Path) -> None:
    session = Transcript("s", "/home/dev/shop")
    session.user("look")
    session.tool("Read", {"file_path": "/home/dev/shop/my.vault"}, "the combination is 1234")
    (tmp_path / "D").mkdir()
    home = rescanned(tmp_path / "D" / "home", session)
    take(b, export(home, tmp_path / "y.jsonl"), redact_secret_files=("*.vault",))
    assert "REDACTED:secret-file" in one(b, "SELECT tool_response FROM tool_uses WHERE tool_name = 'Read'")


def test_a_rebuild_carries_imports_over(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    before = everything(b)
    (tmp_path / "B" / "empty").mkdir()
    app.rescan(settings(b, tmp_path / "B" / "empty"), rebuild=True)
    assert differing(everything(b), before) == {}


def test_new_rules_renew_imported_rows(a: Path, b: Path, tmp_path: Path) -> None:
    take(b, export(a, tmp_path / "x.jsonl"))
    app.redact(settings(b, redact_rules=(UserRule("attic", re.compile("sweep the attic")),)))
    assert one(b, "SELECT count(*) FROM user_prompts WHERE prompt_text LIKE '[REDACTED:attic:%'") == 1
    assert one(b, "SELECT count(*) FROM stale_files") == 0


def test_a_record_that_is_known_as_something_else_is_a_fault(a: Path, b: Path, tmp_path: Path) -> None:
    """Two records of one uuid would have rows of one session stand in another."""
    lines = lines_of(export(a, tmp_path / "x.jsonl"))
    told = next(line for line in lines if line.get("prompt"))
    session = next(line for line in lines if line["kind"] == "session" and line["session"] == told["session"])
    call = {"identity": "toolu_01AbCdEfGhIjKlMnOp00", "id": "toolu_01AbCdEfGhIjKlMnOp00", "name": "Bash", "input": "{}"}
    liar = {name: value for name, value in told.items() if name != "prompt"} | {"session": "evil", "calls": [call]}
    evil = rewritten(tmp_path / "evil.jsonl", [lines[0], session | {"session": "evil"}, liar, session, told])
    take(b, evil)
    take(a, evil)
    take(b, tmp_path / "x.jsonl")
    for home in (a, b):
        everything(home)
        assert one(home, "SELECT count(*) FROM tool_uses WHERE tool_name = 'Bash' AND tool_input = '{}'") in (0, 1)
    assert take(a, evil).faults == ((3, "a record that is known as something else"),)
