"""Partitions of the context space into cells, for CMDP.

=============  =====================================================================
name           the cells
=============  =====================================================================
k-means        cells around k-means centres of contexts that are drawn beforehand
sets           one cell for each of the finite context sets
arbitrary      cells that are unrelated to the context, as in the released program,
               whose look-up compares a context with itself
=============  =====================================================================
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob._core.records import record
from hrprob._core.types import Array, PyTree
from hrprob.numerics.choice import first_largest
from hrprob.problem import Problem

__all__ = ["PARTITIONS", "SAMPLE", "Cells", "Partition"]

SAMPLE = 4000
"""The number of users drawn to compute the centres."""

# The centres' own seed and trial, which no run uses.
_SEED = 0x636D6470
_TRIAL = 2**32 - 1


class Cells(Protocol):
    """The cells of a partition on one problem."""

    @property
    def number(self) -> int:
        """The number of cells."""

    def cell(self, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the cell of a user with these contexts (actions, d) and this level."""


@record(static=("with_beta",))
class NearestCentre:
    """The cell whose centre is nearest to the user's contexts, and β if ``with_beta``."""

    centres: Array  # (cells, actions·d, or one more with β)
    with_beta: bool = False

    @property
    def number(self) -> int:
        """The number of centres."""
        return len(self.centres)

    def cell(self, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the cell of the nearest centre."""
        flat = contexts.reshape(-1)
        features = jnp.append(flat, beta) if self.with_beta else flat
        # The smallest |c - x|² has the largest c·x - |c|²/2, which is a product of matrices over many trials.
        return first_largest(self.centres @ features - 0.5 * jnp.sum(self.centres**2, axis=-1))


@record(static=("number",))
class UnrelatedCells:
    """A cell that is the same for the same contexts, and otherwise unrelated to them."""

    number: int

    def cell(self, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return a cell from the low digits of a context."""
        digits = jnp.abs(contexts[0, 0]) * 2.0**20
        return jnp.floor((digits - jnp.floor(digits)) * self.number).astype(jnp.int32)


class Partition:
    """A rule that makes cells for a problem."""

    # Whether β can be part of the context that is partitioned.
    can_use_beta: ClassVar[bool] = False

    def place(self, problem: Problem, cells: int, with_beta: bool) -> Cells:
        """Return the cells."""
        raise NotImplementedError


class KMeans(Partition):
    """Cells around k-means centres."""

    can_use_beta: ClassVar[bool] = True

    def place(self, problem: Problem, cells: int, with_beta: bool) -> NearestCentre:
        """Return cells around the centres of a sample of contexts."""
        from scipy.cluster.vq import kmeans2

        points = _sample(problem, with_beta)
        # Finitely many contexts may be fewer than the cells.
        cells = min(cells, len(np.unique(points, axis=0)))
        centres, _ = kmeans2(points, cells, minit="++", rng=np.random.default_rng(_SEED))
        return NearestCentre(centres, with_beta)


class ByContextSet(Partition):
    """One cell for each finite context set."""

    def place(self, problem: Problem, cells: int, with_beta: bool) -> NearestCentre:
        """Return cells around the context sets."""
        if problem.sets is None:
            remedy = "the contexts are not finitely many sets"
            raise InvalidInput("partition", 'must not be "sets"', "sets", remedy)
        context_sets = np.asarray(problem.sets)
        return NearestCentre(context_sets.reshape(len(context_sets), -1))


class Arbitrary(Partition):
    """Cells that are unrelated to the context."""

    def place(self, problem: Problem, cells: int, with_beta: bool) -> UnrelatedCells:
        """Return that number of cells."""
        return UnrelatedCells(cells)


PARTITIONS: dict[str, Partition] = {
    "k-means": KMeans(),
    "sets": ByContextSet(),
    "arbitrary": Arbitrary(),
}
"""The partitions by name. They are values of one option of one policy, without parameters of their own, and so no family of kinds."""


def _sample(problem: Problem, with_beta: bool) -> np.ndarray:
    """Return the features of a sample of users, one row per user."""
    with double_precision():
        keys = trial_keys(_SEED, np.array([_TRIAL]))
        drawn, beta = _draw(problem, keys, jnp.arange(1, SAMPLE + 1, dtype=jnp.uint32))
        contexts = _place(problem, drawn)
    points = np.asarray(contexts)[..., 0].reshape(SAMPLE, -1)
    if with_beta:
        points = np.column_stack([points, np.asarray(beta)[:, 0]])
    if not np.all(np.isfinite(points)):
        remedy = "distances to it are infinite"
        raise InvalidInput("with_beta", "must be false where β is infinite", True, remedy)
    return points


@jax.jit
def _draw(problem: Problem, keys: tuple[jax.Array, jax.Array], users: jax.Array) -> PyTree:
    source = Source(keys, users)
    return problem.contexts.draw(source, problem.dimension), problem.satisfaction.draw(source)


@jax.jit
def _place(problem: Problem, drawn: PyTree) -> jax.Array:
    # Compiled apart from the draws, as for arrivals: see hrprob.problem.contexts.
    return problem.contexts.place(drawn)
