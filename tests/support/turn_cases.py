"""Turns as people and Claude have them, each with what a careful reader would note of it, and how somebody
who half remembers it would search for it.

A case is written as its prompt and steps; `Case.transcript` makes the client's records of it. `notes` is
what ought to be observed, in order; [] for turns that nobody needs to remember.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transcripts import Transcript

CWD = "/home/dev/shop"
Step = tuple[Any, ...]


@dataclass
class Note:
    """An observation as it ought to be. title: what it must say (whole). facts: each must be the start of
    one. files: those modified, below the folder of the session; read: some that were read."""

    type: str
    title: str
    files: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


@dataclass
class Case:
    """One turn. gists: searches that should find it."""

    name: str
    prompt: str
    steps: list[Step]
    notes: list[Note] = field(default_factory=list)
    gists: tuple[str, ...] = ()

    def transcript(self) -> Transcript:
        """A session of this one turn."""
        made = Transcript(self.name, CWD)
        self.write(made)
        return made

    def write(self, made: Transcript) -> None:
        """Append the turn to a session."""
        made.user(self.prompt)
        for step in self.steps:
            STEPS[step[0]](made, *step[1:])


def say(made: Transcript, text: str) -> None:
    made.text(text)


def edit(made: Transcript, path: str, added: int = 1, removed: int = 1) -> None:
    lines = ["-old"] * removed + ["+new"] * added
    hunk = {"oldStart": 1, "oldLines": removed, "newStart": 1, "newLines": added, "lines": lines}
    file = f"{CWD}/{path}"
    told = {"filePath": file, "oldString": "old", "newString": "new", "structuredPatch": [hunk]}
    given = {"file_path": file, "old_string": "old", "new_string": "new"}
    made.tool("Edit", given, f"The file {file} has been updated.", toolUseResult=told)


def write(made: Transcript, path: str, lines: int = 10) -> None:
    file, content = f"{CWD}/{path}", "x\n" * lines
    told = {"type": "create", "filePath": file, "content": content, "structuredPatch": []}
    made.tool("Write", {"file_path": file, "content": content}, f"File created: {file}", toolUseResult=told)


def read(made: Transcript, path: str) -> None:
    made.tool("Read", {"file_path": f"{CWD}/{path}"}, "1\tcontent", toolUseResult={"type": "text"})


def run(made: Transcript, command: str, output: str = "") -> None:
    told = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    made.tool("Bash", {"command": command}, output, toolUseResult=told)


def fail(made: Transcript, command: str, output: str, code: int = 1) -> None:
    text = f"Exit code {code}\n{output}"
    call = made.call("Bash", {"command": command})
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
    made.user([block], toolUseResult=f"Error: {text}")


def commit(made: Transcript, message: str, sha: str = "1a2b3c4") -> None:
    subject = message.splitlines()[0]
    run(made, f'git add -A && git commit -m "{message}"', f"[main {sha}] {subject}\n 2 files changed, 10 insertions(+)")


def grep(made: Transcript, pattern: str) -> None:
    made.tool("Grep", {"pattern": pattern}, "src/a.py:1", toolUseResult={"mode": "content", "numFiles": 1})


def web(made: Transcript, url: str, text: str = "page") -> None:
    made.tool("WebFetch", {"url": url, "prompt": "what is it"}, text, toolUseResult={"url": url, "code": 200})


def plan(made: Transcript, text: str) -> None:
    made.tool("ExitPlanMode", {"plan": text}, "User has approved your plan.", toolUseResult={"plan": text})


def ask(made: Transcript, question: str, answer: str) -> None:
    told = {"questions": [{"question": question}], "answers": {question: answer}}
    made.tool("AskUserQuestion", {"questions": [{"question": question}]}, "answered", toolUseResult=told)


def todo(made: Transcript, **tasks: str) -> None:
    listed = [
        {"content": name.replace("_", " "), "status": status, "activeForm": name} for name, status in tasks.items()
    ]
    made.tool(
        "TodoWrite", {"todos": listed}, "Todos have been modified", toolUseResult={"oldTodos": [], "newTodos": listed}
    )


def agent(made: Transcript, report: str) -> None:
    told = {
        "status": "completed",
        "agentId": "a1b2c3",
        "content": [{"type": "text", "text": report}],
        "totalTokens": 900,
    }
    made.tool("Task", {"description": "look", "prompt": "look", "subagent_type": "Explore"}, report, toolUseResult=told)


def recall(made: Transcript, text: str) -> None:
    made.tool("mcp__transcript-indexer__search", {"query": "x"}, text)


STEPS = {
    function.__name__: function
    for function in (say, edit, write, read, run, fail, commit, grep, web, plan, ask, todo, agent, recall)
}

CASES = [
    Case(
        "off by one",
        "The last page of the product list is always empty, please find out why and fix it",
        [
            ("say", "I'll look at the pagination code first."),
            ("read", "shop/pagination.py"),
            (
                "fail",
                "pytest -q tests/test_pagination.py",
                "E   AssertionError: assert 4 == 3\n1 failed, 6 passed in 0.31s",
            ),
            ("edit", "shop/pagination.py", 1, 1),
            ("run", "pytest -q tests/test_pagination.py", "7 passed in 0.28s"),
            (
                "say",
                (
                    "Fixed the off-by-one in `page_count`: it rounded up even when the items divided evenly, so "
                    "an empty page followed. All tests pass."
                ),
            ),
        ],
        [
            Note(
                "bugfix",
                "Fixed the off-by-one in page_count",
                ("shop/pagination.py",),
                (
                    "shop/pagination.py +1/-1",
                    "`pytest -q tests/test_pagination.py`: exit 1: AssertionError: assert 4 == 3",
                    "pytest: 7 passed",
                ),
                ("shop/pagination.py",),
            )
        ],
        ("empty page at the end of the product list", "pagination rounding up"),
    ),
    Case(
        "conventional commit",
        "commit this",
        [
            ("edit", "shop/auth.py", 4, 2),
            ("run", "git status --short", " M shop/auth.py"),
            (
                "commit",
                (
                    "fix(auth): reject expired refresh tokens\n\nThey were accepted for a day after expiry "
                    "because the clock skew was added twice."
                ),
                "9f8e7d6",
            ),
            ("say", "Committed as 9f8e7d6."),
        ],
        [
            Note(
                "bugfix",
                "fix(auth): reject expired refresh tokens",
                ("shop/auth.py",),
                ("shop/auth.py +4/-2", "commit 9f8e7d6 on main"),
            )
        ],
        ("expired tokens accepted a day too long", "clock skew refresh"),
    ),
    Case(
        "two commits",
        "Split the changes: first the rename, then the new endpoint",
        [
            ("run", "git mv shop/util.py shop/money.py"),
            ("edit", "shop/cart.py", 2, 2),
            ("commit", "refactor: rename util to money", "aaa1111"),
            ("write", "shop/api/refunds.py", 40),
            ("edit", "shop/api/routes.py", 3, 0),
            ("commit", "feat(api): add POST /refunds", "bbb2222"),
            ("say", "Two commits are in: the rename and the refunds endpoint."),
        ],
        [
            Note(
                "refactor",
                "refactor: rename util to money",
                ("shop/util.py", "shop/money.py", "shop/cart.py"),
                ("shop/cart.py +2/-2",),
            ),
            Note(
                "feature",
                "feat(api): add POST /refunds",
                ("shop/api/refunds.py", "shop/api/routes.py"),
                ("shop/api/refunds.py +40/-0 (new)",),
            ),
        ],
        ("refunds endpoint", "util module became money"),
    ),
    Case(
        "new feature",
        "Add a --dry-run flag to the import command that shows what would be imported",
        [
            ("read", "shop/cli.py"),
            ("edit", "shop/cli.py", 12, 1),
            ("write", "tests/test_dry_run.py", 30),
            ("run", "python -m pytest tests/test_dry_run.py", "3 passed in 0.11s"),
            (
                "say",
                (
                    "Done! I've added a `--dry-run` flag to `shop import` that prints the rows it would insert "
                    "and rolls the transaction back.\n\n- `cli.py`: new option\n- `test_dry_run.py`: three tests"
                ),
            ),
        ],
        [
            Note(
                "feature",
                "Added a --dry-run flag to shop import that prints the rows it would insert",
                ("shop/cli.py", "tests/test_dry_run.py"),
                ("shop/cli.py +12/-1", "tests/test_dry_run.py +30/-0 (new)", "pytest: 3 passed"),
            )
        ],
        ("preview an import without writing", "roll the transaction back"),
    ),
    Case(
        "reading only",
        "How does the retry logic in the payment client work?",
        [
            ("grep", "retry"),
            ("read", "shop/payments/client.py"),
            (
                "say",
                (
                    "The payment client retries three times with exponential backoff, but only on 502, 503 and "
                    "connection errors; a 429 is never retried because the gateway counts those as fraud "
                    "signals.\n\n- `MAX_RETRIES = 3` in `client.py`\n- the delay doubles from 200 ms"
                ),
            ),
        ],
        [
            Note(
                "discovery",
                "The payment client retries three times with exponential backoff",
                (),
                ("MAX_RETRIES = 3 in client.py", "the delay doubles from 200 ms"),
                ("shop/payments/client.py",),
            )
        ],
        ("why are rate limited payments not retried", "gateway fraud signals 429"),
    ),
    Case("greeting", "hello", [("say", "Hello! How can I help you today?")]),
    Case("thanks", "thanks, that looks great", [("say", "You're welcome! Let me know if you need anything else.")]),
    Case(
        "status only",
        "is the tree clean?",
        [("run", "git status", "nothing to commit, working tree clean"), ("say", "Yes, the working tree is clean.")],
    ),
    Case(
        "listing only",
        "which files are in src",
        [("run", "ls src", "a.py\nb.py"), ("say", "There are two files: a.py and b.py.")],
    ),
    Case(
        "nothing found",
        "Is there any place that still uses the old tax table?",
        [("grep", "old_tax_table"), ("say", "I couldn't find any references to the old tax table in the repository.")],
    ),
    Case(
        "install only",
        "install the dependencies",
        [("run", "npm install", "added 312 packages"), ("say", "Done. All dependencies are installed.")],
    ),
    Case(
        "run the tests", "run the tests", [("run", "pytest -q", "112 passed in 4.02s"), ("say", "All 112 tests pass.")]
    ),
    Case(
        "missing package",
        "why does the worker not start?",
        [
            (
                "fail",
                "python -m shop.worker",
                (
                    'Traceback (most recent call last):\n  File "worker.py", line 3\nModuleNotFoundError: No '
                    "module named 'redis'"
                ),
            ),
            ("run", "pip install redis==5.0.4", "Successfully installed redis-5.0.4"),
            ("run", "python -m shop.worker", "worker ready"),
            (
                "say",
                "The worker could not start because the redis package was missing from the environment; it starts now.",
            ),
        ],
        [
            Note(
                "bugfix",
                "The worker could not start because the redis package was missing from the…",
                (),
                (
                    "`python -m shop.worker` failed: ModuleNotFoundError: No module named 'redis'",
                    "`pip install redis==5.0.4` was run",
                    "`python -m shop.worker` passed",
                    "redis 5.0.4",
                ),
            )
        ],
        ("No module named redis", "worker does not start"),
    ),
    Case(
        "approved plan",
        "Plan how to move the sessions from files to Redis",
        [
            ("read", "shop/sessions.py"),
            (
                "plan",
                (
                    "# Move sessions to Redis\n\nKeep the file store as a fallback for one release.\n\n- write "
                    "to both stores\n- read from Redis first\n- drop the file store in 2.0"
                ),
            ),
            ("say", "The plan is approved, I'll start with the double write."),
        ],
        [
            Note(
                "decision",
                "Move sessions to Redis",
                (),
                ("write to both stores", "read from Redis first", "drop the file store in 2.0"),
            )
        ],
        ("file store fallback for one release", "double write sessions"),
    ),
    Case(
        "answered question",
        "Set up the deployment pipeline",
        [
            ("ask", "Which registry should the images go to?", "GitHub Container Registry"),
            ("write", ".github/workflows/deploy.yml", 45),
            ("say", "Created the deploy workflow: it builds the image on every tag and pushes it to GHCR."),
        ],
        [
            Note(
                "change",
                "Created the deploy workflow: it builds the image on every tag",
                (".github/workflows/deploy.yml",),
                (".github/workflows/deploy.yml +45/-0 (new)",),
            ),
            Note("decision", "Which registry should the images go to: GitHub Container Registry"),
        ],
        ("where do the docker images go", "build image on tag"),
    ),
    Case(
        "choice in the prompt",
        "Let's go with Postgres instead of MySQL, we need JSONB and partial indexes.",
        [("say", "Agreed. Postgres it is.")],
        [Note("decision", "Go with Postgres instead of MySQL, we need JSONB and partial indexes")],
        ("which database did we choose", "JSONB partial indexes"),
    ),
    Case(
        "refactoring",
        "The checkout function is way too long, clean it up",
        [
            ("read", "shop/checkout.py"),
            ("edit", "shop/checkout.py", 60, 140),
            ("write", "shop/pricing.py", 80),
            ("run", "pytest -q", "112 passed in 4.02s"),
            (
                "say",
                (
                    "Extracted the price calculation from `checkout()` into `pricing.py` and split the rest into "
                    "four small functions. Behaviour is unchanged: all 112 tests pass."
                ),
            ),
        ],
        [
            Note(
                "refactor",
                "Extracted the price calculation from checkout() into pricing.py",
                ("shop/checkout.py", "shop/pricing.py"),
                ("shop/checkout.py +60/-140", "shop/pricing.py +80/-0 (new)", "pytest: 112 passed"),
            )
        ],
        ("price calculation moved out", "checkout function too long"),
    ),
    Case(
        "documentation",
        "Update the README with the new environment variables",
        [
            ("edit", "README.md", 14, 2),
            ("say", "Updated the README: it lists the four new environment variables with their defaults."),
        ],
        [
            Note(
                "change",
                "Updated the README: it lists the four new environment variables with their…",
                ("README.md",),
                ("README.md +14/-2",),
            )
        ],
        ("environment variables documented",),
    ),
    Case(
        "bare done",
        "Rename the class OrderHandler to OrderFlow everywhere",
        [("edit", "shop/orders.py", 3, 3), ("edit", "shop/api/routes.py", 2, 2), ("say", "Done.")],
        [
            Note(
                "refactor",
                "Rename the class OrderHandler to OrderFlow everywhere",
                ("shop/orders.py", "shop/api/routes.py"),
                ("shop/orders.py +3/-3", "shop/api/routes.py +2/-2"),
            )
        ],
        ("OrderFlow", "order handler renamed"),
    ),
    Case(
        "from the web",
        "What changed in httpx 0.28?",
        [
            ("web", "https://www.python-httpx.org/changelog/"),
            (
                "say",
                (
                    "httpx 0.28 removed the deprecated `proxies` argument, so clients must pass `proxy` or "
                    "`mounts` instead."
                ),
            ),
        ],
        [Note("discovery", "httpx 0.28 removed the deprecated proxies argument")],
        ("deprecated proxies argument", "httpx changelog"),
    ),
    Case(
        "sub-agent report",
        "Find out where the emails are rendered",
        [
            (
                "agent",
                (
                    "Emails are rendered in `shop/mail/render.py` by `render_email()`, which loads Jinja "
                    "templates from `templates/mail` and inlines the CSS with premailer."
                ),
            ),
            ("say", "Done."),
        ],
        [Note("discovery", "Emails are rendered in shop/mail/render.py by render_email()")],
        ("jinja mail templates", "css inlined premailer"),
    ),
    Case(
        "recalled",
        "what did we do about the cache last week?",
        [
            ("recall", "observation:12 bugfix Fixed the cache key"),
            ("say", "Last week we fixed the cache key: it lacked the tenant id, so tenants saw each other's pages."),
        ],
    ),
    Case(
        "interim chatter",
        "Make the nightly export idempotent",
        [
            ("say", "Let me look at the export job."),
            ("read", "jobs/export.py"),
            ("say", "Now let me add a unique key."),
            ("edit", "jobs/export.py", 9, 3),
            ("write", "migrations/0042_export_key.sql", 4),
            (
                "say",
                (
                    "The nightly export now upserts on `(order_id, day)`, so running it twice leaves one row per "
                    "order.\n\nWould you like me to back-fill the old rows?"
                ),
            ),
        ],
        [
            Note(
                "change",
                "The nightly export now upserts on (order_id, day)",
                ("jobs/export.py", "migrations/0042_export_key.sql"),
                ("jobs/export.py +9/-3", "migrations/0042_export_key.sql +4/-0 (new)"),
            )
        ],
        ("running the export twice", "nightly job duplicates"),
    ),
    Case(
        "heading first",
        "the docker build takes ten minutes",
        [
            ("read", "Dockerfile"),
            ("edit", "Dockerfile", 6, 4),
            (
                "say",
                (
                    "## Summary\n\nThe build was slow because `COPY . .` came before `npm ci`, which invalidated "
                    "the dependency layer on every change. I moved the lock file copy up and added a cache "
                    "mount.\n\n### Changes made\n- Dockerfile: copy package-lock.json first"
                ),
            ),
        ],
        [
            Note(
                "refactor",
                "Moved the lock file copy up and added a cache mount",
                ("Dockerfile",),
                ("Dockerfile +6/-4",),
            )
        ],
        ("docker layer cache invalidated", "slow image build"),
    ),
    Case(
        "登录超时",
        "登录接口经常超时，帮我看看是什么原因并修复",
        [
            ("say", "让我先看一下登录接口的实现。"),
            ("read", "shop/login.py"),
            ("fail", "pytest -q tests/test_login.py", "E   TimeoutError: timed out after 5s\n1 failed, 3 passed"),
            ("edit", "shop/login.py", 5, 2),
            ("run", "pytest -q tests/test_login.py", "4 passed in 0.52s"),
            (
                "say",
                "已修复登录超时问题：会话查询没有使用索引，每次都会全表扫描。现在通过用户编号索引查询，测试全部通过。",
            ),
        ],
        [
            Note(
                "bugfix",
                "修复登录超时问题：会话查询没有使用索引，每次都会全表扫描",
                ("shop/login.py",),
                (
                    "shop/login.py +5/-2",
                    "`pytest -q tests/test_login.py`: exit 1: TimeoutError: timed out after 5s",
                    "pytest: 4 passed",
                ),
            )
        ],
        ("全表扫描", "会话查询 索引", "登录接口 慢"),
    ),
    Case(
        "新增导出",
        "给订单列表加一个导出 CSV 的功能",
        [
            ("read", "web/orders.tsx"),
            ("edit", "web/orders.tsx", 18, 1),
            ("write", "web/export_csv.ts", 35),
            (
                "say",
                (
                    "好的，已完成。\n\n新增了订单列表的 CSV 导出功能，按当前筛选条件导出，最多一万行。\n\n- "
                    "web/orders.tsx：导出按钮\n- web/export_csv.ts：生成文件"
                ),
            ),
        ],
        [
            Note(
                "feature",
                "新增了订单列表的 CSV 导出功能，按当前筛选条件导出，最多一万行",
                ("web/orders.tsx", "web/export_csv.ts"),
                ("web/orders.tsx +18/-1", "web/export_csv.ts +35/-0 (new)"),
            )
        ],
        ("按筛选条件导出", "导出 一万行"),
    ),
    Case(
        "重构配置",
        "把散落在各处的配置读取整理到一个模块里",
        [
            ("write", "shop/settings.py", 50),
            ("edit", "shop/db.py", 2, 8),
            ("edit", "shop/mail.py", 2, 6),
            ("say", "我已经将配置读取统一重构到 shop/settings.py，数据库和邮件模块都改为从这里取值。"),
        ],
        [
            Note(
                "refactor",
                "将配置读取统一重构到 shop/settings.py，数据库和邮件模块都改为从这里取值",
                ("shop/settings.py", "shop/db.py", "shop/mail.py"),
                ("shop/settings.py +50/-0 (new)", "shop/db.py +2/-8", "shop/mail.py +2/-6"),
            )
        ],
        ("配置 集中 模块", "邮件模块 取值"),
    ),
    Case(
        "原因分析",
        "为什么库存有时会变成负数？",
        [
            ("read", "shop/stock.py"),
            (
                "say",
                "库存变成负数是因为扣减前的检查和更新不在同一个事务里，两个并发请求会同时通过检查。需要在更新语句里加上数量条件，或者使用行锁。",
            ),
        ],
        [
            Note(
                "discovery",
                "库存变成负数是因为扣减前的检查和更新不在同一个事务里，两个并发请求会同时通过检查",
                (),
                (),
                ("shop/stock.py",),
            )
        ],
        ("并发 扣减", "库存 事务 行锁"),
    ),
    Case("你好", "你好", [("say", "你好！有什么可以帮你的吗？")]),
    Case("中文测试", "跑一下测试", [("run", "npm test", "Tests: 42 passed, 42 total"), ("say", "所有测试都通过了。")]),
    Case(
        "中文提交",
        "提交一下",
        [
            ("edit", "web/theme.css", 7, 7),
            ("commit", "修复: 深色模式下按钮文字看不清", "c0ffee1"),
            ("say", "已提交。"),
        ],
        [
            Note(
                "bugfix",
                "修复: 深色模式下按钮文字看不清",
                ("web/theme.css",),
                ("web/theme.css +7/-7", "commit c0ffee1 on main"),
            )
        ],
        ("按钮 文字 看不清", "深色模式"),
    ),
    Case(
        "中文决定",
        "我们决定用消息队列而不是定时任务，因为需要实时通知",
        [("say", "明白，后面按消息队列的方案来做。")],
        [Note("decision", "我们决定用消息队列而不是定时任务，因为需要实时通知")],
        ("消息队列 定时任务", "实时通知 方案"),
    ),
    Case(
        "升级依赖",
        "把 axios 升级到最新版本，修一下不兼容的地方",
        [
            ("run", "npm install axios@1.7.2", "changed 1 package"),
            ("fail", "npm run build", "src/api.ts:12:5 - error TS2345: Argument of type 'string' is not assignable", 2),
            ("edit", "src/api.ts", 3, 3),
            ("edit", "package.json", 1, 1),
            ("run", "npm run build", "✓ built in 3.1s"),
            ("say", "已将 axios 升级到 1.7.2，并修改了 src/api.ts 中不兼容的请求头类型。"),
        ],
        [
            Note(
                "bugfix",
                "将 axios 升级到 1.7.2，并修改了 src/api.ts 中不兼容的请求头类型",
                ("src/api.ts", "package.json"),
                (
                    "src/api.ts +3/-3",
                    "package.json +1/-1",
                    "`npm run build`: exit 2: src/api.ts:12:5 - error TS2345",
                    "axios 1.7.2",
                ),
            )
        ],
        ("axios 不兼容", "请求头类型"),
    ),
    Case(
        "tests first",
        "Implement rate limiting per API key",
        [
            ("write", "tests/test_rate_limit.py", 40),
            (
                "fail",
                "pytest -q tests/test_rate_limit.py",
                "E   ImportError: cannot import name 'RateLimiter'\n1 error",
            ),
            ("write", "shop/rate_limit.py", 70),
            ("run", "pytest -q tests/test_rate_limit.py", "5 passed in 0.08s"),
            (
                "say",
                (
                    "I implemented a sliding-window rate limiter keyed by API key. It allows 100 requests a "
                    "minute and answers 429 with Retry-After beyond that."
                ),
            ),
        ],
        [
            Note(
                "feature",
                "Implemented a sliding-window rate limiter keyed by API key",
                ("tests/test_rate_limit.py", "shop/rate_limit.py"),
                (
                    "tests/test_rate_limit.py +40/-0 (new)",
                    "shop/rate_limit.py +70/-0 (new)",
                    "`pytest -q tests/test_rate_limit.py`: exit 1: ImportError: cannot import name 'RateLimiter'",
                    "pytest: 5 passed",
                ),
            )
        ],
        ("100 requests a minute", "throttle api keys sliding window"),
    ),
    Case(
        "edits after a commit",
        "Fix the currency rounding, commit, then tidy the comment",
        [
            ("edit", "shop/money.py", 3, 1),
            ("commit", "fix: round half even in currency conversion", "ddd4444"),
            ("edit", "shop/money.py", 1, 4),
            ("say", "The rounding fix is committed; afterwards I shortened the outdated comment."),
        ],
        [
            Note("bugfix", "fix: round half even in currency conversion", ("shop/money.py",), ("shop/money.py +3/-1",)),
            Note("change", "Edit money.py", ("shop/money.py",), ("shop/money.py +1/-4",)),
        ],
        ("currency rounding half even",),
    ),
    Case(
        "japanese",
        "ログイン画面の文字化けを直して",
        [("edit", "web/login.html", 1, 1), ("say", "ログイン画面の文字コードをUTF-8に修正しました。")],
        [
            Note(
                "bugfix",
                "ログイン画面の文字コードをUTF-8に修正しました",
                ("web/login.html",),
                ("web/login.html +1/-1",),
            )
        ],
        ("ログイン 文字コード",),
    ),
    Case(
        "spanish",
        "el carrito pierde los artículos al recargar",
        [
            ("edit", "web/cart.js", 4, 1),
            ("say", "He corregido el carrito: ahora guarda los artículos en localStorage."),
        ],
        [
            Note(
                "bugfix",
                "He corregido el carrito: ahora guarda los artículos en localStorage",
                ("web/cart.js",),
                ("web/cart.js +4/-1",),
            )
        ],
        ("carrito localStorage",),
    ),
]

ANSWERS = [
    (
        "add dark mode to the settings page",
        (
            "Perfect! I've successfully implemented the feature. Here's a summary of what was done:\n\n## "
            "Changes Made\n\n1. **Created `src/theme.ts`** - Theme context with light and dark palettes\n2. "
            "**Updated `Settings.tsx`** - Added a toggle switch\n\nThe dark mode preference is saved to localStorage."
        ),
        "feature",
        "Add dark mode to the settings page",
    ),
    (
        "fix the failing CI",
        (
            "All tests are passing now. The failure was caused by a missing `await` in `fetchUser()`, which made "
            "the assertion run before the promise resolved."
        ),
        "bugfix",
        "The failure was caused by a missing await in fetchUser()",
    ),
    (
        "Can you look into why memory grows?",
        (
            "Found it. The event listeners registered in `useSocket` are never removed on unmount, so each "
            "navigation leaks a closure holding the whole message history. I've added a cleanup function to the effect."
        ),
        "bugfix",
        "Added a cleanup function to the effect",
    ),
    (
        "make it faster",
        (
            "I've optimized the query by replacing the N+1 loop with a single join. The endpoint now responds in "
            "40ms instead of 2.3s.\n\nKey changes:\n- `orders.py`: use `selectinload`"
        ),
        "refactor",
        "Optimized the query by replacing the N+1 loop with a single join",
    ),
    (
        "continue",
        "Now all three services share one config loader. ✅ Unit tests pass ✅ Lint passes",
        "change",
        "Now all three services share one config loader",
    ),
    (
        "write tests for the parser",
        (
            "Created comprehensive tests for the parser covering:\n\n- Empty input\n- Nested brackets\n- Unicode "
            "escapes\n\nAll 24 tests pass."
        ),
        "change",
        "Write tests for the parser",
    ),
    (
        "update deps",
        (
            "I updated the dependencies:\n\n| Package | From | To |\n|---|---|---|\n| react | 18.2 | 19.0 "
            "|\n\nThe build succeeds."
        ),
        "change",
        "Update deps",
    ),
    (
        "为什么构建失败",
        (
            "构建失败的原因是 tsconfig 里的 paths 配置没有包含新的 shared 目录。\n\n我已经在 tsconfig.json "
            "中添加了对应的映射，现在可以正常构建了。"
        ),
        "bugfix",
        "构建失败的原因是 tsconfig 里的 paths 配置没有包含新的 shared 目录",
    ),
    (
        "优化一下列表页的性能",
        (
            "优化完成！主要改动如下：\n\n1. **虚拟滚动**：使用 react-window 渲染可见行\n2. "
            "**缓存**：对筛选结果做了 memo\n\n一万行数据的滚动从 12 帧提升到 60 帧。"
        ),
        "refactor",
        "一万行数据的滚动从 12 帧提升到 60 帧",
    ),
    (
        "implement login",
        (
            "Implementation complete! The login flow now works as follows:\n\n1. User submits credentials\n2. "
            "Server validates and returns a JWT\n3. Client stores the token in an httpOnly cookie"
        ),
        "feature",
        "Implement login",
    ),
    (
        "remove the old API",
        (
            "The old v1 API has been removed. I deleted the routes, the serializers, and the tests, and updated "
            "the docs to point to v2."
        ),
        "change",
        "The old v1 API has been removed",
    ),
    (
        "bug: negative totals",
        (
            "You're right, the discount could exceed the subtotal. I clamped it at zero in `applyDiscount` and "
            "added a regression test."
        ),
        "bugfix",
        "Clamped it at zero in applyDiscount and added a regression test",
    ),
]
"""Answers after an edit, as models write them: the prompt, the answer, the type and title of what was done."""
