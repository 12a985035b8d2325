"""`python -m benchmarks all` has every part that it promises, honours --quick, and tells of no path of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import commands, corpus, fuzz, peers, redaction, report, rescan, safety, sweeps, targets

ROOT = Path(__file__).parents[2]
TINY = report.Part("Redaction", "redaction", ("--megabytes", "0.1"), ("--megabytes", "0.2"), 60)


@pytest.mark.parametrize("name", report.PARTS)
def test_every_part_is_a_module_with_arguments_of_its_own(name: str) -> None:
    part = report.PARTS[name]
    assert find_spec(f"benchmarks.{part.module}")
    assert part.module in command.NAMES
    assert part.quick != part.full


def test_what_the_issue_lists_is_there() -> None:
    wanted = {"safety", "mutations", "rescan", "watching", "sweeps", "commands", "vectors", "retrieval", "redaction"}
    assert wanted | {"peers"} <= set(report.PARTS)
    assert list(safety.PARTS) == ["kills", "crash points", "power cuts", "stories"]


def test_the_short_forms_are_those_of_ci_and_the_long_ones_the_bars() -> None:
    sizes = [(part.quick, part.full) for part in safety.PARTS.values()]
    assert sizes[0] == ({"CRASH_KILLS": "200"}, {"CRASH_KILLS": "5000"})
    assert sizes[2] == ({"CRASH_CUTS": "50"}, {"CRASH_CUTS": "500"})
    assert int(sizes[3][1]["WEATHER_EXAMPLES"]) * safety.STEPS >= 20_000


def test_quick_reads_small_trees_only() -> None:
    assert report.wanted_trees(list(report.PARTS), quick=True) == ["50MB", "50MB-bloated"]
    assert set(report.wanted_trees(list(report.PARTS), quick=False)) == set(report.TREES)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PARTS", {"redaction": TINY})


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("quick", "size"), [(True, "0.1"), (False, "0.2")])
def test_the_report_is_one_of_markdown_with_machine_versions_and_seed(quick: bool, size: str) -> None:
    text = "".join(report.report(["redaction"], quick))
    assert f"`python -m benchmarks redaction --megabytes {size}`" in text
    assert ("all --quick`" in text) is quick
    assert all(word in text for word in ("seed 8", "| Python, SQLite |", "orjson ", " load ", "Found 3,"))
    assert "## Not to be had here" in text


@pytest.mark.usefixtures("tiny")
def test_no_path_of_this_machine_is_in_it() -> None:
    text = "".join(report.report(["redaction"], True)) + report.clean(f"{ROOT}/x {Path.home()}/y {sys.prefix}/z")
    assert [path for path in (str(ROOT), str(Path.home()), sys.prefix) if path in text] == []
    assert "REPOSITORY/x" in text


def test_a_part_that_cannot_run_is_named_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = TINY._replace(title="Broken", quick=("--megabytes", "many"))
    monkeypatch.setattr(report, "PARTS", {"broken": broken, "redaction": TINY})
    text = "".join(report.report(["broken", "redaction"], True))
    assert "**Not to its end here**: benchmarks redaction: error: argument --megabytes" in text
    assert "Found 3," in text.partition("## Redaction")[2]


def test_a_part_that_takes_too_long_is_stopped() -> None:
    assert report.run(TINY, ["--megabytes", "1"], 0.01)[1].startswith("stopped after 0 s")


def test_a_plain_table_is_shown_as_code_and_markdown_as_it_is() -> None:
    assert report.body("a  1\nb  2\n") == "```\na  1\nb  2\n```"
    assert report.body("| a |\n|---|") == "| a |\n|---|"
    assert report.body("said:\n| a |\n|---|\n| b |") == "said:\n\n| a |\n|---|\n| b |"


def test_the_command_names_what_there_is() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert all(name in done.stderr for name in ("all [--quick]", "rescan", "watching"))


# -- the parts, at tiny sizes --------------------------------------------------------------------------------


def test_a_corpus_is_as_large_as_asked_for_and_always_the_same(tmp_path: Path) -> None:
    counts = [corpus.lay(tmp_path / name, 400_000) for name in "ab"]
    held = [sorted(path.read_bytes() for path in (tmp_path / name).rglob("*.jsonl")) for name in "ab"]
    assert counts[0] == counts[1] == json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert held[0] == held[1]
    assert 400_000 <= sum(map(len, held[0])) < 700_000


def test_a_bloated_corpus_is_mostly_progress(tmp_path: Path) -> None:
    corpus.lay(tmp_path, 2_000_000, bloat=0.85)
    lines = [line for path in tmp_path.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    progress = sum(len(line) for line in lines if b'"type":"progress"' in line)
    assert 0.6 < progress / sum(map(len, lines)) < 0.95


@pytest.mark.parametrize(("text", "size"), [("50MB", 50_000_000), ("2GB", 2_000_000_000), ("12", 12), ("1.5KB", 1500)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert corpus.bytes_of(text) == size


def test_what_is_loaded_of_a_corpus_equals_its_manifest(tmp_path: Path) -> None:
    corpus.lay(tmp_path, 300_000)
    rescan.core(tmp_path / ".claude" / "projects", tmp_path / "home")
    assert list(rescan.verdict(tmp_path, rescan.counts(tmp_path / "home"))) == ["counts equal manifest.json"]


def test_sweeps_are_measured() -> None:
    (row,) = sweeps.rows(20, 1)
    assert row.startswith("| 20 | ")


def test_redaction_finds_nearly_all_and_hardly_anything_else() -> None:
    table = list(redaction.recall(seed=4))
    assert "| prompt | " in table[1]
    assert float(table[-2].partition("(")[2].partition(" %")[0]) >= 97
    assert "MB/s" in "".join(redaction.speed(redaction.clean_texts(50_000)))


def test_commands_are_run_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "COMMANDS", {"search --help": ("search", "--help")})
    (row,) = commands.rows(tmp_path, tmp_path, 1)
    assert row.startswith("| `search --help` | ")


def test_a_peer_that_is_not_installed_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "not installed here" in peers.row("agentsview", tmp_path, "")


def test_a_test_that_says_something_is_told_of_with_its_result() -> None:
    (one,) = safety.run(["tests/test_dedup.py::test_level_0_is_never_wrong"], {})
    assert (one.file, one.result) == ("tests/test_dedup.py", "passed")
    assert one.said
    assert next(safety.rows([one])).startswith("| level 0 is never wrong | ")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({("a.py", "t"): {"passed"}}, "passed"),
        ({("a.py", "t"): {"passed", "skipped"}}, "passed, in part skipped"),
        ({("a.py", "t"): {"skipped"}}, "skipped"),
        ({("a.py", "t"): {"passed", "failed"}}, "failed"),
        ({}, "failed"),
    ],
)
def test_a_scenario_passes_when_its_tests_have_run_and_passed(
    found: dict[tuple[str, str], set[str]], said: str
) -> None:
    assert safety.verdict([("a.py", "t")], found) == said


def test_crash_tests_have_run_elsewhere() -> None:
    assert safety.verdict([("crash/a.py", "t")], {}) == "passed above"


def test_a_test_that_cannot_be_run_is_no_result() -> None:
    with pytest.raises(SystemExit, match="could not run"):
        safety.run(["tests/no_such_test.py"], {})


# -- fuzzing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fuzz.NAMES)
def test_every_target_takes_its_seeds_and_any_bytes(name: str) -> None:
    for data in (*fuzz.SEEDS[name], b"", b"\xff\x00{", bytes(range(256))):
        targets.TARGETS[name](data)


def test_the_targets_are_those_that_can_be_asked_for() -> None:
    assert tuple(targets.TARGETS) == fuzz.NAMES == tuple(fuzz.SEEDS)


def test_without_atheris_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="pip install atheris"):
        fuzz.main(["line"])
