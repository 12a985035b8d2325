"""redaction_files: a secret file's content goes wherever a text shows it; its name, and other files, stay."""

from __future__ import annotations

import json
import re
import time

import pytest
from redacting import calls, through

from indexer.redact import Redactor
from indexer.redaction_files import FILE_HINT, FILE_WORDS, SECRET_FILE, TELLER_HINT, TELLER_WORDS, TELLERS, is_read
from indexer.redaction_settings import Settings
from indexer.text import MARK

HUSH = "wild-tame"


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


def secret(path: str) -> bool:
    return bool(SECRET_FILE(path))


WRITES = [
    "cat > .env <<EOF\nA={}\nB=1\nEOF\nnpm test",
    "cat > .env <<'EOF'\nA={}\nEOF\nnpm test",
    "cat <<-EOF > /srv/app/.env.local\n\tA={}\n\tEOF\nnpm test",
    'cat >> config/.env << "END_1"\nA={}\nEND_1\nnpm test',
    "cat <<EOF | sudo tee /srv/.env\nA={}\nEOF\nnpm test",
    "ssh host 'cat > /srv/.env' <<EOF\nA={}\nEOF\nnpm test",
    "cat > .env <<EOF\nA={}\nB=1",
    "cat > .env <<< 'A={}'",
    "echo A={} >> .env",
    "echo 'A={}' > .env && npm test",
    'echo "A={};b" >> /srv/app/.env; npm test',
    'echo -e "A={}\nB=2" > .env',
    "printf 'A=%s\\n' {} >> .env",
    "echo A={} | tee -a .env",
    "echo A={} | sudo tee -a /srv/.env >/dev/null",
    "{{ echo A={}; echo B=2; }} > .env",
    "(echo A={}; echo B=2) >> .env",
    "echo A={} >> .env; echo B=2 >> .env",
    "tee .env <<EOF\nA={}\nEOF\n",
    "echo {} > ~/.ssh/id_rsa",
    "echo '//registry/:x={}' > ~/.npmrc",
    "Set-Content -Path .env -Value 'A={}'",
    "'A={}' | Out-File .env; echo 'A={}' | Out-File .env",
]
SHOWS = [
    ".env:3:A={}",
    "./app/.env:A={}",
    "app/.env.local:12:export A={}\napp/.env.local-13-B={}",
    "src/a.py:3:x = 1\n.env:A={}\nsrc/b.py:4:y = 2",
    ".env\n3:A={}\n4:B={}\n\nsrc/a.py\n3:x = 1",
    "==> .env <==\nA={}\n\n==> src/a.py <==\nx = 1",
    "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-A={}\n+A={}x\ndiff --git a/b.py b/b.py\n+x = 1",
    "/home/dev/.netrc:1:machine x {}",
    "deploy/server.key:2:{}",
    'config/credentials.json:4:  "a": "{}"',
]


@pytest.mark.parametrize("text", [*WRITES, *SHOWS])
@pytest.mark.parametrize("times", [0, 1, 2])
def test_the_content_goes(redactor: Redactor, text: str, times: int) -> None:
    whole = text.replace("'A={}' | Out-File .env; ", "").replace("{}", HUSH).replace("{{", "{").replace("}}", "}")
    for _ in range(times):
        whole = json.dumps({"stdout": whole})
    found = redactor.text(whole)
    assert HUSH not in found
    assert redactor.text(found) == found
    assert ("npm test" in found) == ("npm test" in text)
    assert ("x = 1" in found) == ("x = 1" in text)


@pytest.mark.parametrize("text", WRITES)
def test_a_command_that_writes_one_is_stored_without_it(redactor: Redactor, text: str) -> None:
    command = text.replace("'A={}' | Out-File .env; ", "").replace("{}", HUSH).replace("{{", "{").replace("}}", "}")
    lines = through(redactor, calls("Bash", {"command": command}, "done"))
    assert HUSH not in json.dumps(lines)


