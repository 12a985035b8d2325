"""A Messages API on loopback that says what a script says, so that the real client runs offline.

    python scripted_api.py SCRIPT.json LOG.jsonl     prints its port

SCRIPT.json: a list of turns, each a list of content blocks. Past its end every turn is the text "Done.". Calls
without tools (titles and the like) do not move the script on. LOG.jsonl gets every request that has tools.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

SCRIPT, LOG = (Path(word) for word in sys.argv[1:3])
TURNS: list[Any] = json.loads(SCRIPT.read_text())
STEP, IDS = count(), count(1)
USAGE = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def blocks_for(request: dict[str, Any]) -> list[dict[str, Any]]:
    if len(request.get("tools") or []) < 4:
        return [{"type": "text", "text": '{"title": "Scripted"}'}]
    with LOG.open("a") as log:
        log.write(json.dumps(request) + "\n")
    step = next(STEP)
    turn = TURNS[step] if step < len(TURNS) else [{"type": "text", "text": "Done."}]
    return [block | ({"id": f"toolu_{next(IDS):024d}"} if block["type"] == "tool_use" else {}) for block in turn]


def message(request: dict[str, Any], blocks: list[dict[str, Any]]) -> dict[str, Any]:
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    about = {"id": f"msg_{next(IDS):024d}", "type": "message", "role": "assistant", "model": request.get("model")}
    return about | {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": USAGE}


def stream(whole: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "tool_use":
            start, delta = (
                block | {"input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        else:
            start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        found += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [*found, {"type": "message_delta", "delta": end, "usage": USAGE}, {"type": "message_stop"}]


class Api(BaseHTTPRequestHandler):
    """Answers POST /v1/messages as the script says, and everything else with an empty object."""

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        self._send(b"{}", "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            self._send(b'{"input_tokens": 1}', "application/json")
        elif "/v1/messages" not in self.path:
            self._send(b"{}", "application/json")
        else:
            self._answer(request)

    def _answer(self, request: dict[str, Any]) -> None:
        whole = message(request, blocks_for(request))
        if not request.get("stream"):
            self._send(json.dumps(whole).encode(), "application/json")
            return
        events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream(whole))
        self._send("".join(events).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    print(server.server_port, flush=True)  # noqa: T201 - what it is asked for
    server.serve_forever()
