"""Whatever stands in a transcript or in git's files: no exception, no secret, and one key for one thing."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer import git_files
from indexer.errors import ConfigError
from indexer.project import Environment, Resolver, encode, evidence, fold

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
PATH_LIKE = st.text(st.sampled_from("/\\.~:aB-é😀\ud83d\0 *C"), max_size=30) | ANY_TEXT
WORD = st.text(st.sampled_from("abcXYZ0189-_é项"), min_size=1, max_size=8)
SECRET = st.text(st.sampled_from("abcXYZ019:@/?#%[]. \\é"), max_size=8).map(lambda text: "s3cret" + text)
CONFIG_PIECE = st.sampled_from(
    [
        '[remote "origin"]',
        "[url",
        '"',
        "\\",
        "\n",
        "url",
        "insteadOf",
        " = ",
        "#",
        ";",
        "]",
        "[",
        "host:a/b",
        "\r\n",
        ".",
    ]
)
CONFIG = st.binary(max_size=80) | st.lists(CONFIG_PIECE, max_size=30).map(lambda parts: "".join(parts).encode())


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("properties")
    (place / "inner" / ".git").mkdir(parents=True)
    (place / "inner" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return place / "inner"


class TestFold:
    @given(ANY_TEXT)
    def test_folding_twice_changes_nothing(self, text: str) -> None:
        assert fold(fold(text)) == fold(text)

    @given(ANY_TEXT)
    def test_letter_case_never_counts(self, text: str) -> None:
        assert fold(text) == fold(text.casefold())

    def test_every_character_folds_once(self) -> None:
        characters = map(chr, range(sys.maxunicode + 1))
        assert not [c for c in characters if fold(fold(c)) != fold(c)]


class TestFolders:
    @given(ANY_TEXT)
    def test_a_folder_is_ascii_and_as_long_as_its_path(self, path: str) -> None:
        name = encode(path)
        assert name.isascii()
        assert len(name) == len(path.encode("utf-16-le", "surrogatepass")) // 2

    @given(PATH_LIKE, PATH_LIKE)
    def test_evidence_takes_any_text(self, cwd: str, folder: str) -> None:
        found = evidence(cwd, folder)
        assert (found.rank > 0) == bool(found.cwd)
        assert cwd.startswith(found.cwd)

    @given(st.lists(WORD, min_size=1, max_size=5), st.lists(WORD, max_size=4), st.sampled_from(["/", "C:\\"]))
    def test_a_directory_below_is_evidence_of_the_folder(self, above: list[str], below: list[str], root: str) -> None:
        launched = root + root[-1].join(above)
        assert evidence(root[-1].join([launched, *below]), encode(launched).swapcase()) == (launched, 2)


class TestResolver:
    @given(PATH_LIKE, PATH_LIKE)
    def test_any_text_has_a_key_that_can_be_stored(self, cwd: str, folder: str) -> None:
        made = Resolver(home="/nonexistent/ada").resolve(cwd, folder)
        assert made.key == fold(made.key)
        assert all(made[:3])
        assert "\0" not in "".join(made[:3]).encode().decode()

    @given(PATH_LIKE)
    def test_any_text_can_be_explained(self, path: str) -> None:
        assert Resolver(home="/nonexistent/ada").explain(path)

    @given(st.lists(WORD, min_size=1).map("/".join))
    def test_letter_case_never_makes_two_projects(self, path: str) -> None:
        resolver = Resolver(home="/nonexistent/ada")
        assert len({resolver.resolve("/nonexistent/" + p).key for p in (path, path.upper(), path.lower())}) == 1

    @given(PATH_LIKE, PATH_LIKE, PATH_LIKE)
    def test_any_rule_works_or_says_why_not(self, name: str, pattern: str, path: str) -> None:
        try:
            resolver = Resolver([Environment(name, (pattern,))], home="/nonexistent/ada")
        except ConfigError:
            return
        assert resolver.resolve(path).source in ("environment", "path", "guess")


class TestGitFiles:
    @given(CONFIG)
    def test_a_config_of_any_bytes_is_read(self, data: bytes) -> None:
        for setting in git_files.settings(data):
            assert setting.section
            assert setting.name == setting.name.lower()

    @settings(max_examples=50)
    @given(data=CONFIG)
    def test_a_repository_of_any_bytes_has_a_key(self, repository: Path, data: bytes) -> None:
        (repository / ".git" / "config").write_bytes(data)
        made = Resolver(home="/nonexistent/ada").resolve(str(repository))
        assert made.root == str(repository)
        assert made.key

    @settings(max_examples=50)
    @given(data=st.binary(max_size=40).map(lambda data: b"gitdir:" + data) | st.binary(max_size=40))
    def test_a_pointer_of_any_bytes_is_followed_or_not(self, repository: Path, data: bytes) -> None:
        place = repository / "pointer"
        place.mkdir(exist_ok=True)
        (place / ".git").write_bytes(data)
        assert Resolver(home="/nonexistent/ada").resolve(str(place)).key

    @given(ANY_TEXT)
    def test_an_address_can_always_be_shown(self, url: str) -> None:
        made = git_files.address(url)
        assert made is None or (made.text.isprintable() and made.text.endswith("/" + made.name))

    @given(
        WORD.filter(lambda word: word[-1] not in "-"),
        st.lists(WORD, min_size=1, max_size=4),
        st.integers(1, 65535),
    )
    def test_all_forms_of_a_url_are_one(self, host: str, parts: list[str], port: int) -> None:
        host, path = host + ".invalid", "/".join(parts)
        made = {
            git_files.address(url)
            for url in (
                f"https://{host}/{path}",
                f"https://ada:pw@{host.upper()}:{port}/{quote(path)}.git/",
                f"ssh://git@{host}:{port}/{path}.git",
                f"git://{host}/{path}/",
                f"git@{host}:{path}.git",
                f"{host}:/{path}",
            )
        }
        assert len(made) == 1
        assert None not in made

    @given(SECRET, WORD)
    def test_a_secret_in_a_url_is_never_shown(self, secret: str, word: str) -> None:
        for url in (
            f"https://{secret}@host.invalid/a/{word}",
            f"https://ada:{secret}@host.invalid/a/{word}",
            f"https://{quote(secret)}:x@host.invalid/a/{word}",
            f"https://host.invalid/a/{word}?token={secret}",
            f"{secret}@host.invalid:a/{word}",
            f"ada:{secret}@host.invalid:a/{word}",
        ):
            assert "s3cret" not in str(git_files.address(url))
