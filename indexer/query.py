"""What a person typed -> a Query that cannot be malformed. Pure, and raises for nothing that is a string.

Every word reaches FTS5 in double quotes, so `NOT`, `C++`, `a*b`, `claude-mem` and an odd `"` are words and
no syntax. Understood are `"exact phrase"`, `-word` and `title:word` (also together, as `-title:"x y"`);
what is malformed falls back to plain words, and what holds no letter or digit is dropped.

Words become what `text.search_tokens` makes of them in the index: a Chinese word the phrase of its
bigrams, one character a prefix, and an identifier itself or its parts in a row, so that `is_valid_email`
and `isValidEmail` find each other.

Each word carries two forms. `match` is the whole word, for rows that hold all words. `loose` is for the
ranked search that answers a question in plain language: there a run of Chinese, which has no spaces, is
the list of its bigrams (nDCG@10 0.926 on cmrc against 0.000 for AND, retrieval.md section 4), and a Latin
word its pieces too (0.334 -> 0.350 on s_reactzh, by benchmarks/retrieval.py; both halves of it gain). But
a Latin word that stands alone stays whole, unless brackets or commas show that it is several: `gen-itgc`
that is nowhere must not find every `gen`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from indexer.errors import UsageError
from indexer.store.filters import Filters, Term
from indexer.text import bigrams, clean, humps, sanitize, segments

__all__ = ["Filters", "Query", "parse", "parse_when", "plain"]

LONGEST = 4_096
"""Characters of a query that are looked at: a pasted log must not become ten thousand words."""
MOST_WORDS = 64
LIMITS = (1, 500)
_NO_WORDS = "there is no word or number in that to look for: these are the newest"
_FEWER = f"at most {LIMITS[1]} results are given at a time; --offset leads on"
_FAR = 1 << 62
_LAST_DAY = 253_402_128_000_000
"""The last day of 9999 but one: a zone ahead of UTC must not lead into the year 10000."""
_UNFILTERED = Filters()

# -, title:, then a phrase in quotes or a word. A dash or title: that leads nothing is part of the word.
_ITEM = re.compile(r'(-(?=[^\W_]|"))?(title:(?=\S))?(?:"([^"]*)"|([^\s"]+))', re.IGNORECASE)
# What `_ITEM` would take for more than words.
_SIGNS = re.compile(r'"|(?<!\S)(?:-|title:)+', re.IGNORECASE)
# Punctuation that stands between words without a space; quotation marks that a keyboard turns.
_SEPARATORS = str.maketrans(
    dict.fromkeys("、。，．；：？！（）〈〉《》「」『』【】〔〕…—・｡､｢｣", " ") | dict.fromkeys("“”„‟＂", '"')
)
# What unicode61 takes for one token, or for less than one where only a table of Unicode could tell.
_WORD = re.compile(r"[^\s!-/:-@\[-`{-~\x80-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\u2000-\u206f\ufffd]+")
_NAME = re.compile("[A-Za-z0-9_]+")
# Punctuation that ends a word rather than being part of one, as `-`, `.` and `/` may be.
_JOINED = re.compile(r"[^\W_].*[(){}\[\],;=<>|&!?].*[^\W_]")
_SPAN = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the memory. It fits `store.filters.Wanted`.

    terms: in the order typed, each once. excluded: what no hit may hold. words: lower-case
    forms to look for in the original text, for snippets. No terms: the newest rows that pass the filters.
    question: what is asked for without the signs that mean something, for a reader of sentences.
    """

    text: str
    question: str
    terms: tuple[Term, ...]
    excluded: tuple[Term, ...]
    words: tuple[str, ...]
    filters: Filters
    notes: tuple[str, ...] = ()
    """What of the question was taken otherwise than it was put, for people."""

    @property
    def all(self) -> str:
        """MATCH string for rows that hold every word; "" without words."""
        return " AND ".join(f"({term.match})" for term in self.terms)

    @property
    def any(self) -> str:
        """MATCH string for rows that hold any of the words; "" without words."""
        return " OR ".join(dict.fromkeys(loose for term in self.terms for loose in term.loose))


