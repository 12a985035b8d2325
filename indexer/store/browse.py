"""Lists of sessions and projects, as `sessions` and `projects` show them.

A session shows what it holds, not what it owns: a fork counts its copied history too. Its own calls
are counted from an index; copied ones are looked up at their owners, which costs one lookup a record
(3 ms for 5,000) and nothing for the 94 % of records that stand in one session only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from indexer.store.connection import Connection
from indexer.store.membership import OWNER
from indexer.store.reads import PROJECT_SPELLINGS, merge_newest
from indexer.text import clean

EARLIEST, LATEST = -(1 << 63), (1 << 63) - 1

# The leaf of an old client's title may stand in any session; the last one in the session counts.
_LEAF_TITLE = """
  SELECT l.title FROM session_records r CROSS JOIN session_titles l ON l.leaf_uuid = r.uuid
  WHERE r.session_db_id = s.id ORDER BY r.file_id DESC, r.position DESC LIMIT 1
"""
_OWN_CALLS = "SELECT COUNT(*) FROM tool_uses t WHERE t.session_db_id = s.id"
_COPIED_CALLS = f"""
  SELECT COUNT(*)
  FROM (SELECT DISTINCT o.session_db_id AS owner
          FROM session_records r JOIN session_records o
            ON o.uuid = r.uuid AND o.session_db_id <> r.session_db_id AND o.flags & {OWNER}
         WHERE r.session_db_id = s.id) w
  JOIN tool_uses t ON t.session_db_id = w.owner
  JOIN session_records m ON m.uuid = t.record_uuid AND m.session_db_id = s.id
"""
_SESSION = f"""
SELECT s.id, s.content_session_id AS session, s.platform_source AS platform,
       coalesce(nullif(s.custom_title, ''), nullif(s.ai_title, ''), ({_LEAF_TITLE}), s.user_prompt) AS title,
       s.project, s.project_key, s.prompt_counter AS prompts,
       ({_OWN_CALLS}) + ({_COPIED_CALLS}) AS tool_uses,
       s.started_at_epoch AS started, s.last_at_epoch AS last, s.observed_model AS model, s.status,
       s.cwd, s.git_branch, s.forked_from
FROM sdk_sessions s"""
_WINDOW = "s.started_at_epoch <= :until AND s.last_at_epoch >= :since"
_NEWEST = "ORDER BY s.started_at_epoch DESC, s.id LIMIT :limit OFFSET :offset"

SESSIONS = f"{_SESSION} {_NEWEST}"
SESSIONS_WITHIN = f"{_SESSION} WHERE {_WINDOW} {_NEWEST}"
PROJECT_SESSIONS = f"{_SESSION} WHERE s.project_key = :key {_NEWEST}"
PROJECT_SESSIONS_WITHIN = f"{_SESSION} WHERE s.project_key = :key AND {_WINDOW} {_NEWEST}"
SESSION = f"{_SESSION} WHERE s.id = :id"
SESSION_NAMED = f"{_SESSION} WHERE s.content_session_id = :name ORDER BY s.id"
SESSION_PREFIXED = f"""{_SESSION}
WHERE s.content_session_id >= :name AND s.content_session_id < :name || char(1114111)
ORDER BY s.content_session_id LIMIT :limit"""
PROJECTS = """
SELECT p.project_key, p.display, p.source,
       (SELECT COUNT(*) FROM sdk_sessions s WHERE s.project_key = p.project_key) AS sessions,
       (SELECT COUNT(*) FROM user_prompts u
         WHERE u.project_key = p.project_key AND u.prompt_kind = 'prompt') AS prompts,
       (SELECT COUNT(*) FROM tool_uses t WHERE t.project_key = p.project_key) AS tool_uses,
       (SELECT MAX(s.last_at_epoch) FROM sdk_sessions s WHERE s.project_key = p.project_key) AS last
