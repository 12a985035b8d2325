"""`completions SHELL`: what a shell completes, made from the parser itself, so that it cannot lag behind.

A generated script and no call at every TAB: a call costs 50 ms. bash gets one function over the words so far,
zsh the same through its own bash emulation (`bashcompinit`), fish a line an option.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from indexer.cli.commands import PROG
from indexer.cli.output import Output
from indexer.cli.parser import build_parser

SHELLS = ("bash", "zsh", "fish")


class Level(NamedTuple):
    """A command as typed so far. path: its words. below: its sub-commands with their help. options: each
    with help. choices: option -> words it takes. valued: options that take a word."""

    path: tuple[str, ...]
    below: dict[str, str]
    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    valued: tuple[str, ...]


def completions(args: Namespace, out: Output) -> int:
    """Print the script for a shell."""
    levels = list(_levels(build_parser(), ()))
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](levels)
    if out.as_json:
        out.data({"shell": args.shell, "script": "\n".join(script)})
    else:
        out.lines(script)
    return 0


def _levels(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Level]:
    options, choices, valued = dict[str, str](), dict[str, tuple[str, ...]](), list[str]()
    below: dict[str, argparse.ArgumentParser] = {}
    told: dict[str, str] = {}
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            below = dict(action.choices)
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
        elif action.option_strings:
            name = action.option_strings[0]
            options[name] = action.help or ""
            valued += [name] if action.nargs is None else []
            if action.choices:
                choices[name] = tuple(map(str, action.choices))
        elif action.choices:
            told |= dict.fromkeys(map(str, action.choices), "")
    yield Level(path, told, options, choices, tuple(valued))
    for name, child in below.items():
        yield from _levels(child, (*path, name))


# --- bash and zsh -----------------------------------------------------------------------------------


def _bash(levels: list[Level]) -> Iterator[str]:
    yield f"# bash completion of {PROG}; in ~/.bashrc:  source <({PROG} completions bash)"
    yield "_transcript_indexer() {"
    yield '  local word path="" skip="" words="" last="${COMP_WORDS[COMP_CWORD-1]}" cur="${COMP_WORDS[COMP_CWORD]}"'
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '    if [ -n "$skip" ]; then skip=""; continue; fi'
    yield '    case "$word" in'
    valued = sorted({name for level in levels for name in level.valued})
    yield f"      {'|'.join(valued)}) skip=1 ;;"
    yield "      -*) ;;"
    yield '      *) case "$path $word" in'
    for level in levels[1:]:
        yield f'           " {" ".join(level.path)}") path=" {" ".join(level.path)}" ;;'
    yield "         esac ;;"
    yield "    esac"
    yield "  done"
    yield '  case "$path $last" in'
    for level in levels:
        for name, words in level.choices.items():
            yield f'    "{_spaced(level)} {name}") COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")); return ;;'
    yield "  esac"
    yield '  case "$last" in --home|--root|--file) COMPREPLY=($(compgen -f -- "$cur")); return ;; esac'
    yield '  case "$path" in'
    for level in levels:
        yield f'    "{_spaced(level)}") words="{" ".join((*level.below, *level.options))}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield f"complete -o default -F _transcript_indexer {PROG}"


def _spaced(level: Level) -> str:
    return "".join(f" {word}" for word in level.path)


def _zsh(levels: list[Level]) -> Iterator[str]:
    yield f"# zsh completion of {PROG}; in ~/.zshrc:  source <({PROG} completions zsh)"
    yield "autoload -U +X compinit && compinit -u"
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from list(_bash(levels))[1:]


# --- fish -------------------------------------------------------------------------------------------


def _fish(levels: list[Level]) -> Iterator[str]:
    yield f"# fish completion of {PROG}; {PROG} completions fish > ~/.config/fish/completions/{PROG}.fish"
    for level in levels:
        where = _condition(level)
        for name, about in level.below.items():
            yield f"complete -c {PROG} -f -n {where} -a {_word(name)} -d {_word(about)}"
        for name, about in level.options.items():
            needs = " -r" if name in level.valued else ""
            given = f" -f -a {_word(' '.join(level.choices[name]))}" if name in level.choices else ""
            yield f"complete -c {PROG} -n {where} -l {name.removeprefix('--')}{needs}{given} -d {_word(about)}"


def _condition(level: Level) -> str:
    if not level.path:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in level.path)
    others = f"; and not __fish_seen_subcommand_from {' '.join(level.below)}" if level.below else ""
    return _word(seen + others)


def _word(text: str) -> str:
    """One word of fish, which knows only backslash and quote in single quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
