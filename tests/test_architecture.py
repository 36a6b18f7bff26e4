"""Data flow one way: no package imports one to its right, and no two modules import each other.

The layers stand in pyproject.toml under ``[[tool.hrprob.layers]]``, from left to right, each with the question
it answers. The tables in CONTRIBUTING.md and in the documentation are made of the same statement
(``python -m tests.test_architecture`` writes them).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "hrprob"
DOCUMENTS = ("CONTRIBUTING.md", "docs/explanation/architecture.md")
_MARKED = re.compile(r"(<!-- layers -->\n).*?(<!-- /layers -->)", re.DOTALL)


class Layer(NamedTuple):
    """One or more packages that stand side by side, and what they answer."""

    packages: tuple[str, ...]
    question: str
    contents: str


def layers() -> list[Layer]:
    """Return the layers, the lowest first."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [
        Layer(tuple(entry["packages"]), entry["question"], entry["contents"])
        for entry in data["tool"]["hrprob"]["layers"]
    ]


def table() -> str:
    """Return the layers as a Markdown table."""
    rows = [
        f"| {', '.join(f'`{place(name)}`' for name in layer.packages)} | {layer.question} | {layer.contents} |"
        for layer in layers()
    ]
    return "\n".join(["| where | question | what is there |", "|---|---|---|", *rows]) + "\n"


def place(package: str) -> str:
    """Return where a package stands in the repository."""
    if (ROOT / package).is_dir():
        return f"{package}/"
    return (
        f"{PACKAGE}/{package}.py" if (ROOT / PACKAGE / f"{package}.py").exists() else f"{PACKAGE}/{package}/"
    )


def files() -> dict[str, Path]:
    """Return every module of the package by its name; models/ and experiments/ are reached through links."""
    found = {}
    for top in (ROOT / PACKAGE, ROOT / "models", ROOT / "experiments"):
        for file in top.rglob("*.py"):
            inside = file.relative_to(ROOT)
            if any((ROOT / parent).is_symlink() for parent in inside.parents):
                continue
            parts = inside.with_suffix("").parts
            parts = parts if parts[0] == PACKAGE else (PACKAGE, *parts)
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


MODULES = files()


def imports(name: str) -> Iterator[str]:
    """Yield the modules of hrprob that a module imports, at its top or within functions.

    Imports for type checkers alone do not count. A public name that is asked of ``hrprob`` itself counts as an
    import of the module that has it, and a module imported by its name in a string as an import of it.
    """
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield from _module_of(source, alias.name)
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == PACKAGE
        ):
            yield from _module_of(PACKAGE, node.attr)
        elif isinstance(node, ast.Constant) and _is_import_argument(tree, node):
            yield from _module_of(*node.value.rpartition(".")[::2])


def _module_of(source: str, name: str) -> Iterator[str]:
    """Yield the module that ``from source import name`` takes a name from."""
    if source == PACKAGE and name in PUBLIC:
        yield PUBLIC[name]
    elif f"{source}.{name}" in MODULES:
        yield f"{source}.{name}"
    elif source in MODULES and source != PACKAGE:
        yield source


def _is_import_argument(tree: ast.AST, constant: ast.Constant) -> bool:
    return constant.value in MODULES and any(
        isinstance(node, ast.Call) and constant in node.args and "import_module" in ast.unparse(node.func)
        for node in ast.walk(tree)
    )


def public_names() -> dict[str, str]:
    """Return the module of every public name of the package, as ``__init__.pyi`` states them."""
    stub = ast.parse((ROOT / PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: f"{PACKAGE}.{node.module}" if node.module else f"{PACKAGE}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


PUBLIC = public_names()


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            # Only what a type checker alone sees is left out.
            for other in child.orelse:
                yield other
                yield from _walk(other)
            continue
        yield child
        yield from _walk(child)


def package_of(module: str) -> str:
    """Return the layer's name for a module: the part after ``hrprob``."""
    return module.split(".")[1] if "." in module else ""


def test_every_package_has_a_layer() -> None:
    named = [package for layer in layers() for package in layer.packages]
    assert len(named) == len(set(named))
    there = {package_of(name) for name in MODULES} - {""}
    assert there == set(named)


def test_nothing_imports_from_a_later_layer() -> None:
    depth = {package: number for number, layer in enumerate(layers()) for package in layer.packages}
    wrong = [
        f"{name} imports {other}"
        for name in MODULES
        for other in imports(name)
        if package_of(name)
        and package_of(other)
        and package_of(name) != package_of(other)
        and depth[package_of(other)] >= depth[package_of(name)]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "from hrprob.policies import Policy",
        "from hrprob import simulate",
        "import hrprob; hrprob.simulate",
        "from ..policies import Policy",
        "import importlib; importlib.import_module('hrprob.policies')",
        "def late():\n    from hrprob.policies import Policy",
        "if not TYPE_CHECKING:\n    from hrprob.policies import Policy",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from hrprob.policies import Policy",
    ],
)
def test_an_import_is_seen_however_it_is_written(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "problem.py"
    file.write_text(line, encoding="utf-8")
    monkeypatch.setitem(MODULES, "hrprob.problem.problem", file)
    found = {package_of(module) for module in imports("hrprob.problem.problem")}
    assert found & {"policies", "simulation"}


def test_an_import_for_type_checkers_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "problem.py"
    file.write_text("if TYPE_CHECKING:\n    from hrprob.policies import Policy", encoding="utf-8")
    monkeypatch.setitem(MODULES, "hrprob.problem.problem", file)
    assert list(imports("hrprob.problem.problem")) == []


def test_no_modules_import_each_other() -> None:
    graph = {name: set(imports(name)) - {name} for name in MODULES}
    # A package's __init__ gathers the names of its modules; a module that asks its own package for them is
    # what makes a cycle, and is counted.
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise AssertionError(" -> ".join((*path[path.index(name) :], name)))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documents_show_these_layers(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert _MARKED.search(text), "the markers <!-- layers --> and <!-- /layers --> are missing"
    assert _with_table(text) == text, "run `python -m tests.test_architecture`"


def _with_table(text: str) -> str:
    return _MARKED.sub(lambda match: match[1] + table() + match[2], text)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_modules_and_functions_are_short(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            docstring = (
                first.end_lineno - first.lineno + 1
                if ast.get_docstring(node) is not None and first.end_lineno is not None
                else 0
            )
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno + 1 - docstring <= 60, f"{name}.{node.name}"


def test_test_modules_are_short() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for top in ("tests", "benchmarks")
        for file in (ROOT / top).rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def says_any(text: str) -> bool:
    """Return whether a module uses ``typing.Any``; the word in a docstring does not count."""
    return any(
        (isinstance(node, ast.ImportFrom) and any(alias.name == "Any" for alias in node.names))
        or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(ast.parse(text))
    )


def test_any_stands_only_at_stated_borders() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated = [f"{PACKAGE}.{name}" for entry in data["tool"]["hrprob"]["untyped"] for name in entry["modules"]]
    found = [name for name, file in MODULES.items() if says_any(file.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(stated), "say what it is (hrprob/_core/types.py), or state the border"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("from typing import Any", True),
        ("import typing\nx: typing.Any = 1", True),
        ("def f(x: object) -> None: 'Any of them.'", False),
    ],
)
def test_any_is_seen_however_it_is_imported(text: str, says: bool) -> None:
    assert says_any(text) is says


if __name__ == "__main__":
    for document in DOCUMENTS:
        path = ROOT / document
        path.write_text(_with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
