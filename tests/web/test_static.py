"""Our own scripts and styles: they ask nobody else, and make markup of nothing but the server's."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import indexer.web

FOLDER = Path(indexer.web.__file__).parent / "static"
FILES = sorted(path.name for path in FOLDER.iterdir())
SCRIPTS = [name for name in FILES if name.endswith(".js")]


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_no_other_host_is_named(name: str) -> None:
    assert re.findall(r"url\(|@import|//[a-z]+\.[a-z]", text(name).replace("http://www.w3.org/2000/svg", "")) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_is_made_of_text(name: str) -> None:
    assert (
        re.findall(r"\beval\b|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.cookie", text(name))
        == []
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_ask_only_addresses_of_this_page(name: str) -> None:
    asked = re.findall(r"(?:fetch|EventSource|change)\(\s*[`\"']([^`\"'$?]*)", text(name))
    assert [to for to in asked if not to.startswith("/") or to.startswith("//")] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_scripts_import_is_there(name: str) -> None:
    named = re.findall(r'(?:import|from) "\./([^"]+)"', text(name))
    assert [one for one in named if one not in FILES] == []
    assert name == "app.js" or named == ["app.js"]


def test_every_script_that_a_page_names_is_there() -> None:
    named = {
        found for path in FOLDER.parent.glob("*.py") for found in re.findall(r'"(\w+\.(?:js|css))"', path.read_text())
    }
    assert named <= set(FILES)
    assert set(SCRIPTS) <= named


def test_all_files_together_are_small() -> None:
    assert sum((FOLDER / name).stat().st_size for name in FILES) < 40_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_links_have_contrast(scheme: str) -> None:
    """WCAG AA: 4.5 to 1, of every colour that text has, on both grounds."""
    colours = palette(scheme)
    for ground in ("ground", "raised"):
        for name in ("ink", "soft", "link", "bad", "good"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    assert contrast(colours["mark-ink"], colours["mark"]) >= 4.5
    assert min(contrast(colours["ink"], colours[name]) for name in ("added", "removed")) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_can_be_told_from_their_ground_and_levels_from_each_other(scheme: str) -> None:
    """WCAG asks for 3 to 1 of what is drawn; levels grow away from the ground step by step."""
    colours = palette(scheme)
    assert min(contrast(colours[f"c{place}"], colours["ground"]) for place in range(1, 5)) >= 3
    steps = [contrast(colours[f"h{level}"], colours["ground"]) for level in range(5)]
    assert steps == sorted(steps)
    assert min(after / before for before, after in pairwise(steps)) > 1.15


def palette(scheme: str) -> dict[str, str]:
    """The colours of a scheme by name; the dark one's stand in the first media query."""
    light, dark = text("page.css").split("@media (prefers-color-scheme: dark)")[:2]
    found = dict(re.findall(r"--([\w-]+): #([0-9a-f]{3,6});", light))
    if scheme == "dark":
        found |= dict(re.findall(r"--([\w-]+): #([0-9a-f]{3,6});", dark.partition("* {")[0]))
    return {name: value if len(value) == 6 else "".join(c * 2 for c in value) for name, value in found.items()}


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG 2 has it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
