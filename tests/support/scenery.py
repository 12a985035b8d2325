"""A memory of sessions that would break a page if anything could: for the tests of what people look at."""

from __future__ import annotations

from pathlib import Path

from memories import Memory
from transcripts import Transcript

from indexer import app, config

SCRIPT = "<script>alert(document.cookie)</script>"
ANSWER = """\
# A heading

It **works**: `a < b`.

- one
  - two

| a | b |
|---|---|
| 1 | 2 |

```js
</code></pre><script>alert(1)</script>
```

<img src=x onerror=alert(1)> <script>alert(2)</script>
[run](javascript:alert(1)) [data](data:text/html,<script>alert(1)</script>) [ok](https://example.org/?a=1&b="2")
![shot](https://evil.example/pixel.png) ![run](javascript:alert(1)) [![in](https://evil.example/x.png)](https://example.org)
<https://example.org/auto> &lt;b&gt; \x1b[31mred\x1b[0m
"""
FILE = '/home/dev/shop/"><img src=x onerror=alert(1)>.py'


def hostile() -> Transcript:
    """Script in a prompt, an answer, a file's name, a command, its output and an edit; escapes everywhere."""
    session = Transcript("hostile")
    session.user(f'Fix {SCRIPT} "><svg onload=alert(1)> \x1b]0;owned\x07 now')
    session.text(ANSWER)
    session.tool("Read", {"file_path": FILE}, f"{SCRIPT}\x1b[2J")
    edit = {"file_path": FILE, "old_string": "a\nb <i>\nc", "new_string": f"a\nb {SCRIPT}\nc"}
    session.tool("Edit", edit, "done", toolUseResult={"filePath": FILE, "structuredPatch": []})
    session.tool("Bash", {"command": f"echo '{SCRIPT}'", "description": "say"}, "x", toolUseResult={"stdout": "x"})
    session.tool("TodoWrite", {"todos": [{"content": f"do {SCRIPT}", "status": "completed"}, "odd"]}, "ok")
    session.tool("Odd", {"nested": {"a": [1, SCRIPT]}, SCRIPT: "b\nc", "none": None}, "ok")
    session.call("Grep", {"pattern": SCRIPT})
    session.plain("custom-title", customTitle=f"Title {SCRIPT}")
    return session


def long(steps: int = 700) -> Transcript:
    """A session of many pages, one of whose texts is longer than a page."""
    session = Transcript("long")
    for number in range(steps // 3):
        session.user(f"question {number} <&> " + "why " * 40)
        session.text(f"answer {number} " + '"quoted" <b> & ' * (20_000 if number == 5 else 30))
        session.tool("Bash", {"command": f"echo {number}"}, "<&>\"'" * (12_000 if number == 7 else 60))
    return session


def heavy() -> Transcript:
    """A session whose calls take six times their size on a page."""
    session = Transcript("heavy")
    session.user("quote")
    for _ in range(40):
        session.tool("Bash", {"command": '"' * 4_000}, '"' * 4_000)
    return session


def parent() -> tuple[Transcript, Transcript]:
    """A session with a sub-agent, and the sub-agent's own."""
    session = Transcript("parent", cwd="/home/dev/other")
    session.user("look around")
    call = session.call("Task", {"description": "look", "prompt": "look around", "subagent_type": "Explore"})
    agent = session.subagent("a1b2c3d")
    agent.user("look around")
    agent.tool("Bash", {"command": "ls -R"}, "a.py")
    agent.text("There is one file.")
    session.result(call, "There is one file.", toolUseResult={"agentId": "a1b2c3d", "status": "completed"})
    session.add("system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9000})
    session.text("One file.")
    return session, agent


def lay(root: Path) -> None:
    """All of them as files, and a fork of one."""
    main, agent = parent()
    fork = main.fork("fork", marked=True)
    fork.user("another way")
    for transcript in (hostile(), long(), heavy(), main, agent, fork):
        transcript.write(root)


def scenery(folder: Path) -> Path:
    """The home of a memory of all of them; compressed."""
    memory = Memory(folder, "memory")
    lay(memory.root)
    memory.sweep()
    memory.close()
    app.compress(config.load(memory.home, (), {"TRANSCRIPT_INDEXER_VECTORS": "none"}))
    return memory.home
