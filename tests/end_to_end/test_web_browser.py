"""The page in a real browser: every page on odd sessions and on the recordings, by keys, live, and without script.

Skipped where there is no `chromium` with its `chromedriver`. With AXE_CORE=/path/to/axe.min.js (npm's `axe-core`)
every page is held to it too; with WEB_HOME=/path/to/memory the pages of that memory are looked at as well; with
WEB_PICTURES=docs the README's pictures are made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("markdown_it")

import showcase
from browsers import BROWSER, DRIVER, ENTER, ESCAPE, Chromium, chromium, running
from scenery import lay
from transcripts import Transcript, line, uid

from indexer.store.reads import reading

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "recordings"
AXE = os.environ.get("AXE_CORE", "")
LARGE = os.environ.get("WEB_HOME", "")
PICTURES = os.environ.get("WEB_PICTURES", "")
SOON = 1.0
"""Seconds from an appended line to its entry on the page."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver"),
]


class Stage(NamedTuple):
    """A browser that has been let in. root: the transcripts, which a service follows."""

    browser: Chromium
    url: str
    root: Path

    def open(self, path: str, width: int = 1100) -> None:
        """A page, in a window this wide."""
        self.browser.size(width, 800)
        self.browser.go(self.url + path)
        self.browser.until("document.documentElement.classList.contains('js')")


