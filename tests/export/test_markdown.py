from __future__ import annotations

from typing import Any

from indexer.export.markdown import markdown
from indexer.export.parts import parts


def when(ms: int | None) -> str:
    return f"at {ms}"


def test_a_session_as_markdown(memory: Any, session: Any) -> None:
    lines = list(markdown(session(1), parts(memory, session(1)), when))
    assert lines[:5] == [
        "# Fix the auth timeout",
        "",
        "* session `8c1f0a52-0000-4000-8000-000000000001`",
        "* project shop-api",
        "* at 1795168800000 to at 1795172400000",
    ]
    assert lines[6:9] == ["## You · at 1795168800000", "", "Why does the auth timeout fire early?"]
    assert "### Bash · failed · at 1795170060000" in lines


def fences(lines: list[str]) -> list[str]:
    return [line for line in lines if line and not line.strip("`")]


def test_no_output_ends_its_fence(session: Any, hostile: Any) -> None:
    lines = list(markdown(session(1), hostile[1:2], when))
    assert fences(lines) == ["`````", "```", "````", "`````"] * 2
    assert lines[6].startswith("### Ba\\<sh · failed")


def test_titles_are_no_markup(session: Any) -> None:
    lines = list(markdown(session(1)._replace(title="a # [b](c) <d> `e`\nf", project="p|q"), [], when))
    assert lines[0] == "# a \\# \\[b\\](c) \\<d\\> \\`e\\` f"
    assert lines[3] == "* project p\\|q"


def test_sub_agents_are_told_apart(session: Any, hostile: Any) -> None:
    assert "## Claude (sub-agent) · at None" in list(markdown(session(1), hostile, when))


def test_a_session_without_names_has_a_heading(session: Any) -> None:
    assert list(markdown(session(5), [], when))[0::3] == ["# untitled", "* project unknown"]
