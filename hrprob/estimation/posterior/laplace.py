r"""Laplace's approximation in the unconstrained coordinates, with a corrected mean.

N(m, Σ) with Σ⁻¹ = −∇² ln p at the mode ẑ, and

.. math:: m = \hat z + \tfrac12\, \Sigma\, \nabla \operatorname{tr}(\Sigma \nabla^2 \ln p)(\hat z),

the mean to the next order [1]_, the shift limited to one standard deviation: where the
expansion gives more, it no longer holds. Without the shift the means of φ are wrong by
half a standard deviation at small n; with it by a tenth.

With few rows no expansion is accurate enough, but the likelihood is cheap: there mean and
covariance are those of the posterior itself, computed by importance sampling from the
approximation with a fixed set of quasi-random points.

Newton's method searches the mode, from the mode of the last fit, in a trust region that
shrinks when a step does not increase the density. All of it is pure and compiled: fits run
inside a scan over users, for many trials in turn.

References
----------
.. [1] L. Tierney, J. B. Kadane, "Accurate approximations for posterior moments and
   marginal densities", Journal of the American Statistical Association 81, 1986.
"""

from __future__ import annotations

import functools
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hrprob._core.errors import check_count
from hrprob._core.records import set_frozen
from hrprob.estimation.posterior.base import StreamingEngine
from hrprob.estimation.posterior.engines import register
from hrprob.estimation.posterior.normal import Normal, NormalBelief, cholesky_one_by_one
from hrprob.estimation.posterior.target import Curve, Target
from hrprob.numerics.control_flow import once
from hrprob.numerics.factors import eigh
from hrprob.numerics.products import contract
from hrprob.observations import Tables

__all__ = ["Laplace", "laplace_approximation", "quasi_normal", "refine"]

_MOST_STEPS = 60
# The search ends at this Newton decrement: the mode is then accurate to 0.003 standard deviations.
_CLOSE = 1e-5
_FIRST_RADIUS = 2.0
# A smaller curvature would mean a standard deviation above 2, where the prior's is 1.
_LEAST_CURVATURE = 0.25
# The importance sampling proposes from the approximation with its spread multiplied by this.
_WIDER = 1.25
# Least effective sample size per coordinate of z for the importance sampling to be used.
_LEAST_EFFECTIVE = 8


class _Search(NamedTuple):
    steps: jax.Array  # () int
    near: jax.Array  # () bool, whether the search has converged
    radius: jax.Array  # () longest step, the radius of the trust region
    z: jax.Array  # (2d,) the best point so far
    raw: Curve
    curve: Curve
    to_go: jax.Array  # (2d,) the Newton step from there


@register("laplace", static=("points", "few"))
class Laplace(NormalBelief, StreamingEngine):
    """The engine ``laplace``: a normal approximation, cheap enough for every user of a long run.

    Parameters
    ----------
    points : int
        Points of the importance sampling with few rows; 0 switches it off.
    few : int
        Largest number of rows with which it is used.
    """

    kind: ClassVar[str]
    folds: ClassVar[bool] = True
    tempers: ClassVar[bool] = True
    seconds_per_user: ClassVar[float] = 5e-3
    points: int = 1024
    few: int = 1024

    def __post_init__(self) -> None:
        for name, high, remedy in (
            ("points", 2**20, "0 goes without the points"),
            ("few", 2**31 - 1, "it is a number of rows"),
        ):
            set_frozen(
                self, **{name: check_count(name, getattr(self, name), low=0, high=high, remedy=remedy)}
            )

    def mode(self, belief: Normal) -> jax.Array:
        """Return the mode z (2d,)."""
        return belief.mode

    def covariance(self, belief: Normal) -> jax.Array:
        """Return the covariance of z (2d, 2d)."""
        return belief.factor @ belief.factor.T

    def refresh(self, target: Target, tables: Tables, belief: Normal, due: jax.Array) -> Normal:
        """Return the approximation, refitted where it is ``due``."""
        return self.fit_one_by_one(target, tables, belief, due)

    def fit(self, target: Target, tables: Tables, start: Normal) -> Normal:
        """Return the approximation given ``tables``: pairs of data and rows in use."""
        normal = laplace_approximation(target, tables, start.mode)
        # In many dimensions hardly any point has weight, and the result would never be used.
        if self.points <= 2 * _LEAST_EFFECTIVE * target.size:
            return normal
        earlier = jnp.zeros((), jnp.int32) if target.past is None else target.past.rows
        rows = sum((jnp.asarray(rows) for _, rows in tables), earlier)
        return once(rows <= self.few, lambda normal: refine(target, tables, normal, self.points), normal)


