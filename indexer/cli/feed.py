"""`rescan` and `watch`: the two commands that write, and the progress of the first.

Ctrl-C is no accident in either: everything read so far is committed with its place in the file, so the
next run goes on from there. Only a rebuild begins again: until it is done, the memory is as it was.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from indexer import app, config
from indexer.cli.output import Output
from indexer.cli.render import aside, duration, fit, many, one_line, size
from indexer.errors import NotFound
from indexer.rescan import Progress, Report
from indexer.store.reads import Counts, counts, reading

REDRAW_SECONDS, LINE_SECONDS = 0.1, 5.0
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CLEAR = "\r\x1b[K"


def rescan(args: Namespace, out: Output) -> int:
    """Read all transcripts into the memory and say what came of it; 1 when a folder that was named is missing.

    Raises NotFound when all that were named on the command line are, Busy while another writes.
    """
    settings = config.load(args.home, args.roots)
    missing = [root for root in settings.roots if not Path(root).is_dir()]
    if args.roots and len(missing) == len(settings.roots):
        raise NotFound(f"there is no folder {', '.join(missing)}", "nothing was read and nothing changed: check --root")
    meter = Meter(sys.stderr, sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    try:
        report = app.rescan(settings, meter, rebuild=args.rebuild)
    except KeyboardInterrupt:
        left = "the memory is as it was" if args.rebuild else "run it again to go on"
        raise KeyboardInterrupt(f"interrupted; {left}") from None
    finally:
        meter.end()
    with reading(settings.home) as conn:
        held = counts(conn)
    if out.as_json:
        out.data({"report": _report_json(report), "counts": held._asdict()})
    else:
        out.lines(_report_lines(report, held))
        if not report.files_total:
            out.note(f"note: there are no transcripts in {', '.join(settings.roots or args.roots)}")
    return 1 if missing else 0


def watch(args: Namespace, out: Output) -> int:
    """Keep the memory up to date until SIGINT, SIGTERM or SIGHUP; what is in hand is finished first.

    Returns 130 after Ctrl-C, 0 when a service manager ends it. Raises Busy while another writes.
    """
    settings = config.load(args.home, args.roots)
    with _stopping() as (stop, received):
        if sys.stderr.isatty():
            out.note("watching; Ctrl-C stops")
        app.watch(settings, stop)
    return 130 if signal.SIGINT in received else 0


@contextmanager
def _stopping() -> Iterator[tuple[threading.Event, list[int]]]:
    """An event that SIGINT, SIGTERM and SIGHUP (the terminal is gone) set, and the signals received. A second
    one ends at once. What whoever started us has us ignore, as nohup does, stays ignored."""
    stop, received = threading.Event(), list[int]()

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        stop.set()
        signal.signal(number, before[number])

    heard = [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {int(number): signal.signal(number, note) for number in heard}
    try:
        yield stop, received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Meter:
    """Shows a rescan's progress: one line drawn again and again on a terminal, else a line now and then.

    It goes by the clock of what it is told (`Progress.seconds`) and has none of its own.
    """

    def __init__(self, stream: TextIO, terminal: bool) -> None:
        self._stream, self._terminal = stream, terminal
        self._every = REDRAW_SECONDS if terminal else LINE_SECONDS
        self._next = 0.0 if terminal else LINE_SECONDS
        self._drawn = False

    def __call__(self, progress: Progress) -> None:
        """Show this state, unless the last one was shown a moment ago."""
        if progress.seconds < self._next:
            return
        self._next = progress.seconds + self._every
        line = progress_line(progress)
        if self._terminal:
            line = _CLEAR + fit(line, shutil.get_terminal_size().columns - 1)
        self._stream.write(line if self._terminal else line + "\n")
        self._stream.flush()
        self._drawn = self._terminal

    def end(self) -> None:
        """Take the drawn line away, so that what follows begins at the margin."""
        if self._drawn:
            self._stream.write(_CLEAR)
            self._stream.flush()


def progress_line(progress: Progress) -> str:
    """`120 of 7,240 files · 12 of 500 MB · 80,214 rows · 12 s left`"""
    return aside(
        f"{progress.files_done:,} of {many(progress.files_total, 'file')}",
        f"{size(progress.bytes_done)} of {size(progress.bytes_total)}",
        many(progress.rows, "row"),
        _left(progress),
    )


def _left(progress: Progress) -> str:
    """The time left at the pace so far; "" while there is no pace to speak of."""
    if progress.seconds < 1 or not progress.bytes_done or progress.bytes_done >= progress.bytes_total:
        return ""
    pace = progress.bytes_done / progress.seconds
    return duration(int(1000 * (progress.bytes_total - progress.bytes_done) / pace)) + " left"


def _report_json(report: Report) -> dict[str, object]:
    return {
        "files": {
            "total": report.files_total,
            "read": report.files_read,
            "unchanged": report.files_unchanged,
            "from_archive": report.files_archived,
        },
        "bytes_read": report.bytes_read,
        "rows_new": report.rows_new,
        "observations": report.observations,
        "dead_letters": report.dead_letters,
        "conflicts": report.conflicts,
        "problems": [{"file": path, "reason": reason} for path, reason in report.problems],
        "seconds": round(report.seconds, 3),
        "sample": report.sample,
    }


def _report_lines(report: Report, held: Counts) -> Iterator[str]:
    if report.sample:
        yield "No transcripts were found, so a small bundled sample was read instead."
    yield aside(
        f"read {report.files_read:,} of {many(report.files_total, 'file')}",
        size(report.bytes_read),
        f"{many(report.rows_new, 'new row')}",
        many(report.observations, "observation") if report.observations else "",
        f"{report.seconds:.1f} s",
    )
    if report.files_archived:
        yield f"and {many(report.files_archived, 'file')} from the archive, which no longer stand on disk"
    for path, reason in report.problems:
        yield f"not read: {one_line(path)}: {one_line(reason)}"
    if report.conflicts:
        yield f"{many(report.conflicts, 'record')} said something else than before; the first was kept"
    if report.dead_letters:
        yield f"{many(report.dead_letters, 'dead letter')}: see `transcript-indexer status`"
    yield "the memory holds " + ", ".join(
        (
            many(held.sessions, "session"),
            many(held.prompts, "prompt"),
            many(held.tool_uses, "tool use"),
            many(held.assistant_messages, "answer"),
            many(held.projects, "project"),
        )
    )
