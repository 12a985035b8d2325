"""Tells systemd how the service is: ready, alive, what it does. Nothing at all outside of systemd.

The protocol is a datagram of KEY=VALUE lines to the socket in NOTIFY_SOCKET (sd_notify(3)): ten lines,
so no dependency. `WATCHDOG=1` is sent by the loop that does the work, after a step of it, never by a
timer of its own: a hung loop must look hung.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

_MICROSECONDS = 1_000_000


class Notifier:
    """Speaks to the service manager named in `env`, if any. Never raises: a lost message costs nothing."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._address = env.get("NOTIFY_SOCKET", "").replace("@", "\0", 1)
        given, pid = env.get("WATCHDOG_USEC", ""), env.get("WATCHDOG_PID", "")
        ours = not pid or pid == str(os.getpid())
        self.watchdog_seconds = int(given) / _MICROSECONDS if given.isdigit() and ours else 0.0
        """Seconds without a sign of life after which the manager restarts us; 0: it does not watch."""

    @property
    def managed(self) -> bool:
        """Whether a service manager listens."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """The service can do its work."""
        self._send("READY=1", f"STATUS={status}")

    def alive(self, status: str) -> None:
        """The loop has come round once more."""
        self._send("WATCHDOG=1", f"STATUS={status}")

    def stopping(self) -> None:
        """The service is on its way out."""
        self._send("STOPPING=1")

    def busy(self, seconds: float) -> None:
        """The next step may take so long: a migration, say."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * _MICROSECONDS)}")

    def waiting(self, status: str, seconds: float) -> None:
        """The service cannot begin yet, and may need so many more seconds for it."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * _MICROSECONDS)}", f"STATUS={status}", "WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        text = "\n".join(line.replace("\n", " ") for line in lines)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.connect(self._address)
            channel.send(text.encode())
