"""A claude-mem database as the lines of an export, so that it is taken in like one.

claude-mem has no uuids: a record gets one made of its session and of what names it there (a prompt's time and
number, a call's tool id), never of its text, so that other redaction rules or another copy of the database give
the same one. Its places are those of the whole session in order of time, whatever of it is taken. Where a
session's folder is known, that decides its project as for any transcript; else the project's name is all there
is, and counts as a guess.

An observation keeps its session, time and place; the numbers that claude-mem gives to prompts are left out, since
they count slash commands. Of a tool's answer, which is JSON there, what the tool said is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from indexer.project import fold
from indexer.store.checkpoints import IMPORTED
from indexer.store.claude_mem import Database, Row, Session
from indexer.store.exports import FORMAT, VERSION, Line
from indexer.store.twins import FOREIGN
from indexer.text import content_hash, parse_time

DEVICE = "claude-mem"
_COMMAND = re.compile(r"/[a-zA-Z][\w:.-]*(?:\s|\Z)")
_MEDIA = "[media prompt]"
_FILE_KEYS = ("file_path", "notebook_path", "path")
_SECONDS = 100_000_000_000
"""A time below it is in seconds: of the first eras."""
_OBSERVATION = (
    "type", "title", "subtitle", "narrative", "text", "discovery_tokens", "generated_by_model", "agent_type",
    "agent_id", "last_reinforced",
)  # fmt: skip
_OBSERVATION_LISTS = ("facts", "concepts", "files_read", "files_modified", "reinforcement_dates")
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes", "discovery_tokens")
_SUMMARY_LISTS = ("files_read", "files_edited")


def usual_place(env: dict[str, str]) -> Path:
    """Where claude-mem keeps its database, by its own setting or its default."""
    folder = env.get("CLAUDE_MEM_DATA_DIR") or Path(env.get("HOME") or Path.home(), ".claude-mem")
    return Path(folder) / "claude-mem.db"


def lines(database: Database, strong: Callable[[str], object]) -> Iterator[Line]:
    """All of the database. strong: whether a tool id means one call everywhere."""
    yield {"kind": "header", "format": FORMAT, "version": VERSION, "device": DEVICE}
    for session in database.sessions():
        yield from _Session(session, strong).lines()
    projects: set[str] = set()
    for row in database.work():
        yield from _work(row, projects)


class _Session:
    """The lines of one session."""

    def __init__(self, session: Session, strong: Callable[[str], object]) -> None:
        self._session, self._strong = session, strong
        self._name = str(session.about["content"])
        self._identities: dict[int, list[str]] = {}

    def lines(self) -> Iterator[Line]:
        """The session, its records in order, and its memories."""
        session = self._session
        if not (session.prompts or session.tool_uses or session.observations or session.summaries):
            return
        records = list(self._records())
        yield self._about([line["time"] for line in records if line["time"] is not None])
        yield from records
        for row in session.observations:
            yield self._memory("observation", row, _OBSERVATION, _OBSERVATION_LISTS)
        for row in session.summaries:
            yield self._memory("summary", row, _SUMMARY, _SUMMARY_LISTS)

    def _about(self, times: Sequence[int]) -> Line:
        row = self._session.about
        project = _string(row.get("project")) or next(
            (name for one in self._session.observations if (name := _string(one.get("project")))), ""
        )
        cwd = _string(row.get("cwd")) or next(
            (path for one in self._session.tool_uses if (path := _string(one.get("cwd")))), None
        )
        file = {
            "n": 1,
            "path": f"{IMPORTED}{DEVICE}/{self._name}",
            "session": self._name,
            "first": min(times, default=None),
        }
        line: Line = {
            "kind": "session", "session": self._name, "platform": _platform(row.get("platform")), "cwd": cwd,
            "custom_title": _string(row.get("title")), "files": [_filled(file)],
        }  # fmt: skip
        if cwd is None:
            line |= {"project": project, "project_key": fold(project) or "unknown-project", "project_source": "guess"}
        if not times:
            made = [time for one in (*self._session.observations, *self._session.summaries) if (time := _time(one))]
            line |= {"started": min(made, default=None), "last": max(made, default=None)}
        return _filled(line)

    def _records(self) -> Iterator[Line]:
        rows = [(_time(row), 0, row["id"], row) for row in self._session.prompts]
        rows += [(_time(row), 1, row["id"], row) for row in self._session.tool_uses]
        rows.sort(key=lambda one: (one[0] or 0, one[1], one[2]))
        for place, (time, kind, _, row) in enumerate(rows, 1):
            made = self._prompt(row, time) if kind == 0 else self._call(row)
            if made is not None:
                yield {"kind": "record", "session": self._name, "file": 1, "line": place, "time": time,
                       "device": DEVICE, **made}  # fmt: skip

    def _prompt(self, row: Row, time: int | None) -> Line | None:
        text = _string(row["text"])
        if text is None:
            return None
        kind = "command" if _COMMAND.match(text) else "prompt"
        uuid = FOREIGN + content_hash(self._name, str(time), str(row["number"]))
        return {"uuid": uuid, "prompt": {"text": text, "kind": kind}, "local": f"user_prompts:{row['id']}"}

    def _call(self, row: Row) -> Line | None:
        call, name = _string(row["call"]), _string(row["name"])
        if call is None or name is None:
            return None
        uuid = FOREIGN + content_hash(self._name, "call", call)
        identity = call if self._strong(call) else f"{uuid}:{call}"
        given = row["input"] if isinstance(row["input"], str) and row["input"] else "null"
        made: Line = {"identity": identity, "id": call, "name": name, "file": _file(given), "input": given}
        line: Line = {"uuid": uuid, "calls": [_filled(made)], "local": f"tool_uses:{row['id']}"}
        if isinstance(row["observation"], int):
            self._identities.setdefault(row["observation"], []).append(identity)
        if _string(row["response"]):
            line["results"] = [{"identity": identity, "id": call, "text": answer(row["response"])}]
        if agent := _string(row["agent"]):
            line |= {"agent": agent, "sidechain": True}
        if cwd := _string(row["cwd"]):
            line["cwd"] = cwd
        return line

    def _memory(self, kind: str, row: Row, names: Sequence[str], lists: Sequence[str]) -> Line:
        time, local = _time(row), _string(row["local"]) or row["local"] or row["id"]
        values = {name: row[name] for name in names if row[name] not in (None, "")}
        values |= {name: found for name in lists if (found := _list(row[name])) is not None}
        if kind == "observation":
            values.setdefault("type", "discovery")
        values["created_at_epoch"] = time
        line: Line = {
            "kind": kind, "session": self._name, "identity": f"{FOREIGN}{kind}:{self._name}:{time}:{local}",
            "device": DEVICE, "local": ":".join(filter(None, (_string(row["device"]), f"{kind}:{local}"))),
            "values": _filled(values),
        }  # fmt: skip
        if calls := self._identities.get(row["id"], []) if kind == "observation" else []:
            line["calls"] = calls
        return line


def _work(row: Row, projects: set[str]) -> Iterator[Line]:
    """An entry of a list, in a session that stands for its project: claude-mem keeps lists by project alone."""
    project = _string(row["project"]) or "unknown-project"
    session, time = f"{DEVICE}:work:{project}", _time(row)
    if project not in projects:
        projects.add(project)
        yield _filled({"kind": "session", "session": session, "platform": "claude", "project": project,
               "project_key": fold(project), "project_source": "guess", "started": time, "last": time,
               "files": [{"n": 1, "path": f"{IMPORTED}{session}", "session": session}]})  # fmt: skip
    values = {"list_name": _string(row["list_name"]) or "work", "fields": row["fields"], "created_at_epoch": time}
    identity = f"{FOREIGN}work:{project}:{time}:{row['id']}"
    yield {"kind": "work", "session": session, "identity": identity, "device": DEVICE,
           "local": f"work_state_entries:{row['id']}", "values": _filled(values)}  # fmt: skip


def answer(text: str) -> str:
    """What a tool said, out of the JSON that claude-mem keeps of it; as it is where that has another form."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("stdout"), str):
        return "\n".join(part for part in (value["stdout"], value.get("stderr")) if isinstance(part, str) and part)
    blocks = value.get("content") if isinstance(value, dict) else value
    if isinstance(blocks, list) and blocks and all(_is_text(block) for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return text


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def _file(given: str) -> str | None:
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return None
    found = (value.get(key) for key in _FILE_KEYS) if isinstance(value, dict) else iter(())
    return next((path for path in found if isinstance(path, str) and path), None)


def _platform(name: object) -> str:
    """As claude-mem names clients: a known word in it decides."""
    text = str(name or "").strip().lower()
    known = next((word for word in ("codex", "cursor", "claude") if word in text), None)
    return known or "-".join(re.findall("[a-z0-9]+", text)) or "claude"


def _list(value: object) -> str | None:
    """A JSON array of texts, whatever was meant by one."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        found: Any = json.loads(value)
    except (ValueError, RecursionError):
        found = [value]
    items = found if isinstance(found, list) else [found]
    return json.dumps([one if isinstance(one, str) else str(one) for one in items], ensure_ascii=False)


def _time(row: Row) -> int | None:
    """Epoch milliseconds; the epoch of the first eras is in seconds, and a text stands in for a missing one."""
    value = row["time"]
    if isinstance(value, float):
        value = int(value)
    if type(value) is int and value > 0:
        return value * 1000 if value < _SECONDS else value
    text = _string(row["time_text"])
    return parse_time(text) if text else None


def _string(value: object) -> str | None:
    """A text that says something."""
    return value.strip() or None if isinstance(value, str) else None


def _filled(line: Line) -> Line:
    return {name: value for name, value in line.items() if value is not None}
