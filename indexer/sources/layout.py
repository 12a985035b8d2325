"""Where Claude Code keeps its transcripts: what a path means, and the note beside a sub-agent's file.

    <folder>/<session>.jsonl                                  main thread
    <folder>/agent-<id>.jsonl                                 sub-agent, clients 2.0.28 .. 2.1.1
    <folder>/<session>/subagents/[...]/agent-<id>.jsonl       sub-agent since 2.1.2, and of workflows
    <folder>/<session>/subagents/[...]/agent-<id>.meta.json   its type and the call that spawned it

`agent-acompact-*`, `agent-aside_question-*` and `agent-aprompt_suggestion-*` are copies of the main thread
under the same uuids (up to 4,108 records in four of them): they are no transcripts for us.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import Any

import orjson

from indexer.records import AgentLink, Entry, SourceFile
from indexer.sources.fields import NAME_MOST, NOTE_MOST, identifier

_SUFFIX = ".jsonl"
_AGENT = "agent-"
_COPIES = ("acompact-", "aside_question-", "aprompt_suggestion-")
_NO_TRANSCRIPTS = frozenset({"journal", "history"})
_SIDE_FOLDERS = frozenset({"tool-results", "memory"})
_META_MOST = 64 * 1024


def describe(path: str, root: str) -> SourceFile | None:
    """What the file at `path` is; None when it is no transcript. `root` is the `projects` folder.

    A main file may have any stem directly in `root` or in a folder of it. Deeper down (a tree that was
    copied somewhere) it must be named by a UUID-like stem, so that unknown side files are not read.
    """
    prefix = root.rstrip(os.sep) + os.sep
    if not path.endswith(_SUFFIX) or not path.startswith(prefix):
        return None
    *folders, name = path[len(prefix) :].split(os.sep)
    stem = name[: -len(_SUFFIX)]
    if not stem or stem in _NO_TRANSCRIPTS or not _SIDE_FOLDERS.isdisjoint(folders):
        return None
    if stem.startswith(_AGENT):
        return _agent(path, folders, stem[len(_AGENT) :])
    if "subagents" in folders or (len(folders) > 1 and not _is_uuid(stem)):
        return None
    return SourceFile(path, folders[-1] if folders else "", stem, None)


def _agent(path: str, folders: list[str], agent_id: str) -> SourceFile | None:
    if not agent_id or agent_id.startswith(_COPIES):
        return None
    if "subagents" not in folders:
        return SourceFile(path, folders[-1] if folders else "", None, agent_id)
    above = folders[: folders.index("subagents")]
    session = above[-1] if above else None
    return SourceFile(path, above[-2] if len(above) > 1 else "", session, agent_id)


def _is_uuid(stem: str) -> bool:
    return len(stem) == 36 and stem.count("-") == 4 and stem.replace("-", "").isalnum()


def agent_note(file: SourceFile) -> Entry | None:
    """The link in the `.meta.json` beside a sub-agent's file; None without a readable one."""
    if file.agent_id is None:
        return None
    meta = _small_object(file.path[: -len(_SUFFIX)] + ".meta.json")
    if meta is None:
        return None
    link = AgentLink(
        file.agent_id,
        identifier(meta.get("toolUseId")),
        _text(meta.get("agentType"), NAME_MOST),
        _text(meta.get("description"), NOTE_MOST),
    )
    return Entry(None, file.session_id, None, None, None, None, True, file.agent_id, None, (link,))


def _small_object(path: str) -> dict[str, Any] | None:
    """The JSON object in a regular file of at most 64 KiB. Links are not followed, pipes not waited for."""
    with suppress(OSError, ValueError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            value = orjson.loads(os.read(fd, _META_MOST)) if _is_small_file(fd) else None
        finally:
            os.close(fd)
        return value if type(value) is dict else None
    return None


def _is_small_file(fd: int) -> bool:
    status = os.fstat(fd)
    return stat.S_ISREG(status.st_mode) and status.st_size <= _META_MOST


def _text(value: object, most: int) -> str | None:
    return value[:most] if type(value) is str and value else None
