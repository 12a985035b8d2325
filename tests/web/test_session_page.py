"""A session as one reads it, also one that would break the page."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import LARGEST, Browser, memory, parsed
from scenery import FILE, SCRIPT, scenery
from transcripts import uid

from indexer.store.connection import open_writer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scenery(tmp_path_factory.mktemp("scenery"))


@pytest.fixture
def browser(home: Path) -> Browser:
    return Browser(home)


@pytest.fixture
def small(tmp_path: Path) -> Browser:
    return Browser(memory(tmp_path / "memory"))


def of(name: str, more: str = "") -> str:
    return f"/session?id={uid('session', name)}{more}"


# --- what others wrote


@pytest.mark.parametrize("name", ["hostile", "long", "heavy", "parent", "fork"])
def test_no_session_breaks_the_page(browser: Browser, name: str) -> None:
    page = browser.page(of(name))
    assert SCRIPT not in page
    assert "onerror=alert" not in re.sub(r"&lt;.*?&gt;", "", page)


def test_script_in_a_prompt_is_read_not_run(browser: Browser) -> None:
    assert "Fix &lt;script&gt;alert(document.cookie)&lt;/script&gt;" in browser.page(of("hostile"))


def test_script_in_a_file_name_is_read_not_run(browser: Browser) -> None:
    assert "/home/dev/shop/&quot;&gt;&lt;img src=x onerror=alert(1)&gt;.py" in browser.page(of("hostile"))


def test_links_and_images_of_an_answer_are_inert(browser: Browser) -> None:
    found = parsed(browser.page(of("hostile"))).found
    targets = {given.get("href") for name, given in found if name == "a"}
    assert {"https://example.org/?a=1&b=%222%22"} & targets or 'https://example.org/?a=1&b="2"' in str(targets)
    assert not [to for to in targets if to and to.lower().startswith(("javascript", "data"))]
    assert not [name for name, _ in found if name == "img"]


def test_terminal_escapes_are_gone(browser: Browser) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", browser.page(of("hostile")))


def test_a_title_is_text_in_the_head_too(browser: Browser) -> None:
    page = browser.page(of("hostile"))
    assert "<title>Title &lt;script&gt;" in page


def test_an_edit_of_it_is_a_difference(browser: Browser) -> None:
    page = browser.page(of("hostile"))
    assert '<span class="removed">-b &lt;i&gt;</span>' in page
    assert FILE not in page


# --- its parts


def test_the_head_says_what_it_was(small: Browser) -> None:
    page = small.page("/session?id=8c1f0a52-0000-4000-8000-000000000001")
    assert "<h1>Fix the auth timeout</h1>" in page
    assert "2026-11-20 10:00</time> to " in page
    assert "1,010 in, 50 out" in page
    assert "claude-sonnet-4-5" in page


def test_it_can_be_taken_up_again(small: Browser) -> None:
    line = "cd /home/dev/work/shop-api &amp;&amp; claude --resume 8c1f0a52-0000-4000-8000-000000000001"
    page = small.page("/session?id=8c1f0a52-0000-4000-8000-000000000001")
    assert f"<code>{line}</code>" in page
    assert f'data-copy="{line}"' in page


def test_an_id_that_a_shell_would_misread_gives_no_command(small: Browser) -> None:
    assert "claude --resume" not in small.page("/session?id=--help")


def test_what_it_came_to_stands_folded_above(small: Browser) -> None:
    page = small.page("/session?id=8c1f0a52-0000-4000-8000-000000000001")
    assert "<summary>Summary</summary>" in page
    assert "<dd>Units matter</dd>" in page
    assert '<a href="/entry?id=observation%3A1">The timeout was in seconds</a>' in page


def test_steps_stand_in_order_each_with_its_anchor(small: Browser) -> None:
    page = small.page("/session?id=8c1f0a52-0000-4000-8000-000000000001")
    order = re.findall(r'<article id="([\w-]+)"', page)
    wanted = ["prompt-1", "tool_use-1", "assistant-1", "command-2", "shell-3", "prompt-4", "tool_use-2", "assistant-2"]
    assert order == wanted


def test_a_commit_and_a_span_are_marked(small: Browser) -> None:
    page = small.page("/session?id=8c1f0a52-0000-4000-8000-000000000001")
    assert '<p class="part mark commit">commit abc1234 </p>' in page
    assert '<p class="part mark duration">took 0 s</p>' in page


def test_a_compaction_is_marked(browser: Browser) -> None:
    assert "the conversation was compacted here" in browser.page(of("parent"))


def test_a_fork_leads_to_its_origin_and_says_where_the_copy_ends(browser: Browser) -> None:
    page = browser.page(of("fork"))
    assert f'href="/session?id={uid("session", "parent")}"' in page
    assert page.index("copied up to here") < page.index("another way")
    assert f'href="/session?id={uid("session", "fork")}"' in browser.page(of("parent"))


def test_the_origin_has_no_such_mark(browser: Browser) -> None:
    assert "copied up to here" not in browser.page(of("parent"))


def test_a_sub_agent_is_nested_below_its_call(browser: Browser) -> None:
    page = browser.page(of("parent"))
    nested = page[page.index('class="nested"') :]
    assert "<summary>sub-agent · 2 steps</summary>" in nested
    assert nested.index("There is one file.") < nested.index("read it whole")


def test_a_sub_agent_has_a_page_of_its_own(browser: Browser) -> None:
    page = browser.page(of("parent", "&agent=a1b2c3d"))
    assert "ls -R" in page
    assert "back to the session" in page
    assert "compacted here" not in page


def test_an_entry_of_a_sub_agent_is_found_on_its_page(browser: Browser) -> None:
    whole = browser.page(of("parent", "&agent=a1b2c3d"))
    entry = re.findall(r'<article id="tool_use-(\d+)"', whole)[0]
    assert browser.page(of("parent", f"&at=tool_use:{entry}")) == whole


# --- pages


def test_a_long_session_is_several_pages(browser: Browser) -> None:
    page = browser.page(of("long"))
    last = int(re.findall(r"page 1 of (\d+)", page)[0])
    assert last > 3
    assert 'rel="next"' in page
    assert 'rel="prev"' not in page
    assert f"page {last} of {last}" in browser.page(of("long", "&page=99999"))


def test_every_page_is_small_and_all_together_are_the_session(browser: Browser) -> None:
    first = browser.page(of("long"))
    last = int(re.findall(r"page 1 of (\d+)", first)[0])
    seen = [name for number in range(1, last + 1)
            for name in re.findall(r'<article id="([\w-]+)"', browser.page(of("long", f"&page={number}")))]  # fmt: skip
    assert len(seen) == len(set(seen)) == 3 * 233


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "1e9", "²"])
def test_a_page_that_cannot_be_is_the_first(browser: Browser, page: str) -> None:
    assert "page 1 of" in browser.page(of("long", f"&page={quote(page)}"))


def test_an_entry_is_found_on_its_page(browser: Browser) -> None:
    assert '<article id="prompt-200"' in browser.page(of("long", "&at=prompt:200"))


def test_what_is_too_long_is_a_link_away(browser: Browser) -> None:
    page = browser.page(of("long"))
    assert re.search(r"all of it \([\d,]{7} characters\)", page)
    assert len(page.encode()) <= LARGEST


def test_what_does_not_fit_is_a_link_to_itself(browser: Browser) -> None:
    page = browser.page(of("heavy"))
    assert "tool call, too long for this page" in page
    assert page.count("<article") > 20
    assert re.search(r'<article id="tool_use-\d+" class="part" data-item><p class="meta"><a href="/entry', page)


def test_what_is_stored_meanwhile_is_on_the_next_page(tmp_path: Path) -> None:
    browser = Browser(memory(tmp_path / "memory"))
    path = "/session?id=8c1f0a52-0000-4000-8000-000000000001"
    assert "Now write a test" in browser.page(path)
    conn = open_writer(browser.home)
    conn.execute("UPDATE user_prompts SET prompt_text = 'Now write two' WHERE id = 4")
    conn.close()
    assert "Now write two" in browser.page(path)


# --- what is not there


@pytest.mark.parametrize(
    ("path", "said"), [("/session?id=zzz", "nothing has the id"), ("/session", ""), ("/session?id=", "")]
)
def test_a_session_that_is_not_there_is_said(small: Browser, path: str, said: str) -> None:
    answer = small.get(path)
    assert (answer.status, said in answer.body) == (404, True)


def test_an_ambiguous_id_lists_the_candidates(small: Browser) -> None:
    answer = small.get("/session?id=8c1f0a52")
    assert (answer.status, "8000-000000000002" in answer.body) == (400, True)


def test_a_session_without_anything_says_so(small: Browser) -> None:
    assert "Nothing was said in it." in small.page("/session?id=77777777")
