"""Compiled programs that threads share, that can be prepared before their first use, and that a store can keep.

A function under ``jax.jit`` is traced and compiled by whoever calls it first; two threads that call it at the same time
both do. A :class:`Program` is compiled once, others wait; :meth:`Program.prepare` compiles it in advance, beside
other work; and where the process has a :class:`~hrprob._core.program_store.ProgramStore`, it is not even traced if an
earlier process did that.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar
from weakref import WeakSet

import jax
import numpy as np
from jax import export
from jax.tree_util import PyTreeDef

from hrprob._core.precision import is_traced
from hrprob._core.program_store import ProgramStore, StoredProgram
from hrprob._core.types import PyTree

__all__ = ["Program", "Ready", "forget_programs", "program", "store_programs"]

P = ParamSpec("P")
R = TypeVar("R")
LeafType = tuple[tuple[int, ...], np.dtype, bool]
"""Shape and type of a leaf, and whether the type is weak: that of one of Python's own numbers."""

_store: ProgramStore | None = None
_all: WeakSet[Program[..., PyTree]] = WeakSet()


def store_programs(folder: Path | None) -> None:
    """Keep lowered programs in a folder from now on; with None, keep none.

    Raises
    ------
    OSError
        If the folder cannot be used; see :class:`~hrprob._core.program_store.ProgramStore`.
    """
    global _store
    _store = None
    if folder is not None:
        _store = ProgramStore(folder)


def forget_programs() -> None:
    """Drop all compiled programs of this process, as ``jax.clear_caches`` does for functions under ``jit``."""
    for each in list(_all):
        each.clear_cache()


def program(*, static: tuple[str, ...] = ()) -> Callable[[Callable[P, R]], Program[P, R]]:
    """Return a decorator that makes a function a :class:`Program`.

    Examples
    --------
    >>> @program(static=("times",))
    ... def repeated(x, *, times=2):
    ...     return times * x
    >>> float(repeated(1.5)), float(repeated(2.5)), float(repeated(2.5, times=3))
    (3.0, 5.0, 7.5)
    >>> repeated.count
    2
    """
    return lambda function: Program(function, static)


class Ready(NamedTuple):
    """A compiled program over the leaves of its arguments."""

    compiled: jax.stages.Compiled
    weak: list[
        np.dtype | None
    ]  # the types of Python's own numbers among the leaves, which must be told; else None
    structure: PyTreeDef  # of the result

    def __call__(self, leaves: Sequence[PyTree]) -> PyTree:
        """Compute from leaves, and return the result in its structure."""
        told = [
            leaf if kind is None else np.asarray(leaf, kind)
            for leaf, kind in zip(leaves, self.weak, strict=True)
        ]
        return jax.tree.unflatten(self.structure, self.compiled(*told))


