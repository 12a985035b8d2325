"""Sentences out of what a model or a person wrote: which one names the work, which are filler. Pure.

The transcript already holds prose that a model wrote; it is picked from, never written anew. Rules are for
English and Chinese first. Of other languages nothing is known but punctuation: a sentence that is not
filler by any rule stands, so the first one of an answer becomes the title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from indexer.compressors.signals import Signals
from indexer.text import sanitize

TITLE_MOST, SUBTITLE_WORDS, NARRATIVE_MOST = 80, 24, 1200
LAST, SENTENCES, READ, GOOD, NEAR, UNITS, LONG = 4, 10, 1500, 3.0, 16, 40, 300
"""Answers of a turn that are looked at for its title, sentences and characters of each; the score at which no
earlier one is asked; words of a prompt that a title may share; sentences that are told apart at all; and
characters of an answer that needs no earlier one."""

START = 320
"""Characters of a prompt that mostly hold its first sentence."""
FENCE = re.compile(r"<indexer-memory\b.*?(?:</indexer-memory[^>]*>|\Z)", re.DOTALL)
"""What `context` gave to a session start, wherever it comes back from."""
_WRAPPED = re.compile(
    r"<(system-reminder|claude-mem-context|ide_\w+|local-command-\w+|task-notification)\b.*?(?:</\1>|\Z)", re.DOTALL
)
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_TAG = re.compile(r"<[/a-zA-Z][^<>\n]{0,80}>")
_EMPHASIS = re.compile(r"(?<![\w*])\*([^*\n]+)\*(?![\w*])")
_PICTURES = re.compile("[\U0001f000-\U0001faff\u2190-\u2191\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\ufe0f]+[ \t]*")
_BULLET = re.compile(r"^[ \t]*(?:[-*•·+]|\d{1,3}[.)、]|[一二三四五六七八九十]、)[ \t]*(?=\S)")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+")
_RULER = re.compile(r"^[ \t]*(?:[-=*_|: ]{3,}|\|.*)$")
_END = re.compile(
    r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(`A-Z0-9\u00c0-\U0003ffff])|(?<=[。！？；])\s*|(?<=[.!?])(?=[\u3400-\u9fff])"
)
_STOPS = re.compile(r"[.!?。！？；]")

_FILLER = re.compile(
    r"""(?ix)^(?:
      (?:ok(?:ay)?|sure|done|perfect|great|excellent|nice|good|awesome|alright|right|yes|no|thanks?(?:\ you)?
        |understood
        |got\ it|all\ (?:set|done|good|green|clean)|you(?:'re|\ are)\ (?:absolutely\ |completely\ )?(?:right
        |welcome)|sorry
        |hello|hi|hey|congratulations|success|fixed|finished|complete[d]?)
        (?:[,!]?\ (?:now|it|that|this|them|so|then|here|there|for\ you|you|everything|all|again
        |work|job|idea|question|point|very\ much|a\ lot|as\ requested|today|with\ that))*\ *[.!。！]*$
      | (?:(?:ok(?:ay)?|now|first|next|then|great|good|perfect|alright)[,.!]?\ )*(?:let\ me|let's|i'll
        |i\ will|i'm\ going\ to
        |i\ am\ going\ to|i\ need\ to|i\ should|i\ want\ to|we\ need\ to|time\ to)\b.*
      | (?:here(?:'s|\ is|\ are)|below|the\ following|this\ is\ what|that's\ it|summary|overview|recap
        |in\ summary|changes?(?:\ made)?
        |what\ (?:i|was)\ (?:did|changed|done)|key\ (?:changes|points|findings)|files?\ (?:changed|modified
        |created)|verification
        |root\ cause|results?|next\ steps?|notes?|tests?|details?|findings?|conclusion|analysis
        |answer)\b[^.。]{0,24}[:.!]*$
      | (?:(?:everything|all|it|this|that|the\ (?:task|work|job|feature|fix|change|implementation)s?)\ (?:is
        |are|has\ been|works?|looks?)
        \ (?:now\ )?(?:done|complete[d]?|finished|working|ready|in\ place|good|set|as\ expected|fine
        |implemented)[^.]{0,24}[.!]*$)
      | (?:and\ )?(?:all\ |the\ )*(?:\d+\ )?(?:unit\ |existing\ |new\ )?(?:tests?|checks?|suite|build|ci|lint(?:er)?)
        (?:\ \w+){0,3}\ (?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|is\ green|are\ green)\b.{0,40}$
      | (?:let\ me\ know|feel\ free|would\ you\ like|do\ you\ want|shall\ i|should\ i|if\ you(?:'d
        |\ would)?\ (?:like|want|need)|happy\ to
        |is\ there\ anything|please\ let|hope\ this|want\ me\ to|what\ would\ you|how\ can\ i|i\ hope
        |ready\ for|anything\ else).*
      | (?:i\ (?:apologi[sz]e|understand|see|can\ help|can\ see|don't\ have|am\ claude)|apologies|looking\ at
        |checking|running|reading)\b.*
      | (?:i've|i\ have|we've|i)\ (?:successfully\ )?(?:completed|finished|made|done|implemented)\ (?:all\ )?(?:of\ )?
        (?:it|this|that|everything|the\ (?:requested\ |new\ )?(?:changes?|features?
        |functionality|implementation|tasks?|work|edits?|updates?
        |fix))\b[^,;]{0,18}[.!]*$
      | (?:好的?|好了|行|可以|没问题|明白了?|收到|搞定了?|完成了?|已完成|全部完成|都完成了|完美|太好了|修好了
        |改好了|谢谢|不客气|你好|您好|是的|对)
        [，,。！!.\s]*(?:已完成|完成了?|搞定了?)?[。！!.]*$
      | (?:(?:好的?|现在|首先|接下来|然后|下面)[，, ]*)*(?:让我|我来|我先|我将|我会|我需要|我们来|开始|先看
        |来看看|接下来).*
      | (?:以下是|如下|总结|小结|概述|主要(?:改动|修改|变更)|修改(?:内容|总结|如下)|变更(?:内容|说明)
        |改动(?:内容|说明)|根本原因|原因|结论|说明|验证|结果|测试结果)
        [^。，]{0,12}[：:。]*$
      | (?:所有|全部)?(?:的)?(?:单元)?测试(?:都|均|全部|已经|已|用例)*通过.{0,12}$
      | (?:如果(?:你|您)?(?:还|有|需要|想)|需要我|要不要|还有(?:什么|其他)|请(?:告诉|随时|确认)|有(?:什么
        |任何)(?:问题|需要)|希望|您?还?需要).*
      | (?:一切|全部|任务|功能|修改|工作|改动)(?:都|均|已经|已|就绪|正常)*(?:完成|就绪|正常|好了|到位)了?[。！!]*$
      | (?:抱歉|对不起|你说得对|您说得对).*
      | (?:\w+\ ){0,2}(?:implementation|migration|refactor(?:ing)?|update|setup|fix|changes
        |work)\ (?:is\ |are\ )?(?:now\ )?(?:complete[d]?|done|finished)[.!]*$
      | [\u3400-\u9fff]{0,6}(?:已经?)?(?:完成|成功|结束)了?[。！!]*$
    )$"""
)
_HEADS = (
    "ok okay sure done perfect great excellent nice good awesome alright right yes no thank thanks understood got all "
    "you sorry hello hi hey congratulations success fixed finished complete completed now first next then let i we "
    "time here below the this that summary overview recap in change changes what key file files verification root "
    "result results note notes test tests detail details finding findings conclusion analysis answer everything it "
    "and unit existing new check checks suite build ci lint linter feel would do shall should if happy is please "
    "hope want how ready anything apologies looking checking running reading"
)
_FILLER_HEADS = frozenset(_HEADS.split())
_FILLER_ENDS = ("complete", "completed", "done", "finished")
"""An ASCII sentence is filler only if it begins with one of those words, or a number, or ends with one of these."""
_HEAD = re.compile(r"\w*")
_OPENING = re.compile(
    r"""(?ix)^(?:
      (?:done|perfect|great|excellent|fixed|ok(?:ay)?|yes|sure|success|all\ done|good\ news|in\ short|tl;?dr
        |summary|in\ summary|so|now|and|also
        |finally|additionally|overall|basically|actually|as\ (?:requested|you\ asked))(?:\s*[!,:—–-]+\s*|\.\s+)
      | (?:i\ have|i've|we\ have|we've|i|we)\ (?:(?:now|just|also|successfully|then
        |already)\ )*(?=[a-z]+(?:ed|t|n|de|ote|an|oke|ut|it|nd|ound|lt)\b)
      | successfully\ | now\ (?=[a-z]+ed\b)
      | you(?:'re|\ are)\ (?:absolutely\ )?right[,:;.!—–-]+\s*
      | (?:好的?|完成|搞定|可以|是的|没问题|修好了|改好了|现在)[，,。！!：:]\s*
      | (?:我)?(?:已经|已)(?:成功)?(?:帮(?:你|您))?(?:地)?(?=[\u3400-\u9fff]) | 我(?=[将把给对在为])
      | 成功(?:地)?(?=[\u3400-\u9fff]{2})
    )"""
)
_POLITE = re.compile(
    r"""(?ix)^(?:
      (?:hi|hey|hello|ok(?:ay)?|so|now|also|next|then|and|great|thanks|thank\ you|good|nice|perfect|cool|yes
        |alright)[,.!]*\s+
      | (?:can|could|would|will)\ (?:you|we)\ (?:please\ |also\ )*| please\s+ | i(?:'d|\ would)\ like\ (?:you\ )?to\s+
      | i\ (?:want|need)\ (?:you\ )?to\s+ | let's\s+ | we\ (?:need|want|have)\ to\s+ | help\ me\ (?:to\ )?
      | (?:请|麻烦|帮我|帮忙|帮|能不能|能否|可以|可否|你能|我想|我要|我需要|给我|现在|然后|接下来
        |好的?[，,])(?:你|您)?[，,\s]*
    )"""
)
_WORD = re.compile(r"[A-Za-z_][\w.-]{2,}|\d+(?:\.\d+)+|[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7a3]{2,}")
_UNSPACED = re.compile("[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7a3]")
_UNSPACED_RUN = re.compile(f"{_UNSPACED.pattern}+")
_STOP = frozenset(
    [
        "the",
        "and",
        "for",
        "that",
        "this",
        "with",
        "from",
        "have",
        "has",
        "was",
        "were",
        "are",
        "you",
        "your",
        "can",
        "not",
        "but",
        "into",
        "its",
        "our",
        "all",
        "any",
        "will",
        "would",
        "should",
        "could",
        "there",
        "then",
        "when",
        "what",
        "why",
        "how",
        "where",
        "which",
        "does",
        "did",
        "done",
        "now",
        "please",
        "also",
        "just",
        "use",
        "using",
        "used",
        "make",
        "made",
        "get",
        "got",
        "let",
        "it's",
    ]
)


class Unit(NamedTuple):
    """A sentence. kind: para, bullet or heading. paragraph: number of the block it stands in. filler: it
    says nothing about the work."""

    text: str
    kind: str
    paragraph: int
    filler: bool


NOTHING = Unit("", "para", 0, True)


def plain(text: str) -> str:
    """`text` without markup, code blocks, tables and what was put around it by machines."""
    if "<" in text:
        text = _WRAPPED.sub("", FENCE.sub("", text))
    if "```" in text or "~~~" in text:
        text = _CODE.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "*" in text:
        text = _EMPHASIS.sub(r"\1", text.replace("**", ""))
    text = text.replace("`", "").replace("__", "")
    if "<" in text:
        text = _TAG.sub("", text)
    return sanitize(text if text.isascii() else _PICTURES.sub("", text)).strip()


@lru_cache(maxsize=64)
def sentences(text: str) -> tuple[Unit, ...]:
    """The sentences in the first `READ` characters of a text, without markup."""
    if len(text) > READ:
        text = plain(text[: READ * 2])[:READ]
        text = text.rpartition("\n" if "\n" in text else " ")[0] or text
    else:
        text = plain(text)
    units: list[Unit] = []
    paragraph = 0
    for line in text.splitlines():
        if not line.strip():
            paragraph += 1
            continue
        kind, bare = _line(line)
        if not kind:
            continue
        for part in _parted(bare):
            flat = " ".join(part.split()) if part else ""
            if len(flat) > 1 and (flat[0].isalnum() or any(map(str.isalnum, flat))):
                units.append(Unit(flat, kind, paragraph, is_filler(flat)))
        if len(units) > UNITS:
            break
    return tuple(units)


def _parted(line: str) -> list[str]:
    """A line split as `_END` says, which is tried at its stops alone: at every character it takes ten times as long."""
    parts, start = [], 0
    for stop in _STOPS.finditer(line):
        if stop.start() >= start - 1 and (end := _END.match(line, stop.end())):
            parts.append(line[start : end.start()])
            start = end.end()
    return [*parts, line[start:]]


def _line(line: str) -> tuple[str, str]:
    """What kind of line it is, and what it says; kind is "" for rulers and tables."""
    if line[0].isalpha() and line[0] not in "一二三四五六七八九十":
        return "para", line
    if _RULER.match(line):
        return "", ""
    if head := _HEADING.match(line):
        return "heading", line[head.end() :]
    if bullet := _BULLET.match(line):
        return "bullet", line[bullet.end() :]
    return "para", line


def is_filler(sentence: str) -> bool:
    """Whether a sentence says nothing about the work."""
    return (_may_be_filler(sentence) and bool(_FILLER.match(sentence))) or _leads_in(sentence)


def _may_be_filler(sentence: str) -> bool:
    """Spares most sentences the thirty alternatives of `_FILLER`."""
    if not sentence.isascii():
        return True
    head = _HEAD.match(sentence)
    word = head[0].lower() if head else ""
    return word in _FILLER_HEADS or word.isdigit() or sentence.lower().rstrip(".!\n").endswith(_FILLER_ENDS)


def _leads_in(sentence: str) -> bool:
    """Whether it announces what comes after it."""
    return sentence.endswith((":", "：")) or (sentence[-1:] in "\"')" and sentence[-2:-1] in (":", "："))


def is_question(sentence: str) -> bool:
    """Whether it asks rather than tells."""
    return sentence.endswith(("?", "？")) or (sentence[-1:] in "\"')" and sentence[-2:-1] in ("?", "？"))


def trimmed(sentence: str) -> str:
    """A sentence without its opening phrase and closing stop: `I've added a retry.` -> `Added a retry`."""
    whole, before = sentence, None
    while before != sentence:
        before, opening = sentence, _OPENING.match(sentence)
        sentence = sentence[opening.end() if opening else 0 :].lstrip(" ,，")
    cut = sentence != whole
    sentence = sentence.rstrip(" .。;；!！,，")
    return sentence[:1].upper() + sentence[1:] if cut and sentence[:2].isalpha() else sentence


@lru_cache(maxsize=64)
def asked(prompt: str) -> str:
    """The first sentence of a prompt that says something, without its politeness; "" if none does."""
    found = _asked(sentences(prompt[:START]))
    return found or (_asked(sentences(prompt)) if len(prompt) > START else "")


def _asked(units: Sequence[Unit]) -> str:
    for unit in units:
        text, before = unit.text, None
        while before != text:
            before, text = text, _POLITE.sub("", text, count=1)
        text = text.rstrip(" .。!！")
        if weight(text) >= 4 and not (unit.filler and _FILLER.match(text)):
            return text[:1].upper() + text[1:]
    return ""


def weight(text: str) -> int:
    """How much a text says: its length, a character of an unspaced script counted three times."""
    return len(text) if text.isascii() else _weight(text)


@lru_cache(maxsize=512)
def _weight(text: str) -> int:
    return len(text) + 2 * sum(map(len, _UNSPACED_RUN.findall(text)))


@lru_cache(maxsize=16)
def words(text: str) -> frozenset[str]:
    """The first content words of a text, lower case; of unspaced scripts pairs of characters."""
    found: dict[str, None] = {}
    for word in _WORD.findall(text[:600].lower()):
        if _UNSPACED.match(word):
            found.update(dict.fromkeys(word[i : i + 2] for i in range(min(len(word) - 1, NEAR))))
        elif word not in _STOP:
            found[word.rstrip(".")] = None
        if len(found) >= NEAR:
            break
    return frozenset(list(found)[:NEAR])


def title(sentence: str) -> str:
    """A sentence as a title: without its opening phrase, `shortened`."""
    return shortened(trimmed(sentence))


def shortened(text: str) -> str:
    """At most 80 characters: cut between clauses where that leaves enough, else between words."""
    if len(text) <= TITLE_MOST:
        return text
    head = text[: TITLE_MOST - 1]
    for mark in ("; ", "；", " — ", " – ", ". ", "。", ", ", "，", ": ", "：", " and ", "、", " ("):
        at = head.rfind(mark)
        if at >= 30 or (at >= 14 and _UNSPACED.search(head[:at])):
            return head[:at].rstrip(" ,;，；、。")
    at = head.rfind(" ")
    return (head[:at] if at > 40 else head).rstrip(" ,;，；、。") + "…"


def subtitle(text: str) -> str:
    """At most 24 words on one line; in unspaced scripts at most 60 characters."""
    flat = " ".join(text.split())
    parts = flat.split(" ")
    cut = " ".join(parts[:SUBTITLE_WORDS])
    most = 60 if len(_UNSPACED.findall(cut)) * 2 > len(cut) else 240
    if len(parts) > SUBTITLE_WORDS or len(cut) > most:
        return cut[: most - 1].rstrip(" ,，.。") + "…"
    return cut


def narrative(texts: Iterable[str], most: int = NARRATIVE_MOST) -> str:
    """The first paragraphs of the texts without filler, up to `most` characters."""
    lines: list[str] = []
    room, last = most, None
    for place, text in enumerate(texts):
        for unit in sentences(text):
            if unit.filler and unit.kind != "heading" and not _leads_in(unit.text):
                continue
            joined = lines and last == (place, unit.paragraph) and unit.kind == "para"
            if len(unit.text) > room:
                if not lines:
                    lines.append(unit.text[:room].rstrip() + "…")
                return "\n".join(lines)
            piece = f"- {unit.text}" if unit.kind == "bullet" else unit.text
            if joined:
                lines[-1] += ("" if lines[-1][-1:] in "。！？；" else " ") + piece
            else:
                lines.append(piece)
            last = (place, unit.paragraph) if unit.kind == "para" else None
            room -= len(piece) + 1
    while lines and _leads_in(lines[-1]):
        lines.pop()
    return "\n".join(lines)


def best(texts: Sequence[str], near: frozenset[str], names: Sequence[str], told: Signals) -> Unit:
    """The sentence that says best what the work was; NOTHING when none says anything.

    texts: the last one first; a sentence of an earlier one has to be that much better. near: words of the
    prompt. names: files the work was on. told: what a sentence of this kind of work begins with.
    """
    found: list[tuple[float, int, int, Unit]] = []
    for back, text in enumerate(texts[:LAST]):
        found += [
            (_score(unit, place, near, names, told) - 1.1 * back, -back, -place, unit)
            for place, unit in enumerate(sentences(text)[:SENTENCES])
            if not unit.filler and weight(unit.text) >= 10 and not is_question(unit.text)
        ]
        if found and (max(found)[0] >= GOOD or len(text) >= LONG):
            break
    return max(found)[3] if found else NOTHING


def last_words(texts: Sequence[str]) -> list[str]:
    """The last text that says something, and as many before it as it takes to say a little."""
    chosen: list[str] = []
    for text in texts[::-1][: LAST * 2]:
        said = sum(weight(unit.text) for unit in sentences(text) if not unit.filler)
        if said >= 10:
            chosen.insert(0, text)
        if said >= 60:
            break
    return chosen[-2:]


def _score(unit: Unit, place: int, near: frozenset[str], names: Sequence[str], told: Signals) -> float:
    text = trimmed(unit.text)
    score = 2.0 if place == 0 else 1.5 / (1 + place / 2)
    score += {"para": 0.8, "bullet": 0.0, "heading": -1.2}[unit.kind]
    said = told.search(text)
    score += 0.0 if said is None else 0.8 if said.start() else 2.0
    score += 0.6 if any(name in unit.text for name in names) else 0.0
    lower = unit.text.lower()
    score += min(1.5, 0.5 * sum(word in lower for word in near))
    return score - (1.0 if len(text) > 220 else 0.0)
