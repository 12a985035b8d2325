"""What Claude wrote looks as meant, and can do nothing."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("markdown_it")

from hypothesis import given
from hypothesis import strategies as st

from indexer.web.markdown import LONGEST, rendered

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <b onmouseover=x>b</b>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/forget)",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "[![x](https://evil.example/x.png)](https://example.org)",
    '![x](https://evil.example/"onerror="alert(1))',
    "<javascript:alert(1)>",
    '```"><script>\n</code></pre><script>alert(1)</script>\n```',
    "```js onload=alert(1)\nx\n```",
    "`</code><script>`",
    "# <script>x</script>",
    "| <script> | b |\n|---|---|\n| <img src=x> | c |",
    "[a]: javascript:alert(1)\n\n[a]",
    "<style>*{}</style><iframe src=//evil.example>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    '[x](https://example.org "\\" onmouseover=alert(1) x=\\"")',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_runs_and_nothing_is_fetched(text: str) -> None:
    page = rendered(text)
    for fault in ("<script", "<img", "<style", "<iframe", 'href="javascript', 'href="data', 'href="/', "src="):
        assert fault not in page.lower().replace("&quot;", "") or (fault == "src=" and "&lt;" in page)
    pages = pytest.importorskip("pages")
    pages.check(page)


@given(st.text(alphabet=st.sampled_from(list("<>[]()!\"'`*_#|-\\&:;/ \nabjavscript:xhttps.")), max_size=80))
def test_no_text_breaks_out(text: str) -> None:
    page = rendered(text).lower()
    assert "<script" not in page
    assert "<img" not in page
    assert 'href="j' not in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It **works** and *how*", "<p>It <strong>works</strong> and <em>how</em></p>"),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("- one\n  - two", "<ul>\n<li>one\n<ul>\n<li>two</li>\n</ul>\n</li>\n</ul>"),
        ("```py\na < b\n```", "<pre><code>a &lt; b\n</code></pre>"),
        ("~~no~~", "<s>no</s>"),
        ("> said", "<blockquote>\n<p>said</p>\n</blockquote>"),
        ("| a |\n|---|\n| 1 |", "<td>1</td>"),
        ("a & b", "a &amp; b"),
    ],
)
def test_it_looks_as_meant(text: str, shown: str) -> None:
    assert shown in rendered(text)


@pytest.mark.parametrize(
    ("text", "level"), [("# a", "h4"), ("## a", "h5"), ("### a", "h6"), ("#### a", "h4"), ("###### a", "h6")]
)
def test_a_heading_is_none_of_the_pages_own(text: str, level: str) -> None:
    assert f"<{level}>a</{level}>" in rendered(text)


def test_a_link_leads_on_without_saying_from_where() -> None:
    link = '<a href="https://example.org/?a=1&amp;b=2" rel="noreferrer noopener nofollow">x</a>'
    assert rendered("[x](https://example.org/?a=1&b=2)") == f'<div class="md"><p>{link}</p>\n</div>'


def test_an_image_is_a_link_that_says_so() -> None:
    page = rendered("![a shot](https://example.org/a.png)")
    assert '<a href="https://example.org/a.png" rel="noreferrer noopener nofollow">[image: a shot]</a>' in page


def test_an_image_that_leads_nowhere_stays_as_it_was_typed() -> None:
    assert "<p>![x](data:image/png;base64,AAAA)</p>" in rendered("![x](data:image/png;base64,AAAA)")


def test_an_image_within_a_link_is_a_word_of_it() -> None:
    page = rendered("[![in](https://a.example/x)](https://b.example) ![out](https://c.example)")
    assert "<span>[image: in]</span></a>" in page
    assert 'href="https://c.example"' in page
    assert "a.example" not in page


def test_escapes_and_overrides_are_gone() -> None:
    assert "<p>red ab</p>" in rendered("\x1b[31mred\x1b[0m a\u202eb")


def test_what_is_very_long_is_text() -> None:
    assert rendered("*a* " * LONGEST).startswith("<pre>*a* *a*")


@pytest.mark.parametrize("piece", ["[", "![", "*a _b ", "> ", "- ", "`", "|", "<", "\\", "[a](", "&#"])
def test_no_text_takes_long(piece: str) -> None:
    start = time.process_time()
    rendered(piece * (6_000 // len(piece)))
    assert time.process_time() - start < 2


def test_deep_nesting_is_bounded() -> None:
    assert rendered("> " * 500 + "x").count("<blockquote>") < 30
