"""Projects: the list, and one of them: what it came to over time, what is open, which files, and why it is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from indexer import scope
from indexer.config import Config
from indexer.errors import NotFound
from indexer.store import browse, duplicates, portrait, recall
from indexer.store.browse import Project
from indexer.store.connection import Connection
from indexer.store.reads import aliases
from indexer.text import glance
from indexer.web import session_page, today_page
from indexer.web.asking import Asked, address
from indexer.web.layout import Page, aside, empty, many, scrolled, when
from indexer.web.markup import Html, join, tag

LISTED = 300
SUMMARIES, ITEMS, FILES, SESSIONS, PAIRS = 20, 40, 25, 20, 10
_CHOICES = (("accept", "They are one"), ("dismiss", "Keep them apart"))
_SOURCES = {
    "environment": "a rule of your settings (`project.environment`) names it",
    "git-remote": "it is the repository that the folder's git remote names, whatever the folder is called",
    "path": "it is the folder itself: no remote names it",
    "guess": "it is guessed from the name of the transcript's folder, since no record says where it was",
}


def listed(conn: Connection, settings: Config, _: Mapping[str, str]) -> Page:
    """All projects, the last active first."""
    found = browse.projects(conn, aliases(conn, settings.aliases))
    if not found:
        return Page("Projects", empty("No project yet."), "/projects")
    rows = [_row(one) for one in found[:LISTED]]
    head = tag(
        "tr", [tag("th", name, scope="col") for name in ("Project", "Sessions", "Prompts", "Tool calls", "Last")]
    )
    table = scrolled(tag("table", tag("thead", head), tag("tbody", rows)), "Projects")
    left = tag("p", f"and {len(found) - LISTED:,} more", class_="note") if len(found) > LISTED else None
    return Page("Projects", join(table, left), "/projects")


def _row(one: Project) -> Html:
    name = tag("a", one.display or one.key or "(none)", href=_link(one.key))
    numbers = [tag("td", f"{number:,}", class_="n") for number in (one.sessions, one.prompts, one.tool_uses)]
    return tag("tr", tag("td", name), numbers, tag("td", when(one.last)), data_item=True)


def _link(key: str) -> str:
    return f"/project?{urlencode({'key': key})}"


def view(conn: Connection, settings: Config, given: Mapping[str, str]) -> Page:
    """The project `key`; any name it goes by is understood. Raises NotFound, AmbiguousProject."""
    name = given.get("key", "")
    keys = scope.project_keys(conn, settings, name) if name else ("",)
    found = [one for one in browse.projects(conn, aliases(conn, settings.aliases)) if set(one.keys) & set(keys or ())]
    if not found:
        raise NotFound(f"no session belongs to {name[:100]!r}", "`/projects` lists what there is")
    one = found[0]
    parts = (
        ("What it came to", _summaries(portrait.summaries(conn, one.keys, SUMMARIES))),
        ("Open work", _work(recall.work(conn, one.keys)[:ITEMS])),
        ("Files most touched", _files(one, portrait.files(conn, one.keys, FILES))),
        ("Sessions", today_page.sessions(browse.sessions(conn, one.keys, limit=SESSIONS))),
        ("Alike", _pairs(conn, one)),
        ("Why it is one project", _why(one, portrait.folders(conn, one.keys))),
    )
    sections = [tag("section", tag("h2", title), body, aria_label=title) for title, body in parts if body]
    return Page(one.display or one.key or "(none)", join(_head(one), sections), "/projects", "project.js")


def _head(one: Project) -> Html:
    counts = aside(many(one.sessions, "session"), many(one.prompts, "prompt"), many(one.tool_uses, "tool call"))
    search = tag("a", "Search in it", href=address(Asked(project=one.key))) if one.key else None
    numbers = tag("a", "Its numbers", href=f"/numbers?{urlencode({'project': one.key})}") if one.key else None
    return tag("p", aside(counts, join("last ", when(one.last)), search, numbers), class_="meta")


def _summaries(found: Sequence[portrait.Told]) -> Html:
    if not found:
        return empty("No session of it has been summed up yet.")
    rows = [
        tag(
            "li",
            tag("a", glance(one.request or "a session", 160), href=session_page.link(one.session)),
            tag("p", glance(one.outcome, 320)) if one.outcome else None,
            tag("p", when(one.time), class_="meta"),
            data_item=True,
        )
        for one in found
    ]
    return tag("ol", rows, class_="list")


def _work(found: Sequence[recall.Item]) -> Html:
    if not found:
        return empty("Nothing was left open.")
    rows = [
        tag(
            "li",
            glance(one.subject, 200),
            " ",
            tag("span", aside(one.status.replace("_", " "), when(one.time)), class_="meta"),
        )
        for one in found
    ]
    return tag("ul", rows)


def _files(project: Project, found: Sequence[portrait.Touched]) -> Html:
    if not found:
        return empty("No call named a file.")
    rows = [
        tag(
            "tr",
            tag("td", tag("a", one.file, href=address(Asked(project=project.key, file=one.file)))),
            tag("td", f"{one.calls:,}", class_="n"),
            tag("td", f"{one.changed:,}", class_="n"),
        )
        for one in found
    ]
    head = tag(
        "tr",
        tag("th", "File", scope="col"),
        [tag("th", name, scope="col", class_="n") for name in ("Calls", "Written")],
    )
    note = tag("p", f"Of the last {portrait.LOOKED_AT:,} calls.", class_="note")
    return join(scrolled(tag("table", tag("thead", head), tag("tbody", rows)), "Files"), note)


def _pairs(conn: Connection, project: Project) -> Html | None:
    """Observations with titles that are alike, to be decided on."""
    found = [one for one in duplicates.pending(conn, 500) if one.project in project.spellings][:PAIRS]
    if not found:
        return None
    rows = [
        tag(
            "li",
            tag("p", tag("a", glance(one.first_title, 160), href=f"/entry?id=observation:{one.first}")),
            tag("p", tag("a", glance(one.second_title, 160), href=f"/entry?id=observation:{one.second}")),
            tag("p", [_decision(one, *choice) for choice in _CHOICES], class_="js-only"),
        )
        for one in found
    ]  # fmt: skip
    return join(tag("ul", rows, class_="list"), tag("p", id="decided", role="status"))


def _decision(one: duplicates.Candidate, decision: str, name: str) -> Html:
    return tag(
        "button", name, type="button", data_decision=decision, data_first=one.first, data_second=one.second,
    )  # fmt: skip


def _why(one: Project, folders: Sequence[portrait.Folder]) -> Html:
    reason = _SOURCES.get(one.source, one.source)
    rows = [
        ("Key", tag("code", one.key or "(none)")),
        ("Because", reason),
        ("Spelt", aside(*one.spellings[:20])),
        ("Read as it", aside(*[tag("code", key) for key in one.keys[1:21]])),
    ]
    facts = [join(tag("dt", name), tag("dd", value)) for name, value in rows if value]
    places = [
        tag("li", tag("code", folder.path), " ", tag("span", aside(folder.source, folder.root), class_="meta"))
        for folder in folders
    ]
    known = join(tag("h3", "Folders that were found to be it"), tag("ul", places)) if places else None
    return join(tag("dl", facts, class_="facts"), known)
