"""What is stored and what is indexed of a tool call: JSON texts, and the strings a search should find."""

from __future__ import annotations

from hashlib import sha256

import orjson

from indexer.text import clean, cut, json_text, search_tokens, storable

STORED = 64 << 10
"""Bytes of UTF-8 that are stored of an input and of a response."""
INPUT_INDEXED = 1_024
"""Bytes of UTF-8 of input strings that are indexed (DECISIONS, search text)."""
RESULT_INDEXED = 512
"""Bytes of UTF-8 of a result's beginning, and of its end, that are indexed (ibid.)."""


def dump(value: object) -> tuple[str, bytes]:
    """Compact JSON and its UTF-8, with non-ASCII as it is (`\\uXXXX` would hide it from the index)."""
    try:
        data = orjson.dumps(value)
    except TypeError:
        # Lone surrogates, integers beyond 64 bits, more than 254 levels.
        return storable(json_text(value))
    return data.decode(), data


def capped(text: str, data: bytes) -> str:
    """`text`, whose UTF-8 is `data`, cut to what is stored."""
    return text if len(data) <= STORED else cut(text, STORED)


def digest(*parts: bytes) -> str:
    """16 hex digits of the SHA-256 of the parts, joined by NUL: `text.content_hash` without encoding."""
    return sha256(b"\0".join(parts)).hexdigest()[:16]


def input_text(value: object) -> str:
    """The strings of a tool input, values only, up to 1 KB: what a search should find of it."""
    parts: list[str] = []
    room = INPUT_INDEXED
    stack = [value]
    while stack and room > 0:
        item = stack.pop()
        if isinstance(item, str):
            part = _head(clean(item[:room]), room)
            parts.append(part)
            room -= _size(part)
        elif isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))
    return "\n".join(parts)


def result_tokens(response: str) -> str:
    """Index text of a result: its first and last 512 bytes."""
    if not response:
        return ""
    ends = f"{_head(response, RESULT_INDEXED)}\n{_tail(response, RESULT_INDEXED)}"
    return "\n" + search_tokens(response if len(response) <= 2 * RESULT_INDEXED >= _size(response) else ends)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _head(text: str, room: int) -> str:
    """The characters that fit into `room` bytes from the start."""
    text = text[:room]
    return text if text.isascii() else text.encode()[:room].decode("utf-8", "ignore")


def _tail(text: str, room: int) -> str:
    """The characters that fit into `room` bytes at the end."""
    text = text[-room:]
    return text if text.isascii() else text.encode()[-room:].decode("utf-8", "ignore")
