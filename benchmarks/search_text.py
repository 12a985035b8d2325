"""How fast `text.search_tokens` is: MB of UTF-8 a CPU second, best of five, on texts of 1,500 characters.

    python -m benchmarks search_text

Words come from a fixed lexicon and a fixed seed. `code` and `camel` draw from 4,000 identifiers, as the
files of a project do; in `unseen` every identifier is new, the worst case.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from indexer import text

CHUNK = 1500
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
HAN = [chr(c) for c in range(0x4E00, 0x4E00 + 3500)]


def words(rng: random.Random, count: int) -> list[str]:
    """Words of 2 to 9 letters, common letters more often."""
    weights = range(len(LETTERS), 0, -1)
    return ["".join(rng.choices(LETTERS, weights, k=rng.randint(2, 9))) for _ in range(count)]


def english(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    return " ".join(rng.choice(lexicon) for _ in range(CHUNK // 6))


def identifier(rng: random.Random, lexicon: Sequence[str]) -> str:
    a, b, c = rng.choices(lexicon, k=3)
    return f"{a}{b.title()}{c.title() if rng.random() < 0.4 else ''}"


def code(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    """One identifier in ten is camelCase."""
    lines = []
    for _ in range(CHUNK // 40):
        a, b, c, d = rng.choices(lexicon, k=4)
        name = rng.choice(names) if rng.random() < 0.4 else f"{a}_{b}"
        lines.append(f"    if {name}[{rng.randint(0, 99)}] == self.{c}({d}):\n")
    return "".join(lines)


def camel(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    """One word in two is camelCase."""
    return "".join(f"{rng.choice(names)}({rng.choice(lexicon)}); " for _ in range(CHUNK // 24))


def unseen(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    return "".join(f"{identifier(rng, lexicon)}({rng.choice(lexicon)}); " for _ in range(CHUNK // 24))


def chinese(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    return "，".join("".join(rng.choices(HAN, k=rng.randint(3, 16))) for _ in range(CHUNK // 10))


def mixed(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    han = ("".join(rng.choices(HAN, k=rng.randint(2, 8))) for _ in range(CHUNK // 20))
    return "".join(f"{run}{rng.choice(lexicon)} {rng.choice(lexicon)}，" for run in han)


def dashes(rng: random.Random, lexicon: Sequence[str], names: Sequence[str]) -> str:
    return english(rng, lexicon, names).replace(" a", " — a").replace(" e", " → e")


def speed(texts: Sequence[str], work: Callable[[str], object]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for one in texts:
            work(one)
        best = min(best, time.process_time() - start)
    return sum(len(one.encode()) for one in texts) / best / 1e6


def main() -> None:
    rng = random.Random(1)  # repeatable, not secret
    lexicon = words(rng, 5000)
    names = [identifier(rng, lexicon) for _ in range(4000)]
    for make in (english, code, camel, unseen, dashes, chinese, mixed):
        texts = [make(rng, lexicon, names) for _ in range(1500)]
        print(f"{make.__name__:8} {speed(texts, text.search_tokens):7.0f} MB/s")  # its output


if __name__ == "__main__":
    main()
