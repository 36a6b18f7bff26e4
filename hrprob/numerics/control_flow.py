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
from jax.typing import ArrayLike

from hrprob._core.types import PyTree

__all__ = ["once", "one_by_one"]


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


def one_by_one(condition: ArrayLike, function: Callable[[T, G], T], value: T, given: G) -> T:
    """Return ``function(value, given)`` where ``condition`` holds, else ``value``.

    Like :func:`once`, for an expensive function: under ``vmap`` it runs only for the members of the batch for which
    the condition holds, one after another. It may use arrays only through ``value`` and ``given``.

    Examples
    --------
    >>> half = lambda value, given: value / given
    >>> both = lambda condition, value: one_by_one(condition, half, value, jnp.asarray(2.0))
    >>> jax.vmap(both)(jnp.asarray([True, False]), jnp.asarray([3.0, 3.0])).tolist()
    [1.5, 3.0]
    """

    @jax.custom_batching.custom_vmap
    def run(condition: ArrayLike, value: T, given: G) -> T:
        return function(value, given)

    @run.def_vmap
    def in_turn(size: int, batched: Sequence[PyTree], *arguments: PyTree) -> tuple[PyTree, PyTree]:
        spread = lambda leaf, has: leaf if has else jnp.broadcast_to(leaf, (size, *leaf.shape))  # noqa: E731
        value = jax.tree.map(spread, arguments[1], batched[1])

        def member(number: jax.Array, done: PyTree) -> PyTree:
            holds, own, seen = jax.tree.map(
                lambda leaf, has: leaf[number] if has else leaf, arguments, tuple(batched)
            )
            after = once(holds, lambda value: run(holds, value, seen), own)
            return jax.tree.map(lambda whole, new: whole.at[number].set(new), done, after)

        return lax.fori_loop(0, size, member, value), jax.tree.map(lambda _: True, value)

    return once(condition, lambda value: run(condition, value, given), value)
