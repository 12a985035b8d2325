"""The grammar of the command line: what is understood, and what a mistake is told (commands.py has the commands).

`--home`, `--root`, `--json` and `--color` may stand anywhere, before or after a command or sub-command.
Each level has its own list of `--root`s: argparse gives a sub-command a fresh namespace and would let
its list replace the one before. Options are never abbreviated: a script that says `--proj` today would
break when a second such option comes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from indexer.cli.commands import EVERY, PROG, common
from indexer.errors import UsageError

TAKES_WORDS = {"search", "timeline", "by-file", "by-type", "by-concept"}
"""Commands after whose options any word is one to look for."""

_EPILOG = f"""\
examples:
  {PROG} rescan                          read all transcripts into the memory
  {PROG} search "auth timeout"           find what was said and done
  {PROG} search why did we --project .   a plain question, about this folder's project
  {PROG} show prompt:12                  one result in whole, with its context
  {PROG} watch                           keep the memory up to date while you work

`{PROG} help` lists topics that are explained: search, privacy, forget, service and more

exit codes: 0 ok, 1 problem found, 2 usage, 3 no memory yet, 4 busy, 5 damaged, 6 written by a newer version
"""


class _Parser(argparse.ArgumentParser):
    """Raises UsageError instead of leaving the process, so that `--json` holds for usage errors too."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, add_help=False, **settings)
        # Not as `-h`: argparse would read `-hello`, a word to leave out of a search, as `-h ello`.
        self.add_argument("--help", action="help", help="show this and leave (also -h)")

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        hint = _nearest(unknown[2], re.findall(r"[\w-]+", unknown[3])) if unknown else ""
        if unknown and unknown[1] == "COMMAND":  # of which there are too many to be listed in one line
            message = f"there is no command {unknown[2]!r}"
        raise UsageError(message, hint or f"`{self.prog} --help` shows what is understood")


def build_parser() -> argparse.ArgumentParser:
    """The whole grammar. After parsing, `run` names the function to call: `module:function`."""
    parser = _Parser(
        prog=PROG,
        description="Turns Claude Code's transcripts into a searchable memory on your own machine.",
        epilog=_EPILOG,
    )
    common(parser, 0)
    parser.add_argument("--version", action="store_true", help="show the version and leave")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    for add in EVERY:
        add(commands)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of one call, checked. `roots` holds every `--root` in order; `home` and `color` are
    None when not given. Raises UsageError."""
    head, literal = _split(argv)
    if literal and not TAKES_WORDS & set(head):
        head, literal = [*head, "--", *literal], []
    if any(word.startswith("--") and word.endswith("=--") for word in head):
        # argparse would take the value for the separator and leave an empty list in its place.
        raise UsageError("`--` is no value for an option", f"`{PROG} --help` shows what is understood")
    _check_head(head)
    args, rest = build_parser().parse_known_args(head)
    if args.version:
        args.run = "indexer.cli.about:version"
    elif args.command is None:
        raise UsageError("a command is missing", f"`{PROG} --help` lists the commands")
    if args.command in TAKES_WORDS:
        args.words = [*args.words, *_words(args.command, rest), *(_LEADING_DASH.sub("", word) for word in literal)]
    elif rest:
        raise UsageError(f"not understood: {' '.join(rest)}", f"`{PROG} {args.command} --help` shows what is")
    _check_empty(args)
    args.roots = [root for level in range(3) for root in getattr(args, f"roots{level}", [])]
    return args


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before a `--` and what stands after it."""
    words = list(argv)
    cut = words.index("--") if "--" in words else len(words)
    return ["--help" if word == "-h" else word for word in words[:cut]], words[cut + 1 :]


def _check_head(head: Sequence[str]) -> None:
    """Raises UsageError for an option before the command that is not understood there: argparse would take
    its value for the command."""
    for before, word in zip(["", *head], head, strict=False):
        name = word.partition("=")[0]
        if name in _EVERYWHERE or before in _VALUED:
            continue
        if not word.startswith("--"):
            return
        if name in _OPTIONS:
            raise UsageError(f"{name} is an option of a command", "put it after the command, as after `search`")
        raise UsageError(
            f"there is no option {name}", _nearest(name, _EVERYWHERE) or f"`{PROG} --help` lists the options"
        )


def _check_empty(args: argparse.Namespace) -> None:
    """Raises UsageError for an argument that is empty, as `--session "$UNSET"`: it would be taken for none at
    all, and everything be listed."""
    for name, value in vars(args).items():
        texts = value if isinstance(value, list) and name != "words" else [value]
        if not name.startswith(("home", "roots")) and any(isinstance(text, str) and not text.strip() for text in texts):
            label = _POSITIONAL.get((args.command, name)) or f"--{name}"
            raise UsageError(f"{label} is empty", "give it a value, or leave it out" if label[0] == "-" else "name one")


def _words(command: str, rest: Sequence[str]) -> Sequence[str]:
    """Words of a search that argparse left over: those after an option, and `-word`, which excludes."""
    for word in rest:
        if word.startswith("--"):
            name = word.partition("=")[0]
            raise UsageError(
                f"{command} has no option {name}",
                _nearest(name, _options_of(command))
                or f"`{PROG} {command} --help` lists them; after `--` all are words",
            )
    return rest


def _options_of(command: str) -> list[str]:
    """The long options that a command has."""
    actions = build_parser()._subparsers._group_actions  # type: ignore[union-attr]  # noqa: SLF001 - argparse tells nobody else
    chosen: Any = actions[0].choices
    return [name for name in chosen[command]._option_string_actions if name.startswith("--")]  # noqa: SLF001


_LEADING_DASH = re.compile(r"(?<!\S)-+")
_VALUED = ("--home", "--root", "--color")
_EVERYWHERE = (*_VALUED, "--json", "--help", "--version")
_POSITIONAL = {
    ("by-type", "of"): "TYPE",
    ("by-concept", "of"): "NAME",
    ("by-file", "of"): "PATH",
    ("summary", "id"): "SESSION",
    ("export", "id"): "SESSION",
    ("import", "what"): "FILE|claude-mem",
    ("import", "path"): "PATH",
    ("backup", "file"): "FILE",
    ("similar", "id"): "ID",
    ("show", "id"): "ID",
    ("dedup", "first"): "ID",
    ("dedup", "second"): "ID",
    ("project", "path"): "PATH",
}
"""What stands without an option: as the help text calls it."""
_OPTIONS = (
    *("--project", "--session", "--kind", "--since", "--until", "--tool", "--file", "--type", "--concept"),
    *(
        "--agent",
        "--platform",
        "--limit",
        "--offset",
        "--group",
        "--mode",
        "--before",
        "--after",
        "--home",
        "--root",
        "--json",
        "--color",
    ),
)


def _nearest(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for it

    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""


# --- options that several commands share -------------------------------------------------------------
