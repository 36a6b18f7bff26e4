"""Double precision without changing global settings.

JAX computes in float32 by default. hrprob computes in float64: its
public functions run under a scoped switch and return NumPy arrays, so that a
program that imports hrprob keeps its own setting. Inside the caller's ``jit``,
``grad`` or ``vmap`` the arguments are traced and the precision is that of the trace:
there, switch x64 on for the process (``jax.config.update("jax_enable_x64",
True)``, or the environment variable ``JAX_ENABLE_X64=1``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.types import PyTree

__all__ = ["arrays_for", "double_precision", "float64", "is_traced"]

P = ParamSpec("P")
R = TypeVar("R")


def double_precision() -> AbstractContextManager[None]:
    """Return a context manager within which JAX computes in float64 (this thread only)."""
    return jax.enable_x64(True)


def is_traced(*values: PyTree) -> bool:
    """Return whether any number in ``values`` (arrays, records, tuples of them) is being traced by JAX."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(values))


def arrays_for(*values: PyTree) -> ModuleType:
    """Return ``jax.numpy`` if any number in ``values`` is being traced, and else ``numpy``.

    Outside a compiled program every single operation of ``jax.numpy`` is compiled by itself, once for every
    shape; NumPy computes the same at once.

    Examples
    --------
    >>> arrays_for(2.0, np.zeros(3)).__name__
    'numpy'
    """
    return jnp if is_traced(*values) else np


def float64(function: Callable[P, R]) -> Callable[P, R]:
    """Make ``function`` compute in float64 and return NumPy arrays when called on plain values."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_traced(args, kwargs):
            return function(*args, **kwargs)
        with double_precision():
            result: R = jax.tree.map(_to_numpy, function(*args, **kwargs))
            return result

    return wrapped


def _to_numpy(leaf: object) -> object:
    # Plain arguments inside the caller's jit still give a tracer, which NumPy cannot hold.
    return np.asarray(leaf) if isinstance(leaf, jax.Array) and not is_traced(leaf) else leaf
