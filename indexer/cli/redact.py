"""`redact --rescan`: what is stored, once more through the redaction rules."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from indexer import app, config
from indexer.cli.output import Output
from indexer.cli.render import many
from indexer.errors import UsageError
from indexer.renewal import Report


def redact(args: Namespace, out: Output) -> int:
    """Redact all that is stored by the present rules and say what changed. Raises Busy while another writes."""
    if not args.rescan:
        raise UsageError("what is to be redacted?", "`redact --rescan` takes everything stored through the rules")
    settings = config.load(args.home, args.roots)
    report = app.redact(settings)
    if out.as_json:
        out.data({"changed": report.changed, "secrets": report.marks, "seconds": round(report.seconds, 3)})
    else:
        out.lines(_lines(report))
    return 0


def _lines(report: Report) -> Iterator[str]:
    rows = sum(report.changed.values())
    yield f"{many(rows, 'row')} changed, {many(report.marks, 'secret')} taken out in {report.seconds:.1f} s"
    for table, count in sorted(report.changed.items()):
        yield f"  {table}: {count:,}"
    yield "`transcript-indexer rescan` reads the transcripts that still stand by the same rules"
