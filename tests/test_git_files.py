"""Git's files are read as git reads them, and nothing in them can raise, block or run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from indexer import git_files
from indexer.git_files import Address, Setting, address, find, on_disk, remotes, settings

ORIGIN = '[remote "origin"]\n\turl = {}\n'


def repository(place: Path, config: str = "") -> Path:
    """A work tree as `git init` leaves it, as far as anyone looks."""
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (place / ".git" / "config").write_text("[core]\n\tbare = false\n" + config)
    return place


def worktree(main: Path, place: Path, name: str = "wt") -> Path:
    """A linked worktree of `main` as `git worktree add` leaves it."""
    data = main / ".git" / "worktrees" / name
    data.mkdir(parents=True)
    (data / "commondir").write_text("../..\n")
    (data / "gitdir").write_text(f"{place}/.git\n")
    place.mkdir(parents=True)
    (place / ".git").write_text(f"gitdir: {data}\n")
    return place


def bare(place: Path, config: str = "") -> Path:
    for folder in ("objects", "refs"):
        (place / folder).mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (place / "config").write_text(config)
    return place


def found(path: Path, home: Path | str = "/nonexistent") -> git_files.Repository:
    repository = find(str(path), str(home))
    assert repository is not None
    return repository


def root(path: Path, home: Path | str = "/nonexistent") -> Path | None:
    repository = find(str(path), str(home))
    return repository and repository.root


def addresses(path: Path, home: Path | str = "/nonexistent") -> dict[str, str | None]:
    return {name: to and to.text for name, to in remotes(found(path), str(home)).items()}


class TestSettings:
    def test_a_config_as_git_writes_it(self) -> None:
        data = b'[core]\n\tbare = false\n[remote "origin"]\n\turl = git@host:a/b.git\n\tfetch = +refs/*:refs/*\n'
        assert list(settings(data)) == [
            Setting("core", "", "bare", "false"),
            Setting("remote", "origin", "url", "git@host:a/b.git"),
            Setting("remote", "origin", "fetch", "+refs/*:refs/*"),
        ]

    @pytest.mark.parametrize(
        ("line", "value"),
        [
            ("url = x", "x"),
            ("url=x", "x"),
            ("  url\t=   x  \t", "x"),
            ("url = a b  c", "a b  c"),
            ("url = x # comment", "x"),
            ("url = x ; comment", "x"),
            ('url = "x # no comment"', "x # no comment"),
            ('url = a" b ;"c', "a b ;c"),
            (r"url = a\\b\"c", 'a\\b"c'),
            (r"url = a\tb\nc", "a\tb\nc"),
            ("url = one\\\ntwo", "onetwo"),
            ('url = "one\\\n two"', "one two"),
            ("url = x\r", "x"),
            ("url = \\", ""),
            (r"url = \q", "q"),
            ("url =", ""),
            ("url = 项目/配置", "项目/配置"),
        ],
        ids=repr,
    )
    def test_values(self, line: str, value: str) -> None:
        assert list(settings(f"[a]\n{line}\n".encode())) == [Setting("a", "", "url", value)]

    @pytest.mark.parametrize(
        ("header", "section", "subsection"),
        [
            ("[remote]", "remote", ""),
            ("[ReMote]", "remote", ""),
            ('[remote "Origin"]', "remote", "Origin"),
            ('[remote   "a b"]', "remote", "a b"),
            (r'[remote "a\"b\\c\d"]', "remote", 'a"b\\cd'),
            ('[remote "a]b"]', "remote", "a]b"),
            ("[remote.Origin]", "remote", "origin"),
            ("  [remote]", "remote", ""),
            ('[remote ""]', "remote", ""),
        ],
        ids=repr,
    )
    def test_headers(self, header: str, section: str, subsection: str) -> None:
        assert list(settings(f"{header}\nurl = x".encode())) == [Setting(section, subsection, "url", "x")]

    def test_a_setting_may_stand_beside_its_header(self) -> None:
        assert list(settings(b'[remote "o"] url = x')) == [Setting("remote", "o", "url", "x")]

    def test_names_are_of_any_case(self) -> None:
        assert list(settings(b"[url]\nInsteadOf = x")) == [Setting("url", "", "insteadof", "x")]

    @pytest.mark.parametrize(
        "line", ["# url = y", "; url = y", "url y", "url", "9url = y", "=y", "u_rl = y", '"url" = y']
    )
    def test_a_line_that_sets_nothing_is_passed_over(self, line: str) -> None:
        assert list(settings(f"[a]\n{line}\nurl = x".encode())) == [Setting("a", "", "url", "x")]

    def test_a_backslash_does_not_carry_a_comment_on(self) -> None:
        assert list(settings(b"[a]\n# comment \\\nurl = x")) == [Setting("a", "", "url", "x")]

    @pytest.mark.parametrize("header", ["[a", "[]", '[a "b]', '[a "b" c]', "[a b]", '[a "b\n"]'])
    def test_settings_under_a_broken_header_belong_to_none(self, header: str) -> None:
        broken = f"[z]\n{header}\nurl = x\n[b]\nurl = y"
        assert list(settings(broken.encode())) == [Setting("b", "", "url", "y")]

    def test_settings_before_any_header_are_passed_over(self) -> None:
        assert not list(settings(b"url = x\n"))

    def test_a_byte_order_mark_and_windows_line_ends(self) -> None:
        data = b"\xef\xbb\xbf[a]\r\nurl = x\\\r\ny\r\n"
        assert list(settings(data)) == [Setting("a", "", "url", "xy")]

    def test_bytes_that_are_no_text_spoil_their_own_value_only(self) -> None:
        values = [setting.value for setting in settings(b"[a]\nname = \xff\xfe\nurl = x\n\0\0\nurl = y")]
        assert values == ["\ufffd\ufffd", "x", "y"]

    def test_an_open_quote_ends_with_its_line(self) -> None:
        assert [s.value for s in settings(b'[a]\nurl = "x\nurl = y')] == ["x", "y"]


class TestAddress:
    @pytest.mark.parametrize(
        "url",
        [
            "https://example.invalid/Team/Shop",
            "https://example.invalid/Team/Shop.git",
            "https://example.invalid/Team/Shop.git/",
            "https://example.invalid/Team/Shop.GIT//",
            "https://example.invalid//Team//./Shop/",
            "https://example.invalid:8443/Team/Shop.git",
            "https://example.invalid./Team/Shop",
            "https://EXAMPLE.invalid/Team/Shop",
            "https://user@example.invalid/Team/Shop",
            "https://user:secret@example.invalid/Team/Shop",
            "https://user:se@cret@example.invalid/Team/Shop",
            "https://example.invalid/Team/Shop?token=secret#part",
            "https://example.invalid/Team/%53hop",
            "http://example.invalid/Team/Shop",
            "HTTPS://example.invalid/Team/Shop",
            "git://example.invalid/Team/Shop.git",
            "ssh://git@example.invalid/Team/Shop.git",
            "ssh://git@example.invalid:2222/Team/Shop",
            "git+ssh://git@example.invalid/Team/Shop",
            "git@example.invalid:Team/Shop.git",
            "git@example.invalid:/Team/Shop.git/",
            "example.invalid:Team/Shop",
            "user:secret@example.invalid:Team/Shop",
            "[git@example.invalid:2222]:Team/Shop.git",
            "git@example.invalid:Team/Shop?token=secret",
            "  git@example.invalid:Team/Shop.git\n",
        ],
    )
    def test_one_repository_in_all_its_forms(self, url: str) -> None:
        assert address(url) == Address("example.invalid/Team/Shop", "Shop")

    @pytest.mark.parametrize(
        ("url", "text"),
        [
            ("git@gitlab.com:group/sub/deep/repo.git", "gitlab.com/group/sub/deep/repo"),
            ("https://git.sr.ht/~ada/repo", "git.sr.ht/~ada/repo"),
            ("git@git.sr.ht:~ada/repo", "git.sr.ht/~ada/repo"),
            ("ssh://git@[::1]:22/a/b.git", "[::1]/a/b"),
            ("git@[::1]:a/b.git", "[::1]/a/b"),
            ("host_alias:repo.git", "host_alias/repo"),
            ("https://host/a/.github", "host/a/.github"),
            ("https://host/a/b.git.git", "host/a/b.git"),
            ("https://host/a/b/.git", "host/a/b"),
            ("https://host/%40scope/repo", "host/@scope/repo"),
            ("https://host/项目/%E9%85%8D%E7%BD%AE", "host/项目/配置"),
            ("https://bücher.example/a/b", "bücher.example/a/b"),
            ("ssh://git@ssh.github.com:443/a/b.git", "github.com/a/b"),
            ("ssh://git@altssh.gitlab.com:443/a/b.git", "gitlab.com/a/b"),
            ("https://www.example.invalid/a/b", "www.example.invalid/a/b"),
        ],
    )
    def test_what_is_kept(self, url: str, text: str) -> None:
        assert address(url) == Address(text, text.rpartition("/")[2])

    @pytest.mark.parametrize(
        "url",
        [
            "https://dev.azure.com/Acme/Store/_git/Shop",
            "https://Acme@dev.azure.com/Acme/Store/_git/Shop",
            "git@ssh.dev.azure.com:v3/Acme/Store/Shop",
            "https://Acme.visualstudio.com/Store/_git/Shop",
            "https://Acme.visualstudio.com/DefaultCollection/Store/_git/Shop",
            "Acme@vs-ssh.visualstudio.com:v3/Acme/Store/Shop",
        ],
    )
    def test_the_forms_of_azure_are_one(self, url: str) -> None:
        made = address(url)
        assert made is not None
        assert (made.text.lower(), made.name) == ("dev.azure.com/acme/store/shop", "Shop")

    def test_azure_leaves_out_a_project_of_the_same_name(self) -> None:
        short, long = "https://dev.azure.com/Acme/_git/Shop", "git@ssh.dev.azure.com:v3/Acme/Shop/Shop"
        assert address(short) == address(long) == Address("dev.azure.com/Acme/Shop/Shop", "Shop")

    def test_azure_spells_spaces_in_both_forms(self) -> None:
        https = "https://dev.azure.com/Acme/My%20Store/_git/Shop"
        assert address(https) == address("git@ssh.dev.azure.com:v3/Acme/My%20Store/Shop")

    @pytest.mark.parametrize(
        "url",
        [
            *(
                "",
                " ",
                "/srv/git/repo.git",
                "./repo",
                "../repo",
                ".",
                "repo",
                "team/repo",
                "~/repo",
                "~ada/repo",
            ),
            *("file:///srv/repo.git", "FILE://host/srv/repo", "file:repo", r"\\server\share\repo"),
            *("//server/share/repo", "C:/work/repo", r"C:\work\repo", "c:repo"),
        ],
    )
    def test_a_local_place_is_no_address(self, url: str) -> None:
        assert address(url) is None

    @pytest.mark.parametrize(
        "url",
        [
            *(
                "https://host",
                "https://host/",
                "https:///a/b",
                "host:",
                "git@host:/",
                "git@:a/b",
                "https://host/.git",
            ),
            *(
                "ext::sh -c 'touch x'",
                "gcrypt::git@host:a/b",
                "https://ho st/a/b",
                "https://host/a/\x1b[31mb",
            ),
            *(
                "https://host/a/%00b",
                "https://host/a/b%0Ac",
                "https://host:port/a/b",
                "https://" + "a/" * 3000,
            ),
        ],
    )
    def test_what_makes_no_sense_is_no_address(self, url: str) -> None:
        assert address(url) is None

    @pytest.mark.parametrize(
        "url",
        [
            *("https://user:sec/ret@host/a/b", "https://secret/@host/a/b", "https://user:12/secret@host/a/b"),
            *("https://user:sec?ret@host/a/b", "https://user:sec#ret@host/a/b", "user:sec/ret@host:a/b"),
            *(
                "https://user:12/secret?@host/a/b",
                "user:/secret?@host:a/b",
                "https://user@host/secret@host/a",
            ),
            *("https://user%3Asecret%40host/a/b", "user:secret@host/a/b"),
        ],
    )
    def test_a_secret_in_the_wrong_place_is_never_shown(self, url: str) -> None:
        assert address(url) is None


class TestOnDisk:
    def test_links_are_resolved(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path / "real")
        (tmp_path / "real").mkdir()
        assert on_disk(str(tmp_path / "link")) == (tmp_path / "real").resolve()

    def test_only_a_folder_counts(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        assert [on_disk(str(tmp_path / name)) for name in ("file", "loop", "gone")] == [None, None, None]

    def test_a_relative_path_does_not_mean_our_own_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository(tmp_path / "repo")
        monkeypatch.chdir(tmp_path)
        assert on_disk("repo") is None
        assert find("repo", "/nonexistent") is None

    @pytest.mark.parametrize("path", ["", "\0", "/a\0b", "/\ud83d", "C:\\x", "/" + "a" * 5000, "/a" * 2000])
    def test_no_path_raises(self, path: str) -> None:
        assert on_disk(path) is None
        assert find(path, "/nonexistent") is None


class TestFind:
    def test_the_folder_above_that_holds_dot_git(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / "src" / "deep").mkdir(parents=True)
        assert found(main / "src" / "deep") == (main, main / ".git", main)

    def test_the_nearest_repository_wins(self, tmp_path: Path) -> None:
        repository(tmp_path / "outer")
        inner = repository(tmp_path / "outer" / "inner")
        assert root(inner) == inner

    def test_a_folder_inside_dot_git(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / ".git" / "hooks").mkdir()
        assert root(main / ".git" / "hooks") == main

    def test_a_folder_that_is_gone_counts_as_the_one_above_it(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        assert root(main / "gone" / "too") == main

    def test_a_file_counts_as_its_folder(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        assert root(main / ".git" / "config") == main

    def test_a_way_through_a_link(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / "src").mkdir()
        (tmp_path / "link").symlink_to(main / "src")
        assert root(tmp_path / "link") == main

    def test_none(self, tmp_path: Path) -> None:
        assert root(tmp_path, tmp_path.parent) is None

    def test_a_worktree_belongs_to_its_main_repository(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        place = worktree(main, tmp_path / "elsewhere" / "feature")
        assert found(place) == (place, main / ".git", main)

    def test_a_worktree_with_relative_paths(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        place = worktree(main, tmp_path / "feature")
        (place / ".git").write_text("gitdir: ../repo/.git/worktrees/wt")
        assert root(place) == main

    def test_a_worktree_whose_main_repository_is_gone(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        place = worktree(main, tmp_path / "feature")
        shutil.rmtree(main)
        assert root(place) == main

    def test_a_worktree_of_a_bare_repository(self, tmp_path: Path) -> None:
        data = bare(tmp_path / "repo.git")
        (data / "worktrees" / "wt").mkdir(parents=True)
        (data / "worktrees" / "wt" / "commondir").write_text("../..")
        (tmp_path / "feature").mkdir()
        (tmp_path / "feature" / ".git").write_text(f"gitdir: {data}/worktrees/wt\n")
        assert root(tmp_path / "feature") == root(data) == data

    def test_a_bare_repository_beside_its_worktrees(self, tmp_path: Path) -> None:
        data = bare(tmp_path / "repo" / ".bare")
        (tmp_path / "repo" / ".git").write_text("gitdir: ./.bare\n")
        (data / "worktrees" / "wt").mkdir(parents=True)
        (data / "worktrees" / "wt" / "commondir").write_text("../..")
        (tmp_path / "repo" / "feature").mkdir()
        (tmp_path / "repo" / "feature" / ".git").write_text(f"gitdir: {data}/worktrees/wt\n")
        assert root(tmp_path / "repo" / "feature") == root(tmp_path / "repo") == tmp_path / "repo"

    def test_a_submodule_is_its_own_repository(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / ".git" / "modules" / "worktrees" / "lib").mkdir(parents=True)
        (main / "worktrees" / "lib").mkdir(parents=True)
        (main / "worktrees" / "lib" / ".git").write_text("gitdir: ../../.git/modules/worktrees/lib\n")
        assert found(main / "worktrees" / "lib").common == main / ".git" / "modules" / "worktrees" / "lib"
        assert root(main / "worktrees" / "lib") == main / "worktrees" / "lib"

    def test_a_repository_in_a_folder_called_worktrees(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "worktrees")
        assert found(main) == (main, main / ".git", main)

    def test_a_separate_git_dir(self, tmp_path: Path) -> None:
        bare(tmp_path / "data")
        (tmp_path / "repo").mkdir()
        (tmp_path / "repo" / ".git").write_text("gitdir: ../data\n")
        assert found(tmp_path / "repo") == (tmp_path / "repo", tmp_path / "data", tmp_path / "repo")

    def test_dot_git_may_be_a_link(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (tmp_path / "copy").mkdir()
        (tmp_path / "copy" / ".git").symlink_to(main / ".git")
        assert found(tmp_path / "copy") == (tmp_path / "copy", main / ".git", tmp_path / "copy")

    @pytest.mark.parametrize(
        "content",
        [b"", b"garbage", b"gitdir:", b"gitdir: \n", b"\xff\xfe\0", b"gitdir: a\0b", b"gitdir: C:/x/.git"],
    )
    def test_a_dot_git_file_that_points_nowhere_is_passed_over(self, tmp_path: Path, content: bytes) -> None:
        main = repository(tmp_path / "repo")
        (main / "inner").mkdir()
        (main / "inner" / ".git").write_bytes(content)
        assert root(main / "inner") == main

    def test_an_empty_dot_git_folder_is_passed_over(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / "inner" / ".git").mkdir(parents=True)
        assert root(main / "inner") == main

    def test_what_is_no_file_is_passed_over_without_waiting(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        main = repository(tmp_path / "repo")
        for name in ("fifo", "loop", "socket"):
            (main / name).mkdir()
        os.mkfifo(main / "fifo" / ".git")
        (main / "loop" / ".git").symlink_to(main / "loop" / ".git")
        monkeypatch.chdir(main / "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(".git")
            assert [root(main / name) for name in ("fifo", "loop", "socket")] == [main] * 3

    def test_pointers_in_a_circle_end(self, tmp_path: Path) -> None:
        for name, other in (("a", "b"), ("b", "a")):
            (tmp_path / name).mkdir()
            (tmp_path / name / ".git").write_text(f"gitdir: ../{other}\n")
            (tmp_path / name / "commondir").write_text(f"../{other}\n")
        assert root(tmp_path / "a") is not None

    def test_the_home_folder_is_a_fence(self, tmp_path: Path) -> None:
        home = repository(tmp_path / "ada")
        (home / "work" / "shop").mkdir(parents=True)
        assert root(home / "work" / "shop", home) is None
        assert root(home / "gone", home) is None
        assert root(home, home) == home

    def test_nothing_above_the_home_folder_counts(self, tmp_path: Path) -> None:
        repository(tmp_path)
        (tmp_path / "ada" / "notes").mkdir(parents=True)
        assert root(tmp_path / "ada" / "notes", tmp_path / "ada") is None
        assert root(tmp_path / "ada", tmp_path / "ada") is None

    def test_the_fence_holds_behind_a_link(self, tmp_path: Path) -> None:
        home = repository(tmp_path / "ada")
        (home / "notes").mkdir()
        (tmp_path / "link").symlink_to(home)
        assert root(tmp_path / "link" / "notes", tmp_path / "link") is None

    def test_the_walk_ends_after_64_levels(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        deep = main.joinpath(*["d"] * 63)
        (deep / "d").mkdir(parents=True)
        assert root(deep) == main
        assert root(deep / "d") is None

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may look into everything")
    def test_a_dot_git_that_may_not_be_read_is_a_repository_still(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / ".git").chmod(0)
        try:
            assert root(main) == main
            assert addresses(main) == {}
        finally:
            (main / ".git").chmod(0o700)


class TestRemotes:
    @pytest.mark.parametrize(
        ("names", "order"),
        [
            (["zeta", "upstream", "origin", "alpha"], ["origin", "upstream", "alpha", "zeta"]),
            (["zeta", "upstream"], ["upstream", "zeta"]),
            (["zeta", "Origin"], ["Origin", "zeta"]),
            ([], []),
        ],
        ids=repr,
    )
    def test_the_preferred_one_is_first(self, tmp_path: Path, names: list[str], order: list[str]) -> None:
        config = "".join(f'[remote "{name}"]\nurl = https://host/team/{name}\n' for name in names)
        assert list(addresses(repository(tmp_path / "repo", config))) == order

    def test_a_local_one_has_no_address(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo", ORIGIN.format("/srv/git/repo.git"))
        assert addresses(main) == {"origin": None}

    def test_the_first_url_is_the_one_fetched_from(self, tmp_path: Path) -> None:
        config = ORIGIN.format("\n\tpushurl = https://host/push/it\n\turl = https://host/a/b\n\turl = https://host/c/d")
        assert addresses(repository(tmp_path / "repo", config)) == {"origin": "host/a/b"}

    def test_a_worktree_has_those_of_its_repository(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo", ORIGIN.format("git@host:a/b"))
        assert addresses(worktree(main, tmp_path / "wt")) == {"origin": "host/a/b"}

    def test_a_submodule_has_its_own(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo", ORIGIN.format("git@host:a/b"))
        bare(main / ".git" / "modules" / "lib", ORIGIN.format("git@host:a/lib"))
        (main / "lib").mkdir()
        (main / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
        assert addresses(main / "lib") == {"origin": "host/a/lib"}

    def test_the_longest_instead_of_is_used(self, tmp_path: Path) -> None:
        config = (
            ORIGIN.format("gh:team/shop")
            + '[url "https://short.invalid/"]\ninsteadOf = g\n'
            + '[url "https://user:secret@github.com/"]\ninsteadOf = x\ninsteadOf = gh:\n'
            + '[url "https://empty.invalid/"]\ninsteadOf =\n'
        )
        assert addresses(repository(tmp_path / "repo", config)) == {"origin": "github.com/team/shop"}

    @pytest.mark.parametrize("name", [".gitconfig", ".config/git/config"])
    def test_instead_of_may_stand_in_the_users_own_config(self, tmp_path: Path, name: str) -> None:
        home = tmp_path / "home"
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text('[url "git@github.com:"]\ninsteadOf = gh:\n[remote "x"]\nurl = a:b\n')
        main = repository(tmp_path / "repo", ORIGIN.format("gh:team/shop"))
        assert addresses(main, home) == {"origin": "github.com/team/shop"}

    def test_includes_are_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "more").write_text(ORIGIN.format("https://host/a/b"))
        assert addresses(repository(tmp_path / "repo", f"[include]\npath = {tmp_path}/more\n")) == {}

    def test_a_config_over_one_mebibyte_is_not_read(self, tmp_path: Path) -> None:
        head = ORIGIN.format("https://host/a/b")
        small = repository(tmp_path / "small", head + "#" * ((1 << 20) - len(head) - 100))
        large = repository(tmp_path / "large", head + "#" * (1 << 20))
        assert (addresses(small), addresses(large)) == ({"origin": "host/a/b"}, {})

    def test_a_config_that_is_no_file_is_not_read(self, tmp_path: Path) -> None:
        main = repository(tmp_path / "repo")
        (main / ".git" / "config").unlink()
        os.mkfifo(main / ".git" / "config")
        assert addresses(main) == {}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed; the tests above need none")
class TestAsGitItself:
    """What git writes is what we read: the same answers as its own commands."""

    @pytest.fixture
    def main(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        place = tmp_path / "Shop"
        place.mkdir()
        self.git(place, "init")
        self.git(place, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "--allow-empty", "-m", "x")
        self.git(place, "remote", "add", "origin", "git@host.invalid:Team/Shop.git")
        return place

    @staticmethod
    def git(place: Path, *words: str) -> str:
        command = ["git", "-C", str(place), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def test_a_repository_and_its_worktree(self, main: Path, tmp_path: Path) -> None:
        self.git(main, "worktree", "add", str(tmp_path / "feature"), "-b", "feature")
        assert root(tmp_path / "feature") == root(main) == Path(self.git(main, "rev-parse", "--show-toplevel"))
        assert addresses(tmp_path / "feature") == {"origin": "host.invalid/Team/Shop"}

    def test_values_as_git_escapes_them(self, main: Path) -> None:
        for value in ('a"b\\c', "a;b # c", "tab\tand\nline", "项目"):
            self.git(main, "config", 'test.some "odd\\ name.value', value)
            read = settings((main / ".git" / "config").read_bytes())
            assert Setting("test", 'some "odd\\ name', "value", value) in read

    def test_instead_of(self, main: Path) -> None:
        self.git(main, "config", "url.https://other.invalid/deep/.insteadOf", "git@host.invalid:")
        assert self.git(main, "remote", "get-url", "origin") == "https://other.invalid/deep/Team/Shop.git"
        assert addresses(main) == {"origin": "other.invalid/deep/Team/Shop"}
