"""A model words anew what rules have observed: one turn a call, within a budget that no call ever passes.

The rules' observations stand before any model is asked, and stay where it fails. What is still to be asked is
a query over what is stored, not a queue. A call goes in two steps, each a short transaction, and the model is
asked between them, by whoever can wait: `take` chooses a turn and sets aside the most that the call can cost,
`give` puts that right and keeps the answer. A process killed in between has spent, not saved: the attempt
counts, and the turn is asked again later; after ATTEMPTS it is listed as failed.

* An answer that cannot be used is asked for once more, told what was wrong; then the rules' rows stay.
* Overload, rate limits and outages are no turn's fault: the provider rests, as long as it asks for or ever
  longer, and the turn waits. Auth, quota and set-up errors pause it for an hour, then twice as long each
  time, until a call goes well or a person runs `compress --provider`.
* Everything sent is stored text, which is redacted, and goes through the present rules once more; so does
  what comes back.
* A day is a UTC day: its budget is whole again at 00:00 UTC.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from indexer import events
from indexer.compressors.base import Answer, Ask, Failure, Finding, Told, Turn, Unusable, Wording
from indexer.overlay import fingerprint
from indexer.store import memories, refined, turns
from indexer.store.connection import Connection, transaction
from indexer.store.refined import Pause, Row
from indexer.text import many

ATTEMPTS = 4
HELD = 600_000
"""Milliseconds for which a turn that is being asked is asked by nobody else, if no answer is given back."""
BUSY, BUSY_MOST = 10.0, 3600.0
PAUSED, PAUSED_MOST = 3600.0, 86_400.0
STREAK = 3
"""Turns turned down in a row, after which it is the set-up that is wrong, not the turns."""
_DAY = 86_400_000


class Redacting(Protocol):
    """What is asked of indexer.redact.Redactor."""

    def text(self, text: str) -> str: ...
    def value(self, value: object) -> Any: ...


class Limits(NamedTuple):
    """Of a day: calls and tokens."""

    calls: int
    tokens: int


class Wanted(NamedTuple):
    """What is to be asked. model: its name; overhead: see Model. since: turns that began before (epoch
    milliseconds) are left out. calls, tokens: what is left of this run's own bounds; None: only the day's."""

    model: str
    overhead: int
    since: int | None = None
    calls: int | None = None
    tokens: int | None = None

    @property
    def provider(self) -> str:
        """The part of the model's name that pauses."""
        return self.model.partition("/")[0]


class Job(NamedTuple):
    """A turn to ask a model about; what was set aside for it, on which day."""

    turn: str
    hash: str
    session: int
    model: str
    day: str
    attempts: int
    amiss: str
    ask: Ask


class Stop(NamedTuple):
    """Why nothing is to be asked now. reason: done, calls, tokens, budget, paused. until: epoch milliseconds."""

    reason: str
    message: str
    until: int | None = None


class Given(NamedTuple):
    """What came of a call. tokens: what it cost. state: made, nothing, asked (again, later),
    failed, or gone (the turn was forgotten meanwhile)."""

    tokens: int
    state: str


