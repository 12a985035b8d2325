"""Takes the lines of an export into the memory, a batch in one transaction, each thing once.

A batch stands for itself: it begins with the `session` line of every session it has lines of, so that it does not
matter who carries it out (the running service, or the process that reads the export) or what was cut off before.
Records become entries and go through the writer like those of a transcript: placed, redacted, searched, refused
where they were forgotten or their project is excluded. What is known is left as it is. The redactor stands before
everything here too: an export is redacted by its maker, which nobody has to believe.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from indexer.exchange import shape
from indexer.exchange.shape import Answer, Call, Faulty, File, MemoryLine, RecordLine, SessionLine
from indexer.exclude import Exclusion
from indexer.failpoints import passing
from indexer.project import Resolution, fold
from indexer.records import (
    AgentLink,
    AssistantText,
    Entry,
    Ignored,
    Prompt,
    PromptKind,
    Record,
    Title,
    ToolResult,
    ToolUse,
    TurnEvent,
)
from indexer.redact import Redactor
from indexer.store import checkpoints, imports
from indexer.store.bodies import STORED
from indexer.store.checkpoints import IMPORTED, FileRow
from indexer.store.connection import Connection, transaction
from indexer.store.imports import Body, Origin, Told
from indexer.store.tombstones import Tombstones, foreign_prompt
from indexer.store.turns import touch
from indexer.store.twins import FOREIGN, is_twin
from indexer.store.writer import Placed, Turn, Writer
from indexer.text import CUT

INLINE = "inline"
_JSON = ("facts", "concepts", "files_read", "files_modified", "files_edited", "reinforcement_dates", "fields",
         "metadata")  # fmt: skip
_KINDS: dict[str, PromptKind] = {"prompt": "prompt", "command": "command", "shell": "shell"}


class Setting(NamedTuple):
    """What an import needs of the memory's settings. resolve: (cwd, folder) -> project."""

    redactor: Redactor
    resolve: Callable[[str, str], Resolution]
    exclusion: Exclusion


class Taken(NamedTuple):
    """What a batch came to. known: records and memories that were there. forgotten, excluded: that were kept out.

    faults: (line number, reason) of lines that were not taken."""

    prompts: int
    tool_uses: int
    messages: int
    memories: int
    known: int
    forgotten: int
    excluded: int
    faults: tuple[tuple[int, str], ...]


class _Sorted(NamedTuple):
    """A batch's lines by what they are."""

    sessions: dict[str, SessionLine]
    records: list[RecordLine]
    memories: list[MemoryLine]
    faults: list[tuple[int, str]]
    numbers: dict[tuple[str, str], int]
    """Line numbers of the records, by uuid and session."""


def take(conn: Connection, setting: Setting, device: str, lines: Sequence[tuple[int, object]]) -> Taken:
    """Take in a batch: (line number, JSON value) each. device: the memory that the export comes from."""
    found = _sort(lines)
    with transaction(conn):
        taken = _Batch(conn, setting, device, found).take()
        passing("import.rows")
    passing("import.committed")
    return taken


def _sort(lines: Iterable[tuple[int, object]]) -> _Sorted:
    found = _Sorted({}, [], [], [], {})
    for number, line in lines:
        try:
            item = shape.item(line)
            if isinstance(item, SessionLine):
                found.sessions[item.session] = item
                continue
            _check_session(item, found.sessions.get(item.session))
            if isinstance(item, RecordLine):
                found.records.append(item)
                found.numbers.setdefault((item.uuid, item.session), number)
            else:
                found.memories.append(item)
        except Faulty as fault:
            found.faults.append((number, str(fault)))
    return found


def _check_session(item: RecordLine | MemoryLine, session: SessionLine | None) -> None:
    if session is None:
        raise Faulty("of a session that no line before it describes")
    if isinstance(item, RecordLine) and item.file not in {file.n for file in session.files}:
        raise Faulty("file: none of its session's")


