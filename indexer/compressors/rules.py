"""The default compressor: observations from a turn's own words and deeds, without a model.

One observation a commit, one for the edits that were not committed, one a command that failed and then
passed, one discovery when there was only reading and something was found, one a decision that somebody
made; nothing for turns without content. Types and files come from calls, titles and narratives from prose
that stands in the transcript already (`prose`, `kinds`, `evidence`).

* A failed command that passes after edits is told by the observation of those edits, which is a bugfix for
  it: two rows of one repair would say the same thing twice.
* Reading is a discovery only where the last answer states something: nothing found is nothing learned.
* What our own tools recalled is no evidence, and a turn that did nothing but recall teaches nothing.
* Tokens of a turn are shared out among its observations, so that their sum is what was spent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from indexer.compressors import digest, kinds, prose
from indexer.compressors.base import Call, Event, Observation, Summary, Turn, WorkItem
from indexer.compressors.evidence import (
    Commit,
    Edit,
    Evidence,
    Run,
    files,
    gather,
    is_trivial,
    moves,
    relative,
    tests_told,
    versions,
)

NAME = "rules/1"
FACTS_MOST, FILES_MOST, CALLS_MOST, COMMITS_MOST, ANSWERS_MOST = 12, 30, 60, 20, 4
_NOTHING_FOUND = re.compile(
    r"(?i)\b(?:(?:could ?n[o']t|did ?n[o']t|cannot|can't|unable to) (?:find|locate|access|read|open)"
    r"|no (?:matches|results|such file)|nothing (?:found|matches))\b|没有?找到|未找到|找不到|无法(?:访问|读取|打开)"
)
_CHOSE = re.compile(
    r"(?i)\b(?:let'?s (?:go with|use|stick (?:with|to)|keep)|(?:we|i)(?:'ll|'ve| will"
    r"| have)? (?:go(?:ing)? with|decided|chose|chosen|opted|settled on|stick(?:ing)? (?:with|to))"
    r"|decision:|decided (?:to|on|against)|opted (?:for|to))\b|我们?(?:就|还是)?(?:决定|选择|采用|改用|选用)"
    r"|^决定|最终(?:决定|选择|采用)|就用"
)
_CHOOSING = (
    "decid",
    "decision",
    "going with",
    "go with",
    "let's",
    "lets ",
    "chose",
    "opted",
    "settled",
    "stick",
    "决定",
    "选择",
    "采用",
    "改用",
    "选用",
    "就用",
)
"""Without one of these, no sentence of a text can make a choice."""
_AGAINST = re.compile(
    r"(?i)\b(?:instead of|rather than|over|because|since|so that|not|as (?:it|we)|for)\b|而不是|而非|不用"
    r"|不再|因为|以便|代替|，"
)
_PLAN_HEAD = re.compile(
    r"(?i)^(?:(?:implementation |the )?plan(?: to| for)?\s*[:：—-]*\s*|(?:实施|实现|执行)?(?:计划"
    r"|方案)\s*[:：—-]+\s*)(?=\S{3})"
)


class Rules:
    """See compressors.base.Compressor. Keeps the evidence of the turns that it saw last, for their summary."""

    name = NAME

    def __init__(self) -> None:
        self._gathered: dict[int, tuple[Turn, Evidence]] = {}

    def observe(self, turn: Turn) -> tuple[Observation, ...]:
        """What is worth remembering of a turn."""
        found = self._gather(turn)
        seen = [*_commits(turn, found), *_edits(turn, found), *_repairs(turn, found), *_decisions(turn)]
        if not seen:
            seen = list(_discovery(turn, found))
        return tuple(_shared(seen, turn.tokens))

    def summarise(self, turns: tuple[Turn, ...], seen: tuple[Observation, ...]) -> Summary | None:
        """One part of a session."""
        found = [self._gather(turn) for turn in turns]
        self._gathered.clear()
        return digest.summarise(turns, found, seen)

    def items(self, turns: tuple[Turn, ...]) -> tuple[WorkItem, ...]:
        """Every change to a session's to-do list."""
        return digest.of_turns(turns)

    def _gather(self, turn: Turn) -> Evidence:
        """`gather`, once for each turn in hand."""
        known = self._gathered.get(id(turn))
        if known is None or known[0] is not turn:
            known = self._gathered[id(turn)] = turn, gather(turn)
        return known[1]


