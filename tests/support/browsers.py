"""A real browser: Debian's Chromium by its chromedriver, spoken to in W3C WebDriver with the standard library.

It can reach no host but 127.0.0.1: names resolve to nothing. Nothing is installed for it; tests that want it are
skipped where `chromium` and `chromedriver` are not on PATH.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
BROWSER = shutil.which("chromium") or ""
DRIVER = shutil.which("chromedriver") or ""
ESCAPE, ENTER = "\ue00c", "\ue007"
_ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


class Chromium:
    """One window."""

    def __init__(self, port: int, folder: Path) -> None:
        self._wire = HTTPConnection("127.0.0.1", port, timeout=120)
        options = {"binary": BROWSER, "args": [*_ARGUMENTS, f"--user-data-dir={folder}"]}
        asked = {"browserName": "chrome", "goog:chromeOptions": options}
        asked["goog:loggingPrefs"] = {"browser": "ALL", "performance": "ALL"}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": asked}})
        self._session = f"/session/{made['sessionId']}"
        self._did("POST", "/timeouts", {"script": 60_000, "pageLoad": 60_000})

    def go(self, url: str) -> None:
        """Open an address and wait until it is loaded."""
        self._did("POST", "/url", {"url": url})

    def run(self, script: str, *given: Any) -> Any:
        """What a piece of JavaScript returns; a promise is waited for."""
        return self._did("POST", "/execute/sync", {"script": script, "args": list(given)})

    def until(self, condition: str, seconds: float = 10.0) -> Any:
        """Wait in the page until an expression is true; its value. The page's own clock waits, not the test."""
        wait = """
          const [text, left] = arguments;
          const look = new Function("return (" + text + ")");
          const end = performance.now() + left * 1000;
          return new Promise((done, fail) => {
            const again = () => {
              let found = null;
              try { found = look(); } catch (error) { found = null; }
              if (found) done(found);
              else if (performance.now() > end) fail(new Error("never true: " + text));
              else setTimeout(again, 10);
            };
            again();
          });
        """
        return self.run(wait, condition, seconds)

    def press(self, keys: str) -> None:
        """Keys, one after the other, wherever the focus is."""
        acts = [{"type": act, "value": key} for key in keys for act in ("keyDown", "keyUp")]
        self._did("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": acts}]})

    def click(self, selector: str) -> None:
        """The first element of this selector, as a person clicks it."""
        found = self._did("POST", "/element", {"using": "css selector", "value": selector})
        self._did("POST", f"/element/{next(iter(found.values()))}/click", {})

    def size(self, width: int, height: int) -> None:
        """The viewport."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def command(self, name: str, **given: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._did("POST", "/goog/cdp/execute", {"cmd": name, "params": given})

    def logged(self, kind: str) -> list[dict[str, Any]]:
        """What the browser logged since it was last asked: `browser` (the console) or `performance` (requests)."""
        found: list[dict[str, Any]] = self._did("POST", "/se/log", {"type": kind})
        return found

    def requested(self) -> list[str]:
        """Addresses that pages asked for since this was last asked."""
        messages = [json.loads(entry["message"])["message"] for entry in self.logged("performance")]
        sent = [one for one in messages if one["method"] == "Network.requestWillBeSent"]
        return [str(one["params"]["request"]["url"]) for one in sent]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console since this was last asked."""
        return [entry["message"] for entry in self.logged("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def shot(self) -> bytes:
        """The viewport as PNG."""
        return base64.b64decode(self._did("GET", "/screenshot"))

    def close(self) -> None:
        """The window goes."""
        self._did("DELETE", "")
        self._wire.close()

    def _did(self, method: str, path: str, given: Any = None) -> Any:
        return self._ask(method, self._session + path, given)

    def _ask(self, method: str, path: str, given: Any) -> Any:
        body = None if given is None else json.dumps(given).encode()
        self._wire.request(method, path, body, {"content-type": "application/json"})
        answer = self._wire.getresponse()
        value = json.loads(answer.read())["value"]
        if answer.status >= 400:
            raise AssertionError(f"{value['error']}: {value['message'][:600]}")
        return value


@contextmanager
def chromium(folder: Path) -> Iterator[Chromium]:
    """A browser with a profile of its own."""
    folder.mkdir()
    env = {**os.environ, "HOME": str(folder)}
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True, env=env)
    try:
        port = _found(driver, r"started successfully on port (\d+)")
        window = Chromium(int(port), folder / "profile")
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(20)
        if driver.stdout:
            driver.stdout.close()


@contextmanager
def running(folder: Path, *words: str, said: str = "") -> Iterator[str]:
    """Our program with these words, in a HOME of its own; yields what `said` (a pattern with a group) found in
    what it says."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TZ": "UTC", "TRANSCRIPT_INDEXER_VECTORS": "none"}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "indexer", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        yield _found(process, said) if said else ""
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout:
            process.stdout.close()


def _found(process: subprocess.Popen[str], pattern: str) -> str:
    """The first group of the first line that the pattern fits. Lines are waited for, as long as it lives."""
    seen = []
    assert process.stdout is not None
    for line in process.stdout:
        seen.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError("".join(seen))
