"""Which project a folder belongs to: its key, the name a person knows it by, and where that comes from.

An environment rule of the config beats the git remote, that beats the path; a folder name alone is a
guess, to be upgraded as soon as a record tells its `cwd`.
* environment: the first rule with a pattern that fits the folder, else its repository's root.
* git-remote: host/owner/.../repository of `origin`, else `upstream`, else the first remote by name that
  leads off this machine. Clones by ssh and by https, worktrees and subfolders are one project.
* path: the main repository's root, else the folder itself. A worktree that is gone is known by
  `/.claude/worktrees/<name>` or `/.worktrees/<name>` in its path (not right below the home folder, where
  people keep the worktrees of many repositories). A folder that is gone belongs to the repository its
  nearest folder on disk lies in. Links are resolved as long as the folder is there.

Keys fold NFC + casefold: SQLite's NOCASE folds ASCII only, and macOS delivers NFD names. A project is one
whatever the letter case of its path (437 of 6,417 transcripts differ from their folder in that alone).

A folder under `projects/` is the launch directory with every UTF-16 unit but [A-Za-z0-9] made a dash, so
it cannot be decoded: which directory it stands for is read from the records, where 19 % of the sessions
name two or more. Nothing here runs a program, and whatever a transcript says, nothing raises.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from indexer import git_files
from indexer.errors import ConfigError
from indexer.text import clean

_LONGEST_PATH = 4096  # PATH_MAX of Linux: what is longer is no path, and would be slow to look at
_LONGEST_NAME = 200
_FOLDER_UNITS = 200
_REMEMBERED = 4096

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_OTHER = re.compile("[^A-Za-z0-9]")
_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/]|\Z)|\\\\")
_ROOT = re.compile(r"(?:[A-Za-z]:)?")
_WORKTREE = re.compile(r"(.+?)/\.(?:claude/)?worktrees/[^/]+(?:/|\Z)")
_WORKTREE_FOLDER = re.compile(r"(?<=.)--claude-worktrees-.*")
_ANCHORED = re.compile(r"/|~/|[A-Za-z]:/|\*\*/")
_NOTHING = re.compile(r"(?!)")
_PUBLIC_NAME = re.compile(r"[\w./-]+")


class Evidence(NamedTuple):
    """What a record says of its session's project.

    rank 2: `cwd` is the directory the transcript's folder is named after. rank 1: a directory that does
    not fit the folder. rank 0: nothing but the folder's name; `cwd` is "".
    """

    cwd: str
    rank: int


class Environment(NamedTuple):
    """A project by decree. patterns: globs of folders; `*` stays within a folder's name, `**` is any number
    of folders, `?` one character, a leading `~` the home folder. Without a slash: the folder's name."""

    name: str
    patterns: tuple[str, ...]


class Resolution(NamedTuple):
    """key: folded, what all filters use. display: as a person spells it. source: environment, git-remote,
    path or guess. root: the repository's main work tree, None where there is no repository."""

    key: str
    display: str
    source: str
    root: str | None


def encode(path: str) -> str:
    """The name of the folder in which the client keeps the transcripts of `path`; of a path over 200
    UTF-16 units the first 200 and a dash (the hash that follows differs between client versions)."""
    name = _dashed(path)
    return name if len(name) <= _FOLDER_UNITS else name[:_FOLDER_UNITS] + "-"


def fold(key: str) -> str:
    """One spelling for all letter cases and Unicode compositions of `key`. Folding twice changes nothing."""
    if key.isascii():
        return key.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", key).casefold())


@lru_cache(maxsize=1024)
def evidence(cwd: str | None, folder: str) -> Evidence:
    """How well `cwd` names the project of a transcript in `folder`. Looks at nothing but the two texts."""
    if cwd is None or not _is_path(cwd):
        return Evidence("", 0)
    launched = _launched(cwd, folder)
    return Evidence(launched, 2) if launched else Evidence(cwd, 1)


