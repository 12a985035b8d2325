"""What doctor says of one thing it has looked at."""

from __future__ import annotations

from typing import NamedTuple

OK, NOTE, PROBLEM = "ok", "note", "problem"


class Finding(NamedTuple):
    """One thing looked at. kind: stable, kebab-case; README's Troubleshooting has it. level: ok | note |
    problem. remedy: "" only where all is well."""

    kind: str
    level: str
    message: str
    remedy: str = ""
