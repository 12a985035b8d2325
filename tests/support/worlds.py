"""Small worlds of transcripts, drawn at random: sessions, forks of forks, sub-agents, damaged habits.

A world is a set of files and the ways in which they came to be; everything in it was seen in real trees
(transcript-format, sections 2 to 5), only closer together than life puts it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Fields = dict[str, Any]

FOLDERS = {"/w/a": "-w-a", "/w/b": "-w-b"}
TEXTS = ["go on", "fix it", "/ship now"]
_EPOCH = "2026-11-01T{:02d}:{:02d}:{:02d}.000Z"


def stamp(seconds: int) -> str:
    """Seconds of the world's one day, as the client writes a time."""
    return _EPOCH.format(seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)


@dataclass
class World:
    """files: path below the root -> bytes."""

    files: dict[str, bytes]

    def lay(self, root: Path) -> None:
        """Write all files."""
        for name, data in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def __repr__(self) -> str:
        """Files line by line, without what every record has: what a shrunk failure is read by."""
        out = []
        for name, data in self.files.items():
            out.append(f"\n  {name}")
            out.extend("\n    " + _short(line) for line in data.splitlines())
        return "World(" + "".join(out) + ")"


def _short(line: bytes) -> str:
    record = json.loads(line)
    message = record.pop("message", None) or {}
    for key in ("userType", "parentUuid", "type"):
        record.pop(key, None)
    given = message.get("content")
    return " ".join(f"{key}={value}" for key, value in record.items()) + f" {message.get('id', '')} {given}"


@dataclass
class File:
    """A transcript in the making."""

    path: str
    session: str
    cwd: str
    time: int
    version: str
    agent: str | None = None
    records: list[Fields] = field(default_factory=list)
    copied: int = 0
    undated: bool = False


