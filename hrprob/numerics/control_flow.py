"""Conditionals that stay cheap under ``vmap``.

``lax.cond`` with a batched predicate runs both branches, and may move the batch axis of every array they use. The
loops here run a branch only where it is needed, and leave the batch axis in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jax.typing import ArrayLike

from hrprob._core.types import PyTree
from hrprob.numerics.buffers import MemberRows

__all__ = ["once", "one_by_one", "run_one_by_one"]


T = TypeVar("T")
G = TypeVar("G")


def once(condition: ArrayLike, function: Callable[[T], T], value: T) -> T:
    """Return ``function(value)`` where ``condition`` holds, else ``value``.

    Like :func:`jax.lax.cond`, but as a loop that runs at most once: under ``vmap`` the batch axis of the arrays
    that ``function`` uses stays in place.

    Examples
    --------
    >>> float(once(True, lambda value: 2 * value, jnp.asarray(1.5)))
    3.0
    """
    return lax.while_loop(
        lambda pair: pair[0],
        lambda pair: (jnp.zeros_like(pair[0]), function(pair[1])),
        (jnp.asarray(condition), value),
    )[1]


def one_by_one(
    condition: ArrayLike, function: Callable[..., T], value: T, given: G, tables: Sequence[PyTree] = ()
) -> T:
    """Return ``function(value, given)`` where ``condition`` holds, else ``value``.

    Like :func:`once`, for an expensive function: under ``vmap`` it runs only for the members of the batch for which
    the condition holds, one after another. It may use arrays only through ``value``, ``given`` and ``tables``.

    Parameters
    ----------
    condition : bool
        Whether to run it.
    function : callable
        Of ``value`` and ``given``, and of a :class:`~hrprob.numerics.buffers.MemberRows` for each of the tables.
    value, given : pytree
        What it changes, and what it looks at.
    tables : sequence of pytrees
        Long buffers, rows on their first axis, of which it reads blocks.

    Examples
    --------
    >>> half = lambda value, given: value / given
    >>> both = lambda condition, value: one_by_one(condition, half, value, jnp.asarray(2.0))
    >>> jax.vmap(both)(jnp.asarray([True, False]), jnp.asarray([3.0, 3.0])).tolist()
    [1.5, 3.0]
    """
    leaves, tree = jax.tree.flatten((value, given, tuple(tables)))
    arrays = [jnp.asarray(leaf) for leaf in (condition, *leaves)]
    size = len(jax.tree.leaves(value))
    return jax.tree.unflatten(
        jax.tree.structure(value), _one_by_one_p.bind(*arrays, function=function, tree=tree, values=size)
    )


def run_one_by_one(
    args: Sequence[jax.Array],
    axes: Sequence[int | None],
    size: int,
    *,
    function: Callable[..., PyTree],
    tree: PyTree,
    values: int,
) -> list[jax.Array]:
    """Return the new values, members on the last axis, where arguments have theirs on ``axes``."""

    def member_of(array: jax.Array, axis: int | None, number: jax.Array) -> jax.Array:
        return array if axis is None else lax.dynamic_index_in_dim(array, number, axis, keepdims=False)

    def last(array: jax.Array, axis: int | None) -> jax.Array:
        return array[..., None] if axis is None else jnp.moveaxis(array, axis, -1)

    # Of what is the same for all members, each has its own afterwards.
    start = [
        jnp.broadcast_to(last(array, axis), (*last(array, axis).shape[:-1], size))
        for array, axis in zip(args[1 : values + 1], axes[1 : values + 1], strict=True)
    ]
    held = jax.tree.unflatten(tree, range(len(args) - 1))
    in_tables = set(jax.tree.leaves(held[2]))
    buffers = {place: last(args[place + 1], axes[place + 1]) for place in in_tables}

    def run(number: jax.Array, value: list[jax.Array]) -> list[jax.Array]:
        rest = range(values, len(args) - 1)
        own = [
            buffers[place] if place in in_tables else member_of(args[place + 1], axes[place + 1], number)
            for place in rest
        ]
        before, given, tables = jax.tree.unflatten(tree, [*value, *own])
        views = [MemberRows(table, number) for table in tables]
        return jax.tree.leaves(function(before, given, *views))

    def member(number: jax.Array, done: list[jax.Array]) -> list[jax.Array]:
        holds = member_of(args[0], axes[0], number)
        own = [lax.dynamic_index_in_dim(whole, number, -1, keepdims=False) for whole in done]
        after = once(holds, lambda value: run(number, value), own)
        return [
            lax.dynamic_update_index_in_dim(whole, new, number, -1)
            for whole, new in zip(done, after, strict=True)
        ]

    return once(jnp.any(args[0]), lambda done: lax.fori_loop(0, size, member, done), start)


def _alone(*args: jax.Array, **parameters: PyTree) -> list[jax.Array]:
    return [value[..., 0] for value in run_one_by_one(args, [None] * len(args), 1, **parameters)]


def _batched(
    args: Sequence[jax.Array], axes: Sequence[int | None], **parameters: PyTree
) -> tuple[list[jax.Array], list[int]]:
    size = next(arg.shape[axis] for arg, axis in zip(args, axes, strict=True) if axis is not None)
    found = run_one_by_one(args, axes, size, **parameters)
    return found, [value.ndim - 1 for value in found]


def _types(*args: PyTree, values: int, **parameters: PyTree) -> list[jax.core.ShapedArray]:
    return [jax.core.ShapedArray(value.shape, value.dtype) for value in args[1 : values + 1]]


_one_by_one_p = Primitive("hrprob_one_by_one")
_one_by_one_p.multiple_results = True
_one_by_one_p.def_impl(_alone)
_one_by_one_p.def_abstract_eval(_types)
batching.primitive_batchers[_one_by_one_p] = _batched
mlir.register_lowering(_one_by_one_p, mlir.lower_fun(_alone, multiple_results=True))
