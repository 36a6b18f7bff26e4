r"""Forgetting: sums over past users in which old users count less, or not at all.

Estimators of this package are functions of sums over rounds. Where the truth drifts, old rounds
mislead, and the sums are replaced by

.. math:: \sum_s \gamma^{t - s} S_s \quad\text{(discount γ)}, \qquad \sum_{s > t - W} S_s \quad\text{(window W)},

:math:`S_s` what user s contributes and t the newest user [1]_ [2]_. The ridge is not discounted, so that
V stays invertible. A user counts as a whole, however many rounds the stay has.

A window forgets in blocks: W/32 users at once, so it covers the last W users or up to W/32 fewer, and exactly the last W if
W is at most 32. Sums of closed blocks are added up again whenever one is dropped; nothing is ever
subtracted, so that no rounding error grows with the number of users.

References
----------
.. [1] Y. Russac, C. Vernade, O. Cappé, "Weighted linear bandits for non-stationary environments", NeurIPS 2019.
.. [2] W. C. Cheung, D. Simchi-Levi, R. Zhu, "Learning to optimize under non-stationarity", AISTATS 2019.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_number
from hrprob._core.records import record, set_frozen
from hrprob._core.types import Number, PyTree
from hrprob.numerics.control_flow import once

__all__ = ["BLOCKS", "Discount", "Forgetting", "Memory", "Window"]

BLOCKS = 32
"""How many blocks of users a window has."""


class Memory(NamedTuple):
    """Sums over past users, and what is needed to forget some of them."""

    user: jax.Array  # () the number of the newest user
    recent: PyTree  # sums: discounted, or of the users of the newest block
    older: PyTree = ()  # of a window: sums over its closed blocks
    blocks: PyTree = ()  # of a window: the sums of each of them, each leaf (BLOCKS, ...)
    numbers: PyTree = ()  # of a window: (BLOCKS,) the number of the block in each place


class Forgetting(Protocol):
    """What a learner asks of a way to forget."""

    def begin(self, nothing: PyTree) -> Memory:
        """Return the memory before the first user; ``nothing`` are the sums of no user."""
        ...

    def forget(self, memory: Memory, user: jax.Array) -> Memory:
        """Return the memory when ``user`` is the newest; the user's rounds are added to ``recent``."""
        ...

    def total(self, memory: Memory) -> PyTree:
        """Return the sums over all that is remembered."""
        ...


@record()
class Discount:
    """Every user counts γ times as much as the next one.

    Examples
    --------
    >>> half = Discount(0.5)
    >>> memory = half.begin(jnp.zeros(()))
    >>> for user in (1.0, 2.0, 3.0):
    ...     memory = half.forget(memory, jnp.asarray(user))
    ...     memory = memory._replace(recent=memory.recent + 1.0)
    >>> float(half.total(memory))
    1.75
    """

    factor: Number

    def __post_init__(self) -> None:
        remedy = (
            "a user counts this much of the next; 1 forgets nothing, 0.999 has a memory of about 1000 users"
        )
        factor = check_number("discount", self.factor, low=0, high=1, open_low=True, remedy=remedy)
        set_frozen(self, factor=factor)

    def begin(self, nothing: PyTree) -> Memory:
        """Return the memory before the first user."""
        return Memory(jnp.zeros(()), jax.tree.map(jnp.asarray, nothing))

    def forget(self, memory: Memory, user: jax.Array) -> Memory:
        """Return the memory with all sums discounted by the users since the last."""
        newest = jnp.maximum(user, memory.user)
        weight = self.factor ** (newest - memory.user)
        return memory._replace(user=newest, recent=jax.tree.map(lambda leaf: weight * leaf, memory.recent))

    def total(self, memory: Memory) -> PyTree:
        """Return the discounted sums."""
        return memory.recent


@record()
class Window:
    """The last users count fully, all others not at all.

    Examples
    --------
    >>> last_two = Window(2)
    >>> memory = last_two.begin(jnp.zeros(()))
    >>> for user in (1.0, 2.0, 3.0):
    ...     memory = last_two.forget(memory, jnp.asarray(user))
    ...     memory = memory._replace(recent=memory.recent + user)
    >>> float(last_two.total(memory))
    5.0
    """

    users: Number

    def __post_init__(self) -> None:
        remedy = "it is the number of users that are remembered"
        set_frozen(self, users=check_number("window", self.users, low=1, remedy=remedy))

    def begin(self, nothing: PyTree) -> Memory:
        """Return the memory before the first user: all places are empty."""
        sums = jax.tree.map(jnp.asarray, nothing)
        places = jax.tree.map(lambda leaf: jnp.zeros((BLOCKS, *leaf.shape)), sums)
        return Memory(jnp.zeros(()), sums, sums, places, jnp.full(BLOCKS, -jnp.inf))

    def forget(self, memory: Memory, user: jax.Array) -> Memory:
        """Return the memory without the blocks that lie before the window; a new block begins where it is due."""
        newest = jnp.maximum(user, memory.user)
        due = self._block(newest) > self._block(memory.user)
        return once(due, lambda before: self._next_block(before, newest), memory)._replace(user=newest)

    def total(self, memory: Memory) -> PyTree:
        """Return the sums over closed blocks and the newest one."""
        return jax.tree.map(jnp.add, memory.older, memory.recent)

    def _block(self, user: jax.Array) -> jax.Array:
        # User t is in block ⌊(t − 1)·BLOCKS/W⌋: the first user begins the first block.
        return jnp.floor((user - 1.0) * (BLOCKS / self.users))

    def _next_block(self, memory: Memory, user: jax.Array) -> Memory:
        """Close the block of ``memory.user``, and begin that of ``user``."""
        closed = self._block(memory.user)
        place = jnp.mod(closed, BLOCKS).astype(jnp.int32)
        numbers = memory.numbers.at[place].set(closed)
        blocks = jax.tree.map(lambda rows, row: rows.at[place].set(row), memory.blocks, memory.recent)
        kept = jnp.where(numbers > self._block(user) - BLOCKS, 1.0, 0.0)
        older = jax.tree.map(lambda rows: jnp.tensordot(kept, rows, 1), blocks)
        recent = jax.tree.map(jnp.zeros_like, memory.recent)
        return Memory(memory.user, recent, older, blocks, numbers)
