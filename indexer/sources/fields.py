"""The fields of a decoded record: what may be believed of them.

Nothing is sure to have the type it should have: proxies, other programs and malformed model output write
into the same trees. What has another type counts as missing.

A *strong* id carries enough randomness to mean one thing everywhere: a known prefix and at least 16
random characters, or a UUID (DECISIONS, Identity 2). Proxies and other models write *weak* ones
(`call_0`, `functions.Bash:0`, `call_function_<12>_1`): they repeat from session to session, so a weak
id is only a name inside the record that carries it. Calling a strong id weak costs nothing but a longer
key; the other way round joins two calls into one. So prefixes with a second word (`toolu_vrtx_`,
`call_function_`) must be taken whole before the random part is counted (possessive `?+`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from indexer.records import Ignored

Fields: TypeAlias = dict[str, Any]
"""A decoded JSON object."""

ID_MOST = 256
"""Longest id believed: claude-mem's bound for native ids; everything measured is under 64."""

NAME_MOST = 256
"""Characters that are kept of a name: of a tool, a model, a branch."""
PATH_MOST = 4096
"""Longest path believed: PATH_MAX of Linux, four times that of macOS."""
NOTE_MOST = 1024
"""Characters that are kept of a sub-agent's description."""
VERSION_MOST = 64
"""Longest client version believed."""

_KIND_MOST = 64

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_RANDOM = r"[A-Za-z0-9_-]{16,240}"

is_strong_tool_id = re.compile(rf"(?:toolu_(?:vrtx_|bdrk_)?+|tooluse_|call_(?:function_)?+){_RANDOM}|{_UUID}").fullmatch
"""Truthy for a tool_use id that is unique over the store."""

is_strong_message_id = re.compile(rf"msg_(?:vrtx_|bdrk_)?+{_RANDOM}|{_UUID}").fullmatch
"""Truthy for a message id that is unique over the store."""


def identifier(value: object) -> str | None:
    """`value` if it can be an id: a string of 1 to 256 characters, none of them a blank or a control
    character. Anything else counts as missing."""
    if type(value) is str and 0 < len(value) <= ID_MOST and value.isprintable() and " " not in value:
        return value
    return None


def ignored(kind: object, prefix: str = "") -> Ignored:
    """A record or block of a `kind` that holds nothing for us, under a name that may be counted and
    printed: at most 64 characters, none of them a control character."""
    name = kind if type(kind) is str else "untyped"
    name = (prefix + name)[:_KIND_MOST]
    return Ignored(name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name))


def facts(source: object, names: Mapping[str, str]) -> Fields:
    """Of `source`, under our names, what is an integer or a string that says something; `names` maps the
    client's keys to ours."""
    if type(source) is not dict:
        return {}
    return {
        name: source[key]
        for key, name in names.items()
        if key in source and type(source[key]) in (str, int) and source[key] != ""
    }
