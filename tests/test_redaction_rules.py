"""redaction_rules: what is found, what is left alone, and how long the worst text takes."""

from __future__ import annotations

import json
import re
import sysconfig
import time
from collections import Counter
from pathlib import Path

import pytest
from seeded import CONTEXTS, TOKENS, WRITTEN, Secret, innocent, secrets

from indexer.redact import Redactor
from indexer.redaction_files import FILE_HINT, FILE_WORDS, SECRET_FILE
from indexer.redaction_rules import BUILTIN

KEY = b"k" * 32
SEEDED = list(secrets())
PARTS = 30
"""Of a secret of several lines, each line so long is a secret."""


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(KEY)


def escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def pieces(secret: Secret) -> set[str]:
    """What must not be found of a secret, however often it was escaped."""
    lines = {line for line in secret.value.split("\n") if len(line) > PARTS}
    whole = {secret.value, escaped(secret.value), escaped(escaped(secret.value))}
    return whole | lines


def missed(redactor: Redactor, context: str) -> list[Secret]:
    written = CONTEXTS[context]
    return [one for one in SEEDED if any(piece in redactor.text(written(one.written)) for piece in pieces(one))]


# --- what is found


def test_there_are_more_than_25_kinds_and_300_secrets() -> None:
    assert len({rule.kind for rule in BUILTIN}) == len(BUILTIN) > 25
    assert len(TOKENS) + len(WRITTEN) > 25
    assert len(SEEDED) == len({one.value for one in SEEDED}) > 300


@pytest.mark.parametrize("context", CONTEXTS)
def test_at_least_97_of_100_are_redacted(redactor: Redactor, context: str) -> None:
    found = missed(redactor, context)
    assert len(found) <= 0.03 * len(SEEDED), Counter(one.kind for one in found)


@pytest.mark.parametrize("kind", TOKENS)
def test_a_kind_with_a_form_of_its_own_is_found_everywhere(redactor: Redactor, kind: str) -> None:
    left = {context: missed_of(redactor, context, kind) for context in CONTEXTS}
    assert not any(left.values()), left


def missed_of(redactor: Redactor, context: str, kind: str) -> list[Secret]:
    of_kind = [one for one in SEEDED if one.kind == kind]
    return [one for one in of_kind if one.value in redactor.text(CONTEXTS[context](one.written))]


def test_a_mark_says_the_kind(redactor: Redactor) -> None:
    token = next(one.value for one in SEEDED if one.kind == "github")
    assert re.fullmatch(r"see \[REDACTED:github-token:[0-9a-f]{8}\]\.", redactor.text(f"see {token}."))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgres://u:hunter2hunter2@db.invalid/x", "postgres://u:{}@db.invalid/x"),
        ("redis://:s3cr3tpw@cache:6379", "redis://:{}@cache:6379"),
        ("DB_PASSWORD=correcthorsebattery", "DB_PASSWORD={}"),
        ("export TOKEN='ab12cd34ef56'", "export TOKEN='{}'"),
        ('"password": "tr0ub4dor&3"', '"password": "{}"'),
        (r"{\"password\": \"tr0ub4dor&3\"}", r"{\"password\": \"{}\"}"),
        ("Server=db;Uid=sa;Pwd=tr0ub4dor;", "Server=db;Uid=sa;Pwd={}"),
        ("curl -u ada:tr0ub4dor https://x", "curl -u ada:{} https://x"),
        ("os.environ['API_KEY'] = 'ab12cd34ef56'", "os.environ['API_KEY'] = '{}'"),
        ("machine x login ada password hunter2", "machine x login ada password {}"),
        ("//registry.npmjs.org/:_authToken=0f1e2d3c4b5a", "//registry.npmjs.org/:_authToken={}"),
    ],
)
def test_only_the_secret_is_taken_out(redactor: Redactor, text: str, left: str) -> None:
    head = left.partition("{}")[0]
    found = redactor.text(text)
    assert found.startswith(head + "[REDACTED:"), found
    assert re.sub(r"\[REDACTED:[^\]]*\]", "{}", found) == left


def test_an_unclosed_private_key_goes_as_far_as_its_lines(redactor: Redactor) -> None:
    head = "-----" + "BEGIN RSA PRIVATE KEY-----"
    found = redactor.text(f"{head}\n{'MIIE' * 16}\n{'Ab1+' * 16}\n\nand then some prose")
    assert found.startswith("[REDACTED:private-key:")
    assert found.endswith("\n\nand then some prose")


def test_a_public_key_is_none(redactor: Redactor) -> None:
    text = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----"
    assert redactor.text(text) == text


# --- what is left alone


