"""adopt: when index.db alone was lost, nothing of the archive is, and the memory is what it was."""

from __future__ import annotations

from pathlib import Path

from archives import Archived, Library
from forgetting import MARK, SHARED, holding, lay
from transcripts import Transcript

from indexer import app
from indexer.archive.adopt import adopt, let_go
from indexer.forget import forget
from indexer.store import archive as rows
from indexer.store.connection import WriterLock


def talk(name: str, *words: str) -> Transcript:
    made = Transcript(name, "/home/dev/shop")
    for word in words:
        made.user(word)
        made.tool("Bash", {"command": f"echo {word}"}, f"{word} " * 40)
    return made


def lose(library: Library) -> None:
    for path in library.home.glob("index.db*"):
        path.unlink()


def said(library: Library) -> list[str]:
    return [text for (text,) in library.rows("SELECT prompt_text FROM user_prompts")]


def filled(folder: Path, *talks: Transcript) -> Library:
    library = Library(folder)
    for each in talks:
        each.write(library.root)
    library.rescan()
    library.age()
    return library


def test_what_no_longer_stands_is_had_back(tmp_path: Path) -> None:
    library = filled(tmp_path, talk("one", "zqone"), talk("two", "zqtwo"))
    next(library.root.rglob("*.jsonl")).unlink()
    lose(library)
    library.rescan()
    assert said(library) == ["zqone", "zqtwo"]


def test_what_a_standing_transcript_held_before_it_was_rewritten_stays(tmp_path: Path) -> None:
    library = filled(tmp_path, talk("one", "zqold", "zqolder"))
    other = talk("one", "zqnew")
    other.records = [record | {"uuid": f"0000{record['uuid'][4:]}"} for record in other.records]
    other.write(library.root)
    library.rescan()
    library.age()
    lose(library)
    for rebuild in (False, False, True):
        library.rescan(rebuild=rebuild)
        assert said(library) == ["zqnew", "zqold", "zqolder"]
        assert b"zqolder" in library.everything


def test_what_stands_on_disk_too_stands_once_in_the_archive(tmp_path: Path) -> None:
    library = filled(tmp_path, talk("one", "zqone"))
    (path,), chunks = library.root.rglob("*.jsonl"), library.chunks
    lose(library)
    library.rescan()
    assert library.chunks == chunks
    assert library.rows("SELECT path, status FROM ingest_files") == [(str(path), "active")]


def test_a_grown_transcripts_earlier_end_is_let_go(tmp_path: Path) -> None:
    library = filled(tmp_path, talk("one", "zqone"))
    talk("one", "zqone", "zqtwo").write(library.root)
    lose(library)
    library.rescan()
    library.age()
    assert len(library.chunks) == 1
    assert library.rows("SELECT count(*) FROM ingest_files") == [(1,)]


def test_what_forgetting_left_in_files_without_a_name_is_had_back(tmp_path: Path) -> None:
    library = Library(tmp_path)
    made = lay(library.root)
    library.rescan()
    library.age()
    lock, conn = WriterLock(library.home), library.connect()
    assert forget(conn, library.home, [made["gone"].session_id], [], app.sinks(library.config))
    conn.close()
    lock.release()
    for path in library.root.rglob("*.jsonl"):
        path.unlink()
    lose(library)
    library.rescan()
    assert SHARED.encode() in library.everything
    assert f"{SHARED} prompt" in said(library)
    assert holding(library.home, MARK) == []


def test_a_file_that_says_nothing_of_its_place_is_had_back(tmp_path: Path) -> None:
    """As older versions left what forgetting had written anew."""
    library = filled(tmp_path, talk("one", "zqone"))
    (chunk,) = library.chunks
    head, frame = chunk.read_bytes().split(b"\n", 1)
    chunk.write_bytes(head.partition(b"{")[0] + b'{"path":"/"}\n' + frame)
    next(library.root.rglob("*.jsonl")).unlink()
    lose(library)
    library.rescan()
    assert said(library) == ["zqone"]


def test_a_damaged_file_is_told_of_and_left(tmp_path: Path) -> None:
    library = filled(tmp_path, talk("one", "zqone"))
    (chunk,) = library.chunks
    chunk.write_bytes(b"damaged")
    lose(library)
    assert [path for path, _ in library.rescan().problems] == [str(chunk)]
    library.rescan()
    assert chunk.exists()


def test_it_is_taken_in_once(tmp_path: Path) -> None:
    before = Archived(tmp_path)
    path = talk("one", "zqone").write(before.root)
    before.read()
    before.seal()
    size = len(path.read_bytes())
    path.unlink()
    before.close()
    for each in before.home.glob("index.db*"):
        each.unlink()
    memory = Archived(tmp_path)
    (file_id,), _ = adopt(memory.conn, memory.archive)
    assert rows.reached(memory.conn, file_id, 0)[0] == size
    assert let_go(memory.conn, memory.archive, [file_id]) == [file_id]
    assert adopt(memory.conn, memory.archive) == ([], [])
    memory.close()
