"""Takes everything that is stored through the present redaction rules: `redact --rescan`."""

from __future__ import annotations

import time
from collections import Counter
from typing import NamedTuple

from indexer.archive.keep import Archive
from indexer.archive.renew import renew as renew_archive
from indexer.config import Config
from indexer.redaction_key import redactor
from indexer.store import erasing, redaction
from indexer.store.connection import WriterLock, open_reader, open_writer, translated
from indexer.store.migrations import migrate


class Report(NamedTuple):
    """changed: rows that came out otherwise, by table. marks: secrets replaced. number: of the rule set."""

    changed: dict[str, int]
    marks: int
    number: int
    seconds: float


def renew(config: Config) -> Report:
    """Redact all that is stored by the present rules, whether or not it has been.

    Transcripts are not read: that is for the next `rescan`, or the running `watch`. Raises NoDatabase, Busy
    when another process writes, CorruptDatabase, NewerDatabase.
    """
    began = time.monotonic()
    open_reader(config.home).close()
    lock = WriterLock(config.home)
    try:
        with translated():
            conn = open_writer(config.home)
            try:
                migrate(conn)
                redact = redactor(config)
                number = redaction.adopt(conn, redact.rules, again=True)
                changed: Counter[str] = Counter()
                if lines := sum(renew_archive(conn, Archive(conn, config.home), redact)):
                    changed["archive"] = lines
                for step in redaction.reapply(conn, redact):
                    changed += step
                erasing.scrub(conn)
            finally:
                conn.close()
    finally:
        lock.release()
    return Report(dict(changed), redact.redacted, number, time.monotonic() - began)
