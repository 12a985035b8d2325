"""Redaction of any text and any line: never raises, says the same twice, keeps JSON JSON."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from seeded import CONTEXTS, secrets

from indexer.records import Entry, Prompt
from indexer.redact import Redactor
from indexer.tags import hide_private

REDACTOR = Redactor(b"k" * 32)
SEEDED = [one.written for one in secrets(2)]
WORDS = st.sampled_from(
    [
        *SEEDED,
        *("password", "=", ": ", '"', "'", "\\", "\\n", "\n", " ", "<private>", "</private>", "`", "[REDACTED:", "]"),
        *("[REDACTED:jwt:01234567]", "sk-", "://", "@", "Bearer ", "token", "a1b2c3d4", "-----", "BEGIN", "eyJ", "."),
        *("<system-reminder>", "</system-reminder>", "\ud800", "\0", "é", "--token ", "login ", "Authorization"),
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=8), max_size=14).map("".join)
JSON = st.recursive(
    TEXTS.filter(lambda text: text.isascii()) | st.integers(-(2**53), 2**53) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS.filter(str.isascii), inner, max_size=4),
    max_leaves=12,
)


@given(TEXTS)
def test_a_text_is_redacted_once(text: str) -> None:
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


@given(st.sampled_from(SEEDED), st.sampled_from(sorted(CONTEXTS)), TEXTS, TEXTS)
def test_nothing_that_stands_around_a_secret_saves_it(secret: str, context: str, before: str, after: str) -> None:
    """What stands on lines of its own: within a line a neighbour may make another word of it."""
    alone = REDACTOR.text(CONTEXTS[context](secret))
    if secret not in alone:
        assert secret not in REDACTOR.text(f"{before}\n{CONTEXTS[context](secret)}\n{after}")


@given(JSON)
def test_json_stays_json_of_the_same_shape(value: Any) -> None:
    data = orjson.dumps(value)
    found = REDACTOR.line(data)
    assert shape(orjson.loads(found)) == shape(value)
    assert REDACTOR.line(found) == found


def shape(value: Any) -> object:
    if isinstance(value, dict):
        return len(value), sorted(repr(shape(item)) for item in value.values())
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


@given(st.binary(max_size=200) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_a_line_of_any_bytes_never_raises(data: bytes) -> None:
    found = REDACTOR.line(data)
    assert REDACTOR.line(found) == found


@given(TEXTS)
def test_an_entry_of_any_text_never_raises(text: str) -> None:
    entry = REDACTOR.entry(Entry(text, text, 1, text, text, text, True, None, None, (Prompt(text),)))
    assert REDACTOR.entry(entry) == entry


@given(TEXTS)
@settings(max_examples=300)
def test_what_is_hidden_is_hidden_once(text: str) -> None:
    once = hide_private(text)
    assert hide_private(once) == once
