"""Which texts of a user record a person typed, and what of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from indexer.records import Ignored, Prompt, TurnEvent
from indexer.sources.prompts import MEDIA_PROMPT, read, visible_text

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
WRAPPERS = [
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "system-reminder",
    "claude-mem-context",
    "indexer-memory",
    "system_instruction",
    "system-instruction",
    "persisted-output",
    "private",
]


def text(block: str) -> dict[str, Any]:
    return {"type": "text", "text": block}


# --- prompts


@pytest.mark.parametrize(
    "typed",
    [
        "fix the login",
        "请修复登录超时的问题",
        "<h3>this heading</h3> is too large",
        "[x] is that box checked?",
        "/home/dev/shop/a.py fails",
        "[Image #1] what is this?",
        "Continue from where you left off",
        "Caveat: do not touch main",
        "This session is slow",
        "Unknown error 5, why?",
        "Base the branch on main",
        "<bash> is a shell",
        "Stop",
        "x",
        "5 < 6 > 4",
    ],
)
def test_a_prompt_is_kept_as_typed(typed: str) -> None:
    assert read(typed) == (Prompt(typed),)


def test_a_prompt_is_trimmed() -> None:
    assert read("\n  two\n  lines \n") == (Prompt("two\n  lines"),)


def test_text_blocks_are_joined_by_line_breaks() -> None:
    assert read([text("one"), text("two")]) == (Prompt("one\ntwo"),)


def test_blocks_that_are_plain_strings_are_text() -> None:
    assert read(["one", text("two")]) == (Prompt("one\ntwo"),)


@pytest.mark.parametrize("kind", ["image", "document"])
def test_media_alone_has_a_stand_in(kind: str) -> None:
    assert read([{"type": kind, "source": {}}]) == (Prompt(MEDIA_PROMPT),)


def test_media_beside_text_leaves_the_text() -> None:
    assert read([IMAGE, text("what is this?")]) == (Prompt("what is this?"),)


def test_media_beside_wrapped_text_is_a_media_prompt() -> None:
    assert read([text("<ide_opened_file>a.py</ide_opened_file>"), IMAGE]) == (Prompt(MEDIA_PROMPT),)


def test_unknown_blocks_are_counted_beside_the_prompt() -> None:
    found = read([text("look"), {"type": "hologram"}, 5, None, {"text": "untyped"}, {"type": "text", "text": 5}])
    assert found[0] == Prompt("look")
    assert found[1:] == (
        Ignored("block:hologram"),
        Ignored("block:untyped"),
        Ignored("block:untyped"),
        Ignored("block:untyped"),
        Ignored("block:text"),
    )


@pytest.mark.parametrize("content", ["", "  \n", [], [text(" ")], None, 5, {}, [text("")]], ids=repr)
def test_nothing_is_no_prompt(content: object) -> None:
    assert read(content) == (Ignored("no-prompt-text"),)


def test_nul_is_replaced() -> None:
    assert read("a\0b") == (Prompt("a\ufffdb"),)


def test_a_queued_prompt_says_so() -> None:
    assert read("later", queued=True) == (Prompt("later", queued=True),)
    assert read([IMAGE], queued=True) == (Prompt(MEDIA_PROMPT, queued=True),)


# --- wrappers


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrapped_text_is_cut_out(name: str) -> None:
    assert read(f"before <{name}>wrapped</{name}> after") == (Prompt("before  after"),)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_may_have_attributes_and_any_case(name: str) -> None:
    opened = f'<{name.upper()} source="this-tool" n="1">'
    assert read(f"{opened}wrapped\nover lines</{name.title()}> asked") == (Prompt("asked"),)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_may_hold_itself(name: str) -> None:
    inner = f"<{name}>inner</{name}>"
    assert read(f"a<{name}>outer {inner} outer</{name}>b") == (Prompt("ab"),)


def test_wrappers_in_wrappers_go_with_the_outer_one() -> None:
    nested = "<system-reminder>x <ide_selection>y</ide_selection> z</system-reminder>"
    assert read(f"asked {nested} kept") == (Prompt("asked  kept"),)


def test_of_overlapping_elements_all_goes() -> None:
    crossed = "<system-reminder>x <private>y</system-reminder> z</private>"
    assert read(f"asked {crossed} kept") == (Prompt("asked  kept"),)


def test_private_in_a_programs_text_hides_no_prompt() -> None:
    reminder = "<system-reminder>wrap secrets in <private> tags</system-reminder>"
    assert read(f"{reminder} fix it") == (Prompt("fix it"),)
    assert read(reminder) == (Ignored("no-prompt-text"),)


@pytest.mark.parametrize("name", [name for name in WRAPPERS if name != "private"])
def test_an_unclosed_wrapper_is_text(name: str) -> None:
    typed = f"what does <{name}> do?"
    assert read(typed) == (Prompt(typed),)


@pytest.mark.parametrize("name", ["system-reminders", "privately", "my-private", "ide_selections"])
def test_longer_names_are_no_wrappers(name: str) -> None:
    typed = f"<{name}>kept</{name}>"
    assert read(typed) == (Prompt(typed),)


def test_a_closing_tag_alone_is_text() -> None:
    assert read("a</private> b") == (Prompt("a</private> b"),)


def test_a_self_closing_wrapper_holds_nothing() -> None:
    assert read("a <private/>b") == (Prompt("a b"),)


def test_a_block_that_is_all_wrapper_leaves_no_blank_line() -> None:
    blocks = [text("one"), text("<ide_selection>lines 1-3</ide_selection>"), text("two")]
    assert read(blocks) == (Prompt("one\ntwo"),)


@pytest.mark.parametrize("name", [name for name in WRAPPERS if name != "private"])
def test_a_record_of_wrappers_only_is_no_prompt(name: str) -> None:
    assert read(f"<{name}>The user opened a.py</{name}>") == (Ignored("no-prompt-text"),)


def test_recalled_memory_is_not_learnt_back() -> None:
    typed = '<indexer-memory source="this-tool">Recalled: old</indexer-memory> what did we do?'
    assert read(typed) == (Prompt("what did we do?"),)


def test_many_tags_take_linear_time() -> None:
    hostile = "<system-reminder>" * 100_000 + "<private></private>" * 50_000
    began = time.process_time()
    assert len(read(hostile)) == 1
    assert time.process_time() - began < 5


# --- private


def test_a_private_part_is_cut_out() -> None:
    assert read("key <private>hunter2</private> set") == (Prompt("key  set"),)


@pytest.mark.parametrize(
    "typed",
    [
        "<private>all of it</private>",
        "<private>never closed",
        " <Private>a</private> <private>b",
        "<private>",
    ],
)
def test_a_wholly_private_prompt_keeps_its_place_without_text(typed: str) -> None:
    assert read(typed) == (Prompt("", private=True),)


def test_a_private_prompt_with_an_image_is_private() -> None:
    assert read([text("<private>x</private>"), IMAGE]) == (Prompt("", private=True),)


def test_an_unclosed_private_part_ends_with_its_block() -> None:
    assert read([text("one <private>two"), text("three")]) == (Prompt("one \nthree"),)


def test_an_unclosed_private_part_may_hold_closed_ones() -> None:
    assert read("a <private>b <private>c</private> d") == (Prompt("a"),)


def test_private_beside_a_wrapper_is_private() -> None:
    typed = "<system-reminder>x</system-reminder><private>y</private>"
    assert read(typed) == (Prompt("", private=True),)


# --- commands and shell input


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("<command-name>/clear</command-name>", "/clear"),
        ("<command-name>clear</command-name>", "/clear"),
        (
            "<command-name>/compact</command-name>\n  <command-args>keep the login facts</command-args>",
            "/compact keep the login facts",
        ),
        (
            "<command-message>x</command-message><command-name>/review</command-name><command-args>12\n13</command-args>",
            "/review 12\n13",
        ),
        ("<command-message>init</command-message>", "/init"),
        ("<command-name>/login</command-name><command-args>cut off", "/login cut off"),
    ],
)
def test_a_slash_command_is_a_kind_of_its_own(typed: str, command: str) -> None:
    assert read(typed) == (Prompt(command, kind="command"),)


def test_private_arguments_of_a_command_are_cut_out() -> None:
    typed = "<command-name>/key</command-name><command-args><private>hunter2</private></command-args>"
    assert read(typed) == (Prompt("/key", kind="command"),)


@pytest.mark.parametrize("typed", ["<command-name></command-name>", "<command-message> </command-message>"])
def test_a_command_without_a_name_is_machine_text(typed: str) -> None:
    assert read(typed) == (Ignored("machine-text"),)


def test_shell_input_is_a_kind_of_its_own() -> None:
    assert read("<bash-input>ls -la\npwd</bash-input>") == (Prompt("ls -la\npwd", kind="shell"),)


def test_empty_shell_input_is_machine_text() -> None:
    assert read("<bash-input> </bash-input>") == (Ignored("machine-text"),)


def test_a_queued_command_is_queued() -> None:
    assert read("<command-name>/clear</command-name>", queued=True) == (Prompt("/clear", "command", queued=True),)


# --- what programs wrote


@pytest.mark.parametrize(
    "written",
    [
        "<local-command-stdout>ok</local-command-stdout>",
        "<local-command-stderr>bad</local-command-stderr>",
        "<local-command-caveat>Caveat: generated</local-command-caveat>",
        "Caveat: The messages below were generated by the user while running local commands.",
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        '<teammate-message teammate_id="x">hi</teammate-message>',
        "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
        "<bash-stderr>a</bash-stderr>",
        "<bash-notification>done</bash-notification>",
        "Base directory for this skill: /x",
        "Stop hook feedback:\nfix lint",
        "<objective>ship</objective>",
        "<execution_context>x</execution_context>",
        "Unknown slash command: foo",
    ],
)
def test_machine_text_is_no_prompt(written: str) -> None:
    assert read(written) == (Ignored("machine-text"),)
    assert read([text(written)]) == (Ignored("machine-text"),)
    assert read(f"<system-reminder>x</system-reminder>\n{written}") == (Ignored("machine-text"),)


@pytest.mark.parametrize(
    ("marker", "tool"),
    [("[Request interrupted by user]", False), ("[Request interrupted by user for tool use]", True)],
)
def test_an_interruption_is_an_event(marker: str, tool: bool) -> None:
    assert read([text(marker)]) == (TurnEvent("interruption", {"tool": tool}),)


def test_a_continuation_is_a_compaction_flagged_or_not() -> None:
    summary = "This session is being continued from a previous conversation that ran out of context."
    assert read(summary) == (TurnEvent("compaction", {"summary": summary}),)


# --- visible text


def test_visible_text_is_without_wrapped_and_private_parts() -> None:
    content = [text("one<system-reminder>x</system-reminder>"), IMAGE, text("<private>y</private>two")]
    assert visible_text(content) == "one\ntwo"


@pytest.mark.parametrize("content", [None, 5, {}, [], [IMAGE]], ids=repr)
def test_nothing_has_no_visible_text(content: object) -> None:
    assert visible_text(content) == ""
