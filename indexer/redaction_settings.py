"""What the user says of redaction: rules of their own, what is no secret, further secret files.

Apart from redact.py because the settings are read by every command, and the rules take 20 ms to compile.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from indexer.errors import ConfigError

_NAMES = r"[a-z][a-z0-9-]{0,39}"


class UserRule(NamedTuple):
    """A rule of the user's own. literal: what must stand in a line for the pattern to match; "" if unknown,
    which makes every line pay."""

    kind: str
    pattern: re.Pattern[str]
    literal: str = ""


class Settings(NamedTuple):
    """The user's say. allow: what fits one of these whole is no secret. secret_files: globs of file names."""

    rules: tuple[UserRule, ...] = ()
    allow: tuple[re.Pattern[str], ...] = ()
    secret_files: tuple[re.Pattern[str], ...] = ()


def user_rule(kind: str, pattern: str, literal: str = "") -> UserRule:
    """A rule of the user's. Raises ConfigError for a pattern that is none, or would eat ordinary text."""
    if not re.fullmatch(_NAMES, kind):
        raise ConfigError(f"{kind!r} is no kind", "it must be lower-case letters, digits and hyphens, at most 40")
    compiled = compiled_pattern(pattern)
    if compiled.search("[REDACTED:kind:01234567]"):
        raise ConfigError(f"the pattern {pattern!r} fits marks of redaction", "make it more exact")
    if literal and any(ord(c) < 0x20 or c in '"\\/' or ord(c) > 0x7E for c in literal):
        raise ConfigError(f"{literal!r} cannot be looked for in a line", "it must be ASCII without quotes and slashes")
    return UserRule(kind, compiled, literal)


def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """A regular expression of the user's. Raises ConfigError."""
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"{pattern!r} is no regular expression: {error}", "it is read by Python's re") from None
    if compiled.fullmatch(""):
        raise ConfigError(f"the pattern {pattern!r} fits everything", "it must not fit an empty text")
    return compiled
