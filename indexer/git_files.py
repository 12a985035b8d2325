"""What git's own files say of a folder: the repository that holds it, and where its remotes live.

git itself is never run: in a folder one does not trust, its config can start programs (fsmonitor,
hooks, pagers, ssh commands). A few small files are read instead, and nothing in them can raise or block:
only regular files are opened, without waiting (a FIFO may be named `.git`), and up to 1 MiB. A larger
config is not read at all, for its cut end could name another repository.

Read: `.git` (folder, link or `gitdir:` file), `commondir`, the repository's `config`, and the user's
`~/.gitconfig` and `~/.config/git/config` for their `url.<base>.insteadOf`, which is where such rules stand.
Not followed: `include`, `includeIf`, `config.worktree`, system-wide config, variables of the environment.

The walk up ends after 64 levels, at the home folder and at the root of the file system; a repository
standing right there (dotfiles, etckeeper) holds that folder alone, or every project would be one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

_LARGEST = 1 << 20
_LEVELS = 64
_LONGEST_URL = 4096

_HEADER = re.compile(r'\[[ \t]*([A-Za-z0-9-]+)(?:\.([^]"\n]*)|[ \t]*"((?:[^"\\\n]|\\.)*)")?[ \t]*]')
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*")
_PIECE = re.compile(r'[^"\\#;\n]+|\\\n|\\.|["#;\\]')
_SPACE = re.compile(r"\s+")
_ESCAPES = {"\\\n": "", "\\n": "\n", "\\t": "\t", "\\b": "\b"}

_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")
_LOCAL = re.compile(r"[/\\.~]|[a-z]:|file:|[\w+-]+::", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]+://([^/?#]*)/?([^?#]*)", re.IGNORECASE)
_SCP = re.compile(r"((?:[^/[]*@)?\[[^]/]*]|(?:[^/]*@)?[^/:]*):(?!:)([^?]*)")
_HOST = re.compile(r"\[?([\w.-]*\w)\.?(?::\d*)?]?|(\[[0-9a-f:.]+])(?::\d*)?", re.IGNORECASE)
_AZURE = "dev.azure.com"
_SAME_HOST = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": _AZURE,
    "vs-ssh.visualstudio.com": _AZURE,
}


class Setting(NamedTuple):
    """One `name = value` of a git config: section and name in lower case, the rest as spelled."""

    section: str
    subsection: str
    name: str
    value: str


class Repository(NamedTuple):
    """place: the folder in which `.git` stands. common: the folder whose `config` all worktrees share.
    root: the main work tree, which is `place` itself unless that is a linked worktree. Links are resolved."""

    place: Path
    common: Path
    root: Path


class Address(NamedTuple):
    """Where a remote lives. text: `host/owner/.../repository` in the URL's own letter case, free of user,
    password and port. name: the repository's, the last part of it."""

    text: str
    name: str


def on_disk(path: str) -> Path | None:
    """The folder at the absolute `path`, its links resolved; None when there is none to be seen."""
    return _real(path) if Path(path).is_absolute() and _is_folder(Path(path)) else None


def find(path: str, home: str) -> Repository | None:
    """The repository that holds the absolute `path`, which may be gone: its nearest folder on disk counts."""
    here, fence = _real(path), _real(home)
    if here is None or not Path(path).is_absolute():
        return None
    for place in islice(_standing(here), _LEVELS):
        fenced = place in (fence, place.parent)
        git_dir = None if fenced and place != here else _git_dir(place)
        if git_dir is not None:
            return _repository(place, git_dir)
        if fenced:
            break
    return None


def remotes(repository: Repository, home: str) -> dict[str, Address | None]:
    """All remotes by name, the preferred first: `origin`, `upstream`, then in order. Only fetch URLs count.

    None stands for a remote that means something on this machine only.
    """
    rewrites: dict[str, str] = {}
    urls: dict[str, str] = {}
    own = repository.common / "config"
    for path in (Path(home, ".gitconfig"), Path(home, ".config", "git", "config"), own):
        for section, subsection, name, value in settings(_read(path)):
            if (section, name) == ("url", "insteadof") and value:
                rewrites[value] = subsection
            elif (section, name) == ("remote", "url") and value and path == own:
                urls.setdefault(subsection, value)
    order = sorted(urls, key=lambda name: (name != "origin", name != "upstream", name))
    return {name: address(_rewritten(urls[name], rewrites)) for name in order}


