"""One project has one key, whatever way leads to it, and two projects never share one."""

from __future__ import annotations

import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from indexer.errors import ConfigError
from indexer.project import Environment, Evidence, Resolution, Resolver, encode, evidence, fold

SHOP = "git@Example.invalid:Team/Shop-API.git"


def repository(place: Path, origin: str | None = None) -> Path:
    """A work tree as `git clone` leaves it, as far as anyone looks."""
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (place / ".git" / "config").write_text(f'[remote "origin"]\nurl = {origin}\n' if origin else "")
    return place


def worktree(main: Path, place: Path) -> Path:
    """A linked worktree of `main` as `git worktree add` leaves it."""
    data = main / ".git" / "worktrees" / place.name
    data.mkdir(parents=True)
    (data / "commondir").write_text("../..\n")
    place.mkdir(parents=True)
    (place / ".git").write_text(f"gitdir: {data}\n")
    return place


def folder(place: Path) -> Path:
    place.mkdir(parents=True)
    return place


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return folder(tmp_path / "ada")


@pytest.fixture
def resolver(home: Path) -> Resolver:
    return Resolver(home=str(home))


def keys(resolver: Resolver, *paths: Path | str) -> set[str]:
    return {resolver.resolve(str(path)).key for path in paths}


def path_key(path: Path) -> str:
    return fold(str(path))


class TestEncode:
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("/home/dev/my-proj", "-home-dev-my-proj"),
            ("/home/dev/a.b_c d", "-home-dev-a-b-c-d"),
            ("C:\\Users\\Ada\\Proj", "C--Users-Ada-Proj"),
            ("D:\\16. 자동화 도구\\files", "D--16---------files"),
            ("/home/dev/😀", "-home-dev---"),
            ("/home/dev/\ud83d", "-home-dev--"),
            ("/home/dev/É٣", "-home-dev---"),
            ("/", "-"),
            ("", ""),
        ],
    )
    def test_every_other_unit_becomes_a_dash(self, path: str, name: str) -> None:
        assert encode(path) == name

    def test_a_long_one_is_cut_after_200_units(self) -> None:
        assert encode("/" + "a" * 199) == "-" + "a" * 199
        assert encode("/" + "a" * 200) == "-" + "a" * 199 + "-"
        assert encode("😀" * 101) == "-" * 201


class TestFold:
    @pytest.mark.parametrize(
        ("one", "other"),
        [("MyApp", "myapp"), ("ПРОЕКТ", "проект"), ("Ä", "a\u0308"), ("STRASSE", "straße"), ("ΣΑΣ", "σας")],
    )
    def test_letter_case_and_composition_do_not_count(self, one: str, other: str) -> None:
        assert fold(one) == fold(other) == fold(unicodedata.normalize("NFD", one))

    def test_different_names_stay_different(self) -> None:
        assert len({fold(name) for name in ("a", "á", "а", "a-b", "a/b", "a_b")}) == 6


