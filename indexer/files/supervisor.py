"""Keeps an observer alive over the roots, or says why there is none and what to do about it.

    native   an observer lives over every local root
    polling  it cannot: a limit of the system, three deaths in ten minutes, hints that never came,
             or a root on a network file system. Sweeps then come faster, and every ten minutes
             the native way is tried again.

Nothing is lost in either mode: the sweep is the truth, the observer only makes it quick. So every
change of watching asks for a full sweep, and an old observer goes *before* the new one comes: two at
once hold each watch twice, and 5,000 folders would then break a limit of 8,192. At a limit the
observer is given up whole, since the watches it holds are the user's (an editor needs them too).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from typing import NamedTuple

from indexer.files import kernel
from indexer.files.hints import Handler
from indexer.files.observer import Factory, Watcher, native
from indexer.files.roots import Roots
from indexer.text import many

TICK = 1.0
ASLEEP = 30.0
PROBE = 600.0
DEATHS = 3
DEATHS_WITHIN = 600.0
MISSES = 3

_NO_ROOT = "start Claude Code, or name the folders of your transcripts in sources.roots"

VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR})


class System(NamedTuple):
    """What the supervisor asks the outside; tests put fakes in their place."""

    observer: Factory = native
    asleep: Callable[[], float] = kernel.asleep
    watch_count: Callable[[], int | None] = kernel.watch_count
    file_system: Callable[[str], str] = kernel.file_system


class Fault(NamedTuple):
    """Why hints cannot be had, what the user can do, and when it is tried again (monotonic seconds)."""

    reason: str
    remedy: str
    until: float


SYSTEM = System()


class Supervisor:
    """The life of the observer, one `tick` at a time. Never sleeps, never raises.

    restarts:    observers built after the first.
    watches:     the kernel's count after the last full sweep, None where it cannot be had.
    directories: the folders on disk at the last full sweep, None before one.
    """

    def __init__(self, roots: Collection[str], handler: Handler, system: System) -> None:
        self.restarts = 0
        self.watches: int | None = None
        self.directories: int | None = None
        self._roots = Roots(roots)
        self._handler = handler
        self._system = system
        self._watcher: Watcher | None = None
        self._watched: tuple[str, ...] = ()
        self._fault: Fault | None = None
        self._remote = ""
        self._trouble = ""
        self._built = 0
        self._retry = 0.0
        self._deaths: list[float] = []
        self._listed: Collection[str] = ()
        self._count_at = 0.0
        self._short = False
        self._missing = 0
        self._slept = system.asleep()
        self._next = float("-inf")

    @property
    def polling(self) -> bool:
        """Whether hints cannot be relied on now."""
        return self._fault is not None or bool(self._remote)

    @property
    def reason(self) -> str:
        """What is wrong now; "" when nothing is."""
        if self._fault:
            return self._fault.reason
        return self._remote or self._trouble or self._waiting()

    @property
    def remedy(self) -> str:
        """What the user can do about it, or ""."""
        if self._fault:
            return self._fault.remedy
        return (
            "" if self._roots.folders else "start Claude Code, or name the folders of your transcripts in sources.roots"
        )

    def tick(self, now: float) -> bool:
        """Look at everything, once a second. True when only a full sweep can make good what happened."""
        if now < self._next:
            return False
        self._next = now + TICK
        woke = self._woke()
        changed = self._roots.refresh(now)
        if self._fault and now < self._fault.until:
            return changed or woke
        if changed or self._fault or self._wants_observer(now):
            self._renew(now)
            return True
        if self._watcher and not self._watcher.is_alive():
            self._died(now, "its thread ended")
            return True
        if self._listed and now >= self._count_at:
            return self._lacks_watches(now) or woke
        return woke

    def swept(self, now: float, directories: Collection[str], linked: Collection[str]) -> None:
        """A full sweep found these folders, and `linked` behind links outside the roots.

        Whether each is watched is counted a second later: watchdog takes a moment over a new folder.
        """
        self._roots.link(linked)
        self.directories = len(directories)
        self._listed = directories
        self._count_at = now + TICK

    def missed(self, now: float, count: int, hinted: bool) -> None:
        """A sweep met `count` changes that no hint had announced; `hinted`: other hints did come.

        Three sweeps in a row with such changes end the trust in hints: that is how network mounts,
        dropped FSEvents and lost watches show, without a byte written into the user's folders. A sweep
        with neither says nothing.
        """
        if count:
            self._missing += 1
        elif hinted:
            self._missing = 0
        if self._missing >= MISSES and not self.polling:
            self._degrade(now, "changes were made that the system did not report", "")

    def stop(self) -> None:
        """Let the observer go: two seconds, then it is left behind."""
        watcher, self._watcher = self._watcher, None
        if watcher:
            watcher.stop()

    def _woke(self) -> bool:
        slept, self._slept = self._slept, self._system.asleep()
        return self._slept - slept > ASLEEP

    def _wants_observer(self, now: float) -> bool:
        return self._watcher is None and bool(self._watched) and now >= self._retry

    def _lacks_watches(self, now: float) -> bool:
        """Count the kernel's watches. Too few lead to a new observer, since a folder may only have
        become readable; too few again, and it is a limit."""
        listed, self._listed = self._listed, ()
        self.watches = self._system.watch_count()
        if self._watcher is None or self._remote or self.watches is None:
            return False
        if self.watches >= len(listed) or self.watches >= sum(map(os.path.isdir, listed)):
            self._short, self._trouble = False, ""
            return False
        text = f"the kernel watches {self.watches} of {many(len(listed), 'folder')}"
        if self._short:
            self._degrade(now, text, kernel.remedy(errno.ENOSPC))
        else:
            self._renew(now)
            self._short, self._trouble = True, text
        return True

    def _renew(self, now: float) -> None:
        """A new observer over what is there now; none if nothing local is."""
        self.stop()
        self._fault, self._trouble = None, ""
        self._watched = self._local_folders()
        if not self._watched:
            return
        try:
            self._watcher = Watcher(self._system.observer, self._handler, self._watched)
        except OSError as error:
            self._refused(now, error)
        except Exception as error:  # noqa: BLE001 - whatever watching died of, sweeps must go on
            self._died(now, str(error) or type(error).__name__)
        else:
            self._built += 1
            self.restarts = self._built - 1
            if not self._watcher.is_alive():
                self._died(now, "it ended at once")

    def _local_folders(self) -> tuple[str, ...]:
        kinds = {folder: self._system.file_system(folder) for folder in self._roots.folders}
        remote = [f"{folder} is on {kind}" for folder, kind in kinds.items() if kernel.is_remote(kind)]
        self._remote = f"{'; '.join(remote)}: changes made there are not reported" if remote else ""
        return tuple(folder for folder, kind in kinds.items() if not kernel.is_remote(kind))

    def _refused(self, now: float, error: OSError) -> None:
        text = error.strerror or str(error)
        if error.errno in kernel.NATIVE_LIMITS:
            self._degrade(now, text, kernel.remedy(error.errno))
        elif error.errno == errno.ENOSYS:
            self._fault = Fault(text, "", float("inf"))
        elif error.errno in VANISHED:
            self._retry = now + TICK
        else:
            self._died(now, text)

    def _died(self, now: float, cause: str) -> None:
        self.stop()
        self._deaths = [*(at for at in self._deaths if now - at < DEATHS_WITHIN), now]
        if len(self._deaths) >= DEATHS:
            self._degrade(now, f"watching ended {DEATHS} times in ten minutes, last because {cause}", "")
        else:
            self._trouble = f"watching is restarted: {cause}"
            self._retry = now + 2.0 ** (len(self._deaths) - 1)

    def _degrade(self, now: float, reason: str, remedy: str) -> None:
        self.stop()
        self._short, self._missing = False, 0
        self._fault = Fault(reason, remedy, now + PROBE)

    def _waiting(self) -> str:
        return "" if self._roots.folders else f"waiting for {', '.join(self._roots.missing)} to appear"
