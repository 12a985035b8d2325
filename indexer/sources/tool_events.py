"""What `toolUseResult` tells of a tool call: how a command ended, what a patch changed, which plan was
approved, what was answered, which tasks stand, what was committed, what a sub-agent reported.

It is 31 % of all transcript bytes, since it repeats the output and, for edits, the whole original file:
only the facts are kept. It does not name its tool, so readers are found by a key that only this tool
writes (transcript-format, Appendix B). It may be an object, a string (errors, rejections), a list (MCP)
or missing (side chains).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from indexer.records import TurnEvent
from indexer.sources.fields import Fields, facts
from indexer.sources.turn_events import bounded

_LIST_MOST = 100
_REJECTED = "The user doesn't want to proceed with this tool use"
_SAID = "the user said:"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
_COMMIT = re.compile(r"^\[([^\]\n(]{1,200}?)(?: \([^)\n]{1,40}\))? ([0-9a-f]{7,40})\] (.*\S)", re.MULTILINE)
_COMMIT_WINDOW = 16 * 1024
_EXIT_FACTS = (
    ("interrupted", "interrupted", bool),
    ("timedOutAfterMs", "timed_out_ms", int),
    ("returnCodeInterpretation", "meaning", str),
    ("backgroundTaskId", "background", str),
    ("exitCode", "code", int),
)
_TASK_FACTS = {"id": "id", "subject": "subject", "description": "description", "status": "status"}
_GIT_PR_FACTS = {"number": "number", "url": "url", "action": "action"}
_COMMIT_FACTS = {"branch": "branch", "sha": "sha"}
_CHANGE_FACTS = {"from": "from", "to": "to"}
_LISTED_FACTS = {"content": "content", "status": "status"}
_AGENT_FACTS = {
    "agentId": "agent_id",
    "status": "status",
    "totalTokens": "tokens",
    "totalToolUseCount": "tool_uses",
    "totalDurationMs": "duration_ms",
}


def of_result(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    """The events of a tool result that is no error: `text` is its text, `detail` its `toolUseResult`."""
    events: list[TurnEvent] = []
    for key in detail:
        reader = _READERS.get(key)
        if reader:
            events += reader(tool_use_id, text, detail)
    return events


def of_failure(tool_use_id: str, text: str, detail: Fields, record: Fields) -> list[TurnEvent]:
    """The end of a call that failed or was refused (`record` says by whom); for a refused plan the plan
    too."""
    data: Fields = {"tool_use_id": tool_use_id, "error": True}
    data |= _ending(detail)
    data |= _denial(text, record)
    code = _EXIT_CODE.match(text)
    if code:
        data["code"] = int(code[1])
    events = [TurnEvent("exit", bounded(data))]
    refused = text.partition("Rejected plan:")[2].strip()
    if refused:
        plan = {"tool_use_id": tool_use_id, "approved": False, "plan": refused}
        events.append(TurnEvent("plan", bounded(plan)))
    return events + commits_in(tool_use_id, text)


def _ending(source: Fields) -> Fields:
    found: Fields = {}
    for key, name, kind in _EXIT_FACTS:
        value = source.get(key)
        if value and type(value) is kind:
            found[name] = value
    return found


def _exit(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    """How a command ended, if there is more to say than that it did. A poll of a background task
    (`retrieval_status`) tells it of that task."""
    task = detail.get("task") if "retrieval_status" in detail else None
    ending = _ending(task if type(task) is dict else detail)
    return [TurnEvent("exit", bounded({"tool_use_id": tool_use_id, **ending}))] if ending else []


def _denial(text: str, record: Fields) -> Fields:
    """Who refused the call, and what the user said to it."""
    kind = record.get("toolDenialKind")
    if type(kind) is not str:
        if not text.startswith(_REJECTED):
            return {}
        kind = "user-rejected"
    said = record.get("userFeedback")
    feedback = said if type(said) is str else text.partition(_SAID)[2].strip()
    return {"denied": kind, "feedback": feedback} if feedback else {"denied": kind}


def _commits(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    """Commits a command made. `git commit` says `[branch sha] subject`, and below it how many files
    changed; a quiet one is told by the client alone (`gitOperation`)."""
    output = detail["stdout"]
    if type(output) is not str:
        return []
    operation = detail.get("gitOperation")
    made = facts(operation.get("commit"), _COMMIT_FACTS) if type(operation) is dict else {}
    found = commits_in(tool_use_id, output, bool(made))
    if made and not found:
        found.append(TurnEvent("commit", bounded({"tool_use_id": tool_use_id, **made})))
    return found


def commits_in(tool_use_id: str, output: str, sure: bool = False) -> list[TurnEvent]:
    """Commits reported at the end of a command's `output`; unless `sure`, only with the line on changed
    files that git writes below."""
    if len(output) > _COMMIT_WINDOW:
        output = output[-_COMMIT_WINDOW:]
    if not sure and " changed" not in output:
        return []
    return [
        TurnEvent(
            "commit",
            bounded({"tool_use_id": tool_use_id, "branch": match[1], "sha": match[2], "subject": match[3]}),
        )
        for match in _COMMIT.finditer(output)
    ]


def _pull_requests(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    operation = detail["gitOperation"]
    made = facts(operation.get("pr"), _GIT_PR_FACTS) if type(operation) is dict else {}
    return [TurnEvent("pr", bounded({"tool_use_id": tool_use_id, **made}))] if made else []


def _patch(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    path = detail.get("filePath")
    if type(path) is not str:
        return []
    added, removed = _changed_lines(detail["structuredPatch"])
    created = detail.get("type") == "create"
    content = detail.get("content")
    if created and type(content) is str:
        added = content.count("\n") + (not content.endswith("\n") and content != "")
    data = {"tool_use_id": tool_use_id, "file": path, "added": added, "removed": removed, "created": created}
    if detail.get("userModified") is True:
        data["user_modified"] = True
    return [TurnEvent("patch", data if len(path) < 1024 else bounded(data))]


def _changed_lines(hunks: object) -> tuple[int, int]:
    added = removed = 0
    for hunk in hunks if type(hunks) is list else ():
        lines = hunk.get("lines") if type(hunk) is dict else None
        if type(lines) is list:
            try:
                joined = "\n" + "\n".join(lines)
            except TypeError:
                continue
            added += joined.count("\n+")
            removed += joined.count("\n-")
    return added, removed


def _plan(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    """An approved plan. Its text stands in the record or, when the user edited it, in the result only."""
    plan = detail["plan"]
    if type(plan) is not str or not plan:
        plan = text.partition("## Approved Plan")[2].partition("\n")[2].strip()
    if not plan:
        return []
    return [TurnEvent("plan", bounded({"tool_use_id": tool_use_id, "approved": True, "plan": plan}))]


def _answers(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    given = detail["answers"]
    if type(given) is not dict or not given:
        return []
    answers = [{"question": question, "answer": _plain(answer)} for question, answer in given.items()]
    return [TurnEvent("answer", bounded({"tool_use_id": tool_use_id, "answers": answers[:_LIST_MOST]}))]


def _plain(answer: object) -> str:
    """An answer as text; several choices one behind the other."""
    if type(answer) is list:
        return ", ".join(item for item in answer if type(item) is str)
    return answer if type(answer) is str else ""


def _todos(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    listed = detail["newTodos"]
    if type(listed) is not list:
        return []
    tasks = [task for todo in listed[:_LIST_MOST] if (task := facts(todo, _LISTED_FACTS))]
    return [TurnEvent("task", bounded({"tool_use_id": tool_use_id, "op": "list", "tasks": tasks}))]


def _task(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    """A task made or looked up (`task`). A background task that was polled is none of the user's."""
    task = facts(detail["task"], _TASK_FACTS)
    if "retrieval_status" in detail or "subject" not in task:
        return []
    op = "state" if "status" in task else "create"
    return [TurnEvent("task", bounded({"tool_use_id": tool_use_id, "op": op, **task}))]


