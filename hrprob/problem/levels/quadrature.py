r"""Nodes and weights by which functions of a level are averaged.

An integral over an interval uses the double exponential rule: the trapezoidal rule in k, where
:math:`x = 1/(1 + \exp(-\pi \sinh k))`. Its nodes crowd at both ends, where the integrands here are steepest. An
integral over the line with a normal density uses the trapezoidal rule in asinh of the standardised level.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from hrprob import lifetime
from hrprob.noise import Noise

__all__ = ["double_exponential", "evaluations_over_pieces", "mean_and_sd", "mean_over_pieces", "normal_nodes"]


def double_exponential() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes in (0, 1) and their weights, which add up to 1.

    Examples
    --------
    >>> nodes, weights = double_exponential()
    >>> f"{np.sum(weights * nodes**2):.12f}"
    '0.333333333333'
    """
    step = 0.075
    k = step * np.arange(-42, 43)
    far = np.exp(-math.pi * np.sinh(np.abs(k)))
    nodes = np.where(k < 0, far, 1.0) / (1.0 + far)
    weights = step * math.pi * np.cosh(k) * far / (1.0 + far) ** 2
    # Their sum is 1 up to 1e-12 already.
    return nodes, weights / weights.sum()


def normal_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes on the line in ascending order, and the logarithms of their weights under a standard normal density.

    Examples
    --------
    >>> nodes, log_weights = normal_nodes()
    >>> f"{np.sum(np.exp(log_weights) * nodes**2):.12f}"
    '1.000000000000'
    """
    step = 0.1
    k = step * np.arange(-60, 44)
    nodes = np.sinh(k)
    return nodes, np.log(step * np.cosh(k)) - 0.5 * nodes**2 - 0.5 * math.log(2.0 * math.pi)


def mean_and_sd(u: ArrayLike, w: ArrayLike) -> tuple[jax.Array, jax.Array]:
    """Return the mean u and the standard deviation √w of an outcome, in their common shape."""
    w, u = jnp.broadcast_arrays(jnp.asarray(w, dtype=float), jnp.asarray(u, dtype=float))
    # A root has no derivative at 0.
    return u, jnp.where(w > 0.0, jnp.sqrt(jnp.where(w > 0.0, w, 1.0)), 0.0)


def evaluations_over_pieces(noise: Noise, turns: tuple[ArrayLike, ...] = (), levels: int = 0) -> int:
    """Return how often :func:`mean_over_pieces` evaluates its function, with ``levels`` further splits.

    Examples
    --------
    >>> from hrprob.noise import StudentT
    >>> evaluations_over_pieces(StudentT())
    170
    """
    pieces = 1 + len(getattr(noise, "corners", (0.0,))) + len(turns) + levels
    return pieces * len(double_exponential()[0])


def mean_over_pieces(
    value: Callable[[jax.Array], jax.Array],
    low: ArrayLike,
    high: ArrayLike,
    u: ArrayLike,
    w: ArrayLike,
    noise: Noise,
    levels: tuple[ArrayLike, ...] = (),
    turns: tuple[ArrayLike, ...] = (),
) -> jax.Array:
    """Return the mean of ``value`` over [low, high], piece by piece.

    The interval is split where the function is steep or not smooth: at ``levels``, and where the standardised
    level is one of the noise's ``corners`` or one of ``turns``. Each piece uses the double exponential rule.
    """
    low, high = jnp.asarray(low, dtype=float), jnp.asarray(high, dtype=float)
    _, sd = mean_and_sd(u, w)
    inner = [u + sd * z for z in (*getattr(noise, "corners", (0.0,)), *turns)]
    marks = [low, high, *(jnp.clip(cut, low, high) for cut in (*inner, *levels))]
    ends = jnp.sort(jnp.stack([jnp.broadcast_to(mark, sd.shape) for mark in marks]), axis=0)
    width = jnp.where(high > low, high - low, 1.0)
    nodes, weights = map(jnp.asarray, double_exponential())

    def add(total: jax.Array, piece: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        left, length = piece

        def term(node: jax.Array, weight: jax.Array) -> jax.Array:
            # An empty piece adds 0 even where the function is infinite.
            return jnp.where(length > 0.0, weight * length / width * value(left + length * node), 0.0)

        return total + lifetime.sum_over_levels(term, u, w, nodes, weights), None

    total, _ = lax.scan(add, jnp.zeros_like(sd), (ends[:-1], jnp.diff(ends, axis=0)))
    return jnp.where(high > low, total, value(low))
