r"""Errors of the GLSE over replications, in the norm of V_n and as a share of the printed radii.

===================================  ============================================================
symbol                               name
===================================  ============================================================
‖φ̂_n − φ*‖ in V_n                    ``error`` of the GLSE, in each replication
ρ_n(δ/n²), α⁽¹⁾_n(δ)                 ``radius``: of the set for φ*, for θ*
===================================  ============================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hrprob._core.compiled import program
from hrprob._core.precision import double_precision
from hrprob._core.types import PyTree
from hrprob.diagnostics.posterior_sets import PosteriorSets, posterior_sets
from hrprob.estimation import glse
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.estimation.posterior.base import StreamingEngine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Stays
from hrprob.numerics.products import quadratic_form
from hrprob.problem import Problem
from hrprob.simulation.checkpoints import ChunkStore
from hrprob.simulation.data_sets import DataSets, GatherJob
from hrprob.simulation.tasks import pack_tree, unpack_tree

__all__ = ["PARAMETERS", "Errors", "Replicated", "ReplicationJob", "errors_along", "errors_at", "radii_at"]

PARAMETERS = ("phi", "theta")

# Short data sets are filled up with empty rows, which change nothing: every length compiles programs of its own.
_LEAST_ROWS = 512


class Path(NamedTuple):
    """Along the users, with the data sets on the last axis."""

    n: jax.Array  # (users, sets)
    theta: jax.Array  # (users, sets) ‖θ̂ − θ*‖ in V
    phi: jax.Array  # (users, sets)


class Errors(NamedTuple):
    """At each size, by parameter; NaN where a data set does not reach the size."""

    error: np.ndarray  # (parameters, sets, sizes)
    largest: np.ndarray  # (parameters, sets, sizes) up to this size
    share: np.ndarray  # (parameters, versions, sets, sizes) error over radius
    largest_share: np.ndarray  # (parameters, versions, sets, sizes) up to this size


class Replicated(NamedTuple):
    """What is kept of some replications."""

    errors: Errors
    posteriors: PosteriorSets | None  # of those that a posterior is fitted to


class ReplicationJob(NamedTuple):
    """Some replications of a design: played, estimated, and some of them fitted."""

    gathering: GatherJob
    engine: StreamingEngine  # of the posteriors
    target: Target
    sets: Mapping[str, ConfidenceSets]
    radii: np.ndarray  # (sizes, parameters, versions)
    delta: float
    ridge: float
    wanted: np.ndarray  # (sizes,)
    fits: int  # how many of them a posterior is fitted to
    seed: int  # of its draws

    @property
    def size(self) -> int:
        """How many users are served at most."""
        return self.gathering.size

    def play(
        self,
        *,
        workers: int | None = None,
        report: Callable[[int], None] = lambda users: None,
        store: ChunkStore | None = None,
    ) -> Replicated:
        """Compute them in this thread."""
        with double_precision():
            block = self.gathering.play(report=report)
            problem = self.gathering.problem
            errors = errors_at(block, problem, self.sets, self.delta, self.ridge, self.wanted)
            if not self.fits:
                return Replicated(errors, None)
            compared = posterior_sets(
                block.stays,
                block.truths,
                self.target,
                self.radii,
                self.delta,
                self.ridge,
                self.wanted,
                self.fits,
                self.seed,
                self.engine,
            )
            return Replicated(errors, compared)

    def pack(self, result: Replicated) -> dict[str, np.ndarray]:
        """Return the result as arrays by name."""
        return pack_tree(result)

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Replicated:
        """Return the result that was packed."""
        nothing: PyTree = 0
        posteriors = PosteriorSets(*[nothing] * len(PosteriorSets._fields)) if self.fits else None
        return unpack_tree(Replicated(Errors(*[nothing] * len(Errors._fields)), posteriors), arrays)


def radius_of(sets: ConfidenceSets, parameter: str, n: PyTree, delta: PyTree) -> PyTree:
    """Return the radius of the set for θ* or φ* that holds for every n at once."""
    return (sets.rho_simultaneous if parameter == "phi" else sets.alpha1)(n, delta)


@program()
def _radii(sets: dict[str, ConfidenceSets], n: PyTree, delta: PyTree) -> dict[str, dict[str, jax.Array]]:
    """Return all radii, by version and parameter, in one compiled program."""
    return {
        version: {parameter: radius_of(one, parameter, n, delta) for parameter in PARAMETERS}
        for version, one in sets.items()
    }


def radii_at(sets: Mapping[str, ConfidenceSets], n: np.ndarray, delta: float) -> np.ndarray:
    """Return the radii (sizes, parameters, versions) at some sizes."""
    radii = _radii(dict(sets), n, delta)
    return np.stack([np.stack([radii[version][p] for version in sets], axis=-1) for p in PARAMETERS], axis=1)


def errors_at(
    block: DataSets,
    problem: Problem,
    sets: Mapping[str, ConfidenceSets],
    delta: float,
    ridge: float,
    wanted: np.ndarray,
) -> Errors:
    """Return errors of each data set at each size."""
    missing = max(_LEAST_ROWS - np.asarray(block.stays.rounds).shape[1], 0)

    def by_user(leaf: np.ndarray) -> jax.Array:
        users_first = np.moveaxis(np.asarray(leaf), 0, -1)
        return jnp.asarray(np.pad(users_first, [(0, missing)] + [(0, 0)] * (users_first.ndim - 1)))

    stays = jax.tree.map(by_user, block.stays)
    truths = (jnp.asarray(block.truths.theta.T), jnp.asarray(block.truths.phi.T))
    path = jax.tree.map(np.asarray, errors_along(stays, *truths, ridge, problem.link))
    at = np.stack([np.argmax(path.n >= size, axis=0) for size in wanted], axis=1)  # (sets, sizes)
    reached = path.n[-1][:, None] >= wanted
    lanes = np.arange(path.n.shape[1])[:, None]

    def pick(values: np.ndarray) -> np.ndarray:
        return np.where(reached, values[at, lanes], np.nan)

    # While the sample set is empty its confidence set is that of one round: δ/n² needs an n.
    radii = _radii(dict(sets), np.maximum(path.n, 1.0), delta)
    errors = [getattr(path, parameter) for parameter in PARAMETERS]
    shares = [
        [error / np.asarray(radii[version][parameter]) for version in sets]
        for parameter, error in zip(PARAMETERS, errors, strict=True)
    ]
    return Errors(
        np.stack([pick(error) for error in errors]),
        np.stack([pick(np.maximum.accumulate(error)) for error in errors]),
        np.stack([[pick(share) for share in of_versions] for of_versions in shares]),
        np.stack([[pick(np.maximum.accumulate(share)) for share in of_versions] for of_versions in shares]),
    )


@program()
def errors_along(stays: Stays, theta: jax.Array, phi: jax.Array, ridge: PyTree, link: PyTree) -> Path:
    """Return errors after every user, of data sets on the last axis."""
    d = theta.shape[0]

    def one(state: PyTree, row: Stays, theta: jax.Array, phi: jax.Array) -> PyTree:
        statistics, inverse = state
        statistics = glse.add(statistics, *row)
        inverse = glse.sherman_morrison(inverse, row.x, row.rounds)
        estimate = glse.estimate(statistics, inverse, link)
        shape = statistics.gram + ridge * jnp.eye(d)
        away = jnp.stack([estimate.theta - theta, estimate.phi - phi])
        norms = jnp.sqrt(jnp.maximum(quadratic_form(shape, away), 0.0))
        return (statistics, inverse), Path(statistics.count, norms[0], norms[1])

    lanes = theta.shape[1]
    nothing = jax.tree.map(jnp.asarray, glse.empty(d))
    first = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf[..., None], (*leaf.shape, lanes)), (nothing, jnp.eye(d) / ridge)
    )
    step = lambda state, row: jax.vmap(one, -1, -1)(state, row, theta, phi)  # noqa: E731
    return lax.scan(step, first, stays)[1]
