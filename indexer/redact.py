"""The one choke point before every sink: what passes here holds no secret that a rule knows.

It stands before the parser. A line goes in as bytes and comes out as the bytes that everything else is made
of: rows, index texts, hashes, titles, events, dead letters, archive. So nothing that a later version stores
can be forgotten here, and what is read again from the archive is what was read from the transcript. A line
in which nothing can match (97 of 100) comes out as the very same object after one scan (redaction_screen);
any other is decoded, every string in it redacted, keys too, and encoded again. Redaction thus comes before
every cut, sees through JSON's escapes, and a secret within JSON within a string is found too.

A secret becomes `[REDACTED:kind:8-hex]`. The hex is keyed by a file of the home folder (redaction_key):
equal secrets stay equal, and nobody without the key can try passwords against it. Content hashes are made
without the hex (text.unkeyed), so that they do not depend on the key.

What a tool reads from or writes to a file of secrets (redaction_rules.SECRET_FILE) is replaced whole; the
path stays. Parts in `<private>` are emptied wherever they stand (tags).

Two text blocks of one record are looked at together; a secret that the client split over two *lines* of a
message is not put together. A line that is no JSON is redacted as text, and what the salvage of the parser
then finds in it goes through `entry`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

import orjson

from indexer.records import Entry
from indexer.redaction_files import FILE_HINT, FILE_WORDS, SECRET_FILE, TELLER_HINT, TELLER_WORDS, hide_shown, is_read
from indexer.redaction_forms import Rule
from indexer.redaction_rules import BUILTIN, VERSION
from indexer.redaction_screen import Hint, screen
from indexer.redaction_settings import Settings, UserRule
from indexer.tags import hide_private
from indexer.text import MARK, json_text

_PASSES = 8
"""A mark may set free what stood beside a secret; more than two passes were never seen to change anything."""
_DENSE, _APART = 2_000, 64
"""So many secrets in one text, so close to each other, are one: else 200 KB of three letters each would take
seconds, and grow to a megabyte of marks."""
_DEEPEST = 200
_GUARDED = 4_096
"""Calls on secret files that are remembered until their answer comes."""
_PATH_KEYS = ("file_path", "filePath", "notebook_path", "relative_path", "filename", "path")
_HARMLESS = frozenset(
    {*_PATH_KEYS, "type", "name", "id", "mode", "output_mode", "command", "description", "displayPath"}
)
_SPECIAL = (
    Hint(r"(?i)\\u(?:00[2-9a-f]|0[1-9a-f]|[1-9a-f])", ("\\u",)),  # an escaped character may hide any hint
    Hint(r"(?:^|[^\\])\\/", ("\\/",)),  # and so may an escaped slash
    Hint(r'\}\s*,\s*\{\s*"type"\s*:\s*"text"', ('"text"',)),  # a secret may be split over two blocks
    Hint(r"(?i)<private", ("<private",)),
    Hint(TELLER_HINT, TELLER_WORDS),
    Hint(FILE_HINT, FILE_WORDS),
)
_PRIVATE, _FILES = 3, 5

_T = TypeVar("_T")


class _Span(NamedTuple):
    start: int
    end: int
    rule: int


class Redactor:
    """Redacts by the built-in rules and the user's. One thread at a time.

    key: of the marks' hex. `rules` names the rule set: another name means that texts may come out otherwise.
    """

    def __init__(self, key: bytes = b"", settings: Settings | None = None) -> None:
        settings = settings or Settings()
        self.key = key
        self._allow, self._files = settings.allow, settings.secret_files
        own = [_own(rule) for rule in settings.rules]
        self._rules = (*BUILTIN, *own)
        hints = [Hint(rule.hint or None, rule.words) for rule in self._rules]
        self._first = len(_SPECIAL)
        files = Hint(None, ()) if settings.secret_files else _SPECIAL[-1]
        self._screen = screen([*_SPECIAL[:-1], files, *hints])
        self._guarded: dict[str, None] = {}
        self._known: dict[str, bool] = {}
        self.rules = _name(settings)
        self.redacted = 0
        """Secrets replaced so far."""

    # -- lines and values --------------------------------------------------------------------------

    def line(self, data: bytes) -> bytes:
        """A transcript's line with every string in it redacted: the same object if nothing is to be done.
        Never raises; what is JSON stays JSON."""
        if not self._screen.found(data) and not (self._guarded and self._answers_guarded(data)):
            return data
        try:
            value = orjson.loads(data)
            cleaned = self._record(value)
        except (orjson.JSONDecodeError, RecursionError):
            return self._torn(data)
        return data if cleaned is value else _dump(cleaned)

    def value(self, value: object) -> Any:
        """A decoded JSON value with every string in it redacted, keys too; the same object if none was."""
        return self._walk(value, self.text, 0)

    def entry(self, entry: Entry) -> Entry:
        """What was made of a line that is no JSON, with every string redacted."""
        try:
            return Entry(*self._tuple(entry))
        except RecursionError:
            return entry._replace(records=())

    def text(self, text: str) -> str:
        """`text` with a mark for each secret; the same object if there is none. `text(text(x)) == text(x)`."""
        for passes in range(_PASSES):
            found = self._screen.found(text.encode("utf-8", "surrogatepass"))
            if not found:
                break
            before = text
            if _PRIVATE in found:
                text = hide_private(text)
            if _FILES in found and not passes:
                text = hide_shown(text, self._is_secret, self._hide)
            text = self._marked(text, self._spans(text, found))
            if text == before:
                return before
        return text

    def mark(self, kind: str, secret: str) -> str:
        """What stands for a secret."""
        self.redacted += 1
        digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=self.key, digest_size=4)
        return f"[REDACTED:{kind}:{digest.hexdigest()}]"

    # -- one text ----------------------------------------------------------------------------------

    def _spans(self, text: str, found: Iterable[int]) -> list[_Span]:
        """Where the rules find secrets, in order, none overlapping another or a mark."""
        numbers = [number - self._first for number in found if number >= self._first]
        spans = sorted(span for number in numbers for span in self._found(number, text))
        if not spans:
            return spans
        marks = [match.span() for match in MARK.finditer(text)] if "[REDACTED:" in text else []
        merged: list[_Span] = []
        apart = _APART if len(spans) > _DENSE else 0
        for span in _clear(spans, marks):
            if merged and span.start < merged[-1].end + apart:
                last = merged[-1]
                merged[-1] = _Span(last.start, max(last.end, span.end), min(last.rule, span.rule))
            else:
                merged.append(span)
        return merged

    def _found(self, number: int, text: str) -> Iterator[_Span]:
        rule = self._rules[number]
        group = "v" if "v" in rule.pattern.groupindex else 0
        for match in _matches(rule, text):
            start, end = match.span(group)
            if start < end and rule.accepts(match) and not self._allowed(match[group]):
                yield _Span(start, end, number)

    def _allowed(self, secret: str) -> bool:
        return any(pattern.fullmatch(secret) for pattern in self._allow)

    def _marked(self, text: str, spans: Sequence[_Span]) -> str:
        kept: list[str] = []
        at = 0
        for span in spans:
            kept += text[at : span.start], self.mark(self._rules[span.rule].kind, text[span.start : span.end])
            at = span.end
        kept.append(text[at:])
        return "".join(kept) if spans else text

    # -- one line ----------------------------------------------------------------------------------

    def _record(self, value: Any) -> Any:
        """A record: with its tool calls and results on secret files, which belong together."""
        if type(value) is not dict:
            return self.value(value)
        message: Any = value.get("message")
        content: Any = message.get("content") if type(message) is dict else None
        if type(content) is list:
            blocks = [self._block(block, value) for block in content]
            if any(new is not old for new, old in zip(blocks, content, strict=True)):
                value = {**value, "message": {**message, "content": blocks}}
                if self._answered(content, value):
                    value["toolUseResult"] = self._walk(value.get("toolUseResult"), self._hide, 0)
        return self.value(value)

    def _block(self, block: Any, record: dict[str, Any]) -> Any:
        """A content block; of a call on a secret file, or its answer, without what the file holds."""
        kind = block.get("type") if type(block) is dict else None
        if kind == "tool_use" and self._touches(block.get("input")):
            self.guard(block.get("id"))
            return {**block, "input": self._emptied(block["input"])}
        if kind == "tool_result" and (block.get("tool_use_id") in self._guarded or self._tells(record)):
            self.guard(block.get("tool_use_id"))
            return {**block, "content": self._walk(block.get("content"), self._hide, 0)}
        return block

    def guard(self, tool_use_id: object) -> None:
        """The answer to this call holds a secret file."""
        if type(tool_use_id) is str:
            self._guarded[tool_use_id] = None
            if len(self._guarded) > _GUARDED:
                del self._guarded[next(iter(self._guarded))]

    def recall(self, tool_use_id: str, given: str) -> None:
        """Guard the answer to a call that was stored before this process began; given: its input as JSON."""
        try:
            fields = orjson.loads(given)
        except orjson.JSONDecodeError:
            return
        if self._touches(fields):
            self.guard(tool_use_id)

    def call(self, given: Any, answer: str | None) -> tuple[Any, str | None]:
        """A stored tool call, its input and the text of its answer: of one on a secret file without what the
        file holds. The same objects otherwise."""
        if not self._touches(given):
            return given, answer
        emptied = self._emptied(given)
        return given if emptied == given else emptied, answer and self._hide(answer)

    def _touches(self, given: object) -> bool:
        if type(given) is not dict:
            return False
        if self._names_secret(given):
            return True
        command = given.get("command")
        if type(command) is not str:
            return False
        return is_read(command[:_GUARDED], self._is_secret)

    def _names_secret(self, fields: dict[str, Any]) -> bool:
        return any(key in fields and self._is_secret(fields[key]) for key in _PATH_KEYS)

    def _is_secret(self, path: object) -> bool:
        if type(path) is not str or len(path) > _GUARDED:
            return False
        known = self._known.get(path)
        if known is None:
            if len(self._known) >= _GUARDED:
                self._known.clear()
            known = bool(SECRET_FILE(path)) or any(pattern.fullmatch(path) for pattern in self._files)
            self._known[path] = known
        return known

    def _tells(self, record: dict[str, Any]) -> bool:
        """Whether a result's own detail names a secret file."""
        detail = record.get("toolUseResult")
        if type(detail) is not dict:
            return False
        inner = detail.get("file")
        return self._names_secret(detail) or (type(inner) is dict and self._names_secret(inner))

    def _answered(self, content: list[Any], record: dict[str, Any]) -> bool:
        answers = [block.get("tool_use_id") for block in content if type(block) is dict]
        return "toolUseResult" in record and any(answer in self._guarded for answer in answers if answer)

    def _answers_guarded(self, data: bytes) -> bool:
        return b'"tool_result"' in data and any(name.encode() in data for name in self._guarded)

    def _emptied(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {key: value if key in _HARMLESS else self._walk(value, self._hide, 0) for key, value in fields.items()}

    def _hide(self, text: str) -> str:
        """All of a secret file's text; a path to such a file says nothing."""
        if not text or MARK.fullmatch(text) or self._is_secret(text):
            return text
        return self.mark("secret-file", text)

    def _torn(self, data: bytes) -> bytes:
        """A line that is no JSON, as text; bytes that are no UTF-8 stay as they are."""
        text = data.decode("utf-8", "surrogateescape")
        cleaned = self.text(text)
        return data if cleaned == text else cleaned.encode("utf-8", "surrogateescape")

    # -- any value ---------------------------------------------------------------------------------

    def _walk(self, value: Any, change: Callable[[str], str], depth: int) -> Any:
        """`value` with `change` on every string; the same object where nothing changes."""
        kind = type(value)
        if kind is str:
            return change(value)
        if depth > _DEEPEST:
            raise RecursionError
        if kind is list:
            if change == self.text and len(value) > 1 and all(type(item) is str for item in value):
                return self._lines(value)
            items = [self._walk(item, change, depth + 1) for item in self._together(value)]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if kind is dict:
            hiding = change != self.text
            fields = value if hiding or not self._names_secret(value) else self._emptied(value)
            kept = _HARMLESS if hiding else ()
            return self._same(
                value,
                {
                    self.text(key): item if key in kept else self._walk(item, change, depth + 1)
                    for key, item in fields.items()
                },
            )
        return value

    @staticmethod
    def _same(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        pairs = zip(old.items(), new.items(), strict=False)
        kept = len(old) == len(new) and all(a == c and b is d for (a, b), (c, d) in pairs)
        return old if kept else new

    def _lines(self, lines: list[str]) -> list[str]:
        """The lines of one text (of a patch, as the client keeps it), in which a secret may take several."""
        whole = "\n".join(lines)
        cleaned = self.text(whole)
        if cleaned is whole or cleaned == whole:
            return lines
        parts = cleaned.split("\n", len(lines) - 1)
        return parts + [""] * (len(lines) - len(parts))

    def _together(self, items: list[Any]) -> list[Any]:
        """Text blocks that stand one after the other, redacted as if they were one text."""
        items = list(items) if any(map(_block_text, items[1:])) else items
        for place in range(1, len(items)):
            first, second = _block_text(items[place - 1]), _block_text(items[place])
            if first and second:
                texts = self._split(first, second)
                if texts != (first, second):
                    items[place - 1 : place + 1] = [
                        {**items[place - 1], "text": texts[0]},
                        {**items[place], "text": texts[1]},
                    ]
        return items

    def _split(self, first: str, second: str) -> tuple[str, str]:
        """Two texts without a secret that reaches from the one into the other, with or without a line break
        between them."""
        for between in ("", "\n"):
            whole = first + between + second
            middle = len(first)
            spans = self._spans(whole, self._screen.found(whole.encode("utf-8", "surrogatepass")))
            across = [span for span in spans if span.start < middle and span.end > middle + len(between)]
            if across:
                span = across[0]
                mark = self.mark(self._rules[span.rule].kind, whole[span.start : span.end])
                first, second = first[: span.start] + mark, second[span.end - middle - len(between) :]
        return first, second

    def _tuple(self, value: Any) -> Any:
        """NamedTuples, and all that is in them."""
        if isinstance(value, tuple):
            items = [self._tuple(item) for item in value]
            return tuple(items) if type(value) is tuple else type(value)(*items)
        return self.value(value)


def _block_text(block: object) -> str:
    if type(block) is not dict or block.get("type") != "text":
        return ""
    text = block.get("text")
    return text if type(text) is str else ""


def _clear(spans: Iterable[_Span], marks: Sequence[tuple[int, int]]) -> Iterator[_Span]:
    """The spans that touch no mark. Both in order of their starts."""
    place = 0
    for span in spans:
        while place < len(marks) and marks[place][1] <= span.start:
            place += 1
        if place == len(marks) or marks[place][0] >= span.end:
            yield span


def _matches(rule: Rule, text: str) -> Iterator[re.Match[str]]:
    """Where a rule's pattern fits, or each of the places within these."""
    within = rule.within
    if within is None:
        return rule.pattern.finditer(text)
    return (inner for match in rule.pattern.finditer(text) for inner in within.finditer(text, *match.span("v")))


def _own(rule: UserRule) -> Rule:
    literal = rule.literal.lower()
    hint = f"(?i){re.escape(literal)}" if literal else ""
    return Rule(rule.kind, rule.pattern, hint, (literal,) if literal else ())


def _name(settings: Settings) -> str:
    """The rule set by its content: 16 hex digits. Of the user's patterns only this is stored."""
    own = [(rule.kind, rule.pattern.pattern, rule.pattern.flags) for rule in settings.rules]
    others = [[pattern.pattern for pattern in patterns] for patterns in settings[1:]]
    said = orjson.dumps([VERSION, own, others])
    return blake2b(said, digest_size=8).hexdigest()


def _dump(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # deeper than orjson writes
        return json_text(value).encode("utf-8", "surrogatepass")


# -- the user's settings --------------------------------------------------------------------------------
