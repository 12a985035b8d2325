"""redaction_settings: a rule of the user's is one that can be used, or is refused with a hint."""

from __future__ import annotations

import subprocess
import sys

import pytest

from indexer.errors import ConfigError
from indexer.redaction_settings import compiled_pattern, user_rule


@pytest.mark.parametrize(
    ("kind", "pattern", "literal"),
    [("Bad Kind", "abc", ""), ("x", "(", ""), ("x", "a*", ""), ("x", "[A-Z]+", ""), ("x", "abc", 'a"b')],
)
def test_a_bad_rule_is_told_of(kind: str, pattern: str, literal: str) -> None:
    with pytest.raises(ConfigError) as told:
        user_rule(kind, pattern, literal)
    assert told.value.hint


def test_a_good_one_is_compiled() -> None:
    rule = user_rule("employee-id", "EMP-[0-9]{6}", "EMP-")
    assert (rule.kind, rule.literal) == ("employee-id", "EMP-")
    assert rule.pattern.fullmatch("EMP-123456")


@pytest.mark.parametrize("pattern", ["(", "a*", ""])
def test_what_is_allowed_is_checked_likewise(pattern: str) -> None:
    with pytest.raises(ConfigError):
        compiled_pattern(pattern)


def test_the_settings_do_not_bring_the_rules() -> None:
    """Every command reads the settings; only writers redact."""
    code = "import sys, indexer.config; sys.exit('indexer.redaction_rules' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