@pytest.mark.parametrize(
    "text",
    [
        "echo .env >> .gitignore",
        "echo done > out.txt; cat > a.py <<EOF\nx = 1\nEOF",
        "docker run -v ~/.ssh/id_rsa:/root/.ssh/id_rsa:ro x",
        "volumes:\n  - .env:/srv/.env\n",
        "see .env: it names the database",
        ".env:3:5: unexpected token",
        "ls -a\n.env\n.gitignore\nsrc",
        "src/env.py:3:A=tame\nREADME.md:4:B=tame",
        "++ x\n+++ b/src/a.py\n@@\n+A=tame",
        "cp .env.example .env && echo copied",
        "modified:   .env\nnew file: server.key",
    ],
)
def test_what_only_names_one_stays(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


@pytest.mark.parametrize(
    "command",
    [
        *("cat .env*", "cat < .env", "jq . credentials.json", "while read l; do echo $l; done < .env"),
        *("python -c \"print(open('.env').read())\"", "node -e \"console.log(fs.readFileSync('.env','utf8'))\""),
        *(
            "find . -name .env -exec cat {} +",
            "git show HEAD:.env",
            "openssl rsa -in server.key -text",
            "/bin/cat .env",
        ),
        *("git diff .env", "sudo /usr/bin/head -3 /srv/.env", "ls .env | xargs cat", "echo x | tee .env"),
        *("kubectl get secret db -o jsonpath='{.data.x}' | base64 -d", "op read op://x/y/z", "gh auth token"),
        *(
            "aws secretsmanager get-secret-value --secret-id x",
            "vault kv get secret/x",
            "security find-generic-password -w",
        ),
        *("aws ssm get-parameter --name x --with-decryption", "gcloud auth print-access-token", "openssl rand -hex 32"),
    ],
)
def test_commands_whose_output_is_secret(command: str) -> None:
    assert is_read(command, secret)
    assert "tame" not in json.dumps(through(Redactor(), calls("Bash", {"command": command}, "tame")))


@pytest.mark.parametrize(
    "command",
    [
        *("echo .env >> .gitignore", "rm .env", "concat .env", "cat .env.example", "ls -la .env", "git add .env"),
        *(
            "kubectl get pods",
            "openssl version",
            "cp .env /tmp/x",
            "pass the salt",
            "git diff src/a.py",
            "chmod 600 id_rsa",
        ),
    ],
)
def test_commands_whose_output_is_not(command: str) -> None:
    assert not is_read(command, secret)
    assert "tame" in json.dumps(through(Redactor(), calls("Bash", {"command": command}, "tame")))


def test_a_users_own_secret_files_are_known_too() -> None:
    redactor = Redactor(b"", Settings(secret_files=(re.compile(r"(?:.*/)?[^/]*\.hush"),)))
    assert HUSH not in redactor.text(f"cat > a.hush <<EOF\n{HUSH}\nEOF")
    assert HUSH not in redactor.text(f"x/a.hush:3:{HUSH}")


def test_the_mark_says_that_it_was_a_file(redactor: Redactor) -> None:
    assert MARK.sub(r"<\1>", redactor.text("echo A=tame >> .env")) == "echo <secret-file> >> .env"


def test_hints_hold_what_the_patterns_find() -> None:
    for command in ("op read x", "pwgen 20", "kubectl -n x get secret y", "aws ssm get-parameters --with-decryption"):
        assert TELLERS.search(command)
        assert re.search(TELLER_HINT, command)
        assert any(word in command for word in TELLER_WORDS)
    assert all(word == word.lower() for word in (*FILE_WORDS, *TELLER_WORDS))
    assert re.search(FILE_HINT, ".env:3:A=b")


HOSTILE = [
    *(
        "echo ",
        "> .env ",
        "> .env <<E\n",
        "echo a > .env ",
        "<<EOF ",
        ".env:",
        ".env:1:",
        ".env\n1:\n",
        "==> .env <==\n",
    ),
    *(
        "+++ b/.env\n",
        "tee ",
        "tee -a .env",
        "{ echo } > .env ",
        "(",
        "Set-Content .env ",
        "\\n",
        "> .env <<E\\n",
        ">",
        "id_rsa-",
    ),
    *(
        ".env-",
        "a:",
        "a-",
        "install /dev/stdin .env ",
        "kubectl secret ",
        "kubectl ",
        "aws ssm get-parameter ",
        "find . ",
        "open(",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", HOSTILE, ids=lambda seed: repr(seed[:60]))
def test_the_worst_text_takes_milliseconds_a_kilobyte_at_most(redactor: Redactor, seed: str) -> None:
    """The bar is a millisecond a kilobyte, on a machine that does nothing else; a busy one takes twice that, and
    what is not linear takes far more than three times."""
    text = (seed * (200_000 // len(seed) + 1))[:200_000] + "! .env\n"
    took = []
    for _ in range(3):
        began = time.process_time()
        redactor.text(text)
        is_read(text[:4_096], secret)
        took.append(time.process_time() - began)
    assert min(took) < 0.6