class _Batch:
    """One batch in its transaction."""

    def __init__(self, conn: Connection, setting: Setting, device: str, found: _Sorted) -> None:
        self._conn, self._setting, self._device, self._found = conn, setting, device, found
        self._stones = Tombstones(conn)
        self._count: Counter[str] = Counter()
        self._bodies: list[Body] = []
        self._excluded: set[str] = set()
        self._here = imports.device(conn)
        self._typed: dict[str, list[str]] = {}
        self._called: dict[str, set[str]] = {}

    def take(self) -> Taken:
        """Write all of it."""
        found = self._found
        gone = self._stones.buried("session", found.sessions)
        self._count["forgotten"] = sum(name in gone for name in _of(found.records, found.memories))
        sessions = {name: one for name, one in found.sessions.items() if name not in gone}
        records = self._unknown([one for one in found.records if one.session in sessions])
        origins = {one.uuid: Origin(self._clean(one.device), self._clean(one.local)) for one in records}
        for platform in sorted({one.platform for one in sessions.values()}):
            self._write(platform, {name: one for name, one in sessions.items() if one.platform == platform}, records)
        imports.note_records(self._conn, origins)
        imports.set_bodies(self._conn, self._bodies)
        self._remember(sessions, [one for one in found.memories if one.session in sessions])
        count = self._count
        return Taken(
            count["prompts"], count["tool_uses"], count["messages"], count["memories"], count["known"],
            count["forgotten"], count["excluded"], tuple(found.faults),
        )  # fmt: skip

    def _clean(self, text: str) -> str:
        return self._setting.redactor.text(text)

    # -- what is to be written ---------------------------------------------------------------------

    def _unknown(self, records: Sequence[RecordLine]) -> list[RecordLine]:
        """Without what is held, and what was forgotten."""
        held = imports.held(self._conn, [one.uuid for one in records])
        buried = self._stones.buried("record", [one.uuid for one in records])
        buried |= self._buried_names(records)
        foreign = [call.identity for one in records if one.uuid.startswith(FOREIGN) for call in one.calls]
        answered = imports.answers(self._conn, foreign)
        kept: dict[tuple[str, str], RecordLine] = {}
        fits = self._fitting(records, {uuid for uuid, _ in held})
        for one in records:
            if one.uuid in buried:
                self._count["forgotten"] += 1
            elif (one.uuid, one.session) in held or (one.uuid, one.session) in kept:
                self._count["known"] += 1
            elif not fits(one):
                number = self._found.numbers[one.uuid, one.session]
                self._found.faults.append((number, "a record that is known as something else"))
            elif one.uuid.startswith(FOREIGN):
                if (rest := self._without_twins(one, answered)) is not None:
                    kept[one.uuid, one.session] = rest
            else:
                kept[one.uuid, one.session] = one
        return list(kept.values())

    def _fitting(self, records: Sequence[RecordLine], held: set[str]) -> Callable[[RecordLine], bool]:
        """Says of a record that another session shows too whether it has the same rows there: a uuid that is known
        as something else would have them stand in two sessions at once."""
        shared = [one for one in records if one.uuid in held]
        prompts = imports.prompts(self._conn, [one.uuid for one in shared])
        calls = imports.answers(self._conn, [call.identity for one in shared for call in one.calls])
        messages = imports.messages(self._conn, [said.message for one in shared for said in one.texts])
        shapes: dict[str, object] = {}

        def fits(one: RecordLine) -> bool:
            shape = _shape(one)
            if one.uuid in held:
                return (
                    shape.prompt == (one.uuid in prompts) and shape.calls <= calls.keys() and shape.messages <= messages
                )
            return shapes.setdefault(one.uuid, shape) == shape

        return fits

    def _buried_names(self, records: Sequence[RecordLine]) -> set[str]:
        """Uuids of claude-mem's records of which a transcript's twin was forgotten by itself."""
        if not self._stones.any:
            return set()
        foreign = [one for one in records if one.uuid.startswith(FOREIGN)]
        prompts = {foreign_prompt(one.session, self._clean(one.prompt.text)): one for one in foreign if one.prompt}
        calls = {f"{one.session} {call.id}": one for one in foreign for call in one.calls}
        gone = [prompts[name] for name in self._stones.buried("prompt", prompts)]
        gone += [calls[name] for name in self._stones.buried("call", calls)]
        return {one.uuid for one in gone}

    def _without_twins(self, one: RecordLine, answered: Mapping[str, bool]) -> RecordLine | None:
        """What a record of claude-mem's adds to what transcripts hold; None if that is nothing."""
        if one.prompt is not None and is_twin(self._clean(one.prompt.text), self._typed_in(one.session)):
            self._count["known"] += 1
            return None
        stored = [call for call in one.calls if call.identity in answered]
        weak = any(call.identity != call.id and call.id in self._called_in(one.session) for call in one.calls)
        if not stored and not weak:
            return one
        if weak or all(answered[call.identity] for call in stored) or not one.results:
            self._count["known"] += 1
            return None
        return one._replace(calls=())

    def _typed_in(self, session: str) -> list[str]:
        if session not in self._typed:
            platform = self._found.sessions[session].platform
            self._typed[session] = imports.typed_in(self._conn, platform, session)
        return self._typed[session]

    def _called_in(self, session: str) -> set[str]:
        if session not in self._called:
            platform = self._found.sessions[session].platform
            self._called[session] = imports.called_in(self._conn, platform, session)
        return self._called[session]

    # -- records -----------------------------------------------------------------------------------

    def _write(self, platform: str, sessions: Mapping[str, SessionLine], records: Sequence[RecordLine]) -> None:
        by_file: dict[tuple[str, int], list[RecordLine]] = defaultdict(list)
        for record in records:
            if record.session in sessions:
                by_file[record.session, record.file].append(record)
        rows: dict[str, FileRow] = {}
        turns = []
        for name, session in sessions.items():
            for place, file in enumerate(session.files or (self._no_file(name),)):
                own = by_file.get((name, file.n), [])
                if place == 0 or own:
                    turns.append(self._turn(rows, session, file, own, first=place == 0))
        given = {name: self._project(one) for name, one in sessions.items() if one.key}
        setting = self._setting
        writer = Writer(self._conn, platform, setting.resolve, exclusion=setting.exclusion, given=given)
        written = writer.write(turns)
        for row in rows.values():
            row.line_no = max(
                [row.line_no, *(placed.position for turn in turns if turn.file is row for placed in turn.placed)]
            )
            checkpoints.save(self._conn, row)
        self._excluded |= writer.excluded | self._kept_out(platform, sessions)
        self._count["excluded"] += sum(record.session in self._excluded for record in records)
        self._count += Counter(
            prompts=written.prompts, tool_uses=written.tool_uses, messages=written.messages
        )  # fmt: skip

    def _kept_out(self, platform: str, sessions: Iterable[str]) -> set[str]:
        """Sessions that were not stored, since the settings exclude their project."""
        return {name for name in sessions if imports.session(self._conn, platform, name) is None}

    @staticmethod
    def _no_file(session: str) -> File:
        return File(0, session, "", session, None, None)

    def _project(self, session: SessionLine) -> Resolution:
        key, shown = self._clean(session.key), self._clean(session.project)
        return Resolution(fold(key), shown or key, session.source, None)

    def _turn(
        self, rows: dict[str, FileRow], session: SessionLine, file: File, records: Sequence[RecordLine], *, first: bool
    ) -> Turn:
        path = file.path if file.path.startswith(IMPORTED) else f"{IMPORTED}{self._device}/{file.path}"
        path = self._clean(path)
        row = rows.get(path) or checkpoints.by_path(self._conn, path)
        if row is None:
            row = FileRow(0, path, self._clean(file.folder), file.session or session.session, file.agent)
        row.status, row.size = "gone", 0
        rows[path] = row
        placed = [Placed(0, 0, entry) for entry in self._about(session, file, first=first)]
        placed += [Placed(one.line, 0, self._entry(session, one)) for one in sorted(records, key=lambda one: one.line)]
        return Turn(row, placed)

    def _about(self, session: SessionLine, file: File, *, first: bool) -> list[Entry]:
        """What is known of the session, in entries that make no record: how old the file is; in the first one
        also when it began and ended, its titles and its sub-agents."""
        bare = Entry(
            None, session.session, file.first, session.cwd, session.version, session.branch, False, None, None, ()
        )
        if not first:
            return [self._setting.redactor.entry(bare)]
        more: list[Record] = []
        if imports.is_borrowed(self._conn, session.platform, session.session):
            if session.custom_title:
                more.append(Title("custom", session.custom_title))
            if session.ai_title:
                more.append(Title("ai", session.ai_title))
            more += [Title("summary", title, leaf) for leaf, title in session.titles]
            more += [AgentLink(*agent) for agent in session.agents]
        times = [time for time in (session.started, session.last) if time is not None]
        entries = [bare._replace(forked_from=session.forked_from, records=tuple(more))]
        entries += [bare._replace(time=time) for time in times]
        return [self._setting.redactor.entry(entry) for entry in entries]

    def _entry(self, session: SessionLine, one: RecordLine) -> Entry:
        given = {call.identity: _loaded(call.input) for call in one.calls}
        records: list[Record] = []
        if one.prompt is not None:
            typed = one.prompt
            records.append(Prompt("" if typed.private else typed.text, _KINDS[typed.kind], typed.private, typed.queued))
        records += [AssistantText(said.message, said.text, said.model, *said.tokens) for said in one.texts]
        records += [self._call(call, given[call.identity]) for call in one.calls]
        records += [self._answer(answer, given.get(answer.identity)) for answer in one.results]
        for ordinal, kind, data in sorted(one.events):
            # Events are known by their place among the records of their line.
            records += [Ignored("import")] * (min(ordinal, shape.MOST) - len(records))
            records.insert(ordinal, TurnEvent(kind, _object(data)))
        agent = None if one.agent == INLINE else one.agent
        entry = Entry(
            one.uuid, one.session, one.time, one.cwd, session.version, session.branch, one.sidechain, agent,
            one.forked_from, tuple(records),
        )  # fmt: skip
        return self._setting.redactor.entry(entry)

    def _call(self, call: Call, given: Any) -> ToolUse:
        if given is None and call.input != "null":  # it was cut: no JSON any more
            text = self._clean(call.input)
            whole = text == call.input
            self._bodies.append(
                Body(
                    call.identity, text, None, call.input_hash if whole else None, call.content_hash if whole else None
                )
            )
            given = _mended(text)
        emptied, _ = self._setting.redactor.call(given, None)
        return ToolUse(call.identity, call.id, call.name, emptied, call.file)

    def _answer(self, answer: Answer, given: Any) -> ToolResult:
        about = given if given is not None else {"file_path": answer.file} if answer.file else None
        _, text = self._setting.redactor.call(about, answer.text)
        text = self._clean(text or "")
        if len(text.encode()) > STORED and text == answer.text:
            self._bodies.append(Body(answer.identity, None, text, answer.input_hash, answer.content_hash))
        return ToolResult(answer.identity, answer.id, text, answer.error, answer.side_file)

    # -- memories ----------------------------------------------------------------------------------

    def _remember(self, sessions: Mapping[str, SessionLine], memories: Sequence[MemoryLine]) -> None:
        buried = self._stones.buried("memory", [one.identity for one in memories])
        turns = self._stones.buried("record", [one.turn for one in memories if one.turn])
        grown = set()
        for one in memories:
            home = imports.session(self._conn, sessions[one.session].platform, one.session)
            if home is None or one.session in self._excluded:
                self._count["excluded"] += 1
            elif one.identity in buried or one.turn in turns:
                self._count["forgotten"] += 1
            elif imports.put(self._conn, home, self._told(one)):
                self._count["memories"] += 1
                grown.add(home.id)
            else:
                self._count["known"] += 1
        touch(self._conn, sorted(grown))

    def _told(self, one: MemoryLine) -> Told:
        values = {name: self._value(name, value) for name, value in one.values.items()}
        origin = Origin(self._clean(one.device), self._clean(one.local))
        return Told(one.kind, one.identity, one.turn, one.slot, values, one.calls, origin, one.device == self._here)

    def _value(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if name not in _JSON:
            return self._clean(value)
        return json.dumps(self._setting.redactor.value(json.loads(value)), ensure_ascii=False)


class _Shape(NamedTuple):
    """Which rows a record has: whether a prompt, which calls (identities), lines of which messages (ids)."""

    prompt: bool
    calls: frozenset[str]
    messages: frozenset[str]


def _shape(one: RecordLine) -> _Shape:
    calls, messages = (frozenset(call.identity for call in one.calls), frozenset(said.message for said in one.texts))
    return _Shape(one.prompt is not None, calls, messages)


def _of(records: Iterable[RecordLine], memories: Iterable[MemoryLine]) -> Iterator[str]:
    """The session of each of them."""
    yield from (one.session for one in records)
    yield from (one.session for one in memories)


def _loaded(text: str) -> Any:
    """The JSON value of a call's input; None for one that was cut."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return None if shape.too_deep(value, 200) else value


def _mended(text: str) -> Any:
    """A cut input with its open ends closed, for the index: that takes in its beginning. The text, if it is not to
    be closed."""
    start = CUT.sub("", text)
    for end in ('"}', '\\"}', '"]}', '"}]}', "}", "]}"):
        if (value := _loaded(start + end)) is not None:
            return value
    return text


def _object(text: str) -> dict[str, object]:
    value = _loaded(text)
    return value if isinstance(value, dict) else {"text": text}