class TestEvidence:
    @pytest.mark.parametrize(
        ("cwd", "name", "launched"),
        [
            ("/home/dev/proj", "-home-dev-proj", "/home/dev/proj"),
            ("/home/dev/proj/src/deep", "-home-dev-proj", "/home/dev/proj"),
            ("/home/dev/my-proj", "-home-dev-my-proj", "/home/dev/my-proj"),
            ("/home/dev/my/proj/src", "-home-dev-my-proj", "/home/dev/my/proj"),
            ("/home/dev/Proj/", "-home-dev-Proj", "/home/dev/Proj"),
            ("/HOME/Dev/proj", "-home-dev-proj", "/HOME/Dev/proj"),
            ("/home/dev/项目/src", "-home-dev---", "/home/dev/项目"),
            ("/home/dev/😀/src", "-home-dev---", "/home/dev/😀"),
            ("C:\\Users\\Ada\\Proj\\src", "c--users-ada-proj", "C:\\Users\\Ada\\Proj"),
            ("C:/Users/Ada\\Proj", "C--Users", "C:/Users"),
            ("\\\\server\\share\\x", "--server-share", "\\\\server\\share"),
            ("/", "-", "/"),
            ("/usr", "-", "/"),
            ("C:\\", "C--", "C:\\"),
            ("C:\\Users", "C--", "C:\\"),
        ],
    )
    def test_the_directory_the_folder_is_named_after(self, cwd: str, name: str, launched: str) -> None:
        assert evidence(cwd, name) == Evidence(launched, 2)

    @pytest.mark.parametrize(
        ("cwd", "name"),
        [
            ("/tmp", "-home-dev-proj"),
            ("/home/dev", "-home-dev-proj"),
            ("/home/dev/project", "-home-dev-proj"),
            ("/home/dev/a\\b", "-home-dev-a"),
            ("/home/dev/x", "-home-dev-"),
            ("/home/😀x", "-home--"),
            ("/home/dev/proj", ""),
            ("C:\\Users\\Ada", "-home-dev-proj"),
            ("/home/dev/" + "a" * 300, "-home-dev-" + "b" * 190 + "-1x2y3z"),
            ("/home/dev/short", "-home-dev-short" + "b" * 190 + "-1x2y3z"),
        ],
    )
    def test_a_directory_that_does_not_fit_the_folder(self, cwd: str, name: str) -> None:
        assert evidence(cwd, name) == Evidence(cwd, 1)

    @pytest.mark.parametrize("cwd", [None, "", "  ", "/" + "a" * 5000])
    def test_no_directory(self, cwd: str | None) -> None:
        assert evidence(cwd, "-home-dev-proj") == Evidence("", 0)

    def test_a_long_folder_is_known_by_its_first_200_units(self) -> None:
        cwd = "/home/dev/" + "a" * 100 + "/" + "B" * 120
        assert evidence(cwd, encode(cwd).lower() + "1x2y3z") == Evidence(cwd, 2)

    def test_the_directory_is_one_that_encodes_to_the_folder(self) -> None:
        cwd = "/home/dev/a.b/c_d/e f/项目"
        above = [cwd, *map(str, Path(cwd).parents)]
        assert [evidence(cwd, encode(place)).cwd for place in above] == above