@pytest.fixture(autouse=True)
def offline() -> None:
    """In place of the one that forbids all sockets: the browser is told that only 127.0.0.1 exists."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stage")
    root = folder / "projects"
    lay(root)
    for recording in RECORDINGS.glob("*/projects"):
        shutil.copytree(recording, root, dirs_exist_ok=True)
    where = ("--home", str(folder / "memory"), "--root", str(root))
    with (
        running(folder, "rescan", *where, said="(the memory holds)"),
        running(folder, "watch", *where),
        running(folder, "web", *where, "--port", "0", said=r"open (\S+)") as address,
        chromium(folder / "browser") as browser,
    ):
        browser.go(address)
        yield Stage(browser, address.partition("/?t=")[0], root)


def session(name: str, more: str = "") -> str:
    return f"/session?id={uid('session', name)}{more}"


PAGES = [
    "/", "/search", "/search?q=answer", "/search?q=nothing+of+the+kind", "/search?q=x&since=soon", "/projects",
    "/project?key=%2Fhome%2Fdev%2Fshop", "/numbers", "/health", session("hostile"), session("long"),
    session("long", "&page=3"), session("parent"), session("parent", "&agent=a1b2c3d"), session("fork"),
    "/entry?id=prompt:1", "/entry?id=tool_use:1", "/nowhere",
]  # fmt: skip


def settled(stage: Stage) -> None:
    """What the page asks for by itself has come."""
    stage.browser.until("!document.querySelector('[aria-busy]')", 60)


def sound(stage: Stage, path: str) -> None:
    """No complaint in the console, no request elsewhere, nothing that runs out of the window."""
    stage.browser.logged("browser")
    stage.browser.requested()
    for width in (1100, 640, 360):
        stage.open(path, width)
        settled(stage)
        assert stage.browser.run("return document.documentElement.scrollWidth") <= width
    expected = ["404"] if path == "/nowhere" else ["400"] if "since=soon" in path else []
    assert [one for one in stage.browser.complaints() if not any(f"status of {code}" in one for code in expected)] == []
    assert [url for url in stage.browser.requested() if not url.startswith((stage.url, "chrome://"))] == []


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_sound_at_every_width(stage: Stage, path: str) -> None:
    """640 is a window of 1280 at 200 %."""
    sound(stage, path)


def test_every_session_of_the_recordings_is_sound(stage: Stage) -> None:
    with reading(stage.root.parent / "memory") as conn:
        names = [row[0] for row in conn.execute("SELECT content_session_id FROM sdk_sessions")]
    assert len(names) > 12
    for name in names:
        sound(stage, f"/session?id={quote(name)}")


def test_the_address_loses_its_ticket(stage: Stage) -> None:
    stage.open("/?t=used")
    assert stage.browser.run("return location.href") == f"{stage.url}/"


def test_no_script_sees_the_cookie(stage: Stage) -> None:
    stage.open("/")
    assert stage.browser.run("return document.cookie") == ""


def test_nothing_recorded_runs(stage: Stage) -> None:
    """An alert would end the next command with an error; the policy would have said so in the console."""
    stage.browser.logged("browser")
    stage.open(session("hostile"))
    stage.browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert stage.browser.run("return document.querySelectorAll('main script, main img, main style').length") == 0
    assert stage.browser.complaints() == []


# --- by keys


def focus(stage: Stage) -> str:
    return str(stage.browser.run("return document.activeElement.id || document.activeElement.tagName"))


def test_a_slash_leads_to_the_box_and_escape_out_of_it(stage: Stage) -> None:
    for path in ("/", "/search?q=answer", session("parent")):
        stage.open(path)
        stage.browser.press("/")
        assert focus(stage) == "q"
        stage.browser.press(ESCAPE)
        assert focus(stage) == "BODY"


def test_j_and_k_go_through_the_hits_and_enter_opens(stage: Stage) -> None:
    stage.open("/search?q=answer")
    places = [at(stage, key) for key in "jjkk"]
    assert places == [0, 1, 0, 0]
    stage.browser.press(ENTER)
    stage.browser.until("location.pathname === '/session' && document.readyState === 'complete'")
    assert stage.browser.run("return Boolean(document.getElementById(location.hash.slice(1)))")


def at(stage: Stage, key: str) -> int:
    """The place of the entry one stands at after this key."""
    stage.browser.press(key)
    return int(
        stage.browser.run("return [...document.querySelectorAll('[data-item]')].indexOf(document.activeElement)")
    )


def test_enter_unfolds_a_call(stage: Stage) -> None:
    stage.open(session("parent"))
    stage.browser.press("jj" + ENTER)
    assert stage.browser.run("return document.activeElement.querySelector('details.tool').open")


def test_a_question_mark_tells_the_keys(stage: Stage) -> None:
    stage.open("/numbers")
    stage.browser.press("?")
    assert stage.browser.run("return document.getElementById('help').open")
    stage.browser.press(ESCAPE)
    assert not stage.browser.run("return document.getElementById('help').open")


def test_an_empty_search_has_the_focus_and_keys_stay_in_its_box(stage: Stage) -> None:
    stage.open("/search")
    stage.browser.press("jk?/")
    assert stage.browser.run("return document.getElementById('q').value") == "jk?/"


# --- what moves


def test_search_answers_as_one_types_and_its_address_is_shared(stage: Stage) -> None:
    stage.open("/search")
    stage.browser.press("answ")
    stage.browser.until("document.querySelectorAll('.hits mark').length > 3")
    assert stage.browser.run("return location.search") == "?q=answ"
    stage.browser.press("zzzqqq")
    stage.browser.until("document.querySelector('#results .state')")
    assert "Nothing matches" in stage.browser.run("return document.getElementById('results').textContent")
    assert stage.browser.run("return document.getElementById('told').textContent") == "Nothing matches"


def test_what_a_filter_narrows_stays_narrow_while_typing(stage: Stage) -> None:
    stage.open("/search?kind=tool_use")
    stage.browser.press("echo")
    stage.browser.until("location.search === '?q=echo&kind=tool_use'")
    kinds = stage.browser.run("return [...document.querySelectorAll('.hits .kind')].map((one) => one.textContent)")
    assert set(kinds) == {"tool call"}


def test_an_appended_line_appears_within_a_second(stage: Stage, say: Callable[[str], None]) -> None:
    """Best of five: the machine may be busy with other tests."""
    stage.open("/")
    stage.browser.until("document.getElementById('live').textContent.startsWith('Live')")
    took = [appended(stage, number) for number in range(5)]
    say(f"from an appended line to the page: {sorted(round(one, 2) for one in took)} s")
    assert min(took) < SOON, took


def appended(stage: Stage, number: int) -> float:
    """Seconds from a line's end in the file to its entry on the page."""
    text = f"live prompt {number} of {time.time_ns()}"
    made = Transcript(f"live{number}", cwd="/home/dev/live", start=datetime.now(UTC))
    record = made.user(text)
    path = made.path(stage.root)
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    path.write_bytes(line(record))
    stage.browser.until(f"document.getElementById('feed').textContent.includes({json.dumps(text)})", 30)
    return time.monotonic() - start


def test_the_state_of_the_running_service_is_shown(stage: Stage) -> None:
    stage.open("/")
    assert "running" in stage.browser.run("return document.getElementById('state').textContent")


def test_a_page_away_gives_its_connection_back(stage: Stage) -> None:
    """More pages than a browser has connections: none of them keeps one."""
    for _ in range(8):
        stage.open("/")
        stage.browser.until("document.getElementById('live').textContent.startsWith('Live')")
    stage.open("/projects")


