"""Whether a memory hangs on a key that is missing: then nothing is begun, and no new key is made.

Tombstones say nothing without their key, and all that was forgotten would be read again. Marks of redacted
secrets under another key would differ from the old ones for the same secret, and never be told apart. So a
memory with either is refused until its key is back; one without either gets a new key without harm.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from indexer import keyfile
from indexer.errors import IndexerError
from indexer.store.connection import Connection, database_path, open_reader, translated

_MARKED = (
    *(("user_prompts", "prompt_text"), ("assistant_texts", "text"), ("tool_uses", "tool_input")),
    *(("tool_uses", "tool_response"), ("turn_events", "data"), ("observations", "narrative")),
)
"""Where marks stand in nearly all memories that have any."""


def check_key(home: Path) -> None:
    """Raises IndexerError if the key of the memory in `home` is missing, but something was made with it."""
    if not database_path(home).exists() or keyfile.existing(home) is not None:
        return
    with translated(), closing(_look(home)) as conn:
        what = _made(conn)
    if what:
        raise IndexerError(
            f"{home / keyfile.NAME} is missing: a new one is not the key that {what} with",
            "put that file back, from a backup say; if it is gone for good, move index.db away and run `rescan`, "
            "which reads anew what transcripts and the archive hold",
        )


def _look(home: Path) -> Connection:
    """The memory, to be read. Without a log beside it nothing is made for that, as a reader's index of the log
    would be: the caller holds the writer lock, so nobody changes it meanwhile."""
    path = database_path(home)
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        return open_reader(home)
    return sqlite3.connect(f"file:{quote(str(path))}?immutable=1", uri=True)


def _made(conn: Connection) -> str:
    """What was made with the key; nothing if it is not needed."""
    tables = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "tombstones" in tables and conn.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone():
        return "things were forgotten"
    for table, column in _MARKED:
        sql = f"SELECT 1 FROM {table} WHERE instr({column}, '[REDACTED:') LIMIT 1"
        if table in tables and conn.execute(sql).fetchone():
            return "secrets were redacted"
    return ""
