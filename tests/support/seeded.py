"""Synthetic secrets: every kind that is promised, in every place where one turns up.

Made of parts at run time, by the formats that vendors document and not by our rules: nothing here looks
like a live key to whoever scans this repository. The same seed gives the same secrets.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

from transcripts import uid

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM = UPPER + LOWER + DIGITS
URLSAFE = ALNUM + "-_"
HEX = DIGITS + "abcdef"


class Secret(NamedTuple):
    """value: what must not be found. written: how it stands in a text; has the value in it."""

    kind: str
    value: str
    written: str


def _of(rng: random.Random, letters: str, length: int) -> str:
    """Random, with a digit and both cases where the alphabet has them."""
    chosen = [rng.choice(letters) for _ in range(length)]
    for place, group in enumerate((DIGITS, UPPER, LOWER)):
        if set(group) & set(letters) and length > 6:
            chosen[2 * place + 1] = rng.choice(sorted(set(group) & set(letters)))
    return "".join(chosen)


def _prefixed(*prefix: str, letters: str = ALNUM, length: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(prefix) + _of(rng, letters, length)


def _jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, body = part({"alg": "HS256", "typ": "JWT"}), part({"sub": _of(rng, DIGITS, 10), "name": "Ada"})
    return f"{head}.{body}.{_of(rng, URLSAFE, 43)}"


def _password(rng: random.Random) -> str:
    return _of(rng, LOWER + DIGITS, 6) + rng.choice("!#%+.") + _of(rng, ALNUM, 8)


def pem(rng: random.Random, kind: str = "RSA ") -> str:
    """A private key block."""
    lines = "\n".join(_of(rng, ALNUM + "+/", 64) for _ in range(6))
    head, foot = "-----" + "BEGIN ", "-----" + "END "
    return f"{head}{kind}PRIVATE KEY-----\n{lines}\n{foot}{kind}PRIVATE KEY-----"


TOKENS: dict[str, Callable[[random.Random], str]] = {
    "anthropic": _prefixed("sk-", "ant-", "api03-", letters=URLSAFE, length=95),
    "openai project": _prefixed("sk-", "proj-", letters=URLSAFE, length=74),
    "openai": _prefixed("sk", "-", length=48),
    "openrouter": _prefixed("sk-", "or-v1-", letters=HEX, length=64),
    "aws id": _prefixed("AK", "IA", letters=UPPER + DIGITS, length=16),
    "aws session id": _prefixed("AS", "IA", letters=UPPER + "234567", length=16),
    "github": _prefixed("gh", "p_", length=36),
    "github app": _prefixed("gh", "s_", length=36),
    "github fine-grained": _prefixed("github", "_pat_", letters=ALNUM + "_", length=82),
    "gitlab": _prefixed("gl", "pat-", letters=URLSAFE, length=20),
    "slack bot": lambda rng: "xo" + f"xb-{_of(rng, DIGITS, 12)}-{_of(rng, DIGITS, 12)}-{_of(rng, ALNUM, 24)}",
    "slack app": lambda rng: "xa" + f"pp-1-{_of(rng, UPPER + DIGITS, 11)}-{_of(rng, DIGITS, 12)}-{_of(rng, HEX, 64)}",
    "slack webhook": lambda rng: (
        "https://hooks." + f"slack.com/services/T{_of(rng, UPPER, 8)}/B{_of(rng, UPPER, 8)}/" + _of(rng, ALNUM, 24)
    ),
    "discord webhook": lambda rng: (
        "https://discord" + f".com/api/webhooks/{_of(rng, DIGITS, 18)}/{_of(rng, URLSAFE, 68)}"
    ),
    "stripe": _prefixed("sk_", "live_", length=24),
    "stripe restricted": _prefixed("rk_", "live_", length=24),
    "stripe webhook": _prefixed("wh", "sec_", length=32),
    "google api": _prefixed("AI", "za", letters=URLSAFE, length=35),
    "google client": _prefixed("GOC", "SPX-", letters=URLSAFE, length=28),
    "google access": _prefixed("ya", "29.", letters=URLSAFE, length=120),
    "jwt": _jwt,
    "npm": _prefixed("np", "m_", length=36),
    "pypi": _prefixed("py", "pi-AgEIcHlwaS5vcmc", letters=URLSAFE, length=120),
    "rubygems": _prefixed("ruby", "gems_", letters=HEX, length=48),
    "hugging face": _prefixed("h", "f_", length=34),
    "sendgrid": lambda rng: "S" + f"G.{_of(rng, URLSAFE, 22)}.{_of(rng, URLSAFE, 43)}",
    "twilio": _prefixed("S", "K", letters=HEX, length=32),
    "digitalocean": _prefixed("dop", "_v1_", letters=HEX, length=64),
    "shopify": _prefixed("shp", "at_", letters=HEX, length=32),
    "vault": _prefixed("hv", "s.", letters=URLSAFE, length=90),
    "linear": _prefixed("lin", "_api_", length=40),
    "postman": lambda rng: "PM" + f"AK-{_of(rng, HEX, 24)}-{_of(rng, HEX, 34)}",
    "docker": _prefixed("dckr", "_pat_", letters=URLSAFE, length=27),
    "telegram": lambda rng: f"{_of(rng, '123456789', 9)}:A" + f"A{_of(rng, URLSAFE, 33)}",
    "new relic": _prefixed("NR", "AK-", letters=UPPER + DIGITS, length=27),
    "databricks": _prefixed("da", "pi", letters=HEX, length=32),
    "groq": _prefixed("gs", "k_", length=52),
    "figma": _prefixed("fi", "gd_", letters=URLSAFE, length=40),
    "notion": _prefixed("nt", "n_", length=46),
    "age": _prefixed("AGE-", "SECRET-KEY-1", letters=UPPER + DIGITS, length=58),
    "private key": pem,
    "openssh key": lambda rng: pem(rng, "OPENSSH "),
}
"""Kinds that are told by their own form, in any text."""

WRITTEN: dict[str, tuple[Callable[[random.Random], str], Callable[[str], str]]] = {
    "environment": (_password, lambda secret: f"DB_PASSWORD={secret}"),
    "aws secret": (_prefixed(letters=ALNUM + "/+", length=40), lambda secret: f"AWS_SECRET_ACCESS_KEY={secret}"),
    "yaml": (_password, lambda secret: f"  password: {secret}"),
    "json": (_prefixed(length=32), lambda secret: f'{{"api_key": "{secret}", "region": "eu"}}'),
    "code": (_prefixed(length=24), lambda secret: f'client_secret = "{secret}"'),
    "url": (_prefixed(length=14), lambda secret: f"postgres://app:{secret}@db.internal:5432/shop"),
    "remote": (_prefixed(length=20), lambda secret: f"https://ci:{secret}@git.example.org/team/app.git"),
    "bearer": (_prefixed(letters=URLSAFE, length=40), lambda secret: f"Authorization: Bearer {secret}"),
    "basic": (
        lambda rng: base64.b64encode(f"app:{_password(rng)}".encode()).decode(),
        lambda secret: f'curl -H "Authorization: Basic {secret}" https://api.example.org',
    ),
    "api header": (_prefixed(length=32), lambda secret: f"X-Api-Key: {secret}"),
    "flag": (_password, lambda secret: f"deploy --token {secret} --yes"),
    "azure": (
        lambda rng: _of(rng, ALNUM + "+/", 86) + "==",
        lambda secret: f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={secret};EndpointSuffix=core",
    ),
    "netrc": (_password, lambda secret: f"machine api.example.org login ada password {secret}"),
}
"""Kinds that are told by what stands around them."""


def secrets(each: int = 8, seed: int = 4) -> Iterator[Secret]:
    """So many of every kind."""
    rng = random.Random(seed)
    for _ in range(each):
        for kind, make in TOKENS.items():
            value = make(rng)
            yield Secret(kind, value, value)
        for kind, (make, write) in WRITTEN.items():
            value = make(rng)
            yield Secret(kind, value, write(value))


CONTEXTS: dict[str, Callable[[str], str]] = {
    "prompt": lambda text: f"please use {text} for the deploy",
    "shell output": lambda text: f"$ ./show\n{text}\nexit 0\n",
    "numbered file": lambda text: f"     1→# settings\n     2→{text}\n     3→\n",
    "code": lambda text: f"value = load(\n    '''{text}''',\n)\n",
    "header": lambda text: f"> X-Value: {text}\r\n> Accept: */*\r\n",
    "json in json": lambda text: json.dumps({"stdout": json.dumps({"line": f"first\n{text}\nlast"})}),
    "diff": lambda text: f"@@ -1 +1 @@\n-old\n+{text}\n",
}
"""Texts that hold a secret."""


def innocent() -> list[str]:
    """Ids that look random and are no secrets."""
    shas = [uid("sha", n).replace("-", "") + uid("more", n)[:8] for n in range(40)]
    requests = [f"req_01{_of(random.Random(n), ALNUM, 22)}" for n in range(20)]
    messages = [f"msg_01{_of(random.Random(n), ALNUM, 22)}" for n in range(20)]
    calls = [f"toolu_01{_of(random.Random(n), ALNUM, 22)}" for n in range(20)]
    return [*shas, *(uid(n) for n in range(40)), *requests, *messages, *calls]
