"""Only the very file that was measured is loaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from indexer.embedders.base import NoEmbedder
from indexer.embedders.pinned import digest, find

SHA = hashlib.sha256(b"weights").hexdigest()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a_model"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('it is not to be imported')")
    (folder / "model.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_the_pinned_file_is_found_without_importing_its_package(package: Path) -> None:
    assert find("a_model", "model.bin", SHA, "a-model") == package / "model.bin"


def test_another_file_is_refused_with_a_remedy(package: Path) -> None:
    (package / "model.bin").write_bytes(b"poison")
    with pytest.raises(NoEmbedder, match="not the file") as info:
        find("a_model", "model.bin", SHA, "a-model")
    assert "pip install a-model" in info.value.hint


@pytest.mark.usefixtures("package")
def test_a_package_without_the_file_is_refused() -> None:
    with pytest.raises(NoEmbedder, match=r"holds no other\.bin"):
        find("a_model", "other.bin", SHA, "a-model")


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(NoEmbedder, match="no-such-model is not installed"):
        find("no_such_model", "model.bin", SHA, "no-such-model")


def test_a_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"weights")
    assert digest(tmp_path / "f") == SHA