def _shared(seen: Sequence[Observation], tokens: int) -> Iterator[Observation]:
    """The turn's tokens, the first of them one more where they do not come out even."""
    for place, observation in enumerate(seen):
        share, rest = divmod(tokens, len(seen))
        yield observation._replace(tokens=share + (place < rest))


# --- what was changed ----------------------------------------------------------------------------------


def _commits(turn: Turn, found: Evidence) -> Iterator[Observation]:
    """One a commit, with the edits since the one before. What was not edited here has no files."""
    since = -1
    for number, commit in enumerate(found.commits[:COMMITS_MOST]):
        edits = [edit for place, edit in found.edits if since < place <= commit.place]
        runs = [run for run in found.runs if since < run.place <= commit.place]
        since = commit.place
        yield _commit(turn, found, commit, edits, runs, number)


def _commit(
    turn: Turn, found: Evidence, commit: Commit, edits: Sequence[Edit], runs: Sequence[Run], number: int
) -> Observation:
    changed = files(edits)
    told = _texts(turn, commit.call.agent_id)
    only = len(found.commits) == 1
    body = prose.narrative([commit.body]) if commit.body else ""
    words = "\n".join(part for part in (body, prose.narrative(prose.last_words(told)) if only else "") if part)
    kind = kinds.of_subject(commit.subject, changed)
    sha = f"commit {commit.sha[:10]}" + (f" on {commit.branch}" if commit.branch else "")
    facts = [*_file_facts(edits, turn.cwd), *_run_facts(runs), *([sha] if commit.sha else [])]
    calls = [commit.call, *(edit.call for edit in edits)]
    return _observation(
        f"commit:{number}", kind, prose.shortened(commit.subject), _why(turn, commit.subject), words, facts,
        kinds.concepts(kind, words), found.reads if only else (), changed, commit.call.time, calls,
    )  # fmt: skip


def _edits(turn: Turn, found: Evidence) -> Iterator[Observation]:
    """One for all edits that no commit took."""
    last = max((commit.place for commit in found.commits), default=-1)
    edits = [edit for place, edit in found.edits if place > last]
    moved = [run for run in found.runs if run.place > last and not run.failed and moves(run)]
    if not edits:
        return
    runs = [run for run in found.runs if run.place > last]
    changed = files(edits)
    names = [name.rpartition("/")[2] for name in changed]
    told = _texts(turn, None)
    agent = None if told else edits[-1].call.agent_id
    told = told or _texts(turn, agent)
    near = prose.words(turn.prompt)
    unit = prose.NOTHING if found.commits else prose.best(_after(turn, edits, told), near, names, kinds.DONE)
    wanted = "" if found.commits else turn.prompt  # else what was asked for is in the commits
    best = unit.text
    if unit.kind == "bullet" and (kinds.verb(wanted) or prose.weight(prose.asked(wanted)) >= 16):
        best = ""  # one point of several; what was asked for names them all
    title = prose.title(best) if best else _named(turn, edits, bool(found.commits))
    mended = bool(_mended(runs, found))
    made = all(edit.created and kinds.is_source(edit.file) for edit in edits)
    words = "" if found.commits else prose.narrative(prose.last_words(told))
    kind = kinds.of_edits(title if best else "", wanted, changed, mended=mended, made=made, told=words)
    if moved and kind == "change" and len(moved) >= len(edits) // 2:
        kind = "refactor"
    facts = [*_file_facts(edits, turn.cwd), *_run_facts(runs), *versions(runs)]
    tries = sum(run.failed and not is_trivial(run) for run in runs)
    yield _observation(
        "edits", kind, title, _why(turn, title), words, facts, kinds.concepts(kind, words, tries=tries),
        found.reads, changed, _latest(edit.call for edit in edits), [edit.call for edit in edits], told_by=agent,
    )  # fmt: skip


