"""The state of the memory and its service in Prometheus's text format.

Written by hand: the format is a name, labels and a number a line, and a client library would keep counters in
this process, while these come from the database and from what the service last said (status.json).
Names follow Prometheus's own rules: one prefix, base units, `_total` for what only grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

PREFIX = "transcript_indexer_"


class Metric(NamedTuple):
    """One family. kind: gauge | counter. samples: labels and value; none: the family is left out."""

    name: str
    kind: str
    about: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


def gauge(name: str, about: str, value: float | None) -> Metric:
    """A family of one sample; None: not known, which is not 0."""
    return Metric(name, "gauge", about, () if value is None else (({}, value),))


def labelled(name: str, kind: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    """A family with a sample for each value of one label."""
    return Metric(name, kind, about, tuple(({label: key}, value) for key, value in values.items()))


def text(metrics: Iterable[Metric]) -> str:
    """The exposition, one line a sample, each family after its HELP and TYPE."""
    return "".join(f"{line}\n" for metric in metrics if metric.samples for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    name = PREFIX + metric.name
    yield f"# HELP {name} {_escaped(metric.about)}"
    yield f"# TYPE {name} {metric.kind}"
    for labels, value in metric.samples:
        shown = ",".join(f'{key}="{_quoted(word)}"' for key, word in labels.items())
        yield f"{name}{{{shown}}} {value:.17g}" if shown else f"{name} {value:.17g}"


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(words: str) -> str:
    return _escaped(words).replace('"', '\\"')
