"""redaction_words: headers, markup and well-known files give their secrets away; ordinary ones stay whole."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable

import pytest
from seeded import CONTEXTS, pem

from indexer.redact import Redactor
from indexer.redaction_words import around


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WORD, MIXED = "correcthorsebattery", "Tr0ub4dor3xyzzy"
PAIR = b64("ada:lovelace")  # no digit in it
AWS = ["/JalrXUtnFEMIK7MDENGbPxRfiCY12zzzzzzzKEY", "+JalrXUtnFEMI/K7MDENGbPxRfiCY12zzzzzzKEY"]
DATA = b64("openSesamePlease")
assert len(AWS[0]) == len(AWS[1]) == 40
assert not any(c.isdigit() for c in PAIR)

WRITTEN = [
    (WORD, "<password>{}</password>"),
    (WORD, "<proxyPassword>{}</proxyPassword>"),
    (WORD, "<ns:Password type='text'>{}</ns:Password>"),
    (WORD, "<dbPasswd>\n  {}\n</dbPasswd>"),
    (WORD, "<password><![CDATA[{}]]></password>"),
    (WORD, "&lt;password&gt;{}&lt;/password&gt;"),
    (MIXED, "<apiKey>{}</apiKey>"),
    (MIXED, "<client-secret>{}</client-secret>"),
    (MIXED, '<string name="api_key">{}</string>'),
    (MIXED, "<key>AuthToken</key>\n\t<string>{}</string>"),
    (MIXED, '<property name="password" value="{}"/>'),
    (MIXED, '<add key="Shop.ApiKey" value="{}" />'),
    (MIXED, "- name: DB_PASSWORD\n  value: {}\n"),
    (MIXED, '{{"name": "DB_PASSWORD", "value": "{}"}}'),
    (MIXED, "Cookie: theme=dark; sessionid={}; lang=en"),
    (MIXED, "Set-Cookie: sid={}; Path=/; HttpOnly"),
    (MIXED, "set-cookie: __Host-auth={}; Secure"),
    (MIXED, "'Cookie': 'PHPSESSID={}'"),
    (MIXED, "curl -b 'session={}' https://x.example.org"),
    (MIXED, "curl --cookie session={} https://x.example.org"),
    (MIXED, ".example.org\tTRUE\t/\tTRUE\t1793000000\tsession\t{}"),
    (PAIR, '{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}'),
    (PAIR, "//registry.example.org/:_auth={}"),
    (PAIR, "Authorization: Basic {}"),
    (PAIR, '"Authorization": "Basic {}"'),
    (AWS[0], "aws_secret_access_key = {}"),
    (AWS[1], "AWS_SECRET_ACCESS_KEY={}"),
    (AWS[0], '"SecretAccessKey": "{}"'),
    (AWS[1], "ada,AKIAABCDEFGHIJKLMNOP,{}"),
    (AWS[0], "secret_key: {}"),
    (DATA, "apiVersion: v1\ndata:\n  password: {}\nkind: Secret\n"),
    (DATA, "kind: Secret\ndata:\n  hush: {}\n  other: YQ==\n"),
    (DATA, '{{"data": {{"hush": "{}"}}, "kind": "Secret"}}'),
    (DATA, "password: {}"),
    (WORD, "kind: Secret\nstringData:\n  hush: {}\n"),
    (WORD, "machine api.example.org\n  login ada\n  password {}\n"),
    (WORD, "     3→machine api.example.org\n     4→  login ada\n     5→  password {}\n"),
    (WORD, "3:machine api.example.org\n4:login ada\n5:password {}\n"),
    (WORD, "machine api.example.org password {} login ada"),
    (WORD, "db_PASSWORD=x DB_PASS={}"),
    (WORD, "Server=db;User Id=sa;Password={};"),
    ("!Passw0rd9x", "DB_PASSWORD={}"),
    ("@Passw0rd9x", 'password = "{}"'),
    (b64("-----" + "BEGIN RSA PRIVATE KEY-----\n" + "MIIE" * 40), "client-key-data: {}"),
]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


@pytest.mark.parametrize(("secret", "written"), WRITTEN)
def test_what_the_words_around_it_tell_is_found(redactor: Redactor, secret: str, written: str) -> None:
    found = redactor.text(written.format(secret))
    assert "[REDACTED:" in found
    assert secret not in found


@pytest.mark.parametrize("context", CONTEXTS)
def test_and_in_any_context(redactor: Redactor, context: str) -> None:
    texts = [(secret, CONTEXTS[context](written.format(secret))) for secret, written in WRITTEN]
    assert [text for secret, text in texts if secret in redactor.text(text)] == []


def numbered(text: str) -> str:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.split("\n"), 1))


def added(text: str) -> str:
    return text.replace("\n", "\n+")


@pytest.mark.parametrize("wrap", [str, numbered, added, json.dumps])
@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_an_unclosed_private_key_is_found_however_it_is_escaped(
    redactor: Redactor, wrap: Callable[[str], str], times: int
) -> None:
    key = "\n".join(pem(random.Random(7)).split("\n")[:-1])
    text = wrap(f"first\n{key}\nand then prose")
    for _ in range(times):
        text = json.dumps({"stdout": text})
    found = redactor.text(text)
    assert not [line for line in key.split("\n")[1:] if line in found]
    assert "and then prose" in found


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_putty_key_goes(redactor: Redactor, times: int) -> None:
    lines = ["AAAAgQ" + "b7Xk" * 14, "Zm9vYmFy" + "Q1w2" * 13, "shortend=="]
    text = "PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 1\nAAAAB3\nPrivate-Lines: 3\n" + "\n".join(lines) + "\nrest"
    for _ in range(times):
        text = json.dumps({"stdout": text})
    found = redactor.text(text)
    assert not [line for line in lines if line in found]
    assert "rest" in found


def test_a_cookies_other_values_stay(redactor: Redactor) -> None:
    found = redactor.text(f"Set-Cookie: sid={MIXED}; Path=/; Max-Age=3600; theme=darkmode")
    assert found.startswith("Set-Cookie: sid=[REDACTED:cookie:")
    assert found.endswith("; Path=/; Max-Age=3600; theme=darkmode")


@pytest.mark.parametrize(
    "text",
    [
        "<password>${db.password}</password>",
        "<password></password> and <password/>",
        "<secret>the quick brown fox</secret>",
        "<token>name</token> <key>CFBundleName</key><string>Shop12345</string>",
        '<input name="password" type="password" value="">',
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n",
        "- name: PASSWORD_MIN_LENGTH\n  value: 12\n",
        "Cookie: theme=dark; lang=en; consent=accepted",
        "Set-Cookie: name=value; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
        "kind: ConfigMap\ndata:\n  greeting: aGVsbG8gd29ybGQ=\n",
        '{"auth": "required"}',
        "auth: authenticate()",
        "Authorization: Basic realm",
        "the login page password field is empty",
        "login as admin, then the password prompt comes",
        "PWD=/home/dev/shop OLDPWD=/tmp",
        "PASS=12 FAIL=0",
        "user=ada password=form.password",
        "sha512-" + "Ab1/" * 21 + "Ab==",
        "secret_key: /srv/app/Keys2/live3/file",
    ],
)
def test_ordinary_markup_and_settings_are_untouched(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def test_kinds_differ() -> None:
    kinds = [rule.kind for rule in around()]
    assert len(kinds) == len(set(kinds)) > 10
