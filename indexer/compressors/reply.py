"""Reads what a model answered: JSON as asked for, or the XML that claude-mem's observers write. Pure.

Models wrap answers in fences and prose, leave fields out and make types up. What can be understood is taken:
an unknown type is `change`, an unknown concept is left out, too long is cut. What has no title, or neither
narrative nor fact, is no observation. Prose alone, half a JSON, the wrong shape are Unusable, with a reason
that can be told to the model.

XML by the rules of claude-mem (behaviour 5.3): `<skip_summary/>` anywhere wins; the first match of a field
counts; no unescaping. A `<summary>` alone says nothing about a turn's observations, so there is nothing to
record: session summaries are made from observations (compressors/digest.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from indexer.compressors import prose
from indexer.compressors.base import Finding, Reply, Unusable
from indexer.compressors.kinds import CONCEPTS, TYPES
from indexer.text import sanitize

MOST, FACTS, CONCEPTS_MOST, FILES = 6, 12, 4, 30
NARRATIVE, FACT, PATH = 2_000, 400, 400
LONGEST = 200_000
"""Characters of an answer that are looked at."""

_FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_SKIP = re.compile(r"<skip_summary\b[^>]*/?>")
_ROOT = re.compile(r"<(observation|summary)>")
_OBSERVATION = re.compile(r"<observation>(.*?)</observation>", re.DOTALL)
_WRAPPERS = ("result", "output", "data", "observations")


def parse(text: str) -> Reply:
    """An answer, understood. Raises Unusable."""
    text = text[:LONGEST]
    if fenced := _FENCE.match(text):
        text = fenced[1]
    if not text.strip():
        raise Unusable("it was empty")
    if _SKIP.search(text):
        return Reply((), skip=True)
    root, brace = _ROOT.search(text), text.find("{")
    if root and (brace < 0 or root.start() < brace):
        return _of_xml(text, root[1])
    return _of_json(text)


# --- JSON -----------------------------------------------------------------------------------------------


def _of_json(text: str) -> Reply:
    value = _object(text)
    rows = _rows(value)
    if not rows:
        return Reply((), skip=True)
    found = tuple(finding for row in rows[:MOST] if (finding := _finding(row)))
    if not found:
        raise Unusable("no observation had a title and a narrative or facts")
    return Reply(found)


def _object(text: str) -> Any:
    """The first JSON value that stands in a text."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    if not starts:
        raise Unusable("it was prose, not a JSON object")
    try:
        return json.JSONDecoder().raw_decode(text, min(starts))[0]
    except (ValueError, RecursionError):
        raise Unusable("it was not valid JSON") from None


def _rows(value: Any) -> list[Any]:
    """The list of observations. Raises Unusable for any other shape."""
    if isinstance(value, dict) and "title" in value:
        return [value]
    for name in _WRAPPERS:
        if isinstance(value, dict) and name in value:
            value = value[name]
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise Unusable('it was JSON without a list named "observations"')
    return value


def _finding(row: dict[str, Any]) -> Finding | None:
    facts = tuple(_texts(row.get("facts"), FACTS, FACT))
    return _made(_text(row.get("type"), 40), row, facts, _texts(row.get("concepts"), 20, 60), _read_files(row))


def _read_files(row: dict[str, Any]) -> Iterator[str]:
    return _texts(row.get("files_read"), FILES, PATH)


def _made(
    kind: str, row: dict[str, Any], facts: tuple[str, ...], concepts: Iterator[str], files: Iterator[str]
) -> Finding | None:
    title = prose.shortened(" ".join(_text(row.get("title"), 400).split()).rstrip(" .。"))
    narrative = _text(row.get("narrative"), NARRATIVE)
    if not title or not (narrative or facts):
        return None
    kind = kind.lower()
    named = [concept.partition(":")[0].strip().lower() for concept in concepts]
    return Finding(
        kind if kind in TYPES else "change", title, prose.subtitle(_text(row.get("subtitle"), 600)), narrative, facts,
        tuple(dict.fromkeys(one for one in named if one in CONCEPTS))[:CONCEPTS_MOST], tuple(files),
    )  # fmt: skip


def _texts(value: object, most: int, longest: int) -> Iterator[str]:
    for one in value[:most] if isinstance(value, list) else ():
        if text := " ".join(_text(one, longest).split()):
            yield text


def _text(value: object, longest: int) -> str:
    if not isinstance(value, str):
        return ""
    text = sanitize(value.encode("utf-8", "replace").decode()).strip()
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


# --- XML ------------------------------------------------------------------------------------------------


def _of_xml(text: str, root: str) -> Reply:
    if root == "summary":
        return Reply((), skip=True)
    found = tuple(finding for body in _OBSERVATION.findall(text)[:MOST] if (finding := _of_tags(body)))
    if not found:
        raise Unusable("no observation had a title and a narrative or facts")
    return Reply(found)


def _of_tags(body: str) -> Finding | None:
    row = {name: _tag(body, name) for name in ("type", "title", "subtitle", "narrative")}
    facts = tuple(_texts(_tags(body, "facts", "fact"), FACTS, FACT))
    concepts = _texts(_tags(body, "concepts", "concept"), 20, 60)
    return _made(row["type"], row, facts, concepts, _texts(_tags(body, "files_read", "file"), FILES, PATH))


def _tag(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found[1].strip() if found else ""


def _tags(text: str, outer: str, inner: str) -> list[str]:
    return re.findall(rf"<{inner}>(.*?)</{inner}>", _tag(text, outer), re.DOTALL)
