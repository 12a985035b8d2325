"""How well secrets are found, how often something harmless is taken for one, and at what speed.

usage: python -m benchmarks redaction [--megabytes 8] [--seed 4]

Recall is over the made-up secrets of tests/support/seeded.py: every kind that is promised, eight of each, in every
context. The rules were written for these formats, so that this is no independent score; what has no form is not found
(README, Privacy). False positives are counted on the sources of Python's own standard library, in which there is
no secret but in its tests, which are left out: marks per MB, and the texts that were marked.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from indexer.redact import Redactor
from indexer.text import MARK

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "support")]

from seeded import CONTEXTS, secrets  # noqa: E402 - lies beside the tests

CHUNK = 8_000


def recall(seed: int) -> Iterator[str]:
    """Rows: by context, and the kinds that were missed anywhere."""
    redactor, made = Redactor(b"k" * 32), list(secrets(seed=seed))
    missed: Counter[str] = Counter()
    yield "| context | secrets | found |\n|---|---|---|"
    for name, write in CONTEXTS.items():
        lost = [one.kind for one in made if one.value in redactor.text(write(one.written))]
        missed.update(lost)
        yield f"| {name} | {len(made)} | {len(made) - len(lost)} |"
    total = len(made) * len(CONTEXTS)
    found = total - sum(missed.values())
    yield f"\nFound {found:,} of {total:,} ({100 * found / total:.2f} %), {len({one.kind for one in made})} kinds."
    yield f"Missed: {', '.join(f'{kind} ({count})' for kind, count in missed.most_common()) or 'none'}."


def clean_texts(size: int) -> list[str]:
    """Pieces of the standard library's sources, about so many bytes."""
    texts: list[str] = []
    held = 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if {"test", "tests", "site-packages", "idle_test"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        texts += [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
        held += len(text)
        if held >= size:
            break
    return texts


def speed(texts: Sequence[str]) -> Iterator[str]:
    """What redacting clean texts costs and does."""
    redactor = Redactor(b"k" * 32)
    size = sum(len(text.encode()) for text in texts) / 1e6
    lines = [orjson.dumps({"type": "user", "message": {"content": text}}) for text in texts]
    began = time.process_time()
    for line in lines:
        redactor.line(line)
    by_line = time.process_time() - began
    began = time.process_time()
    marked = [redactor.text(text) for text in texts]
    by_text = time.process_time() - began
    kinds = Counter(match.group(0).split(":")[1] for text in marked for match in MARK.finditer(text))
    yield f"\nOn {size:.1f} MB of Python's standard library: {sum(kinds.values())} marks, "
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(5)) or "none"
    yield f"{sum(kinds.values()) / size:.2f} a MB ({told}); "
    yield f"{size / by_line:.0f} MB/s as lines of a transcript, {size / by_text:.0f} MB/s as bare texts (CPU)."


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks redaction", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", default=8, type=float)
    parser.add_argument("--seed", default=4, type=int)
    args = parser.parse_args(argv)
    for line in recall(args.seed):
        print(line)
    for line in speed(clean_texts(int(args.megabytes * 1e6))):
        print(line, end="")
    print()


if __name__ == "__main__":
    main()
