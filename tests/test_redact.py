"""redact: lines, values and texts go through the choke point; what it takes out, and what it leaves."""

from __future__ import annotations

import json
import random
import re

import orjson
import pytest
from redacting import answer, calls, given, record, through
from seeded import TOKENS, pem, secrets
from transcripts import Transcript

from indexer import redaction_screen
from indexer.records import Entry, Prompt, ToolUse
from indexer.redact import Redactor
from indexer.redaction_settings import Settings, compiled_pattern, user_rule
from indexer.text import MARK, unkeyed

SECRET = next(one.value for one in secrets(1) if one.kind == "anthropic")
TOKEN = next(one.value for one in secrets(1) if one.kind == "github")


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


# --- texts


def test_a_text_without_secrets_is_the_same_object(redactor: Redactor) -> None:
    text = "fix the login of the shop"
    assert redactor.text(text) is text


def test_equal_secrets_get_equal_marks_and_others_get_others(redactor: Redactor) -> None:
    first, second, third = redactor.text(f"{SECRET} {TOKEN} {SECRET}").split()
    assert first == third != second


def test_the_marks_depend_on_the_key(redactor: Redactor) -> None:
    other = Redactor(b"o" * 32)
    assert redactor.text(SECRET) != other.text(SECRET)
    assert unkeyed(redactor.text(SECRET)) == unkeyed(other.text(SECRET)) == "[REDACTED:anthropic-key]"


def test_what_was_redacted_stays_as_it_is(redactor: Redactor) -> None:
    once = redactor.text(f"password={SECRET} https://u:{TOKEN}@h/x Bearer {SECRET}")
    assert redactor.text(once) is once


def test_overlapping_finds_are_one_mark(redactor: Redactor) -> None:
    assert MARK.fullmatch(redactor.text(f"https://ci:{TOKEN}x@host")[11:-5])


def test_redactions_are_counted(redactor: Redactor) -> None:
    redactor.text(f"{SECRET} and {TOKEN}")
    assert redactor.redacted == 2


@pytest.mark.parametrize("text", ["", "\ud800" + SECRET, "\0" + SECRET, SECRET * 3000, "🔑" + SECRET])
def test_odd_texts(redactor: Redactor, text: str) -> None:
    assert SECRET not in redactor.text(text)


# --- lines


def test_a_line_without_secrets_is_the_same_object(redactor: Redactor) -> None:
    data = record("fix the login")
    assert redactor.line(data) is data


def test_a_line_with_a_secret_stays_a_record(redactor: Redactor) -> None:
    data = record(f"use {SECRET} now")
    found, before = orjson.loads(redactor.line(data)), orjson.loads(data)
    assert MARK.sub("X", found["message"]["content"]) == "use X now"
    assert {**found, "message": 0} == {**before, "message": 0}


def test_a_redacted_line_is_left_as_it_is(redactor: Redactor) -> None:
    once = redactor.line(record(f"use {SECRET} now"))
    assert redactor.line(once) is once


def test_escapes_hide_nothing(redactor: Redactor) -> None:
    hidden = "".join(f"\\u{ord(c):04x}" for c in SECRET)
    data = record("MARK").replace(b"MARK", hidden.encode())
    assert SECRET not in orjson.loads(redactor.line(data))["message"]["content"]


def test_escaped_slashes_hide_nothing(redactor: Redactor) -> None:
    url = next(one.value for one in secrets(1) if one.kind == "slack webhook")
    data = record("MARK").replace(b"MARK", url.replace("/", "\\/").encode())
    assert url not in orjson.loads(redactor.line(data))["message"]["content"]


def test_json_within_a_string_within_json(redactor: Redactor) -> None:
    inner = json.dumps({"settings": json.dumps({"api_key": "ab12cd34ef56", "n": 1})})
    found = given(through(redactor, calls("Write", {"file_path": "/x/a.json", "content": inner}, "ok")))
    assert "ab12cd34ef56" not in found["content"]
    assert found["file_path"] == "/x/a.json"
    assert json.loads(json.loads(found["content"])["settings"])["n"] == 1


@pytest.mark.parametrize("value", [{"a": [{"b": SECRET}]}, [SECRET], SECRET, {SECRET: 1}, {"a": {SECRET: [SECRET]}}])
def test_tool_inputs_of_any_shape(redactor: Redactor, value: object) -> None:
    assert SECRET not in json.dumps(given(through(redactor, calls("mcp__x__y", value, "ok"))))


@pytest.mark.parametrize("key", ["gitBranch", "cwd", "slug", "summary", "customTitle"])
def test_every_field_of_the_envelope(redactor: Redactor, key: str) -> None:
    data = orjson.dumps({"type": "user", key: f"/x/https://ci:{TOKEN}@host"})
    assert TOKEN.encode() not in redactor.line(data)


