"""Writes transcripts as the client does: one builder for every test that needs some.

session = Transcript(cwd="/home/dev/shop")
session.user("fix the login"); session.tool("Bash", {"command": "ls"}, "a.py"); session.text("done")
path = session.write(root)            # root/-home-dev-shop/<session id>.jsonl
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)


def uid(*parts: object) -> str:
    """A UUID that is always the same for the same parts."""
    h = hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-8{h[17:20]}-{h[20:32]}"


def encode(cwd: str) -> str:
    """The client's name for the project folder of a working directory."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)


def line(record: Mapping[str, Any]) -> bytes:
    """A record as the client writes it, with its newline."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


@dataclass
class Transcript:
    """One session's file in the making. Records are dicts in `records`; nothing is written until `write`."""

    name: str = "session"
    cwd: str = "/home/dev/shop"
    version: str = "2.1.240"
    start: datetime = START
    agent: str | None = None
    session_id: str = ""
    records: list[dict[str, Any]] = field(default_factory=list)
    parent: str | None = None
    step: int = 0

    def __post_init__(self) -> None:
        self.session_id = self.session_id or uid("session", self.name)

    def add(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A record of any type with the client's envelope; fields override it."""
        self.step += 1
        time = (self.start + timedelta(seconds=self.step)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        record = {
            "parentUuid": self.parent,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": "main",
            "type": kind,
            "uuid": uid(self.session_id, self.agent, self.step),
            "timestamp": time,
            **({"agentId": self.agent} if self.agent else {}),
            **fields,
        }
        self.parent = record["uuid"]
        self.records.append(record)
        return record

    def plain(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A record without envelope, as titles and queue operations are."""
        record = {"type": kind, "sessionId": self.session_id, **fields}
        self.records.append(record)
        return record

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        """A user record; text is a prompt."""
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: dict[str, Any], message_id: str | None = None, **fields: Any) -> dict[str, Any]:
        """An assistant record holding the blocks."""
        message = {
            "id": message_id or "msg_" + uid("message", self.session_id, self.agent, self.step)[:20],
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": list(blocks),
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }
        return self.add("assistant", message=message, **fields)

    def text(self, text: str, **fields: Any) -> dict[str, Any]:
        """An assistant text."""
        return self.assistant({"type": "text", "text": text}, **fields)

    def call(self, name: str, given: Any, tool_id: str | None = None, **fields: Any) -> str:
        """A tool call; returns its id."""
        tool_id = tool_id or "toolu_" + uid("tool", self.session_id, self.agent, self.step).replace("-", "")[:24]
        self.assistant({"type": "tool_use", "id": tool_id, "name": name, "input": given}, **fields)
        return tool_id

    def result(self, tool_id: str, content: Any, **fields: Any) -> dict[str, Any]:
        """The answer to a call."""
        block = {"type": "tool_result", "tool_use_id": tool_id, "content": content}
        return self.user([block], **fields)

    def tool(self, name: str, given: Any, content: Any, **fields: Any) -> str:
        """A call and its answer; returns the id."""
        tool_id = self.call(name, given)
        self.result(tool_id, content, **fields)
        return tool_id

    def fork(self, name: str, *, marked: bool = False, upto: int | None = None) -> Transcript:
        """A new session that starts with a copy of this one's records: same uuids, its own sessionId."""
        other = Transcript(name, self.cwd, self.version, self.start, session_id=uid("session", name))
        for record in self.records[:upto]:
            copy = {**record, "sessionId": other.session_id}
            if marked and "uuid" in record:
                copy["forkedFrom"] = {"sessionId": self.session_id, "messageUuid": record["uuid"]}
            other.records.append(copy)
        other.step, other.parent = self.step + 1000, self.parent
        return other

    def subagent(self, agent: str) -> Transcript:
        """A sub-agent's own transcript within this session."""
        return Transcript(self.name, self.cwd, self.version, self.start, agent, self.session_id, step=self.step)

    @property
    def data(self) -> bytes:
        """The whole file."""
        return b"".join(map(line, self.records))

    def path(self, root: Path) -> Path:
        """Where the client would put it."""
        folder = root / encode(self.cwd)
        if self.agent is None:
            return folder / f"{self.session_id}.jsonl"
        return folder / self.session_id / "subagents" / f"agent-{self.agent}.jsonl"

    def write(self, root: Path) -> Path:
        """Write the file; returns its path."""
        path = self.path(root)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path
