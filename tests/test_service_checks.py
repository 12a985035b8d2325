"""Whoever writes, and vectors, as doctor sees them (tests/test_doctor.py has the rest)."""

from __future__ import annotations

from indexer.errors import IndexerError
from indexer.finding import NOTE, OK, PROBLEM
from indexer.service_checks import locks, models, service, vectors


def test_a_service_may_write_for_months() -> None:
    (found,) = locks(7, {"pid": 7}, 9e6, "")
    assert (found.kind, found.level) == ("locks", OK)


def test_a_writer_whose_pid_is_unknown_has_a_remedy_too() -> None:
    (found,) = locks(0, {}, 9e6, "")
    assert (found.level, "unknown" in found.message, bool(found.remedy)) == (NOTE, True, True)


def test_every_finding_that_is_not_ok_has_its_remedy() -> None:
    said = {"pid": 7, "updated_at": 0}
    found = [
        *locks(None, {}, None, "No locks available"),
        *service(None, {}, 0.0),
        *service(7, said, 500.0),
        *service(7, said | {"lag_bytes": 1, "progress_at": 0, "updated_at": 500_000}, 500.0),
        *service(7, said | {"mode": "polling", "reason": "x"}, 1.0),
        *service(7, said | {"reason": "x"}, 1.0),
        *models([("use", IndexerError("x"))]),
        *vectors({"rows": 2, "taken_in": 1, "arms": []}),
    ]
    kinds = ["locks", "no-watcher", "hung", "stalled", "polling", "trouble", "model", "vectors"]
    assert [one.kind for one in found] == kinds
    assert all(one.remedy and one.level in (NOTE, PROBLEM) for one in found)
