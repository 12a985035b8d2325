"""A few believable sessions, for the pictures in the README: nobody's data."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from transcripts import Transcript

SHOP = "/home/dev/work/shop-api"
BEFORE = """\
export async function login(user: string, password: string) {
  const token = await issue(user);
  setTimeout(() => revoke(token), 30);
  return token;
}
"""
AFTER = BEFORE.replace("30)", "SESSION_SECONDS * 1000)")
FOUND = """\
The session ends early because **`setTimeout` counts in milliseconds** and the setting is in seconds:

1. `config/session.ts` says `SESSION_SECONDS = 1800`
2. `src/auth/login.ts` passes `30` on as it is, so every token is revoked after 30 ms

| where | unit | value |
|---|---|---|
| `config/session.ts` | seconds | 1800 |
| `src/auth/login.ts` | milliseconds | 30 |

I will use the setting, converted once.
"""


def lay(root: Path) -> str:
    """Write them; returns the id of the one to be looked at."""
    shown = _login()
    for transcript in (shown, _flaky(), _migration(), _notes()):
        transcript.write(root)
    return shown.session_id


def _login() -> Transcript:
    session = Transcript("login", SHOP, start=datetime(2026, 11, 20, 9, 12, tzinfo=UTC))
    session.user("Why does the auth timeout fire early? People are logged out right after they log in.")
    session.text("I will look at where the timeout is set.")
    session.tool(
        "Grep", {"pattern": "timeout|SESSION_SECONDS", "path": "src"}, "src/auth/login.ts:3\nconfig/session.ts:1"
    )
    session.tool("Read", {"file_path": f"{SHOP}/src/auth/login.ts"}, BEFORE)
    session.text(FOUND)
    edit = {"file_path": f"{SHOP}/src/auth/login.ts", "old_string": BEFORE, "new_string": AFTER}
    patch = {"filePath": edit["file_path"], "oldString": BEFORE, "newString": AFTER, "structuredPatch": []}
    session.tool("Edit", edit, "The file has been updated.", toolUseResult=patch)
    session.tool("Bash", {"command": "npm test -- auth", "description": "Run the tests of auth"}, "12 passed")
    session.text("The timeout now takes the setting in seconds. All 12 tests of `auth` pass.")
    session.user("Commit it, and add a test that would have caught it.")
    session.tool(
        "Bash",
        {"command": "git commit -am 'Session timeout: seconds, not milliseconds'"},
        "[main 4f2a9c1] Session timeout",
    )
    session.text("Committed as `4f2a9c1`, with a test that logs in and waits for two ticks.")
    session.plain("custom-title", customTitle="Fix the auth timeout")
    return session


def _flaky() -> Transcript:
    session = Transcript("flaky", SHOP, start=datetime(2026, 11, 23, 14, 3, tzinfo=UTC))
    session.user("The upload test is flaky: it fails with a timeout about once in ten runs.")
    session.tool("Bash", {"command": "npm test -- upload --repeat 20"}, "18 passed, 2 failed: timeout after 5000 ms")
    session.text(
        "The mock server closes its connection before the body is sent; the client then waits for the timeout."
    )
    session.plain("custom-title", customTitle="The flaky upload test")
    return session


def _migration() -> Transcript:
    session = Transcript("migration", SHOP, start=datetime(2026, 11, 27, 8, 40, tzinfo=UTC))
    session.user("Plan the migration of orders to PostgreSQL 18 without downtime.")
    session.text(
        "Three steps: write to both, backfill in batches with a statement timeout, then read from the new one."
    )
    session.plain("custom-title", customTitle="Migrate orders without downtime")
    return session


def _notes() -> Transcript:
    session = Transcript("notes", "/home/dev/notes", start=datetime(2026, 11, 29, 19, 5, tzinfo=UTC))
    session.user("时区：超时设置应该用秒还是毫秒？")
    session.text("用秒：配置里写秒，在代码里只换算一次 (the timeout is converted once).")
    return session
