"""What a search may ask of the store, words and filters, and the filters as SQL.

The vocabulary stands below both sides of it: `query` makes it from what a person typed, `store.lexical`
carries it out. Filters become conditions on `search_texts s` (never on a list of hits: a filter applied
after the limit loses rows), each on its own, so that any of them combine. A filter on what only some kinds
have (a tool, a file, a concept) leaves the other kinds out.

Values are bound, never spelt into SQL. Paths are compared by `instr` on whole segments rather than by LIKE:
no wildcard to escape, and letter case counts as it does on the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from indexer.store.items import CODES


@dataclass(frozen=True, slots=True)
class Filters:
    """What hits must be. None: any. Those given hold together.

    project: keys (what a name stands for is settled by reads.resolve_project). session: the client's id,
    whole; by membership, so that a fork shows its history. kinds: as in items.CODES. since, until: epoch
    milliseconds, both included; undated rows are left out by either. tool, type, concept: letter case does
    not matter. file: a path, the end of one, or a folder. agent: id or type of a sub-agent.
    platform: as `claude`. limit: 1 to 500.
    """

    project: tuple[str, ...] | None = None
    session: str | None = None
    kinds: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None
    tool: str | None = None
    file: str | None = None
    type: str | None = None
    concept: str | None = None
    agent: str | None = None
    platform: str | None = None
    limit: int = 20
    offset: int = 0


class Term(NamedTuple):
    """One word, phrase or `title:` word of a query, as FTS5 expressions that cannot be malformed.

    match: rows that hold it. loose: what a ranked search looks for instead, each by itself (the bigrams
    of a Chinese sentence). required: must hold in a ranked search too (a phrase in quotes, a title).
    needles: lower-case pieces of search text, for a search without an index.
    """

    match: str
    loose: tuple[str, ...]
    required: bool
    needles: tuple[str, ...]


class Wanted(Protocol):
    """What `store.lexical` must know of a query."""

    @property
    def terms(self) -> tuple[Term, ...]: ...
    @property
    def all(self) -> str: ...
    @property
    def excluded(self) -> tuple[Term, ...]: ...
    @property
    def filters(self) -> Filters: ...


ANYTHING = "1"
"""The condition that every row meets."""


class Where(NamedTuple):
    """A condition on `search_texts s`, and the values it names.

    among: a SELECT of the only ids that can be meant, "" when all can. It is to be asked first, of the
    id that is at hand: a look at each row itself costs three times as much (128 against 42 ms).
    """

    sql: str
    values: dict[str, object]
    among: str = ""

    def and_also(self, sql: str, **values: object) -> Where:
        """This and one more condition; its values must have names of their own."""
        return Where(f"{self.sql} AND {sql}", {**self.values, **values}, self.among)


def _listed(table: str, column: str, condition: str) -> str:
    """True where a value `j.value` of a row's JSON list meets the condition. A list that is no JSON (it
    did not come from us) is empty, and must not end the search."""
    values = f"json_each(CASE WHEN json_valid(b.{column}) THEN b.{column} ELSE '[]' END)"
    return f"EXISTS (SELECT 1 FROM {table} b, {values} j WHERE b.id = s.id / 8 AND {condition})"


def _path(column: str) -> str:
    """True where the path in `column` is :file, or lies below it; a relative one may begin anywhere."""
    return f"""CASE substr(:file, 1, 1) WHEN '/' THEN instr({column} || '/', :file || '/') = 1
      ELSE instr('/' || {column} || '/', '/' || :file || '/') > 0 END"""


_PROJECT = """
(s.project_key IN (:keys) OR CASE s.id % 8
  WHEN 3 THEN EXISTS (SELECT 1 FROM observations b WHERE b.id = s.id / 8 AND b.merged_into_project IN (:keys))
  WHEN 4 THEN EXISTS (
    SELECT 1 FROM session_summaries b WHERE b.id = s.id / 8 AND b.merged_into_project IN (:keys))
  ELSE 0 END)"""
_MEMBERS = """
SELECT x.id
FROM (SELECT id AS owner FROM sdk_sessions WHERE content_session_id = :session
      UNION
      SELECT o.session_db_id FROM sdk_sessions d JOIN session_records r ON r.session_db_id = d.id
      JOIN session_records o ON o.uuid = r.uuid WHERE d.content_session_id = :session) w
