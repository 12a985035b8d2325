"""A tool call as a person reads it: what it was given, by its tool, and what it gave. Edits are diffs.

Whatever is too long is cut, and the whole is one link away. Added and removed lines differ by their sign too,
not by colour alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from indexer.store.story import Call
from indexer.text import glance
from indexer.web.layout import aside, lasting
from indexer.web.markup import Html, join, tag

LONGEST = 3_000
"""Characters of one text."""
LINES = 60
_COMPARED = 400
"""Lines of each side that are compared: the comparison is quadratic."""
_CONTEXT = 2
_MARKS = {"completed": "[x]", "in_progress": "[~]"}


def folded(call: Call, whole: str, more: Html | None = None) -> Html:
    """The call, folded. whole: the address of all of it. more: what stands below its output."""
    given = read(call.given)
    failed = tag("span", "failed", class_="failed") if call.failed else None
    open_ = None if call.answered else tag("span", "no answer")
    head = tag("summary", aside(join(tag("b", call.name), " ", gist(call, given)), failed, open_, lasting(call.took)))
    return tag("details", head, _given(call, given), _answer(call, whole), more, class_="tool")


def read(text: str) -> Any:
    """A call's input; the text itself where it was cut and is no JSON any more."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def gist(call: Call, given: Any) -> str:
    """The thing that tells a call from others: its command, file, pattern or first text."""
    if not isinstance(given, dict):
        return glance(str(given), 120)
    for name in ("command", "file_path", "notebook_path", "pattern", "description", "query", "url"):
        if isinstance(given.get(name), str):
            return glance(given[name], 120)
    return glance(next((value for value in given.values() if isinstance(value, str)), ""), 120)


def _given(call: Call, given: Any) -> Html:
    if not isinstance(given, dict):
        return tag("pre", cut(str(given)))
    if isinstance(given.get("command"), str):
        said = given.get("description")
        return join(tag("p", cut(str(said))) if said else None, tag("pre", f"$ {cut(given['command'])}"))
    if edits := list(_edits(given)):
        path = tag("p", tag("code", cut(str(given.get("file_path") or ""))))
        return join(path, [difference(old, new) for old, new in edits[:8]])
    if isinstance(given.get("todos"), list):
        return tag("ul", [tag("li", cut(_todo(one))) for one in given["todos"][:40]])
    return _fields(given)


def _edits(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Old and new text of each edit; a file that was written is all new."""
    every = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    for one in every or ():
        if isinstance(one, dict) and isinstance(one.get("new_string"), str):
            yield str(one.get("old_string") or ""), one["new_string"]
    if isinstance(given.get("content"), str) and "file_path" in given:
        yield "", given["content"]


def difference(old: str, new: str) -> Html:
    """What changed, line by line, with a little of what stands around it."""
    before, after = (text.splitlines()[:_COMPARED] for text in (old, new))
    lines = list(unified_diff(before, after, n=_CONTEXT, lineterm=""))[2:]
    kinds = {"+": "added", "-": "removed", "@": "meta"}
    shown = [tag("span", glance_line(line), class_=kinds.get(line[:1])) for line in lines[:LINES]]
    hidden = tag("span", f"… {len(lines) - LINES:,} more lines") if len(lines) > LINES else None
    return tag("pre", shown, hidden, class_="diff")


def glance_line(line: str) -> str:
    """A line of a diff, cut where nobody reads on."""
    return line if len(line) <= 400 else line[:399] + "…"


def _todo(one: object) -> str:
    if not isinstance(one, dict):
        return str(one)
    return f"{_MARKS.get(str(one.get('status')), '[ ]')} {one.get('content') or one.get('subject') or ''}"


def _fields(given: Mapping[str, Any]) -> Html:
    rows = []
    for name, value in list(given.items())[:20]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = tag("pre", cut(text)) if "\n" in text or len(text) > 200 else tag("code", text)
        rows += [tag("dt", glance(name, 60)), tag("dd", shown)]
    return tag("dl", rows, class_="facts") if rows else Html("")


def _answer(call: Call, whole: str) -> Html:
    left = call.length - min(call.length, LONGEST)
    link = tag("a", f"all of it ({call.length:,} characters)" if left else "by itself", href=whole)
    shown = tag("pre", cut(call.answer)) if call.answer.strip() else None
    return join(shown, tag("p", link, class_="meta"))


def cut(text: str) -> str:
    """At most LONGEST characters, with a sign that there is more."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
