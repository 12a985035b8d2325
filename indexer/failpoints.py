"""Named points where a crash test may kill, delay or fail the process; nothing in production.

Armed by TRANSCRIPT_INDEXER_FAILPOINT="name:hit:action": at the hit-th passage of the point `name` (`*`
for any point) do `kill` (SIGKILL to oneself: no cleanup runs), `error` (an OSError) or `exit`. Every
test that enumerates crash points relies on these names standing where a crash could tell two states
apart: between the rows and the checkpoint, before and after the commit.
"""

from __future__ import annotations

import os
import signal

_armed = os.environ.get("TRANSCRIPT_INDEXER_FAILPOINT", "").rsplit(":", 2)
_passed = 0


def passing(name: str) -> None:
    """Note that execution passes the point; does what it is armed for."""
    if len(_armed) == 3 and _armed[0] in (name, "*"):
        _hit(name)


def _hit(name: str) -> None:
    global _passed
    _passed += 1
    if str(_passed) != _armed[1]:
        return
    if _armed[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if _armed[2] == "error":
        raise OSError(5, f"failpoint {name}")
    os._exit(9)
