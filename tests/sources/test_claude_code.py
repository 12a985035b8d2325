"""One line of a transcript: its envelope, what its type means, and what is counted and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from transcripts import Transcript, line, uid

from indexer.records import (
    AgentLink,
    AssistantText,
    Entry,
    Ignored,
    Prompt,
    QueueOperation,
    Record,
    SourceFile,
    Title,
    ToolResult,
    ToolUse,
    TurnEvent,
    Unreadable,
)
from indexer.sources import claude_code, salvage
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode

Parse: TypeAlias = Callable[..., list[Entry]]
Read: TypeAlias = Callable[..., list[Record]]

PROGRESS = [Ignored("progress")]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in names}


def test_it_is_a_source() -> None:
    source: Source = ClaudeCode()
    assert (source.platform, source.parser_version) == ("claude", 1)
    assert source.describe("/r/f/s.jsonl", "/r") == SourceFile("/r/f/s.jsonl", "f", "s", None)


# --- envelope


def test_the_envelope_of_a_record(parse: Parse, session: Transcript) -> None:
    record = session.user("fix it", timestamp="2026-11-30T15:03:23.136Z")
    assert parse(record) == [
        Entry(
            uuid=record["uuid"],
            session_id=session.session_id,
            time=1_796_051_003_136,
            cwd="/home/dev/shop",
            version="2.1.240",
            git_branch="main",
            sidechain=False,
            agent_id=None,
            forked_from=None,
            records=(Prompt("fix it"),),
        )
    ]


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("2026-11-30T15:03:23.136Z", 1_796_051_003_136),
        ("2026-11-30T16:03:23+01:00", 1_796_051_003_000),
        (1_796_051_003_136, 1_796_051_003_136),
        (1_796_051_003, 1_796_051_003_000),
        (1_796_051_003.5, 1_796_051_003_500),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (0, None),
        (-5, None),
        (10**18, None),
        ([], None),
    ],
    ids=repr,
)
def test_times(parse: Parse, session: Transcript, stamp: object, time: int | None) -> None:
    assert parse(session.user("x", timestamp=stamp))[0].time == time


@pytest.mark.parametrize("stamp", ["NaN", "Infinity", "1e999"])
def test_times_beyond_numbers(parse: Parse, session: Transcript, stamp: str) -> None:
    data = line(session.user("x", timestamp="HERE"))[:-1].replace(b'"HERE"', stamp.encode())
    assert parse(data)[0].time is None


@pytest.mark.parametrize("value", [None, 5, True, [1], {"a": 1}], ids=repr)
def test_fields_that_are_no_strings_are_missing(parse: Parse, session: Transcript, value: object) -> None:
    entry = parse(session.user("x", cwd=value, version=value, gitBranch=value, sessionId=value))[0]
    assert (entry.cwd, entry.version, entry.git_branch, entry.session_id) == (None, None, None, None)
    assert entry.records == (Prompt("x"),)


def test_fields_may_be_absent(parse: Parse, session: Transcript) -> None:
    record = without(session.user("x"), "cwd", "version", "gitBranch", "timestamp", "parentUuid")
    entry = parse(record)[0]
    assert (entry.cwd, entry.version, entry.git_branch, entry.time) == (None, None, None, None)
    assert entry.records == (Prompt("x"),)


@pytest.mark.parametrize("bad", ["x" * 257, "a b", "a\nb", "a\x00b", ""], ids=range(5))
def test_a_session_id_that_cannot_be_one_is_missing(parse: Parse, session: Transcript, bad: str) -> None:
    assert parse(session.user("x", sessionId=bad))[0].session_id is None


def test_a_folder_with_nul_is_missing(parse: Parse, session: Transcript) -> None:
    assert parse(session.user("x", cwd="/home/\0dev"))[0].cwd is None


def test_a_copy_names_its_origin(parse: Parse, session: Transcript) -> None:
    session.user("original")
    copy = session.fork("other", marked=True).records[0]
    assert parse(copy)[0].forked_from == session.session_id


@pytest.mark.parametrize("origin", [None, "text", {}, {"sessionId": 5}, {"sessionId": "a b"}], ids=repr)
def test_an_origin_that_is_none(parse: Parse, session: Transcript, origin: object) -> None:
    assert parse(session.user("x", forkedFrom=origin))[0].forked_from is None


def test_a_record_is_no_copy_of_its_own_session(parse: Parse, session: Transcript) -> None:
    record = session.user("x", forkedFrom={"sessionId": session.session_id})
    assert parse(record)[0].forked_from is None


# --- side chains


def test_a_sub_agents_records_name_it(parse: Parse, session: Transcript, agent_file: SourceFile) -> None:
    record = session.subagent("a1").text("found it")
    entry = parse(record, file=agent_file)[0]
    assert (entry.sidechain, entry.agent_id, entry.session_id) == (True, "a1", session.session_id)
    assert [type(item) for item in entry.records] == [AssistantText]


@pytest.mark.parametrize("agent", [None, 5, "a b"], ids=repr)
def test_else_the_file_does(parse: Parse, session: Transcript, agent_file: SourceFile, agent: object) -> None:
    entry = parse(session.user("x", isSidechain=False, agentId=agent), file=agent_file)[0]
    assert (entry.sidechain, entry.agent_id) == (True, "a1")


def test_an_inline_side_chain_may_have_no_name(parse: Parse, session: Transcript) -> None:
    entry = parse(session.text("x", isSidechain=True))[0]
    assert (entry.sidechain, entry.agent_id) == (True, None)


def test_the_main_thread_has_no_agent(parse: Parse, session: Transcript) -> None:
    entry = parse(session.text("x", agentId="a1"))[0]
    assert (entry.sidechain, entry.agent_id) == (False, None)


def test_text_given_to_a_sub_agent_is_no_prompt(read: Read, session: Transcript, agent_file: SourceFile) -> None:
    assert read(session.user("look around", isSidechain=True)) == [Ignored("sidechain-text")]
    assert read(session.user("Warmup"), file=agent_file) == [Ignored("sidechain-text")]


def test_a_sub_agents_calls_and_results_count(read: Read, session: Transcript, agent_file: SourceFile) -> None:
    agent = session.subagent("a1")
    agent.tool("Grep", {"pattern": "lock"}, "found")
    kinds = [type(item) for record in agent.records for item in read(record, file=agent_file)]
    assert kinds == [AssistantText, ToolUse, ToolResult]


# --- user records: rules 1 to 6


def test_a_tool_result_is_no_prompt(read: Read, session: Transcript) -> None:
    result, ignored = read(session.user([{"type": "tool_result", "tool_use_id": "call_0", "content": "x"}, "hi"]))
    assert isinstance(result, ToolResult)
    assert ignored == Ignored("block:untyped")


@pytest.mark.parametrize("flag", ["isMeta", "isVisibleInTranscriptOnly"])
def test_meta_records_are_no_prompts(read: Read, session: Transcript, flag: str) -> None:
    assert read(session.user("fix it", **{flag: True})) == [Ignored("meta")]
    assert read(session.user("fix it", **{flag: False})) == [Prompt("fix it")]


def test_a_meta_command_is_no_command(read: Read, session: Transcript) -> None:
    assert read(session.user("<command-name>/x</command-name>", isMeta=True)) == [Ignored("meta")]


def test_a_compact_summary_is_an_event(read: Read, session: Transcript) -> None:
    flags = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    expected = [TurnEvent("compaction", {"summary": "We fixed it."})]
    assert read(session.user("We fixed it.", **flags)) == expected
    assert read(session.user([{"type": "text", "text": "We fixed it."}], isCompactSummary=True)) == expected


@pytest.mark.parametrize("origin", [None, {"kind": "human"}, {}, {"kind": None}, "human"], ids=repr)
def test_origins_that_are_human(read: Read, session: Transcript, origin: object) -> None:
    assert read(session.user("fix it", origin=origin)) == [Prompt("fix it")]


@pytest.mark.parametrize("kind", ["task-notification", "peer", "coordinator", "anything", 5])
def test_origins_that_are_not(read: Read, session: Transcript, kind: object) -> None:
    assert read(session.user("fix it", origin={"kind": kind})) == [Ignored("not-human")]


@pytest.mark.parametrize("source", ["sdk", "typed", "queued", "suggestion_accepted", None])
def test_sources_that_are_human(read: Read, session: Transcript, source: str | None) -> None:
    assert read(session.user("fix it", promptSource=source)) == [Prompt("fix it")]


def test_the_system_is_no_human(read: Read, session: Transcript) -> None:
    assert read(session.user("fix it", promptSource="system")) == [Ignored("not-human")]


def test_an_image_alone_is_a_prompt(read: Read, session: Transcript) -> None:
    assert read(session.user([IMAGE])) == [Prompt("[media prompt]")]


# --- foreign records


@pytest.mark.parametrize("kind", ["user", "assistant"])
@pytest.mark.parametrize("message", [None, "text", [1], 5], ids=repr)
def test_a_record_without_a_message_is_foreign(parse: Parse, session: Transcript, kind: str, message: object) -> None:
    assert [entry.records for entry in parse(session.add(kind, message=message))] == [(Ignored("foreign"),)]


@pytest.mark.parametrize("bad", [None, "", 5, "a b", "x" * 257], ids=range(5))
def test_a_record_without_a_uuid_is_foreign(read: Read, session: Transcript, bad: object) -> None:
    assert read(session.user("x", uuid=bad)) == [Ignored("foreign")]
    assert read(session.text("x", uuid=bad)) == [Ignored("foreign")]


def test_a_foreign_record_has_no_envelope(parse: Parse, session: Transcript) -> None:
    entry = parse(without(session.user("x"), "uuid"))[0]
    assert entry == Entry(None, None, None, None, None, None, False, None, None, (Ignored("foreign"),))


@pytest.mark.parametrize("kept", ["isSidechain", "userType", "parentUuid"])
def test_a_record_without_a_session_is_ours_by_its_keys(parse: Parse, session: Transcript, kept: str) -> None:
    marks = {"isSidechain", "userType", "parentUuid", "sessionId"} - {kept}
    entry = parse(without(session.user("x"), *marks))[0]
    assert (entry.session_id, entry.records) == (None, (Prompt("x"),))


def test_a_record_with_neither_is_foreign(read: Read, session: Transcript) -> None:
    record = without(session.user("x"), "isSidechain", "userType", "parentUuid", "sessionId")
    assert read(record) == [Ignored("foreign")]


@pytest.mark.parametrize("kind", ["tool_use", "tool_result", "session.start", "user.message", "message"])
def test_types_of_other_programs_are_counted(read: Read, kind: str) -> None:
    assert read({"type": kind, "tool_name": "Bash", "timestamp": "2026-01-01T00:00:00Z"}) == [Ignored(kind)]


# --- assistant records


def test_an_assistant_record(read: Read, session: Transcript) -> None:
    session.call("Read", {"file_path": "/home/dev/shop/a.py"}, tool_id="call_0")
    text, use = read(session.records[0])
    assert isinstance(text, AssistantText)
    uuid = session.records[0]["uuid"]
    given = {"file_path": "/home/dev/shop/a.py"}
    assert use == ToolUse(f"{uuid}:call_0", "call_0", "Read", given, "/home/dev/shop/a.py")


def test_a_result_finds_its_weak_call(read: Read, session: Transcript) -> None:
    session.tool("Read", {}, "x")
    for record in session.records:
        record["message"] = json.loads(json.dumps(record["message"]).replace("toolu_", "t"))
    use, result = read(session.records[0])[1], read(session.records[1])[0]
    assert isinstance(use, ToolUse)
    assert isinstance(result, ToolResult)
    assert use.identity == result.identity


def test_lines_of_one_message_share_its_key(read: Read, session: Transcript) -> None:
    for block in ({"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}):
        session.assistant(block, message_id="msg_same_for_all_four")
    keys = [item.message_key for record in session.records for item in read(record) if type(item) is AssistantText]
    assert keys == ["msg_same_for_all_four"] * 2


# --- queued prompts


def queued(session: Transcript, envelope: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    held = {"type": "queued_command", "prompt": "later", "commandMode": "prompt", **fields}
    return session.add("attachment", attachment=held, **(envelope or {}))


@pytest.mark.parametrize("prompt", ["later", [{"type": "text", "text": "later"}], [IMAGE, "later"]], ids=range(3))
def test_a_queued_prompt(read: Read, session: Transcript, prompt: object) -> None:
    record = queued(session, prompt=prompt, origin={"kind": "human"})
    assert read(record) == [Prompt("later", queued=True)]


def test_a_queued_prompt_keeps_to_the_rules_of_prompts(read: Read, session: Transcript) -> None:
    assert read(queued(session, prompt="<task-notification>x")) == [Ignored("machine-text")]
    assert read(queued(session, prompt="<private>x")) == [Prompt("", private=True, queued=True)]
    assert read(queued(session, prompt=None)) == [Ignored("no-prompt-text")]


@pytest.mark.parametrize("mode", ["bash", "task-notification", None, 5])
def test_other_queued_commands_are_no_prompts(read: Read, session: Transcript, mode: object) -> None:
    assert read(queued(session, commandMode=mode)) == [Ignored("attachment/queued_command")]


def test_queued_prompts_of_machines_are_none(read: Read, session: Transcript) -> None:
    assert read(queued(session, origin={"kind": "peer"})) == [Ignored("not-human")]
    assert read(queued(session, {"origin": {"kind": "peer"}})) == [Ignored("not-human")]
    assert read(queued(session, isMeta=True)) == [Ignored("meta")]
    assert read(queued(session, {"isMeta": True})) == [Ignored("meta")]
    assert read(queued(session, {"isSidechain": True})) == [Ignored("sidechain-text")]


def test_a_queued_prompt_without_a_uuid_has_no_identity(read: Read, session: Transcript) -> None:
    assert read(queued(session, {"uuid": None})) == [Ignored("attachment/queued_command")]


@pytest.mark.parametrize("held", [None, "x", [1]], ids=repr)
def test_an_attachment_of_any_shape(read: Read, session: Transcript, held: object) -> None:
    assert read(session.add("attachment", attachment=held)) == [Ignored("attachment")]


@pytest.mark.parametrize("kind", ["hook_success", "skill_listing", "file"])
def test_other_attachments_are_counted_by_kind(read: Read, session: Transcript, kind: str) -> None:
    held = {"type": kind, "stdout": "x", "content": "x"}
    assert read(session.add("attachment", attachment=held)) == [Ignored(f"attachment/{kind}")]


# --- the prompt queue


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("later", "later"),
        ("<system-reminder>x</system-reminder>later", "later"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ("<private>x</private>", ""),
        (None, None),
    ],
    ids=range(5),
)
def test_an_enqueued_prompt(read: Read, session: Transcript, content: object, text: str | None) -> None:
    record = session.plain("queue-operation", operation="enqueue", content=content)
    assert read(record) == [QueueOperation("enqueue", text)]


@pytest.mark.parametrize("operation", ["dequeue", "remove", "popAll"])
def test_other_operations_of_the_queue(parse: Parse, session: Transcript, operation: str) -> None:
    record = session.plain("queue-operation", operation=operation, timestamp="1970-01-01T00:00:01Z")
    entry = parse(record)[0]
    assert (entry.uuid, entry.session_id, entry.time) == (None, session.session_id, 1000)
    assert entry.records == (QueueOperation(operation, None),)


@pytest.mark.parametrize("operation", [None, "", 5, "a b"], ids=repr)
def test_an_operation_that_is_none(read: Read, session: Transcript, operation: object) -> None:
    assert read(session.plain("queue-operation", operation=operation)) == [Ignored("queue-operation")]


# --- titles


def test_titles(read: Read, session: Transcript) -> None:
    leaf = uid("leaf")
    assert read(session.plain("custom-title", customTitle=" login work ")) == [Title("custom", "login work")]
    assert read(session.plain("ai-title", aiTitle="Login")) == [Title("ai", "Login")]
    assert read({"type": "summary", "summary": "Login", "leafUuid": leaf}) == [Title("summary", "Login", leaf)]


@pytest.mark.parametrize("title", [None, "", "  ", 5, ["x"]], ids=repr)
@pytest.mark.parametrize(
    ("kind", "key"), [("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")]
)
def test_a_title_that_is_none(read: Read, kind: str, key: str, title: object) -> None:
    assert read({"type": kind, key: title, "leafUuid": uid("leaf")}) == [Ignored(kind)]


@pytest.mark.parametrize("leaf", [None, "", 5, "a b"], ids=repr)
def test_a_summary_without_a_leaf_is_nobodys(read: Read, leaf: object) -> None:
    assert read({"type": "summary", "summary": "Login", "leafUuid": leaf}) == [Ignored("summary")]


# --- system records and the rest


def test_the_duration_of_a_turn(read: Read, session: Transcript) -> None:
    record = session.add("system", subtype="turn_duration", durationMs=5475)
    assert read(record) == [TurnEvent("duration", {"ms": 5475})]


def test_a_compaction(read: Read, session: Transcript) -> None:
    record = session.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    assert read(record) == [TurnEvent("compaction", {"trigger": "auto"})]


def test_a_command_that_the_client_carried_out_itself(read: Read, session: Transcript) -> None:
    content = "<command-name>/rename</command-name>\n  <command-args>login work</command-args>"
    record = session.add("system", subtype="local_command", content=content, isMeta=False)
    assert read(record) == [Prompt("/rename login work", kind="command")]


@pytest.mark.parametrize("content", ["<local-command-stdout>ok</local-command-stdout>", "text", None, [1]], ids=repr)
def test_its_output_is_no_command(read: Read, session: Transcript, content: object) -> None:
    record = session.add("system", subtype="local_command", content=content)
    assert read(record) == [Ignored("system/local_command")]


@pytest.mark.parametrize("fields", [{"isMeta": True}, {"isSidechain": True}, {"uuid": None}], ids=repr)
def test_a_local_command_of_a_machine(read: Read, session: Transcript, fields: dict[str, Any]) -> None:
    content = "<command-name>/rename</command-name>"
    record = session.add("system", subtype="local_command", content=content, **fields)
    assert read(record) == [Ignored("system/local_command")]


@pytest.mark.parametrize(
    ("subtype", "kind"),
    [
        ("api_error", "system/api_error"),
        ("microcompact_boundary", "system/microcompact_boundary"),
        ("turn_duration", "system/turn_duration"),
        (None, "system/untyped"),
        (["x"], "system/untyped"),
    ],
)
def test_other_system_records_are_counted(read: Read, session: Transcript, subtype: object, kind: str) -> None:
    assert read(session.add("system", subtype=subtype, content="x")) == [Ignored(kind)]


def test_a_pull_request_is_an_event_if_it_has_an_identity(read: Read, session: Transcript) -> None:
    assert read(session.plain("pr-link", prNumber=12)) == [Ignored("pr-link")]
    assert read(session.add("pr-link", prNumber=12)) == [TurnEvent("pr", {"number": 12})]


@pytest.mark.parametrize(
    "kind",
    [
        "file-history-snapshot",
        "file-history-delta",
        "last-prompt",
        "permission-mode",
        "mode",
        "agent-name",
        "bridge-session",
        "worktree-state",
        "agent-setting",
        "fork-context-ref",
        "frame-link",
        "quantum-state",
    ],
)
def test_other_types_are_counted(parse: Parse, session: Transcript, kind: str) -> None:
    entry = parse(session.plain(kind, lastPrompt="x", agentName="x"))[0]
    assert (entry.records, entry.session_id) == ((Ignored(kind),), session.session_id)


@pytest.mark.parametrize("kind", [None, 5, ["user"], {"a": 1}, True], ids=repr)
def test_a_type_that_is_none(read: Read, kind: object) -> None:
    assert read({"type": kind}) == [Ignored("untyped")]


def test_an_object_without_a_type(read: Read) -> None:
    assert read({"hello": "world"}) == [Ignored("untyped")]


@pytest.mark.parametrize("data", [b"[1,2,3]", b'"text"', b"null", b"5", b"NaN", b'["\\ud83d"]'])
def test_a_line_that_is_no_object(read: Read, data: bytes) -> None:
    assert read(data) == [Ignored("not-an-object")]


# --- progress


def progress(session: Transcript, **fields: Any) -> dict[str, Any]:
    copied = {"type": "user", "message": {"role": "user", "content": "copied"}, "uuid": uid("copied")}
    return session.add("progress", data={"type": "agent_progress", "message": copied}, **fields)


def client_order(record: dict[str, Any]) -> dict[str, Any]:
    """The keys as the client writes them: what says who, where and when of the record last."""
    last = ("data", "toolUseID", "uuid", "timestamp")
    return without(record, *last) | {key: record[key] for key in last if key in record}


def test_progress_is_dropped_by_its_bytes(parse: Parse, session: Transcript) -> None:
    data = line(client_order(progress(session)))[:-1]
    unread = data[:-40]
    assert parse(data) == parse(unread)
    assert [entry.records for entry in parse(data)] == [tuple(PROGRESS)]


def test_progress_in_another_order_is_dropped_too(parse: Parse, session: Transcript) -> None:
    record = progress(session)
    last = without(record, "type") | {"type": "progress"}
    assert parse(record) == parse(last) == parse(line(client_order(record))[:-1])


@pytest.mark.parametrize("cwd", ["/home/{dev}", '/home/"type":"progress","data":{', "/" + "x" * 2000], ids=range(3))
def test_progress_with_an_odd_path_is_dropped(read: Read, session: Transcript, cwd: str) -> None:
    assert read(client_order(progress(session, cwd=cwd))) == PROGRESS


def test_a_record_behind_a_torn_progress_line_is_kept(read: Read, session: Transcript) -> None:
    torn = line(client_order(progress(session)))[:-60]
    lost, prompt = read(torn + line(session.user("kept"))[:-1])
    assert lost == Unreadable("torn", 0, len(torn))
    assert prompt == Prompt("kept")


def test_text_about_progress_is_kept(read: Read, session: Transcript) -> None:
    typed = 'why is {"type":"progress","data":{"a":1}} there?'
    assert read(session.user(typed)) == [Prompt(typed)]


def test_a_tool_input_of_type_progress_is_kept(read: Read, session: Transcript) -> None:
    session.call("Track", {"type": "progress", "data": {"a": 1}})
    assert [type(item) for item in read(session.records[0])] == [AssistantText, ToolUse]


# --- lines


@pytest.mark.parametrize("data", [b"", b"\r", b"  ", b"\xef\xbb\xbf"], ids=repr)
def test_a_blank_line_has_no_entries(parse: Parse, data: bytes) -> None:
    assert parse(data) == []


def test_line_ends_of_windows(read: Read, session: Transcript) -> None:
    assert read(line(session.user("x"))[:-1] + b"\r") == [Prompt("x")]


def test_a_byte_order_mark(read: Read, session: Transcript) -> None:
    assert read(b"\xef\xbb\xbf" + line(session.user("x"))[:-1]) == [Prompt("x")]


def test_of_a_key_given_twice_the_last_one_counts(read: Read, session: Transcript) -> None:
    data = line(session.user("shadow"))[:-2]
    assert read(data + b',"message":{"role":"user","content":"first"}}') == [Prompt("first")]


def test_lone_surrogates_become_replacement_characters(read: Read, session: Transcript) -> None:
    session.user("broken \ud83d emoji")
    session.call("Bash", {"command": "echo \ud83d"})
    escaped = [json.dumps(record).encode() for record in session.records]
    assert read(escaped[0]) == [Prompt("broken \ufffd emoji")]
    use = read(escaped[1])[1]
    assert isinstance(use, ToolUse)
    assert use.input == {"command": "echo \ufffd"}


def test_a_record_behind_nul_bytes(read: Read, session: Transcript) -> None:
    data = b"\0" * 4096 + line(session.user("after the crash"))[:-1]
    assert read(data) == [Unreadable("nul-bytes", 0, 4096), Prompt("after the crash")]


def test_a_line_of_two_records_has_two_entries(parse: Parse, session: Transcript) -> None:
    data = line(session.user("one"))[:-1] + line(session.user("two"))
    assert [entry.records for entry in parse(data)] == [(Prompt("one"),), (Prompt("two"),)]


def test_what_cannot_be_read_is_an_entry_without_envelope(parse: Parse) -> None:
    assert parse(b'{"torn') == [
        Entry(None, None, None, None, None, None, False, None, None, (Unreadable("not-json", 0, 6),))
    ]


def test_spoilt_bytes_are_counted_beside_their_record(read: Read, session: Transcript) -> None:
    data = line(session.user("naïve"))[:-1].replace("ï".encode(), b"\xef")
    assert read(data) == [Prompt("na\ufffdve"), Ignored("invalid-utf-8")]


def test_a_message_nested_deep_is_read(read: Read, session: Transcript) -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    data = line(session.user("x"))[:-2] + b',"odd":' + b"[" * 900 + b"]" * 900 + b"}"
    assert read(data) == [Prompt("x")]


def test_a_session_told_in_many_records(read: Read, session: Transcript) -> None:
    session.user("delegate it")
    detail = {"status": "completed", "agentId": "a1", "agentType": "Explore", "totalTokens": 5, "content": []}
    session.tool("Agent", {"prompt": "look"}, "found it", toolUseResult=detail)
    session.text("Done.")
    found = [item for record in session.records for item in read(record)]
    assert [type(item) for item in found] == [
        Prompt,
        AssistantText,
        ToolUse,
        ToolResult,
        TurnEvent,
        AgentLink,
        AssistantText,
    ]


def test_a_long_line_of_too_many_values_is_unreadable(session: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "_LONG", 100)
    monkeypatch.setattr(salvage, "_VALUES", 50)
    data = json.dumps(session.add("made-up", payload=[[]] * 60)).encode()
    (entry,) = ClaudeCode().parse(data, SourceFile("/r/f/s.jsonl", "f", "s", None))
    assert entry.records == (Unreadable("too-many-values", 0, len(data)),)
