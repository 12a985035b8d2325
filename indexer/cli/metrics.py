"""`metrics`: the state of the memory for Prometheus, as its node exporter's textfile collector takes it."""

from __future__ import annotations

import sys
from argparse import Namespace

from indexer import config
from indexer.cli.output import Output
from indexer.metrics import Metric, text
from indexer.vitals import measured


def metrics(args: Namespace, out: Output) -> int:
    """Print all metrics. Raises NoDatabase."""
    found = measured(config.load(args.home, args.roots).home)
    if out.as_json:
        out.data({"metrics": {one.name: _plain(one) for one in found if one.samples}})
    else:
        sys.stdout.write(text(found))
    return 0


def _plain(metric: Metric) -> object:
    if not metric.samples[0][0]:
        return metric.samples[0][1]
    return {next(iter(labels.values())): value for labels, value in metric.samples}
