r"""Constrained optimisation over a likelihood-ratio set: extremes of a function, and maxima of the likelihood.

The set is :math:`\{v = (\theta, \phi) : \ell(v) \ge \tau\}` within the balls of the bounds, with τ = Σ ln q − ln(1/δ).
Searches use sequential quadratic programming (SciPy's SLSQP) with exact gradients, in coordinates in which the
likelihood is about isotropic, from several starting points.

They find local optima. An interval found so may be too short where the set has several pieces: with a handful of rounds,
isolated points with a variance near 0 at a seen context may belong to it, and are not looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from hrprob._core.precision import double_precision
from hrprob._core.types import Integer
from hrprob.estimation.likelihood_ratio import region
from hrprob.estimation.likelihood_ratio.predictives import sums_of
from hrprob.numerics.directions import unit_vectors
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Data, pad
from hrprob.problem.links.base import as_affine

if TYPE_CHECKING:
    from hrprob.models import Model
    from hrprob.models.setting import Setting

__all__ = ["Free", "Maximum", "Search"]

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""A function of v (2d,) that returns its value and its gradient."""

# How far outside, as a share of ℓ_max − τ, a point may be for rounding.
_TOLERANCE = 1e-6
_MOST_ITERATIONS = 200
# Points spread over the set, at most this share of a bound's radius from 0.
_SCATTERED, _WITHIN = 4, 0.9


class Free(NamedTuple):
    """The points v = origin + basis·t of a linear hypothesis."""

    origin: np.ndarray  # (2d,)
    basis: np.ndarray  # (2d, k)


class Maximum(NamedTuple):
    """A maximum of the likelihood."""

    v: np.ndarray  # (2d,)
    value: float


