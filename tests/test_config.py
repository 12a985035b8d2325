"""Settings: which layer wins, what is refused and with which words, and that every one of them is used."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from indexer import config, share
from indexer.errors import ConfigError, UsageError
from indexer.project import Environment

Write: TypeAlias = Callable[[str], Path]

BLOCKS = "blocks of a name and a list of patterns, and nothing else"
INDEXER = Path(config.__file__).parent


@pytest.fixture
def write() -> Write:
    """Writes the user's config.toml."""

    def put(text: str) -> Path:
        file = config.user_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return put


def refused(**given: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        config.load(**given)
    return caught.value


# --- defaults


def test_defaults() -> None:
    found = config.load()
    assert (found.debounce_ms, found.max_delay_ms) == (50, 200)
    assert (found.sweep_seconds, found.hot_sweep_seconds, found.poll_seconds) == (300, 10, 2)
    assert (found.quiet_seconds, found.idle_minutes, found.search_limit) == (60, 30, 20)
    assert (found.log_level, found.log_format, found.git_remote) == ("info", "auto", True)


def test_home_is_the_platforms_data_folder(isolated: Path) -> None:
    assert config.load().home == isolated / ".local/share/transcript-indexer"


def test_roots_are_left_to_discovery() -> None:
    assert config.load().roots == ()


def test_no_project_rules() -> None:
    assert (config.load().environments, config.load().aliases) == ((), ())


def test_reading_creates_nothing(isolated: Path) -> None:
    config.load(home="~/memory", roots=["~/transcripts"])
    assert list(isolated.rglob("*")) == []


def test_every_setting_has_its_default_in_the_file_and_the_other_way_round() -> None:
    file = tomllib.loads(share.find("config/default.toml").read_text())
    keys = {f"{section}.{key}" for section, table in file.items() for key in table}
    blocks = {"project.environment", "project.aliases", "redact.rule"}
    assert keys | blocks == {key for key, _, _ in config.load().shown()}


def test_every_setting_is_commented() -> None:
    lines = share.find("config/default.toml").read_text().splitlines()
    settings = [i for i, line in enumerate(lines) if line and line[0] not in "#["]
    assert all(lines[i - 1].startswith("# ") for i in settings)


def test_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.load().search_limit = 3  # type: ignore[misc]


# --- which layer wins


def test_the_users_file_beats_the_default(write: Write) -> None:
    write("[search]\nlimit = 7\n")
    assert config.load().search_limit == 7


def test_the_environment_beats_the_users_file(write: Write) -> None:
    write("[search]\nlimit = 7\n")
    assert config.load(env={"TRANSCRIPT_INDEXER_SEARCH_LIMIT": "8"}).search_limit == 8


def test_a_flag_beats_the_environment(tmp_path: Path) -> None:
    found = config.load(home=tmp_path / "flag", env={"TRANSCRIPT_INDEXER_HOME": "/environment"})
    assert found.home == tmp_path / "flag"


def test_root_flags_replace_all_others(write: Write, tmp_path: Path) -> None:
    write('[sources]\nroots = ["/home/dev/a"]\n')
    found = config.load(roots=[str(tmp_path), "/home/dev/c"], env={"TRANSCRIPT_INDEXER_ROOT": "/home/dev/b"})
    assert found.roots == (str(tmp_path), "/home/dev/c")


def test_a_file_that_sets_one_key_keeps_the_others_of_its_section(write: Write) -> None:
    write("[watch]\nsweep_seconds = 60\n")
    found = config.load()
    assert (found.sweep_seconds, found.debounce_ms) == (60, 50)


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_LOG_LEVEL", "debug")
    assert config.load().log_level == "debug"


@pytest.mark.parametrize("name", ["HOME", "STORAGE_HOME"])
def test_home_from_the_environment(name: str) -> None:
    assert config.load(env={f"TRANSCRIPT_INDEXER_{name}": "/srv/memory"}).home == Path("/srv/memory")


def test_the_short_name_of_home_beats_the_long_one() -> None:
    env = {"TRANSCRIPT_INDEXER_HOME": "/short", "TRANSCRIPT_INDEXER_STORAGE_HOME": "/long"}
    assert config.load(env=env).home == Path("/short")


@pytest.mark.parametrize("name", ["ROOT", "ROOTS", "SOURCES_ROOTS"])
def test_roots_from_the_environment(name: str) -> None:
    assert config.load(env={f"TRANSCRIPT_INDEXER_{name}": "/a:/b"}).roots == ("/a", "/b")


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert config.load(env={"TRANSCRIPT_INDEXER_SEARCH_LIMIT": ""}).search_limit == 20


def test_other_programs_variables_are_not_ours() -> None:
    assert config.load(env={"TRANSCRIPT_LIMIT": "x", "HOME": "/home/dev"}).search_limit == 20


@pytest.mark.parametrize(("word", "meaning"), [("off", False), ("0", False), ("No", False), ("TRUE", True)])
def test_truth_in_the_environment(word: str, meaning: bool) -> None:
    assert config.load(env={"TRANSCRIPT_INDEXER_PROJECT_GIT_REMOTE": word}).git_remote is meaning


def test_fractions_of_seconds() -> None:
    assert config.load(env={"TRANSCRIPT_INDEXER_WATCH_POLL_SECONDS": "0.5"}).poll_seconds == 0.5


def test_origins(write: Write) -> None:
    file = write("[watch]\nsweep_seconds = 60\n")
    found = config.load(home="/srv/memory", env={"TRANSCRIPT_INDEXER_SEARCH_LIMIT": "8"})
    assert found.origin("watch.sweep_seconds") == str(file)
    assert found.origin("search.limit") == "TRANSCRIPT_INDEXER_SEARCH_LIMIT"
    assert found.origin("storage.home") == "--home"
    assert found.origin("log.level") == "default"
    assert found.origin("project.environment") == "default"


def test_shown_is_what_json_can_hold(write: Write) -> None:
    write('[project]\nenvironment = [{name = "n", patterns = ["/n"]}]\naliases = {"a" = "b"}\n')
    shown = {key: value for key, value, _ in config.load(home="/srv/memory").shown()}
    assert shown["storage.home"] == "/srv/memory"
    assert shown["project.environment"] == [{"name": "n", "patterns": ["/n"]}]
    assert shown["project.aliases"] == {"a": "b"}


# --- paths


def test_a_tilde_is_the_home_folder(write: Write, isolated: Path) -> None:
    write('[storage]\nhome = "~/memory"\n')
    assert config.load().home == isolated / "memory"


def test_flags_are_relative_to_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = config.load(home="memory/../m", roots=["./projects"])
    assert (found.home, found.roots) == (tmp_path / "m", (str(tmp_path / "projects"),))


@pytest.mark.parametrize("path", ["memory", "./memory", "~nobody-of-that-name/m"])
def test_a_file_cannot_be_relative(write: Write, path: str) -> None:
    write(f'[storage]\nhome = "{path}"\n')
    assert refused().hint == "it must be an absolute path, or one that starts with ~"


@pytest.mark.parametrize(("given", "flag"), [({"home": ""}, "--home"), ({"roots": ["/t", ""]}, "--root")])
def test_an_empty_flag_is_not_the_current_folder(given: dict[str, Any], flag: str) -> None:
    assert refused(**given).message == f"{flag} is empty"


@pytest.mark.parametrize("home", ["/t/projects", "/t/projects/", "/t/projects/a/b"])
def test_the_memory_cannot_lie_among_the_transcripts(home: str) -> None:
    assert "must not lie within /t/projects" in refused(home=home, roots=["/t/projects"]).hint


def test_the_memory_can_lie_beside_the_transcripts() -> None:
    assert config.load(home="/t/projects-memory", roots=["/t/projects"]).roots == ("/t/projects",)


def test_a_link_does_not_hide_that_the_memory_lies_among_the_transcripts(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "projects")
    assert "within" in refused(home=tmp_path / "link" / "m", roots=[str(tmp_path / "projects")]).hint


# --- what is refused, and how


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[watch]\ndebounce = 5", "watch.debounce_ms"),
        ("[watch]\nsweep_second = 5", "watch.sweep_seconds"),
        ("[wacth]\npoll_seconds = 5", "watch.poll_seconds"),
        ("[search]\nquiet_seconds = 5", "watch.quiet_seconds"),
        ("limit = 5", "search.limit"),
        ("[projects.aliases]\na = 'b'", "project.aliases"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(write: Write, text: str, meant: str) -> None:
    write(text)
    assert refused().hint == f"did you mean {meant}?"


def test_an_unknown_key_is_named_with_its_file(write: Write) -> None:
    file = write("[watch]\nwhatever = 5\n")
    error = refused()
    assert error.message == f"{file}: there is no setting 'watch.whatever'"
    assert error.hint == "`transcript-indexer config show` lists all settings"


def test_an_unknown_empty_section_is_refused(write: Write) -> None:
    write("[storages]\n")
    assert "there is no setting 'storages'" in refused().message


@pytest.mark.parametrize(
    ("name", "meant"), [("SEARCH_LIMITS", "SEARCH_LIMIT"), ("LOGLEVEL", "LOG_LEVEL"), ("HOM", "HOME")]
)
def test_an_unknown_variable_is_answered_with_the_nearest(name: str, meant: str) -> None:
    error = refused(env={f"TRANSCRIPT_INDEXER_{name}": "5"})
    assert error.message == f"there is no setting for the environment variable TRANSCRIPT_INDEXER_{name}"
    assert error.hint == f"did you mean TRANSCRIPT_INDEXER_{meant}?"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("DEBG", "TRANSCRIPT_INDEXER_DEBUG"), ("FROBNICATE", ""), ("FAILPOINTS", "TRANSCRIPT_INDEXER_FAILPOINT")],
)
def test_a_variable_that_nobody_reads_is_found(name: str, meant: str) -> None:
    env = {f"TRANSCRIPT_INDEXER_{name}": "1", "TRANSCRIPT_INDEXER_DEBUG": "1", "TRANSCRIPT_INDEXER_HOME": "/m", "A": ""}
    assert list(config.unknown_variables(env)) == [(f"TRANSCRIPT_INDEXER_{name}", meant)]


