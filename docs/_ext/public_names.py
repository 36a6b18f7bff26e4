"""Public names: their entries in the reference, and links to them from wherever they are mentioned.

``.. names:: PACKAGE`` makes a table of the package's public names and an entry for each, from their docstrings; with
``:group:`` only those that stand under this comment in its stub. So a new public name has its entry by itself.
Docstrings name things by the module that has them (``hrprob.simulation.engine.simulate``); the reference has them
by their public name (``hrprob.simulate``). A mention of what is not public stays text, and one of what does not
exist is a warning.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import textwrap
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PACKAGES = (
    "hrprob",
    "hrprob.plot",
    "hrprob.data",
    "hrprob.policies",
    "hrprob.problem",
    "hrprob.problem.contexts",
    "hrprob.problem.levels",
    "hrprob.problem.links",
    "hrprob.problem.objectives",
    "hrprob.noise",
    "hrprob.models",
    "hrprob.models.priors",
    "hrprob.diagnostics",
    "hrprob.theory",
    "hrprob.plugins",
    "hrprob.estimation.posterior.base",
    "hrprob.estimation.posterior.engines",
    "hrprob.estimation.posterior.normal",
    "hrprob.estimation.posterior.inference",
    "hrprob.estimation.posterior.laplace",
)
"""Packages whose ``__all__`` is public; where two have a name, the first has its entry."""


def public_names() -> dict[str, Any]:
    """Return every public object by the name of its entry, each object once."""
    found: dict[str, Any] = {}
    places: dict[int, str] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or name.startswith("_"):
                continue
            key = id(value)
            if key not in places:
                places[key] = f"{package}.{name}"
                found[f"{package}.{name}"] = value
    return found


@functools.cache
def addresses() -> dict[str, str]:
    """Return the public name of everything public, by the name of where it is written."""
    found = {}
    for public, value in public_names().items():
        if hasattr(value, "__module__") and hasattr(value, "__qualname__"):
            found[f"{value.__module__}.{value.__qualname__}"] = public
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            place = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
            if place in found:
                found.setdefault(f"{package}.{name}", found[place])
    return found


def groups(package: str) -> dict[str, list[str]]:
    """Return the names of a package by the comments above them in its stub."""
    stub = Path(str(importlib.import_module(package).__file__)).with_suffix(".pyi")
    found: dict[str, list[str]] = {}
    for line in stub.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            names = found.setdefault(line.removeprefix("# ").rstrip("."), [])
        elif line.startswith("from "):
            names.append(line.split()[-1])
    return found


class Names(Directive):
    """``.. names:: PACKAGE``: a table of names and an entry for each."""

    required_arguments = 1
    option_spec: ClassVar = {"group": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the table and the entries."""
        package = self.arguments[0]
        module = importlib.import_module(package)
        entries = [name.rpartition(".") for name in public_names()]
        names = [name for place, _, name in entries if place == package]
        if "group" in self.options:
            names = [name for name in groups(package)[self.options["group"]] if name in names]
        lines = [".. autosummary::", "   :nosignatures:", ""]
        # The docstring of a constant is that of its type; its entry has the words beside its definition.
        lines += [f"   {package}.{name}" for name in names if not is_constant(getattr(module, name))]
        for name in names:
            lines += ["", *_entry(f"{package}.{name}", getattr(module, name))]
        node = nodes.section()
        node.document = self.state.document
        source = f"<names of {package}>"
        self.state.nested_parse(StringList(lines, source=source), self.content_offset, node)
        return node.children


def _entry(full: str, value: Any) -> list[str]:
    if is_constant(value):
        return [f".. py:data:: {full}", "", *(f"   {line}" for line in words_of(full).splitlines()), ""]
    if inspect.isclass(value):
        # What every member of a family does is said once, with the base class.
        members = [] if isinstance(getattr(value, "kind", None), str) else ["   :members:"]
        fields = list(getattr(value, "_fields", ()))
        if fields:
            # Their own docstrings say "Alias for field number 0".
            members.append(f"   :exclude-members: {', '.join(fields)}")
        return [f".. autoclass:: {full}", *members, "", *_fields_in_words(value), ""]
    return [f".. autofunction:: {full}", ""]


