"""Projections of a likelihood-ratio set: intervals of functions of (θ, φ), its ellipsoid, its radius for φ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.precision import double_precision
from hrprob._core.types import Number
from hrprob.estimation import glse
from hrprob.estimation.estimator import Ellipsoid
from hrprob.estimation.likelihood_ratio.search import Function, Search
from hrprob.lifetime import log_reneging_probability
from hrprob.noise import Noise
from hrprob.numerics.directions import unit_vectors
from hrprob.numerics.products import contract
from hrprob.observations import Stays
from hrprob.problem.links import AffineLink

if TYPE_CHECKING:
    from hrprob.models.setting import Setting

__all__ = ["Interval", "bounding_ellipsoid", "interval", "log_reneging", "mean", "phi_radius", "variance"]

# Random starting points beside those along the axes.
_EXTRA = 8


class Interval(NamedTuple):
    """The least and the largest value over the set."""

    low: float
    high: float


def mean(
    theta: jax.Array, phi: jax.Array, x: jax.Array, beta: ArrayLike, setting: Setting, noise: Noise
) -> jax.Array:
    """Return θᵀx."""
    return contract(x, theta)


def variance(
    theta: jax.Array, phi: jax.Array, x: jax.Array, beta: ArrayLike, setting: Setting, noise: Noise
) -> jax.Array:
    """Return f(φᵀx)."""
    value: jax.Array = setting.link(contract(x, phi))
    return value


def log_reneging(
    theta: jax.Array, phi: jax.Array, x: jax.Array, beta: ArrayLike, setting: Setting, noise: Noise
) -> jax.Array:
    """Return the logarithm of the probability that an outcome falls below β."""
    return log_reneging_probability(contract(x, theta), setting.variance(contract(x, phi)), beta, noise)


def interval(
    search: Search, quantity: Callable[..., jax.Array], x: np.ndarray, beta: float, noise: Noise
) -> Interval:
    """Return the least and the largest value of a quantity at context x over the set."""
    pair = _compiled(quantity)

    def signed(side: float) -> Function:
        def function(v: np.ndarray) -> tuple[float, np.ndarray]:
            with double_precision():
                value, gradient = pair(jnp.asarray(v), jnp.asarray(x), beta, search.setting, noise)
            return side * float(value), side * np.asarray(gradient)

        return function

    return Interval(-search.extreme(signed(-1.0))[0], search.extreme(signed(1.0))[0])


def bounding_ellipsoid(search: Search, margin: float) -> tuple[Ellipsoid, float]:
    """Return an ellipsoid around the set, and its radius over √(2(ℓ_max − τ))."""
    centre, shape = search.maximum.v, search.information()

    def squared(v: np.ndarray) -> tuple[float, np.ndarray]:
        away = v - centre
        return float(away @ shape @ away), 2.0 * shape @ away

    quadratic = math.sqrt(2.0 * max(search.excess, 0.0))
    radius = margin * max(math.sqrt(search.extreme(squared, list(_directions(len(centre))))[0]), quadratic)
    return Ellipsoid(centre, shape, radius), radius / max(quadratic, 1e-300)


def phi_radius(search: Search, stays: Stays, ridge: float) -> float:
    """Return the largest ‖φ − φ̂‖ in the norm of V over the set, with the GLSE's φ̂."""
    d = search.setting.dimension
    with double_precision():
        estimates, gram = _glse(stays, ridge, search.setting.link)
    centre, shape = np.asarray(estimates.phi), np.asarray(gram) + ridge * np.eye(d)

    def squared(v: np.ndarray) -> tuple[float, np.ndarray]:
        away = v[d:] - centre
        return float(away @ shape @ away), np.concatenate([np.zeros(d), 2.0 * shape @ away])

    starts = _directions(2 * d)
    starts[:, :d] = 0.0
    return math.sqrt(search.extreme(squared, [start for start in starts if np.any(start)])[0])


def _directions(size: int) -> np.ndarray:
    """Return unit vectors: along the axes both ways, and some others."""
    others = unit_vectors(np.random.default_rng(0), (_EXTRA, size))
    return np.concatenate([np.eye(size), -np.eye(size), others])


_PAIRS: dict[Callable[..., jax.Array], Callable[..., tuple[jax.Array, jax.Array]]] = {}


def _compiled(quantity: Callable[..., jax.Array]) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return value and gradient of a quantity as a function of v, compiled once."""
    if quantity not in _PAIRS:

        def of_pair(v: jax.Array, x: jax.Array, beta: ArrayLike, setting: Setting, noise: Noise) -> jax.Array:
            d = setting.dimension
            return quantity(v[:d], v[d:], x, beta, setting, noise)

        _PAIRS[quantity] = jax.jit(jax.value_and_grad(of_pair))
    return _PAIRS[quantity]


@jax.jit
def _glse(stays: Stays, ridge: Number, link: AffineLink) -> tuple[glse.Estimates, jax.Array]:
    def step(sums: glse.Statistics, row: Stays) -> tuple[glse.Statistics, None]:
        return glse.add(sums, *row), None

    first = jax.tree.map(jnp.asarray, glse.empty(stays.x.shape[1]))
    sums, _ = jax.lax.scan(step, first, jax.tree.map(jnp.asarray, stays))
    return glse.solve(sums, ridge, link), sums.gram