def test_a_variable_of_another_part_of_the_program_is_left_alone() -> None:
    assert config.load(env={"TRANSCRIPT_INDEXER_DEBUG": "1"}) == config.load()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[watch]\ndebounce_ms = -1", "a whole number from 0 to 10000"),
        ("[watch]\ndebounce_ms = 1.5", "a whole number from 0 to 10000"),
        ("[watch]\ndebounce_ms = true", "a whole number from 0 to 10000"),
        ("[watch]\ndebounce_ms = '50'", "a whole number from 0 to 10000"),
        ("[watch]\npoll_seconds = 0", "a number from 0.1 to 3600"),
        ("[watch]\npoll_seconds = nan", "a number from 0.1 to 3600"),
        ("[watch]\nsweep_seconds = inf", "a number from 1 to 86400"),
        ("[watch]\nsweep_seconds = false", "a number from 1 to 86400"),
        ("[search]\nlimit = 0", "a whole number from 1 to 10000"),
        ("[search]\nlimit = {}", "a whole number from 1 to 10000"),
        ("[log]\nlevel = 'loud'", "one of debug, info, warning, error"),
        ("[log]\nformat = 1", "one of auto, json, text"),
        ("[project]\ngit_remote = 'yes'", "true or false"),
        ("[storage]\nhome = 5", "a path in quotes"),
        ("[sources]\nroots = '/a'", "a list of paths"),
        ("[sources]\nroots = ['']", "a list of paths"),
        ("[sources]\nroots = ['a']", "an absolute path, or one that starts with ~"),
        ("[project.aliases]\na = 1", 'lines of the form "old key" = "key"'),
        ("[project.aliases]\na.b = 'c'", 'lines of the form "old key" = "key"'),
        ("[project]\nenvironment = 'a'", "[[project.environment]] blocks"),
        ("[[project.environment]]\nname = 'a'", BLOCKS),
        ("[[project.environment]]\nname = ''\npatterns = []", BLOCKS),
        ("[[project.environment]]\nname = 'a'\npatterns = [1]", BLOCKS),
    ],
)
def test_an_impossible_value_is_answered_with_what_is_possible(write: Write, text: str, wanted: str) -> None:
    write(text)
    assert refused().hint == f"it must be {wanted}"


