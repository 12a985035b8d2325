"""`backup FILE`: a copy of the memory while the service goes on writing to it."""

from __future__ import annotations

from argparse import Namespace

from indexer import config
from indexer.cli.output import Output
from indexer.cli.render import one_line, size
from indexer.errors import UsageError
from indexer.store.backup import backup as copy
from indexer.store.connection import database_path
from indexer.store.reads import reading


def backup(args: Namespace, out: Output) -> int:
    """Write the copy. Raises UsageError when FILE exists or its folder does not, NoDatabase."""
    settings = config.load(args.home, args.roots)
    target = config.absolute(args.file)
    if target.is_dir():
        raise UsageError(f"{target} is a folder", "give the name of a file in it")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", "make it first")
    with reading(settings.home) as conn:
        written = copy(conn, target)
    if out.as_json:
        out.data({"file": str(target), "size_bytes": written})
        return 0
    stands = one_line(database_path(settings.home))
    restore = f"to restore: stop the service, delete {stands} with its -wal and -shm, and put the copy in its place"
    out.lines([f"wrote {one_line(target)}, {size(written)}", restore])
    return 0