def settings(data: bytes) -> Iterator[Setting]:
    """The settings in a git config file, in its order. Takes any bytes and never raises.

    A line git would refuse is skipped, a name without `=` too. Values are stripped even where quoted.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    section = subsection = ""
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
        elif header := _HEADER.match(text, at):
            section, subsection, at = header[1].lower(), _subsection(header), header.end()
        elif section and (name := _NAME.match(text, at)):
            value, at = _value(text, name.end())
            yield Setting(section, subsection, name[1].lower(), value)
        else:
            section = "" if text[at] == "[" else section
            at = _line_end(text, at)


def address(url: str) -> Address | None:
    """Where a remote's URL points, the same for ssh, https, git:// and `user@host:path`; None if local.

    All parts of the path are kept (GitLab groups), percent signs decoded, trailing slashes and then one
    `.git` removed. What is left out on the way - user, password, port, query - can hold a secret.
    Also None: a helper's command (`ext::...`), a host without a path, anything that cannot be printed, and
    a bare `@` after the host, for a slash in a password makes the rest of it look like a path.
    """
    url = url.strip()
    local = len(url) > _LONGEST_URL or _LOCAL.match(url)
    found = None if local else _URL.match(url) or _SCP.match(url)
    if not found or "@" in url[found.end(1) :]:
        return None
    host = _HOST.fullmatch(found[1].rpartition("@")[2])
    path = re.sub(r"\.git\Z", "", unquote(found[2]).rstrip("/"), flags=re.IGNORECASE)
    return _address((host[1] or host[2]).lower(), path) if host else None


def _address(host: str, path: str) -> Address | None:
    parts = [part for part in path.split("/") if part.strip() not in ("", ".", "..")]
    host, parts = _azure(_SAME_HOST.get(host, host), parts)
    text = "/".join([host, *parts])
    return Address(text, parts[-1]) if parts and text.isprintable() else None


def _azure(host: str, parts: list[str]) -> tuple[str, list[str]]:
    """Azure DevOps spells one repository in five ways; `dev.azure.com/organisation/project/repository`."""
    parts = [part for part in parts if part.lower() != "_git"]
    if host.endswith(".visualstudio.com"):
        kept = parts[1:] if parts[0:1] == ["DefaultCollection"] else parts
        host, parts = _AZURE, [host.removesuffix(".visualstudio.com"), *kept]
    if host == _AZURE and len(parts) == 4 and parts[0] == "v3":
        parts = parts[1:]
    if host == _AZURE and len(parts) == 2:
        parts = [*parts, parts[1]]
    return host, parts


def _rewritten(url: str, rewrites: dict[str, str]) -> str:
    """`url` after `insteadOf`: the longest prefix that fits is replaced by its base."""
    prefix = max((prefix for prefix in rewrites if url.startswith(prefix)), key=len, default="")
    return rewrites[prefix] + url[len(prefix) :] if prefix else url


def _subsection(header: re.Match[str]) -> str:
    if header[2] is not None:
        return header[2].strip().lower()
    return re.sub(r"\\(.)", r"\1", header[3] or "")


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that begins at `at`, and where it ends: its newline, which a backslash may escape."""
    kept: list[str] = []
    quoted = False
    while piece := _PIECE.match(text, at):
        part, at = piece[0], piece.end()
        if part == '"':
            quoted = not quoted
        elif part in ("#", ";") and not quoted:
            return "".join(kept).strip(), _line_end(text, at)
        else:
            kept.append(_ESCAPES.get(part, part.removeprefix("\\")))
    return "".join(kept).strip(), at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _standing(path: Path) -> Iterator[Path]:
    """The folders at and above `path` that are on disk, the nearest first."""
    return (place for place in (path, *path.parents) if _is_folder(place))


def _git_dir(place: Path) -> Path | None:
    """The folder git keeps its data in for `place`, when a repository stands right there."""
    entry = place / ".git"
    if _is_folder(entry):
        seen = _exists(entry / "HEAD") or _exists(entry / "config") or not os.access(entry, os.X_OK)
        return _real(entry) if seen else None
    word, _, target = os.fsdecode(_read(entry)).partition(":")
    if word == "gitdir":
        return _pointed(place, target)
    bare = _exists(place / "HEAD") and _is_folder(place / "objects") and _is_folder(place / "refs")
    return place if bare else None


def _repository(place: Path, git_dir: Path) -> Repository:
    """A linked worktree is known by its `commondir`, or by its name when that is gone or out of reach."""
    common = _pointed(git_dir, os.fsdecode(_read(git_dir / "commondir")))
    if common is None and git_dir.parent.name == "worktrees" and not _is_folder(git_dir):
        common = git_dir.parent.parent
    if common is None or common == git_dir:
        return Repository(place, git_dir, place)
    return Repository(place, common, _main_tree(common))


def _main_tree(common: Path) -> Path:
    """The work tree a common folder belongs to; itself when it has none (a bare repository)."""
    parent = common.parent
    return parent if common.name == ".git" or _git_dir(parent) == common else common


def _pointed(base: Path, target: str) -> Path | None:
    """The path a git file names, relative to `base`. One that git for Windows wrote means nothing here."""
    target = target.strip()
    return None if not target or _WINDOWS.match(target) else _real(base / target)


def _real(path: Path | str) -> Path | None:
    """`path` without links; what is not on disk stays. (`Path.resolve` raises on a loop of links.)"""
    with suppress(OSError, ValueError):
        return Path(os.path.realpath(path))
    return None


def _is_folder(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISDIR(path.stat().st_mode)
    return False


def _exists(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return bool(path.lstat())
    return False


def _read(path: Path) -> bytes:
    """The bytes of a regular file; none of one that is anything else, out of reach or too large."""
    with suppress(OSError, ValueError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            info = os.fstat(fd)
            return os.read(fd, _LARGEST) if stat.S_ISREG(info.st_mode) and info.st_size <= _LARGEST else b""
        finally:
            os.close(fd)
    return b""
