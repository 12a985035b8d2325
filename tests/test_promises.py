"""Every promise names the tests that hold it, and they exist: README.md, Promises, and SECURITY.md."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PROMISES = (
    "nothing lost, nothing twice", "events are hints", "vanished, shrunk, moved or rewritten", "no token and no byte",
    "search never fails", "secrets do not land on disk", "never disturbs claude code", "status does not lie",
)  # fmt: skip
BOXES = (
    "umask", "regular files only", "ids", "choke point", "`<private>`", "secret files", "forgetting reaches",
    "sanitised", "LIKE", "caps on", "no network", "budgets", "recalled", "fenced", "Host, Origin", "MCP tools",
    "git is never", "locked", "telemetry", "this page",
)  # fmt: skip


def section(file: str, title: str) -> list[list[str]]:
    """The cells of the table under a heading, without its head."""
    text = (ROOT / file).read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][2:]


@cache
def names_in(file: str) -> frozenset[str]:
    """Names of the tests of a file, those within classes too, and of state machines."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    machines = {at.id for node in tree.body if isinstance(node, ast.Assign) for at in node.targets
                if isinstance(at, ast.Name)}  # fmt: skip
    return frozenset(name for name in functions | machines if name.startswith(("test_", "Test")))


def named(file: str) -> list[tuple[str, str]]:
    return NAMED.findall((ROOT / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("file", "test"), sorted({*named("README.md"), *named("SECURITY.md")}))
def test_every_test_that_is_named_exists(file: str, test: str) -> None:
    assert test in names_in(file)


def test_every_promise_names_its_tests_and_a_figure() -> None:
    rows = section("README.md", "Promises")
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(PROMISES) + 1)]
    for row, promise in zip(rows, PROMISES, strict=True):
        assert promise in row[1].lower()
        assert NAMED.search(row[2])
        assert re.search(r"\d", row[3])


def test_every_promise_of_security_names_its_tests() -> None:
    rows = section("SECURITY.md", "Promise by promise")
    assert len(rows) >= 14
    assert [row[0] for row in rows if not NAMED.search(row[1])] == []


def test_every_box_of_the_checklist_is_there_with_its_tests() -> None:
    rows = section("SECURITY.md", "The checklist")
    assert [box for box in BOXES if not any(box in row[0] for row in rows)] == []
    assert [row[0] for row in rows if not NAMED.search(row[1])] == []


def test_the_reports_that_the_readme_names_are_there() -> None:
    for name in ("REPORT.md", "SAFETY.md"):
        text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
        assert "seed" in text
        assert [
            path for path in ("/tmp/", "/home/", "/root/", "/Users/") if path in text.replace("/home/dev", "")
        ] == []
