"""Who may see the page: a token in HOME/web.token, for its owner alone (0600), made when first wanted.

Other users of the machine can reach a port of it, but not read that file. A browser gets the token's right
without the token: the address it is opened with holds a ticket, good for one use (addresses stand in the
process list and in the browser's history), and what it then keeps is a cookie made from the token, from which
the token cannot be had. Deleting the file shuts everybody out at the next start.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
from pathlib import Path

from indexer.errors import IndexerError

NAME = "web.token"
SHORTEST = 32


class Keys:
    """The token, and the tickets that are still good."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._tickets: set[str] = set()
        self._lock = threading.Lock()

    @property
    def cookie(self) -> str:
        """What a browser shows at each request."""
        return hmac.new(self._token.encode(), b"cookie", hashlib.sha256).hexdigest()

    def ticket(self) -> str:
        """A new ticket."""
        made = secrets.token_urlsafe(24)
        with self._lock:
            self._tickets.add(made)
        return made

    def admits(self, given: str) -> bool:
        """Whether `?t=given` is the token, or a ticket, which is then used up."""
        with self._lock:
            known = given in self._tickets
            self._tickets.discard(given)
        return known or self.is_token(given)

    def is_token(self, given: str) -> bool:
        """Whether this is the token itself."""
        return _same(given, self._token)

    def is_cookie(self, given: str) -> bool:
        """Whether this is the cookie's value."""
        return _same(given, self.cookie)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def load(home: Path) -> Keys:
    """The keys of this memory. Raises IndexerError when the file holds none, OSError when it cannot be read."""
    path = home / NAME
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return Keys(_read(path))
    token = secrets.token_urlsafe(SHORTEST)
    with os.fdopen(fd, "w", encoding="ascii") as stream:
        stream.write(token + "\n")
    return Keys(token)


def _read(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, encoding="ascii", errors="replace") as stream:
        if os.fstat(fd).st_mode & 0o077:
            os.fchmod(fd, 0o600)
        found = stream.read(4096).strip()
    if len(found) < SHORTEST:
        raise IndexerError(f"{path} holds no token", "delete it; a new one is made then")
    return found
