"""A model behind HTTP: Anthropic's Messages, or any server that speaks OpenAI's chat completions.

With `base_url`, the second dialect reaches Ollama, LM Studio, vLLM, OpenRouter and Gemini's endpoint too.
Each call is stateless: fixed instructions (marked for the provider's cache in Anthropic's dialect), one turn,
one answer in the shape of a JSON schema. A server that does not know schemas (400, 422) is asked without.

What an answer costs is what the server says it cost, cached input included; what a refusal costs is nothing;
of an answer that got lost nobody knows, and the budget keeps what it had set aside for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from indexer.compressors.base import Answer, Ask, Failure, Told
from indexer.compressors.keys import NoKey
from indexer.compressors.prompt import SCHEMA
from indexer.compressors.transport import Answered, Client, Lost, NoClient
from indexer.text import glance

SCHEMA_TOKENS = 2_500
"""What the schema and the frame around it take at most: its JSON has 1,100 bytes, Anthropic's tool frame 700 tokens."""
AFTER_MOST = 6 * 3600.0
_NO_CLIENT = "no HTTP client is installed: `pip install httpx2`, or install transcript-indexer with its dependencies"
_OPTIONAL = {"max_tokens": ("max_completion_tokens",), "schema": ("schema", "response_format", "tool")}
_QUOTA = ("insufficient_quota", "credit balance", "billing", "exceeded your current quota")


class Dialect(NamedTuple):
    """How a server is spoken to. path: behind base_url."""

    name: str
    base_url: str
    path: str
    headers: Callable[[str], dict[str, str]]
    body: Callable[[str, Ask, frozenset[str]], dict[str, Any]]
    text: Callable[[Any], str]
    tokens: Callable[[Any], int | None]


class Http:
    """See compressors.base.Model. key: gives the key, "" for a server that wants none; raises NoKey.
    wall: seconds since 1970, for a Retry-After that is a date."""

    def __init__(
        self,
        dialect: Dialect,
        model: str,
        key: Callable[[], str],
        *,
        base_url: str = "",
        seconds: float = 60.0,
        client: Client | None = None,
        wall: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.name = f"{dialect.name}/{model}"
        self.overhead = SCHEMA_TOKENS
        self._dialect, self._model, self._key, self._seconds, self._wall = dialect, model, key, seconds, wall
        self._url = (base_url or dialect.base_url).rstrip("/") + dialect.path
        self._client = client or Client()
        self._without: frozenset[str] = frozenset()

    def ask(self, ask: Ask) -> Answer:
        """Have a question answered."""
        try:
            headers = {"content-type": "application/json", **self._dialect.headers(self._key())}
            body = self._dialect.body(self._model, ask, self._without)
            answered = self._client.post(self._url, headers, body, self._seconds)
        except NoKey as error:
            return Failure("auth", str(error))
        except NoClient:
            return Failure("setup", _NO_CLIENT)
        except Lost as error:
            return Failure("lost", str(error), tokens=None) if error.spent else Failure("busy", str(error))
        if answered.status != 200:
            return self._refused(answered)
        return self._told(answered)

    def _told(self, answered: Answered) -> Answer:
        try:
            value = json.loads(answered.text)
            tokens = self._dialect.tokens(value)
            return Told(self._dialect.text(value), tokens)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            # Half a body, or no answer of this dialect: it may have been worked on.
            return Failure("lost", "the answer was cut off, or is none of this dialect", tokens=None)

    def _refused(self, answered: Answered) -> Failure:
        status, said = answered.status, _reason(answered)
        message = f"the provider answered {status}" + (f": {said}" if said else "")
        after = _after(answered.headers.get("retry-after"), self._wall())
        lower = answered.text[:2000].lower()
        if any(sign in lower for sign in _QUOTA) or status == 402:
            return Failure("quota", message, after)
        if status in (401, 403):
            return Failure("auth", message)
        if status in (404, 405) or 300 <= status < 400:
            return Failure("setup", message)
        if status in (408, 409, 425, 429) or status >= 500:
            return Failure("busy", message, after)
        if status in (400, 422) and (taken := self._not_understood(lower)):
            self._without |= {taken}
            return Failure("busy", f"the server does not take `{taken}`; it is asked without", 0.0)
        return Failure("rejected", message)

    def _not_understood(self, said: str) -> str:
        """What of a request a server has named in refusing it, if that can be done without; "" for nothing."""
        for name, signs in _OPTIONAL.items():
            if name not in self._without and any(sign in said for sign in signs):
                return name
        return ""


def _reason(answered: Answered) -> str:
    """The kind of error a server names; never its message, which may repeat what was sent."""
    try:
        error = json.loads(answered.text)["error"]
        kind = error.get("type") or error.get("code")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return glance(kind, 60) if isinstance(kind, str) else ""


def _after(value: str | None, now: float) -> float | None:
    """Seconds of a Retry-After header, which may be a date."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 0.0), AFTER_MOST) if seconds == seconds else None


# --- dialects -------------------------------------------------------------------------------------------


def _anthropic_body(model: str, ask: Ask, without: frozenset[str]) -> dict[str, Any]:
    cached = {"type": "text", "text": ask.instructions, "cache_control": {"type": "ephemeral"}}
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": ask.output,
        "system": [cached],
        "messages": [{"role": "user", "content": ask.text}],
    }
    if "schema" not in without:
        tool = {"name": "remember", "description": "Record the turn's observations.", "input_schema": SCHEMA}
        body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": "remember"}}
    return body


def _anthropic_text(value: Any) -> str:
    blocks = value["content"]
    for block in blocks:
        if block.get("type") == "tool_use":
            return json.dumps(block["input"], ensure_ascii=False)
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def _anthropic_tokens(value: Any) -> int | None:
    usage = value.get("usage")
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return _sum(usage, names) if usage else None


def _openai_body(model: str, ask: Ask, without: frozenset[str]) -> dict[str, Any]:
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    body: dict[str, Any] = {
        "model": model,
        limit: ask.output,
        "messages": [{"role": "system", "content": ask.instructions}, {"role": "user", "content": ask.text}],
    }
    if "schema" not in without:
        shape = {"name": "observations", "strict": True, "schema": SCHEMA}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return body


def _openai_text(value: Any) -> str:
    return str(value["choices"][0]["message"]["content"] or "")


def _openai_tokens(value: Any) -> int | None:
    usage = value.get("usage")
    return _sum(usage, ("prompt_tokens", "completion_tokens")) if usage else None


def _sum(usage: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return sum(count for name in names if type(count := usage.get(name)) is int and count > 0)


ANTHROPIC = Dialect(
    "anthropic", "https://api.anthropic.com", "/v1/messages",
    lambda key: {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})},
    _anthropic_body, _anthropic_text, _anthropic_tokens,
)  # fmt: skip
OPENAI = Dialect(
    "openai", "https://api.openai.com/v1", "/chat/completions",
    lambda key: {"authorization": f"Bearer {key}"} if key else {},
    _openai_body, _openai_text, _openai_tokens,
)  # fmt: skip
