"""What kind of work it was: bugfix, feature, refactor, change; and the concepts that go with it. Pure.

The first verb of a commit's subject or of the title says it best; then what the prompt asked for, then
what the calls show. English and Chinese, and the commonest verbs of a few more languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from indexer.compressors.signals import Signals

TYPES = (
    "bugfix",
    "feature",
    "refactor",
    "change",
    "discovery",
    "decision",
    "security_alert",
    "security_note",
    "sensitive",
)
CONCEPTS = ("how-it-works", "why-it-exists", "what-changed", "problem-solution", "gotcha", "pattern", "trade-off")

_PREFIX = re.compile(r"^(\w+)(?:\([^)]*\))?!?:\s*\S")
_CONVENTIONAL = {
    "feat": "feature", "feature": "feature", "fix": "bugfix", "bugfix": "bugfix", "hotfix": "bugfix",
    "refactor": "refactor",
    "perf": "refactor", "docs": "change", "chore": "change", "ci": "change", "build": "change", "test": "change",
    "tests": "change", "style": "change", "revert": "change", "deps": "change",
}  # fmt: skip
_FIX = (
    r"(?:hot)?fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|repair(?:s|ed)?|correct(?:s|ed)|debug(?:ged)?|patch(?:es|ed)|prevent(?:s|ed)?|handle[sd]?"
    r"|修复|修正|修好|解决|排查并|改正|避免|防止|arregl\w+|corr[ie]g\w+|behoben|behebt|behebe|répar\w+|исправ\w+|修正し\w*|直し\w*|수정"
)
_ADD = (
    r"add(?:s|ed|ing)?|implement(?:s|ed|ing)?|introduc(?:e[sd]?|ing)|creat(?:e[sd]?|ing)|support(?:s|ed)?|built|expose[sd]?|enable[sd]?|wrote|written"
    r"|scaffold(?:s|ed)?|allow(?:s|ed)?|新增|添加|增加|实现|支持|新建|创建|加入|加上|加了?一?个|añad\w+|agreg\w+|hinzugefügt|ajout\w+|добав\w+|追加\w*|추가"
)
_MOVE = (
    r"refactor(?:s|ed|ing)?|renam(?:e[sd]?|ing)|mov(?:e[sd]?|ing)|extract(?:s|ed|ing)?|simplif(?:y|ies|ied)"
    r"|split(?:s|ting)?|clean(?:s|ed)? ?up|reorgani[sz]e[sd]?"
    r"|restructure[sd]?|inline[sd]?|deduplicate[sd]?|consolidate[sd]?|merge[sd]? \w+ into"
    r"|replace[sd]? \w+ with|migrat(?:e[sd]?|ing)|modulari[sz]e[sd]?|optimi[sz]e[sd]?"
    r"|重构|重命名|改名|移动|提取|抽取|抽出|拆分|简化|整理|合并|迁移|优化|清理|refactori\w+|umbenannt|リファクタ\w*|리팩토?링"
)
_OTHER = (
    r"updat(?:e[sd]?|ing)|chang(?:e[sd]?|ing)|remov(?:e[sd]?|ing)|delet(?:e[sd]?|ing)|bump(?:s|ed)?|configure[sd]?|switched|document(?:s|ed)?|upgraded?|adjust(?:s|ed)?|improve[sd]?"
    r"|increase[sd]?|reduce[sd]?|disable[sd]?|revert(?:s|ed)?|translated?|rewr(?:ote|itten)|更新|修改|调整|删除|移除|升级|改为|改成|补充|完善|替换|禁用|回退"
)
_TELLING_HEADS = "[a-z]{3,}ed|sets?|made?|makes|now|the"
_TELLING = r"\A[a-z]{3,}ed(?= )|set|sets|made?|makes|now|the .{1,40}? now|将|把|统一|配置"
DONE = Signals(
    rf"(?i)(?:\b|(?=[\u3400-\u9fff]))(?:{_FIX}|{_ADD}|{_MOVE}|{_OTHER}|{_TELLING})(?:\b|(?<=[\u3400-\u9fff]))",
    f"{_FIX}|{_ADD}|{_MOVE}|{_OTHER}|{_TELLING_HEADS}",
)
"""What a sentence that tells of done work begins with."""
_FINDING = (
    r"because|caused? by|due to|is (?:defined|set|stored|called|handled|read|located|computed"
    r"|configured|triggered)|lives in|comes from|happens|uses?|means|returns"
    r"|the (?:root )?(?:cause|reason|problem|issue|bug|culprit)|turns out|works (?:by|like)|never|only"
    r"|actually|calls|depends on|found"
)
FOUND = Signals(
    rf"(?i)\b(?:{_FINDING})\b|因为|由于|原因|是由|导致|位于|定义在|使用|通过|调用|返回|依赖|根因|发现|其实|取决于|负责",
    _FINDING,
)
"""What a sentence that tells of a finding holds."""
_KINDS = (("bugfix", _FIX), ("feature", _ADD), ("refactor", _MOVE))
_FIRST = Signals(
    "(?i)"
    + "|".join(rf"(?P<{kind}>(?:\b|(?=[^\x00-\x7f]))(?:{verbs})(?:\b|(?<=[^\x00-\x7f])))" for kind, verbs in _KINDS)
    + rf"|(?P<change>(?:\b|(?=[^\x00-\x7f]))(?:{_OTHER})(?:\b|(?<=[^\x00-\x7f])))",
    f"{_FIX}|{_ADD}|{_MOVE}|{_OTHER}",
)
_BREAKAGE = (
    r"bugs?|errors?|crash(?:es|ed|ing)?|broken|breaks?|fail(?:s|ed|ing|ure)?|exception|regression"
    r"|doesn'?t work|not working|wrong|incorrect|leak(?:s|ing)?|hangs?|stack ?trace|traceback|500s?"
)
_BROKEN = Signals(
    rf"(?i)\b(?:{_BREAKAGE})\b|报错|错误|崩溃|失败|异常|不对|不生效|不工作|坏了|卡死|死循环|泄漏|有问题|出问题|无法|没有反应|乱码",
    _BREAKAGE,
)
_CAUSES = (
    r"leaks?|bug|crash(?:es|ed)?|broken|regression|root cause|culprit|the (?:issue|problem|reason|cause) (?:was|is)"
)
_CAUSE = Signals(rf"(?i)\b(?:{_CAUSES})\b|泄漏|崩溃|根因|问题(?:在于|出在|是)|原因是", _CAUSES)
_PROSE = (".md", ".rst", ".txt", ".adoc", ".mdx")
_PLAIN = (
    *_PROSE,
    ".json",
    ".yml",
    ".yaml",
    ".toml",
    ".ini",
    ".cfg",
    ".lock",
    ".env",
    ".gitignore",
    ".xml",
    ".properties",
    ".conf",
)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$|_test\.\w+$|conftest\.py$"
)
_TOLD = re.compile(r"[a-z][a-z-]+")
_APART = str.maketrans({chr(code): " " for code in range(128) if not (chr(code).isalpha() or chr(code) == "-")})
_SIGNALS = tuple(
    (name, frozenset(words.split()), tuple(parts.split()))
    for name, words, parts in (
        ("why-it-exists", "because since reason caused due therefore", "因为 由于 原因 为了 以便 导致"),
        (
            "how-it-works",
            "works calls returns called invoked stored computed flow pipeline lifecycle",
            "流程 机制 原理 调用 返回 负责",
        ),
        (
            "gotcha",
            "careful beware gotcha however caveat pitfall surprising silently must never otherwise",
            "注意 小心 陷阱 否则 但是 不过 切勿 不能",
        ),
        (
            "trade-off",
            "instead rather trade-off tradeoff versus vs chose prefer preferred",
            "而不是 而非 代替 权衡 取舍 优于",
        ),
        (
            "pattern",
            "pattern convention reuse reusable shared decorator factory strategy consistent",
            "模式 约定 复用 统一 通用 抽象",
        ),
    )
)
"""Concept, words that signal it, and what signals it where no spaces stand between words."""


def of_subject(subject: str, files: Iterable[str]) -> str:
    """The type of a commit."""
    prefix = _PREFIX.match(subject)
    known = _CONVENTIONAL.get(prefix[1].lower()) if prefix else None
    return known or _plain(verb(subject), files) or "change"


def of_edits(title: str, prompt: str, files: Iterable[str], *, mended: bool, made: bool, told: str = "") -> str:
    """The type of edits that were not committed. told: what was said of them. mended:
    something failed before them and passed after; made: they are all new source files."""
    names = tuple(files)
    said, wanted = verb(title), verb(prompt)
    if said == "feature" and wanted != "feature" and (_BROKEN.search(prompt) or _CAUSE.search(told)):
        return _plain("bugfix", names)  # something was added, to mend something
    if said in ("bugfix", "feature", "refactor"):
        return _plain(said, names)
    if wanted in ("feature", "refactor", "bugfix"):
        return _plain(wanted, names)
    if mended or _BROKEN.search(prompt):
        return "bugfix"
    return _plain("feature", names) if made and said is None else "change"


def _plain(kind: str | None, files: Iterable[str]) -> str:
    """A README is no feature, and neither are tests."""
    names = tuple(files)
    if kind == "feature" and names and all(name.endswith(_PLAIN) or _TEST.search(name) for name in names):
        return "change"
    if kind in ("bugfix", "refactor") and names and all(name.endswith(_PROSE) for name in names):
        return "change"
    return kind or ""


def verb(text: str) -> str | None:
    """The kind of work that the first verb of a text names; None if it names none."""
    found = _FIRST.search(text[:600])
    return found.lastgroup if found else None


def is_source(file: str) -> bool:
    """Whether a file is program text, not prose, settings or a test."""
    return not file.endswith(_PLAIN) and not _TEST.search(file) and "." in file.rpartition("/")[2]


def _words_of(lower: str) -> set[str]:
    """The words of `_TOLD` in a text; of ASCII text without looking at each character."""
    if not lower.isascii():
        return set(_TOLD.findall(lower))
    apart = lower.translate(_APART)
    return {word.lstrip("-") for word in apart.split()} if "-" in apart else set(apart.split())


def concepts(kind: str, told: str, *, tries: int = 0) -> tuple[str, ...]:
    """Which of the seven a text speaks of, the most telling first; at most four."""
    found = {"bugfix": ["problem-solution", "what-changed"], "discovery": [], "decision": ["trade-off"]}.get(
        kind, ["what-changed"]
    )
    spoken, ascii_only = _words_of(told.lower()), told.isascii()
    more = [
        name for name, words, parts in _SIGNALS
        if words & spoken or (not ascii_only and any(part in told for part in parts))
    ]  # fmt: skip
    if tries > 1:
        more.insert(0, "gotcha")
    if kind == "discovery" and "how-it-works" not in more:
        more.insert(0, "how-it-works")
    if kind == "decision" and "why-it-exists" not in more:
        more.append("why-it-exists")
    return tuple(dict.fromkeys([*found, *more]))[:4]