def _fields_in_words(cls: type) -> list[str]:
    """Return the fields of a named tuple with the comments beside them, unless its docstring has them."""
    if not getattr(cls, "_fields", ()) or "\n    Parameters\n" in (cls.__doc__ or ""):
        return []
    lines = []
    for name, kind, words in fields_of(cls):
        lines.append(f"   :param {name}: {words}" if words else f"   :param {name}:")
        lines.append(f"   :type {name}: {kind}")
    return lines


def fields_of(cls: type) -> list[tuple[str, str, str]]:
    """Return name, type and comment of every field of a named tuple, as its source has them."""
    source = textwrap.dedent(inspect.getsource(cls))
    lines = source.splitlines()
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    found = []
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            comment = re.search(r"  # (.*)$", lines[(node.end_lineno or node.lineno) - 1])
            words = comment[1].replace("|", r"\|").replace("*", r"\*") if comment else ""
            found.append((node.target.id, ast.unparse(node.annotation), words))
    return found


def is_constant(value: Any) -> bool:
    """Return whether a public object is neither a class nor a function."""
    return not inspect.isclass(value) and not (callable(value) and hasattr(value, "__qualname__"))


def words_of(full: str) -> str:
    """Return the string below the definition of a constant, which may stand in any module of its package."""
    package, _, name = full.rpartition(".")
    file = Path(str(importlib.import_module(package).__file__))
    places = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    root = Path(str(importlib.import_module("hrprob").__file__)).parent
    for place in [*places, *sorted(root.rglob("*.py"))]:
        text = place.read_text(encoding="utf-8")
        if not re.search(rf"^{name}\b.*=", text, flags=re.M):
            continue
        body = ast.parse(text).body
        for statement, below in itertools.pairwise(body):
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            is_it = any(isinstance(one, ast.Name) and one.id == name for one in targets)
            if is_it and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                return inspect.cleandoc(str(below.value.value))
    raise LookupError(f"{full} needs a string below its definition that says what it is")


def list_references(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Write the numbered references of a docstring as a list: a page has many docstrings, and a footnote 1 in each.

    A reference that only the docstring of the module has is added.
    """
    text = "\n".join(lines)
    listed = set(re.findall(r"^ *\.\. \[(\d+)\]", text, flags=re.M))
    missing = sorted(set(re.findall(r"\[(\d+)\]_", text)) - listed)
    module = inspect.getdoc(inspect.getmodule(value)) or ""
    for number in missing:
        found = re.search(rf"^\.\. \[{number}\].*(?:\n +.*)*", module, flags=re.M)
        lines += ["", *(found[0].splitlines() if found else [])]
    inside = False
    for place, line in enumerate(lines):
        entry = re.match(r"( *)\.\. (\[\d+\] .*)", line)
        if entry:
            lines[place] = f"{entry[1]}* {entry[2]}"
        elif inside and re.match(r"   +\S", line):
            lines[place] = line[1:]
        lines[place] = re.sub(r"(\[\d+\])_(?!\w)", r"\1", lines[place])
        inside = bool(entry) or (inside and bool(line.strip()))


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Link what is written of a public name under the name of its module; leave what exists and is not public."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if not target.startswith("hrprob"):
        # A base class or type of another library, or a name within a docstring's own class.
        return None
    head, _, tail = target.rpartition(".")
    known = addresses()
    for public in (known.get(target), f"{known[head]}.{tail}" if head in known else None):
        if public is not None:
            domain = env.domains.python_domain
            found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, content)
            if found is not None:
                return found
    return content if exists(target) else None


@functools.cache
def exists(name: str) -> bool:
    """Return whether a dotted name can be imported."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        try:
            for part in parts[cut:]:
                value = getattr(value, part)
        except AttributeError:
            return False
        return True
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the links."""
    app.add_directive("names", Names)
    # Before napoleon, which turns sections into fields.
    app.connect("autodoc-process-docstring", list_references, priority=400)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