def test_an_impossible_value_is_named_with_its_file(write: Write) -> None:
    file = write("[search]\nlimit = 0\n")
    assert refused().message == f"{file}: search.limit cannot be 0"


def test_a_mistake_is_told_even_where_another_layer_wins(write: Write) -> None:
    write("[search]\nlimit = 0\n")
    assert refused(env={"TRANSCRIPT_INDEXER_SEARCH_LIMIT": "5"}).message.endswith("cannot be 0")


def test_an_impossible_value_is_named_with_its_variable() -> None:
    error = refused(env={"TRANSCRIPT_INDEXER_WATCH_DEBOUNCE_MS": "soon"})
    assert error.message == "TRANSCRIPT_INDEXER_WATCH_DEBOUNCE_MS: watch.debounce_ms cannot be 'soon'"


def test_the_longest_wait_is_not_below_the_shortest(write: Write) -> None:
    file = write("[watch]\nmax_delay_ms = 20\n")
    error = refused()
    assert error.message == f"{file}: watch.max_delay_ms cannot be 20"
    assert error.hint == "it must not be below watch.debounce_ms, which is 50"


def test_of_two_waits_the_one_that_was_set_is_blamed(write: Write) -> None:
    file = write("[watch]\ndebounce_ms = 300\n")
    error = refused()
    assert error.message == f"{file}: watch.debounce_ms cannot be 300"
    assert error.hint == "it must not be above watch.max_delay_ms, which is 200: raise that too"


