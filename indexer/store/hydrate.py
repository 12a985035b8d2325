"""Search hits as people know them: one statement for what surrounds all of them, one a table for its texts.

Texts are the original ones, not what the index sees. Ids go in as one JSON list, so that every statement
is a constant whatever the number of hits; rows come back by id, and the order of the ranking is the
caller's to keep.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from indexer.store.items import Place
from indexer.store.reads import Connection

SURROUNDINGS = """
SELECT s.id, s.kind, s.created_at_epoch AS time, s.project_key, d.project, d.platform_source AS platform,
       d.cwd, d.content_session_id AS session, f.path, r.position,
       coalesce(nullif(d.custom_title, ''), nullif(d.ai_title, ''), nullif(d.summary_title, ''),
                d.user_prompt, '') AS name
FROM json_each(:ids) i CROSS JOIN search_texts s ON s.id = i.value
JOIN sdk_sessions d ON d.id = s.session_db_id
LEFT JOIN session_records r ON r.uuid = s.uuid AND r.session_db_id = s.session_db_id
LEFT JOIN ingest_files f ON f.id = r.file_id
"""
_TEXTS = """
SELECT b.id * 8 + {code}, {title}, {columns} FROM json_each(:ids) i CROSS JOIN {table} b ON b.id = i.value / 8
WHERE i.value % 8 = {code}
"""
PROMPT_TEXTS = _TEXTS.format(code=0, table="user_prompts", title="NULL", columns="b.prompt_text")
ASSISTANT_TEXTS = _TEXTS.format(
    code=1,
    table="assistant_messages",
    title="NULL",
    columns="""(SELECT group_concat(text, char(10)) FROM
       (SELECT text FROM assistant_texts WHERE message_row_id = b.id ORDER BY position, uuid))""",
)
TOOL_USE_TEXTS = _TEXTS.format(
    code=2,
    table="tool_uses",
    title="b.tool_name || coalesce(' ' || b.file_path, '')",
    columns="b.tool_input, b.tool_response",
)
OBSERVATION_TEXTS = _TEXTS.format(
    code=3,
    table="observations",
    title="b.title",
    columns="b.subtitle, b.narrative, b.text, b.facts",
)
SUMMARY_TEXTS = _TEXTS.format(
    code=4,
    table="session_summaries",
    title="b.request",
    columns="b.request, b.investigated, b.learned, b.completed, b.next_steps, b.notes",
)
_STATEMENTS = (PROMPT_TEXTS, ASSISTANT_TEXTS, TOOL_USE_TEXTS, OBSERVATION_TEXTS, SUMMARY_TEXTS)


class Shown(NamedTuple):
    """A row of the memory with what surrounds it.

    id: as `prompt:12`. project: display name. name: what names its session, whole, "" if nothing does.
    title: its own, None for prompts and answers. texts: as stored, some of them JSON. time: epoch
    milliseconds. place: in the file of its owner; None for what was made, not read.
    """

    kind: str
    id: str
    project: str
    project_key: str
    platform: str
    session: str
    cwd: str | None
    name: str
    time: int | None
    title: str | None
    texts: tuple[str, ...]
    place: Place | None


def hydrate(conn: Connection, ids: Sequence[int]) -> dict[int, Shown]:
    """The rows with these ids of search_texts; those that are gone are left out."""
    listed = {"ids": json.dumps(list(ids))}
    texts: dict[int, tuple[str | None, ...]] = {}
    for code in {row_id % 8 for row_id in ids}:
        for row in conn.execute(_STATEMENTS[code], listed):
            texts[row[0]] = tuple(row[1:])
    rows = conn.execute(SURROUNDINGS, listed).fetchall()
    return {row[0]: _shown(row, texts[row[0]]) for row in rows if row[0] in texts}


def _shown(row: Sequence[Any], found: Sequence[str | None]) -> Shown:
    row_id, kind, time, key, project, platform, cwd, session, path, position, name = row
    place = None if path is None else Place(path, position if position > 0 else None)
    title, *texts = found
    kept = tuple(text for text in texts if text)
    return Shown(kind, f"{kind}:{row_id // 8}", project, key, platform, session, cwd, name, time, title, kept, place)
