from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indexer import config
from indexer.cli import scope
from indexer.errors import NotFound, UsageError
from indexer.store.connection import Connection
from indexer.store.reads import reading

SHOP, OLD = "github.com/example/shop-api", "/home/dev/old-shop"
DAY = 86_400_000


@pytest.fixture
def memory(home: Path) -> Iterator[Connection]:
    with reading(home) as conn:
        yield conn


@pytest.fixture
def pacific(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "PST8PDT,M3.2.0,M11.1.0")
    time.tzset()


def window(since: str | None = None, until: str | None = None) -> tuple[int | None, int | None]:
    return scope.window(Namespace(since=since, until=until))


# --- projects


def test_no_name_is_no_filter(memory: Connection) -> None:
    assert scope.project_keys(memory, config.load(), None) is None


def test_a_name_with_its_aliases(memory: Connection) -> None:
    assert scope.project_keys(memory, config.load(), "shop-api") == (SHOP, OLD)


def test_a_folder_is_resolved_by_its_repository(memory: Connection, tmp_path: Path) -> None:
    git = tmp_path / "clone" / ".git"
    (tmp_path / "clone" / "src").mkdir(parents=True)
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text('[remote "origin"]\n\turl = git@GitHub.com:Example/Shop-API.git\n', encoding="utf-8")
    (git / "objects").mkdir()
    (git / "refs").mkdir()
    assert scope.project_keys(memory, config.load(), str(tmp_path / "clone" / "src")) == (SHOP, OLD)


def test_here_is_where_the_command_runs(memory: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFound):
        scope.project_keys(memory, config.load(), ".")


def test_aliases_of_the_settings_hold_at_once(memory: Connection, isolated: Path) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.write_text(f'[project.aliases]\n"Notes" = "{SHOP}"\n', encoding="utf-8")
    assert scope.project_keys(memory, config.load(), "shop-api") == (SHOP, OLD, "/home/dev/notes")


# --- sessions


@pytest.mark.parametrize("name", ["4444", "session:4444", "session:44444444-0000-4000-8000-000000000004"])
def test_a_session_by_the_start_of_its_id(memory: Connection, name: str) -> None:
    assert scope.one_session(memory, name).row_id == 4


def test_the_start_of_two_ids_is_refused(memory: Connection) -> None:
    with pytest.raises(UsageError, match="several sessions begin with '8c1f'") as caught:
        scope.one_session(memory, "8c1f")
    assert "000000000001, 8c1f" in caught.value.hint


def test_an_unknown_session_is_refused(memory: Connection) -> None:
    with pytest.raises(NotFound, match="nothing has the id"):
        scope.one_session(memory, "zzz")


# --- times


def test_no_window() -> None:
    assert window() == (None, None)


def test_a_day_is_one_whole_day() -> None:
    since, until = window("2026-11-20", "2026-11-20")
    assert since == 1795132800000
    assert until == since + DAY - 1


@pytest.mark.usefixtures("pacific")
def test_days_are_local_ones_winter_and_summer() -> None:
    assert window("2026-11-20") == (1795132800000 + 8 * DAY // 24, None)
    assert window("2026-07-01") == (1782864000000 + 7 * DAY // 24, None)


@pytest.mark.usefixtures("pacific")
def test_the_day_the_clock_goes_back_has_25_hours() -> None:
    since, until = window("2026-11-01", "2026-11-01")
    assert since is not None
    assert until == since + 25 * DAY // 24 - 1


def test_an_offset_is_respected() -> None:
    assert window("2026-11-20T10:00+01:00") == (1795168800000 - 3_600_000, None)


def test_a_span_goes_back_from_now() -> None:
    since, _ = window("7d")
    assert since is not None
    assert abs(time.time() * 1000 - 7 * DAY - since) < 60_000


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageError, match="--since 2026-11-21 is later than --until 2026-11-20"):
        window("2026-11-21", "2026-11-20")


@pytest.mark.parametrize("text", ["soon", "", "2026-13-01", "99999999d", "10000-01-01", "2026-11-20 25:00"])
def test_what_is_no_time_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        window(text)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "1900-01-01T00:00"])
def test_far_days_do_no_harm(text: str) -> None:
    with suppress(UsageError):
        assert window(text)[0] is not None


@pytest.mark.usefixtures("pacific")
def test_the_local_zone_goes_to_and_fro() -> None:
    zone = scope.LocalZone()
    for hours in range(0, 24 * 366, 7):
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
        here = moment.astimezone(zone)
        assert here.tzname() in ("PST", "PDT")
        assert here.replace(tzinfo=None) == datetime.fromtimestamp(moment.timestamp(), zone).replace(tzinfo=None)
    assert zone.dst(None) == timedelta(0)
    assert zone.utcoffset(None) in (timedelta(hours=-8), timedelta(hours=-7))


def test_a_folder_without_memory_is_named_with_its_key(memory: Connection, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with pytest.raises(NotFound, match=f"{tmp_path}/new, whose key is"):
        scope.project_keys(memory, config.load(), str(tmp_path / "new"))