def _after(turn: Turn, edits: Sequence[Edit], told: list[str]) -> list[str]:
    """The answers that may name the work, the last one first; among them the one that followed the edits."""
    last = _latest(edit.call for edit in edits)
    followed = [t.text for t in turn.texts if t.agent_id is None and last is not None and (t.time or 0) >= last][:1]
    back = told[::-1]
    return [*back[:1], *followed, *back[1:]] if followed and followed[0] not in back[: prose.LAST] else back


def _named(turn: Turn, edits: Sequence[Edit], rest: bool) -> str:
    """A title where no answer gives one: what was asked for; after commits, the files alone."""
    names = list(dict.fromkeys(edit.file.rpartition("/")[2] for edit in edits))
    listed = " and ".join(names[:2]) if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"
    wanted = "" if rest else prose.asked(turn.prompt)
    return prose.title(wanted) if wanted and not prose.is_question(wanted) else prose.title(f"Edit {listed}")


def _mended(runs: Sequence[Run], found: Evidence) -> list[tuple[Run, Run]]:
    """Commands that failed and, after edits, passed."""
    changed = [place for place, _ in found.edits]
    return [(bad, good) for bad, good in _pairs(runs) if any(bad.place < place < good.place for place in changed)]


def _pairs(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The first failure of each command, and the first time that it went well after the last."""
    pairs, open_failures = [], dict[tuple[str, str | None], Run]()
    for run in runs:
        key = run.key, run.call.agent_id
        if run.failed and run.key:
            open_failures.setdefault(key, run)
        elif not run.failed and key in open_failures:
            pairs.append((open_failures.pop(key), run))
    return pairs


# --- what failed and then passed ------------------------------------------------------------------------


def _repairs(turn: Turn, found: Evidence) -> Iterator[Observation]:
    """One a command that failed and passed without any edit between: something around it was wrong."""
    told = list(_mended(found.runs, found))
    number = 0
    for bad, good in _pairs(found.runs):
        if (bad, good) in told or is_trivial(bad) or not bad.error or _denied_by_shell(bad):
            continue
        between = [
            run for run in found.runs if bad.place < run.place < good.place and not run.failed and not is_trivial(run)
        ]
        if not between and bad.command == good.command:
            continue  # tried again: it was luck, or somebody else's doing
        yield _repair(turn, bad, good, between, number)
        number += 1


def _denied_by_shell(run: Run) -> bool:
    return "command not found" in run.error and not run.key


def _repair(turn: Turn, bad: Run, good: Run, between: Sequence[Run], number: int) -> Observation:
    by = between[-1].command if between else good.command
    told = _texts(turn, bad.call.agent_id)
    spoken = prose.best(told[::-1], prose.words(f"{turn.prompt[:1000]} {bad.error}"), [bad.key], kinds.DONE).text
    title = spoken if spoken and len(told) and number == 0 else f"{bad.key}: {bad.error}"
    facts = [f"`{bad.command}` failed: {bad.error}", f"`{by}` was run", f"`{good.command}` passed"]
    if not between:
        facts = [f"`{bad.command}` failed: {bad.error}", f"`{good.command}` passed"]
    words = prose.narrative(prose.last_words(told))
    calls = [bad.call, *(run.call for run in between), good.call]
    return _observation(
        f"repair:{number}", "bugfix", prose.title(title), _why(turn, title), words, [*facts, *versions(between)],
        kinds.concepts("bugfix", words, tries=2), (), (), good.call.time, calls,
    )  # fmt: skip


# --- what was found out ---------------------------------------------------------------------------------


def _discovery(turn: Turn, found: Evidence) -> Iterator[Observation]:
    """One, when there was only looking and the answer states something."""
    if not found.looked:
        return
    first = found.looked[0].time or 0
    told, agent = [text.text for text in turn.texts if text.agent_id is None and (text.time or 0) >= first], None
    if not any(prose.weight(text) >= 20 for text in told):
        agent = found.looked[-1].agent_id
        told = [*told, *_reports(turn)] or (_texts(turn, agent) if agent is not None else [])
    names = [name.rpartition("/")[2] for name in found.reads]
    near = prose.words(turn.prompt)
    best = prose.best(told[::-1], near, names, kinds.FOUND).text
    if not best or prose.weight(best) < 20 or _NOTHING_FOUND.search(best):
        return
    words = prose.narrative(prose.last_words(told))
    looked = [call.name for call in found.looked]
    facts = [*_points(told[-1], best), *([f"searched for {', '.join(found.searched[:4])}"] if found.searched else [])]
    outside = len(found.outside) == len(found.looked)
    concepts = kinds.concepts("discovery", words)
    yield _observation(
        "discovery", "discovery", prose.title(best), _why(turn, best), words,
        [*facts, *_run_facts(found.runs)], concepts,
        found.reads, (), _latest(found.looked), found.looked, told_by=agent,
        outside=bool(looked) and outside,
    )  # fmt: skip


def _reports(turn: Turn) -> list[str]:
    """What sub-agents reported at their end."""
    found = [event for call in turn.calls for event in call.events if event.kind == "agent"]
    return [text for event in found if isinstance(text := event.data.get("text"), str)]


def _points(text: str, best: str) -> list[str]:
    """The bullets of an answer, which are its facts already."""
    bullets = [
        unit.text for unit in prose.sentences(text) if unit.kind == "bullet" and not unit.filler and unit.text != best
    ]
    return [prose.subtitle(bullet) for bullet in bullets if prose.weight(bullet) >= 12][:6]


# --- what was decided -----------------------------------------------------------------------------------


def _decisions(turn: Turn) -> Iterator[Observation]:
    """One an approved plan, one an answered question, one where somebody says so."""
    events = [(call, event) for call in turn.calls for event in call.events]
    number = 0
    for call, event in events:
        for made in _decision(turn, call, event):
            yield made._replace(slot=f"decision:{number}")
            number += 1
    if not number and (choice := _spoken(turn)):
        yield choice


def _decision(turn: Turn, call: Call, event: Event) -> Iterator[Observation]:
    if event.kind == "plan" and event.data.get("approved") and isinstance(plan := event.data.get("plan"), str):
        if made := _plan(turn, call, event, plan):
            yield made
    elif event.kind == "answer" and isinstance(answers := event.data.get("answers"), list):
        for answer in answers[:ANSWERS_MOST]:
            if isinstance(answer, dict) and answer.get("question") and answer.get("answer"):
                question, chosen = str(answer["question"]).rstrip("?？ "), str(answer["answer"])
                text = f"{question}: {chosen}"
                yield _decided(turn, prose.title(text), text, [], event.time, [call])


def _plan(turn: Turn, call: Call, event: Event, plan: str) -> Observation | None:
    units = [unit for unit in prose.sentences(plan) if prose.weight(unit.text) >= 6]
    if not units:
        return None
    head = next((unit for unit in units if unit.kind == "heading"), units[0])
    named = _PLAN_HEAD.sub("", head.text)
    if prose.is_filler(named) or prose.weight(named) < 8:
        named = prose.asked(turn.prompt) or next((unit.text for unit in units if not unit.filler), head.text)
    points = [prose.subtitle(unit.text) for unit in units if unit.kind == "bullet"][:8]
    return _decided(turn, prose.title(named), prose.narrative([plan]), points, event.time, [call])


def _spoken(turn: Turn) -> Observation | None:
    """A choice that the prompt makes, or that the last answer tells of, with what spoke for it."""
    last = [text.text for text in turn.texts if text.agent_id is None][-1:]
    for text in (turn.prompt, *last):
        lower = text[: prose.READ].lower()
        if not any(part in lower for part in _CHOOSING):
            continue
        for unit in prose.sentences(text):
            if _CHOSE.search(unit.text) and _AGAINST.search(unit.text) and not prose.is_question(unit.text):
                words = prose.narrative([text], 600)
                made = _decided(turn, prose.title(prose.asked(unit.text) or unit.text), words, [], turn.time, [])
                return made._replace(slot="choice")
    return None


def _decided(
    turn: Turn, title: str, words: str, facts: list[str], time: int | None, calls: Sequence[Call]
) -> Observation:
    concepts = kinds.concepts("decision", words)
    return _observation("decision", "decision", title, _why(turn, title), words, facts, concepts, (), (), time, calls)


# --- parts ----------------------------------------------------------------------------------------------


def _observation(
    slot: str, kind: str, title: str, subtitle: str, narrative: str, facts: Iterable[str], concepts: tuple[str, ...],
    read: Iterable[str], changed: Iterable[str], time: int | None, calls: Sequence[Call],
    *, told_by: str | None = None, outside: bool = False,
) -> Observation:  # fmt: skip
    """An observation; its tokens come later. It is a sub-agent's if that one alone told of it."""
    agent = next((call for call in calls if call.agent_id is not None), None) if told_by else None
    edited = tuple(dict.fromkeys(changed))[:FILES_MOST]
    only_read = tuple(name for name in dict.fromkeys(read) if name not in edited)[:FILES_MOST]
    return Observation(
        slot, kind, title, subtitle, narrative, tuple(dict.fromkeys(filter(None, facts)))[:FACTS_MOST], concepts,
        only_read, edited, 0, agent and agent.agent_type, agent and agent.agent_id, time,
        tuple(dict.fromkeys(call.row for call in calls))[:CALLS_MOST], outside,
    )  # fmt: skip


def _texts(turn: Turn, agent: str | None) -> list[str]:
    """What was said on one thread, in order."""
    return [text.text for text in turn.texts if text.agent_id == agent]


def _why(turn: Turn, title: str) -> str:
    """What was asked, unless the title says the same."""
    wanted = prose.asked(turn.prompt)
    return "" if wanted.casefold() == title.casefold() else prose.subtitle(wanted)


def _latest(calls: Iterable[Call]) -> int | None:
    return max((call.time for call in calls if call.time is not None), default=None)


def _file_facts(edits: Sequence[Edit], cwd: str) -> Iterator[str]:
    """`src/a.py +3/-1`, over all edits of a file."""
    for file in files(edits):
        mine = [edit for edit in edits if edit.file == file]
        added, removed = (sum(getattr(edit, name) or 0 for edit in mine) for name in ("added", "removed"))
        known = any(edit.added is not None for edit in mine)
        mark = f" +{added}/-{removed}" if known and (added or removed) else ""
        yield relative(file, cwd) + mark + (" (new)" if mine[0].created else "")


def _run_facts(runs: Sequence[Run]) -> Iterator[str]:
    """How checks ended, and what failures said."""
    for run in _first_failures(runs):
        code = f"exit {run.code}" if run.code is not None else "failed"
        yield f"`{run.command}`: {code}" + (f": {run.error}" if run.error else "")
    told = [(run, said) for run in runs if (said := tests_told(run.call.response))]
    if told:
        run, said = told[-1]
        yield f"{run.key or run.command}: {said}"


def _first_failures(runs: Sequence[Run]) -> list[Run]:
    first: dict[str, Run] = {}
    for run in runs:
        if run.failed and not is_trivial(run):
            first.setdefault(run.key, run)
    return list(first.values())[:4]
