"""What a list or a search is narrowed to: projects by any of their names, one session, a span of time; and who
is asked for meaning."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial

from indexer.config import Config, absolute
from indexer.errors import NotFound, UsageError
from indexer.project import Resolver
from indexer.query import parse_when
from indexer.ranking import Meaning
from indexer.store.browse import Session, find_sessions
from indexer.store.connection import Connection
from indexer.store.reads import resolve_project
from indexer.worker.client import ask

PATIENCE = 1.0
"""Seconds that a question which only vectors can answer waits for them: with all else, it is answered within
two, by words if need be."""


def resolver(settings: Config) -> Resolver:
    """Folders to projects, by the settings in force. Raises ConfigError for a bad pattern."""
    return Resolver(settings.environments, git_remote=settings.git_remote)


def meaning(settings: Config, mode: str) -> Meaning | None:
    """Who is asked for what is near in meaning; None for a search by words alone.

    A search by meaning alone waits for a worker that is still loading its models; all others answer by
    words at once."""
    if mode == "lexical" or settings.vectors_store == "none":
        return None
    wait = PATIENCE if mode == "semantic" else 0.0
    return partial(ask, settings.home, store=settings.vectors_store, wait=wait)


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


def moment(text: str, *, end: bool = False) -> int:
    """A time as a person writes it, in epoch milliseconds; a day means its start, with `end` its end.

    Raises UsageError."""
    return parse_when(text, int(time.time() * 1000), LocalZone(), end=end)


def span(since: str | None, until: str | None) -> tuple[int | None, int | None]:
    """Two times in epoch milliseconds, None where not given. Raises UsageError."""
    first = None if since is None else moment(since)
    last = None if until is None else moment(until, end=True)
    if first is not None and last is not None and first > last:
        raise UsageError(f"--since {since} is later than --until {until}", "swap the two")
    return first, last


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
