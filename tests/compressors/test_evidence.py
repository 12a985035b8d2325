"""What calls prove: commands and their ends, edits, commits, and what is no evidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from remembered import turns_of
from transcripts import Transcript
from turn_cases import CWD, commit, edit, fail, read, recall, run, web

from indexer.compressors import evidence
from indexer.compressors.evidence import Evidence, gather


def of(folder: Path, *steps: tuple[object, ...]) -> Evidence:
    session = Transcript("s", CWD)
    session.user("go")
    for act, *details in steps:
        act(session, *details)  # type: ignore[operator]
    (turn,) = turns_of(folder, session)
    return gather(turn)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cd /home/dev/shop && pytest -q", "pytest -q"),
        ("FOO=1 make test", "make test"),
        ("npm test 2>&1 | tail -20", "npm test"),
        ("ls", "ls"),
        ("cat > a.py <<EOF\nx\nEOF", "cat > a.py"),
    ],
)
def test_a_command_is_said_without_what_is_around_it(command: str, wanted: str) -> None:
    assert evidence.bare_command(command) == wanted


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("python -m pytest -q tests/a.py", "pytest"),
        ("pytest tests/b.py -x", "pytest"),
        ("npm run build", "npm run build"),
        ("npm test", "npm test"),
        ("uv run mypy .", "mypy"),
        ("cargo test --all", "cargo test"),
        ("python manage.py migrate", "manage.py migrate"),
        ("docker compose up -d", "docker compose up"),
        ("./gradlew build", "gradlew build"),
        ("", ""),
    ],
)
def test_the_same_thing_tried_again_has_one_key(command: str, wanted: str) -> None:
    assert evidence.command_key(command) == wanted


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("collected 3 items\nE   AssertionError: assert 4 == 3\n1 failed", "AssertionError: assert 4 == 3"),
        (
            "Traceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'redis'",
            "ModuleNotFoundError: No module named 'redis'",
        ),
        ("Exit code 2\nsrc/a.ts(3,1): error TS1005: ';' expected", "src/a.ts(3,1): error TS1005: ';' expected"),
        ("make: *** No rule to make target 'x'", "make: *** No rule to make target 'x'"),
        ("错误：连接被拒绝", "错误：连接被拒绝"),
        ("", ""),
    ],
)
def test_the_first_error_line(output: str, wanted: str) -> None:
    assert evidence.first_error(output) == wanted


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("12 passed in 0.3s", "12 passed"),
        ("1 failed, 6 passed in 0.31s", "1 failed, 6 passed"),
        ("Tests:       2 failed, 40 passed, 42 total", "2 failed, 40 passed"),
        ("test result: ok. 9 passed; 0 failed;", "9 passed"),
        ("  12 passing (40ms)\n  1 failing", "1 failed, 12 passed"),
        ("Ran 7 tests in 0.1s\n\nOK", "7 passed"),
        ("Ran 7 tests in 0.1s\n\nFAILED (failures=2)", "2 failed, 5 passed"),
        ("nothing here", ""),
    ],
)
def test_what_test_runners_report(output: str, wanted: str) -> None:
    assert evidence.tests_told(output) == wanted


def test_a_search_without_a_match_is_no_failure(tmp_path: Path) -> None:
    assert [
        one.failed for one in of(tmp_path, (fail, "grep -r x .", ""), (fail, "git diff --exit-code", "x")).runs
    ] == [False] * 2


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("git mv a.py b.py", ["a.py", "b.py"]),
        ("mv old/x.ts new/x.ts && ls", ["old/x.ts", "new/x.ts"]),
        ("rm -f dead.py", ["dead.py"]),
        ("sed -i 's/a/b/' conf/app.ini", ["conf/app.ini"]),
        ("cat > run.sh <<'EOF'\nx\nEOF", ["run.sh"]),
        ("cat > /tmp/x <<EOF\nx\nEOF", []),
        ("echo hi > /dev/null", []),
    ],
)
def test_files_that_a_command_says_it_writes(command: str, wanted: list[str], tmp_path: Path) -> None:
    assert [one.file for _, one in of(tmp_path, (run, command)).edits] == wanted


def test_edits_have_the_lines_of_their_patch(tmp_path: Path) -> None:
    ((_, one),) = of(tmp_path, (edit, "a.py", 3, 2)).edits
    assert (one.file, one.added, one.removed, one.created) == (f"{CWD}/a.py", 3, 2, False)


def test_commits_have_the_rest_of_their_message(tmp_path: Path) -> None:
    (one,) = of(tmp_path, (commit, "fix: it\n\nBecause it broke.\n\nCo-Authored-By: A <a@example.com>")).commits
    assert (one.subject, one.body, one.sha, one.branch) == ("fix: it", "Because it broke.", "1a2b3c4", "main")


def test_of_an_amended_commit_the_last_state_counts(tmp_path: Path) -> None:
    told = "[main bbb2222] fix: better\n 1 file changed"
    found = of(tmp_path, (commit, "fix: it", "aaa1111"), (run, "git commit --amend -m 'fix: better'", told))
    assert [one.subject for one in found.commits] == ["fix: better"]


@pytest.mark.parametrize(
    "step", [(recall, "x"), (run, "transcript-indexer search x"), (run, "python -m indexer context")]
)
def test_what_a_memory_said_is_no_evidence(step: tuple[object, ...], tmp_path: Path) -> None:
    found = of(tmp_path, step)
    assert (len(found.own), found.looked, found.runs) == (1, [], [])


def test_what_the_web_said_is_told_apart(tmp_path: Path) -> None:
    found = of(tmp_path, (web, "https://example.com"), (read, "a.py"))
    assert (len(found.looked), len(found.outside)) == (2, 1)


@pytest.mark.parametrize("command", ["ls -la", "git status", "pip install x", "mkdir a", "node --version"])
def test_trivial_commands_find_nothing_out(command: str, tmp_path: Path) -> None:
    assert of(tmp_path, (run, command, "x")).looked == []


def test_versions_are_those_pinned_by_an_installation(tmp_path: Path) -> None:
    found = of(tmp_path, (run, "pip install httpx==0.28.1"), (run, "npm i @scope/x@2.0.1"), (run, "echo a==1.2"))
    assert evidence.versions(found.runs) == ["httpx 0.28.1", "@scope/x 2.0.1"]


def test_a_path_is_said_as_within_the_folder() -> None:
    assert (evidence.relative("/p/a/b.py", "/p"), evidence.relative("/q/c.py", "/p")) == ("a/b.py", "/q/c.py")


WORDS = st.sampled_from(
    ["Error", "E", "", "×", "no such", "can't", "FAILED", "ok", "undefined", "ſ", "aſſert", "denied"]
)


@example("E   x == y")
@example("e\t\tx")
@given(st.text(max_size=40) | st.lists(WORDS, max_size=5).map(" ".join))
def test_the_quick_look_passes_over_no_error(line: str) -> None:
    assert evidence._tells(line) == bool(evidence._ERROR_LINE.search(line))
