"""Sees whoever reaches for the network, in a test's own process and in every Python that it starts.

An audit hook, which nothing in the process can take out again: it sees sockets however they are made (an own
class, `_socket`), and an error that somebody swallows is written down all the same. REACHED names the file that
it is written to. Loopback and Unix sockets are no network. Nothing is imported here but what Python has loaded
anyway: the guard must not make an import look heavy, or light.
"""

import os
import sys

VARIABLE = "REACHED"
_CONNECTING = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")
_NAMING = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
_HERE = ("localhost", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1")


class Reached(AssertionError):
    """Something went for the network."""


def outward(event: str, args: tuple[object, ...]) -> str:
    """The host that an audit event of `socket` is about, "" if it is this machine or no host at all."""
    if event in _NAMING:
        host = args[0]
    elif event in _CONNECTING and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return ""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    # Binding to no address in particular ("", 0.0.0.0) is bound to all of them.
    everywhere = event == "socket.bind" and name in ("", "0.0.0.0", "::")
    if everywhere:
        return name or "every address"
    return "" if not name or name in _HERE or name.startswith("127.") else name


def _hook(event: str, args: tuple[object, ...]) -> None:
    if event.startswith("socket.") and (host := outward(event, args)):
        book = os.environ.get(VARIABLE)
        if book:
            fd = os.open(book, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(fd, f"{event} {host} by {sys.argv[:4]}\n".encode())
            os.close(fd)
        raise Reached(f"{event}: {host}")


def install() -> None:
    """Watch this process from now on."""
    sys.addaudithook(_hook)
