"""The shell command that takes a session up again.

Ids and folders come out of transcripts, and a person will paste this line into a shell: both are quoted,
an id that is no plain word (it might be read as an option) gives no command, and neither does a folder
that is no absolute path.
"""

from __future__ import annotations

import re
import shlex

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_COMMANDS = {"claude": "claude --resume"}


def resume(platform: str, session: str, cwd: str | None) -> str | None:
    """`cd <cwd> && claude --resume <id>`; None where the session cannot be taken up by a command."""
    command = _COMMANDS.get(platform)
    if command is None or not _PLAIN_ID.fullmatch(session):
        return None
    line = f"{command} {session}"
    return f"cd {shlex.quote(cwd)} && {line}" if cwd and _usable(cwd) else line


def _usable(cwd: str) -> bool:
    return cwd.startswith("/") and cwd.isprintable()
