"""`python -m benchmarks all [--quick]` for the whole report, `python -m benchmarks NAME …` for one benchmark."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(
    path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "__main__", "report", "targets")
)


def main(argv: list[str]) -> None:
    """Run one of them as a program. Raises SystemExit with what there is when none is named."""
    if not argv or argv[0] not in ("all", *NAMES):
        raise SystemExit(f"usage: python -m benchmarks all [--quick]\n       python -m benchmarks {'|'.join(NAMES)} …")
    module = "report" if argv[0] == "all" else argv[0]
    sys.argv = [f"benchmarks {argv[0]}", *argv[1:]]
    runpy.run_module(f"benchmarks.{module}", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
