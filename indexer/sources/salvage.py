"""The ladder for lines that orjson refuses: what of them can be read, and which bytes are lost.

Damage as counted in 744,595 real lines: one lone surrogate escape (orjson refuses it, json takes it; it
held a tool call), six torn records with the next record glued on behind, one blank line. Reported by
others: runs of NUL bytes where a power cut left a hole, BOMs. Steps, each only when the one before failed:

1. `json` on the decoded bytes: it also takes NaN, big integers and lone surrogates, which are made
   storable here (U+FFFD; integers beyond 64 bits become floats, as orjson makes them).
2. Bytes that are no UTF-8 read with U+FFFD, if that yields an object with a `uuid`. A record with a
   spoilt character is worth more than a dead letter, and nothing below could read it better. The loss is
   counted (`invalid-utf-8`). Without a `uuid` nothing vouches for the object: it stays a dead letter.
3. The pieces between NUL runs, each by the same steps; in a piece that is no JSON, whole records that
   stand one behind another, or behind a torn one. A record found amid garbage must have `uuid` and
   `sessionId`; one at the start of a piece or right behind a whole record only needs a `type`.

The search is bounded, so that a hostile line costs a second and not an hour: 200 starts that are none, and
16 MiB read in vain, in the last MiB of a piece. Whole records behind one another are free: a file whose
newlines were lost is one line. Every stretch of bytes that yielded nothing comes back as `Unreadable`.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from indexer.records import Ignored, Unreadable
from indexer.sources.fields import identifier

_VALUES = 2_000_000
_TRIES = 200
_SCAN = 16 << 20
_WINDOW = 1 << 20
_BOM = b"\xef\xbb\xbf"
_PIECE = re.compile(rb"[^\x00]+")
_START = re.compile(
    rb'\{"(?:parentUuid|logicalParentUuid|isSidechain|userType|cwd|session_?[iI]d|version|gitBranch|agentId'
    rb'|slug|type|uuid|timestamp|message|promptId|requestId|forkedFrom)"'
)
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_raw_decode = json.JSONDecoder().raw_decode


class _Refused(Exception):
    """No step could read these bytes as one JSON value; the argument is the reason."""


class _Span(NamedTuple):
    start: int
    end: int
    value: object


def too_many_values(data: bytes) -> bool:
    """Whether a long line holds more JSON values than can be had in memory: 60 MB of `[]` are 2 GB of lists.
    Real lines of that length are nearly all string; brackets and commas within strings do not count."""
    if _separators(data) <= _VALUES:
        return False
    return _separators(_STRING.sub(b"", data)) > _VALUES


def _separators(data: bytes) -> int:
    return data.count(b"[") + data.count(b"{") + data.count(b",")


def decode(data: bytes) -> list[object]:
    """What a line holds, in order: decoded JSON values, and `Unreadable` or `Ignored` records for what
    could not be read or was spoilt. Empty for a blank line. Never raises.

    Offsets of `Unreadable` count from the start of `data`, a BOM included.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    line = data[start:]
    if not line.strip():
        return []
    try:
        return [_load(line)]
    except _Refused as refused:
        reason = str(refused)
    if reason == "not-utf-8":
        value = _replaced(line)
        if value is not None:
            return [value, Ignored("invalid-utf-8")]
    return _with_losses(data, start, _Search(data, start).spans(), reason)


def _load(data: bytes) -> Any:
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(data)
    try:
        return _parse(_text(data))
    except UnicodeDecodeError:
        raise _Refused("not-utf-8") from None
    except RecursionError:
        raise _Refused("too-deep") from None
    except ValueError:
        raise _Refused("not-json") from None


def _text(data: bytes) -> str:
    """Strict UTF-8, or UTF-8 in which a surrogate was encoded as if it were a character."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogatepass")


def _replaced(data: bytes) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        value = _parse(data.decode("utf-8", "replace"))
        if type(value) is dict and identifier(value.get("uuid")):
            return value
    return None


def _parse(text: str) -> Any:
    return _storable(json.loads(text, parse_int=_integer))


def _integer(digits: str) -> int | float:
    if len(digits) > 20:
        return float(digits)
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(number)


def _storable(value: object) -> object:
    """As orjson would have made it, had it read the line: U+0000 stays, it is valid JSON."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value


class _Search:
    """Looks for whole records in a damaged line.

    The bytes are searched as Latin-1 text: one character a byte, so json's positions are byte offsets.
    What is found is then decoded properly.
    """

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._text = data.decode("latin-1")
        self._start = start
        self._tries = _TRIES
        self._scan = _SCAN

    def spans(self) -> list[_Span]:
        found: list[_Span] = []
        for piece in _PIECE.finditer(self._data, self._start):
            if self._tries <= 0:
                break
            found += self._piece(*piece.span())
        return found

    def _piece(self, start: int, end: int) -> list[_Span]:
        found: list[_Span] = []
        at, behind_record = start, True
        while at < end and self._tries > 0 and self._scan > 0:
            span = self._object(at, end, free=behind_record)
            if span and _is_record(span.value, behind_record):
                found.append(span)
                at, behind_record = span.end, True
                continue
            self._tries -= 1
            # A whole object that is no record cannot hold one either: go on behind it.
            at = max(span.end if span else at + 1, end - _WINDOW)
            match = _START.search(self._data, at, end)
            if not match:
                break
            at, behind_record = match.start(), False
        return found

    def _object(self, at: int, end: int, free: bool) -> _Span | None:
        """The JSON value at `at`; None if there is none. Bytes read in vain are counted, unless `free`."""
        while at < end and self._data[at] in b" \t\r":
            at += 1
        try:
            _, stop = _raw_decode(self._text, at)
            return _Span(at, stop, _load(self._data[at:stop]))
        except json.JSONDecodeError as error:
            self._scan -= 0 if free else error.pos - at
        except (ValueError, RecursionError, _Refused):
            self._tries -= 1
        return None


def _is_record(value: object, behind_record: bool) -> bool:
    if type(value) is not dict:
        return False
    if behind_record and type(value.get("type")) is str:
        return True
    return bool(identifier(value.get("uuid")) and identifier(value.get("sessionId")))


def _with_losses(data: bytes, start: int, spans: list[_Span], reason: str) -> list[object]:
    """The values of `spans` with an `Unreadable` for each stretch of bytes between them."""
    found: list[object] = []
    for span in [*spans, _Span(len(data), len(data), None)]:
        lost = data[start : span.start]
        if lost.strip():
            found.append(Unreadable(_reason(lost, reason if not spans else "torn"), start, len(lost)))
        if span.start < len(data):
            found.append(span.value)
        start = span.end
    return found


def _reason(lost: bytes, otherwise: str) -> str:
    return otherwise if lost.strip(b"\x00 \t\r\n") else "nul-bytes"