def test_bad_toml_is_named_with_its_line(write: Write) -> None:
    file = write("[watch]\npoll_seconds =\n")
    error = refused()
    assert error.message.startswith(f"{file}: is not valid TOML:")
    assert "line 2" in error.message


def test_a_file_that_is_not_text(write: Write) -> None:
    write("").write_bytes(b"\xff\xfe[\x00")
    assert "is not valid TOML" in refused().message


def test_a_byte_order_mark_is_forgiven(write: Write) -> None:
    write("\ufeff[search]\nlimit = 7\n")
    assert config.load().search_limit == 7


def test_a_folder_in_place_of_the_file(write: Write) -> None:
    file = write("")
    file.unlink()
    file.mkdir()
    assert "cannot be read" in refused().message


# --- projects


def test_environments(write: Write) -> None:
    write('[[project.environment]]\nname = "notes"\npatterns = ["/home/dev/notes", "/home/dev/notes/**"]\n')
    assert config.load().environments == (Environment("notes", ("/home/dev/notes", "/home/dev/notes/**")),)


def test_a_pattern_that_can_fit_no_folder_is_named_with_its_file(write: Write) -> None:
    file = write('[[project.environment]]\nname = "notes"\npatterns = ["a/b"]\n')
    assert refused().message.startswith(f"{file}: pattern 'a/b' of environment 'notes'")


def test_aliases(write: Write) -> None:
    write('[project.aliases]\n"/home/dev/shop" = "github.com/example/shop"\n')
    assert config.load().aliases == (("/home/dev/shop", "github.com/example/shop"),)


@pytest.mark.parametrize("lines", ['a = "a"', 'a = "b"\nb = "c"', 'a = "B"\nb = "A"'])
def test_aliases_are_one_hop(write: Write, lines: str) -> None:
    write(f"[project.aliases]\n{lines}\n")
    assert "is itself an alias" in refused().hint


# --- a file to begin with


def test_the_first_file_changes_nothing(write: Write) -> None:
    write(config.initial_text())
    assert config.load() == config.load(env={})
    assert set(config.load().origins.values()) == {"default"}


def test_the_first_file_shows_every_setting(write: Write) -> None:
    write(re.sub(r"^#(?=[a-z_]+ = )", "", config.initial_text(), flags=re.MULTILINE))
    shown = [(key, origin) for key, _, origin in config.load().shown()]
    file = str(config.user_file())
    assert [key for key, origin in shown if origin != file] == ["project.environment", "project.aliases", "redact.rule"]


def test_the_users_file_is_where_the_platform_keeps_settings(isolated: Path) -> None:
    assert config.user_file() == isolated / ".config/transcript-indexer/config.toml"


# --- nothing that does nothing


def test_every_setting_is_used() -> None:
    code = "\n".join(file.read_text(encoding="utf-8") for file in INDEXER.rglob("*.py") if file.name != "config.py")
    names = [name for name in config.Config.__dataclass_fields__ if name != "origins"]
    assert [name for name in names if not re.search(rf"\.{name}\b", code)] == []


@pytest.mark.parametrize("folder", [".claude", ".claude/memory", "elsewhere/claude/memory"])
def test_a_home_in_the_agents_own_folder_is_refused(tmp_path: Path, folder: str) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere" / "claude")}
    with pytest.raises(ConfigError, match=r"storage\.home cannot be"):
        config.load(tmp_path / folder, env=env)


def test_a_home_beside_the_agents_folder_is_taken(tmp_path: Path) -> None:
    assert config.load(tmp_path / ".claude-memory", env={"HOME": str(tmp_path)}).home.name == ".claude-memory"


def test_a_deleted_current_folder_matters_to_relative_paths_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert config.load(tmp_path / "home", [str(tmp_path / "root")]).home == tmp_path / "home"
    with pytest.raises(UsageError, match="does not exist any more"):
        config.load("home")


def test_a_file_nested_too_deep_is_a_config_error(write: Write) -> None:
    write("x = " + "[" * 5_000)
    with pytest.raises(ConfigError, match="not valid TOML"):
        config.load()
