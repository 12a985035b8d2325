"""redaction_key: a home folder redacts by its own key and settings."""

from __future__ import annotations

from pathlib import Path

from daemons import settings

from indexer.keyfile import secret
from indexer.redaction_key import redactor
from indexer.redaction_settings import user_rule


def test_two_homes_have_two_keys(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert redactor(settings(tmp_path)).key != redactor(settings(tmp_path / "a")).key


def test_the_redactor_knows_the_users_say(tmp_path: Path) -> None:
    config = settings(
        tmp_path,
        redact_rules=(user_rule("badge", "BADGE-[0-9]{4}", "BADGE-"),),
        redact_allow=("BADGE-0000",),
        redact_secret_files=("*.hush",),
    )
    made = redactor(config)
    assert made.text("BADGE-0000 BADGE-1234").startswith("BADGE-0000 [REDACTED:badge:")
    assert made.call({"file_path": "/x/A.HUSH"}, "tame")[1] != "tame"
    assert made.key == secret(tmp_path)
