"""redaction_forms: what reads as a secret, and what as code, prose, a path or the place of one."""

from __future__ import annotations

import base64
import re

import pytest

from indexer.redaction_forms import QUOTED, is_code, is_encoded, is_pair, is_place, is_random, looks_chosen


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("value", ["tr0ub4dor&3", "Ab12cd34!", "9f8e7d6c5b"])
def test_passwords_look_chosen(value: str) -> None:
    assert looks_chosen(value)


@pytest.mark.parametrize(
    "value", ["hunter2", "os.environ", "name1", "$TOKEN", "changeme", "/srv/app1/x", "http://h1/x"]
)
def test_code_and_names_do_not(value: str) -> None:
    assert not looks_chosen(value)


@pytest.mark.parametrize("value", ["<password>", "$X", "xxxx", "your-key", "none", "EXAMPLE_KEY", "****"])
def test_places(value: str) -> None:
    assert is_place(value)
    assert not is_place("Tr0ub4dor")


@pytest.mark.parametrize("value", ["getToken()", "self.token", "password", "MAX_TOKENS", "12345"])
def test_code(value: str) -> None:
    assert is_code(value)


@pytest.mark.parametrize("value", ["/JalrXUtnFEMIK7MDENGbPx1fiCY", "+9alrXUtnFEMIK7MDENGbPx1fiCY="])
def test_keys_that_begin_like_paths(value: str) -> None:
    assert is_random(value)


@pytest.mark.parametrize("value", ["/usr/local/lib/python3/x1", "/Users/Ada/Shop2/Live3", "JalrXUtnFEMIK7", "/a"])
def test_paths(value: str) -> None:
    assert not is_random(value)


@pytest.mark.parametrize("text", ["openSesame", "correct horse", "hunter2\n"])
def test_texts_in_base64(text: str) -> None:
    assert is_encoded(b64(text))


@pytest.mark.parametrize(
    "value", ["password", "Optional", "username", "YQ==", "AbCdEfG", b64("\x00\x01\x02\x03\xff\xfe")]
)
def test_words_and_bytes_are_none(value: str) -> None:
    assert not is_encoded(value)


def test_pairs() -> None:
    assert is_pair(b64("ada:lovelace"))
    assert is_pair(b64("ada:lovelace").rstrip("="))
    assert not is_pair(b64("ada:"))
    assert not is_pair(b64("ada lovelace"))
    assert not is_pair("authenticate")


def test_a_quoted_argument_needs_its_own_quotes() -> None:
    assert re.compile(QUOTED).fullmatch("'a b")
    assert not re.compile(QUOTED).fullmatch("a b c")