FROM projects p
"""
FOLDER_KEYS = """
SELECT project_key, count(*) AS sessions FROM sdk_sessions WHERE cwd = :cwd GROUP BY project_key
"""


class Session(NamedTuple):
    """A session as people see it. prompts and tool_uses count what it shows, copied history included.

    row_id: of sdk_sessions. session: the client's id. title: None when nothing names it.
    started, last: epoch milliseconds, None when no record is dated.
    """

    row_id: int
    session: str
    platform: str
    title: str | None
    project: str
    project_key: str
    prompts: int
    tool_uses: int
    started: int | None
    last: int | None
    model: str | None
    status: str
    cwd: str | None
    git_branch: str | None
    forked_from: str | None


class Project(NamedTuple):
    """A project with everything that is read as it. keys: its own first, then its aliases'.

    spellings: the display names its sessions use. source: guess | path | git-remote | environment.
    last: epoch milliseconds of the last activity.
    """

    key: str
    display: str
    source: str
    sessions: int
    prompts: int
    tool_uses: int
    last: int | None
    spellings: tuple[str, ...]
    keys: tuple[str, ...]


def sessions(
    conn: Connection,
    keys: Sequence[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
    offset: int = 0,
) -> list[Session]:
    """The newest sessions by start, of the projects `keys` or of all (None), undated ones last.

    since, until: epoch milliseconds; sessions that were going on at some moment from since to until.
    """
    within = since is not None or until is not None
    values: dict[str, object] = {
        "since": EARLIEST if since is None else since,
        "until": LATEST if until is None else until,
    }
    if keys is None:
        statement = SESSIONS_WITHIN if within else SESSIONS
        rows = conn.execute(statement, values | {"limit": limit, "offset": offset})
        return [Session(*row) for row in rows]
    statement = PROJECT_SESSIONS_WITHIN if within else PROJECT_SESSIONS
    values |= {"limit": limit + offset, "offset": 0}
    branches = [conn.execute(statement, values | {"key": key}) for key in dict.fromkeys(keys)]
    return [Session(*row) for row in islice(merge_newest(branches, "started"), offset, offset + limit)]


def session(conn: Connection, row_id: int) -> Session | None:
    """A session by its row id in sdk_sessions."""
    row = conn.execute(SESSION, {"id": row_id}).fetchone()
    return Session(*row) if row else None


def find_sessions(conn: Connection, name: str, limit: int = 6) -> list[Session]:
    """The session of this id; if there is none, up to `limit` whose ids begin with it."""
    name = clean(name)
    exact = [Session(*row) for row in conn.execute(SESSION_NAMED, {"name": name})]
    if exact or not name:
        return exact
    return [Session(*row) for row in conn.execute(SESSION_PREFIXED, {"name": name, "limit": limit})]


def keys_of_folder(conn: Connection, cwd: str) -> dict[str, int]:
    """The project keys that sessions begun in this folder have, each with how many have it."""
    return dict(conn.execute(FOLDER_KEYS, {"cwd": clean(cwd)}).fetchall())


def projects(conn: Connection, merged: Mapping[str, str]) -> list[Project]:
    """All projects that have sessions, the last active first. merged: of `reads.aliases`."""
    spelled = defaultdict(set)
    for key, name in conn.execute(PROJECT_SPELLINGS):
        spelled[key].add(name)
    groups = defaultdict(list)
    for row in conn.execute(PROJECTS):
        key = row["project_key"]
        found = Project._make((*row, tuple(sorted(spelled[key])), (key,)))
        groups[merged.get(found.key, found.key)].append(found)
    joined = (_join(key, group) for key, group in groups.items())
    return sorted((p for p in joined if p.sessions), key=lambda p: (-(p.last or 0), p.key))


def _join(key: str, group: Sequence[Project]) -> Project:
    """One project of several that are read as `key`; its own row, if it has one, gives the name."""
    group = sorted(group, key=lambda project: (project.key != key, project.key))
    first = group[0]
    return first._replace(
        key=key,
        sessions=sum(project.sessions for project in group),
        prompts=sum(project.prompts for project in group),
        tool_uses=sum(project.tool_uses for project in group),
        last=max((project.last for project in group if project.last is not None), default=None),
        spellings=_distinct(name for project in group for name in project.spellings),
        keys=_distinct([key, *(project.key for project in group)]),
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
