"""A history of which one session is forgotten, and a look into every file for its words."""

from __future__ import annotations

import json
from pathlib import Path

from transcripts import Transcript

MARK = "zqgone"
"""Begins every word that stands in the forgotten session alone."""
SHARED, FORK = "zqshared", "zqfork"


def history() -> dict[str, Transcript]:
    """`gone` has one of everything; `fork` shares its beginning; `other` has nothing to do with them."""
    gone = Transcript("gone", "/home/dev/shop", version="2.1.40")
    gone.user(f"{SHARED} prompt")
    gone.tool("Bash", {"command": f"{SHARED} call"}, f"{SHARED} result")
    spawn = gone.call("Task", {"prompt": f"{SHARED} task"})
    fork = gone.fork("fork")
    fork.user(f"{FORK} prompt")
    fork.text(f"{FORK} text")
    gone.result(spawn, f"{MARK}task done", toolUseResult={"agentId": "a00", "agentType": f"{MARK}type"})
    gone.user(f"{MARK}prompt")
    gone.tool("Bash", {"command": f"{MARK}command"}, f"{MARK}result " * 3000)
    gone.text(f"{MARK}text")
    gone.result("toolu_that_nobody_asked_for_0", f"{MARK}unmatched")
    gone.add("system", subtype="turn_duration", durationMs=7)
    gone.user(f"<bash-input>{MARK}shell</bash-input>")
    for operation in ("enqueue", "remove"):
        text = {"content": f"{MARK}queued words"} if operation == "enqueue" else {}
        gone.plain("queue-operation", operation=operation, timestamp="2026-11-01T10:00:00.000Z", **text)
    gone.plain("custom-title", customTitle=f"{MARK}title")
    gone.records.append({"type": "summary", "summary": f"{MARK}summary", "leafUuid": gone.parent})
    gone.plain(f"{MARK}kind")
    agent = gone.subagent(f"{MARK}agent")
    agent.user("look")
    agent.tool("Read", {"file_path": f"/{MARK}file"}, f"{MARK}agent result")
    agent.text(f"{MARK}agent text")
    other = Transcript("other", "/home/dev/shop")
    other.user("zqother prompt")
    other.tool("Bash", {"command": "zqother"}, "zqother result")
    return {"gone": gone, "fork": fork, "other": other, "agent": agent}


def lay(root: Path) -> dict[str, Transcript]:
    """Write the history below `root`, the sub-agent's note too."""
    made = history()
    for transcript in made.values():
        transcript.write(root)
    note = {"toolUseId": None, "agentType": f"{MARK}type", "description": f"{MARK}description"}
    made["agent"].path(root).with_suffix(".meta.json").write_text(json.dumps(note))
    return made


def holding(home: Path, *words: str) -> list[str]:
    """Files under `home` that hold one of the words, whatever its case."""
    needles = [word.lower().encode() for word in words]
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    return [path.name for path in files if any(needle in path.read_bytes().lower() for needle in needles)]


def words_of(made: dict[str, Transcript]) -> list[str]:
    """What must not be found of the forgotten session: its words, its ids, those of its own records."""
    gone = made["gone"]
    kept = {record.get("uuid") for record in made["fork"].records}
    own = [record["uuid"] for record in gone.records if "uuid" in record and record["uuid"] not in kept]
    return [MARK, gone.session_id, *own]