class Resolver:
    """Folders to projects, each looked up once.

    environments: in order of precedence; raises ConfigError for a name or pattern that makes no sense.
    home: the user's home folder, found if None. git_remote: False makes the path decide.
    """

    def __init__(
        self, environments: Sequence[Environment] = (), home: str | None = None, *, git_remote: bool = True
    ) -> None:
        self._home = home if home and Path(home).is_absolute() else _home()
        self._rules = tuple(_rule(environment, self._home) for environment in environments)
        self._git_remote = git_remote
        self._known: dict[tuple[str, str], Resolution] = {}

    def resolve(self, cwd: str, folder: str = "") -> Resolution:
        """The project of `cwd`; `folder`, the name of the transcript's folder, counts only if `cwd` is ""."""
        known = self._known.get((cwd, folder))
        if known is None:
            known = _guess(folder) if not _is_path(cwd) else next(self._findings(self._look(cwd))).project
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[cwd, folder] = known
        return known

    def explain(self, path: str) -> list[str]:
        """Why `path` is the project it is, and what else it could have been, in lines for a person."""
        if not _is_path(path):
            return [f"not a folder's path: {_guess('').key}"]
        place = self._look(path)
        best, *others = self._findings(place)
        return [
            f"project: {best.project.display}",
            f"key: {best.project.key}",
            f"decided by: {best.project.source}, {best.why}",
            *(f"otherwise: {other.project.key} ({other.project.source}, {other.why})" for other in others),
            *self._seen(place),
        ]

    def _look(self, path: str) -> _Place:
        cwd = self._home + path[1:] if path == "~" or path.startswith("~/") else path
        real = git_files.on_disk(cwd)
        repository = git_files.find(cwd if real else self._main_tree(cwd), self._home)
        if repository is None:
            return _Place(cwd, real, None, self._main_tree(cwd))
        return _Place(cwd, real, repository, cwd if repository.root == real else str(repository.root))

    def _main_tree(self, cwd: str) -> str:
        """The folder whose worktree `cwd` is by its path; `cwd` itself when nothing in it says so."""
        worktree = _WORKTREE.match(_plain(cwd))
        return worktree[1] if worktree and fold(worktree[1]) != fold(_plain(self._home)) else cwd

    def _findings(self, place: _Place) -> Iterator[_Finding]:
        """What the project can be, the best first; the last is always the path."""
        root = str(place.repository.root) if place.repository else None
        for key, display, source, why in (
            *self._by_environment(place),
            *self._by_remote(place),
            _by_path(place),
        ):
            project = Resolution(clean(fold(key)), clean(display), source, root and clean(root))
            yield _Finding(project, why)

    def _by_environment(self, place: _Place) -> Iterator[_Candidate]:
        for folder in dict.fromkeys((place.cwd, str(place.real or place.cwd), place.tree)):
            for name, patterns in self._rules:
                for pattern in patterns:
                    if pattern.fits(_parts(folder)):
                        yield name, name, "environment", f"the pattern {pattern.text} fits {folder}"
                        return

    def _by_remote(self, place: _Place) -> Iterator[_Candidate]:
        for name, address in self._remotes(place).items():
            if address and self._git_remote:
                yield address.text, address.name, "git-remote", f"the address of {_called(name)}"
                return

    def _remotes(self, place: _Place) -> dict[str, git_files.Address | None]:
        return git_files.remotes(place.repository, self._home) if place.repository else {}

    def _seen(self, place: _Place) -> Iterator[str]:
        if place.real is None:
            yield "folder: not on disk"
        yield f"environment rules: {len(self._rules)}"
        if place.repository is None:
            yield "repository: none"
            return
        yield f"repository: {place.repository.place}"
        yield f"read: {place.repository.common / 'config'} (its includes are not followed)"
        for name, address in self._remotes(place).items():
            yield f"{_called(name)}: {address.text if address else 'leads to no other machine, not used'}"
        if not self._git_remote:
            yield "git remotes: switched off in the config"


class _Place(NamedTuple):
    """cwd: as spelled. real: the same without links, if on disk. tree: whose path may be the key."""

    cwd: str
    real: Path | None
    repository: git_files.Repository | None
    tree: str


_Candidate: TypeAlias = tuple[str, str, str, str]
"""Key before folding, display name, source, why."""


class _Finding(NamedTuple):
    project: Resolution
    why: str


class _Pattern(NamedTuple):
    """parts: one a folder's name, None for `**`. by_name: it may fit the last name of a path alone."""

    text: str
    parts: tuple[re.Pattern[str] | None, ...]
    by_name: bool

    def fits(self, path: list[str]) -> bool:
        return _fits(self.parts, path) or (self.by_name and _fits(self.parts, path[-1:]))


def _fits(pattern: tuple[re.Pattern[str] | None, ...], path: list[str]) -> bool:
    """Whether all of `path` fits. Only the last `**` is ever taken back: time grows with the product."""
    at = taken = 0
    retry: tuple[int, int] | None = None
    while taken < len(path):
        part = pattern[at] if at < len(pattern) else _NOTHING
        if part is None:
            at, retry = at + 1, (at + 1, taken + 1)
        elif part.match(path[taken]):
            at, taken = at + 1, taken + 1
        elif retry:
            (at, taken), retry = retry, (retry[0], retry[1] + 1)
        else:
            return False
    return all(part is None for part in pattern[at:])


