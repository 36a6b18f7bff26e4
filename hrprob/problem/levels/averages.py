"""Averages over the distribution of a level: of the lifetime h, and of the probability of reneging."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.lifetime import Nodes
from hrprob.noise import NORMAL, Noise
from hrprob.noise.base import Tailed, normal_peak
from hrprob.problem.levels.normal import NormalLevels
from hrprob.problem.levels.quadrature import double_exponential, normal_nodes
from hrprob.problem.levels.uniform import UniformLevels

__all__ = [
    "lifetime_over_normal",
    "lifetime_over_range",
    "over_pieces",
    "probability_over_normal",
    "probability_over_range",
]

# Beyond so many deviations lies 1e-19 of a normal distribution.
_REACH = 9.0


# A bump of long stays is split at so many of its widths from its centre.
_ABOUT = (-3.0, 0.0, 3.0, 9.0)


# It is none where its logarithm lies by so much below that of the middle.
_NOTHING = 60.0


# So many widths down, a bump of long stays is 1e10 times the rest of the average.
_FAR_BUMP = 7.0


# The nodes then lie evenly over so many widths on either side of it.
_HALF_WIDTHS = 9.0


def _standardised(low: Any, high: Any, u: ArrayLike, w: ArrayLike) -> tuple[jax.Array, ...]:
    """Return the deviation √w, and how far the two ends of the range lie above u; of one shape."""
    w, u = jnp.broadcast_arrays(jnp.asarray(w, dtype=float), jnp.asarray(u, dtype=float))
    # A root has no derivative at 0.
    spread = jnp.where(w > 0.0, jnp.sqrt(jnp.where(w > 0.0, w, 1.0)), 0.0)
    return spread, low - u, high - u


def over_pieces(
    value: Callable[[jax.Array], jax.Array],
    low: ArrayLike,
    high: ArrayLike,
    u: ArrayLike,
    w: ArrayLike,
    noise: Noise,
    cuts: tuple[ArrayLike, ...] = (),
    turns: tuple[ArrayLike, ...] = (),
) -> jax.Array:
    """Return the average over a range of a function that is smooth between the noise's corners, its ``turns`` and ``cuts``."""
    low, high = jnp.asarray(low, dtype=float), jnp.asarray(high, dtype=float)
    spread, _, _ = _standardised(low, high, u, w)
    inner = [u + spread * z for z in (*getattr(noise, "corners", (0.0,)), *turns)]
    marks = [low, high, *(jnp.clip(cut, low, high) for cut in (*inner, *cuts))]
    ends = jnp.sort(jnp.stack([jnp.broadcast_to(mark, spread.shape) for mark in marks]), axis=0)
    width = jnp.where(high > low, high - low, 1.0)
    places, weights = map(jnp.asarray, double_exponential())

    def add(total: jax.Array, piece: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        left, length = piece

        def term(place: jax.Array, weight: jax.Array) -> jax.Array:
            # An empty piece counts for nothing even where the function is infinite.
            return jnp.where(length > 0.0, weight * length / width * value(left + length * place), 0.0)

        return total + lifetime.sum_over_levels(term, u, w, places, weights), None

    total, _ = lax.scan(add, jnp.zeros_like(spread), (ends[:-1], jnp.diff(ends, axis=0)))
    return jnp.where(high > low, total, value(low))


def probability_over_range(of: UniformLevels, u: ArrayLike, w: ArrayLike, noise: Any) -> jax.Array:
    r"""Return the average of Ψ over uniform levels, by its integral.

    .. math:: \int_{-\infty}^z \Psi = z^+ + S(z),

    S being what the noise calls overshoot, which keeps its digits in either tail.
    """
    spread, low, high = _standardised(of.low, of.high, u, w)
    safe = jnp.where(spread > 0.0, spread, 1.0)

    def beyond(gap: jax.Array) -> jax.Array:
        return spread * noise.overshoot(gap / safe)

    width = of.high - of.low
    integral = jnp.maximum(high, 0.0) - jnp.maximum(low, 0.0) + beyond(high) - beyond(low)
    # Of a range so short hardly a digit of the difference is left, and two levels stand for all.
    short = width <= 1e-7 * jnp.maximum(spread, -low)
    two = of.low + width * (0.5 + np.array([-0.5, 0.5]) / math.sqrt(3.0))
    few = lifetime.mean_reneging_probability(
        u, w, Nodes(two, np.full(2, 0.5), np.zeros(0), np.zeros(0)), noise
    )
    return jnp.where(short, few, integral / jnp.where(width > 0.0, width, 1.0))


def lifetime_over_range(of: UniformLevels, u: ArrayLike, w: ArrayLike, noise: Any) -> jax.Array:
    """Return the average of 1/Ψ over uniform levels, of a noise that has its integral."""
    spread, low, high = _standardised(of.low, of.high, u, w)
    safe = jnp.where(spread > 0.0, spread, 1.0)
    # Without a variance whoever has a level below u stays for ever.
    certain = jnp.where(low < 0.0, jnp.inf, 1.0)
    return jnp.where(spread > 0.0, noise.mean_reciprocal_cdf(low / safe, high / safe), certain)


def probability_over_normal(of: NormalLevels, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
    """Return the average of Ψ over normal levels, in pieces where the step of Ψ is among them."""
    u, w = jnp.broadcast_arrays(jnp.asarray(u, dtype=float), jnp.asarray(w, dtype=float))
    low = of.mean - _REACH * of.deviation
    # Up to as far beyond the step, where outcomes are mostly above all levels.
    high = jnp.maximum(of.mean, jnp.minimum(u, of.mean + _REACH * of.deviation)) + _REACH * of.deviation

    def value(level: jax.Array) -> jax.Array:
        density = NORMAL.pdf((level - of.mean) / of.deviation) / of.deviation
        return (high - low) * density * lifetime.reneging_probability(u, w, level, noise)

    pieces = over_pieces(value, low, high, u, w, noise, (of.mean,))
    whole = lifetime.mean_reneging_probability(u, w, of.nodes(), noise)
    return jnp.where(jnp.abs(u - of.mean) < _REACH * of.deviation, pieces, whole)


def lifetime_over_normal(of: NormalLevels, u: ArrayLike, w: ArrayLike, noise: Noise) -> jax.Array:
    """Return E_β[h] over normal levels β = mean + deviation·t.

    Where the bump of long stays (:func:`~hrprob.noise.base.normal_peak`) lies many widths down,
    nothing else counts and the nodes go there.
    """
    u, w = jnp.broadcast_arrays(jnp.asarray(u, dtype=float), jnp.asarray(w, dtype=float))
    # An estimated variance may be so small that there is no mean.
    finite = of.deviation**2 < w * noise.tail**2
    safe = jnp.where(finite, w, 2.0 * (of.deviation / noise.tail) ** 2)
    spread = jnp.sqrt(safe)
    shift, slope = (of.mean - u) / spread, of.deviation / spread
    if isinstance(noise, Tailed) and noise.turns:
        return jnp.where(finite, _normal_by_pieces(of, u, safe, noise, *noise.peak(shift, slope)), jnp.inf)
    bump, wide = normal_peak(noise, shift, slope)
    away = finite & (bump < -_FAR_BUMP * wide)
    places, log_weights = normal_nodes()
    far = int(np.sum(places < -8.0))
    outer, inner = np.arcsinh(places[[0, far - 1]])
    log_step = math.log(2.0 * _HALF_WIDTHS / (far - 1)) - 0.5 * math.log(2.0 * math.pi)

    def near(place: jax.Array, weight: jax.Array) -> jax.Array:
        return weight * lifetime.h(u, w, of.mean + of.deviation * place, noise)

    def below(place: jax.Array, log_weight: jax.Array) -> jax.Array:
        # The places are even in asinh.
        at = (2.0 * jnp.arcsinh(place) - outer - inner) / (inner - outer) * _HALF_WIDTHS
        t = jnp.where(away, bump + wide * at, place)
        log_weight = jnp.where(away, log_step + jnp.log(wide) - 0.5 * t * t, log_weight)
        return jnp.exp(
            log_weight - lifetime.log_reneging_probability(u, w, of.mean + of.deviation * t, noise)
        )

    body = lifetime.sum_over_levels(near, u, w, jnp.asarray(places[far:]), jnp.exp(log_weights[far:]))
    tail = lifetime.sum_over_levels(below, u, w, jnp.asarray(places[:far]), jnp.asarray(log_weights[:far]))
    return jnp.where(finite, jnp.where(away, 0.0, body) + tail, jnp.inf)


def _normal_by_pieces(
    of: NormalLevels, u: jax.Array, w: jax.Array, noise: Any, bump: jax.Array, wide: jax.Array
) -> jax.Array:
    """Return E_β[h] over normal levels where the lower tail has more than one law, between its turns and about its bump."""

    def log_value(level: ArrayLike) -> jax.Array:
        t = (level - of.mean) / of.deviation
        return -0.5 * t * t - lifetime.log_reneging_probability(u, w, level, noise)

    # A bump that is nothing beside the middle of the levels counts for none.
    bump = jnp.minimum(bump, 0.0)
    counts = log_value(of.mean + of.deviation * bump) > log_value(of.mean) - _NOTHING
    bump, wide = jnp.where(counts, bump, 0.0), jnp.where(counts, wide, 1.0)
    # However narrow it is at its top, far below it falls like the density of the levels.
    low = of.mean + of.deviation * (bump - _REACH * jnp.maximum(wide, 1.0))
    high = of.mean + of.deviation * _REACH

    def value(level: jax.Array) -> jax.Array:
        return (high - low) / of.deviation * NORMAL.pdf(0.0) * jnp.exp(log_value(level))

    about = [of.mean + of.deviation * (bump + k * wide) for k in _ABOUT]
    return over_pieces(value, low, high, u, w, noise, (of.mean, *about), noise.turns)
