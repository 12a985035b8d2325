"""A model behind `claude -p`: for subscribers, who have no key. Uses the login that the user's client has.

Locks, so that no observer ever watches itself (ux-and-security 2.4): `--no-session-persistence`, so that no
transcript is written; a folder of its own under HOME to run in, whose sessions are never learned from; the
marker line that opens what is sent; and a variable in the child's environment, under which this program
compresses nothing and gives no context. No tools, no MCP servers, none of the user's settings (and so no
hooks): flags of clients 2.1.197 and 2.1.332, the first of which was run (tests/end_to_end). The question goes
through standard input, never through the arguments, which others can read in the process list.

The client adds texts of its own to a call; OVERHEAD is set aside for them, and more once a call has shown more.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from indexer import guard
from indexer.compressors.base import Answer, Ask, Failure, Told
from indexer.compressors.prompt import SCHEMA

OVERHEAD = 12_000
LARGEST = 4 << 20
_AUTH = ("invalid api key", "please run /login", "not logged in", "authentication", "oauth token", "401")
_QUOTA = ("usage limit", "limit reached", "credit balance", "quota", "hit your limit")
_BUSY = ("overloaded", "529", "rate limit", "429", "api error: 5", "connection error", "timed out")


class ClaudeCli:
    """See compressors.base.Model. folder: where it runs, made if need be. program: found on PATH if bare."""

    def __init__(
        self,
        folder: Path,
        model: str = "haiku",
        *,
        program: str = "claude",
        seconds: float = 120.0,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = f"claude-cli/{model}"
        self.overhead = OVERHEAD
        self._folder, self._model, self._program, self._seconds, self._env = folder, model, program, seconds, env

    def ask(self, ask: Ask) -> Answer:
        """Have a question answered."""
        program = shutil.which(self._program, path=self._env.get("PATH"))
        if program is None:
            return Failure("setup", "`claude` is not on the PATH of this process")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            code, out, err = self._run([program, *self._flags(ask)], ask)
        except subprocess.TimeoutExpired:
            return Failure("lost", "claude took too long", tokens=None)
        except OSError as error:
            return Failure("setup", f"`claude` cannot be run: {error.strerror}")
        return self._answer(code, out, err, ask)

    def _flags(self, ask: Ask) -> list[str]:
        return [
            "-p", "--output-format", "json", "--no-session-persistence", "--tools", "", "--strict-mcp-config",
            "--setting-sources", "", "--model", self._model, "--system-prompt", ask.instructions,
            "--json-schema", json.dumps(SCHEMA),
        ]  # fmt: skip

    def _run(self, command: list[str], ask: Ask) -> tuple[int, bytes, bytes]:
        """In a process group of its own, of which nothing is left when time is up."""
        env = {**self._env, guard.NAME: "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(ask.output), "DISABLE_TELEMETRY": "1"}
        with subprocess.Popen(  # noqa: S603 - the client that the user chose, in a folder of ours
            command, cwd=self._folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        ) as child:  # fmt: skip
            try:
                out, err = child.communicate(ask.text.encode("utf-8", "replace"), timeout=self._seconds)
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
        return child.returncode, out[:LARGEST], err[:LARGEST]

    def _answer(self, code: int, out: bytes, err: bytes, ask: Ask) -> Answer:
        try:
            value = json.loads(out)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return _failed((out + b" " + err).decode("utf-8", "replace"), code, None)
        tokens = _tokens(value.get("usage"))
        if tokens is not None:
            beside = tokens - (ask.most - self.overhead)
            self.overhead = max(self.overhead, beside)
        if value.get("is_error") or code:
            return _failed(f"{value.get('result')} {value.get('subtype')}", code, tokens)
        shaped, text = value.get("structured_output"), value.get("result")
        return Told(json.dumps(shaped) if shaped else text if isinstance(text, str) else "", tokens)


def _failed(said: str, code: int, tokens: int | None) -> Failure:
    """What went wrong, by what the client says; its words are not passed on, since they may hold ours."""
    lower = said.lower()
    for kind, signs in (("quota", _QUOTA), ("auth", _AUTH), ("busy", _BUSY)):
        if any(sign in lower for sign in signs):
            return Failure(kind, {"quota": "the usage limit is reached", "auth": "claude is not logged in"}.get(
                kind, "the provider is overloaded"), tokens=tokens or 0)  # fmt: skip
    if "unknown option" in lower:
        return Failure("setup", "this `claude` is too old: it knows not all options", tokens=0)
    return Failure("lost", f"claude ended with {code} and no answer", tokens=tokens)


def _tokens(usage: Any) -> int | None:
    if not isinstance(usage, dict):
        return None
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(count for name in names if type(count := usage.get(name)) is int and count > 0)