def parse(text: str, filters: Filters = _UNFILTERED) -> Query:
    """Read what was typed. Never raises; limit, offset and times are brought into their ranges."""
    words = sanitize(text[:LONGEST]).translate(_SEPARATORS)
    every = _ITEM.findall(words)
    items = [item for item in every if any(map(str.isalnum, item[2] or item[3]))]
    wanted = [item for item in items if not item[0]][:MOST_WORDS]
    unwanted = [item for item in items if item[0]][:MOST_WORDS]
    surfaces = dict.fromkeys(word for item in wanted for word in _surfaces(item[2] or item[3]))
    return Query(
        text,
        " ".join(item[2] or item[3] for item in every if not item[0]),
        tuple(dict.fromkeys(_term(*item, alone=len(wanted) == 1) for item in wanted)),
        tuple(dict.fromkeys(_term(*item, alone=True) for item in unwanted)),
        tuple(surfaces),
        _in_range(filters),
        tuple(_notes(text, items, filters)),
    )


def plain(text: str, filters: Filters = _UNFILTERED) -> Query:
    """Read a text that nobody typed as a question: nothing in it leaves out or requires anything."""
    query = parse(_SIGNS.sub(" ", sanitize(text[:LONGEST]).translate(_SEPARATORS)), filters)
    return replace(query, notes=tuple(note for note in query.notes if note != _NO_WORDS))


def _notes(text: str, items: Sequence[tuple[str, ...]], filters: Filters) -> Iterator[str]:
    if text.strip() and not items:
        yield _NO_WORDS
    if filters.limit > LIMITS[1]:
        yield _FEWER


def parse_when(text: str, now: int, tz: tzinfo, *, end: bool = False) -> int:
    """A moment as epoch milliseconds: `2026-11-20`, `2026-11-20T15:00+01:00`, `today`, `yesterday`, `now`,
    or a span back from `now` (ms): `30m`, `12h`, `7d`, `2w`.

    What has no offset is in `tz`. A day means its first millisecond, with `end` its last.
    Raises UsageError, naming the zone.
    """
    word = text.strip().lower()
    here = datetime.fromtimestamp(min(now, _LAST_DAY) / 1000, UTC).astimezone(tz)
    days = {"today": 0, "yesterday": 1}
    try:
        if word == "now":
            return now
        if span := _SPAN.fullmatch(word):
            return now - timedelta(**{_UNITS[span[2]]: int(span[1])}) // timedelta(milliseconds=1)
        if word in days:
            return _day(here.date() - timedelta(days=days[word]), tz, end)
        if len(word) <= len("2026-11-20"):
            return _day(date.fromisoformat(word), tz, end)
        moment = datetime.fromisoformat(word.upper())
        return _epoch(moment if moment.tzinfo else moment.replace(tzinfo=tz))
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a time I can read (times without an offset are in {_zone(here)})",
            "as 2026-11-20, 2026-11-20T15:00, 2026-11-20T15:00+01:00, today, yesterday, 12h, 7d or 2w",
        ) from None


def _day(day: date, tz: tzinfo, end: bool) -> int:
    start = datetime.combine(day + timedelta(days=end), time(), tz)
    return _epoch(start) - end


