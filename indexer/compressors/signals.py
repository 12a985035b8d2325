"""Patterns that signal something and begin at words, searched for word by word. Pure.

Python's `re` tries each of some seventy verbs at every character: 73 µs a sentence, a third of all that rules
take. Nearly all text is ASCII, where a match can only begin at a word that one of the alternatives begins with,
and most words are common: 7 µs.
"""

from __future__ import annotations

import re

WORDS_KNOWN = 20_000
"""Words whose answer is kept: some 2 MB a pattern at the most."""
_WORDS = re.compile(r"\w+")
_CUT = re.compile(r"[ \'\x22]")


class Signals:
    """pattern: matches begin at a word's start, in ASCII text. heads: its alternatives, of which the first words
    count; "the cause|fix(?:es)?" is `the` and `fix(?:es)?`."""

    def __init__(self, pattern: str, heads: str) -> None:
        self._pattern = re.compile(pattern)
        self._heads = re.compile("|".join(map(_first_word, _alternatives(heads))), re.IGNORECASE)
        self._known: dict[str, bool] = {}

    def search(self, text: str) -> re.Match[str] | None:
        """The first match, as the pattern itself would find it."""
        if not text.isascii():
            return self._pattern.search(text)
        known, match = self._known, self._pattern.match
        for word in _WORDS.finditer(text):
            may = known.get(word[0])
            if may is None:
                may = self._learn(word[0])
            if may and (found := match(text, word.start())):
                return found
        return None

    def _learn(self, word: str) -> bool:
        if len(self._known) >= WORDS_KNOWN:
            self._known.clear()
        may = self._known[word] = self._heads.fullmatch(word) is not None
        return may


def _alternatives(source: str) -> list[str]:
    """The parts of an alternation; a group in it stays whole."""
    parts, depth = [""], 0
    for character in source:
        depth += (character in "([") - (character in ")]")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _first_word(alternative: str) -> str:
    """Up to a space or quote, behind which the word may go on: `clean(?:s|ed)? ?up` is found in `cleanup`."""
    cut = _CUT.search(alternative)
    return rf"(?:{alternative[: cut.start()]})\w*" if cut else alternative
