"""A session as one HTML file that needs nothing else and can do nothing: no script, no network, by its own
policy. Every text is escaped; there is no markup but ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from indexer.export.parts import WHO, Part, When
from indexer.store.browse import Session
from indexer.text import glance, sanitize

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """\
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } header p, time { color: #888; font-size: .9rem; margin: 0; }
article { border-top: 1px solid var(--line); padding: .6rem 0; }
article.prompt { background: var(--soft); padding: .6rem; }
article.agent { margin-left: 2rem; } b { margin-right: .6rem; } .failed { color: #c33; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; font: inherit; }
details pre { font: 13px/1.45 ui-monospace, monospace; background: var(--soft); padding: .5rem; }
summary { cursor: pointer; font: 14px ui-monospace, monospace; overflow-wrap: anywhere; }"""


def html(session: Session, parts: Iterable[Part], when: When) -> Iterator[str]:
    """The lines of the document."""
    title = escape(glance(sanitize(session.title or "untitled"), 200))
    project = sanitize(session.project or session.project_key or "unknown")
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
    yield '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    yield f"<header><h1>{title}</h1>"
    yield f"<p>{escape(project)} · {escape(when(session.started))} to {escape(when(session.last))}</p>"
    yield f"<p>session {escape(sanitize(session.session))}</p></header>"
    for part in parts:
        yield from _part(part, when)
    yield "</body></html>"


def _part(part: Part, when: When) -> Iterator[str]:
    time = f"<time>{escape(when(part.time))}</time>"
    yield f'<article class="{part.kind}{" agent" if part.agent else ""}" id="{escape(part.id)}">'
    if part.kind != "tool_use":
        yield f"<b>{WHO[part.kind]}</b>{time}<pre>{escape(part.text)}</pre></article>"
        return
    failed = ' <span class="failed">failed</span>' if part.failed else ""
    gist = escape(glance(f"{part.tool} {part.given}", 120))
    yield f"<details><summary>{gist}{failed} {time}</summary>"
    yield f"<pre>{escape(part.given)}</pre><pre>{escape(part.text)}</pre></details></article>"