def test_forgetting_asks_twice(stage: Stage) -> None:
    """Through the running service: the page and the service are two processes."""
    made = Transcript("to forget", cwd="/home/dev/live", start=datetime.now(UTC))
    made.user("forget me")
    made.write(stage.root)
    stage.open("/")
    stage.browser.until("document.getElementById('feed').textContent.includes('forget me')", 30)
    stage.open(session("to forget"))
    stage.browser.click("button[data-forget]")
    stage.browser.until("document.getElementById('forgotten').textContent.includes('1 prompts')")
    stage.browser.click("button[data-forget]")
    stage.browser.until("document.getElementById('forgotten').textContent.startsWith('Forgotten')", 60)
    stage.open(session("to forget"))
    assert "nothing has the id" in stage.browser.run("return document.body.textContent")
    stage.browser.logged("browser")


def test_without_script_all_can_be_read(stage: Stage) -> None:
    stage.browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        for path, said in (
            ("/search?q=answer", "<mark>answer</mark>"),
            (session("parent"), "One file."),
            ("/health", "doctor=1"),
        ):
            stage.browser.go(stage.url + path)
            page = stage.browser.command("DOM.getOuterHTML", nodeId=document(stage))["outerHTML"]
            assert said in page
            assert 'class="js"' not in page
    finally:
        stage.browser.command("Emulation.setScriptExecutionDisabled", value=False)


def document(stage: Stage) -> int:
    return int(stage.browser.command("DOM.getDocument")["root"]["nodeId"])


# --- for everybody


SERIOUS = """
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
"""


@pytest.mark.skipif(not AXE, reason="needs axe-core: AXE_CORE")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(stage: Stage, path: str, scheme: str) -> None:
    """Everything unfolded, the help open, in both colour schemes."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    stage.browser.command("Emulation.setEmulatedMedia", features=[feature])
    stage.open(path, 360)
    settled(stage)
    stage.browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    stage.browser.command("Runtime.evaluate", expression=Path(AXE).read_text(encoding="utf-8"))
    assert stage.browser.run(SERIOUS) == []
    stage.browser.run("document.getElementById('help').showModal()")
    assert stage.browser.run(SERIOUS) == []
    stage.browser.command("Emulation.setEmulatedMedia", features=[])
    stage.browser.logged("browser")


@pytest.mark.skipif(not LARGE, reason="needs a memory to look at: WEB_HOME")
def test_a_large_memory_is_sound_too(stage: Stage, tmp_path: Path) -> None:
    with (
        running(tmp_path, "web", "--home", LARGE, "--port", "0", said=r"open (\S+)") as address,
        reading(Path(LARGE)) as conn,
    ):
        other = stage._replace(url=address.partition("/?t=")[0])
        stage.browser.go(address)
        largest = "SELECT content_session_id FROM sdk_sessions ORDER BY prompt_counter DESC LIMIT 3"
        projects = "SELECT project_key FROM sdk_sessions GROUP BY 1 ORDER BY count(*) DESC LIMIT 3"
        paths = [f"/session?id={quote(row[0])}" for row in conn.execute(largest)]
        paths += [f"/project?key={quote(row[0], safe='')}" for row in conn.execute(projects)]
        for path in ("/", "/search?q=error", "/projects", "/numbers", "/health", *paths):
            sound(other, path)


@pytest.mark.skipif(not PICTURES, reason="makes the README's pictures: WEB_PICTURES")
def test_the_pictures_of_the_readme(stage: Stage, tmp_path: Path) -> None:
    shown = showcase.lay(tmp_path / "projects")
    where = ("--home", str(tmp_path / "memory"), "--root", str(tmp_path / "projects"))
    with (
        running(tmp_path, "rescan", *where, said="(the memory holds)"),
        running(tmp_path, "web", *where, "--port", "0", said=r"open (\S+)") as address,
    ):
        other = stage._replace(url=address.partition("/?t=")[0])
        stage.browser.go(address)
        unfold = "document.querySelectorAll('.tool')[2].open = true; document.querySelector('.prompt').scrollIntoView()"
        for name, path, act in (("search", "/search?q=timeout", ""), ("session", f"/session?id={shown}", unfold)):
            other.open(path, 960)
            stage.browser.run(act)
            picture = stage.browser.shot()
            assert len(picture) < 150_000
            (Path(PICTURES) / f"web-{name}.png").write_bytes(picture)
