"""What of a `user` record a person typed.

Of 211,091 user records with a message 4.8 % are human prompts; most of the rest is tool results. The flags
that tell (`isMeta`, `origin`, `promptSource`) came late and irregularly, so what a text starts with is
needed for ever (transcript-format, section 3). Two rules keep real prompts in: nothing is dropped for its
first character (`<h3>`, `[`, `/path` are typed by people), and the openings that were only ever seen under
`isMeta` are not machine marks by themselves when a person may well type them (`Continue from where you
left off`, `[Image #1] what is this?`).

Elements a program wrapped into the text are cut out, with their content, per text block. `private` is the
user's own mark: left unclosed it reaches to the end of its block, since a forgotten tag must not publish
what follows. An unclosed tag of the others is text: people ask about `<system-reminder>`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from indexer.records import Ignored, Prompt, PromptKind, Record
from indexer.sources import turn_events
from indexer.sources.fields import ignored
from indexer.text import clean

MEDIA_PROMPT = "[media prompt]"
"""Text of a prompt that is nothing but images or documents."""

_INTERRUPTED = "[Request interrupted by user"
_CONTINUED = "This session is being continued from a previous conversation"
_COMMAND = ("<command-name>", "<command-message>")
_SHELL = "<bash-input>"
_MACHINE = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "Caveat: The messages below",
    "<task-notification>",
    "<teammate-message",
    "<bash-stdout>",
    "<bash-stderr>",
    "<bash-notification>",
    "Base directory for this skill",
    "Stop hook feedback",
    "<objective>",
    "<execution_context>",
    "Unknown slash command",
)
_PRIVATE = "private"
_TAG = re.compile(
    r"<(/?)(ide_opened_file|ide_selection|ide_diagnostics|system-reminder|claude-mem-context|indexer-memory"
    r"|system_instruction|system-instruction|persisted-output|private)(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
_NO_TEXT: tuple[Record, ...] = (Ignored("no-prompt-text"),)
_MACHINE_TEXT: tuple[Record, ...] = (Ignored("machine-text"),)


class _Visible(NamedTuple):
    """A message's text without wrappers; whether a private part was cut, media stood there, what else."""

    text: str
    private: bool
    media: bool
    unknown: tuple[Record, ...]


def read(content: object, queued: bool = False) -> tuple[Record, ...]:
    """The records of a message's `content` (a string or a list of blocks) that a person may have typed.

    Everything that its envelope can tell (side chain, meta, origin) is the caller's business.
    """
    seen = _visible(content)
    text = seen.text
    if text:
        if text[0] in "<[TCBSU":
            machine = _machine(text, queued)
            if machine:
                return machine
        return (Prompt(text, "prompt", False, queued), *seen.unknown)
    if seen.private:
        return (Prompt("", "prompt", True, queued),)
    if seen.media:
        return (Prompt(MEDIA_PROMPT, "prompt", False, queued), *seen.unknown)
    return seen.unknown or _NO_TEXT


def visible_text(content: object) -> str:
    """The text of `content` without wrapped and private parts; "" if nothing is left."""
    return _visible(content).text


def command(text: str, queued: bool = False) -> tuple[Record, ...]:
    """A slash command as `/name args`. The tags come in either order, the name with and without slash."""
    name = _element(text, "command-name") or _element(text, "command-message")
    if not name:
        return _MACHINE_TEXT
    spelled = f"/{name.removeprefix('/')} {_element(text, 'command-args')}"
    return _typed(spelled, "command", queued)


def _machine(text: str, queued: bool) -> tuple[Record, ...]:
    """The records of a text that a program wrote or framed; empty if it is an ordinary prompt."""
    if text.startswith(_COMMAND):
        return command(text, queued)
    if text.startswith(_SHELL):
        return _typed(_element(text, "bash-input"), "shell", queued)
    if text.startswith(_INTERRUPTED):
        return (turn_events.interruption(text),)
    if text.startswith(_CONTINUED):
        return (turn_events.compaction(text),)
    return _MACHINE_TEXT if text.startswith(_MACHINE) else ()


def _typed(text: str, kind: PromptKind, queued: bool) -> tuple[Record, ...]:
    text = text.strip()
    return (Prompt(text, kind, False, queued),) if text else _MACHINE_TEXT


def _element(text: str, name: str) -> str:
    """Content of the first `<name>` element, trimmed; of an unclosed one, what follows."""
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _visible(content: object) -> _Visible:
    if type(content) is str:
        text, private = _unwrapped(content)
        return _Visible(clean(text.strip()), private, False, ())
    texts: list[str] = []
    unknown: list[Record] = []
    private = media = False
    for block in content if type(content) is list else ():
        kind = block.get("type") if type(block) is dict else None
        if kind == "text" and type(block.get("text")) is str:
            text, cut = _unwrapped(block["text"])
            private |= cut
            if text.strip():
                texts.append(text)
        elif kind in ("image", "document"):
            media = True
        elif type(block) is str:
            texts.append(_unwrapped(block)[0])
        else:
            unknown.append(ignored(kind, "block:"))
    return _Visible(clean("\n".join(texts).strip()), private, media, tuple(unknown))


def _unwrapped(text: str) -> tuple[str, bool]:
    """`text` without wrapper elements, and whether a private one was among them.

    An element nested in one of its own name ends with its own tag; where elements overlap, all of both
    goes. An unclosed `<private>` that a program wrote, inside its own wrapper, hides nothing else.
    """
    tags = list(_TAG.finditer(text)) if "<" in text else []
    if not tags:
        return text, False
    ends = _ends(tags)
    kept: list[str] = []
    at, private = 0, False
    for tag in tags:
        start, is_private = tag.start(), tag[2].lower() == _PRIVATE
        end = ends.get(start, len(text) if is_private and start >= at and not tag[1] else -1)
        if end <= at:
            continue
        kept.append(text[at:start])
        at = end
        private |= is_private
    kept.append(text[at:])
    return "".join(kept), private


def _ends(tags: list[re.Match[str]]) -> dict[int, int]:
    """Where the element of each opening tag ends, by the tag's start; unclosed ones are absent."""
    ends: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for tag in tags:
        stack = opened.setdefault(tag[2].lower(), [])
        if tag[0].endswith("/>"):
            ends[tag.start()] = tag.end()
        elif not tag[1]:
            stack.append(tag.start())
        elif stack:
            ends[stack.pop()] = tag.end()
    return ends
