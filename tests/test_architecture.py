"""The house stands as drawn: floors, who may import what, sizes, types, and a test for every module."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

TESTS = Path(__file__).parent
ROOT = TESTS.parent

# From the ground up. A module may import what stands on a lower floor, or in its own package. A name
# stands for the module or package, and for all in it that is not named itself: the Protocol of a seam
# is vocabulary (both sides of the seam use it), its implementations are not.
FLOORS = (
    ("errors", "failpoints", "finding", "logfile", "metrics", "notify", "status_file", "trim"),
    ("control", "guard", "keyfile"),
    ("records", "text"),
    ("condition",),
    ("exposition", "limits"),
    ("git_files", "sources.base", "compressors.base", "service_checks"),
    ("redaction_forms", "redaction_files"),
    ("redaction_commands", "redaction_words"),
    ("redaction_rules", "redaction_screen", "redaction_settings", "tags"),
    ("redact",),
    ("project", "events", "share"),
    ("exclude",),
    ("config",),
    ("store",),
    ("redaction_key",),
    ("embedders", "obstacles"),
    ("sources", "files", "compressors", "vectors", "worker.wire", "worker.client"),
    ("dedup", "query", "documents", "units", "archive", "fusion", "overlay"),
    ("ranking", "vitals"),
    ("ingest", "compress", "sync", "search", "context", "forget", "scope", "resume"),
    ("refine",),
    ("model_calls",),
    ("control_commands",),
    ("worker",),
    ("rebuild", "changes", "exchange"),
    ("report",),
    ("daemon", "rescan", "renewal", "doctor", "recall", "export"),
    ("app",),
    ("service", "mcp_wire"),
    ("web",),
    ("cli", "mcp_server"),
    ("__main__",),
)
# Implementations of the seams: only `app`, which chooses, and their own package may name them.
SEAMS = ("sources", "embedders", "compressors", "vectors")
# Packages that only some modules may import; none at all: not yet needed, or never.
ONLY = {
    "sqlite3": {"store"},
    "structlog": {"events"},
    "logging": {"events", "files"},  # watchdog says that it lost events only in its log
    "watchdog": {"files"},
    "chromadb": set[str](),  # vectors.chroma loads it by name, when the worker opens the index
    "numpy": {"vectors.exact"},
    "mcp": {"mcp_server", "mcp_wire"},
    "anyio": {"mcp_server", "mcp_wire", "web"},
    "uvicorn": {"mcp_server", "web.server"},
    "starlette": {"web.site"},
    "markdown_it": {"web.markdown"},
    "asyncio": set[str](),
    # No command is run in anyone's folder: claude_cli has its own, keys runs what the user named.
    "subprocess": {"service", "cli.service", "compressors.claude_cli", "compressors.keys"},
    "httpx": set[str](),  # compressors.transport loads whichever is there by name, with the first request
    "httpx2": set[str](),
}
HEAVY = {"anyio", "asyncio", "chromadb", "mcp", "numpy", "starlette", "structlog", "uvicorn", "watchdog"}


class Import(NamedTuple):
    """One imported name. target: of our own modules, without the package's name; else as written."""

    target: str
    ours: bool
    inside: bool  # in a function: runs only when the function does


class Module(NamedTuple):
    name: str
    path: Path
    text: str
    tree: ast.Module
    imports: tuple[Import, ...]