class TestGitRemote:
    def test_one_repository_in_all_its_places_is_one_project(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "Shop-API", SHOP)
        places = [
            main,
            folder(main / "src"),
            worktree(main, main / ".worktrees" / "noble-hare"),
            worktree(main, tmp_path / "elsewhere"),
            folder(tmp_path / "elsewhere" / "src"),
            main / "gone",
            main / ".claude" / "worktrees" / "gone" / "src",
            repository(tmp_path / "moved" / "shop-api", "https://example.invalid/team/shop-api"),
            repository(tmp_path / "third", "ssh://git@example.invalid:2222/TEAM/shop-api.git/"),
        ]
        assert keys(resolver, *places) == {"example.invalid/team/shop-api"}

    def test_git_is_never_run(self, tmp_path: Path, resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
        main = worktree(repository(tmp_path / "main", SHOP), tmp_path / "wt")
        monkeypatch.setenv("PATH", "")
        for name in ("Popen", "run"):
            monkeypatch.setattr(subprocess, name, None)
        monkeypatch.setattr(os, "posix_spawn", None)
        assert resolver.resolve(str(main)).source == "git-remote"

    def test_the_name_is_spelled_as_in_the_remote(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "folder", SHOP)
        root = str(main)
        assert resolver.resolve(root) == Resolution("example.invalid/team/shop-api", "Shop-API", "git-remote", root)

    def test_two_repositories_of_one_name_stay_two(self, tmp_path: Path, resolver: Resolver) -> None:
        places = [
            repository(tmp_path / name, url)
            for name, url in [
                ("a", "git@github.com:ada/shop"),
                ("b", "git@github.com:bob/shop"),
                ("c", "git@gitlab.com:ada/shop"),
                ("d", "git@gitlab.com:ada/team/shop"),
            ]
        ]
        assert len(keys(resolver, *places)) == 4

    def test_a_local_remote_leaves_it_to_the_next(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo", "/srv/git/repo.git")
        config = main / ".git" / "config"
        config.write_text(config.read_text() + '[remote "backup"]\nurl = https://host.invalid/a/b\n')
        assert keys(resolver, main) == {"host.invalid/a/b"}

    def test_local_remotes_alone_leave_it_to_the_path(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "Repo", "../other")
        assert resolver.resolve(str(main)) == Resolution(path_key(main), "Repo", "path", str(main))

    def test_it_can_be_switched_off(self, tmp_path: Path, home: Path) -> None:
        main = repository(tmp_path / "repo", SHOP)
        resolver = Resolver(home=str(home), git_remote=False)
        assert keys(resolver, main, folder(main / "src")) == {path_key(main)}
        assert "git remotes: switched off in the config" in resolver.explain(str(main))

    def test_a_remote_added_later_does_not_split_a_running_service(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo")
        before = resolver.resolve(str(main))
        (main / ".git" / "config").write_text(f'[remote "origin"]\nurl = {SHOP}\n')
        assert resolver.resolve(str(main)) == before

    def test_no_password_is_shown_anywhere(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo", "https://ada:s3cret@example.invalid/a/b.git?t=s3cret")
        config = main / ".git" / "config"
        config.write_text(
            config.read_text()
            + '[remote "https://ada:s3cret@example.invalid/x/y"]\nurl = https://s3cret@example.invalid/x/y\n'
            + '[url "https://s3cret@example.invalid/"]\ninsteadOf = https://ada:\n'
        )
        shown = [*resolver.resolve(str(main)), *resolver.explain(str(main))]
        assert not [text for text in shown if text and "s3cret" in text]

    @pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed; the others need none")
    def test_as_git_itself_lays_it_out(self, tmp_path: Path, resolver: Resolver) -> None:
        main, linked = folder(tmp_path / "Shop-API"), tmp_path / "linked"
        identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.invalid")
        for words in (
            ("init",),
            ("remote", "add", "origin", SHOP),
            (*identity, "commit", "--allow-empty", "-m", "first"),
            ("worktree", "add", str(linked), "-b", "feature"),
        ):
            subprocess.run(["git", "-C", str(main), *words], check=True, capture_output=True)
        assert keys(resolver, main, linked, folder(linked / "src")) == {"example.invalid/team/shop-api"}


class TestPath:
    @pytest.mark.parametrize(
        ("cwd", "key", "display"),
        [
            ("/nonexistent/gone/Project", "/nonexistent/gone/project", "Project"),
            ("/nonexistent/x/", "/nonexistent/x", "x"),
            ("//nonexistent///x/./y/../z", "/nonexistent/x/z", "z"),
            ("/nonexistent/a\\b", "/nonexistent/a\\b", "a\\b"),
            ("/nonexistent/项目/配置", "/nonexistent/项目/配置", "配置"),
            ("C:\\Users\\Ada\\Proj", "c:/users/ada/proj", "Proj"),
            ("c:\\users\\ada\\proj\\", "c:/users/ada/proj", "proj"),
            ("C:/Users/Ada/Proj", "c:/users/ada/proj", "Proj"),
            ("\\\\?\\C:\\Users\\Ada\\Proj", "c:/users/ada/proj", "Proj"),
            ("\\\\Server\\Share\\x", "//server/share/x", "x"),
            ("C:\\", "c:", "C:"),
            ("/", "/", "/"),
            ("relative/Path", "relative/path", "Path"),
            ("/nonexistent/\ud83d\0", "/nonexistent/\ufffd\ufffd", "\ufffd\ufffd"),
        ],
    )
    def test_without_anything_on_disk(self, resolver: Resolver, cwd: str, key: str, display: str) -> None:
        assert resolver.resolve(cwd) == Resolution(key, display, "path", None)

    def test_a_dash_is_no_slash(self, resolver: Resolver, tmp_path: Path) -> None:
        assert keys(resolver, "/nonexistent/a-b", "/nonexistent/a/b") == {
            "/nonexistent/a-b",
            "/nonexistent/a/b",
        }
        assert len(keys(resolver, folder(tmp_path / "a-b"), folder(tmp_path / "a" / "b"))) == 2

    def test_letter_case_does_not_count(self, resolver: Resolver) -> None:
        assert len(keys(resolver, "/nonexistent/MyApp", "/nonexistent/myapp")) == 1

    def test_a_repository_is_its_root(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "Repo")
        places = [main, folder(main / "src"), main / "gone", worktree(main, tmp_path / "wt")]
        assert keys(resolver, *places) == {path_key(main)}
        assert {resolver.resolve(str(place)).display for place in places} == {"Repo"}

    def test_a_submodule_is_its_own_project(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo")
        folder(main / ".git" / "modules" / "lib")
        (folder(main / "lib") / ".git").write_text("gitdir: ../.git/modules/lib\n")
        assert keys(resolver, main / "lib") == {path_key(main / "lib")}

    def test_two_ways_to_one_directory_are_one_project(self, tmp_path: Path, resolver: Resolver) -> None:
        real = folder(tmp_path / "real")
        (tmp_path / "Link").symlink_to(real)
        assert keys(resolver, real, tmp_path / "Link") == {path_key(real)}
        assert resolver.resolve(str(tmp_path / "Link")).display == "Link"

    def test_a_repository_is_called_as_it_was_entered(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo")
        (tmp_path / "Shop").symlink_to(main)
        assert resolver.resolve(str(tmp_path / "Shop")) == (path_key(main), "Shop", "path", str(main))

    def test_a_gone_directory_outside_any_repository_is_itself(self, tmp_path: Path, resolver: Resolver) -> None:
        assert keys(resolver, tmp_path / "Gone" / "x") == {path_key(tmp_path / "gone" / "x")}

    @pytest.mark.parametrize("part", [".claude/worktrees/noble-hare", ".worktrees/noble-hare"])
    @pytest.mark.parametrize("below", ["", "/src", "/.worktrees/nested"])
    def test_a_gone_worktree_is_known_by_its_path(self, resolver: Resolver, part: str, below: str) -> None:
        made = resolver.resolve(f"/nonexistent/Repo/{part}{below}")
        assert made == Resolution("/nonexistent/repo", "Repo", "path", None)

    def test_a_gone_worktree_of_windows(self, resolver: Resolver) -> None:
        made = resolver.resolve("C:\\Work\\Repo\\.claude\\worktrees\\noble-hare\\src")
        assert made == Resolution("c:/work/repo", "Repo", "path", None)

    @pytest.mark.parametrize("path", ["/.worktrees/x", "/nonexistent/.worktrees", "/nonexistent/worktrees/x"])
    def test_what_only_looks_like_a_worktree(self, resolver: Resolver, path: str) -> None:
        assert keys(resolver, path) == {path}

    def test_worktrees_kept_in_the_home_folder_stay_apart(self, home: Path, resolver: Resolver) -> None:
        one, other = home / ".worktrees" / "a", home / ".worktrees" / "b"
        assert keys(resolver, one, other) == {path_key(one), path_key(other)}

    def test_a_repository_in_the_home_folder_does_not_swallow_all(self, tmp_path: Path) -> None:
        home = repository(tmp_path / "ada", SHOP)
        resolver = Resolver(home=str(home))
        notes, gone = folder(home / "notes"), home / "gone"
        assert keys(resolver, notes, gone) == {path_key(notes), path_key(gone)}
        assert keys(resolver, home) == {"example.invalid/team/shop-api"}

    def test_a_tilde_is_the_home_folder(self, home: Path, resolver: Resolver) -> None:
        assert keys(resolver, "~") == {path_key(home)}
        assert keys(resolver, "~/Notes") == {path_key(home / "notes")}
        assert keys(resolver, "~ada/x") == {"~ada/x"}

    def test_the_users_own_home_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        assert keys(Resolver(), "~/x") == keys(Resolver(home="relative"), "~/x") == {path_key(tmp_path / "x")}

    def test_nobody_has_a_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown() -> Path:
            raise RuntimeError("no home")

        monkeypatch.setattr(Path, "home", unknown)
        assert keys(Resolver(), "~/nonexistent") == {"/nonexistent"}


class TestGuess:
    def test_a_folder_alone_is_a_guess(self, resolver: Resolver) -> None:
        made = resolver.resolve("", "-home-Ada-my-proj")
        assert made == Resolution("folder:-home-ada-my-proj", "home-Ada-my-proj", "guess", None)

    def test_the_folder_of_a_worktree_is_that_of_its_project(self, resolver: Resolver) -> None:
        folders = ("-home-ada-proj", "-home-ada-proj--claude-worktrees-noble-hare")
        assert len({resolver.resolve("", folder) for folder in folders}) == 1

    @pytest.mark.parametrize(("folder", "display"), [("-", "-"), ("c--x", "c--x"), ("\ud83d", "\ufffd")])
    def test_odd_folders(self, resolver: Resolver, folder: str, display: str) -> None:
        assert resolver.resolve("", folder) == (f"folder:{display}", display, "guess", None)

    @pytest.mark.parametrize(("cwd", "folder"), [("", ""), (" ", " "), ("/" + "a" * 5000, "")])
    def test_nothing_at_all(self, resolver: Resolver, cwd: str, folder: str) -> None:
        assert resolver.resolve(cwd, folder) == ("unknown-project", "unknown-project", "guess", None)

    def test_a_path_is_better_than_a_folder(self, resolver: Resolver) -> None:
        assert resolver.resolve("/nonexistent/x", "-home-ada-y").key == "/nonexistent/x"


class TestEnvironment:
    @pytest.mark.parametrize(
        ("pattern", "path"),
        [
            ("/work/acme", "/work/acme"),
            ("/work/acme/", "/work/acme"),
            ("/Work//ACME", "/work/acme"),
            ("/work/*", "/work/acme"),
            ("/work/a*e", "/work/acme"),
            ("/work/?cme", "/work/acme"),
            ("/work/**", "/work/acme/api/src"),
            ("/work/**", "/work"),
            ("/work/**/src", "/work/acme/api/src"),
            ("/work/**/src", "/work/src"),
            ("/**/api/**", "/work/acme/api"),
            ("**/acme/**/src/*", "/x/acme/acme/y/src/src/z"),
            ("**", "/"),
            ("**/src", "/work/acme/src"),
            ("~", "/home/ada"),
            ("~/work/**", "/home/ada/work/x"),
            ("~\\work\\**", "/home/ada/work/x"),
            ("C:\\Work\\**", "c:\\work\\acme"),
            ("c:/work/*", "C:\\Work\\acme"),
            ("acme", "/work/ACME"),
            ("ac*", "/work/acme"),
            ("*a*a*b", "/work/aaaaaab"),
            ("/work/[id]", "/work/[id]"),
            ("/work/straße", "/WORK/STRASSE"),
            ("/work/é", "/work/e\u0301"),
        ],
    )
    def test_patterns_that_fit(self, pattern: str, path: str) -> None:
        resolver = Resolver([Environment("Acme", (pattern,))], home="/home/ada")
        assert resolver.resolve(path)[:3] == ("acme", "Acme", "environment")

    @pytest.mark.parametrize(
        ("pattern", "path"),
        [
            ("/work/*", "/work/acme/api"),
            ("/work/*", "/work"),
            ("/work/acme", "/work/acme/api"),
            ("/work/?", "/work/acme"),
            ("/**/src", "/work/acme"),
            ("/**/a/**/b", "/x/b/y/a"),
            ("/acme", "/work/acme"),
            ("~", "/work/ada"),
            ("acme", "/acme/api"),
            ("[ab]cme", "/work/acme"),
            ("a.me", "/work/acme"),
            ("*a*a*b", "/work/aaaaaa"),
        ],
    )
    def test_patterns_that_do_not(self, pattern: str, path: str) -> None:
        resolver = Resolver([Environment("Acme", (pattern,))], home="/home/ada")
        assert resolver.resolve(path).source == "path"

    def test_a_home_folder_is_taken_literally(self) -> None:
        resolver = Resolver([Environment("Acme", ("~/x",))], home="/home/a*a")
        assert [resolver.resolve(path).source for path in ("/home/a*a/x", "/home/ada/x")] == [
            "environment",
            "path",
        ]

    def test_the_first_rule_wins_over_all_else(self, tmp_path: Path, home: Path) -> None:
        main = repository(tmp_path / "repo", SHOP)
        rules = [Environment(name, (pattern,)) for name, pattern in [("One", "nope"), ("Two", "repo"), ("Three", "**")]]
        made = Resolver(rules, home=str(home)).resolve(str(main))
        assert made == Resolution("two", "Two", "environment", str(main))

    def test_a_repository_that_fits_takes_its_subfolders_and_worktrees_along(self, tmp_path: Path, home: Path) -> None:
        main = repository(tmp_path / "work" / "shop", SHOP)
        resolver = Resolver([Environment("Acme", (f"{tmp_path}/work/*",))], home=str(home))
        places = [main, folder(main / "src"), worktree(main, tmp_path / "wt"), main / ".worktrees" / "gone"]
        assert keys(resolver, *places) == {"acme"}

    def test_a_folder_behind_a_link_fits_by_either_path(self, tmp_path: Path, home: Path) -> None:
        real = folder(tmp_path / "data" / "x")
        (tmp_path / "work").symlink_to(tmp_path / "data")
        for way in ("data", "work"):
            resolver = Resolver([Environment("Acme", (f"{tmp_path}/{way}/*",))], home=str(home))
            assert keys(resolver, tmp_path / "work" / "x") == {"acme"}
        assert real.is_dir()

    @pytest.mark.parametrize(
        "pattern",
        [
            *(
                "",
                "  ",
                "work/acme",
                "./acme",
                "/work/../acme",
                "~ada/work",
                "..",
                ".",
                "/work/acme**",
                "a***b",
            ),
            *("/work/**x", "/a\nb", "/a\0b", "/" + "a" * 5000),
        ],
    )
    def test_a_pattern_that_can_fit_nothing_is_refused(self, pattern: str) -> None:
        with pytest.raises(ConfigError) as caught:
            Resolver([Environment("Acme", ("/fine", pattern))], home="/home/ada")
        assert "Acme" in caught.value.message
        assert caught.value.hint

    @pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[31m", "a" * 201])
    def test_a_name_nobody_could_read_is_refused(self, name: str) -> None:
        with pytest.raises(ConfigError, match="cannot be called"):
            Resolver([Environment(name, ("/work",))], home="/home/ada")

    def test_a_rule_without_patterns_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="has no patterns"):
            Resolver([Environment("Acme", ())], home="/home/ada")

    def test_many_stars_take_no_time(self) -> None:
        resolver = Resolver([Environment("Acme", ("/**/*a*a*a*a*a*a*b" * 20,))], home="/home/ada")
        assert resolver.resolve("/aaaaaaaaaaaaaaaaaaaaaaaaaaa" * 100).source == "path"


class TestExplain:
    def test_a_remote(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo", SHOP)
        linked = worktree(main, tmp_path / "wt")
        assert resolver.explain(str(linked)) == [
            "project: Shop-API",
            "key: example.invalid/team/shop-api",
            "decided by: git-remote, the address of remote origin",
            f"otherwise: {path_key(main)} (path, the repository of which it is a worktree)",
            "environment rules: 0",
            f"repository: {linked}",
            f"read: {main}/.git/config (its includes are not followed)",
            "remote origin: example.invalid/Team/Shop-API",
        ]

    def test_an_environment(self, tmp_path: Path, home: Path) -> None:
        main = repository(tmp_path / "repo", SHOP)
        lines = Resolver([Environment("Acme", ("repo",))], home=str(home)).explain(str(main))
        assert lines[2] == f"decided by: environment, the pattern repo fits {main}"
        assert [line.split()[1] for line in lines if line.startswith("otherwise:")] == [
            "example.invalid/team/shop-api",
            path_key(main),
        ]

    def test_a_gone_worktree(self, resolver: Resolver) -> None:
        assert resolver.explain("/nonexistent/Repo/.worktrees/hare") == [
            "project: Repo",
            "key: /nonexistent/repo",
            "decided by: path, the folder of which it was a worktree",
            "folder: not on disk",
            "environment rules: 0",
            "repository: none",
        ]

    def test_a_local_remote(self, tmp_path: Path, resolver: Resolver) -> None:
        main = repository(tmp_path / "repo", "/srv/repo.git")
        lines = resolver.explain(str(main))
        assert "decided by: path, the root of its repository" in lines
        assert lines[-1] == "remote origin: leads to no other machine, not used"

    @pytest.mark.parametrize("path", ["", " ", "/" + "a" * 5000])
    def test_no_path(self, resolver: Resolver, path: str) -> None:
        assert resolver.explain(path) == ["not a folder's path: unknown-project"]

    def test_it_says_what_resolve_says(self, tmp_path: Path, resolver: Resolver) -> None:
        for path in (str(repository(tmp_path / "a", SHOP)), str(tmp_path), "C:\\x", "~", "/nonexistent"):
            made = resolver.resolve(path)
            assert resolver.explain(path)[:2] == [f"project: {made.display}", f"key: {made.key}"]


def test_what_is_remembered_has_a_bound(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.project._REMEMBERED", 10)
    for number in range(100):
        resolver.resolve(f"C:\\{number}")
    assert len(resolver._known) <= 10