@dataclass
class Maker:
    """Draws a world; ids are counted, so that a smaller world has smaller ids."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    files: dict[str, File] = field(default_factory=dict)
    metas: dict[str, Fields] = field(default_factory=dict)
    count: int = 0

    def number(self, most: int, least: int = 0) -> int:
        """least … most, small ones first when shrinking."""
        return int(self.draw(st.integers(least, most)))

    def maybe(self) -> bool:
        """A coin; heads when shrunk is tails."""
        return bool(self.draw(st.booleans()))

    def one(self, values: list[Any]) -> Any:
        """One of the values, the first when shrunk."""
        return self.draw(st.sampled_from(values))

    def fresh(self, prefix: str = "") -> str:
        """An id that was not used before."""
        self.count += 1
        if prefix:
            return f"{prefix}{self.count:020d}"
        return f"{self.count:08x}-0000-4000-8000-{self.count:012x}"

    # -- files

    def session_file(self) -> File:
        """A new session's main file; which ids sort first is drawn, ties in age are likely."""
        self.count += 1
        session = f"{self.number(3)}{self.count:07x}-1111-4000-8000-{self.count:012x}"
        cwd = self.one(list(FOLDERS))
        file = self.add_file(f"{FOLDERS[cwd]}/{session}.jsonl", session, cwd, self.number(3) * 10)
        file.undated = self.number(9) == 9
        return file

    def add_file(self, path: str, session: str, cwd: str, time: int, agent: str | None = None) -> File:
        """A file, empty so far."""
        version = self.one(["2.1.240", "2.0.80"])
        self.files[path] = File(path, session, cwd, time, version, agent)
        return self.files[path]

    def mains(self) -> list[File]:
        """The main files so far."""
        return [file for file in self.files.values() if file.agent is None]

    # -- records

    def record(self, file: File, kind: str, *, inline: bool = False, **fields: Any) -> Fields:
        """A record at the end of a file, with the client's envelope."""
        file.time += self.one([1, 0, 20, -15])
        last = next((record["uuid"] for record in reversed(file.records) if "uuid" in record), None)
        agent = {"agentId": file.agent} if file.agent and self.maybe() else {}
        made = {
            "parentUuid": last,
            "isSidechain": inline or file.agent is not None,
            "cwd": file.cwd,
            "sessionId": file.session,
            "version": file.version,
            "gitBranch": "main",
            "type": kind,
            "uuid": self.fresh(),
            "timestamp": stamp(file.time + 3600),
            **agent,
            **fields,
        }
        if self.number(9) == 9 or file.undated:
            del made["timestamp"]
        file.records.append(made)
        return made

    def prompt(self, file: File) -> None:
        """Something typed: a prompt, a command, a shell line, a queued prompt."""
        text = self.one(TEXTS[:2])
        shape = self.number(4)
        if shape == 3:
            held = {"type": "queued_command", "prompt": text, "commandMode": "prompt"}
            self.record(file, "attachment", attachment=held)
            return
        wrapped = [
            text,
            f"<bash-input>{text}</bash-input>",
            f"<command-name>/x</command-name>{text}",
            text,
            text,
        ]
        self.record(file, "user", message={"role": "user", "content": wrapped[shape]})

    def reply(self, file: File, *blocks: Fields, inline: bool = False) -> Fields:
        """A line of an assistant message, which may be one that was begun before."""
        before = [record for record in file.records[file.copied :] if record.get("type") == "assistant"]
        key = self.one(before)["message"]["id"] if before and self.number(3) == 3 else self.fresh("msg_")
        usage = {"input_tokens": self.number(2), "output_tokens": self.number(2)}
        model = self.one(["m1", "m2", "m3"]) if not before else before[-1]["message"]["model"]
        message = {"id": key, "role": "assistant", "model": model, "content": list(blocks), "usage": usage}
        return self.record(file, "assistant", inline=inline, message=message)

    def text(self, file: File) -> None:
        """Visible words."""
        self.reply(file, {"type": "text", "text": self.one(["done", "more"])}, inline=self.number(5) == 5)

    def call(self, file: File, name: str = "Bash") -> tuple[Fields, str]:
        """A tool call with a strong or a weak id, without its answer."""
        tool_id = self.one([self.fresh("toolu_"), "call_0"])
        record = self.reply(file, {"type": "tool_use", "id": tool_id, "name": name, "input": {"command": "ls"}})
        return record, tool_id

    def answer(self, file: File, call: Fields, tool_id: str, **fields: Any) -> Fields:
        """A result of a call."""
        block = {"type": "tool_result", "tool_use_id": tool_id, "content": self.one(["ok", "bad", ""])}
        if self.maybe():
            block["is_error"] = self.maybe()
        record = self.record(file, "user", message={"role": "user", "content": [block]}, **fields)
        if self.maybe():
            record["sourceToolAssistantUUID"] = call["uuid"]
        else:
            record["parentUuid"] = call["uuid"]
        return record

    def tool(self, file: File) -> None:
        """A call and its answer: behind it, before it, or none."""
        call, tool_id = self.call(file)
        order = self.number(3)
        if order < 3:
            self.answer(file, call, tool_id)
        if order == 2:
            file.records[-2:] = file.records[:-3:-1]

    def answer_again(self, file: File) -> None:
        """A second answer to a call that the file holds: a session that was resumed twice."""
        calls = [
            (record, block["id"])
            for record in file.records
            if record.get("type") == "assistant"
            for block in record["message"]["content"]
            if block["type"] == "tool_use"
        ]
        if calls:
            self.answer(file, *self.one(calls))

    def title(self, file: File) -> None:
        """A title line."""
        kind, key = self.one([("ai-title", "aiTitle"), ("custom-title", "customTitle")])
        file.records.append({"type": kind, "sessionId": file.session, key: self.one(["one", "two", "three"])})

    def summary(self, file: File) -> None:
        """A summary for whatever session holds a record of any file so far."""
        uuids = [record["uuid"] for other in self.files.values() for record in other.records if "uuid" in record]
        if uuids:
            file.records.append({"type": "summary", "summary": self.one(["one", "two"]), "leafUuid": self.one(uuids)})

    def queue(self, file: File) -> None:
        """A line of the prompt queue."""
        operation = self.one(["enqueue", "remove", "dequeue", "popAll"])
        line = {"type": "queue-operation", "operation": operation, "sessionId": file.session}
        line["timestamp"] = stamp(file.time + 3600)
        if operation == "enqueue":
            line["content"] = self.one(TEXTS)
        file.records.append(line)

    def queued(self, file: File) -> None:
        """A prompt handed to the running turn."""
        base = {"type": "queue-operation", "sessionId": file.session, "timestamp": stamp(file.time + 3600)}
        file.records.append({**base, "operation": "enqueue", "content": self.one(TEXTS)})
        file.records.append({**base, "operation": "remove"})

    def again(self, file: File) -> None:
        """A line written once more, perhaps with a field more."""
        if file.records:
            more = self.one([{}, {"slug": "tidy-fox"}, {"timestamp": stamp(file.time)}, {"cwd": "/w/b"}])
            file.records.append({**self.one(file.records), **more})

    def duration(self, file: File) -> None:
        """An event."""
        self.record(file, "system", subtype="turn_duration", durationMs=self.number(2))

    def move(self, file: File) -> None:
        """The session changes its folder, or its client is upgraded."""
        if self.maybe():
            file.cwd = self.one(list(FOLDERS))
        else:
            file.version = self.one(["2.1.240", "2.0.80", "2.1.100"])

    def steps(self, file: File, most: int = 6) -> None:
        """Some records at the end of a file."""
        kinds: list[Any] = [self.prompt, self.text, self.tool]
        kinds += [
            self.answer_again,
            self.title,
            self.summary,
            self.queue,
            self.queued,
            self.again,
            self.duration,
        ]
        kinds += [self.move, self.agent, self.agent]
        for _ in range(self.number(most, 2)):
            self.one(kinds)(file)

    # -- sub-agents

    def agent(self, file: File) -> None:
        """A sub-agent: its call, perhaps the note of it, its own file in either layout."""
        if file.agent is not None and self.maybe():
            return
        agent = f"ag{self.fresh()[:8]}"
        call, tool_id = self.call(file, "Agent")
        folder = FOLDERS[file.cwd]
        nested = self.maybe()
        path = f"{folder}/{file.session}/subagents/agent-{agent}.jsonl" if nested else f"{folder}/agent-{agent}.jsonl"
        own = self.add_file(path, file.session, file.cwd, file.time, agent)
        for _ in range(self.number(3, 1)):
            self.one([self.text, self.tool, self.repeat_main, self.agent])(own)
        if self.maybe():
            self.metas[path.replace(".jsonl", ".meta.json")] = {"toolUseId": tool_id, "agentType": "explore"}
        if self.maybe():
            detail = self.one([{"agentId": agent, "agentType": "explore"}, {"agentId": agent}, {}])
            self.answer(file, call, tool_id, toolUseResult=detail)

    def repeat_main(self, file: File) -> None:
        """Records of the main thread written into the agent's file, as side chain."""
        mains = [other for other in self.mains() if other.session == file.session]
        if not mains:
            return
        records = self.slice_of(mains[0])
        restamp = self.maybe()
        for record in records:
            copy = {**record, "isSidechain": True, "agentId": file.agent}
            if restamp:
                copy["cwd"] = self.one(list(FOLDERS))
            file.records.append(copy)

    # -- copies

    def slice_of(self, file: File) -> list[Fields]:
        """A stretch of a file's records, mostly from the start."""
        end = self.number(len(file.records))
        start = self.number(end) if self.number(3) == 3 else 0
        return file.records[start:end]

    def fork(self) -> None:
        """A session that begins with another's records."""
        origin, copy = self.one(self.mains()), self.session_file()
        marked, keeps_id, restamp, moved = self.maybe(), self.number(4) == 4, self.maybe(), self.maybe()
        copy.version = self.one([origin.version, "2.1.240"])
        for record in self.slice_of(origin):
            if "uuid" not in record:
                if self.maybe() and record["type"] == "queue-operation":
                    copy.records.append({**record, "sessionId": copy.session})
                continue
            made = {**record} if keeps_id else {**record, "sessionId": copy.session}
            if marked:
                made["forkedFrom"] = {"sessionId": origin.session, "messageUuid": record["uuid"]}
            if restamp and "timestamp" in made:
                made["timestamp"] = stamp(copy.time + 3600)
            if moved:
                made["cwd"], made["version"] = copy.cwd, copy.version
            copy.records.append(made)
        copy.copied = len(copy.records)
        self.steps(copy, 4)

    def second_file(self) -> None:
        """A session that stands in a second file too: copied to another folder, or spilled over."""
        origin = self.one(self.mains())
        cwd = self.one(list(FOLDERS))
        name = self.one([origin.session, f"{self.number(9)}{self.fresh()[1:]}"])
        path = f"{FOLDERS[cwd]}/{name}.jsonl"
        if path in self.files:
            return
        copy = self.add_file(path, origin.session, origin.cwd, origin.time)
        restamp = self.maybe()
        for record in self.slice_of(origin):
            copy.records.append(
                {**record, "timestamp": stamp(copy.time)} if restamp and "timestamp" in record else record
            )
        copy.copied = len(copy.records)
        self.steps(copy, 3)

    def world(self) -> World:
        """Everything that was drawn."""
        self.steps(self.session_file())
        for _ in range(self.number(4, 1)):
            if self.number(4) < 4:
                self.one([self.fork, self.second_file])()
            else:
                self.steps(self.session_file())
        files = {file.path: b"".join(map(_line, file.records)) for file in self.files.values()}
        return World(files | {path: json.dumps(meta).encode() + b"\n" for path, meta in self.metas.items()})


def _line(record: Fields) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any small world."""
    return Maker(draw).world()
