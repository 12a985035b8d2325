"""Every rule about text: what is stored, what the index sees, what a person is shown. Pure.

What the index sees (`search_tokens`) is read by FTS5 with `porter unicode61`, which splits at every
character that is no letter, digit or mark. So `auth.ts`, `gen-itgc` and `snake_case` come apart by
themselves, and two things are added (both measured in retrieval.md, section 3):

* Scripts written without spaces (Han, kana, hangul, Thai, Lao, Khmer, Myanmar ...) are spelt as bigrams
  and the last character: `项目配置` -> `项目 目配 配置 置`. A word of two or more characters is then the
  phrase of its bigrams, one character is a prefix: every substring is answered from the index. A run
  always ends in a token of one character, which no such phrase holds, so that no phrase can reach from
  one run into the next: exact without separators.
* The parts of `parseHTTPResponse` stand after the text, led by the identifier itself: a phrase of parts
  is found, and a phrase that straddles two identifiers is not.

Escape sequences are taken out, since `\\x1b[31merror` would be indexed as `31merror`; other control
characters split words as they stand. Full NFKC would glue `React™` to `ReactTM`: only full-width letters
and digits and half-width kana are folded, the rest is NFC. Unassigned marks and joiners inside words
(soft hyphen, zero-width space, variation selectors) are dropped: they cannot be seen, so cannot be typed.

Speed is measured by benchmarks/search_text.py; the figures stand at `search_tokens`.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

# Written without spaces between words, and known to unicode61 as letters, digits or marks: a character
# that the tokeniser would split at must not be in a bigram, or the bigram would match too much.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109d\ua9e0-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17f9"  # Khmer
    "\u1950-\u19dd\u1a20-\u1a99\u1aa7\uaa80-\uaadd"  # Tai Le, New Tai Lue, Tai Tham, Tai Viet
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # hangul
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00016fe0-\U00018d08\U0001aff0-\U0001b2fb\U00020000-\U0003fffd"  # beyond the BMP
)
_RUN = re.compile(f"([{_UNSPACED}]+)")
# Anything that needs more than splitting words at humps: neither ASCII nor Latin, Greek, Cyrillic,
# dashes, arrows, box drawing, emoji. One scan at 300 MB/s spares most texts the rest.
_UNUSUAL = re.compile(
    "[^\x00-\xac\xae-\u02ff\u0370-\u0482\u048a-\u058f\u2010-\u2027\u2030-\u205f\u20a0-\u20bf\u2190-\u2bff"
    "\U0001f000-\U0001faff]"
)
_UNSEEN = re.compile("[\xad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+")
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]+")
_FOLDS = re.compile(f"{_UNSEEN.pattern[:-2]}{_WIDE.pattern[1:-1]}")

# A text's shape: a for lower case and digits, A for upper case, a space for all else.
_SHAPE = re.sub(b"[a-z0-9]", b"a", re.sub(b"[A-Z]", b"A", re.sub(b"[^a-zA-Z0-9]", b" ", bytes(range(256)))))
_HUMPS = (b"aA", b"AAa")
_PART = re.compile("[A-Z]?[a-z]+[0-9]*|[A-Z]+(?![a-rt-z]|s[a-z])s?[0-9]*|[0-9]+")

_CSI = "[0-?]*[ -/]*[@-~]?"  # colours, cursor
_STRING = "[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # DCS, OSC, SOS, PM
# Apart from those of one character, since a pattern that begins with a letter is looked for 20 times as fast.
_ESCAPE = re.compile(f"\x1b(?:\\[{_CSI}|[P\\]X^_]{_STRING}|[ -/]*[0-~]?)")
_SHORT_ESCAPE = re.compile(f"\x9b{_CSI}|[\x90\x98\x9d-\x9f]{_STRING}")
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ANY_UNSAFE = re.compile(f"{_UNSAFE.pattern[:-2]}\ud800-\udfff]")
"""All that an escape sequence begins with is among it."""
MARK = re.compile(r"\[REDACTED:([a-z][a-z0-9-]{0,39}):[0-9a-f]{8}\]")
"""What redaction leaves in a secret's place; group 1 is its kind."""
_MARK_DATA = re.compile(MARK.pattern.encode())
_KEYED = "[REDACTED:"
CUT = re.compile("…\\[truncated: [0-9]+ bytes\\]\\Z")
_MARK = 64
INDEXED = 1 << 20
"""Characters of a text that the index sees, more than any model reads at once. What is longer is stored whole
all the same; indexed whole, it takes ten times its size in memory (64 MiB of Chinese: 1.6 GB)."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_END = object()


# What is stored


def clean(text: str) -> str:
    """`text` as SQLite can hold it: lone surrogates and U+0000 become U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()  # three times as fast as looking for surrogates
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def storable(text: str) -> tuple[str, bytes]:
    """`clean(text)` and its UTF-8, which a caller who also hashes and cuts would otherwise make anew."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
        return text, text.encode()


def cut(text: str, limit: int = 65536) -> str:
    """At most `limit` bytes of UTF-8, cut between characters, then `…[truncated: N bytes]`.

    N is the size of the whole text in bytes. A text that was cut already is left as it is.
    """
    if len(text) * 4 <= limit:
        return text
    data = text.encode("utf-8", "surrogatepass")
    mark = CUT.search(text, len(text) - _MARK)
    if len(data) - (len(mark[0].encode()) if mark else 0) <= limit:
        return text
    end = limit
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return f"{data[:end].decode('utf-8', 'surrogatepass')}…[truncated: {len(data)} bytes]"


def json_text(value: object) -> str:
    """Compact JSON of a decoded value, however deep it is: orjson writes 254 levels and json about 990,
    yet either reads more. Slow: for what orjson refuses."""
    parts: list[str] = []
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        before, item = stack.pop()
        parts.append(before)
        if isinstance(item, dict):
            parts.append("{")
            heads = [f"{json.dumps(key, ensure_ascii=False)}:" for key in item]
            inside, end = list(zip(heads, item.values(), strict=True)), "}"
        elif isinstance(item, list):
            parts.append("[")
            inside, end = [("", one) for one in item], "]"
        else:
            parts.append("" if item is _END else json.dumps(item, ensure_ascii=False))
            continue
        inside[1:] = [(f",{head}", one) for head, one in inside[1:]]
        stack.append((end, _END))
        stack += reversed(inside)
    return "".join(parts)


def unkeyed(text: str) -> str:
    """`text` as hashes see it: marks of redaction without their hex, which differs from home to home."""
    return MARK.sub(r"[REDACTED:\1]", text) if _KEYED in text else text


def unkeyed_data(data: bytes) -> bytes:
    """`unkeyed` of a text's UTF-8."""
    return _MARK_DATA.sub(rb"[REDACTED:\1]", data) if b"[REDACTED:" in data else data


