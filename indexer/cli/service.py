"""`service install | uninstall | status | logs`: the service that keeps the memory up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from indexer import config, service, units
from indexer.cli.output import Output
from indexer.cli.render import facts, many, one_line
from indexer.errors import IndexerError
from indexer.service import State
from indexer.store.connection import writer_alive


def install(args: Namespace, out: Output) -> int:
    """Install the service and run it; with --dry-run print the unit and touch nothing.

    Raises UsageError for a command that may soon be gone, IndexerError when the manager refuses.
    """
    settings = config.load(args.home, args.roots)
    chosen = service.manager()
    wanted = service.command(settings, args.roots, os.environ, home_given=args.home is not None)
    doubts = units.doubts(wanted.program)
    network = args.allow_network or service.needs_network(settings)
    if args.dry_run or args.force:
        for doubt in doubts:
            out.note(f"warning: {doubt}")
    if args.dry_run:
        return _shown(out, chosen, wanted, [] if args.force else doubts, network=network)
    service.refuse(() if args.force else doubts)
    already = chosen.state().running
    if not already and writer_alive(settings.home) is not None:
        out.note("note: another transcript-indexer is writing to this memory; the service waits until it ends")
    changed = service.install(chosen, settings, wanted, network=network)
    if out.as_json:
        out.data({"unit": str(chosen.unit()), "changed": changed, "service": chosen.state()._asdict()})
        return 0
    unchanged = "already installed, unchanged and running" if already else "already installed, unchanged; started"
    done = "installed and running" if changed else unchanged
    out.lines([f"{done}: {one_line(chosen.unit())}", "`transcript-indexer service status` says how it is"])
    return 0


def _shown(out: Output, chosen: service.Manager, wanted: units.Command, doubts: Sequence[str], *, network: bool) -> int:
    """What an installation would write, and what it would say instead of writing it."""
    text, refused = chosen.render(wanted).decode(), service.refusal(doubts)
    drop_in = str(service.network_drop_in(chosen)) if network and chosen.name == "systemd" else None
    if out.as_json:
        said: dict[str, str | None] = {"refused": refused.message if refused else None, "network": drop_in}
        out.data({"unit": str(chosen.unit()), "text": text, **said})
        return 0
    if refused:
        out.note(f"would be refused: {refused.message}")
        out.note(f"hint: {refused.hint}")
    for path in (chosen.unit(), drop_in):
        if path:
            out.note(f"{'would not write' if refused else 'would write'} {path}")
    out.lines(text.splitlines())
    return 0


def uninstall(args: Namespace, out: Output) -> int:
    """Stop the service and remove it; the memory stays, unless --purge."""
    settings = config.load(args.home, args.roots)
    chosen = service.manager()
    if args.purge:  # said before anything is taken away
        service.check_purgeable(settings.home, os.environ)
    there = service.uninstall(chosen)
    gone = service.purge(settings, os.environ) if args.purge else []
    if out.as_json:
        out.data({"unit": str(chosen.unit()), "removed": there, "purged": gone})
        return 0
    out.lines([f"removed {one_line(chosen.unit())}" if there else "there was no service to remove"])
    out.lines(f"deleted {one_line(path)}" for path in gone)
    if not args.purge:
        out.lines([f"the memory stays in {one_line(settings.home)}"])
    return 0


def status(_: Namespace, out: Output) -> int:
    """Say how the service is; 1 when it does not run, or its command is gone."""
    state = service.manager().state()
    if out.as_json:
        out.data({"service": state._asdict()})
    else:
        out.lines(_lines(state, out))
    return 0 if state.running and state.program_exists else 1


def _lines(state: State, out: Output) -> Iterator[str]:
    if not state.installed:
        yield "the service is not installed: `transcript-indexer service install`"
        return
    command = one_line(state.program)
    yield from facts(
        [
            ("service", one_line(state.state) if state.running else out.style.bad(one_line(state.state))),
            ("says", one_line(state.detail)),
            ("pid", str(state.pid or "")),
            ("restarts", many(state.restarts, "restart") if state.restarts else ""),
            ("at login", "starts" if state.enabled else "does not start: `transcript-indexer service install`"),
            ("unit", one_line(state.unit)),
            ("command", command if state.program_exists else out.style.bad(f"{command} is not there any more")),
        ],
        out.style,
        indent="",
    )
    if not state.program_exists:
        yield "install again: `transcript-indexer service install`"
    elif not state.running:
        yield "`transcript-indexer service logs` may say why; `transcript-indexer service install` starts it"


def logs(args: Namespace, out: Output) -> int:
    """Print the last lines of the service's log. Raises IndexerError when they cannot be had."""
    words = service.manager().log_command(args.lines, args.follow and not out.as_json)
    try:
        if out.as_json:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
            out.data({"lines": done.stdout.splitlines()})
            return min(done.returncode, 1)
        sys.stdout.flush()
        return min(subprocess.run(words, check=False).returncode, 1)  # noqa: S603 - words of our own
    except FileNotFoundError:
        raise IndexerError(f"there is no {words[0]} here", "the log is kept by the service manager") from None