def _rule(environment: Environment, home: str) -> tuple[str, tuple[_Pattern, ...]]:
    name, patterns = environment
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise ConfigError(f"an environment cannot be called {name!r}", "Give it a short, printable name.")
    if not patterns:
        raise ConfigError(f"environment {name!r} has no patterns", 'Give it some: ["~/work/acme/**"].')
    return name, tuple(_pattern(text, name, home) for text in patterns)


def _pattern(text: str, name: str, home: str) -> _Pattern:
    spelled = text.strip().replace("\\", "/")
    if hint := _mistake(spelled):
        raise ConfigError(f"pattern {text!r} of environment {name!r} can fit no folder", hint)
    at_home = spelled == "~" or spelled.startswith("~/")
    parts = [re.compile(re.escape(part) + r"\Z") for part in (_parts(home) if at_home else ())]
    globs = [_glob(part) for part in fold(spelled[at_home:]).split("/") if part]
    return _Pattern(text, (*parts, *globs), by_name="/" not in spelled and not at_home)


def _mistake(pattern: str) -> str:
    """What to do about a pattern that must be a slip; "" if it is none."""
    parts = pattern.split("/")
    if not pattern or not pattern.isprintable() or len(pattern) > _LONGEST_PATH:
        return "Write a folder, with * and ** where names vary."
    if any("**" in part and part != "**" for part in parts):
        return "`**` stands for whole folders: write it alone between slashes, as in ~/work/**/api."
    if "." in parts or ".." in parts or (len(parts) > 1 and not _ANCHORED.match(pattern)):
        return "Write the whole path: begin with /, ~/, a drive or **/, and leave out . and .. on the way."
    return ""


def _glob(part: str) -> re.Pattern[str] | None:
    """fnmatch's expressions run in linear time; its [sets] are not ours, folders are called [id]."""
    return None if part == "**" else re.compile(fnmatch.translate(part.replace("[", "[[]")))


def _by_path(place: _Place) -> _Candidate:
    real = git_files.on_disk(place.tree)
    if place.repository is None:
        why = "the folder itself" if place.tree == place.cwd else "the folder of which it was a worktree"
    else:
        linked = place.repository.root != place.repository.place
        why = "the repository of which it is a worktree" if linked else "the root of its repository"
    return _plain(str(real or place.tree)), posixpath.basename(_plain(place.tree)) or "/", "path", why


def _guess(folder: str) -> Resolution:
    """`folder:` marks a key no path has. `my-proj` cannot be told from `my/proj`: shown as it is."""
    if not folder.strip():
        return Resolution("unknown-project", "unknown-project", "guess", None)
    main = clean(_WORKTREE_FOLDER.sub("", folder))
    return Resolution("folder:" + fold(main), main.lstrip("-") or main, "guess", None)


def _called(remote: str) -> str:
    """A remote may be named by a whole URL, password and all: such a name is not shown."""
    return f"remote {remote}" if _PUBLIC_NAME.fullmatch(remote) else "a remote with an odd name"


def _launched(cwd: str, folder: str) -> str | None:
    """`cwd` or the directory above it that `folder` is named after. The units of the folder's name are
    those of the directory, so there is one length to look at; over 200 it is `cwd` itself for all we know."""
    cwd = _trimmed(cwd)
    name = _dashed(cwd)
    if len(folder) > _FOLDER_UNITS:
        fits = len(name) > _FOLDER_UNITS and name[:_FOLDER_UNITS].lower() == folder[:_FOLDER_UNITS].lower()
        return cwd if fits else None
    place = _first_units(cwd, len(folder))
    if not place or not cwd.startswith(place) or _dashed(place).lower() != folder.lower():
        return None
    whole = place == cwd or not {place[-1], cwd[len(place)]}.isdisjoint(_separators(cwd))
    return place if whole and place == _trimmed(place) else None


def _first_units(text: str, units: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass")


def _dashed(path: str) -> str:
    return _OTHER.sub("-", _ASTRAL.sub("--", path))


def _separators(path: str) -> str:
    return "\\/" if _WINDOWS.match(path) else "/"


def _trimmed(path: str) -> str:
    """`path` without the slashes at its end, but for those that make it a root."""
    bare = path.rstrip(_separators(path))
    return path[: len(bare) + 1] if _ROOT.fullmatch(bare) else bare


def _plain(path: str) -> str:
    """`path` with single forward slashes and without `.`, `..` and slashes at its end, in its own case."""
    if _WINDOWS.match(path):
        return posixpath.normpath(path.removeprefix("\\\\?\\").replace("\\", "/"))
    plain = posixpath.normpath(path)
    return plain[1:] if plain.startswith("//") else plain


def _parts(path: str) -> list[str]:
    return [part for part in fold(_plain(path).replace("\\", "/")).split("/") if part]


def _is_path(cwd: str) -> bool:
    return 0 < len(cwd) <= _LONGEST_PATH and not cwd.isspace()


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"