def content_hash(*parts: str | bytes) -> str:
    """16 hex digits of the SHA-256 of the parts, joined by NUL."""
    data = b"\0".join([p if isinstance(p, bytes) else p.encode("utf-8", "surrogatepass") for p in parts])
    return hashlib.sha256(data).hexdigest()[:16]


def prompt_hash(text: str) -> str:
    """SHA-256 of a whole prompt, 64 hex digits."""
    return hashlib.sha256(unkeyed(text).encode("utf-8", "surrogatepass")).hexdigest()


def title_key(text: str) -> str | None:
    """The normal form under which two titles are the same; None when nothing of the title is left.

    NFC and lower case; all but letters, digits and marks is one space. Marks stay, or Thai words that
    differ in a tone alone would be merged.
    """
    folded = unicodedata.normalize("NFC", text).lower()
    kept = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    return " ".join("".join(kept).split()) or None


def parse_time(text: str) -> int | None:
    """An ISO 8601 time as epoch milliseconds (rounded down), None when it is none.

    Without an offset it is UTC, as all times in transcripts are.
    """
    try:
        time = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return (time - _EPOCH) // _MILLISECOND


def iso(ms: int | None) -> str | None:
    """Epoch milliseconds as `2026-11-30T15:03:23.136Z`; None for None and for years that ISO lacks."""
    if ms is None:
        return None
    days, rest = divmod(ms, 86_400_000)
    seconds, rest = divmod(rest, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    try:
        return f"{_day(days)}T{hours:02}:{minutes:02}:{seconds:02}.{rest:03}Z"
    except OverflowError:
        return None


@lru_cache(maxsize=512)
def _day(days: int) -> str:
    return (_EPOCH + timedelta(days=days)).date().isoformat()


def token_estimate(text: str) -> int:
    """About how many tokens a model counts: four bytes each, a character each in unspaced scripts."""
    if text.isascii():
        return -(-len(text) // 4)
    parts = _RUN.split(text)
    rest = sum(len(p.encode("utf-8", "surrogatepass")) for p in parts[::2])
    return sum(map(len, parts[1::2])) - (-rest // 4)


# What the index sees


def search_tokens(text: str) -> str:
    """What the full-text index is to see of `text`: of its first `INDEXED` characters. Queries are made by
    the same rules (query.py).

    MB of UTF-8 a CPU second: English 240, code 110, nothing but camelCase 35 (13 if each identifier is
    new), Chinese 40, Chinese mixed with English 25. FTS5 itself reads about 26.
    """
    if len(text) > INDEXED:
        text = text[:INDEXED]
    if "\x1b" in text:
        text = _unescaped(text)
    if text.isascii() or not _UNUSUAL.search(text):
        return _with_parts(text, text)
    text = _folded(text)
    pieces = _RUN.split(text)
    if len(pieces) == 1:
        return _with_parts(text, text)
    pieces[1::2] = _spelt(pieces[1::2])
    return _with_parts(text, " ".join(pieces))


def segments(text: str) -> list[str]:
    """`text` folded as the index has it and cut by script: spaced, unspaced, spaced ... (odd length).

    The spaced segments at the ends may be empty; unspaced ones are to be spelt as `bigrams`.
    """
    return _RUN.split(_folded(text))


def unspaced(text: str) -> bool:
    """Whether any of it is in a script that is written without spaces between words."""
    return not text.isascii() and len(segments(text)) > 1


def unspaced_share(tokens: str) -> float:
    """What part of a text is of such scripts, 0 to 1, judged by its `search_tokens`: there each letter of
    them takes three characters (it stands in two pairs, and one space is between them)."""
    letters = 0 if tokens.isascii() else sum(map(len, _RUN.findall(tokens))) // 2
    return letters / (letters + max(0, len(tokens) - 3 * letters)) if letters else 0.0


def bigrams(run: str) -> list[str]:
    """The pairs of neighbours in `run`; empty for one character."""
    return [a + b for a, b in pairwise(run)]


def humps(word: str) -> tuple[str, ...]:
    """The parts of a camelCase identifier, in order; empty when `word` has no two.

    A plural after an acronym belongs to it (`getURLs` -> get URLs) and digits to the part before them.
    Random ids and base64 are left whole: over 64 characters, or over 3 parts of under 3 on average.
    """
    if len(word) > 64:
        return ()
    parts = tuple(_PART.findall(word))
    return parts if 1 < len(parts) <= max(3, len(word) // 3) else ()


def _folded(text: str) -> str:
    if _FOLDS.search(text):
        text = _UNSEEN.sub("", text)
        text = _WIDE.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    return unicodedata.normalize("NFC", text)


def _spelt(runs: Sequence[str]) -> list[str]:
    """Each run as its bigrams and its last character, all at once: a loop over characters costs thrice.

    The runs are joined by NUL, and each character is put beside the one after it by two strided copies.
    """
    joined = "\0" + "\0".join(runs) + "\0"
    codes = memoryview(joined.encode("utf-32-le")).cast("I")
    pairs = memoryview(bytearray(b" \0\0\0") * (3 * len(joined) - 3)).cast("I")
    pairs[0::3] = codes[:-1]
    pairs[1::3] = codes[1:]
    return [spelt[2:] for spelt in str(pairs, "utf-32-le")[1:-2].split("\0 \0")]


def _with_parts(text: str, tokens: str) -> str:
    """`tokens`, and after it the parts of each camelCase word of `text`, once a word."""
    shape = text.encode("ascii", "replace").translate(_SHAPE)
    words: dict[str, None] = {}
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            end = shape.find(b" ", at)
            end = end if end >= 0 else len(text)
            words[text[shape.rfind(b" ", 0, at) + 1 : end]] = None
            at = shape.find(hump, end)
    parts = "".join(map(_parts, words))
    return f"{tokens}\n{parts}" if parts else tokens


@lru_cache(maxsize=8192)
def _parts(word: str) -> str:
    parts = humps(word)
    if not parts:
        return ""
    seen = f"{word} {' '.join(parts)} "
    if word.isalpha():
        return seen
    bare = [part.rstrip("0123456789") for part in parts if part[-1].isdigit()]
    return seen + "".join(f"{part} " for part in bare if part)


# What a person is shown


def sanitize(text: str) -> str:
    """`text` for a terminal: no escape sequence, control character, bidi override or invisible mark.

    Tabs and newlines stay. Lone surrogates, which no stream can encode, become U+FFFD.
    """
    if text.isascii():  # lines of printable characters are told without a regex, at a tenth of its cost
        if text.replace("\n", "").replace("\t", "").isprintable():
            return text
    elif not _ANY_UNSAFE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", _UNSAFE.sub("", _unescaped(text)))


def _unescaped(text: str) -> str:
    text = _ESCAPE.sub("", text)
    if text.isascii() or not any(char in text for char in "\x90\x98\x9b\x9d\x9e\x9f"):
        return text
    return _SHORT_ESCAPE.sub("", text)


def glance(text: str, n: int = 160) -> str:
    """The start of `text` on one line, at most `n` characters, `…` included when there is more."""
    text = text.strip()
    flat = " ".join(text[: n * 4].split())
    if len(flat) <= n and len(text) <= n * 4:
        return flat
    return flat[: n - 1].rstrip() + "…"


def snippet(text: str, words: Sequence[str], limit: int = 320) -> str:
    """About `limit` characters on one line around the place where most of `words` stand together.

    A text that short stands whole. `words` are in lower case. Cut ends are marked by `…`.
    """
    if len(text) <= limit * 4 and len(flat := " ".join(text.split())) <= limit:
        return flat
    start = max(0, _densest(text.lower(), words, limit) - limit // 4)
    if start and (space := text.find(" ", start, start + 24)) > 0:
        start = space
    flat = " ".join(text[start : start + limit * 4].split())
    more = len(flat) > limit or start + limit * 4 < len(text)
    return ("…" if start else "") + flat[:limit].rstrip() + ("…" if more else "")


def _densest(text: str, words: Sequence[str], width: int) -> int:
    """Where the window of `width` begins that holds most of `words`; the first of equals, else 0."""
    found = sorted((at, word) for word in words[:32] for at in _places(text, word))
    best, most, first = 0, 0, 0
    inside: dict[str, int] = {}
    for at, word in found:
        inside[word] = inside.get(word, 0) + 1
        while found[first][0] < at - width // 2:
            gone = found[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        if len(inside) > most:
            best, most = found[first][0], len(inside)
    return best


def _places(text: str, word: str) -> list[int]:
    """Up to 16 places of `word` at the start of a word; else its first place anywhere; else places of
    two thirds of it (the index folds endings: `connection` finds `connected`)."""
    starts = _starts(text, word)
    if starts:
        return starts
    if (at := text.find(word)) >= 0:
        return [at]
    return _starts(text, word[: len(word) * 2 // 3]) if len(word) > 4 and word.isascii() else []


def _starts(text: str, word: str) -> list[int]:
    starts: list[int] = []
    latin = word[:1].isascii()
    at = text.find(word) if word else -1
    while at >= 0 and len(starts) < 16:
        before = text[at - 1 : at]
        if not (latin and before.isascii() and before.isalnum()):
            starts.append(at)
        at = text.find(word, at + len(word))
    return starts


def many(number: int, one: str, several: str = "") -> str:
    """`1 session`, `1,204 sessions`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
