"""Is the suite worth anything? Plants known faults (tests/support/faults.py) and runs the test that must find each.

usage: python -m benchmarks mutations [--only WORD] [--first N]

Everything happens in a copy of the code in a temporary folder. All named tests run there without a fault first,
and must pass; then each fault is planted alone, and its test must fail: an error while collecting is no failure,
and neither is a test that hangs. Exit code 1 if a fault survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "support")]

from faults import FAULTS, Fault  # noqa: E402 - lies beside the tests, which need it too

COPIED = ("indexer", "tests", "config", "systemd", "benchmarks", ".claude-plugin")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "uv.lock")
SECONDS = 300
PASSED, FAILED = 0, 1
"""Exit codes of pytest; others are neither."""
CAUGHT = "caught"


def copy(to: Path) -> Path:
    """The code and its tests, to be spoilt."""
    for name in COPIED:
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in FILES:
        shutil.copy(ROOT / name, to / name)
    return to


def plant(fault: Fault, tree: Path) -> dict[Path, str]:
    """Make the fault's edits; returns what stood there. Raises ValueError when the code has changed so much
    that the fault cannot be planted any more."""
    before: dict[Path, str] = {}
    for edit in fault.edits:
        path = tree / "indexer" / edit.file
        text = path.read_text(encoding="utf-8")
        before.setdefault(path, text)
        if text.count(edit.old) != 1:
            raise ValueError(f"{fault.name}: stands {text.count(edit.old)} times in {edit.file}: {edit.old!r}")
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
    return before


def run(tests: Sequence[str], tree: Path) -> str:
    """passed, failed, skipped (all of them), hung or broken: what became of these tests of the tree."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONPATH": str(tree), "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(  # noqa: S603 - this very interpreter
            [*words, *(f"tests/{test}" for test in tests)],
            cwd=tree, env=env, timeout=SECONDS, check=False, capture_output=True, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "hung"
    if ended.returncode == FAILED and " failed" in ended.stdout:
        return "failed"
    if ended.returncode == PASSED:
        return "passed" if " passed" in ended.stdout else "skipped"
    return "broken"


def is_runnable(fault: Fault) -> bool:
    """Whether what its test needs is installed."""
    return not fault.needs or find_spec(fault.needs) is not None


def verdict(fault: Fault, tree: Path) -> str:
    """`caught`, or what happened instead."""
    if not is_runnable(fault):
        return f"not run: {fault.needs} is not installed"
    before = plant(fault, tree)
    try:
        result = run([fault.test], tree)
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    return {"failed": CAUGHT, "passed": "SURVIVED"}.get(result, result)


def table(faults: Sequence[Fault]) -> Iterator[str]:
    """Markdown, a row as soon as it is known. Raises SystemExit when a fault survives."""
    caught = survived = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = copy(Path(scratch))
        if run(sorted({fault.test for fault in faults if is_runnable(fault)}), tree) != "passed":
            raise SystemExit("the tests fail without any fault")
        yield "| planted fault | found by | verdict | s |\n|---|---|---|---|"
        for fault in faults:
            began = time.perf_counter()
            found = verdict(fault, tree)
            caught, survived = caught + (found == CAUGHT), survived + (is_runnable(fault) and found != CAUGHT)
            yield f"| {fault.name} | `tests/{fault.test}` | {found} | {time.perf_counter() - began:.0f} |"
    yield f"\n{caught} of {len(faults)} planted faults caught."
    if survived:
        raise SystemExit(f"{survived} faults survived")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks mutations", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="faults whose name holds this")
    parser.add_argument("--first", type=int, default=len(FAULTS), help="no more than so many")
    args = parser.parse_args(argv)
    chosen = [fault for fault in FAULTS if args.only in fault.name][: args.first]
    for line in table(chosen):
        print(line, flush=True)


if __name__ == "__main__":
    main()
