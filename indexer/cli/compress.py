"""`compress`: make memory of finished turns now; with --provider, have a model word it anew; and what was spent.

Without --provider or a bound nothing is asked of a model, whatever the settings name.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from indexer import app, config
from indexer.cli.output import Output
from indexer.cli.render import aside, many, one_line, when
from indexer.cli.scope import LocalZone
from indexer.config import Config
from indexer.query import parse_when
from indexer.store import recall, refined
from indexer.store.connection import Connection
from indexer.store.reads import reading
from indexer.text import iso

if TYPE_CHECKING:
    from indexer.compressors.base import Model
    from indexer.refine import Ran, Wanted


def compress(args: Namespace, out: Output) -> int:
    """Make memory of every finished turn that has none; with a provider, in a model's words.

    1 when the provider is paused. Raises Busy while another process writes that is no service, UsageError."""
    settings = config.load(args.home, args.roots)
    bounded = args.max_calls is not None or args.max_tokens is not None
    provider = args.provider or (settings.compress_provider if bounded or args.dry_run else "rules")
    since = None if args.since is None else parse_when(args.since, int(time.time() * 1000), LocalZone())
    if args.dry_run:
        return _priced(settings, provider, since, out)
    if provider == "rules":
        return _by_rules(settings, out)
    return _by_model(settings, provider, since, args, out)


def _priced(settings: Config, provider: str, since: int | None, out: Output) -> int:
    model, calls, tokens = app.price(settings, provider, since)
    with reading(settings.home) as conn:
        made, spent = recall.counts(conn), _spent(conn)
    left = max(0, settings.compress_daily_calls - spent.calls)
    done = {
        "pending_sessions": made.pending_sessions, "pending_turns": made.pending_turns, "observations": 0,
        "tokens": tokens, "model": model, "calls": calls, "calls_left_today": left,
    }  # fmt: skip
    if out.as_json:
        out.data({"compress": done})
        return 0
    pending = f"{many(made.pending_turns, 'turn')} to look at"
    if not calls:
        out.lines([f"{pending}; rules cost no tokens" if model.startswith("rules") else f"nothing to ask {model}"])
        return 0
    days = f"; at {many(settings.compress_daily_calls, 'call')} a day, of which {left:,} are left today"
    out.lines([f"{many(calls, 'call')} to {one_line(model)}, at most {tokens:,} tokens{days}; nothing was sent"])
    return 0


def _by_rules(settings: Config, out: Output) -> int:
    found = app.compress(settings)
    if out.as_json:
        names = ("sessions", "turns", "observations", "failed")
        out.data({"compress": {name: getattr(found, name) for name in names}})
    else:
        counted = (many(found.observations, "observation"), many(found.turns, "turn"), many(found.sessions, "session"))
        out.lines([aside(*counted)])
    return 0


def _by_model(settings: Config, provider: str, since: int | None, args: Namespace, out: Output) -> int:
    def wanted(model: Model) -> Wanted:
        from indexer.refine import Wanted  # noqa: PLC0415 - rules need none of it

        return Wanted(model.name, model.overhead, since, args.max_calls, args.max_tokens)

    def tell(calls: int) -> None:
        if calls % 10 == 0 and not out.as_json:
            out.note(f"{many(calls, 'call')} …")

    ran, left = app.refine(settings, provider, wanted, tell, failed=args.failed)
    if out.as_json:
        plain = {name: value for name, value in ran._asdict().items() if name != "stop"}
        stop = {"reason": ran.stop.reason, "message": ran.stop.message, "until": iso(ran.stop.until)}
        out.data({"compress": plain | {"stop": stop, "left": left}})
    else:
        out.lines(_lines(ran, left))
    return 1 if ran.stop.reason == "paused" else 0


def _lines(ran: Ran, left: int) -> Iterator[str]:
    yield aside(
        many(ran.calls, "call"),
        f"{ran.tokens:,} tokens",
        f"{many(ran.made, 'turn')} worded anew",
        f"{ran.nothing:,} with nothing to record" if ran.nothing else "",
        f"{ran.failed:,} failed" if ran.failed else "",
    )
    if ran.stop.reason != "done":
        until = f" (until {when(ran.stop.until)})" if ran.stop.until else ""
        about = "is" if left == 1 else "are"
        yield f"{one_line(ran.stop.message)}{until}; about {many(left, 'turn')} {about} left, as rules have them"


# --- what status says of it -----------------------------------------------------------------------------


def _spent(conn: Connection) -> refined.Spent:
    return refined.spent(conn, refined.day_of(int(time.time() * 1000)))


def budget(conn: Connection, settings: Config) -> dict[str, Any]:
    """What was spent today and what may be, which providers are paused and why. A day is a UTC day."""
    now = int(time.time() * 1000)
    spent = refined.spent(conn, refined.day_of(now))
    paused = [
        {"provider": name, "kind": why.kind, "message": why.message, "failures": why.failures, "since": iso(why.since),
         "until": iso(why.until)}
        for name, why in refined.pauses(conn).items()
    ]  # fmt: skip
    return {
        "provider": settings.compress_provider,
        "day": refined.day_of(now),
        "calls_today": spent.calls,
        "calls_limit": settings.compress_daily_calls,
        "tokens_today": spent.tokens,
        "tokens_limit": settings.compress_daily_tokens,
        "paused": paused,
    }


def budget_lines(said: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for people; one line while rules do it all and nothing was spent."""
    if said["provider"] == "rules" and not said["calls_today"] and not said["paused"]:
        return [("budget", "rules: no model is asked, no token spent")]
    calls, tokens = (f"{said[f'{n}_today']:,} of {said[f'{n}_limit']:,} {n}" for n in ("calls", "tokens"))
    spent = ("model budget", aside(one_line(said["provider"]), calls, tokens, "until 00:00 UTC"))
    return [spent, *(("model paused", _pause(one)) for one in said["paused"])]


def _pause(one: dict[str, Any]) -> str:
    return f"{one_line(one['provider'])} ({one['kind']}) until {one['until']}: {one_line(one['message'])}"
