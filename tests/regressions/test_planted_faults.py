"""Faults that the suite is known to catch (tests/support/faults.py): each can still be planted, by its test's name.

`python -m benchmarks mutations` plants all of them; here it is a few, MUTATIONS=all makes it all.
"""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

import pytest
from faults import FAULTS, Fault

from benchmarks import mutations

TESTS = Path(__file__).parents[1]
CODE = TESTS.parent / "indexer"
QUICK = ("the mark before the offset is not compared", "filters are applied to the best rows only")
CHOSEN = [fault for fault in FAULTS if fault.name in QUICK or os.environ.get("MUTATIONS") == "all"]
NAMES = [fault.name for fault in FAULTS]


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_there_are_enough_of_them_and_each_has_a_name() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 30


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_it_can_be_planted_and_its_test_is_there(fault: Fault) -> None:
    file, _, name = fault.test.partition("::")
    assert name.partition("[")[0] in functions_of(file)
    texts = {edit.file: (CODE / edit.file).read_text(encoding="utf-8") for edit in fault.edits}
    assert [texts[edit.file].count(edit.old) for edit in fault.edits] == [1] * len(fault.edits)
    assert all(edit.old != edit.new for edit in fault.edits)
    assert fault.edits


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mutations.copy(tmp_path_factory.mktemp("copy"))


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("fault", CHOSEN, ids=[fault.name for fault in CHOSEN])
def test_it_is_caught_and_nothing_is_where_it_is_not_planted(tree: Path, fault: Fault) -> None:
    if not mutations.is_runnable(fault):
        pytest.skip(f"{fault.needs} is not installed")
    assert mutations.run([fault.test], tree) == "passed"
    assert mutations.verdict(fault, tree) == mutations.CAUGHT


def test_a_fault_that_cannot_be_planted_any_more_is_an_error(tree: Path) -> None:
    lost = FAULTS[0]._replace(edits=(FAULTS[0].edits[0]._replace(old="never written"),))
    with pytest.raises(ValueError, match="stands 0 times"):
        mutations.plant(lost, tree)


def test_a_test_that_finds_nothing_is_said_to(tree: Path) -> None:
    other = next(fault for fault in FAULTS if fault.name == QUICK[1])
    weak = FAULTS[0]._replace(test=other.test, edits=other.edits[:0])
    assert mutations.verdict(weak, tree) == "SURVIVED"
