"""What was made of a session goes with what it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import Library
from forgetting import holding
from transcripts import Transcript

from indexer import app

WORD = "zqxmarmalade"


def talk(name: str, root: Path, word: str) -> Transcript:
    made = Transcript(name)
    made.user(f"fix the {word} parser")
    made.tool("Edit", {"file_path": f"/home/dev/shop/{word}.py", "old_string": "a", "new_string": "b"}, "done")
    made.text(f"I fixed the {word} parser: it dropped the last line.")
    made.user("thanks, and that is all")
    made.text("You are welcome.")
    made.write(root)
    return made


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def titles(library: Library) -> list[str]:
    conn = library.connect()
    found = [title for (title,) in conn.execute("SELECT title FROM observations ORDER BY title")]
    conn.close()
    return found


def test_a_forgotten_sessions_observations_go(library: Library) -> None:
    gone, kept = talk("gone", library.root, WORD), talk("kept", library.root, "other")
    app.rescan(library.config)
    assert len(titles(library)) == 2
    app.forget(library.config, [gone.session_id], [])
    assert len(titles(library)) == 1
    assert holding(library.home, WORD) == []
    assert kept.session_id in library.everything.decode()


def test_a_forgotten_record_leaves_no_trace_in_what_is_made_again(library: Library) -> None:
    made = talk("talk", library.root, WORD)
    app.rescan(library.config)
    with_word = [record["uuid"] for record in made.records if WORD in str(record)]
    app.forget(library.config, [], with_word)
    assert holding(library.home, WORD) == []
    app.rescan(library.config)
    assert holding(library.home, WORD) == []


@pytest.mark.parametrize("gone_from_disk", [False, True])
def test_a_rebuild_keeps_observations_and_their_ids(library: Library, gone_from_disk: bool) -> None:
    path = talk("talk", library.root, WORD).path(library.root)
    talk("other", library.root, "other")
    app.rescan(library.config)
    library.age()
    before = (
        library.rows("SELECT id, title, narrative FROM observations"),
        library.rows("SELECT * FROM observation_origins"),
    )
    links = library.rows("SELECT id, observation_id FROM tool_uses")
    if gone_from_disk:
        path.unlink()
    app.rescan(library.config, rebuild=True)
    after = (
        library.rows("SELECT id, title, narrative FROM observations"),
        library.rows("SELECT * FROM observation_origins"),
    )
    assert before == after
    assert links == library.rows("SELECT id, observation_id FROM tool_uses")
    assert library.rows("SELECT count(*) FROM compress_marks WHERE revision <> done") == [(0,)]
