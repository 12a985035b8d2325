"""What a caller gave a tool, checked against the tool's own schema; and cursors.

The callers are language models: an error names the argument, what it may be and what was probably meant, so
that the next try is right. A cursor is the number of results already seen and a mark of the call it belongs
to; one of another call would silently skip results.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from indexer.errors import UsageError

_NAMES = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}
_TYPES: dict[str, type[object]] = {"string": str, "integer": int, "boolean": bool, "array": list}


def checked(schema: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments with the schema's defaults for those left out or null. Raises UsageError."""
    known, given = schema["properties"], given or {}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise UsageError(
                f"there is no argument {name!r}",
                f"did you mean {near[0]}?" if near else f"arguments are {', '.join(known) or 'none'}",
            )
    values = {name: rule.get("default") for name, rule in known.items()}
    values |= {name: _value(name, known[name], value) for name, value in given.items() if value is not None}
    for name in schema.get("required", ()):
        if values[name] is None:
            raise UsageError(f"{name} is missing", f"give {_wanted(known[name])}")
    return values


def _value(name: str, rule: Mapping[str, Any], value: Any) -> Any:
    """A value that fits its rule. Models write numbers as text and single values for lists: both are taken."""
    kind = rule["type"]
    if kind == "integer" and isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "array" and isinstance(value, str | int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        raise _refused(name, rule, value)
    if isinstance(value, list):
        value = [_value(name, rule["items"], str(item) if isinstance(item, int) else item) for item in value]
    if not _within(rule, value):
        raise _refused(name, rule, value)
    return value


def _within(rule: Mapping[str, Any], value: Any) -> bool:
    if "enum" in rule and value not in rule["enum"]:
        return False
    if isinstance(value, int):
        return bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))
    low, high = ("minItems", "maxItems") if isinstance(value, list) else ("minLength", "maxLength")
    return bool(rule.get(low, 0) <= len(value) <= rule.get(high, len(value)))


def _refused(name: str, rule: Mapping[str, Any], value: Any) -> UsageError:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return UsageError(f"{name} cannot be {shown[:80]}", f"give {_wanted(rule)}")


def _wanted(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return f"one of {', '.join(rule['enum'])}"
    if rule["type"] == "array":
        return f"{rule.get('minItems', 0)} to {rule['maxItems']} of: {_wanted(rule['items'])}"
    if "minimum" in rule:
        return f"a whole number from {rule['minimum']} to {rule['maximum']}"
    bound = f" of at most {rule['maxLength']:,} characters" if "maxLength" in rule else ""
    return _NAMES[rule["type"]] + bound


# --- cursors ----------------------------------------------------------------------------------------


def cursor(args: Mapping[str, Any], offset: int) -> str:
    """The cursor to go on after `offset` results of this call."""
    return f"{offset}.{_mark(args)}"


def offset(args: Mapping[str, Any]) -> int:
    """How many results the call's cursor has seen, 0 without one. Raises UsageError for a foreign one."""
    text = args.get("cursor") or ""
    if not text:
        return 0
    number, _, mark = text.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) < 10) or mark != _mark(args):
        raise UsageError(
            f"cursor {text[:40]!r} does not belong to this call",
            "repeat the arguments of the call it came from, or leave it out to begin anew",
        )
    return int(number)


def _mark(args: Mapping[str, Any]) -> str:
    """The same for the same question: neither the cursor nor how many are wanted change it."""
    plain = {
        name: value for name, value in sorted(args.items()) if name not in ("cursor", "limit") and value is not None
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:8]