def _epoch(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _zone(here: datetime) -> str:
    offset = here.strftime("%z")
    if here.tzname() == "UTC":
        return "UTC"
    return f"{here.tzname()}, UTC{offset[:3]}:{offset[3:5]}"


def _in_range(filters: Filters) -> Filters:
    """Values that SQLite can bind: clean strings, integers of 64 bits."""
    changes: dict[str, Any] = {}
    for field in fields(filters):
        value = getattr(filters, field.name)
        if isinstance(value, str):
            changes[field.name] = clean(value)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(map(clean, value))
        elif isinstance(value, int):
            changes[field.name] = max(-_FAR, min(value, _FAR))
    low, high = LIMITS
    limit, offset = max(low, min(filters.limit, high)), max(0, min(filters.offset, 1 << 31))
    return replace(filters, **{**changes, "limit": limit, "offset": offset})


# One word


def _term(_: str, title: str, phrase: str, word: str, *, alone: bool) -> Term:
    """An item of what was typed as FTS5 expressions. alone: no other words are asked for."""
    pieces = segments(phrase or word)
    forms = [_phrase(pieces)] if phrase else [_phrase(pieces), *_parts(word)]
    loose = [] if phrase else list(_loose(pieces, by_piece=not alone or bool(_JOINED.search(word))))
    forms, loose = list(dict.fromkeys(forms)), list(dict.fromkeys(loose)) or forms
    if title:
        forms, loose = [f"title : {form}" for form in forms], [f"title : {form}" for form in loose]
    required = bool(phrase or title)
    return Term(" OR ".join(forms), tuple(loose), required, tuple(_needles(pieces)))


def _quoted(words: str) -> str:
    return f'"{words}"'


def _phrase(pieces: list[str]) -> str:
    """The word as one phrase. Its last run leaves out the character that ends a run in the index, or the
    phrase would only be found at ends of runs; one character is the start of a bigram."""
    while pieces and not _spoken(pieces[-1]):
        pieces = pieces[:-1]
    words: list[str] = []
    for i, piece in enumerate(pieces):
        words += (*bigrams(piece), piece[-1]) if i % 2 else _WORD.findall(piece)
    if len(pieces) % 2:
        return _quoted(" ".join(words))
    return _quoted(" ".join(words)) + " *" if len(pieces[-1]) == 1 else _quoted(" ".join(words[:-1]))


def _spoken(piece: str) -> bool:
    """Whether the tokeniser sees anything in it."""
    return any(c.isalnum() or unicodedata.category(c) in ("Mn", "Mc", "Co") for c in piece)


def _parts(word: str) -> Iterator[str]:
    """The other spelling of a word with identifiers in it: the parts of each in a row, all of them."""
    names = [
        [part for snake in name.split("_") for part in humps(snake) or (snake,) if part] for name in _NAME.findall(word)
    ]
    if word.isascii() and any(len(parts) > 1 for parts in names):
        rows = [_quoted(" ".join(parts)) for parts in names if parts]
        yield rows[0] if len(rows) == 1 else f"({' AND '.join(rows)})"


def _loose(pieces: list[str], by_piece: bool) -> Iterator[str]:
    """Runs as their bigrams, what stands between them whole and, `by_piece`, by its words and their parts.
    Single characters among others are left out: each is the start of thousands of bigrams."""
    for i, piece in enumerate(pieces):
        if i % 2:
            yield from map(_quoted, bigrams(piece))
        elif _spoken(piece):
            yield _quoted(" ".join(_WORD.findall(piece)))
            yield from _parts(piece)
            if by_piece:
                words = [word for word in _WORD.findall(piece) if len(word) > 1]
                yield from (_quoted(part) for word in words for part in (word, *humps(word)))


def _needles(pieces: list[str]) -> Iterator[str]:
    for i, piece in enumerate(pieces):
        if i % 2:
            yield from bigrams(piece) or [piece]
        elif _spoken(piece):
            yield piece.strip().lower()


def _surfaces(word: str) -> Iterator[str]:
    """The word, then its pieces: runs and their bigrams, Latin words and their parts."""
    yield word.lower()
    for i, piece in enumerate(segments(word)):
        if i % 2:
            yield piece
            yield from bigrams(piece)
        else:
            for name in _WORD.findall(piece):
                yield name.lower()
                yield from (part.lower() for part in humps(name) if len(part) > 2)