@pytest.mark.parametrize(
    "form",
    ["{}", '"id": "{}"', "commit {}\n", "x-request-id: {}", "https://example.org/{}", "https://x.example.org/?key={}"],
)
def test_shas_uuids_and_request_ids_are_untouched(redactor: Redactor, form: str) -> None:
    texts = [form.format(one) for one in innocent()]
    assert [redactor.text(text) for text in texts] == texts


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD"]',
        "password: str | None = None",
        "token = response.json()['token']",
        "PASSWORD=$DB_PASSWORD",
        "SECRET_KEY=<your secret key>",
        "api_key=YOUR_API_KEY",
        "https://user:password@example.org",
        "Authorization: Bearer $TOKEN",
        '{"input_tokens":123456,"cache_read_input_tokens":1234567}',
        "max_tokens: 8192, token_count=31999",
        "the token is read from the file and the password is asked for",
        "const secret = await getSecret(name1)",
        "git show 3f786850e387550fdab836ed7e6dc881de23001b",
        "task-abcdefghijklmnopqrstuvwxyzabcdefghij",
        "sk-learn and risk-assessment-for-everybody",
    ],
)
def test_ordinary_text_is_untouched(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def code() -> list[str]:
    """The standard library without its tests: 12 MB of code and prose."""
    library = Path(sysconfig.get_paths()["stdlib"])
    skipped = {"site-packages", "test", "tests", "idle_test"}
    files = [path for path in sorted(library.rglob("*.py")) if not skipped & set(path.parts)]
    return [path.read_text("utf-8", "replace") for path in files]


@pytest.mark.slow
def test_at_most_two_false_positives_a_megabyte() -> None:
    redactor, size = Redactor(KEY), 0
    for text in code():
        size += len(text)
        redactor.text(text)
    assert size > 5_000_000
    assert redactor.redacted <= 2 * size / 1e6


# --- how rules are made


@pytest.mark.parametrize("rule", BUILTIN, ids=lambda rule: rule.kind)
def test_what_a_pattern_finds_its_hint_and_its_words_find_too(rule: object) -> None:
    pattern, hint, words = rule.pattern, re.compile(rule.hint), rule.words  # type: ignore[attr-defined]
    for one in SEEDED:
        for write in CONTEXTS.values():
            text = write(one.written)
            if pattern.search(text):
                assert hint.search(json.dumps(text)), text
                assert hint.search(text), text
                assert any(word in text.lower() for word in words), text


def test_words_are_in_lower_case() -> None:
    assert all(word == word.lower() for rule in BUILTIN for word in rule.words)
    assert all(word == word.lower() for word in FILE_WORDS)


HOSTILE = [
    *("A-", "eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJaaaaaaaa.", "sk-", "sk-ant-", "://", "://a:", "://a:b", "AKIA"),
    *("-----BEGIN RSA PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----" + "A" * 20),
    *("password", "password=", 'password="', "password: ", "token_key_key=", "secret=abcdefg1 ", "secret=abcdefg1"),
    *("<private>", "</private>", "<private", "`<private>", "<system-reminder><private>", "[REDACTED:", "\ud800"),
    *("[REDACTED:jwt:01234567]", "password=[REDACTED:jwt:01234567]", "login a password ", "login a ", "-u a:b "),
    *("--token ", "--token=abcd1234 ", "a-", "---", "bearer ", "Bearer a1", "authorization: basic ", "1//0", "xox"),
    *("SG.aaaaaaaaaaaaaaaaaaaa.", "0:AA", "11111111", "sig=", "?sig=", "hooks.slack.com/services/", "sl.", "pat"),
    *("key-", "0a", "dp.st.", "cio", "\\n", "\\nsk-", "\\u0073", "a" * 50 + " ", "\n", " ", "/x:y@", "cat .env ; "),
    *(
        "mysql -p",
        "mysql ",
        "docker login ",
        "echo a|",
        "--password-stdin <<<",
        "curl -u a:",
        "-u a:'",
        "zip -P ",
        "openssl -k ",
    ),
    *(
        "<password>",
        "&lt;password&gt;",
        "<key>token</key>",
        "name: password\n",
        "cookie: a=",
        "a=b; ",
        "TRUE\t/\tTRUE\t",
    ),
    *("stringData:\n", "kind: Secret\ndata:\n a: YWJjZGVm\n", "machine a login b ", "login a\n", "Private-Lines: 1\n"),
    *(
        "secret_access_key ",
        "AKIA" + "A" * 16 + " ",
        "password=a host=",
        "A_PASS=a ",
        "secret set A=b ",
        "1→",
        "  1→password ",
    ),
    *("pwd" + "'" * 6 + "]" + " " * 8, "passphrase_key_key", "password" + '"' * 7, "api_key" * 3 + " " * 9),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", HOSTILE, ids=lambda seed: repr(seed[:60]))
def test_the_worst_text_takes_milliseconds_a_kilobyte_at_most(redactor: Redactor, seed: str) -> None:
    """As in test_redaction_files: the bar is one on a quiet machine."""
    text = (seed * (200_000 // len(seed) + 1))[:200_000] + "!"
    redactor.text("warm: password=ab12cd34ef")
    took = []
    for _ in range(3):  # another process may have had the machine
        began = time.process_time()
        redactor.text(text)
        took.append(time.process_time() - began)
    assert min(took) < 0.6


# --- files


@pytest.mark.parametrize(
    "path",
    [
        *("/home/dev/shop/.env", ".env", ".env.local", "C:\\shop\\.env.production", "/srv/prod.env", ".envrc"),
        *("/home/dev/.ssh/id_rsa", "id_ed25519", "/etc/ssl/server.pem", "tls.key", "/home/dev/.aws/credentials"),
        *("credentials.json", "/home/dev/.netrc", ".npmrc", ".pypirc", ".pgpass", "secrets.yaml", ".git-credentials"),
        *("service-account-prod.json", "terraform.tfvars", "prod.auto.tfvars", "terraform.tfstate", "store.kdbx"),
        *("/root/.kube/config", "/root/.docker/config.json", "config/credentials.yml.enc", ".ENV"),
    ],
)
def test_files_of_secrets(path: str) -> None:
    assert SECRET_FILE(path)
    assert re.search(FILE_HINT, json.dumps({"file_path": path}))
    assert any(word in path.lower() for word in FILE_WORDS)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", "/shop/.env.template", "id_rsa.pub", "environment.py", "env.ts", "dotenv.js"),
        *("credentials.py", "src/credentials/index.ts", "keys.md", "monkey", "secrets.py", "token.go", "config.json"),
    ],
)
def test_other_files(path: str) -> None:
    assert not SECRET_FILE(path)
