"""Lowered programs on disk: what a later process need not trace again.

XLA's own cache keeps what the compiler made of a program, but to look there a program must have been traced and
lowered first, which for nested loops takes longer than everything else in a second start. So the lowered program
(portable StableHLO, through :mod:`jax.export`) is kept beside that cache. The same program gives the same numbers, to
the last bit.

A file is found by a fingerprint of everything that a program depends on: versions, hrprob's own source, settings of
JAX, the function, the shapes and types of its arguments, and all that is static. An argument with a part from
elsewhere (a kind of one's own, a lambda) has no fingerprint, and such a program is not kept.

What is read becomes code that runs. So files are read only from a folder, and only if they are files, that belong to the
user and that nobody else can write; a file with a wrong checksum is treated as missing. Nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import hashlib
import importlib
import importlib.metadata
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jax import export
from jax.tree_util import PyTreeDef

import hrprob
from hrprob._core.files import source_digest, whole_file
from hrprob._core.types import Decoded, PyTree

__all__ = ["ProgramStore", "StoredProgram", "portable_text", "portable_tree"]

_MAGIC = b"hrprob program 1\n"
# Settings of JAX on which the lowered program depends.
_SETTINGS = (
    "jax_enable_x64",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_numpy_dtype_promotion",
    "jax_default_matmul_precision",
)
# Packages whose code the fingerprint covers, by source or by version.
_COVERED = ("hrprob", "jax", "jaxlib", "numpyro", "builtins")


class StoredProgram(NamedTuple):
    """A lowered program over the leaves of its arguments, and the structure of its result."""

    exported: export.Exported
    result: PyTreeDef


class ProgramStore:
    """A folder of lowered programs.

    Parameters
    ----------
    folder : Path
        Where they are. It is made if it does not exist, for the user alone.

    Raises
    ------
    OSError
        If it cannot be made, or others can write into it.
    """

    def __init__(self, folder: Path) -> None:
        if not hasattr(os, "geteuid"):
            raise OSError(f"{folder} is not used: this system does not say who can write into a folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(os.lstat(folder), stat.S_ISDIR):
            raise OSError(
                f"{folder} is not used: it must belong to the user, and nobody else may write there"
            )
        self.folder, self._source = folder, source_digest()

    def name(
        self, function: str, types: Sequence[object], tree: PyTreeDef, static: Mapping[str, object]
    ) -> str | None:
        """Return the file name of a program; None if it depends on code that the fingerprint does not cover.

        Parameters
        ----------
        function : str
            Its full name.
        types : sequence
            Shape, type and weakness of every leaf of the arguments.
        tree : PyTreeDef
            The structure of the arguments.
        static : mapping
            The static arguments by name.
        """
        structure, options = portable_tree(tree), portable_text(dict(static))
        if structure is None or options is None:
            return None
        settings = [str(getattr(jax.config, name)) for name in _SETTINGS]
        parts = [_versions(), self._source, jax.default_backend(), *settings, function, structure, options]
        text = json.dumps([*parts, [str(kind) for kind in types]])
        return f"{function.rpartition('.')[2]}-{hashlib.sha256(text.encode()).hexdigest()}"

    def load(self, name: str) -> StoredProgram | None:
        """Return a program, or None if it is missing, damaged, or not the user's own."""
        content = self._read(name)
        if content is None or not content.startswith(_MAGIC):
            return None
        checksum, _, rest = content[len(_MAGIC) :].partition(b"\n")
        if hashlib.sha256(rest).hexdigest().encode() != checksum:
            return None
        result, _, program = rest.partition(b"\n")
        return StoredProgram(export.deserialize(bytearray(program)), _decoded(json.loads(result)))

    def save(self, name: str, program: StoredProgram) -> None:
        """Write a program; it stays unwritten where its result has parts without a name, or the disk is full."""
        result = _encoded(program.result)
        # hrprob's source may have been changed since this process imported it.
        if result is None or source_digest() != self._source:
            return
        rest = json.dumps(result).encode() + b"\n" + bytes(program.exported.serialize())
        checksum = hashlib.sha256(rest).hexdigest().encode()
        # A program that cannot be kept is traced again next time.
        with contextlib.suppress(OSError), whole_file(self.folder / name) as path:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:
                file.write(_MAGIC + checksum + b"\n" + rest)

    def _read(self, name: str) -> bytes | None:
        try:
            handle = os.open(self.folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with open(handle, "rb") as file:
                # Asked of the open file, which cannot be exchanged any more.
                return file.read() if _is_private(os.fstat(file.fileno()), stat.S_ISREG) else None
        except OSError:
            return None


def _is_private(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not others_write


@functools.cache
def _versions() -> str:
    # Asked of the installation: to import NumPyro takes longer than most programs that do without it.
    packages = ("jax", "jaxlib", "numpy", "numpyro")
    versions = [importlib.metadata.version(package) for package in packages]
    return " ".join([hrprob.__version__, *versions, *map(str, sys.version_info[:2])])


def portable_tree(tree: PyTreeDef) -> str | None:
    """Return a structure of arguments as text that means the same in every process; None if there is none.

    Examples
    --------
    >>> portable_tree(jax.tree.structure((1.0, {"a": None})))
    '[tuple None [leaf] [dict ["a"] [NoneType None]]]'
    """
    data = tree.node_data()
    if data is None:
        return "[leaf]" if tree.num_leaves else "[NoneType None]"
    kind, auxiliary = data
    name, own = _name_of(kind), portable_text(auxiliary)
    children = [portable_tree(child) for child in tree.children()]
    if name is None or own is None or None in children:
        return None
    return f"[{' '.join([name, own, *map(str, children)])}]"


def portable_text(value: object) -> str | None:
    """Return a static value as text that means the same in every process; None if there is none.

    Examples
    --------
    >>> portable_text(("radius", 3, None))
    '("radius", 3, None)'
    >>> portable_text(lambda: 3) is None
    True
    """
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or type(value) in (bool, int, float):
        return repr(value)
    if isinstance(value, np.dtype | np.generic | enum.Enum):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        entries = [portable_text(entry) for entry in value]
        opening, closing = "()" if isinstance(value, tuple) else "[]"
        return None if None in entries else f"{opening}{', '.join(map(str, entries))}{closing}"
    if isinstance(value, Mapping):
        return portable_text([list(item) for item in value.items()])
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return _name_of(value)
    if dataclasses.is_dataclass(value):
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        name, content = _name_of(type(value)), portable_text(fields)
        return None if name is None or content is None else f"{name}{content}"
    return None


def _name_of(thing: type | Callable[..., object]) -> str | None:
    """Return the full name of a class or function of a module, if the fingerprint covers its code."""
    module, name = getattr(thing, "__module__", ""), thing.__qualname__
    covered = module.partition(".")[0] in _COVERED and not module.startswith("hrprob.experiments")
    if not covered or "<" in name:
        return None
    return str(name) if module == "builtins" else f"{module}:{name}"


def _encoded(tree: PyTreeDef) -> Decoded:
    """Return a structure of tuples, lists, dictionaries and named tuples of hrprob as JSON; None if it has others."""
    data = tree.node_data()
    if data is None or data[0] is type(None):
        return "leaf" if tree.num_leaves else "none"
    kind, auxiliary = data
    children = [_encoded(child) for child in tree.children()]
    if None in children:
        return None
    if kind in (tuple, list):
        return [kind.__name__, *children]
    if kind is dict and all(isinstance(key, str) for key in auxiliary):
        return ["dict", list(auxiliary), *children]
    named = issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__module__.startswith("hrprob.")
    return ["named", kind.__module__, kind.__qualname__, *children] if named and _name_of(kind) else None


def _decoded(text: Decoded) -> PyTreeDef:
    """Return the structure of which :func:`_encoded` is the JSON."""
    return jax.tree.structure(_filled(text))


def _filled(text: Decoded) -> PyTree:
    if text in ("leaf", "none"):
        return 0.0 if text == "leaf" else None
    container, *rest = text
    if container == "named":
        thing: PyTree = importlib.import_module(rest[0])
        for name in rest[1].split("."):
            thing = getattr(thing, name)
        return thing(*map(_filled, rest[2:]))
    if container == "dict":
        return dict(zip(rest[0], map(_filled, rest[1:]), strict=True))
    return (tuple if container == "tuple" else list)(map(_filled, rest))
