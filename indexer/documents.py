"""One row of the memory -> the documents that get vectors: one a narrative, text, fact, summary field or prompt.

As in claude-mem, but that titles are embedded too (an observation with a title only was never found
there): before the text they head. As documents of their own they drown it where several rows share one
(s_reactzh, USE: nDCG@10 0.252 against 0.354; fused 0.395 against 0.419). Long texts are cut into a few
pieces: the models read 100 to 250 words and forget the rest, so a prompt that pastes a log would be found
by its first lines alone. Pieces end at a line or a word.

A document's name is stable, so that the vector index updates in place: the row's native identity, the
field and the number of the piece. Its text is stored nowhere a second time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from indexer.store.embeddable import Row
from indexer.text import sanitize, segments

PIECE = 900
"""Room of a piece, in letters; a character of Chinese, Japanese, Korean or Thai takes the room of three."""
PIECES = {"prompt": 3, "command": 1, "shell": 1, "assistant": 4}
"""Pieces of one text at most, by kind; those of observations and summaries are short: 4."""
_MOST = 4
_WIDE = 3
_TITLE = 200
_LATIN_SHARE = 0.5
_TITLED = ("narrative", "text")


class Document(NamedTuple):
    """A text to be embedded. name: stable. hash: of the text, 16 bytes. latin: whether a model that knows
    Latin letters alone can make something of it."""

    name: str
    text: str
    hash: bytes
    latin: bool


def documents(row: Row) -> list[Document]:
    """The documents of a row, none of them empty; [] when it says nothing."""
    made = []
    for field, text in _texts(row):
        for number, piece in enumerate(chunks(text, PIECES.get(row.kind, _MOST))):
            name = f"{row.native}:{field}" + (f":{number}" if number else "")
            digest = hashlib.sha256(piece.encode("utf-8", "surrogatepass")).digest()[:16]
            made.append(Document(name, piece, digest, is_latin(piece)))
    return made


def stamp(row: Row, made: list[Document]) -> bytes:
    """16 bytes that change when anything changes that the vector index holds of the row."""
    about = (row.kind, row.project_key, row.merged, row.type, row.time, row.session)
    data = json.dumps([*about, *(one.name for one in made)]).encode() + b"".join(one.hash for one in made)
    return hashlib.sha256(data).digest()[:16]


def _texts(row: Row) -> Iterator[tuple[str, str]]:
    """Field and text; title and subtitle stand before the narrative or text, each fact by itself."""
    fields = dict(row.fields)
    title = ": ".join(fields.pop(name)[:_TITLE] for name in ("title", "subtitle") if name in fields)
    titled = next((name for name in _TITLED if fields.get(name)), None)
    if title and titled is None:
        yield "title", title
    for field, text in fields.items():
        if field == "facts":
            yield from ((f"fact_{i}", fact) for i, fact in enumerate(_facts(text)))
        else:
            yield field, f"{title}\n{text}" if title and field == titled else text


def _facts(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return [str(fact) for fact in found if fact] if isinstance(found, list) else [text]


def chunks(text: str, most: int = _MOST) -> list[str]:
    """`text` as pieces that a model reads whole, the first `most` of them; [] when nothing can be read.

    Space is folded, and each piece ends at a space where there is one in its last third."""
    # Folding takes out what a terminal would obey and no model has seen.
    flat = " ".join(sanitize(text[: 4 * PIECE * most]).split())
    pieces: list[str] = []
    while flat and len(pieces) < most:
        end = _fitting(flat)
        if end < len(flat) and (space := flat.rfind(" ", end * 2 // 3, end)) > 0:
            end = space
        pieces.append(flat[:end].strip())
        flat = flat[end:].strip()
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def _fitting(text: str) -> int:
    """How many characters of `text` fill a piece."""
    if text[:PIECE].isascii():
        return PIECE
    room = PIECE
    for place, wide in enumerate(_wide(text[:PIECE])):
        room -= _WIDE if wide else 1
        if room < 0:
            return place
    return PIECE


def _wide(text: str) -> Iterator[bool]:
    return (bool(_UNSPACED.match(character)) for character in text)


_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u30ff\u3105-\u318f\u31a0-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003fffd]"
)


def is_latin(text: str) -> bool:
    """Whether less than half of the letters are of scripts written without spaces (or hangul)."""
    if text.isascii():
        return True
    pieces = segments(text)
    unspaced = sum(map(len, pieces[1::2]))
    return unspaced < _LATIN_SHARE * max(1, unspaced + sum(sum(map(str.isalnum, piece)) for piece in pieces[::2]))


def is_wide(text: str) -> bool:
    """Whether any character is of a script written without spaces, or hangul: such questions are for
    models that know them."""
    return not text.isascii() and len(segments(text)) > 1