def _task_update(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    task = facts(detail, {"taskId": "id"})
    if detail.get("success") is False or not task:
        return []
    listed = detail["updatedFields"]
    fields = [field for field in listed if type(field) is str] if type(listed) is list else []
    change = facts(detail.get("statusChange"), _CHANGE_FACTS)
    data = {"tool_use_id": tool_use_id, "op": "update", **task, "fields": fields, **change}
    return [TurnEvent("task", bounded(data))]


def _agent(tool_use_id: str, text: str, detail: Fields) -> list[TurnEvent]:
    """What a sub-agent reported at its end. One that only started in the background says nothing yet."""
    report = facts(detail, _AGENT_FACTS)
    if "agent_id" not in report or not {"tokens", "tool_uses", "duration_ms"} & report.keys():
        return []
    said = _said(detail.get("content")) or text
    return [TurnEvent("agent", bounded({"tool_use_id": tool_use_id, **report, "text": said}))]


def _said(content: object) -> str:
    texts = [facts(block, {"text": "text"}) for block in content] if type(content) is list else []
    return "\n".join(str(found["text"]) for found in texts if found)


_READERS: dict[str, Callable[[str, str, Fields], list[TurnEvent]]] = {
    "interrupted": _exit,
    "shellId": _exit,
    "retrieval_status": _exit,
    "stdout": _commits,
    "gitOperation": _pull_requests,
    "structuredPatch": _patch,
    "plan": _plan,
    "answers": _answers,
    "newTodos": _todos,
    "task": _task,
    "updatedFields": _task_update,
    "agentId": _agent,
}
