"""Where a provider's key comes from: a command's output, a file, or the environment; nowhere else.

It is read when a call is made and held no longer, so a key that was changed is the one used next. It is never
stored, logged or shown, and an error names the place that was looked at, never what stood there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = 20.0
VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""What the environment's key is called, by dialect."""


class NoKey(Exception):
    """There is no key where it should be."""


class Keys:
    """Gives the key. command: run without a shell; file: its first line; else the environment. needed: False
    for a server of this machine, which may want none."""

    def __init__(
        self,
        dialect: str,
        *,
        command: Sequence[str] = (),
        file: Path | None = None,
        env: Mapping[str, str] = os.environ,
        needed: bool = True,
    ) -> None:
        self._variable, self._command, self._file = VARIABLES[dialect], tuple(command), file
        self._env, self._needed = env, needed

    def __call__(self) -> str:
        """The key, "" where none is needed. Raises NoKey."""
        if self._command:
            return _checked(_output(self._command), "the command of compress.key_command")
        if self._file is not None:
            return _checked(_content(self._file), "the file of compress.key_file")
        key = self._env.get(self._variable, "").strip()
        if not key and self._needed:
            raise NoKey(f"there is no key: set {self._variable}, compress.key_file or compress.key_command")
        return _checked(key, self._variable) if key else ""


def _checked(text: str, where: str) -> str:
    key = text.strip().partition("\n")[0].strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise NoKey(f"{where} gives no key")
    return key


def _output(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - what the user set in config.toml
            command, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoKey(f"the command of compress.key_command failed: {type(error).__name__}") from None
    return done.stdout.decode("utf-8", "replace")


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise NoKey(f"the file of compress.key_file cannot be read: {error.strerror}") from None
