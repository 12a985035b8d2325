"""Coverage-guided fuzzing (atheris) of what reads hostile bytes: an input that raises, or takes a second, is a finding.

usage: python -m benchmarks fuzz line|query|redact|reply [--seconds 60] [--corpus FOLDER]

`pip install atheris` first; without it nothing is done and it says so. CI has hypothesis instead (tests/properties), by
the same targets. An input that was found is printed by atheris and belongs into tests/regressions.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

NAMES = ("line", "query", "redact", "reply")
SEEDS: dict[str, tuple[bytes, ...]] = {
    "line": (
        b'{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}',
        b'{"type":"assistant","uuid":"u","message":{"content":[{"type":"tool_use","id":"call_0","name":"Bash","input":{}}]}}',
        b'\x00\x00{"type":"user"}{"torn',
    ),
    "query": (b'"a phrase" -word title:x', "项目 auth.ts".encode()),
    "redact": (b"DB_PASSWORD=swordfish", b"https://ci:secret@example.org/x <private>y</private>"),
    "reply": (b'{"observations":[{"title":"t","facts":["f"]}]}', b"<observation><title>t</title></observation>"),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Fuzz one target until the time is over or something is found."""
    parser = argparse.ArgumentParser(prog="benchmarks fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--seconds", default=60, type=int)
    parser.add_argument("--corpus", type=Path, help="inputs to begin with, and to keep new ones in")
    args = parser.parse_args(argv)
    if find_spec("atheris") is None:
        raise SystemExit("atheris is not installed here: pip install atheris")
    import atheris  # noqa: PLC0415 - may be missing

    with atheris.instrument_imports(include=["indexer", "benchmarks.targets"]):  # only what is imported here
        from benchmarks.targets import TARGETS  # noqa: PLC0415

    with TemporaryDirectory() as scratch:
        corpus = args.corpus or Path(scratch)
        corpus.mkdir(exist_ok=True)
        for number, seed in enumerate(SEEDS[args.target]):
            (corpus / f"seed{number}").write_bytes(seed)
        words = [sys.argv[0], f"-max_total_time={args.seconds}", "-timeout=1", "-max_len=4096", "-seed=8", str(corpus)]
        os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        atheris.Setup(words, TARGETS[args.target])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
