"""A tool call as a person reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indexer.store.story import Call
from indexer.web.calls import LINES, LONGEST, cut, difference, folded, gist, read
from indexer.web.markup import tag


def call(given: Any, answer: str = "out", name: str = "Bash", **more: Any) -> Call:
    text = given if isinstance(given, str) else json.dumps(given)
    return Call(1, name, "", text, answer, len(answer), False, True, 1500)._replace(**more)


def page(given: Any, answer: str = "out", **more: Any) -> str:
    return folded(call(given, answer, **more), "/entry?id=tool_use:1")


def test_a_command_is_shown_as_typed_with_its_output() -> None:
    shown = page({"command": "ls -la", "description": "List"}, "a.py")
    assert "<summary><b>Bash</b> ls -la · 1 s</summary>" in shown
    assert "<p>List</p><pre>$ ls -la</pre><pre>a.py</pre>" in shown


def test_a_failure_and_an_open_call_are_said() -> None:
    assert '<span class="failed">failed</span>' in page({"command": "x"}, failed=True)
    assert "<span>no answer</span>" in page({"command": "x"}, "", answered=False, took=None)


def test_an_edit_is_a_difference() -> None:
    shown = page({"file_path": "/a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"})
    assert '<span class="removed">-b</span><span class="added">+B</span>' in shown
    assert "<code>/a.py</code>" in shown


def test_several_edits_are_several_differences() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}, "odd"]
    assert page({"file_path": "/a.py", "edits": edits}).count('class="diff"') == 2


def test_a_written_file_is_all_new() -> None:
    assert '<span class="added">+x</span><span class="added">+y</span>' in page(
        {"file_path": "/a.py", "content": "x\ny"}
    )


def test_added_and_removed_differ_by_more_than_colour() -> None:
    shown = difference("a", "b")
    assert ">-a<" in shown
    assert ">+b<" in shown


def test_a_long_difference_is_cut_and_says_so() -> None:
    shown = difference("", "\n".join(map(str, range(LINES + 50))))
    assert shown.count("<span") == LINES + 1
    assert "more lines" in shown


def test_equal_texts_have_no_difference() -> None:
    assert difference("a", "a") == '<pre class="diff"></pre>'


def test_a_very_long_line_is_cut() -> None:
    assert len(difference("", "x" * 10_000)) < 600


def test_to_dos_have_their_marks() -> None:
    todos = [{"content": "a", "status": "completed"}, {"subject": "b", "status": "in_progress"}, {"content": "c"}, "d"]
    shown = page({"todos": todos}, name="TodoWrite")
    assert "<li>[x] a</li><li>[~] b</li><li>[ ] c</li><li>d</li>" in shown


def test_other_tools_show_their_fields() -> None:
    shown = page({"pattern": "x", "deep": {"a": 1}, "text": "a\nb"}, name="Grep")
    assert "<dt>pattern</dt><dd><code>x</code></dd>" in shown
    assert "<dt>deep</dt><dd><code>{&quot;a&quot;: 1}</code></dd>" in shown
    assert "<dt>text</dt><dd><pre>a\nb</pre></dd>" in shown


def test_an_input_that_was_cut_is_shown_as_text() -> None:
    assert "<pre>{&quot;command&quot;: &quot;npm te…[truncated" in page('{"command": "npm te…[truncated: 9 bytes]')


@pytest.mark.parametrize(
    "given", ["[]", "1", "null", '"x"', "{}", "", "[" * 100_000, '{"edits": 1}', '{"todos": [null]}']
)
def test_no_input_breaks_it(given: str) -> None:
    assert page(given).startswith("<details")


def test_the_whole_is_a_link_away_and_what_is_cut_says_how_long() -> None:
    shown = page({"command": "x"}, "y" * (LONGEST + 1), length=70_000)
    assert '<a href="/entry?id=tool_use:1">all of it (70,000 characters)</a>' in shown
    assert "…</pre>" in shown
    assert ">by itself</a>" in page({"command": "x"}, "y")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"command": "a\nb"}, "a b"),
        ({"limit": 1, "file_path": "/x"}, "/x"),
        ({"n": 1}, ""),
        ({"n": 1, "s": "t"}, "t"),
        ("text", "text"),
    ],
)
def test_the_gist_tells_calls_apart(given: Any, told: str) -> None:
    assert gist(call({}), given) == told


def test_json_is_read_and_other_text_kept() -> None:
    assert (read('{"a": 1}'), read("{a")) == ({"a": 1}, "{a")


EVIL = "<script>x</script>"


@pytest.mark.parametrize(
    "given",
    [
        {"command": EVIL, "description": EVIL},
        {"file_path": EVIL, "content": EVIL},
        {"file_path": EVIL, "old_string": EVIL, "new_string": ""},
        {"todos": [{"content": EVIL}]},
        {EVIL: EVIL},
        EVIL,
    ],
)
def test_script_in_any_place_is_text(given: Any) -> None:
    assert "<script" not in page(given, EVIL, name=EVIL)


def test_below_the_output_more_may_stand() -> None:
    assert folded(call({}), "/x", tag("p", "more")).endswith("<p>more</p></details>")


def test_a_short_text_is_not_cut() -> None:
    assert (cut("x" * LONGEST), cut("x" * (LONGEST + 1))) == ("x" * LONGEST, "x" * LONGEST + "…")
