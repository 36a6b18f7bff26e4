r"""Three kinds of intervals for the coordinates of θ* and φ*, from the rounds of one run.

``wald``
    Least squares with its ordinary standard errors, as if contexts had been fixed before the first user:

    .. math::
        \hat\theta = V^{-1}X^\top r, \qquad \widehat{\operatorname{cov}}\,\hat\theta = V^{-1}\Big(\sum \hat w\,xx^\top\Big)V^{-1},
        \qquad \widehat{\operatorname{cov}}\,\hat\varphi = V^{-1}\Big(\sum \tfrac{2\hat w^2}{M_f^2}\,xx^\top\Big)V^{-1},

    the GLSE of the paper with next to no ridge, ŵ = f(φ̂ᵀx) and the variance 2w² of a squared normal residual. In a direction in which nothing was
    served there is no estimate, and the interval is that of the bounds.
``posterior``
    Equal tails of the posterior (engine ``laplace``, uniform prior): it depends on the design through the likelihood alone, and is
    calibrated on average over truths drawn from its prior, not at every truth.
``anytime``
    Projections of the likelihood-ratio set (:mod:`hrprob.estimation.likelihood_ratio.region`, predictive ``weighted``): for all n at once and any
    design.

All take outcomes as normal, and all are intersected with the bounds ‖θ‖ ≤ R_θ, ‖φ‖ ≤ R_φ, which does not change whether they cover.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from hrprob._core.precision import float64
from hrprob._core.types import Array, Number
from hrprob.estimation import glse
from hrprob.estimation.likelihood_ratio import region
from hrprob.estimation.likelihood_ratio.predictives import make_predictive
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.products import contract
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Stays
from hrprob.problem import Problem
from hrprob.problem.links.base import as_affine

__all__ = ["KINDS", "PARAMETERS", "Ends", "intervals_of"]

KINDS = ("wald", "posterior", "anytime")
"""The kinds of intervals, in the order of the tables."""

PARAMETERS = ("theta", "phi")
"""Whose coordinates they are for."""

_PREDICTIVE = "weighted"
_DRAWS = 1000
_RIDGE = 1e-6
_FLOOR = 0.01


class Ends(NamedTuple):
    """Intervals by data set, kind, parameter and coordinate, and whether the joint set contains the truth."""

    low: np.ndarray  # (sets, kinds, parameters, d)
    high: np.ndarray  # (sets, kinds, parameters, d)
    joint: np.ndarray  # (sets,) bool: of the likelihood-ratio set, exactly


def intervals_of(problem: Problem, stays: Stays, level: float, seed: int = 0) -> Ends:
    """Return the intervals of several data sets of one length.

    Parameters
    ----------
    problem : Problem
        What was played; its truth decides on ``joint`` alone.
    stays : Stays
        What was seen, with a first axis over data sets.
    level : float
        The nominal coverage.
    seed : int
        Seed of the posterior's draws.
    """
    model, setting = make_model("gaussian"), Setting.of(problem)
    target = Target(model, make_prior("uniform"), setting)
    log_q = np.asarray(make_predictive(_PREDICTIVE).absorb_sets(stays, model, setting)).sum(axis=1)
    rows = stays.rounds.shape[1]
    missing = capacity_for(rows) - rows
    wide = [
        np.pad(leaf, [(0, 0), (0, missing)] + [(0, 0)] * (leaf.ndim - 2)) for leaf in map(np.asarray, stays)
    ]
    padded = Stays(*wide)  # type: ignore[arg-type]
    normal = float(special.ndtri(0.5 + level / 2))
    low, high, log_p = _all_intervals(
        target, padded, rows, log_q, level, normal, problem.theta, problem.phi, seed
    )
    radii = np.array([problem.bounds.theta, problem.bounds.phi])[:, None]
    low, high = (np.clip(np.asarray(end), -radii, radii) for end in (low, high))
    return Ends(low, high, np.asarray(log_p) >= log_q + np.log(1.0 - level))


@float64
@functools.partial(jax.jit, static_argnames="rows")
def _all_intervals(
    target: Target,
    stays: Stays,
    rows: int,
    log_q: Array,
    level: Number,
    normal: Number,
    theta: Array,
    phi: Array,
    seed: Number,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    def of_set(given: tuple[Stays, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        data, log_q, key = given
        both = [
            _wald(target, data, normal),
            _posterior(target, data, rows, level, key),
            _anytime(target, data, rows, log_q, 1.0 - level),
        ]
        low, high = (jnp.stack([one[side] for one in both]) for side in (0, 1))
        log_p = jnp.sum(
            target.model.log_likelihood(jnp.asarray(theta), jnp.asarray(phi), data, target.setting)
        )
        return low, high, log_p

    keys = jax.random.split(jax.random.key(seed), stays.rounds.shape[0])
    found: tuple[jax.Array, jax.Array, jax.Array] = jax.lax.map(
        of_set, (jax.tree.map(jnp.asarray, stays), jnp.asarray(log_q), keys)
    )
    return found


def _wald(target: Target, data: Stays, normal: Number) -> tuple[jax.Array, jax.Array]:
    """Return both ends (parameters, d) by least squares and its ordinary standard errors."""
    d, link = target.setting.dimension, as_affine(target.setting.link)
    each = jax.vmap(functools.partial(glse.add, glse.empty(d)))(*data)
    sums = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), each)
    fitted = glse.solve(sums, _RIDGE, link)
    w = jnp.maximum(link(contract(data.x, fitted.phi)), _FLOOR)
    inverse = inverse_of(cholesky(sums.gram + _RIDGE * jnp.eye(d)))
    ends = []
    for estimate, weight in ((fitted.theta, w), (fitted.phi, 2.0 * w * w / link.slope**2)):
        # The ridge's share makes the variance large, not 0, where nothing was served.
        inner = data.x.T @ ((data.rounds * weight)[:, None] * data.x) + _RIDGE * jnp.eye(d)
        half = normal * jnp.sqrt(jnp.diagonal(inverse @ inner @ inverse))
        ends.append((estimate - half, estimate + half))
    return jnp.stack([end[0] for end in ends]), jnp.stack([end[1] for end in ends])


def _posterior(
    target: Target, data: Stays, rows: int, level: Number, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return both ends (parameters, d) by quantiles of draws."""
    engine = Laplace()
    belief = engine.fit(target, [(data, rows)], engine.init(target))
    z = jax.vmap(lambda key: engine.draw(target, belief, key))(jax.random.split(key, _DRAWS))
    draws = jnp.stack(target.coefficients(z))  # (parameters, draws, d)
    tail = 0.5 * (1.0 - level)
    return jnp.quantile(draws, tail, axis=1), jnp.quantile(draws, 1.0 - tail, axis=1)


def _anytime(
    target: Target, data: Stays, rows: int, log_q: jax.Array, delta: Number
) -> tuple[jax.Array, jax.Array]:
    """Return both ends (parameters, d): mean and variance of the unit vectors as contexts."""
    d, link, bounds = target.setting.dimension, as_affine(target.setting.link), target.setting.bounds
    fitted = region.fit([(data, rows)], log_q, delta, region.empty(d, bounds), link, bounds)
    ends = region.ends(fitted, jnp.eye(d), link, bounds, 1e-9)
    one, other = ((w - link.offset) / link.slope for w in (ends.w_low, ends.w_high))
    return (
        jnp.stack([ends.u_low, jnp.minimum(one, other)]),
        jnp.stack([ends.u_high, jnp.maximum(one, other)]),
    )