def test_two_blocks_of_one_message(redactor: Redactor) -> None:
    halves = [{"type": "text", "text": f"my key is {SECRET[:25]}"}, {"type": "text", "text": f"{SECRET[25:]} ok"}]
    session = Transcript()
    session.user(halves)
    found = orjson.loads(redactor.line(session.data))["message"]["content"]
    text = "".join(block["text"] for block in found)
    assert MARK.sub("X", text) == "my key is X ok"


def test_a_private_key_over_two_blocks(redactor: Redactor) -> None:
    head, tail = pem(random.Random(1))[:120], pem(random.Random(1))[120:]
    value = [{"type": "text", "text": head}, {"type": "text", "text": tail}]
    found = redactor.value(value)
    assert tail[:40] not in found[1]["text"]
    assert "KEY" not in found[1]["text"]


def test_a_torn_line_is_redacted_as_text(redactor: Redactor) -> None:
    data = record(f"use {SECRET} now")[:-20]
    assert SECRET.encode() not in redactor.line(data)


def test_bytes_that_are_no_text_stay(redactor: Redactor) -> None:
    data = b'\xff\xfe {"a": "' + SECRET.encode() + b"\xff"
    found = redactor.line(data)
    assert SECRET.encode() not in found
    assert found.startswith(b"\xff\xfe")
    assert found.endswith(b"\xff")


def test_a_line_nested_too_deep_is_redacted_as_text(redactor: Redactor) -> None:
    data = b"[" * 400 + b'"' + SECRET.encode() + b'"' + b"]" * 400
    assert SECRET.encode() not in redactor.line(data)


def test_numbers_and_order_survive(redactor: Redactor) -> None:
    data = f'{{"b":1.5,"a":18446744073709551615,"t":"{SECRET}","n":null}}'.encode()
    assert MARK.sub("X", redactor.line(data).decode()) == '{"b":1.5,"a":18446744073709551615,"t":"X","n":null}'


# --- private parts


@pytest.mark.parametrize(
    "text",
    [
        "a <private>hush</private> b",
        "a <PRIVATE>hush</Private> b",
        "a <private>x <private>hush</private> hush</private> b",
        "a <private>hush",
        'a <private reason="x">hush</private > b',
    ],
)
def test_private_parts_are_emptied(redactor: Redactor, text: str) -> None:
    found = redactor.text(text)
    assert "hush" not in found
    assert found.startswith("a <private></private>")
    assert redactor.text(found) is found


def test_private_parts_of_calls_and_answers(redactor: Redactor) -> None:
    lines = calls("Bash", {"command": "echo '<private>hush</private>'"}, "<private>hush</private> done")
    assert "hush" not in json.dumps(through(redactor, lines))


# --- files of secrets


def test_a_secret_file_that_is_read_leaves_its_path(redactor: Redactor) -> None:
    detail = {"type": "text", "file": {"filePath": "/x/.env", "content": "A=tame\n", "numLines": 1}}
    lines = through(redactor, calls("Read", {"file_path": "/x/.env"}, "1→A=tame", toolUseResult=detail))
    assert given(lines) == {"file_path": "/x/.env"}
    assert re.fullmatch(r"\[REDACTED:secret-file:[0-9a-f]{8}\]", answer(lines))
    assert lines[1]["toolUseResult"]["file"]["filePath"] == "/x/.env"
    assert "tame" not in json.dumps(lines)


def test_the_answer_is_known_by_its_call_alone(redactor: Redactor) -> None:
    assert "tame" not in json.dumps(through(redactor, calls("Read", {"file_path": "/x/.env"}, "A=tame")))


def test_an_answer_in_blocks_keeps_its_shape(redactor: Redactor) -> None:
    blocks = [{"type": "text", "text": "A=tame"}]
    found = answer(through(redactor, calls("Read", {"file_path": "/x/id_rsa"}, blocks)))
    assert found[0]["type"] == "text"
    assert MARK.fullmatch(found[0]["text"])


def test_the_answer_alone_tells_by_its_detail(redactor: Redactor) -> None:
    detail = {"type": "text", "file": {"filePath": "/x/.env", "content": "A=tame"}}
    data = calls("Read", {"file_path": "/x/.env"}, "A=tame", toolUseResult=detail)[1]
    assert b"tame" not in redactor.line(data)


def test_a_secret_file_that_is_written(redactor: Redactor) -> None:
    lines = through(redactor, calls("Write", {"file_path": "/x/.env.local", "content": "A=tame"}, "File created"))
    assert given(lines)["file_path"] == "/x/.env.local"
    assert "tame" not in json.dumps(lines)


