"""What a list or a search is narrowed to: projects by any of their names, and a span of time."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from indexer import query
from indexer.config import Config
from indexer.errors import UsageError
from indexer.project import Resolver
from indexer.store.reads import Connection, resolve_project


def resolver(settings: Config) -> Resolver:
    """Folders to projects, by the settings in force. Raises ConfigError for a bad pattern."""
    return Resolver(settings.environments, git_remote=settings.git_remote)


def project_keys(conn: Connection, settings: Config, name: str | None) -> tuple[str, ...] | None:
    """The keys behind `--project NAME`; None when it was not given. Raises AmbiguousProject, NotFound."""
    if name is None:
        return None

    def key_of(path: str) -> str:
        return resolver(settings).resolve(path).key

    return resolve_project(conn, name, str(Path.cwd()), key_of, settings.aliases)


def window(args: Namespace) -> tuple[int | None, int | None]:
    """`--since` and `--until` in epoch milliseconds, None where not given. Raises UsageError."""
    since, until = _moment(args.since, "--since", False), _moment(args.until, "--until", True)
    if since is not None and until is not None and since > until:
        raise UsageError(f"--since {args.since} is later than --until {args.until}", "swap the two")
    return since, until
