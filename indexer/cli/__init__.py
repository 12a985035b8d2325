"""The command line's front door: parse, run the command's module, turn what was raised into an exit code.

A command's module is imported only once it has been chosen (parser.py names it), so that `search --help`
costs no more than argparse, and a search loads neither the watcher nor the logger: 32 ms of CPU for
argparse and SQLite together, against 200 to 860 for click or typer (ux-and-security 1.5).

Exit codes: 0 done (finding nothing is no error), 130 interrupted, 141 nobody reads our output any more;
all others are those of indexer.errors.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from indexer.cli.output import Output, discard_stdout
from indexer.cli.parser import build_parser, parse
from indexer.errors import IndexerError

__all__ = ["build_parser", "main"]

INTERRUPTED = 130
BROKEN_PIPE = 141
DEBUG = "TRANSCRIPT_INDEXER_DEBUG"
_PREFIX = "TRANSCRIPT_INDEXER_"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Only `--help` leaves by SystemExit(0)."""
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        return BROKEN_PIPE
    except OSError as error:
        # A full disk behind standard output shows only now that the buffer is written.
        discard_stdout()
        return _fail(Output.plain(as_json=False), _refused(error))
    return code


def _run(words: list[str]) -> int:
    out = Output.plain(as_json="--json" in words)
    try:
        args = parse(words)
        out = Output.of(args)
        _tell_of_variables(out, args.command)
        module, _, function = args.run.partition(":")
        return int(getattr(import_module(module), function)(args, out))
    except IndexerError as error:
        return _fail(out, error)
    except KeyboardInterrupt as interrupt:
        return _interrupted(out, str(interrupt) or "interrupted")
    except BrokenPipeError:
        raise
    except SystemExit:
        sys.stdout.flush()
        raise
    except OSError as error:
        return _fail(
            out, _refused(error) if error.filename is not None or error.errno == errno.ENOSPC else _internal(error)
        )
    except Exception as error:  # noqa: BLE001 - the outermost door: a user gets one line, not a traceback
        if os.environ.get(DEBUG) == "1":
            sys.excepthook(type(error), error, error.__traceback__)
        return _fail(out, _internal(error))


def _tell_of_variables(out: Output, command: str | None) -> None:
    """Say which variables of our prefix nobody reads: a slip of the pen costs an evening otherwise. A hook of
    Claude Code's says nothing that it was not asked for."""
    if command == "hook" or not any(name.startswith(_PREFIX) for name in os.environ):
        return
    from indexer.config import unknown_variables  # noqa: PLC0415 - of `--version`, half the time

    for name, near in unknown_variables(os.environ):
        meant = f"did you mean {near}?" if near else "`transcript-indexer config show` lists all settings"
        out.note(f"note: nothing reads the environment variable {name}; {meant}")


def _fail(out: Output, error: IndexerError) -> int:
    out.error(error)
    return error.exit_code


def _interrupted(out: Output, message: str) -> int:
    if not out.as_json:
        out.note(message)
        return INTERRUPTED
    error = IndexerError(message)
    error.kind, error.retryable, error.exit_code = "interrupted", True, INTERRUPTED
    return _fail(out, error)


def _refused(error: OSError) -> IndexerError:
    """What the system did not let us do: with a home that is a file or a full disk it is nobody's fault."""
    what = error.strerror or str(error)
    wrapped = IndexerError(what if error.filename is None else f"{error.filename}: {what}")
    wrapped.kind = "system"
    return wrapped


def _internal(error: Exception) -> IndexerError:
    wrapped = IndexerError(
        f"something went wrong that should not: {type(error).__name__}: {error}",
        f"this is a fault of transcript-indexer; set {DEBUG}=1 to see where it happened",
    )
    wrapped.kind = "internal"
    return wrapped
