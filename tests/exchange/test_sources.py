"""What can be imported is told apart by its first bytes, and looked through before anything is written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from claude_mem_db import v13
from moving import differing, everything, rescanned, share_key, take
from stores import store
from transcripts import Transcript

from indexer.cli import main
from indexer.errors import CorruptDatabase, NewerDatabase, NotFound, UsageError

SCHEMAS = Path(__file__).parent.parent / "fixtures" / "schema"


def built(path: Path, sql: str) -> Path:
    conn = sqlite3.connect(path)
    conn.executescript(sql)
    conn.commit()
    conn.close()
    return path


@pytest.mark.parametrize("version", sorted(path.stem for path in SCHEMAS.glob("*.sql")))
def test_a_copy_of_any_schema_is_taken_in_once(version: str, tmp_path: Path) -> None:
    path = built(tmp_path / "copy.db", (SCHEMAS / f"{version}.sql").read_text(encoding="utf-8"))
    data = path.read_bytes()
    first = take(tmp_path / "home", path)
    before = everything(tmp_path / "home")
    second = take(tmp_path / "home", path)
    assert (first.prompts, first.faulty) == (5, 0)
    assert (second.prompts, second.tool_uses, second.memories, second.faulty) == (0, 0, 0, 0)
    assert differing(everything(tmp_path / "home"), before) == {}
    assert path.read_bytes() == data


def test_a_copy_with_its_log_is_read_with_it(tmp_path: Path) -> None:
    session = Transcript("s", "/home/dev/shop")
    session.user("fix the login")
    home = rescanned(tmp_path / "home", session)
    live = store(home)
    live.execute("UPDATE user_prompts SET prompt_text = 'from the log'")
    share_key(home, tmp_path / "other")
    take(tmp_path / "other", home / "index.db")
    live.close()
    conn = store(tmp_path / "other")
    assert conn.execute("SELECT prompt_text FROM user_prompts").fetchone()[0] == "from the log"
    conn.close()


def test_a_damaged_copy_leaves_nothing_behind(tmp_path: Path) -> None:
    session = Transcript("s", "/home/dev/shop")
    for number in range(50):
        session.user(f"prompt {number}")
    path = rescanned(tmp_path / "home", session) / "index.db"
    data = bytearray(path.read_bytes())
    data[20_000:] = bytes(len(data) - 20_000)
    (tmp_path / "copy.db").write_bytes(data)
    with pytest.raises(CorruptDatabase):
        take(tmp_path / "other", tmp_path / "copy.db")
    assert list((tmp_path / "other").iterdir()) == []


def test_what_is_not_ours_is_told_by_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="claude-mem"):
        take(tmp_path / "home", v13(tmp_path / "cm.db"))
    with pytest.raises(CorruptDatabase, match="no memory of transcript-indexer"):
        take(tmp_path / "home", built(tmp_path / "x.db", "CREATE TABLE photos (name TEXT)"))


def test_views_in_the_place_of_tables_are_no_tables(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n"
    sql = (SCHEMAS / "6.sql").read_text(encoding="utf-8")
    path = built(tmp_path / "x.db", sql + f"DROP TABLE session_records; CREATE VIEW session_records AS {endless};")
    with pytest.raises(CorruptDatabase):
        take(tmp_path / "home", path)


def test_a_newer_copy_is_refused(tmp_path: Path) -> None:
    sql = (SCHEMAS / "6.sql").read_text(encoding="utf-8")
    path = built(tmp_path / "x.db", sql + "INSERT INTO schema_versions VALUES (99, 'later', '');")
    with pytest.raises(NewerDatabase):
        take(tmp_path / "home", path)


def test_no_file_no_import(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        take(tmp_path / "home", tmp_path / "nothing")
    assert main(["import", str(tmp_path), "--home", str(tmp_path / "home")]) == 2