class Program(Generic[P, R]):
    """A function that is compiled once for each structure and type of its arguments.

    Parameters
    ----------
    function : callable
        What to compile. Inside another program, or a transformation of JAX, it is called like a function under ``jit``.
    static : tuple of str
        Keyword arguments that are part of the program.
    """

    def __init__(self, function: Callable[P, R], static: tuple[str, ...] = ()) -> None:
        functools.update_wrapper(self, function)
        self.jitted = jax.jit(function, static_argnames=static)
        self._static = static
        self._compiled: dict[Hashable, Future[Ready]] = {}
        self._lock = threading.Lock()
        _all.add(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Compute, with the program for these arguments."""
        if is_traced(args, kwargs):
            traced: R = self.jitted(*args, **kwargs)
            return traced
        entry, leaves = self._entry(args, kwargs)
        result: R = entry.result()(leaves)
        return result

    def prepare(self, *args: P.args, **kwargs: P.kwargs) -> Future[Ready]:
        """Compile the program for such arguments, which may be ``jax.ShapeDtypeStruct``.

        If another thread is compiling it, return at once: the future is done when the program is ready.
        """
        return self._entry(args, kwargs)[0]

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> jax.stages.Lowered:
        """Return the lowered program for such arguments, to look at."""
        return self.jitted.lower(*args, **kwargs)

    @property
    def count(self) -> int:
        """How many programs there are."""
        return len(self._compiled)

    def clear_cache(self) -> None:
        """Drop all programs."""
        with self._lock:
            self._compiled.clear()
        self.jitted.clear_cache()  # type: ignore[attr-defined]

    def _entry(
        self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
    ) -> tuple[Future[Ready], list[PyTree]]:
        """Return the future of the program over leaves, and the leaves; compile it unless somebody did or does."""
        static = {name: kwargs[name] for name in self._static if name in kwargs}
        dynamic = {name: value for name, value in kwargs.items() if name not in static}
        leaves, tree = jax.tree.flatten((args, dynamic))
        types = tuple(_type_of(leaf) for leaf in leaves)
        settings: Any = jax.config
        where = settings.jax_enable_x64, settings.jax_default_device
        key = (tree, types, tuple(static.items()), where)
        with self._lock:
            known = self._compiled.get(key)
            entry = known or self._compiled.setdefault(key, Future())
        if known is None:
            try:
                entry.set_result(self._compile(tree, types, static))
            except BaseException as error:
                with self._lock:
                    self._compiled.pop(key, None)
                entry.set_exception(error)
                raise
        return entry, leaves

    def _compile(self, tree: PyTreeDef, types: tuple[LeafType, ...], static: dict[str, Hashable]) -> Ready:
        store = _store
        full_name = f"{self.__module__}.{self.__qualname__}"  # type: ignore[attr-defined]
        name = None if store is None else store.name(full_name, types, tree, static)
        stored = None if store is None or name is None else store.load(name)
        saving = None
        if stored is None:
            traced, result, stored = self._trace(tree, types, static, wanted=name is not None)
            if store is not None and name is not None and stored is not None:
                # Beside the compiler, which takes longer.
                saving = threading.Thread(target=store.save, args=(name, stored))
                saving.start()
        if stored is not None:
            result = stored.result
            # Python's own numbers have weak types while tracing; what is exported has none.
            lowered = jax.jit(stored.exported.call).lower(
                *(jax.ShapeDtypeStruct(*kind[:2]) for kind in types)
            )
        else:
            lowered = traced.lower()
        weak = [kind[1] if kind[2] and stored is not None else None for kind in types]
        ready = Ready(lowered.compile(), weak, result)
        if saving is not None:
            saving.join()
        return ready

    def _trace(
        self, tree: PyTreeDef, types: tuple[LeafType, ...], static: dict[str, Hashable], *, wanted: bool
    ) -> tuple[jax.stages.Traced, PyTreeDef, StoredProgram | None]:
        """Return the traced program over leaves, the structure of its result, and what a store can keep, if wanted."""
        structure: list[PyTreeDef] = []

        def flat(*leaves: PyTree) -> list[PyTree]:
            args, kwargs = jax.tree.unflatten(tree, leaves)
            result, found = jax.tree.flatten(self.__wrapped__(*args, **kwargs, **static))  # type: ignore[attr-defined]
            structure[:] = [found]
            return result

        flat.__name__ = self.__name__  # type: ignore[attr-defined]
        compact = jax.jit(flat)
        traced = compact.trace(*(jax.ShapeDtypeStruct(kind[0], kind[1], weak_type=kind[2]) for kind in types))
        stored = None
        if wanted:
            try:
                arguments = (jax.ShapeDtypeStruct(kind[0], kind[1], weak_type=kind[2]) for kind in types)
                stored = StoredProgram(export.export(compact)(*arguments), structure[0])
            except (NotImplementedError, ValueError):
                # What JAX cannot export (calls into Python, some types) is traced again by every process.
                stored = None
        return traced, structure[0], stored


def _type_of(leaf: object) -> LeafType:
    """Return shape, type and weakness of the type."""
    kind = leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf)
    return kind.shape, kind.dtype, bool(getattr(kind, "weak_type", False))