@cache
def modules() -> dict[str, Module]:
    paths = {name_of(path): path for path in sorted((ROOT / "indexer").rglob("*.py"))}
    return {name: read(name, path, paths.keys()) for name, path in paths.items()}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "indexer").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read(name: str, path: Path, known: Collection[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    inside = {id(node) for function in functions(tree) for node in ast.walk(function)}
    found = tuple(
        Import(target, ours, id(node) in inside) for node in ast.walk(tree) for target, ours in targets(node, known)
    )
    return Module(name, path, text, tree, found)


def targets(node: ast.AST, known: Collection[str]) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            head, _, rest = alias.name.partition(".")
            yield (rest, True) if head == "indexer" else (alias.name, False)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if base.partition(".")[0] != "indexer":
            yield base, False
            return
        package = base.partition(".")[2]
        for alias in node.names:
            whole = f"{package}.{alias.name}".lstrip(".")
            yield (whole if whole in known else package), True


def functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def within(name: str, place: str) -> bool:
    return name == place or name.startswith(place + ".")


def floor(name: str) -> int | None:
    """The floor of the most exact name that covers the module."""
    fits = [(len(place), i) for i, row in enumerate(FLOORS) for place in row if within(name, place)]
    return max(fits)[1] if fits else None


def unit(name: str) -> str:
    return name.partition(".")[0]


# --- floors


def test_every_module_has_a_floor() -> None:
    assert [name for name in modules() if name and floor(name) is None] == []


def test_the_package_itself_imports_nothing_of_its_own() -> None:
    assert [found for found in modules()[""].imports if found.ours] == []


def test_imports_go_down() -> None:
    wrong = [
        f"{module.name} imports {found.target}"
        for module in modules().values()
        for found in module.imports
        if found.ours and found.target and unit(found.target) != unit(module.name)
        if (floor(module.name) or 0) <= (floor(found.target) or 0)
    ]
    assert wrong == []


def test_no_import_cycles() -> None:
    graph = {name: {found.target for found in module.imports if found.ours} for name, module in modules().items()}
    while leaves := {name for name, needs in graph.items() if not needs & graph.keys() - {name}}:
        graph = {name: needs for name, needs in graph.items() if name not in leaves}
    assert sorted(graph) == []


def test_only_app_names_implementations() -> None:
    wrong = [
        f"{module.name} imports {found.target}"
        for module in modules().values()
        for found in module.imports
        for seam in SEAMS
        if found.ours and within(found.target, seam) and not found.target.endswith(".base")
        if unit(module.name) not in {"app", seam}
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ONLY)
def test_who_may_import(package: str) -> None:
    wrong = [
        module.name
        for module in modules().values()
        if any(within(found.target, package) for found in module.imports if not found.ours)
        if not any(within(module.name, place) for place in ONLY[package])
    ]
    assert wrong == []


def test_the_command_line_starts_light() -> None:
    """What `cli` imports before it knows what is asked for, directly or not, loads nothing heavy."""
    seen: set[str] = set()
    ahead = {"cli"} & modules().keys()
    while ahead:
        name = ahead.pop()
        seen.add(name)
        eager = [found for found in modules()[name].imports if not found.inside]
        assert not HEAVY & {unit(found.target) for found in eager if not found.ours}, name
        ahead |= {found.target for found in eager if found.ours} & modules().keys() - seen


# --- habits


def test_every_module_opens_with_its_job() -> None:
    speaking = {name for name, module in modules().items() if ast.get_docstring(module.tree)}
    empty = {name for name, module in modules().items() if not module.text}
    assert modules().keys() - speaking - empty == set()


def code_lines(module: Module) -> int:
    """Lines that are neither blank, comment nor docstring."""
    skip = {
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.COMMENT,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in skip:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(module.tree))


def docstring_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False):
            lines |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def test_no_module_is_over_400_code_lines() -> None:
    assert {name: n for name, module in modules().items() if (n := code_lines(module)) > 400} == {}


def test_no_function_is_over_70_lines() -> None:
    long = [
        f"{module.name}.{function.name}"
        for module in modules().values()
        for function in functions(module.tree)
        if (function.end_lineno or 0) - function.lineno >= 70
    ]
    assert long == []


def typed(function: Function) -> bool:
    given = function.args
    own = given.posonlyargs + given.args + given.kwonlyargs
    every = [arg for arg in [*own, given.vararg, given.kwarg] if arg and arg.arg not in {"self", "cls"}]
    return function.returns is not None and all(arg.annotation for arg in every)


def test_every_function_is_typed() -> None:
    untyped = [
        f"{module.name}.{function.name}"
        for module in modules().values()
        for function in functions(module.tree)
        if not typed(function)
    ]
    assert untyped == []


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(TODO|FIXME|XXX|for now|NotImplementedError)\b")
    assert [name for name, module in modules().items() if later.search(module.text)] == []


def test_no_exception_is_passed_over() -> None:
    silent = [
        f"{module.name}:{node.lineno}"
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and len(node.body) == 1 and isinstance(node.body[0], ast.Pass)
    ]
    assert silent == []


def does_something(module: Module) -> bool:
    """Has a function, or a method that is neither special nor a Protocol's."""
    protocols = [node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef) and is_protocol(node)]
    declared = {id(function) for node in protocols for function in functions(node)}
    return any(
        id(function) not in declared and not function.name.startswith("__") for function in functions(module.tree)
    )


def is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def twins(module: Module) -> list[Path]:
    """Where a module's tests may stand: `store/reads.py` -> `tests/store/test_reads.py`, and those of
    a package's own `__init__.py` under the package's name."""
    *folders, name = module.name.split(".")
    places = [TESTS.joinpath(*folders, f"test_{name}.py")]
    if module.path.name == "__init__.py":
        places.append(TESTS.joinpath(*folders, name, f"test_{name}.py"))
    return places


def test_every_module_has_its_test() -> None:
    lonely = [
        module.name
        for module in modules().values()
        if does_something(module) and not any(place.is_file() for place in twins(module))
    ]
    assert lonely == []
