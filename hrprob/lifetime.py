r"""What an action is worth: the expected lifetime of a user, and what is lost by choosing worse.

A user with satisfaction level β stays until an outcome r = u + √w·e falls below β.
Under one fixed action the lifetime is geometric, the reneging round included, with
mean one over the probability of reneging.

=================  ========================  ===========================================
symbol             name                      where
=================  ========================  ===========================================
u = θᵀx            ``u``                     mean outcome
w = f(φᵀx)         ``w``                     **variance** of the outcome
Φ((β − u)/√w)      ``reneging_probability``       Section 3, the risk of reneging
h_β(u, w)          ``h``                     Section 4.2, inverse of the reneging probability
max_a h            ``oracle``                Section 4.2, the oracle policy
E_β[h_β(u, w)]     ``mean_h``                Remark 6, β known in distribution
E_β[Φ(·)]          ``mean_reneging_probability``  the same, with a new β every round
Regret_T           ``pseudo_regret``         Section 3, its term for one user
(p − p*)/p*        ``round_cost``            the same regret, laid on single rounds
=================  ========================  ===========================================

The paper also writes h_β(u, v) with v = φᵀx; here the second argument is always the
variance. Two limits are meant literally: β = +∞ gives h = 1 (every user leaves after
one round), and w = 0 gives h = 1 where u < β and h = ∞ elsewhere.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import float64, is_traced
from hrprob.noise import NORMAL, Noise
from hrprob.noise.base import compiled

__all__ = [
    "Best",
    "Gradient",
    "Nodes",
    "h",
    "h_gradient",
    "log_reneging_probability",
    "mean_h",
    "mean_reneging_probability",
    "oracle",
    "pseudo_regret",
    "reneging_probability",
    "round_cost",
    "staying_probability",
    "sum_over_levels",
]


# Levels of a sum that are written out at a time.
_AT_ONCE = 8


class Gradient(NamedTuple):
    """The partial derivatives of h."""

    u: jax.Array
    w: jax.Array


class Best(NamedTuple):
    """The best action of each user and the expected lifetime that it gives."""

    action: jax.Array  # (...), int
    lifetime: jax.Array  # (...)


class Nodes(NamedTuple):
    """A distribution of β as a weighted sum over levels; the weights add up to 1.

    Far down, where a weight underflows while h overflows, levels go with the logarithms of
    their weights.
    """

    levels: Any  # (k,)
    weights: Any  # (k,)
    far_levels: Any  # (f,), maybe none
    far_log_weights: Any  # (f,)


@float64
def h(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    r"""Return the expected lifetime :math:`h_\beta(u, w) = 1/\Phi((\beta - u)/\sqrt w)`.

    Parameters
    ----------
    u, w, beta : array_like
        Mean outcome, variance of the outcome and satisfaction level; they broadcast.
    noise : Noise
        The standardised distribution of the noise.

    Returns
    -------
    Array
        At least 1; infinite where the probability of reneging is below 1e-308.

    Examples
    --------
    >>> float(h(0.3, 2.0, beta=0.3))
    2.0
    >>> h(0.5, [2.0, 0.0], beta=-1.0).round(4).tolist()
    [6.9241, inf]
    >>> float(h(0.5, 2.0, beta=float("inf")))
    1.0
    """
    return noise.reciprocal_cdf(_standardise(u, w, beta))


@float64
def reneging_probability(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    """Return the probability that an outcome falls below ``beta``.

    Examples
    --------
    >>> float(reneging_probability(1.0, 4.0, beta=1.0))
    0.5
    """
    return noise.cdf(_standardise(u, w, beta))


@float64
def staying_probability(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    """Return the probability that an outcome is at least ``beta``, with all its digits however small it is.

    Examples
    --------
    >>> f"{staying_probability(0.0, 1.0, beta=10.0):.4e}"
    '7.6199e-24'
    """
    return noise.survival(_standardise(u, w, beta))


@float64
def log_reneging_probability(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    """Return the logarithm of :func:`reneging_probability`, right where that underflows.

    Examples
    --------
    >>> f"{log_reneging_probability(1.0, 1e-4, beta=-1.0):.4f}"
    '-20006.2173'
    """
    return noise.log_cdf(_standardise(u, w, beta))


@float64
@compiled
def mean_h(u: ArrayLike, w: ArrayLike, nodes: Nodes, noise: Noise = NORMAL) -> jax.Array:
    r"""Return :math:`\mathbb{E}_\beta[h_\beta(u, w)]`: the expected lifetime of a user whose level is hidden.

    The level is drawn once and kept, so lifetimes are averaged and not probabilities.

    Examples
    --------
    >>> nodes = Nodes(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), np.zeros(0), np.zeros(0))
    >>> f"{mean_h(0.0, 1.0, nodes):.4f}, {(h(0.0, 1.0, -1.0) + h(0.0, 1.0, 1.0)) / 2:.4f}"
    '3.7458, 3.7458'
    """

    def near(level: jax.Array, weight: jax.Array) -> jax.Array:
        return weight * h(u, w, level, noise)

    def far(level: jax.Array, log_weight: jax.Array) -> jax.Array:
        return jnp.exp(log_weight - log_reneging_probability(u, w, level, noise))

    return sum_over_levels(near, u, w, nodes.levels, nodes.weights) + sum_over_levels(
        far, u, w, nodes.far_levels, nodes.far_log_weights
    )


@float64
@compiled
def mean_reneging_probability(u: ArrayLike, w: ArrayLike, nodes: Nodes, noise: Noise = NORMAL) -> jax.Array:
    """Return the probability that a round is the last where β is drawn anew in every round.

    Examples
    --------
    >>> nodes = Nodes(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), np.zeros(0), np.zeros(0))
    >>> float(mean_reneging_probability(0.0, 1.0, nodes))
    0.5
    """

    def near(level: jax.Array, weight: jax.Array) -> jax.Array:
        # As quick as a lifetime: the probability itself is compiled to scalar code within a loop over users.
        return weight / h(u, w, level, noise)

    return sum_over_levels(near, u, w, nodes.levels, nodes.weights) + sum_over_levels(
        near, u, w, nodes.far_levels, jnp.exp(nodes.far_log_weights)
    )


def sum_over_levels(
    term: Callable[[jax.Array, jax.Array], jax.Array],
    u: ArrayLike,
    w: ArrayLike,
    levels: jax.Array,
    weights: jax.Array,
) -> jax.Array:
    """Return Σ term(level, weight) over levels with weights, of the shape of ``u`` and ``w``."""

    # A few levels after another. All at once would take as many copies of u as there are levels, and a
    # reduction over them would not be vectorised; a loop over single ones costs as much as what is in it.
    def add(total: jax.Array, nodes: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        for level, weight in zip(*nodes, strict=True):
            total = total + term(level, weight)
        return total, None

    shape = jnp.broadcast_shapes(jnp.shape(u), jnp.shape(w))
    total, whole = jnp.zeros(shape), len(levels) - len(levels) % _AT_ONCE
    chunks = tuple(jnp.reshape(part[:whole], (-1, _AT_ONCE)) for part in (levels, weights))
    total, _ = lax.scan(add, total, chunks)
    return add(total, (jnp.asarray(levels[whole:]), jnp.asarray(weights[whole:])))[0]


@float64
def h_gradient(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> Gradient:
    r"""Return :math:`(\partial h/\partial u, \partial h/\partial w)`.

    Where h is infinite so are they: ∞ and −∞.

    Examples
    --------
    >>> du, dw = h_gradient(0.0, 1.0, beta=0.0)
    >>> f"{du:.6f}", abs(float(dw))
    ('1.595769', 0.0)
    """
    _check_variance(w)
    u, w, beta = jnp.broadcast_arrays(*(jnp.asarray(value, dtype=float) for value in (u, w, beta)))
    one, zero = jnp.ones_like(u), jnp.zeros_like(u)

    # h acts elementwise, so one forward derivative along ones is the whole gradient.
    value, along_u = jax.jvp(lambda u, w: h(u, w, beta, noise), (u, w), (one, zero))
    _, along_w = jax.jvp(lambda u, w: h(u, w, beta, noise), (u, w), (zero, one))
    endless = jnp.isinf(value)
    return Gradient(jnp.where(endless, jnp.inf, along_u), jnp.where(endless, -jnp.inf, along_w))


@float64
def oracle(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> Best:
    """Return the action of longest expected lifetime; ties go to the first.

    Parameters
    ----------
    u, w : array_like, shape (..., actions)
        Mean and variance of each action's outcome.
    beta : array_like, shape (...)
        Satisfaction level of each user.
    noise : Noise
        The standardised distribution of the noise.

    Examples
    --------
    A steady action beats one of higher mean when β is low, and loses when β is high.

    >>> action, lifetime = oracle(u=[0.5, 0.4], w=[2.0, 0.5], beta=[-1.0, 1.0])
    >>> action.tolist(), lifetime.round(2).tolist()
    ([1, 0], [41.92, 1.57])
    """
    lifetimes = h(u, w, jnp.asarray(beta, dtype=float)[..., None], noise)
    return Best(jnp.argmax(lifetimes, axis=-1), jnp.max(lifetimes, axis=-1))


@float64
def pseudo_regret(h_best: ArrayLike, h_chosen: ArrayLike) -> jax.Array:
    """Return what a user costs who was served one action throughout: h* − h.

    Two infinite lifetimes are equally good, so their difference is 0.

    Examples
    --------
    >>> pseudo_regret([5.0, float("inf")], [3.5, float("inf")]).tolist()
    [1.5, 0.0]
    """
    best, chosen = jnp.asarray(h_best, dtype=float), jnp.asarray(h_chosen, dtype=float)
    return jnp.where(best == chosen, 0.0, best - chosen)


@float64
def round_cost(p_chosen: ArrayLike, p_best: ArrayLike) -> jax.Array:
    """Return what one round costs: (p − p*)/p*, p the probability of reneging and p* the least.

    A user's probabilities of reneging, summed over the rounds played, are 1 in expectation,
    so these costs add up to h* less the expected lifetime whatever was played in each
    round; with one action throughout, a lifetime of h rounds costs h* − h.

    Examples
    --------
    >>> float(round_cost(p_chosen=0.5, p_best=0.25))
    1.0
    """
    chosen, best = jnp.asarray(p_chosen, dtype=float), jnp.asarray(p_best, dtype=float)
    return jnp.where(chosen == best, 0.0, (chosen - best) / best)


def _standardise(u: ArrayLike, w: ArrayLike, beta: ArrayLike) -> jax.Array:
    """Return z = (β − u)/√w, and its limits as w → 0 in place of 0/0."""
    _check_variance(w)
    return _quotient(*(jnp.asarray(value, dtype=float) for value in (u, w, beta)))


@functools.partial(jax.jit, inline=True)
def _quotient(u: jax.Array, w: jax.Array, beta: jax.Array) -> jax.Array:
    gap = beta - u
    # An outcome that is exactly β is not below it: at w = 0, no gap means that the user stays.
    limit = jnp.where(gap > 0, jnp.inf, -jnp.inf)
    at_limit = jnp.isinf(gap) | ((w == 0) & ~jnp.isnan(gap))
    # Both operands are made harmless before the division, or its derivative would be NaN.
    inside = jnp.where(at_limit, 0.0, gap) / jnp.sqrt(jnp.where(at_limit, 1.0, w))
    return jnp.where(at_limit, limit, inside)


def _check_variance(w: ArrayLike) -> None:
    if not is_traced(w) and np.any(np.asarray(w) < 0):
        raise InvalidInput(
            "w", "must be at least 0", w, "it is a variance; clip an estimate before it is used"
        )