def test_a_secret_file_that_is_edited(redactor: Redactor) -> None:
    edits = {"file_path": "/x/.env", "edits": [{"old_string": "A=tame", "new_string": "A=wild"}]}
    found = json.dumps(through(redactor, calls("MultiEdit", edits, "ok")))
    assert "tame" not in found
    assert "wild" not in found


@pytest.mark.parametrize("command", ["cat .env", "cd /x && cat '/x/.env' | sort", "head -3 ~/.ssh/id_rsa"])
def test_a_command_that_prints_a_secret_file(redactor: Redactor, command: str) -> None:
    detail = {"stdout": "A=tame", "stderr": ""}
    lines = through(redactor, calls("Bash", {"command": command}, "A=tame", toolUseResult=detail))
    assert given(lines) == {"command": command}
    assert "tame" not in json.dumps(lines[1])


def test_another_commands_answer_stays(redactor: Redactor) -> None:
    lines = calls("Bash", {"command": "ls -a && echo .env >> .gitignore"}, "A=tame")
    assert answer(through(redactor, lines)) == "A=tame"


def test_stored_calls_are_judged_alike(redactor: Redactor) -> None:
    assert redactor.call({"command": "ls"}, "x") == ({"command": "ls"}, "x")
    emptied, response = redactor.call({"file_path": ".env", "content": "A=tame"}, "A=tame")
    assert "tame" not in json.dumps(emptied) + str(response)
    assert emptied["file_path"] == ".env"


# --- entries


def test_an_entry_is_redacted_with_all_it_holds(redactor: Redactor) -> None:
    records = (Prompt(f"a {SECRET}"), ToolUse("i", "i", "Bash", {"command": [SECRET]}, None))
    entry = redactor.entry(Entry("u", "s", 1, f"/x/{SECRET}", None, SECRET, False, None, None, records))
    assert SECRET not in repr(entry)
    assert isinstance(entry, Entry)
    assert isinstance(entry.records[0], Prompt)
    assert entry.time == 1


def test_a_key_over_several_lines_of_a_list_is_one(redactor: Redactor) -> None:
    """As the client keeps a patch."""
    body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" + "C7" * 7] * 12
    edge = "-----{} RSA PRIVATE " + "KEY-----"
    lines = [f"+{line}" for line in ("first", edge.format("BEGIN"), *body, edge.format("END"), "last")]
    told = json.loads(redactor.line(json.dumps({"toolUseResult": {"lines": lines}}).encode()))["toolUseResult"]["lines"]
    assert len(told) == len(lines)
    assert "MIIEvQ" not in str(told)
    assert (told[0], "+last" in told) == ("+first", True)


# --- the user's say


def test_rules_of_ones_own() -> None:
    redactor = Redactor(b"", Settings((user_rule("employee-id", "EMP-(?P<v>[0-9]{6})", "EMP-"),)))
    assert MARK.sub("X", redactor.text("see EMP-123456")) == "see EMP-X"
    assert b"123456" not in redactor.line(record("see EMP-123456"))


def test_a_rule_without_a_literal() -> None:
    redactor = Redactor(b"", Settings((user_rule("twice", r"(\w{9})\1"),)))
    assert MARK.fullmatch(redactor.text("abcdefghiabcdefghi"))


def test_what_is_allowed_stays() -> None:
    redactor = Redactor(b"", Settings(allow=(compiled_pattern("tr0ub4dor.*"),)))
    assert redactor.text("PASSWORD=tr0ub4dor9") == "PASSWORD=tr0ub4dor9"
    assert "s3cr3tpw1" not in redactor.text("PASSWORD=s3cr3tpw1")


def test_secret_files_of_ones_own() -> None:
    redactor = Redactor(b"", Settings(secret_files=(re.compile(r"(?:.*/)?[^/]*\.hush"),)))
    assert "tame" not in json.dumps(through(redactor, calls("Read", {"file_path": "/x/a.hush"}, "tame")))


def test_the_rule_set_has_a_name_by_its_content() -> None:
    own = Settings((user_rule("x", "abc", "abc"),))
    assert Redactor().rules == Redactor(b"other").rules != Redactor(b"", own).rules
    assert Redactor(b"", own).rules != Redactor(b"", Settings(allow=(re.compile("abc"),))).rules


# --- without Hyperscan


def test_without_hyperscan_the_same_comes_out(redactor: Redactor, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [record(one.written) for one in secrets(2)] + [record("fix the login")]
    fast = [redactor.line(one) for one in lines]
    monkeypatch.setattr(redaction_screen, "hyperscan", None)
    plain = Redactor(b"k" * 32)
    assert [plain.line(one) for one in lines] == fast


def test_kinds_are_those_of_the_fixtures() -> None:
    assert len(TOKENS) > 25