CROSS JOIN search_texts x ON x.session_db_id = w.owner
WHERE EXISTS (
  SELECT 1 FROM sdk_sessions d LEFT JOIN session_records r ON r.session_db_id = d.id AND r.uuid = x.uuid
  WHERE d.content_session_id = :session AND (d.id = x.session_db_id OR r.uuid IS NOT NULL))"""
_CONCEPT = _listed("observations", "concepts", "j.value = :concept COLLATE NOCASE")
_FILE = f"""
CASE s.id % 8
  WHEN 2 THEN EXISTS (SELECT 1 FROM tool_uses t WHERE t.id = s.id / 8 AND {_path("t.file_path")})
  WHEN 3 THEN {_listed("observations", "files_read", _path("j.value"))}
           OR {_listed("observations", "files_modified", _path("j.value"))}
  WHEN 4 THEN {_listed("session_summaries", "files_read", _path("j.value"))}
           OR {_listed("session_summaries", "files_edited", _path("j.value"))}
  ELSE 0 END"""
_AGENT = """
CASE s.id % 8
  WHEN 1 THEN EXISTS (
    SELECT 1 FROM assistant_messages m
    LEFT JOIN session_agents a ON a.session_db_id = m.session_db_id AND a.agent_id = m.agent_id
    WHERE m.id = s.id / 8 AND :agent COLLATE NOCASE IN (m.agent_id, a.agent_type))
  WHEN 2 THEN EXISTS (
    SELECT 1 FROM tool_uses t
    LEFT JOIN session_agents a ON a.session_db_id = t.session_db_id AND a.agent_id = t.agent_id
    WHERE t.id = s.id / 8 AND :agent COLLATE NOCASE IN (t.agent_id, t.agent_type, a.agent_type))
  WHEN 3 THEN EXISTS (
    SELECT 1 FROM observations o
    WHERE o.id = s.id / 8 AND :agent COLLATE NOCASE IN (o.agent_id, o.agent_type))
  ELSE 0 END"""
_PLATFORM = """
EXISTS (SELECT 1 FROM sdk_sessions d
        WHERE d.id = s.session_db_id AND d.platform_source = :platform COLLATE NOCASE)"""
_TEXT = {
    "tool": "s.kind = 'tool_use' AND s.detail = :tool COLLATE NOCASE",
    "file": _FILE,
    "type": "s.kind = 'observation' AND s.detail = :type COLLATE NOCASE",
    "concept": f"s.kind = 'observation' AND {_CONCEPT}",
    "agent": _AGENT,
    "platform": _PLATFORM,
}
# Filter -> the kinds it leaves, by the code of their table.
_CODES = {"tool": {2}, "type": {3}, "concept": {3}, "file": {2, 3, 4}, "agent": {1, 2, 3}}


def where(filters: Filters) -> Where:
    """All filters as one condition on `search_texts s`; ANYTHING when there are none."""
    parts, values = [], dict[str, object]()
    for sql, found in _conditions(filters):
        parts.append(sql)
        values |= found
    if filters.session is not None:
        values["session"] = filters.session
    return Where(" AND ".join(parts) or ANYTHING, values, _MEMBERS if filters.session is not None else "")


def codes(filters: Filters) -> tuple[int, ...]:
    """Codes of the tables (items.CODES) that can hold hits at all."""
    left = set(CODES.values())
    if filters.kinds is not None:
        left &= {CODES[kind] for kind in filters.kinds if kind in CODES}
    for name, kept in _CODES.items():
        if getattr(filters, name):
            left &= kept
    return tuple(sorted(left))


def _conditions(filters: Filters) -> Iterator[tuple[str, dict[str, object]]]:
    if filters.project is not None:
        names, bound = _names("project", filters.project)
        yield _PROJECT.replace(":keys", names), bound
    if filters.kinds is not None:
        names, bound = _names("kind", filters.kinds)
        yield f"s.kind IN ({names})", bound
    if filters.since is not None:
        yield "s.created_at_epoch >= :since", {"since": filters.since}
    if filters.until is not None:
        yield "s.created_at_epoch <= :until", {"until": filters.until}
    for name, sql in _TEXT.items():
        if value := getattr(filters, name):
            yield sql, {name: value.rstrip("/").removeprefix("./") if name == "file" else value}


def _names(name: str, values: tuple[str, ...]) -> tuple[str, dict[str, object]]:
    bound: dict[str, object] = {f"{name}{i}": value for i, value in enumerate(values)}
    return ", ".join(f":{key}" for key in bound), bound
