r"""The posterior of (θ, φ) as a density on ℝ²ᵈ, with its derivatives up to the third.

The map of :mod:`hrprob.models.ball` takes z = (z_θ, z_φ) to the two balls that the prior is on; under it
the uniform prior is standard normal in z:

.. math:: \ln p(z) = \sum_i \ell_i(\theta^\top x_i, \phi^\top x_i) + \text{tilt}(\theta, \phi)
    - \tfrac12 |z|^2 .

With ``temper`` τ the likelihood is taken to the power τ: every ℓ_i is multiplied by it, and the prior is not.

A row of data enters through two inner products alone, so its derivatives are those of a
function of two numbers, and the sums over rows are small matrices. Rows are summed in blocks, as
many blocks as have rows in use: data in a buffer of fixed length cost as much as the rows in it,
inside a compiled program too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from hrprob._core.records import record
from hrprob._core.types import Number, PyTree
from hrprob.estimation.posterior.past import Past, triples
from hrprob.models import Model, Setting, priors
from hrprob.models.priors.balls import BallConstraint
from hrprob.noise.base import compiled
from hrprob.numerics.products import contract
from hrprob.numerics.row_sums import BLOCK, capacity_for, sum_over_rows
from hrprob.observations import Data, Tables

__all__ = ["BLOCK", "Curve", "Target", "capacity_for", "sum_over_rows"]

# Up to this dimension one product with all pairs of entries of x is faster than one matrix product per weight.
_WRITTEN_OUT = 12
# Points at which a row's likelihood is computed together: few enough to stay in the cache.
_POINTS = 256


class Curve(NamedTuple):
    """A log density at a point, with two derivatives."""

    value: jax.Array  # ()
    gradient: jax.Array  # (k,)
    hessian: jax.Array  # (k, k)


@record()
class Target:
    """The posterior that engines approximate: an outcome model, a prior, and the setting of both.

    ``temper`` is a power of the likelihood, which engines follow that say so (``tempers``). ``past`` stands for rows that
    are no longer there, where an engine ``folds``.
    """

    model: Model
    prior: priors.Prior
    setting: Setting
    # None leaves the likelihood as it is, at no cost: no program multiplies by 1.
    temper: Number | None = None
    past: Past | None = None

    @property
    def size(self) -> int:
        """2d, the length of z."""
        return 2 * self.setting.dimension

    @property
    def radii(self) -> tuple[Number, Number]:
        """Radii of the balls of θ and φ; those of a prior may be smaller than the bounds."""
        return priors.radii(self.prior, self.setting)

    @property
    def supports(self) -> tuple[BallConstraint, BallConstraint]:
        """What the prior of θ and φ is on: balls, with the maps from ℝᵈ onto them."""
        return priors.supports(self.prior, self.setting)

    @compiled
    def coefficients(self, z: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return θ and φ at z (..., 2d)."""
        d, (of_theta, of_phi) = self.setting.dimension, self.supports
        return of_theta.from_normal(z[..., :d]), of_phi.from_normal(z[..., d:])

    def position(self, theta: jax.Array, phi: jax.Array) -> jax.Array:
        """Return z (..., 2d) of θ and φ."""
        of_theta, of_phi = self.supports
        return jnp.concatenate([of_theta.to_normal(theta), of_phi.to_normal(phi)], axis=-1)

    @property
    def uniform(self) -> bool:
        """Whether the prior is uniform, and so standard normal in z."""
        return priors.is_uniform(self.prior)

    def prior_of_phi(self, key: jax.Array, draws: int) -> jax.Array:
        """Return draws of z_φ (draws, d) from the prior."""
        if self.uniform:
            return jax.random.normal(key, (draws, self.setting.dimension))
        return self.supports[1].to_normal(self.prior.phi(self.setting).sample(key, (draws,)))

    def prior_of_both(self, key: jax.Array, draws: int) -> jax.Array:
        """Return draws of z (draws, 2d) from the prior."""
        if self.uniform:
            return jax.random.normal(key, (draws, self.size))
        by_theta, by_phi = jax.random.split(key)
        theta = self.prior.theta(self.setting).sample(by_theta, (draws,))
        z_theta = self.supports[0].to_normal(theta)
        return jnp.concatenate([z_theta, self.prior_of_phi(by_phi, draws)], axis=-1)

    def log_density(self, z: jax.Array, data: Data) -> jax.Array:
        """Return ln p(z) up to a constant, for one z (2d,), from all rows at once."""
        theta, phi = self.coefficients(z)
        likelihood = jnp.sum(self.model.log_likelihood(theta, phi, data, self.setting))
        return self.tempered(likelihood) + self._before_rows(theta, phi) - 0.5 * contract(z, z)

    def log_density_of_many(self, z: jax.Array, tables: Tables) -> jax.Array:
        """Return ln p(z) up to a constant, for many z (points, 2d), from the rows in use."""
        points = z.shape[0]
        if points <= _POINTS or points % _POINTS:
            return self._density_at(z, tables)
        blocks = z.reshape(points // _POINTS, _POINTS, -1)
        return lax.map(lambda block: self._density_at(block, tables), blocks).reshape(points)

    def _density_at(self, z: jax.Array, tables: Tables) -> jax.Array:
        theta, phi = self.coefficients(z)
        total = self._before_rows(theta, phi) - 0.5 * contract(z, z)
        # One row per step: summing over several rows would compile to a scalar loop, six times as slow.
        for data, rows in tables:
            given = theta.T, phi.T
            total = total + sum_over_rows(self._row_at_points, data, rows, given, total, size=1)
        return total

    def _before_rows(self, theta: jax.Array, phi: jax.Array) -> jax.Array:
        """Return the prior's tilt and the log likelihood of earlier rows at θ and φ (..., d)."""
        tilt = self._log_tilt(theta, phi)
        if self.past is None:
            return tilt
        value = jnp.vectorize(lambda both: self.past.derivatives(both)[0], signature="(k)->()")
        return tilt + value(jnp.concatenate([theta, phi], axis=-1))

    def _row_at_points(self, data: Data, theta: jax.Array, phi: jax.Array) -> jax.Array:
        """Return the log likelihood of the only row of ``data`` at θ and φ (d, points): vectors over the points."""
        u, v = (
            jnp.asarray(sum(data.x[0, j] * each[j] for j in range(each.shape[0]))) for each in (theta, phi)
        )
        return self._of_row(data)(u, v)

    def tempered(self, log_likelihood: jax.Array) -> jax.Array:
        """Return a log likelihood times the power ``temper``."""
        return log_likelihood if self.temper is None else self.temper * log_likelihood

    def row_at_many(self, data: Data, theta: jax.Array, phi: jax.Array) -> jax.Array:
        """Return the log likelihood of the only row of ``data`` at many θ and φ (points, d)."""
        each = jax.vmap(lambda theta, phi: self.model.log_likelihood(theta, phi, data, self.setting))
        return self.tempered(each(theta, phi)[:, 0])

    def curve(self, z: jax.Array, tables: Tables) -> tuple[Curve, Curve]:
        """Return ln p with two derivatives in (θ, φ), without the term −|z|²/2, and with it in z.

        ``tables`` are pairs of data and the number of rows in use.
        """
        theta, phi = self.coefficients(z)
        raw = self._tilt(theta, phi)
        if self.past is not None:
            raw = jax.tree.map(jnp.add, raw, Curve(*self.past.derivatives(jnp.concatenate([theta, phi]))))
        raw = self._with_rows(self._block_curve, raw, tables, (theta, phi))
        return raw, self.pull_back(raw, z)

    def fold(self, tables: Tables, z: jax.Array) -> Past:
        """Return a summary of all rows, those of ``past`` included, expanded at z (2d,), the mode given them."""
        assert self.past is not None  # a target to fold into has one, of no rows at first
        at = self.coefficients(z)
        origin = jnp.concatenate(at)
        curve = self._with_rows(self._block_curve, Curve(*self.past.derivatives(origin)), tables, at)
        cubes = self._with_rows(self._block_cubes, self.past.cubes, tables, at)
        rows = sum((jnp.asarray(rows, jnp.int32) for _, rows in tables), self.past.rows)
        return Past(origin, curve.gradient, curve.hessian, cubes, rows)

    @staticmethod
    def _with_rows(
        function: Callable[..., PyTree], start: PyTree, tables: Tables, arguments: tuple[PyTree, ...]
    ) -> PyTree:
        """Return ``start`` plus the sums of a function over the rows in use."""
        for data, rows in tables:
            start = jax.tree.map(jnp.add, start, sum_over_rows(function, data, rows, arguments, start))
        return start

    def pull_back(self, raw: Curve, z: jax.Array) -> Curve:
        """Return the curve in z of a density whose curve in (θ, φ) is ``raw``."""
        d = self.setting.dimension
        jacobian, bend = (jnp.zeros((2 * d, 2 * d)) for _ in range(2))
        for part, support in zip((slice(0, d), slice(d, 2 * d)), self.supports, strict=True):
            first, second = support.derivatives(z[part], raw.gradient[part])
            jacobian, bend = jacobian.at[part, part].set(first), bend.at[part, part].set(second)
        return Curve(
            raw.value - 0.5 * contract(z, z),
            jacobian.T @ raw.gradient - z,
            jacobian.T @ raw.hessian @ jacobian + bend - jnp.eye(2 * d),
        )

    def skewness(self, raw: Curve, z: jax.Array, covariance: jax.Array, tables: Tables) -> jax.Array:
        """Return ∇tr(Σ∇² ln p) at z, Σ being ``covariance`` and ``raw`` the curve there."""
        d = self.setting.dimension
        theta, phi = self.coefficients(z)
        origin = jnp.concatenate([theta, phi])

        def trace(z: jax.Array) -> jax.Array:
            # The second-order expansion in (θ, φ); the third derivatives are added below.
            moved = jnp.concatenate(self.coefficients(z)) - origin
            return jnp.sum(
                covariance
                * self.pull_back(raw._replace(gradient=raw.gradient + raw.hessian @ moved), z).hessian
            )

        jacobian = self._jacobian(z)
        spread = jacobian @ covariance @ jacobian.T
        third = jax.grad(
            lambda both: jnp.sum(spread * jax.hessian(lambda b: self._log_tilt(b[:d], b[d:]))(both))
        )(origin)
        if self.past is not None:
            third = third + self.past.traced(spread)
        third = self._with_rows(self._block_third, third, tables, (theta, phi, spread))
        # Forward mode: z is short, and the program of reverse mode would be twice as long.
        return jax.jacfwd(trace)(z) + jacobian.T @ third

    def uncertainty(self, data: Data, z: jax.Array, covariance: jax.Array) -> jax.Array:
        """Return how uncertain each row's distribution is, given the posterior's mode z and covariance.

        It is the variance of the mean θᵀx in units of the variance w, and that of w in units of w².
        """
        d = self.setting.dimension
        jacobian = self._jacobian(z)
        spread = jacobian @ covariance @ jacobian.T
        v = contract(data.x, self.coefficients(z)[1])
        w, slope = jax.jvp(self.setting.variance, (v,), (jnp.ones_like(v),))
        of_u, of_v = _quadratic_forms(data.x, jnp.stack([spread[:d, :d], spread[d:, d:]]))
        return of_u / w + of_v * (slope / w) ** 2

    def _jacobian(self, z: jax.Array) -> jax.Array:
        """Return the derivatives of (θ, φ) by z."""
        d = self.setting.dimension
        jacobian = jnp.zeros((2 * d, 2 * d))
        for part, support in zip((slice(0, d), slice(d, 2 * d)), self.supports, strict=True):
            jacobian = jacobian.at[part, part].set(support.derivatives(z[part], jnp.zeros(d))[0])
        return jacobian

    def _log_tilt(self, theta: jax.Array, phi: jax.Array) -> jax.Array:
        return self.prior.log_tilt(theta, phi, self.setting)

    def _tilt(self, theta: jax.Array, phi: jax.Array) -> Curve:
        d = self.setting.dimension
        both = jnp.concatenate([theta, phi])

        def tilt(both: jax.Array) -> jax.Array:
            return self._log_tilt(both[:d], both[d:])

        return Curve(tilt(both), jax.grad(tilt)(both), jax.hessian(tilt)(both))

    def _of_row(self, data: Data) -> Callable[[jax.Array, jax.Array], jax.Array]:
        """Return the log likelihood of each row as a function of θᵀx and φᵀx."""

        def function(u: jax.Array, v: jax.Array) -> jax.Array:
            return self.tempered(self.model.row_log_likelihood(data, u, self.setting.variance(v)))

        return function

    def _block_curve(self, data: Data, theta: jax.Array, phi: jax.Array) -> Curve:
        d = data.x.shape[1]
        u, v = contract(data.x, theta), contract(data.x, phi)
        row = self._of_row(data)
        value, (by_u, by_v), (by_uu, by_uv, by_vv) = _two_derivatives(row, u, v)
        first = jnp.stack([by_u, by_v]) @ data.x
        second = _weighted_products(data.x, jnp.stack([by_uu, by_uv, by_vv]))
        return Curve(
            jnp.sum(value, axis=0),
            first.reshape(2 * d),
            jnp.block([[second[0], second[1]], [second[1], second[2]]]),
        )

    def _block_third(self, data: Data, theta: jax.Array, phi: jax.Array, spread: jax.Array) -> jax.Array:
        d = self.setting.dimension
        x = data.x
        u, v = contract(x, theta), contract(x, phi)
        # Variances of θᵀx and φᵀx of each row, and their covariance.
        uu, uv, vv = _quadratic_forms(x, jnp.stack([spread[:d, :d], spread[:d, d:], spread[d:, d:]]))

        def weighted(u: jax.Array, v: jax.Array) -> jax.Array:
            _, _, (by_uu, by_uv, by_vv) = _two_derivatives(self._of_row(data), u, v)
            return uu * by_uu + 2.0 * uv * by_uv + vv * by_vv

        one, zero = jnp.ones_like(u), jnp.zeros_like(u)
        by_u = jax.jvp(weighted, (u, v), (one, zero))[1]
        by_v = jax.jvp(weighted, (u, v), (zero, one))[1]
        return (jnp.stack([by_u, by_v]) @ x).reshape(2 * d)

    def _block_cubes(self, data: Data, theta: jax.Array, phi: jax.Array) -> jax.Array:
        """Return the third derivatives of the rows, as :class:`~hrprob.estimation.posterior.past.Past` has them."""
        u, v = contract(data.x, theta), contract(data.x, phi)

        def twice(u: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            return _two_derivatives(self._of_row(data), u, v)[2]

        one, zero = jnp.ones_like(u), jnp.zeros_like(u)
        uuu, uuv, _ = jax.jvp(twice, (u, v), (one, zero))[1]
        _, uvv, vvv = jax.jvp(twice, (u, v), (zero, one))[1]
        first, second, third = (data.x[:, of] for of in triples(data.x.shape[1])[0])
        return jnp.stack([uuu, uuv, uvv, vvv]) @ (first * second * third)


def _weighted_products(x: jax.Array, weights: jax.Array) -> jax.Array:
    """Return Σ w x xᵀ over the rows of x (rows, d) for some weights (k, rows): (k, d, d)."""
    d = x.shape[1]
    if d > _WRITTEN_OUT:
        return jnp.stack([(x * weight[:, None]).T @ x for weight in weights])
    return (weights @ _pairs(x)).reshape(-1, d, d)


def _quadratic_forms(x: jax.Array, matrices: jax.Array) -> jax.Array:
    """Return xᵀMx of each row of x (rows, d) for some matrices (k, d, d): (k, rows)."""
    d = x.shape[1]
    if d > _WRITTEN_OUT:
        return jnp.stack([jnp.sum((x @ matrix) * x, axis=1) for matrix in matrices])
    return matrices.reshape(-1, d * d) @ _pairs(x).T


def _pairs(x: jax.Array) -> jax.Array:
    """Return all products of two entries of each row of x (rows, d): (rows, d²)."""
    return (x[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1)


def _two_derivatives(
    function: Callable[[jax.Array, jax.Array], jax.Array], u: jax.Array, v: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array, jax.Array]]:
    """Return value, gradient and Hessian of a function that is applied to each pair (u, v) separately."""
    one, zero = jnp.ones_like(u), jnp.zeros_like(u)

    def along(
        direction: tuple[jax.Array, jax.Array],
    ) -> Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        return lambda u, v: jax.jvp(function, (u, v), direction)

    (value, by_u), (_, by_uu) = jax.jvp(along((one, zero)), (u, v), (one, zero))
    (_, by_v), (_, by_vv) = jax.jvp(along((zero, one)), (u, v), (zero, one))
    _, (_, by_uv) = jax.jvp(along((one, zero)), (u, v), (zero, one))
    return value, (by_u, by_v), (by_uu, by_uv, by_vv)
