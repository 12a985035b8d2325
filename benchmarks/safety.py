"""Nothing lost, nothing twice: kills, crash points, power cuts and the matrix of tailing, by the suite's own tests.

usage: python -m benchmarks safety [--quick] [--only PART ...]

The tests are those of `sh tests/check`, with more or fewer repeats. What they find they say themselves (TOLD in
tests/conftest.py), with the seed that repeats it: a figure here is never anything but what a test compared. The
oracle of a kill is a writer in a process of its own, that notes a record once its write has returned.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Tree

ROOT = Path(__file__).parent.parent
SOME_FAILED = 1
"""pytest's exit code; what is above says that it did not run them."""
STORY = "what stood in a file when the service looked is remembered, and nothing else"
"""What tests/properties/test_weather_properties.py is about: a state machine has no name of its own."""
STEPS = 25
"""Events in one story of tests/properties/test_weather_properties.py."""


class Part(NamedTuple):
    """Tests, and the variables that say how often, by --quick and without it."""

    tests: tuple[str, ...]
    quick: Mapping[str, str]
    full: Mapping[str, str]


class Outcome(NamedTuple):
    """A test's result: passed, failed or skipped; what it said; why it was skipped."""

    file: str
    name: str
    result: str
    said: tuple[str, ...] = ()
    why: str = ""


PARTS: dict[str, Part] = {
    "kills": Part(("tests/crash/test_kill.py",), {"CRASH_KILLS": "200"}, {"CRASH_KILLS": "5000"}),
    "crash points": Part(
        (
            "tests/crash/test_points.py",
            "tests/crash/test_archive_points.py",
            "tests/crash/test_compress_points.py",
            "tests/crash/test_forget_crash.py",
        ),
        {},
        {"CRASH_STATEMENTS": "1"},
    ),
    "power cuts": Part(("tests/crash/test_power.py",), {"CRASH_CUTS": "50"}, {"CRASH_CUTS": "500"}),
    "stories": Part(
        ("tests/properties/test_weather_properties.py",), {"WEATHER_EXAMPLES": "300"}, {"WEATHER_EXAMPLES": "900"}
    ),
}


def run(tests: Sequence[str], more: Mapping[str, str]) -> list[Outcome]:
    """What became of these tests, in a pytest of their own."""
    with tempfile.TemporaryDirectory() as scratch:
        told, results = Path(scratch, "told"), Path(scratch, "results.xml")
        told.touch()
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", f"--junitxml={results}", "--timeout=0"]
        env = {**os.environ, **more, "TOLD": str(told), "PYTHONPATH": str(ROOT)}
        ended = subprocess.run([*words, *tests], cwd=ROOT, env=env, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode > SOME_FAILED or not results.exists():
            raise SystemExit(f"pytest could not run: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
        said = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
        return [_outcome(case, said) for case in Tree.parse(results).iter("testcase")]  # noqa: S314 - pytest's own file


def _outcome(case: Tree.Element, said: Sequence[Sequence[str]]) -> Outcome:
    file = case.get("classname", "").removesuffix(".TestWeather").replace(".", "/") + ".py"
    name = case.get("name", "")
    skipped = case.find("skipped")
    failed = case.find("failure") is not None or case.find("error") is not None
    result = "failed" if failed else "skipped" if skipped is not None else "passed"
    texts = tuple(text for test, text in said if test == name)
    return Outcome(file, name, result, texts, "" if skipped is None else skipped.get("message", ""))


def rows(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Markdown rows: a test in words, what it said, its result."""
    for one in outcomes:
        said = "; ".join(one.said) or one.why
        words = STORY if one.name == "runTest" else one.name.removeprefix("test_").replace("_", " ")
        yield f"| {words} | {said} | {one.result} |"


def table(name: str, quick: bool) -> Iterator[str]:
    """One part's."""
    part, began = PARTS[name], time.perf_counter()
    outcomes = run(part.tests, part.quick if quick else part.full)
    yield f"\n**{name}** ({time.perf_counter() - began:.0f} s)\n\n| test | what it found | result |\n|---|---|---|"
    yield from rows(outcomes)


def matrix() -> Iterator[str]:
    """The scenarios of tests/regressions/test_tailing_matrix.py, each by the tests it names. The crash tests
    among them have run above, where what they found stands."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
    from tests.regressions.test_tailing_matrix import MATRIX  # noqa: PLC0415 - needs the path

    named = {number: [(file, name) for file, names in row.tests.items() for name in names]
             for number, row in MATRIX.items()}  # fmt: skip
    began = time.perf_counter()
    found = results({test for tests in named.values() for test in tests if not test[0].startswith("crash/")})
    verdicts = {number: verdict(tests, found) for number, tests in named.items()}
    passed = sum(said.startswith("passed") for said in verdicts.values())
    simulated = sum(row.simulated for row in MATRIX.values())
    yield f"\n**the matrix of tailing** ({time.perf_counter() - began:.0f} s): {passed} of {len(MATRIX)} passed, "
    yield f"{simulated} of them by simulation\n\n| row | scenario | result |\n|---|---|---|"
    for number, row in MATRIX.items():
        yield f"| {number} | {row.scenario} | {verdicts[number]}{' (simulated)' if row.simulated else ''} |"


def results(tests: Iterable[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
    """What became of each test (file below tests/, name), over all its parameters."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in run(sorted(f"tests/{file}::{name}" for file, name in tests), {}):
        found.setdefault((one.file.removeprefix("tests/"), one.name.partition("[")[0]), set()).add(one.result)
    return found


def verdict(tests: Sequence[tuple[str, str]], found: Mapping[tuple[str, str], set[str]]) -> str:
    """Of a scenario. A test that did not run is no success, but for those of tests/crash, which run elsewhere."""
    said = {
        result
        for file, name in tests
        for result in found.get((file, name), {"above" if file.startswith("crash/") else "failed"})
    }
    if "failed" in said:
        return "failed"
    if said == {"above"}:
        return "passed above"
    return "skipped" if said == {"skipped"} else f"passed{', in part skipped' if 'skipped' in said else ''}"


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table for each part, as soon as it is there."""
    parser = argparse.ArgumentParser(prog="benchmarks safety", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="what CI does, not what is done before a release")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "matrix"], default=[*PARTS, "matrix"])
    args = parser.parse_args(argv)
    for name in args.only:
        for line in matrix() if name == "matrix" else table(name, args.quick):
            print(line, flush=True)


if __name__ == "__main__":
    main()
