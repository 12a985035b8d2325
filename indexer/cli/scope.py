"""What a list or a search is narrowed to: projects by any of their names, one session, a span of time."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial

from indexer.config import Config, absolute
from indexer.errors import NotFound, UsageError
from indexer.project import Resolver
from indexer.query import parse_when
from indexer.ranking import Meaning
from indexer.store.around import anchor
from indexer.store.browse import Session, find_sessions
from indexer.store.connection import Connection
from indexer.store.items import CODES, item
from indexer.store.reads import aliases, resolve_project
from indexer.worker.client import ask

PATIENCE = 10.0
"""Seconds that a question which only vectors can answer waits for them."""


def resolver(settings: Config) -> Resolver:
    """Folders to projects, by the settings in force. Raises ConfigError for a bad pattern."""
    return Resolver(settings.environments, git_remote=settings.git_remote)


def project_keys(conn: Connection, settings: Config, name: str | None) -> tuple[str, ...] | None:
    """The keys behind `--project NAME`; None when it was not given. Raises AmbiguousProject, NotFound."""
    if name is None:
        return None

    def key_of(path: str) -> str:
        return resolver(settings).resolve(path).key

    try:
        return resolve_project(conn, name, str(absolute(".")), key_of, settings.aliases)
    except NotFound:
        if name not in (".", "..") and "/" not in name:
            raise
        folder = os.path.normpath(absolute(os.path.expanduser(name)))  # noqa: PTH111 - Path's may raise
        raise NotFound(
            f"nothing is known of the project of {folder}, whose key is {key_of(folder)}",
            "`transcript-indexer projects` lists what there is, `project explain` says why this is its key",
        ) from None


def one_session(conn: Connection, name: str) -> Session:
    """The session of this id, or the only one whose id begins so; `session:` may stand before it.

    Raises NotFound, UsageError with the candidates.
    """
    found = find_sessions(conn, name.removeprefix("session:"))
    if not found:
        raise NotFound(
            f"nothing has the id {name!r}",
            "`search` and `sessions` show ids: as prompt:12, or a session's id or the start of it",
        )
    if len(found) > 1 and found[0].session != name:
        some = ", ".join(session.session for session in found)
        raise UsageError(f"several sessions begin with {name!r}", f"give more of the id: {some}")
    return found[0]


def row_id(conn: Connection, name: str) -> int:
    """The row of search_texts behind an id as `search` shows it (`prompt:12`). Raises NotFound."""
    kind, _, number = name.rpartition(":")
    # 18 digits: what SQLite's row ids hold for certain.
    usable = kind in CODES and number.isascii() and number.isdigit() and len(number) <= 18
    if not usable or item(conn, kind, int(number)) is None:
        raise NotFound(f"there is no {name!r}", "`transcript-indexer search` shows ids that are there")
    return int(number) * 8 + CODES[kind]


def project_of(conn: Connection, settings: Config, row_id: int) -> tuple[str, ...]:
    """The keys that are read as one with the project of this row of search_texts."""
    found = anchor(conn, row_id)
    key = found.project_key if found else ""
    merged = aliases(conn, settings.aliases)
    own = merged.get(key, key)
    return tuple(dict.fromkeys([key, own, *(old for old, new in merged.items() if new == own)]))


def meaning(settings: Config, mode: str) -> Meaning | None:
    """Who is asked for what is near in meaning; None for a search by words alone.

    A search by meaning alone waits for a worker that is still loading its models; all others answer by
    words at once."""
    if mode == "lexical" or settings.vectors_store == "none":
        return None
    wait = PATIENCE if mode == "semantic" else 0.0
    return partial(ask, settings.home, store=settings.vectors_store, wait=wait)


def window(args: Namespace) -> tuple[int | None, int | None]:
    """`--since` and `--until` in epoch milliseconds, None where not given. Raises UsageError."""
    now, zone = int(time.time() * 1000), LocalZone()
    since = None if args.since is None else parse_when(args.since, now, zone)
    until = None if args.until is None else parse_when(args.until, now, zone, end=True)
    if since is not None and until is not None and since > until:
        raise UsageError(f"--since {args.since} is later than --until {args.until}", "swap the two")
    return since, until


class LocalZone(tzinfo):
    """The zone of this machine with its changes between summer and winter.

    datetime.astimezone() gives today's offset only, by which a day in the other half of the year would
    begin an hour off.
    """

    def utcoffset(self, moment: datetime | None) -> timedelta:
        """The offset in force at a local moment."""
        return timedelta(seconds=self._at(moment).tm_gmtoff)

    def dst(self, moment: datetime | None) -> timedelta:
        """Not told apart from the offset."""
        return timedelta(0)

    def tzname(self, moment: datetime | None) -> str:
        """The zone's short name at a local moment."""
        return self._at(moment).tm_zone

    def fromutc(self, moment: datetime) -> datetime:
        """The same moment on the local clock."""
        stamp = moment.replace(tzinfo=UTC).timestamp()
        return moment + timedelta(seconds=time.localtime(stamp).tm_gmtoff)

    @staticmethod
    def _at(moment: datetime | None) -> time.struct_time:
        if moment is None:
            return time.localtime()
        clock = moment.timetuple()
        return time.localtime(time.mktime((*clock[:8], -1)))
