"""Every field of a line has its type and bounds; what is beyond them makes that line faulty, and says so."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.exchange import shape
from indexer.exchange.shape import Faulty, MemoryLine, RecordLine, SessionLine, check_header, item, too_deep
from indexer.store import exports

SESSION = {"kind": "session", "session": "s", "files": [{"n": 1, "path": "/p"}]}
RECORD = {"kind": "record", "session": "s", "uuid": "u", "file": 1, "line": 1, "prompt": {"text": "hello"}}
MEMORY = {
    "kind": "observation",
    "session": "s",
    "identity": "t#edits",
    "values": {"type": "bugfix", "title": "Fixed", "facts": '["one"]'},
}
CALL = {"identity": "toolu_1", "id": "toolu_1", "name": "Bash", "input": "{}"}


def test_the_least_that_a_line_may_say() -> None:
    assert isinstance(item(SESSION), SessionLine)
    assert isinstance(item(RECORD), RecordLine)
    assert isinstance(item(MEMORY), MemoryLine)


def test_unknown_fields_are_passed_over() -> None:
    assert item(RECORD | {"later": [1, 2]}) == item(RECORD)


def test_texts_are_such_as_sqlite_takes() -> None:
    found = item(RECORD | {"prompt": {"text": "a\0b\ud800"}})
    assert isinstance(found, RecordLine)
    assert found.prompt is not None
    assert found.prompt.text == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    ("line", "change", "fault"),
    [
        (SESSION, {"session": 5}, "session: no name"),
        (SESSION, {"session": ""}, "session: no name"),
        (SESSION, {"session": "a\nb"}, "session: no name"),
        (SESSION, {"session": "x" * 513}, "session: no name"),
        (SESSION, {"session": None}, "session: missing"),
        (SESSION, {"platform": "cl/aude"}, "platform: no name of a client"),
        (SESSION, {"started": "today"}, "started: not a time"),
        (SESSION, {"started": -1}, "started: not a time"),
        (SESSION, {"started": 1 << 60}, "started: not a time"),
        (SESSION, {"started": True}, "started: not a time"),
        (SESSION, {"cwd": "x" * 5000}, "cwd: longer than 4096 characters"),
        (SESSION, {"cwd": ["/"]}, "cwd: not a text"),
        (SESSION, {"files": "all"}, "files: not a list of objects"),
        (SESSION, {"files": [1]}, "files: not a list of objects"),
        (SESSION, {"files": [{"n": 1}]}, "path: missing"),
        (SESSION, {"files": [{"n": "1", "path": "/p"}]}, "n: not a whole number"),
        (SESSION, {"files": [{"n": 1, "path": "/p"}] * 10_001}, "files: not a list of objects"),
        (SESSION, {"agents": [{"type": "x"}]}, "agent: missing"),
        (RECORD, {"uuid": {}}, "uuid: no name"),
        (RECORD, {"line": 1.5}, "line: not a whole number"),
        (RECORD, {"line": 1 << 62}, "line: not a whole number"),
        (RECORD, {"sidechain": "yes"}, "sidechain: neither true nor false"),
        (RECORD, {"prompt": "hello"}, "prompt: not an object"),
        (RECORD, {"prompt": {"text": 5}}, "text: not a text"),
        (RECORD, {"prompt": {}}, "text: missing"),
        (RECORD, {"prompt": {"text": "x", "kind": "spell"}}, "prompt: of no known kind"),
        (RECORD, {"prompt": None}, "a record that holds nothing"),
        (RECORD, {"texts": [{"message": "m", "tokens": [1]}]}, "tokens: not four counts"),
        (RECORD, {"texts": [{"message": "m", "tokens": [1, 2, 3, "4"]}]}, "tokens: not four counts"),
        (RECORD, {"calls": [{"id": "x"}]}, "identity: missing"),
        (RECORD, {"calls": [CALL | {"input": {}}]}, "input: not a text"),
        (RECORD, {"calls": [CALL | {"input_hash": "zz"}]}, "input_hash: no hash"),
        (RECORD, {"results": [{"identity": "x", "error": 1}]}, "error: neither true nor false"),
        (RECORD, {"events": [{"ordinal": 0, "kind": "exit", "data": "[1]"}]}, "data: not an object"),
        (RECORD, {"events": [{"ordinal": 0, "kind": "exit", "data": "{"}]}, "data: not JSON"),
        (MEMORY, {"values": []}, "values: not an object"),
        (MEMORY, {"values": {"title": "x"}}, "type: missing"),
        (MEMORY, {"values": {"type": "bugfix"}}, "a memory that says nothing"),
        (MEMORY, {"values": {"type": "bugfix", "title": 5}}, "title: not a text"),
        (MEMORY, {"values": {"type": "x", "title": "t", "facts": "{}"}}, "facts: not a list of texts"),
        (MEMORY, {"values": {"type": "x", "title": "t", "facts": "[1]"}}, "facts: not a list of texts"),
        (MEMORY, {"values": {"type": "x", "title": "t", "discovery_tokens": -1}}, "discovery_tokens: not a count"),
        (MEMORY, {"values": {"type": "x", "title": "t", "metadata": "[" * 99 + "]" * 99}}, "metadata: nested too deep"),
        (MEMORY, {"calls": [5]}, "calls: not a list of ids"),
        (MEMORY, {"identity": None}, "identity: missing"),
        (MEMORY, {"kind": "work", "values": {"list_name": "x"}}, "fields: missing"),
        (MEMORY, {"kind": "summary", "values": {"type": "x"}}, "a memory that says nothing"),
        (MEMORY, {"kind": "spell"}, "of no known kind"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_in_few_words(line: dict[str, Any], change: dict[str, Any], fault: str) -> None:
    with pytest.raises(Faulty) as raised:
        item(line | change)
    assert str(raised.value) == fault


@pytest.mark.parametrize("line", [None, 5, "text", [], {}, {"kind": []}], ids=str)
def test_what_is_no_line_at_all(line: object) -> None:
    with pytest.raises(Faulty):
        item(line)
    with pytest.raises(Faulty):
        check_header(line)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([SESSION, RECORD, MEMORY]), st.data())
def test_whatever_a_field_holds_nothing_but_a_fault_is_raised(line: dict[str, Any], data: st.DataObject) -> None:
    names = [*line, *SessionLine._fields, *RecordLine._fields, *MemoryLine._fields]
    changed = line | {data.draw(st.sampled_from(names)): data.draw(_ANY)}
    with suppress(Faulty):
        assert item(changed) == item(changed)


def test_depth_is_counted_without_recursion() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    assert too_deep(value)
    assert not too_deep({"a": [{"b": [1]}]})
    assert not too_deep([[1]], 2)
    assert too_deep([[[1]]], 2)


def test_the_format_is_the_one_that_is_written() -> None:
    assert (shape.FORMAT, shape.VERSION) == (exports.FORMAT, exports.VERSION)
