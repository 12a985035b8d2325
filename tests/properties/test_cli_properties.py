"""Whatever is typed and whatever a transcript holds: no traceback, and nothing that moves the cursor."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.cli import main, render
from indexer.cli.parser import parse
from indexer.errors import UsageError
from indexer.resume import resume
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate

FIXTURES = Path(__file__).parent.parent / "fixtures"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
TEXTS = st.text(st.characters(codec=None), max_size=60) | st.text(
    st.sampled_from("ab \x1b[]0;m\x07\x9b\u202e\n项目é\u0301"), max_size=60
)
FILTERS = st.sampled_from(
    [
        *[
            "project",
            "session",
            "kind",
            "since",
            "until",
            "tool",
            "file",
            "type",
            "concept",
            "agent",
            "platform",
            "limit",
            "offset",
        ]
    ]
)
WORDS = st.sampled_from(["timeout", "auth", "prompt", "8c1f", "2026-11-20", "3d", "1", "-x", "--json", "--"]) | TEXTS
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("memory")
    conn = open_writer(made)
    migrate(conn)
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    conn.close()
    return made


def run(*argv: str) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "replace")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(argv)
        except SystemExit as left:
            code = int(left.code or 0)
    return code, _text(out), _text(err)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


# --- the whole command line


@quick
@given(words=st.lists(WORDS, max_size=4), filters=st.lists(st.tuples(FILTERS, WORDS), max_size=3))
def test_a_search_for_anything_answers_or_says_what_is_wrong(
    home: Path, words: list[str], filters: list[tuple[str, str]]
) -> None:
    options = [f"--{name}={value}" for name, value in filters]
    code, out, _ = run("search", "--json", "--home", str(home), *options, "--", *words)
    answer = json.loads(out)
    assert answer["schema_version"] == 1
    assert ("results" in answer) if code == 0 else answer["error"]["kind"] != "internal"


@quick
@given(name=WORDS | st.builds("{}:{}".format, st.sampled_from(["prompt", "session", "x"]), TEXTS))
def test_anything_can_be_asked_to_be_shown(home: Path, name: str) -> None:
    code, out, err = run("show", "--home", str(home), "--", name)
    assert code in (0, 1, 2)
    assert "should not" not in err
    assert UNSAFE.search(out + err) is None


@quick
@given(argv=st.lists(WORDS | st.sampled_from(["search", "show", "--home", "-h", "config"]), max_size=5))
def test_any_arguments_are_understood_or_refused(argv: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(UsageError, SystemExit):
        parse(argv)


@quick
@given(words=st.lists(WORDS.filter(lambda word: not word.startswith("--") and word != "-h"), max_size=6))
def test_words_of_a_search_keep_their_order(words: list[str]) -> None:
    # After `--` no dash leaves anything out.
    assert parse(["search", "--", *words]).words == [re.sub(r"(?<!\S)-+", "", word) for word in words]


# --- lines


@quick
@given(text=TEXTS, width=st.integers(2, 30))
def test_wrapped_lines_fit_and_are_clean(text: str, width: int) -> None:
    for line in render.wrap(text, width):
        assert render.columns(line) <= width
        assert UNSAFE.search(line) is None


@quick
@given(text=TEXTS, width=st.integers(1, 30))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    whole = render.wrap(text, 1 << 30)
    assert "".join(render.wrap(text, width)).replace(" ", "") == "".join(whole).replace(" ", "")


@quick
@given(text=TEXTS, width=st.integers(1, 30))
def test_a_fitted_text_fits_and_begins_as_it_did(text: str, width: int) -> None:
    line = render.one_line(text)
    fitted = render.fit(line, width)
    assert render.columns(fitted) <= max(width, 1)
    assert line.startswith(fitted.removesuffix("…"))
    assert render.columns(render.pad(fitted, width)) >= render.columns(fitted)


@quick
@given(text=TEXTS, words=st.lists(TEXTS, max_size=4))
def test_highlighting_changes_nothing_but_the_look(text: str, words: list[str]) -> None:
    line = render.one_line(text)
    marked = render.highlight(line, words, render.Style(True))
    assert re.sub(r"\x1b\[[0-9;]+m", "", marked) == line


@quick
@given(ms=st.none() | st.integers(-(1 << 63), (1 << 63) - 1))
def test_every_time_can_be_shown(ms: int | None) -> None:
    assert render.when(ms) == "undated" or render.when(ms).endswith(" UTC")


@quick
@given(session=TEXTS, cwd=st.none() | TEXTS | TEXTS.map("/{}".format))
def test_a_resume_command_is_two_commands_at_most(session: str, cwd: str | None) -> None:
    line = resume("claude", session, cwd)
    if line is not None:
        parts = shlex.split(line, comments=True)
        assert parts[-3:] == ["claude", "--resume", session]
        assert parts[:-3] in ([], ["cd", cwd, "&&"])
