"""One POST of JSON, by the HTTP client that comes with chromadb and mcp (httpx2, or httpx before it).

The client is loaded with the first request: nothing else needs it, and it costs 0.2 s. A request has one
deadline for all of it, since a server that sends a byte every ten seconds would hold a plain timeout for
hours. No redirect is followed (a key would go with it), no proxy or .netrc of the environment is used unless
HTTPS_PROXY says so, and an answer is read up to 4 MiB.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

CLIENTS = ("httpx2", "httpx")
LARGEST = 4 << 20


class NoClient(Exception):
    """No HTTP client is installed."""


class Lost(Exception):
    """No whole answer came. spent: the request had been sent, and may have been worked on."""

    def __init__(self, message: str, *, spent: bool) -> None:
        super().__init__(message)
        self.spent = spent


class Answered(NamedTuple):
    """Status, headers with lower-case names, and the body as text."""

    status: int
    headers: Mapping[str, str]
    text: str


class Client:
    """transport: stands in for the network in tests. clock: monotonic seconds."""

    def __init__(self, transport: Any = None, clock: Any = time.monotonic) -> None:
        self._transport, self._clock = transport, clock
        self._library: Any = None

    def post(self, url: str, headers: Mapping[str, str], body: object, seconds: float) -> Answered:
        """Send `body` as JSON. Raises NoClient, and Lost when the whole answer is not there in time."""
        library = self._load()
        deadline = self._clock() + seconds
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with (
                library.Client(transport=self._transport, timeout=seconds, follow_redirects=False) as client,
                client.stream("POST", url, content=data, headers=dict(headers)) as answer,
            ):
                text = self._read(answer, deadline)
                return Answered(answer.status_code, {name.lower(): v for name, v in answer.headers.items()}, text)
        except (library.ConnectError, library.ConnectTimeout) as error:
            raise Lost(f"the provider cannot be reached: {type(error).__name__}", spent=False) from None
        except (library.HTTPError, library.InvalidURL, UnicodeDecodeError) as error:
            raise Lost(f"no whole answer came: {type(error).__name__}", spent=True) from None

    def _read(self, answer: Any, deadline: float) -> str:
        data = bytearray()
        for block in answer.iter_bytes():
            data += block
            if len(data) > LARGEST or self._clock() > deadline:
                raise Lost("the answer was too long" if len(data) > LARGEST else "the answer took too long", spent=True)
        return data.decode("utf-8", "replace")

    def _load(self) -> Any:
        if self._library is None:
            for name in CLIENTS:
                try:
                    self._library = import_module(name)
                    break
                except ImportError:
                    continue
            else:
                raise NoClient
        return self._library
