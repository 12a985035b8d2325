"""tags: where elements end, and what `<private>` hides."""

from __future__ import annotations

import pytest

from indexer.tags import HIDDEN, TAG, closings, hide_private


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>x</private> b", f"a {HIDDEN} b"),
        ("a <private>x <private>y</private> z</private> b", f"a {HIDDEN} b"),
        ("a <private>x", f"a {HIDDEN}"),
        ("a </private> b", "a </private> b"),
        ("a <private/> b", f"a {HIDDEN} b"),
        ("<private>x</private><PRIVATE>y</PRIVATE>", HIDDEN * 2),
        ("say `<private>` to hide", "say `<private>` to hide"),
        ("<privateer>x</privateer>", "<privateer>x</privateer>"),
        ("<system-reminder>a <private> b</system-reminder> c", f"<system-reminder>a {HIDDEN}</system-reminder> c"),
        ("<system-reminder>a</system-reminder> <private> b", f"<system-reminder>a</system-reminder> {HIDDEN}"),
    ],
)
def test_what_private_hides(text: str, left: str) -> None:
    assert hide_private(text) == left
    assert hide_private(left) == left


def test_an_element_ends_with_its_own_tag() -> None:
    text = "<private>a<private>b</private>c</private>"
    found = closings(list(TAG.finditer(text)))
    assert {start: text[close.start : close.end] for start, close in found.items()} == {
        0: "</private>",
        10: "</private>",
    }
    assert found[0].end == len(text)