class Desk:
    """Where turns are taken from, and answers given back. wall: epoch milliseconds. jitter: from 0 to 1."""

    def __init__(
        self,
        conn: Connection,
        wording: Wording,
        redactor: Redacting,
        limits: Limits,
        wall: Callable[[], int],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._conn, self._wording, self._redactor = conn, wording, redactor
        self._limits, self._wall, self._jitter = limits, wall, jitter
        self._sessions: list[int] = []
        self._asked_for: tuple[str, int | None] | None = None
        self._turns: list[tuple[int, Turn]] = []
        self._held: dict[int, int] = {}

    def start(self, wanted: Wanted, *, by_hand: bool = False, failed: bool = False) -> None:
        """Look at everything anew. by_hand: somebody asks, so a provider that was paused is tried again. failed: so
        are turns that no model answered for."""
        if failed:
            with transaction(self._conn):
                refined.ask_again(self._conn)
        self._sessions = refined.unsettled(self._conn, wanted.model, wanted.since)[::-1]
        self._turns, self._held, self._asked_for = [], {}, (wanted.model, wanted.since)
        if by_hand:
            with transaction(self._conn):
                refined.resume(self._conn, wanted.provider)

    def take(self, wanted: Wanted) -> Job | Stop:
        """A turn to ask about, paid for in advance; or why there is none."""
        if self._asked_for != (wanted.model, wanted.since):
            self.start(wanted)
        now = self._wall()
        if stop := self._stopped(wanted, now, 0):
            return stop
        while (found := self._next(wanted, now)) is not None:
            session, turn = found
            hashed, row = fingerprint(turn), refined.of_turns(self._conn, [turn.id]).get(turn.id)
            if row is None or row.hash != hashed:
                row = Row(hashed, "asked", wanted.model, 0, None, None, (), session)
            if row.attempts >= ATTEMPTS:
                self._note(turn.id, row._replace(state="failed"), f"no answer came in {many(row.attempts, 'call')}")
                continue
            ask = self._ask(turn, wanted, row.amiss or "")
            if stop := self._stopped(wanted, now, ask.most):
                self._turns.append(found)
                return stop
            return self._reserved(turn, row, wanted, ask, now)
        if self._held:
            return Stop(
                "paused", f"turns of {many(len(self._held), 'session')} are to be asked again", min(self._held.values())
            )
        return Stop("done", "every finished turn has been put to the model")

    def give(self, job: Job, answer: Answer) -> Given:
        """Keep what came of a call."""
        cost = job.ask.most if answer.tokens is None else answer.tokens
        now = self._wall()
        with transaction(self._conn):
            refined.spend(self._conn, job.day, 0, cost - job.ask.most)
            row = refined.of_turns(self._conn, [job.turn]).get(job.turn)
            if row is None or row.hash != job.hash:
                given = "gone"  # forgotten meanwhile: what was made of it must not be kept
            else:
                given = self._told(job, answer) if isinstance(answer, Told) else self._failed(job, answer, now)
        events.asked(model=job.model, tokens=cost, state=given)
        return Given(cost, given)

    def waiting(self, wanted: Wanted) -> int:
        """About how many turns are still to be put to the model."""
        return refined.waiting(self._conn, wanted.model, wanted.since)

    def price(self, wanted: Wanted) -> tuple[int, int]:
        """How many calls the backlog takes, and how many tokens at the most. Asks nothing, writes nothing."""
        calls = tokens = 0
        for session in refined.unsettled(self._conn, wanted.model, wanted.since):
            for turn in self._open_turns(session, wanted, now=None)[0]:
                calls += 1
                tokens += self._ask(turn, wanted, "").most
        return calls, tokens

    # -- choosing --------------------------------------------------------------------------------------

    def _next(self, wanted: Wanted, now: int) -> tuple[int, Turn] | None:
        self._sessions += [session for session, until in self._held.items() if until <= now]
        while not self._turns and self._sessions:
            session = self._sessions.pop()
            self._held.pop(session, None)
            found, left, until = self._open_turns(session, wanted, now)
            self._turns = [(session, turn) for turn in found]
            if until is not None:
                self._held[session] = until
            elif not found and not left:
                with transaction(self._conn):
                    refined.settle(self._conn, session, wanted.model)
        return self._turns.pop() if self._turns else None

    def _open_turns(self, session: int, wanted: Wanted, now: int | None) -> tuple[list[Turn], bool, int | None]:
        """The turns of a session that are to be asked about, the newest last; whether older ones are left out;
        when the first of those that are to wait may be asked (now: None: nothing waits)."""
        header = turns.header(self._conn, session)
        if header is None or header.observes or header.borrowed:
            return [], False, None
        finished = turns.turns(self._conn, header).finished
        known = refined.of_turns(self._conn, [turn.id for turn in finished])
        others = memories.imported(self._conn, session, "observation")
        found, left, waits = [], False, []
        for turn in finished:
            row = known.get(turn.id)
            if (
                turn.id in others
                or not self._wording.worth(turn)
                or (row is not None and _is_settled(row, turn, wanted.model))
            ):
                continue
            if wanted.since is not None and (turn.time or 0) < wanted.since:
                left = True
            elif row is not None and now is not None and now < (row.retry_at or 0) and row.hash == fingerprint(turn):
                waits.append(row.retry_at or 0)
            else:
                found.append(turn)
        return found, left, min(waits, default=None)

    def _stopped(self, wanted: Wanted, now: int, most: int) -> Stop | None:
        """Why a call that may cost `most` tokens is not to be made now."""
        day = refined.day_of(now)
        spent, midnight = refined.spent(self._conn, day), (now // _DAY + 1) * _DAY
        if wanted.calls is not None and wanted.calls < 1:
            return Stop("calls", "the calls of this run are made")
        if wanted.tokens is not None and wanted.tokens < max(1, most):
            return Stop("tokens", f"a call may cost {many(most, 'token')}, and {wanted.tokens:,} of this run are left")
        if spent.calls >= self._limits.calls:
            message = f"today's budget of {many(self._limits.calls, 'call')} is spent; it is whole again at 00:00 UTC"
            return Stop("budget", message, midnight)
        if spent.tokens + most > self._limits.tokens or spent.tokens >= self._limits.tokens:
            left = max(0, self._limits.tokens - spent.tokens)
            message = f"of today's {many(self._limits.tokens, 'token')} {left:,} are left, too few for a call; "
            return Stop("budget", message + "the budget is whole again at 00:00 UTC", midnight)
        resting = refined.pause(self._conn, wanted.provider)
        if resting is not None and resting.until > now:
            return Stop("paused", f"{wanted.provider} is paused ({resting.kind}): {resting.message}", resting.until)
        return None

    def _ask(self, turn: Turn, wanted: Wanted, amiss: str) -> Ask:
        bodies = turns.bodies(self._conn, [call.row for call in turn.calls])
        ask = self._wording.prepare(turn, bodies, overhead=wanted.overhead, amiss=amiss)
        text = self._redactor.text(ask.text)
        longer = len(text.encode("utf-8", "replace")) - len(ask.text.encode("utf-8", "replace"))
        return ask._replace(text=text, most=ask.most + max(0, longer))

    def _reserved(self, turn: Turn, row: Row, wanted: Wanted, ask: Ask, now: int) -> Job:
        day = refined.day_of(now)
        row = row._replace(state="asked", model=wanted.model, attempts=row.attempts + 1, retry_at=now + HELD)
        with transaction(self._conn):
            refined.spend(self._conn, day, 1, ask.most)
            refined.put(self._conn, turn.id, row)
        return Job(turn.id, row.hash, row.session, wanted.model, day, row.attempts, row.amiss or "", ask)

    def _note(self, turn: str, row: Row, error: str) -> None:
        with transaction(self._conn):
            refined.put(self._conn, turn, row._replace(retry_at=None), error=error)

    # -- what came of it -------------------------------------------------------------------------------

    def _told(self, job: Job, answer: Told) -> str:
        row = Row(job.hash, "nothing", job.model, job.attempts, None, None, (), job.session)
        refined.resume(self._conn, job.model.partition("/")[0])
        try:
            reply = self._wording.read(answer.text)
        except Unusable as unusable:
            return self._unusable(job, row, str(unusable))
        findings = tuple(self._clean(finding) for finding in reply.findings)
        if findings:
            row = row._replace(state="made", findings=findings)
            turns.make_again(self._conn, [job.session])
        refined.put(self._conn, job.turn, row)
        return row.state

    def _unusable(self, job: Job, row: Row, reason: str) -> str:
        if job.amiss:
            refined.put(self._conn, job.turn, row._replace(state="failed"), error=f"asked twice: {reason}")
            return "failed"
        self._again(job, row._replace(state="asked", amiss=reason), reason)
        return "asked"

    def _again(self, job: Job, row: Row, error: str) -> None:
        """The turn is asked again: at once, or when its time has come."""
        refined.put(self._conn, job.turn, row, error=error)
        if row.retry_at is not None:
            self._held[job.session] = min(row.retry_at, self._held.get(job.session, row.retry_at))
        else:
            self._turns = []
            if job.session not in self._sessions:
                self._sessions.append(job.session)

    def _clean(self, finding: Finding) -> Finding:
        return Finding.of(self._redactor.value([list(part) if isinstance(part, tuple) else part for part in finding]))

    def _failed(self, job: Job, answer: Failure, now: int) -> str:
        amiss = job.amiss or None
        row = Row(job.hash, "asked", job.model, job.attempts, None, amiss, (), job.session)
        rest, streak = self._rest(job, answer, now)
        if answer.kind == "rejected" and streak < STREAK:
            refined.put(self._conn, job.turn, row._replace(state="failed"), error=answer.message)
            return "failed"
        if answer.kind == "lost":
            if job.attempts >= ATTEMPTS:
                refined.put(self._conn, job.turn, row._replace(state="failed"), error=answer.message)
                return "failed"
            row = row._replace(retry_at=rest)
        else:
            row = row._replace(attempts=job.attempts - 1)  # no fault of the turn
        self._again(job, row, answer.message)
        return "asked"

    def _rest(self, job: Job, answer: Failure, now: int) -> tuple[int, int]:
        """Leave the provider alone for a while; until when, and after how many failures in a row."""
        provider = job.model.partition("/")[0]
        before = refined.pause(self._conn, provider)
        failures = (before.failures if before else 0) + 1
        lasting = answer.kind in ("auth", "quota", "setup") or (answer.kind == "rejected" and failures >= STREAK)
        first, most = (PAUSED, PAUSED_MOST) if lasting else (BUSY, BUSY_MOST)
        seconds = min(first * 2 ** min(failures - 1, 20), most)
        if answer.kind == "rejected" and not lasting:
            seconds = 0.0
        elif answer.after is not None:
            seconds = max(answer.after, seconds) if lasting else answer.after
        else:
            seconds *= 0.75 + 0.5 * self._jitter()
        until = now + int(seconds * 1000)
        kind = "setup" if lasting and answer.kind == "rejected" else answer.kind
        why = Pause(kind, answer.message, failures, before.since if before else now, until)
        refined.leave_alone(self._conn, provider, why)
        return until, failures


def _is_settled(row: Row, turn: Turn, model: str) -> bool:
    """Whether nothing more is to be asked about a turn, as it stands now."""
    if row.state == "asked" or row.hash != fingerprint(turn):
        return False
    return row.state != "failed" or row.model == model


# --- a run ----------------------------------------------------------------------------------------------


class Window(Protocol):
    """A desk, here or in the running service."""

    def take(self, wanted: Wanted) -> Job | Stop: ...
    def give(self, job: Job, answer: Answer) -> Given: ...


class Ran(NamedTuple):
    """What a run came to. made, nothing, failed: turns. stop: why it ended."""

    calls: int
    tokens: int
    made: int
    nothing: int
    failed: int
    stop: Stop


def run(
    desk: Window,
    ask: Callable[[Ask], Answer],
    wanted: Callable[[], Wanted],
    *,
    wait: Callable[[float], None],
    wall: Callable[[], int],
    patience: float = 120.0,
    tell: Callable[[int], None] = lambda calls: None,
) -> Ran:
    """Ask until there is nothing to ask, or no more is to be spent. patience: seconds that a provider's rest
    is waited for, each time; a longer one ends the run."""
    counted: dict[str, int] = {}
    calls = tokens = 0
    while True:
        now = wanted()
        left = now._replace(
            calls=None if now.calls is None else now.calls - calls,
            tokens=None if now.tokens is None else now.tokens - tokens,
        )
        job = desk.take(left)
        if isinstance(job, Stop):
            seconds = ((job.until or 0) - wall()) / 1000
            if job.reason == "paused" and seconds <= patience:
                wait(max(0.1, seconds))
                continue
            made, nothing, failed = (counted.get(state, 0) for state in ("made", "nothing", "failed"))
            return Ran(calls, tokens, made, nothing, failed, job)
        given = desk.give(job, ask(job.ask))
        calls, tokens = calls + 1, tokens + given.tokens
        counted[given.state] = counted.get(given.state, 0) + 1
        tell(calls)


def as_json(job: Job | Stop) -> Mapping[str, Any]:
    """For the service's control socket."""
    return {"stop": list(job)} if isinstance(job, Stop) else {"job": [*job[:-1], list(job.ask)]}


def from_json(value: Mapping[str, Any]) -> Job | Stop:
    """What `as_json` made."""
    return Stop(*value["stop"]) if "stop" in value else job_of(value["job"])


def job_of(row: Sequence[Any]) -> Job:
    """A job, from what JSON made of one. Raises ValueError, TypeError for what is none."""
    turn, hashed, session, model, day, attempts, amiss, ask = row
    return Job(turn, hashed, session, model, day, attempts, amiss, Ask(*ask))
