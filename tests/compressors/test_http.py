"""Both dialects: what is sent, what is understood, what a refusal means; and no key or text in any message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_model import GOOD, NOON, USAGE, Server, message, provider, refusal

from indexer.compressors.base import Ask, Failure, Told
from indexer.compressors.http import ANTHROPIC, OPENAI, Http
from indexer.compressors.keys import NoKey
from indexer.compressors.prompt import SCHEMA
from indexer.compressors.transport import Answered, Lost, NoClient

ASK = Ask("instructions", "a turn", 1500, 5000)
CHAT = {
    "choices": [{"message": {"content": json.dumps(GOOD)}}],
    "usage": {"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42},
}


def asked(*script: Any, **how: Any) -> tuple[Any, Server]:
    server = Server(*script)
    return provider(server, **how).ask(ASK), server


def failure(*script: Any, **how: Any) -> Failure:
    found = asked(*script, **how)[0]
    assert isinstance(found, Failure)
    return found


# --- Anthropic's Messages


def test_a_messages_request() -> None:
    _, server = asked()
    ((url, headers, body),) = server.requests
    assert (url, headers["x-api-key"]) == ("https://api.anthropic.com/v1/messages", "sk-test")
    assert headers["anthropic-version"] == "2023-06-01"
    assert (body["model"], body["max_tokens"]) == ("small", 1500)
    assert body["messages"] == [{"role": "user", "content": "a turn"}]
    assert body["system"] == [{"type": "text", "text": "instructions", "cache_control": {"type": "ephemeral"}}]
    assert (body["tools"][0]["input_schema"], body["tool_choice"]["name"]) == (SCHEMA, "remember")


def test_a_messages_answer_by_tool_or_by_text() -> None:
    by_tool = {"content": [{"type": "text", "text": "so"}, {"type": "tool_use", "input": GOOD}], "usage": USAGE}
    assert asked(Answered(200, {}, json.dumps(by_tool)))[0] == Told(json.dumps(GOOD), 1000)
    assert asked(message("plain"))[0] == Told("plain", 1000)


def test_cached_tokens_are_counted_too() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 8}
    assert asked(message("t", usage=usage))[0] == Told("t", 15)


def test_an_answer_that_does_not_say_what_it_cost() -> None:
    assert asked(message("t", usage=None))[0] == Told("t", None)


# --- OpenAI's chat completions


def test_a_chat_request_and_its_answer() -> None:
    told, server = asked(Answered(200, {}, json.dumps(CHAT)), dialect=OPENAI, base_url="http://localhost:11434/v1/")
    ((url, headers, body),) = server.requests
    assert (url, headers["authorization"]) == ("http://localhost:11434/v1/chat/completions", "Bearer sk-test")
    assert [part["role"] for part in body["messages"]] == ["system", "user"]
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert told == Told(json.dumps(GOOD), 42)


def test_a_server_of_this_machine_may_want_no_key() -> None:
    _, server = asked(Answered(200, {}, json.dumps(CHAT)), dialect=OPENAI, key="")
    assert "authorization" not in server.requests[0][1]


@pytest.mark.parametrize(
    ("said", "gone", "there"),
    [
        ("response_format is not supported", "response_format", "max_tokens"),
        ("use max_completion_tokens instead", "max_tokens", "max_completion_tokens"),
    ],
)
def test_what_a_server_does_not_know_is_left_out_the_next_time(said: str, gone: str, there: str) -> None:
    server = Server(Answered(400, {}, said), rest=Answered(200, {}, json.dumps(CHAT)))
    model = provider(server, OPENAI)
    first = model.ask(ASK)
    assert isinstance(first, Failure)
    assert (first.kind, first.after, isinstance(model.ask(ASK), Told)) == ("busy", 0.0, True)
    assert (gone in server.requests[1][2], there in server.requests[1][2]) == (False, True)


def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    model = provider(Server(rest=Answered(400, {}, "schema max_completion_tokens")), OPENAI)
    kinds = [found.kind for _ in range(3) if isinstance(found := model.ask(ASK), Failure)]
    assert kinds == ["busy", "busy", "rejected"]


# --- refusals


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "rejected"), (401, "auth"), (402, "quota"), (403, "auth"), (404, "setup"), (408, "busy"),
        (413, "rejected"), (422, "rejected"), (429, "busy"), (500, "busy"), (502, "busy"), (529, "busy"),
        (301, "setup"),
    ],
)  # fmt: skip
def test_what_a_status_means(status: int, kind: str) -> None:
    assert failure(refusal(status)).kind == kind


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Fri, 20 Nov 2026 12:01:30 GMT", 90.0),
        ("-3", 0.0),
        ("9e9", 21600.0),
        ("nan", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after(value: str, after: float | None) -> None:
    assert failure(refusal(429, retry_after=value)).after == after


def test_a_message_says_the_kind_of_error_and_nothing_that_was_sent() -> None:
    assert failure(refusal(400, "invalid_request_error")).message == "the provider answered 400: invalid_request_error"


def test_a_quota_is_told_by_its_words() -> None:
    body = json.dumps({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}})
    assert failure(Answered(429, {}, body)).kind == "quota"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"content": 3}', '{"content": [{"type": "text"}]}', "[" * 9999]
)
def test_an_answer_that_is_none_of_the_dialect_is_lost_and_may_have_cost(text: str) -> None:
    found = failure(Answered(200, {}, text))
    assert (found.kind, found.tokens) == ("lost", None)


def test_what_was_not_sent_costs_nothing() -> None:
    assert failure(Lost("unreachable", spent=False)).tokens == 0
    assert failure(Lost("slow", spent=True)).tokens is None


def test_without_a_client_the_error_says_what_to_install() -> None:
    class Bare:
        def post(self, *_: object) -> Answered:
            raise NoClient

    found = provider(Bare()).ask(ASK)
    assert isinstance(found, Failure)
    assert (found.kind, "httpx2" in found.message) == ("setup", True)


def test_without_a_key_nothing_is_sent() -> None:
    def none() -> str:
        raise NoKey("there is no key")

    server = Server()
    found = Http(ANTHROPIC, "small", none, client=server, wall=lambda: NOON).ask(ASK)  # type: ignore[arg-type]
    assert (found, server.requests) == (Failure("auth", "there is no key"), [])
