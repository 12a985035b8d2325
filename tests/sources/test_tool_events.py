"""What toolUseResult tells of a tool call."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from indexer.records import TurnEvent
from indexer.sources.tool_events import commits_in, of_failure, of_result

CALL = "toolu_01ABCDEFGHJKLMNPQRSTUV"
WRONG = [None, 5, "text", [1], ["x"], {}, {"a": 1}, True, 1.5]
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"


def told(detail: dict[str, Any], text: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Kind and data of the events, without the call they all name."""
    return bare(of_result(CALL, text, detail))


def failed(text: str, detail: dict[str, Any] | None = None, **record: Any) -> list[tuple[str, dict[str, Any]]]:
    return bare(of_failure(CALL, text, detail or {}, record))


def bare(events: list[TurnEvent]) -> list[tuple[str, dict[str, Any]]]:
    assert all(event.data["tool_use_id"] == CALL for event in events)
    return [(event.kind, {k: v for k, v in event.data.items() if k != "tool_use_id"}) for event in events]


# --- exit


def test_a_command_that_ended_well_tells_nothing() -> None:
    assert told({"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False}) == []


def test_how_a_command_ended() -> None:
    detail = {
        "stdout": "",
        "stderr": "",
        "interrupted": True,
        "timedOutAfterMs": 120_000,
        "returnCodeInterpretation": "No matches found",
        "backgroundTaskId": "b7f3",
    }
    ending = {"timed_out_ms": 120_000, "meaning": "No matches found", "background": "b7f3"}
    assert told(detail) == [("exit", {"interrupted": True, **ending})]


def test_the_exit_code_of_a_background_shell() -> None:
    detail = {"shellId": "s1", "command": "make", "status": "completed", "exitCode": 2, "stdout": ""}
    assert told(detail) == [("exit", {"code": 2})]


@pytest.mark.parametrize("code", [0, None, "2", True])
def test_a_shell_that_runs_or_ended_well_tells_nothing(code: object) -> None:
    assert told({"shellId": "s1", "exitCode": code}) == []


def test_the_exit_code_of_a_background_task() -> None:
    task = {"task_id": "b1", "task_type": "local_bash", "status": "completed", "exitCode": 3, "subject": "x"}
    assert told({"retrieval_status": "success", "task": task}) == [("exit", {"code": 3})]


@pytest.mark.parametrize("task", WRONG, ids=repr)
def test_a_background_task_of_any_shape(task: object) -> None:
    assert told({"retrieval_status": "success", "task": task}) == []


# --- failures


def test_a_failure_has_its_exit_code() -> None:
    assert failed("Exit code 127\ncommand not found") == [("exit", {"error": True, "code": 127})]
    assert failed("Error: Exit code 2") == [("exit", {"error": True, "code": 2})]


@pytest.mark.parametrize("text", ["", "File not found", "It said Exit code 2", "Exit code x", "Exit code 99999999999"])
def test_a_failure_without_exit_code(text: str) -> None:
    assert failed(text) == [("exit", {"error": True})]


def test_a_failure_that_was_interrupted() -> None:
    assert failed("", {"interrupted": True}) == [("exit", {"error": True, "interrupted": True})]


def test_a_rejection_by_the_user() -> None:
    assert failed(REJECTED) == [("exit", {"error": True, "denied": "user-rejected"})]


def test_what_the_user_said_to_it() -> None:
    text = f"{REJECTED}. To tell you how to proceed, the user said:\nuse the other file"
    ending = {"error": True, "denied": "user-rejected", "feedback": "use the other file"}
    assert failed(text) == [("exit", ending)]


def test_newer_clients_say_who_denied() -> None:
    ending = {"error": True, "denied": "hook", "feedback": "not there"}
    assert failed("denied", toolDenialKind="hook", userFeedback="not there") == [("exit", ending)]


def test_a_refused_plan() -> None:
    text = "The agent proposed a plan that was rejected by the user.\n\nRejected plan:\n1. delete all"
    plan = {"approved": False, "plan": "1. delete all"}
    assert failed(text) == [("exit", {"error": True}), ("plan", plan)]


def test_a_commit_before_the_failure_counts() -> None:
    text = "Exit code 1\n[main abc1234] fix\n 1 file changed\npush failed"
    assert failed(text)[1:] == [("commit", {"branch": "main", "sha": "abc1234", "subject": "fix"})]


# --- commits


@pytest.mark.parametrize(
    ("line", "branch", "sha", "subject"),
    [
        ("[main abc1234] fix login", "main", "abc1234", "fix login"),
        ("[feature/a-b 0123456789abcdef] x", "feature/a-b", "0123456789abcdef", "x"),
        ("[main (root-commit) abc1234] first", "main", "abc1234", "first"),
        ("[detached HEAD abc1234] fix: [core] y", "detached HEAD", "abc1234", "fix: [core] y"),
        ("[main abc1234] 修复登录\r", "main", "abc1234", "修复登录"),
    ],
)
def test_a_commit_in_the_output(line: str, branch: str, sha: str, subject: str) -> None:
    output = f"hook ok\n{line}\n 2 files changed, 5 insertions(+)"
    assert told({"stdout": output}) == [("commit", {"branch": branch, "sha": sha, "subject": subject})]


def test_several_commits_in_one_output() -> None:
    output = "[main aaaaaaa] one\n 1 file changed\n[main bbbbbbb] two\n 1 file changed"
    assert [data["subject"] for _, data in told({"stdout": output})] == ["one", "two"]


@pytest.mark.parametrize(
    "output",
    [
        "[main abc1234] fix login",
        "[INFO abcdefg] x changed",
        "see [main abc1234] fix\n 1 file changed",
        "[main abc12] x\n 1 file changed",
        "[main ABC1234] x\n 1 file changed",
        " changed",
        "",
    ],
)
def test_output_that_is_no_commit(output: str) -> None:
    assert told({"stdout": output}) == []


def test_the_client_vouches_for_a_commit() -> None:
    detail = {"stdout": "[main abc1234] empty one", "gitOperation": {"commit": {"sha": "abc1234"}}}
    assert told(detail) == [("commit", {"branch": "main", "sha": "abc1234", "subject": "empty one"})]


def test_a_quiet_commit_is_told_by_the_client() -> None:
    detail = {
        "stdout": "",
        "gitOperation": {"commit": {"sha": "abc1234", "kind": "committed", "branch": "main"}},
    }
    assert told(detail) == [("commit", {"branch": "main", "sha": "abc1234"})]


def test_a_pull_request_made_by_a_command() -> None:
    made = {"number": 42, "action": "created", "url": "https://example.invalid/42"}
    assert told({"stdout": "", "gitOperation": {"pr": made}}) == [("pr", made)]


@pytest.mark.parametrize("operation", WRONG, ids=repr)
def test_a_git_operation_of_any_shape(operation: object) -> None:
    assert told({"stdout": "x", "gitOperation": operation}) == []


@pytest.mark.parametrize("output", [value for value in WRONG if value != "text"], ids=repr)
def test_output_of_any_shape(output: object) -> None:
    assert told({"stdout": output}) == []


def test_commits_are_looked_for_at_the_end_of_a_large_output() -> None:
    commit = "\n[main abc1234] fix\n 1 file changed\n"
    assert len(commits_in(CALL, "x" * 1_000_000 + commit)) == 1
    assert commits_in(CALL, commit + "x" * 1_000_000) == []


# --- patches


def patch(*lines: str, **fields: Any) -> dict[str, Any]:
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": list(lines)}
    return {
        "filePath": "/home/dev/shop/a.py",
        "structuredPatch": [hunk],
        "originalFile": "x" * 50_000,
        **fields,
    }


def test_a_patch_counts_its_lines() -> None:
    found = told(patch(" a", "-b", "-c", "+d", " +e", "+"))
    assert found == [("patch", {"file": "/home/dev/shop/a.py", "added": 2, "removed": 2, "created": False})]


def test_all_hunks_count() -> None:
    detail = patch("+a")
    detail["structuredPatch"] *= 3
    assert told(detail)[0][1]["added"] == 3


def test_the_user_may_have_changed_it() -> None:
    assert told(patch("+a", userModified=True))[0][1]["user_modified"] is True


@pytest.mark.parametrize(("content", "lines"), [("a\nb\n", 2), ("a\nb", 2), ("", 0), ("\n", 1)])
def test_a_new_file_counts_all_its_lines(content: str, lines: int) -> None:
    detail = {"type": "create", "filePath": "/a.py", "content": content, "structuredPatch": []}
    assert told(detail) == [("patch", {"file": "/a.py", "added": lines, "removed": 0, "created": True})]


def test_a_file_written_over_counts_its_patch() -> None:
    assert told(patch("-a", "+b", type="update", content="b\n"))[0][1]["added"] == 1


@pytest.mark.parametrize("hunks", [*WRONG, [{"lines": "x"}], [{"lines": ["+a", 5]}], [{}]], ids=repr)
def test_a_patch_of_any_shape(hunks: object) -> None:
    found = told({"filePath": "/a.py", "structuredPatch": hunks})
    assert found == [("patch", {"file": "/a.py", "added": 0, "removed": 0, "created": False})]


@pytest.mark.parametrize("path", [value for value in WRONG if value != "text"], ids=repr)
def test_a_patch_without_a_file_is_none(path: object) -> None:
    assert told({"filePath": path, "structuredPatch": []}) == []


# --- plans and answers


def test_an_approved_plan() -> None:
    assert told({"plan": "1. fix", "isAgent": False}) == [("plan", {"approved": True, "plan": "1. fix"})]


def test_an_approved_plan_that_only_the_text_holds() -> None:
    text = "User has approved your plan.\n\n## Approved Plan (edited by user):\n1. fix\n2. test"
    assert told({"plan": None}, text) == [("plan", {"approved": True, "plan": "1. fix\n2. test"})]


@pytest.mark.parametrize("plan", [value for value in WRONG if value != "text"], ids=repr)
def test_a_plan_of_any_shape(plan: object) -> None:
    assert told({"plan": plan}) == []


def test_a_long_plan_fits() -> None:
    data = told({"plan": "项目配置\n" * 5000})[0][1]
    assert len(orjson.dumps(data)) < 8192


def test_answered_questions() -> None:
    detail = {"questions": [{"question": "Which?"}], "answers": {"Which?": "A", "More?": ["B", "C", 5]}}
    answers = [{"question": "Which?", "answer": "A"}, {"question": "More?", "answer": "B, C"}]
    assert told(detail) == [("answer", {"answers": answers})]


@pytest.mark.parametrize("answers", [value for value in WRONG if value != {"a": 1}], ids=repr)
def test_answers_of_any_shape(answers: object) -> None:
    assert told({"answers": answers}) == []


# --- tasks


def test_a_todo_list() -> None:
    todos = [
        {"content": "fix", "status": "completed", "activeForm": "Fixing"},
        {"content": "test", "status": None},
        "odd",
    ]
    tasks = [{"content": "fix", "status": "completed"}, {"content": "test"}]
    assert told({"oldTodos": [], "newTodos": todos}) == [("task", {"op": "list", "tasks": tasks})]


def test_a_cleared_todo_list_is_told() -> None:
    assert told({"oldTodos": [{}], "newTodos": []}) == [("task", {"op": "list", "tasks": []})]


@pytest.mark.parametrize("todos", [value for value in WRONG if not isinstance(value, list)], ids=repr)
def test_todos_of_any_shape(todos: object) -> None:
    assert told({"newTodos": todos}) == []


def test_a_task_made() -> None:
    task = {"id": "1", "subject": "Fix login timeout"}
    assert told({"task": task}) == [("task", {"op": "create", **task})]


def test_a_task_looked_up() -> None:
    task = {"id": "1", "subject": "Fix", "description": "Raise it", "status": "pending", "blocks": []}
    kept = {"id": "1", "subject": "Fix", "description": "Raise it", "status": "pending"}
    assert told({"task": task}) == [("task", {"op": "state", **kept})]


@pytest.mark.parametrize("task", WRONG, ids=repr)
def test_a_task_of_any_shape(task: object) -> None:
    assert told({"task": task}) == []


def test_a_task_changed() -> None:
    change = {"from": "pending", "to": "in_progress"}
    detail = {"success": True, "taskId": "7", "updatedFields": ["status", 5], "statusChange": change}
    assert told(detail) == [("task", {"op": "update", "id": "7", "fields": ["status"], **change})]


@pytest.mark.parametrize("listed", WRONG, ids=repr)
def test_changed_fields_of_any_shape(listed: object) -> None:
    fields = ["x"] if listed == ["x"] else []
    assert told({"taskId": "7", "updatedFields": listed}) == [("task", {"op": "update", "id": "7", "fields": fields})]


@pytest.mark.parametrize("detail", [{"success": False, "taskId": "7"}, {"success": True}, {"taskId": None}], ids=repr)
def test_a_task_that_was_not_changed(detail: dict[str, Any]) -> None:
    assert told({**detail, "updatedFields": ["status"]}) == []


# --- sub-agents


def agent(**fields: Any) -> dict[str, Any]:
    counts = {"totalTokens": 120, "totalToolUseCount": 1, "totalDurationMs": 536}
    return {"status": "completed", "prompt": "look", "agentId": "a1", **counts, **fields}


REPORT = {"agent_id": "a1", "status": "completed", "tokens": 120, "tool_uses": 1, "duration_ms": 536}


def test_what_a_sub_agent_reported() -> None:
    content = [{"type": "text", "text": "Nothing"}, {"type": "image"}, {"type": "text", "text": "here."}]
    assert told(agent(content=content)) == [("agent", {**REPORT, "text": "Nothing\nhere."})]


@pytest.mark.parametrize("content", WRONG, ids=repr)
def test_a_report_that_only_the_result_holds(content: object) -> None:
    assert told(agent(content=content), "Done.") == [("agent", {**REPORT, "text": "Done."})]


def test_an_agent_started_in_the_background_reports_nothing_yet() -> None:
    assert told({"isAsync": True, "status": "async_launched", "agentId": "a1", "outputFile": "/tmp/x"}) == []


def test_an_agent_without_an_id_reports_nothing() -> None:
    assert told(agent(agentId=None)) == []


def test_results_that_only_repeat_the_output_tell_nothing() -> None:
    assert told({"type": "text", "file": {"filePath": "/a.py", "content": "x", "numLines": 1}}) == []
    assert told({"mode": "content", "numFiles": 3, "filenames": [], "content": "x", "numLines": 9}) == []