def laplace_approximation(target: Target, tables: Tables, start: jax.Array) -> Normal:
    """Return Laplace's approximation with a corrected mean; the search for the mode begins at ``start``."""
    end = _climb(target, tables, start)
    mode = end.z + end.to_go
    values, vectors = _curvature(end.curve)
    covariance = (vectors / values) @ vectors.T
    shift = 0.5 * covariance @ target.skewness(end.raw, end.z, covariance, tables)
    # In standard deviations along the principal axes.
    size = jnp.linalg.norm((vectors.T @ shift) * jnp.sqrt(values))
    shift = shift * jnp.minimum(1.0, 1.0 / jnp.maximum(size, 1e-12))
    # The eigenvectors of equal eigenvalues are arbitrary: draws may depend on the triangular factor, never on them.
    return Normal(mode, mode + shift, cholesky_one_by_one(covariance))


def refine(target: Target, tables: Tables, normal: Normal, points: int) -> Normal:
    """Return the normal with mean and covariance of the posterior, by importance sampling from ``normal``."""
    size = target.size
    standard = jnp.asarray(quasi_normal(size, points))  # (points, 2d)
    z = normal.mean + _WIDER * contract(normal.factor, standard[:, None, :])
    density = target.log_density_of_many(z, tables)
    weight = jax.nn.softmax(density + 0.5 * contract(standard, standard))
    mean = weight @ z
    covariance = (z - mean).T @ (weight[:, None] * (z - mean))
    # A few points with all the weight say nothing about the covariance.
    trusted = 1.0 / jnp.sum(weight**2) > _LEAST_EFFECTIVE * size
    refined = Normal(normal.mode, mean, cholesky_one_by_one(covariance + 1e-12 * jnp.eye(size)))
    return jax.tree.map(lambda new, old: jnp.where(trusted, new, old), refined, normal)


@functools.lru_cache(maxsize=16)
def quasi_normal(dimension: int, points: int) -> np.ndarray:
    """Return scrambled Sobol points with the standard normal distribution; the same in every call."""
    from scipy.stats import norm, qmc

    power = max(points - 1, 1).bit_length()
    return np.asarray(norm.ppf(qmc.Sobol(dimension, seed=0).random_base2(power)))


def _climb(target: Target, tables: Tables, start: jax.Array) -> _Search:
    def advance(now: _Search) -> _Search:
        length = jnp.linalg.norm(now.to_go)
        part = jnp.minimum(1.0, now.radius / jnp.maximum(length, 1e-12))
        z = now.z + part * now.to_go
        raw, curve = target.curve(z, tables)
        values, vectors = _curvature(curve)
        step = vectors @ ((vectors.T @ curve.gradient) / values)
        near = contract(step, curve.gradient) < _CLOSE
        moved = _Search(now.steps + 1, near, 2.0 * now.radius, z, raw, curve, step)
        stayed = now._replace(steps=now.steps + 1, radius=0.25 * part * length)
        better = curve.value >= now.curve.value
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), moved, stayed)

    # The first step has length 0 and is accepted, since its density is above −∞: it evaluates the start.
    k = start.shape[-1]
    unseen = Curve(jnp.asarray(-jnp.inf), jnp.zeros(k), jnp.zeros((k, k)))
    far, radius = jnp.asarray(False), jnp.asarray(0.5 * _FIRST_RADIUS)
    first = _Search(jnp.zeros((), jnp.int32), far, radius, start, unseen, unseen, jnp.zeros(k))
    return lax.while_loop(lambda now: ~now.near & (now.steps < _MOST_STEPS), advance, first)


def _curvature(curve: Curve) -> tuple[jax.Array, jax.Array]:
    """Return eigenvalues and eigenvectors of −∇², negative eigenvalues (of a saddle) by their absolute value."""
    values, vectors = eigh(-0.5 * (curve.hessian + curve.hessian.T))
    return jnp.maximum(jnp.abs(values), _LEAST_CURVATURE), vectors
