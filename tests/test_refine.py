"""No turn lost, none twice, the budget never passed: whatever a provider answers, and whoever is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from daemons import settings
from forgetting import holding
from freezegun import freeze_time
from remembered import made, remember
from scripted_model import GOOD, NOON, USAGE, Backlog, Fixed, Server, many, message, provider, refusal, told
from stores import read, store

from indexer import app, compress, forget
from indexer.compressors.base import Ask, Failure, Told
from indexer.compressors.rules import Rules
from indexer.compressors.transport import Answered, Lost
from indexer.refine import ATTEMPTS, Job, Ran, Stop, Wanted, as_json, from_json
from indexer.store import refined
from indexer.text import iso

HOUR = 3_600_000
COST = sum(USAGE.values())
SLOW = Lost("the answer took too long", spent=True)
CUT = Answered(200, {}, message().text[:40])
UNUSABLE = {
    "prose": message("I fixed the paging, as you asked."),
    "invalid JSON": message('{"observations": [{"title": "half'),
    "wrong schema": message({"observations": "none"}),
    "no title": message({"observations": [{"narrative": "n", "facts": []}]}),
    "empty": message(""),
}
WANTED = Wanted("fixed/one", 0)


@pytest.fixture
def backlog(tmp_path: Path) -> Backlog:
    return Backlog(tmp_path)


def take(backlog: Backlog, wanted: Wanted = WANTED) -> Job:
    job = backlog.desk.take(wanted)
    assert isinstance(job, Job)
    return job


def stop(backlog: Backlog, wanted: Wanted = WANTED) -> Stop:
    found = backlog.desk.take(wanted)
    assert isinstance(found, Stop)
    return found


# --- what a model does to the memory


def identities(backlog: Backlog) -> list[Any]:
    return backlog.conn.execute(
        "SELECT g.turn_id, g.slot, o.id, o.files_modified, o.prompt_number, o.created_at_epoch, t.id "
        "FROM observations o JOIN observation_origins g ON g.observation_id = o.id "
        "JOIN tool_uses t ON t.observation_id = o.id ORDER BY o.id"
    ).fetchall()


def test_rules_rows_are_worded_anew_under_the_same_identity(backlog: Backlog) -> None:
    before = identities(backlog)
    backlog.run(Fixed(*(different(n) for n in range(3))))
    assert (identities(backlog), len(before), backlog.models) == (before, 3, {"fixed/one": 3})


def test_what_a_model_says_of_two_turns_in_the_same_words_stands_once(backlog: Backlog) -> None:
    backlog.run(Fixed(told()))
    assert backlog.models == {"fixed/one": 1}


def different(number: int) -> Told:
    one = GOOD["observations"][0] | {"title": f"Page {number}"}
    return told({"observations": [one]})


def test_every_turn_is_asked_about_once(backlog: Backlog) -> None:
    ran = backlog.run(Fixed(*(different(n) for n in range(3))))
    assert (ran.calls, ran.made, ran.stop.reason, backlog.models) == (3, 3, "done", {"fixed/one": 3})
    assert backlog.run(Fixed(told())).calls == 0


def test_what_a_model_made_stays_when_memory_is_made_again(backlog: Backlog) -> None:
    backlog.run(Fixed(*(different(n) for n in range(3))))
    held = made(backlog.conn)
    backlog.conn.execute("UPDATE compress_marks SET done = -1, seen = NULL")
    compress.all_of(backlog.conn, Rules())
    assert made(backlog.conn) == held


def test_a_rebuild_keeps_what_a_model_made_and_pays_for_nothing_twice(backlog: Backlog) -> None:
    backlog.run(Fixed(*(different(n) for n in range(3))))
    backlog.conn.close()
    config = settings(backlog.folder / "home", backlog.folder / "projects", idle_minutes=0.1)
    app.rescan(config)
    before = held(config.home)
    app.rescan(config, rebuild=True)
    assert (held(config.home), before["observations"][0][16]) == (before, "fixed/one")
    assert Backlog.of(backlog.folder).run(Fixed(told())).calls == 0


def held(home: Path) -> Any:
    conn = store(home)
    found = made(conn)
    conn.close()
    return found


def test_a_turn_that_has_grown_is_the_rules_again_and_asked_about_again(backlog: Backlog) -> None:
    backlog.run(Fixed(*(different(n) for n in range(3))))
    backlog.conn.execute("UPDATE tool_uses SET is_error = 1 WHERE id = 3")
    backlog.conn.execute("UPDATE compress_marks SET done = -1, seen = NULL")
    compress.all_of(backlog.conn, Rules())
    assert backlog.models["fixed/one"] == 2
    assert backlog.run(Fixed(different(9))).calls == 1


def test_nothing_to_record_leaves_the_rules_rows(backlog: Backlog) -> None:
    ran = backlog.run(Fixed(told({"observations": []})))
    assert (ran.nothing, backlog.models, backlog.states) == (3, {"rules/1": 3}, {"nothing": 3})


def test_turns_without_deeds_are_not_sent(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=0)
    assert (stop(backlog).reason, backlog.spent) == ("done", [])


# --- a provider that fails (bar 6)


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_answer_is_asked_for_once_more_then_the_rules_stay(answer: Answered, backlog: Backlog) -> None:
    server = Server(answer, answer)
    ran = backlog.run(provider(server))
    assert (ran.calls, ran.failed, backlog.states) == (4, 1, {"made": 2, "failed": 1})
    assert sum("could not be used" in question for question in server.turns) == 1
    (failed,) = refined.failed(backlog.conn, 9)
    assert failed.error.startswith("asked twice: ")


def test_an_answer_that_is_usable_the_second_time_counts(backlog: Backlog) -> None:
    ran = backlog.run(provider(Server(UNUSABLE["prose"])))
    assert (ran.calls, ran.made, backlog.states) == (4, 3, {"made": 3})


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (refusal(429, "rate_limit_error", retry_after="7"), 7.0),
        (refusal(529, "overloaded_error"), 10.0),
        (refusal(503), 10.0),
        (Lost("the provider cannot be reached", spent=False), 10.0),
    ],
    ids=["429", "529", "503", "unreachable"],
)
def test_overload_is_waited_for_and_no_turn_suffers(answer: Any, waits: float, backlog: Backlog) -> None:
    ran = backlog.run(provider(Server(answer)))
    assert (ran.made, backlog.clock.waited, backlog.states) == (3, [waits], {"made": 3})
    assert (ran.tokens, backlog.spent) == (3 * COST, [("2026-11-20", 4, 3 * COST)])


def test_a_rest_grows_with_each_failure_and_ends_a_run_that_has_no_patience(backlog: Backlog) -> None:
    ran = backlog.run(provider(Server(rest=refusal(529))))
    assert (backlog.clock.waited, ran.stop.reason) == ([10.0, 20.0, 40.0, 80.0], "paused")
    assert backlog.states == {"asked": 1}


@pytest.mark.parametrize("answer", [SLOW, CUT], ids=["slow", "cut off"])
def test_a_lost_answer_costs_what_was_set_aside_and_is_asked_for_again(answer: Any, backlog: Backlog) -> None:
    ran = backlog.run(provider(Server(answer)))
    assert (ran.made, ran.calls, backlog.states) == (3, 4, {"made": 3})
    assert ran.tokens > 3 * COST


def test_a_turn_that_never_gets_an_answer_is_listed(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=1)
    ran = backlog.run(provider(Server(rest=SLOW)), patience=9_999.0)
    assert (ran.calls, ran.failed, backlog.models) == (ATTEMPTS, 1, {"rules/1": 1})
    assert [one.error for one in refined.failed(backlog.conn, 9)] == ["the answer took too long"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(401, "authentication_error"), "auth"),
        (refusal(403), "auth"),
        (refusal(429, "insufficient_quota"), "quota"),
        (refusal(402), "quota"),
        (refusal(404, "not_found_error"), "setup"),
    ],
)
def test_what_nobody_can_wait_for_pauses_the_provider(answer: Answered, kind: str, backlog: Backlog) -> None:
    ran = backlog.run(provider(Server(rest=answer)))
    assert (ran.calls, ran.stop.reason, backlog.models) == (1, "paused", {"rules/1": 3})
    (paused,) = refined.pauses(backlog.conn).values()
    assert (paused.kind, paused.until - NOON >= 0.75 * HOUR, "hunter2" in paused.message) == (kind, True, False)


def test_a_paused_provider_is_tried_again_later_and_by_hand_at_once(backlog: Backlog) -> None:
    backlog.run(provider(Server(rest=refusal(401))))
    wanted = Wanted("anthropic/small", 0)
    assert stop(backlog, wanted).reason == "paused"
    assert backlog.run(provider(Server())).made == 3
    assert refined.pauses(backlog.conn) == {}


def test_a_turn_that_is_refused_is_listed_and_the_rest_goes_on(backlog: Backlog) -> None:
    ran = backlog.run(provider(Server(refusal(413))))
    assert (ran.made, ran.failed, backlog.states) == (2, 1, {"made": 2, "failed": 1})


def test_when_every_turn_is_refused_it_is_the_set_up(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=9)
    ran = backlog.run(provider(Server(rest=refusal(400))))
    assert (ran.calls, ran.stop.reason, backlog.states["failed"]) == (3, "paused", 2)


def test_another_model_is_asked_about_what_one_could_not_answer(backlog: Backlog) -> None:
    backlog.run(provider(Server(rest=UNUSABLE["prose"])))
    assert backlog.states == {"failed": 3}
    assert backlog.run(Fixed(told())).made == 3


# --- the budget


def test_no_call_ever_passes_the_tokens_of_a_day(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=12)
    most = take(backlog).ask.most
    backlog = Backlog(tmp_path / "again", turns=12, tokens=3 * most)
    spent: list[int] = []

    def dear(ask: Ask) -> Told:
        spent.append(ask.most)
        return told(tokens=ask.most)

    model = Fixed(told())
    model.ask = dear  # type: ignore[method-assign]
    ran = backlog.run(model)
    assert (ran.stop.reason, sum(spent) <= 3 * most, backlog.spent[0][2]) == ("budget", True, sum(spent))


@pytest.mark.parametrize("tokens", [None, 1])
def test_a_budget_smaller_than_a_call_allows_none(tokens: int | None, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, tokens=1500)
    ran = backlog.run(Fixed(told(tokens=tokens)))
    assert (ran.calls, ran.stop.reason, backlog.spent) == (0, "budget", [])


def test_two_thousand_turns_and_fifty_calls(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=2000, sessions=40, calls=50)
    server = Server()
    ran = backlog.run(provider(server))
    assert (ran.calls, len(server.requests), ran.made, ran.stop.reason) == (50, 50, 50, "budget")
    assert "budget of 50 calls is spent" in ran.stop.message
    assert backlog.desk.waiting(Wanted("anthropic/small", 0)) == 1950
    assert backlog.one("SELECT count(*) FROM search_fts WHERE search_fts MATCH 'paging'") >= 2000
    assert max(server.turns.values()) == 1


def test_the_newest_turns_come_first(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=30, calls=2)
    model = Fixed(told())
    backlog.run(model)
    assert ["list 29" in model.asked[0].text, "list 28" in model.asked[1].text] == [True, True]


def test_midnight_in_utc_makes_the_budget_whole(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, calls=1)
    with freeze_time("2026-11-20T23:59:59.900Z", tz_offset=9) as frozen:
        backlog.desk._wall = app._now
        assert [backlog.run(Fixed(told())).calls, backlog.run(Fixed(told())).calls] == [1, 0]
        assert iso(stop(backlog).until) == "2026-11-21T00:00:00.000Z"
        frozen.tick(0.2)
        assert [backlog.run(Fixed(told())).calls, backlog.run(Fixed(told())).calls] == [1, 0]
    assert [day for day, _, _ in backlog.spent] == ["2026-11-20", "2026-11-21"]


def test_a_call_over_midnight_counts_for_the_day_it_began_on(backlog: Backlog) -> None:
    job = take(backlog)
    backlog.clock.now += 13 * HOUR
    backlog.desk.give(job, told(tokens=7))
    assert backlog.spent == [("2026-11-20", 1, 7)]


def test_a_run_has_bounds_of_its_own(backlog: Backlog) -> None:
    ran = backlog.run(Fixed(told()), calls=2)
    assert (ran.calls, ran.stop.reason) == (2, "calls")
    ran = backlog.run(Fixed(told()), tokens=10)
    assert (ran.calls, ran.stop.reason) == (0, "tokens")


def test_since_leaves_out_what_is_older(backlog: Backlog) -> None:
    assert backlog.run(Fixed(told()), since=NOON * 2).calls == 0
    assert backlog.run(Fixed(told())).calls == 3


def test_pricing_a_backlog_spends_and_writes_nothing(backlog: Backlog) -> None:
    before = backlog.conn.total_changes
    calls, tokens = backlog.desk.price(WANTED)
    assert (calls, tokens > 3 * 1500, backlog.conn.total_changes) == (3, True, before)


# --- killed, or forgotten, while a model was being asked


def test_a_call_that_was_cut_off_was_spent_and_is_made_again_later(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=1)
    first = take(backlog)
    backlog.limits()
    assert (stop(backlog).reason, backlog.spent) == ("paused", [("2026-11-20", 1, first.ask.most)])
    backlog.clock.now += HOUR
    again = take(backlog)
    assert (again.turn, again.attempts) == (first.turn, 2)


def test_a_turn_whose_call_always_kills_us_is_listed(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, turns=1)
    for _ in range(ATTEMPTS):
        backlog.limits()
        take(backlog)
        backlog.clock.now += HOUR
    backlog.limits()
    assert (stop(backlog).reason, backlog.states) == ("done", {"failed": 1})
    assert backlog.spent[0][1] == ATTEMPTS


def test_an_answer_about_what_was_forgotten_meanwhile_is_not_kept(backlog: Backlog) -> None:
    job = take(backlog)
    session = backlog.one("SELECT content_session_id FROM sdk_sessions")
    forget.forget(backlog.conn, backlog.folder / "home", [session], [], ())
    assert backlog.desk.give(job, told({"observations": [{"title": "quixotic", "facts": ["f"]}]})).state == "gone"
    assert holding(backlog.folder / "home", "quixotic") == []


def test_what_a_model_made_is_forgotten_with_its_turn(backlog: Backlog) -> None:
    backlog.run(Fixed(told({"observations": [{"title": "quixotic", "narrative": "quixotic"}]})))
    session = backlog.one("SELECT content_session_id FROM sdk_sessions")
    forget.forget(backlog.conn, backlog.folder / "home", [session], [], ())
    assert [backlog.one(f"SELECT count(*) FROM {name}") for name in ("model_turns", "model_sessions")] == [0, 0]
    assert holding(backlog.folder / "home", "quixotic") == []


def test_a_record_that_is_forgotten_takes_what_a_model_made_of_its_session_along(backlog: Backlog) -> None:
    backlog.run(Fixed(told({"observations": [{"title": "quixotic", "narrative": "quixotic"}]})))
    record = backlog.one("SELECT native_prompt_id FROM user_prompts WHERE prompt_number = 2")
    forget.forget(backlog.conn, backlog.folder / "home", [], [record], ())
    assert backlog.one("SELECT count(*) FROM model_turns") == 0
    assert holding(backlog.folder / "home", "quixotic") == []


def test_a_turn_that_gets_another_owner_takes_what_a_model_made_along(tmp_path: Path) -> None:
    origin = many("origin", [1])
    fork = origin.fork("fork", marked=True)
    fork.user("go on")
    fork.write(tmp_path / "projects")
    backlog = Backlog.of(tmp_path)
    follow(backlog)
    backlog.run(Fixed(told()))
    origin.write(tmp_path / "projects")
    follow(backlog)
    sql = "SELECT s.content_session_id FROM model_turns t JOIN sdk_sessions s ON s.id = t.session_db_id"
    assert (backlog.one(sql), backlog.models) == (origin.session_id, {"fixed/one": 1})


def follow(backlog: Backlog) -> None:
    read(backlog.conn, backlog.folder / "projects")
    remember(backlog.conn)


# --- what leaves the machine, and what comes back


def test_what_is_sent_is_redacted_whatever_is_stored(backlog: Backlog) -> None:
    key = "ghp_" + "a1B2" * 9
    backlog.conn.execute("UPDATE assistant_texts SET text = text || ?", (f" The token is {key}.",))
    model = Fixed(told())
    backlog.run(model)
    assert [key in ask.text for ask in model.asked] == [False] * 3
    assert all("[REDACTED:" in ask.text for ask in model.asked)


def test_what_comes_back_is_redacted_before_it_is_stored(backlog: Backlog) -> None:
    key = "ghp_" + "a1B2" * 9
    backlog.run(Fixed(told({"observations": [{"title": "Key", "narrative": f"It is {key}.", "facts": [key]}]})))
    assert backlog.one("SELECT group_concat(made) FROM model_turns").count("[REDACTED:") == 6
    assert holding(backlog.folder / "home", key) == []


def test_observers_sessions_are_not_sent(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path)
    backlog.conn.execute("UPDATE sdk_sessions SET cwd = '/home/dev/m/transcript-indexer-compressor'")
    assert backlog.run(Fixed(told())).calls == 0


def note_import(backlog: Backlog, turn: str) -> None:
    sql = f"INSERT INTO imported_memories SELECT 'i', 'observation', 99, id, {turn}, 'd', '1' FROM sdk_sessions"
    backlog.conn.execute(sql)


def test_a_session_whose_memory_somebody_else_made_is_not_sent(backlog: Backlog) -> None:
    backlog.conn.execute("UPDATE ingest_files SET path = 'import:' || id")
    note_import(backlog, "NULL")
    assert backlog.run(Fixed(told())).calls == 0


def test_a_turn_of_which_an_imported_observation_tells_is_not_sent(backlog: Backlog) -> None:
    note_import(backlog, "(SELECT native_prompt_id FROM user_prompts LIMIT 1)")
    assert backlog.run(Fixed(told())).calls == 2


@pytest.mark.parametrize("found", [Stop("budget", "m", 5), Job("t", "h", 1, "m", "d", 1, "", Ask("i", "t", 1, 2))])
def test_the_control_socket_carries_jobs_and_stops(found: Job | Stop) -> None:
    assert from_json(as_json(found)) == found


def test_a_run_says_what_it_came_to(backlog: Backlog) -> None:
    ran = backlog.run(Fixed(told(), Failure("rejected", "no"), told({"observations": []})))
    assert ran == Ran(3, 2000, 1, 1, 1, Stop("done", "every finished turn has been put to the model"))