class Search:
    """Searches over the set of one sample.

    Parameters
    ----------
    data : Stays or Rounds
        The rows.
    model, setting : Model, Setting
        The outcome model, and dimension, link and bounds.
    threshold : float
        τ.
    """

    def __init__(self, data: Data, model: Model, setting: Setting, threshold: float) -> None:
        self.setting, self.threshold = setting, threshold
        self._data, self._model = pad(data, capacity_for(data.x.shape[0])), model
        with double_precision():
            fitted = jax.tree.map(np.asarray, _start(self._data, data.x.shape[0], setting))
        d = setting.dimension
        self._factor = np.zeros((2 * d, 2 * d))
        self._factor[:d, :d] = np.linalg.cholesky(fitted.theta_covariance)
        self._factor[d:, d:] = np.linalg.cholesky(fitted.phi_covariance)
        size = max(float(np.linalg.norm(fitted.theta)), 1e-12)
        theta = fitted.theta * min(1.0, 0.999 * setting.bounds.theta / size)
        self._centre = np.concatenate([theta, fitted.phi])
        self._last = (np.full(2 * d, np.nan), (np.nan, np.zeros(2 * d)))  # NaN equals nothing
        self.maximum = self.maximise()

    def log_likelihood(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Return ℓ and its gradient at v (2d,)."""
        # The optimiser asks for value and gradient one after the other.
        if not np.array_equal(v, self._last[0]):
            with double_precision():
                value, gradient = _value_and_gradient(jnp.asarray(v), self._data, self._model, self.setting)
            self._last = (np.array(v), (float(value), np.asarray(gradient)))
        return self._last[1]

    @property
    def excess(self) -> float:
        """ℓ_max − τ: half the squared radius of the set."""
        return self.maximum.value - self.threshold

    def information(self) -> np.ndarray:
        """Return −∇²ℓ at the maximum (2d, 2d), eigenvalues of at most 0 replaced by those of a flat direction."""
        with double_precision():
            hessian = np.asarray(_hessian(jnp.asarray(self.maximum.v), self._data, self._model, self.setting))
        values, vectors = np.linalg.eigh(-0.5 * (hessian + hessian.T))
        # In a direction without information the balls limit the set, not the likelihood.
        least = 1.0 / (self.setting.bounds.theta + self.setting.bounds.phi) ** 2
        return (vectors * np.maximum(values, least)) @ vectors.T

    def maximise(
        self,
        within: Free | None = None,
        inequality: Function | None = None,
        starts: Sequence[np.ndarray] = (),
    ) -> Maximum:
        """Return the maximum of ℓ in the balls, in a linear family, where ``inequality`` is at least 0."""
        within = within or Free(self._centre, self._factor)
        if not within.basis.shape[1]:
            short = all(one(within.origin)[0] >= -_TOLERANCE for one in self._balls())
            return Maximum(within.origin, self.log_likelihood(within.origin)[0] if short else -np.inf)
        begin = [
            np.linalg.lstsq(within.basis, v - within.origin, rcond=None)[0] for v in (self._centre, *starts)
        ]
        constraints = self._balls() + ([inequality] if inequality else [])
        found = [self._solve(self.log_likelihood, constraints, within, t, 1.0) for t in begin]
        # With few rounds a search may run off to where a variance is 0; where it began is a candidate still.
        found += [within.origin + within.basis @ t for t in begin]
        kept = [v for v in found if all(c(v)[0] >= -_TOLERANCE for c in constraints)]
        if not kept:
            return Maximum(within.origin, -np.inf)
        values = [self.log_likelihood(v)[0] for v in kept]
        best = int(np.argmax(values))
        return Maximum(kept[best], values[best])

    def extreme(self, function: Function, starts: Sequence[np.ndarray] = ()) -> tuple[float, np.ndarray]:
        """Return the largest value of a function over the set, and where it is."""
        centre, factor = self.maximum.v, self._factor
        within = Free(centre, factor)
        radius = np.sqrt(2.0 * max(self.excess, 1e-12))
        along = factor.T @ function(centre)[1]
        size = np.linalg.norm(along)
        begin = [np.zeros(len(centre))] + ([0.7 * radius * along / size] if size > 0 else [])
        begin += [np.asarray(start) * radius for start in starts]
        constraints = [self._inside, *self._balls()]
        best = (function(centre)[0], centre)
        for start in begin:
            v = self._pull_in(self._solve(function, constraints, within, start, radius))
            value = function(v)[0]
            if value > best[0]:
                best = (value, v)
        return best

    def scattered(self) -> list[np.ndarray]:
        """Return a few points at about the edge of the set, within the balls: where the likelihood has several maxima, starting points."""
        d, bounds = self.setting.dimension, self.setting.bounds
        ways = unit_vectors(np.random.default_rng(0), (_SCATTERED, 2 * d))
        points = self.maximum.v + np.sqrt(2.0 * max(self.excess, 0.0)) * ways @ self._factor.T
        for part, bound in ((points[:, :d], bounds.theta), (points[:, d:], bounds.phi)):
            length = np.linalg.norm(part, axis=1, keepdims=True)
            part *= np.minimum(1.0, _WITHIN * bound / np.maximum(length, 1e-300))
        return list(points)

    def _inside(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.log_likelihood(v)
        scale = max(self.excess, 1e-9)
        return (value - self.threshold) / scale, gradient / scale

    def _balls(self) -> list[Function]:
        d, bounds = self.setting.dimension, self.setting.bounds

        def ball(part: slice, radius: float) -> Function:
            def function(v: np.ndarray) -> tuple[float, np.ndarray]:
                gradient = np.zeros(2 * d)
                gradient[part] = -2.0 * v[part] / radius**2
                return 1.0 - float(v[part] @ v[part]) / radius**2, gradient

            return function

        return [ball(slice(0, d), bounds.theta), ball(slice(d, 2 * d), bounds.phi)]

    def _solve(
        self, function: Function, constraints: list[Function], within: Free, start: np.ndarray, radius: float
    ) -> np.ndarray:
        """Return where a search for the largest value ended, feasible or not."""
        scale = max(abs(function(within.origin + within.basis @ start)[0]), 1.0)

        def pair(
            one: Function, factor: float
        ) -> tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]:
            return (
                lambda t: factor * one(within.origin + within.basis @ t)[0],
                lambda t: factor * (within.basis.T @ one(within.origin + within.basis @ t)[1]),
            )

        value, slope = pair(function, -1.0 / scale)
        limits = [
            dict(zip(("type", "fun", "jac"), ("ineq", *pair(one, 1.0)), strict=True)) for one in constraints
        ]
        with np.errstate(all="ignore"):
            end = optimize.minimize(
                value,
                start,
                jac=slope,
                constraints=limits,
                method="SLSQP",
                options={"maxiter": _MOST_ITERATIONS, "ftol": 1e-10},
            )
        point: np.ndarray = within.origin + within.basis @ end.x
        return point if np.all(np.isfinite(point)) else within.origin

    def _pull_in(self, v: np.ndarray) -> np.ndarray:
        """Return the point of the segment from the maximum to v that is furthest along it and in the set."""
        centre = self.maximum.v

        def outside(share: float) -> bool:
            point = centre + share * (v - centre)
            return any(one(point)[0] < -_TOLERANCE for one in (self._inside, *self._balls()))

        if not outside(1.0):
            return v
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if outside(middle) else (middle, high)
        return centre + low * (v - centre)


def _of_all(v: jax.Array, data: Data, model: Model, setting: Setting) -> jax.Array:
    d = setting.dimension
    return jnp.sum(model.log_likelihood(v[:d], v[d:], data, setting))


_value_and_gradient = jax.jit(jax.value_and_grad(_of_all))
_hessian = jax.jit(jax.hessian(_of_all))


@jax.jit
def _start(data: Data, rows: Integer, setting: Setting) -> region.Region:
    """Return the maximum of the normal likelihood: near the model's own, whatever the model is."""
    first = region.empty(setting.dimension, setting.bounds)
    stays = jax.tree.map(jnp.asarray, sums_of(data))
    return region.maximum([(stays, rows)], first, as_affine(setting.link), setting.bounds)
