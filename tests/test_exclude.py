"""Which names of a project a glob fits."""

from __future__ import annotations

import pytest

from indexer.exclude import Exclusion

SHOP = ("github.com/example/shop", "Shop", "/home/dev/work/shop/web")


@pytest.mark.parametrize(
    "glob",
    [
        *("shop", "SHOP", "sh?p", "github.com/example/*", "*/shop"),
        *("/home/dev/work", "/home/dev/work/", "~/work/*", "~/WORK"),
    ],
)
def test_a_project_is_covered_by_key_name_and_folder(glob: str) -> None:
    assert Exclusion(["other", glob], "/home/dev").covers(*SHOP)


@pytest.mark.parametrize("glob", ["sho", "example", "/home/dev/wor", "web2", "shop/", "~/play/*"])
def test_another_is_not(glob: str) -> None:
    assert Exclusion([glob], "/home/dev").covers(*SHOP) == (glob == "shop/")


def test_nothing_is_covered_by_nothing() -> None:
    assert not Exclusion().any
    assert not Exclusion().covers(*SHOP)
    assert not Exclusion(["x"]).covers("", "", None)


def test_windows_folders_are_spelt_with_either_slash() -> None:
    assert Exclusion(["C:\\work\\*"]).covers("k", "d", "c:/Work/shop")


def test_other_scripts_fold_too() -> None:
    assert Exclusion(["STRASSE"]).covers("k", "straße", None)


def test_settings_that_mean_the_same_are_spelt_the_same() -> None:
    assert Exclusion(["b", "A"]).spelling == Exclusion(["a ", "B", "b"]).spelling != Exclusion(["a"]).spelling
