"""The posterior of a data set, compared with the printed confidence sets at some sample sizes."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import program
from hrprob._core.parallel import side_by_side
from hrprob._core.types import Integer, Number, PyTree
from hrprob.estimation import glse
from hrprob.estimation.posterior.base import StreamingEngine
from hrprob.estimation.posterior.inference import ROOM, fit_at_once
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import Stays, pad
from hrprob.numerics.factors import log_determinant, one_at_a_time
from hrprob.numerics.products import contract, quadratic_form
from hrprob.numerics.row_sums import sum_over_rows
from hrprob.problem.links.base import as_affine
from hrprob.simulation.truths import Truths

__all__ = ["PosteriorSets", "posterior_sets"]

_inverse = one_at_a_time(jnp.linalg.inv)

_DRAWS = 400
# Rows that the buffer of longer data sets has room for: the same for every design, as each size is a program of its own.
_LARGE = 2**17


class PosteriorSets(NamedTuple):
    """The posterior at one n of one data set, compared with the printed sets; for φ, then for θ."""

    radius: jax.Array  # (2,) about the posterior mean, in the norm of V
    mass: jax.Array  # (2, versions) inside the printed sets
    covers: jax.Array  # (2,) whether the set of that radius contains the truth
    log_volume: jax.Array  # (2, versions) of the printed set over that of the posterior's own ellipsoid
    ellipsoid: jax.Array  # (2,) whether the posterior's own ellipsoid contains the truth


def posterior_sets(
    stays: Stays,
    truths: Truths,
    target: Target,
    radii: np.ndarray,
    delta: float,
    ridge: float,
    wanted: np.ndarray,
    most: int,
    seed: int,
    engine: StreamingEngine | None = None,
) -> PosteriorSets:
    """Return the posterior of the first ``most`` data sets at each size, compared with the printed sets.

    Parameters
    ----------
    stays, truths : Stays, Truths
        Data sets on the first axis of every leaf.
    target : Target
        The posterior: model, prior, setting.
    radii : ndarray
        Radii of the printed sets, (sizes, parameters, versions).
    delta, ridge : float
        δ and λ.
    wanted : ndarray
        Sample sizes.
    most, seed : int
        Data sets that a posterior is fitted to at most, and the seed of its draws.
    engine : StreamingEngine, optional
        An engine that fits whole data sets inside compiled programs; by default ``laplace``.

    Returns
    -------
    PosteriorSets
        With axes (sets, sizes) before those of each field; NaN where a data set does not reach a size.
    """
    counts = np.cumsum(np.asarray(stays.rounds), axis=1)
    chosen = range(min(most, len(counts)))
    chosen_engine = Laplace() if engine is None else engine
    start = chosen_engine.init(target)

    def compare(cell: tuple[int, int]) -> PosteriorSets:
        number, size = cell
        rows = int(np.argmax(counts[number] >= wanted[size])) + 1
        room = ROOM if rows <= ROOM else max(_LARGE, capacity_for(rows))
        data = Stays(*(np.asarray(leaf)[number, :rows] for leaf in stays))  # type: ignore[arg-type]
        truth = np.stack([truths.phi[number], truths.theta[number]])
        key = jax.random.fold_in(jax.random.key(seed), 1000 * number + size)
        wide = jax.tree.map(jnp.asarray, pad(data, room))
        compared = _compare(
            chosen_engine,
            target,
            fit_at_once(chosen_engine, target, wide, rows, start),
            _statistics(wide, rows),
            jnp.asarray(truth),
            radii[size],
            delta,
            ridge,
            key,
        )
        reached = counts[number, -1] >= wanted[size]
        return jax.tree.map(lambda leaf: np.where(reached, np.asarray(leaf, dtype=float), np.nan), compared)

    cells = [(number, size) for number in chosen for size in range(len(wanted))]
    compared = list(side_by_side(compare, cells))
    shape = (len(chosen), len(wanted))
    every: PosteriorSets = jax.tree.map(
        lambda *leaves: np.stack(leaves).reshape(*shape, *leaves[0].shape), *compared
    )
    return every


def _sums(block: Stays) -> glse.Statistics:
    """Return what the GLSE keeps of a block of rows."""
    each = jax.vmap(functools.partial(glse.add, glse.empty(block.x.shape[1])))(*block)
    sums: glse.Statistics = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), each)
    return sums


@program()
def _statistics(data: Stays, rows: Integer) -> glse.Statistics:
    """Return what the GLSE keeps of the first rows."""
    return sum_over_rows(_sums, data, rows, (), jax.tree.map(jnp.asarray, glse.empty(data.x.shape[1])))


@program()
def _compare(
    engine: StreamingEngine,
    target: Target,
    belief: PyTree,
    statistics: glse.Statistics,
    truth: jax.Array,
    radii: jax.Array,
    delta: Number,
    ridge: Number,
    key: jax.Array,
) -> PosteriorSets:
    d = statistics.gram.shape[0]
    z = jax.vmap(lambda key: engine.draw(target, belief, key))(jax.random.split(key, _DRAWS))
    theta, phi = target.coefficients(z)
    # There are no printed sets to compare with under any other link.
    estimate = glse.solve(statistics, ridge, as_affine(target.setting.link))
    shape = statistics.gram + ridge * jnp.eye(d)

    def one(draws: jax.Array, centre: jax.Array, truth: jax.Array, radii: jax.Array) -> PosteriorSets:
        away = jnp.sqrt(quadratic_form(shape, draws - centre))
        mean, covariance = jnp.mean(draws, axis=0), jnp.cov(draws, rowvar=False)
        # About the posterior's own mean: about the GLSE, a misplaced posterior would get a larger radius and then cover.
        radius = jnp.quantile(jnp.sqrt(quadratic_form(shape, draws - mean)), 1.0 - delta)
        precision = _inverse(covariance.reshape(d, d))
        own = jnp.quantile(quadratic_form(precision, draws - mean), 1.0 - delta)
        # Volumes in units of the unit ball: r^d / √det V, and own^{d/2} √det Σ.
        log_volume = d * (jnp.log(radii) - 0.5 * jnp.log(own)) - 0.5 * (
            log_determinant(shape) - log_determinant(precision)
        )
        return PosteriorSets(
            radius,
            jnp.mean(away[:, None] <= radii, axis=0),
            jnp.sqrt(quadratic_form(shape, truth - mean)) <= radius,
            log_volume,
            contract(contract(precision, truth - mean), truth - mean) <= own,
        )

    both: PosteriorSets = jax.vmap(one)(
        jnp.stack([phi, theta]), jnp.stack([estimate.phi, estimate.theta]), truth, radii
    )
    return both
