r"""What an action is worth: the expected lifetime of a user, the best action, and the cost of a worse one.

A user with satisfaction level β stays until an outcome r = u + √w·e falls below β.
Under one fixed action the lifetime is geometric, the reneging round included, with
mean one over the probability of reneging.

=================  ==============================  ====================================================
symbol             name                            where
=================  ==============================  ====================================================
u = θᵀx            ``u``                           mean outcome
w = f(φᵀx)         ``w``                           **variance** of the outcome
Φ((β − u)/√w)      ``reneging_probability``        Section 3, the risk of reneging
h_β(u, w)          ``h``                           Section 4.2, one over the reneging probability
max_a h            ``oracle``                      Section 4.2, the oracle policy
E_β[h_β(u, w)]     ``mean_h``                      Remark 6, β known in distribution
E_β[Φ(·)]          ``mean_reneging_probability``   the same, with a new β every round
Regret_T           ``pseudo_regret``               Section 3, its term for one user
(p − p*)/p*        ``round_cost``                  the same regret, divided among the rounds of a stay
=================  ==============================  ====================================================

The paper also writes h_β(u, v) with v = φᵀx; here the second argument is always the
variance. Two limits hold exactly: β = +∞ gives h = 1 (every user leaves after
one round), and w = 0 gives h = 1 where u < β and h = ∞ elsewhere.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import float64, is_traced
from hrprob._core.types import Array
from hrprob.noise import NORMAL, Noise
from hrprob.noise.base import compiled
from hrprob.numerics.choice import first_largest

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
    "standardise",
    "staying_probability",
    "sum_over_levels",
]


# A sum over levels is written out in chunks of this many.
_AT_ONCE = 8


class Gradient(NamedTuple):
    """The partial derivatives of h."""

    u: jax.Array
    w: jax.Array


class Best(NamedTuple):
    """The best action of each user, and its value."""

    action: jax.Array  # (...), int
    value: jax.Array  # (...)


class Nodes(NamedTuple):
    """A distribution of β as a weighted sum over levels; the weights add up to 1.

    Far down, where a weight underflows while h overflows, the logarithms of the weights are given instead.
    """

    levels: Array  # (k,)
    weights: Array  # (k,)
    far_levels: Array  # (f,), f may be 0
    far_log_weights: Array  # (f,)


@nearest_keywords
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
    return noise.reciprocal_cdf(standardise(u, w, beta))


@float64
def reneging_probability(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    """Return the probability that an outcome falls below ``beta``.

    Examples
    --------
    >>> float(reneging_probability(1.0, 4.0, beta=1.0))
    0.5
    """
    return noise.cdf(standardise(u, w, beta))


@float64
def staying_probability(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    """Return the probability that an outcome is at least ``beta``, accurate however small it is.

    Examples
    --------
    >>> f"{staying_probability(0.0, 1.0, beta=10.0):.4e}"
    '7.6199e-24'
    """
    return noise.survival(standardise(u, w, beta))


@float64
def log_reneging_probability(u: ArrayLike, w: ArrayLike, beta: ArrayLike, noise: Noise = NORMAL) -> jax.Array:
    """Return the logarithm of :func:`reneging_probability`, accurate where that underflows.

    Examples
    --------
    >>> f"{log_reneging_probability(1.0, 1e-4, beta=-1.0):.4f}"
    '-20006.2173'
    """
    return noise.log_cdf(standardise(u, w, beta))


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
    """Return the probability that a round is the last where β is drawn independently in every round.

    Examples
    --------
    >>> nodes = Nodes(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), np.zeros(0), np.zeros(0))
    >>> float(mean_reneging_probability(0.0, 1.0, nodes))
    0.5
    """

    def near(level: jax.Array, weight: jax.Array) -> jax.Array:
        # Through h, which is faster: the probability itself is compiled to scalar code within a loop over users.
        return weight / h(u, w, level, noise)

    return sum_over_levels(near, u, w, nodes.levels, nodes.weights) + sum_over_levels(
        near, u, w, nodes.far_levels, jnp.exp(nodes.far_log_weights)
    )


def sum_over_levels(
    term: Callable[[jax.Array, jax.Array], jax.Array],
    u: ArrayLike,
    w: ArrayLike,
    levels: Array,
    weights: Array,
) -> jax.Array:
    """Return Σ term(level, weight) over levels with weights, of the shape of ``u`` and ``w``."""

    # In chunks of levels. All at once would need as many copies of u as there are levels, and a reduction over
    # them would not be vectorised; in a loop over single levels, the loop costs as much as its body.
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
def oracle(values: ArrayLike, axis: int = -1) -> Best:
    """Return the best action and its value; ties go to the first action.

    Parameters
    ----------
    values : array_like, shape (..., actions, ...)
        The true value of each action: with the lifetime objective, :func:`h`.
    axis : int
        The axis of the actions.

    Examples
    --------
    A steady action beats one of higher mean when β is low, and loses when β is high.

    >>> lifetimes = h(u=[0.5, 0.4], w=[2.0, 0.5], beta=[[-1.0], [1.0]])
    >>> action, value = oracle(lifetimes)
    >>> action.tolist(), value.round(2).tolist()
    ([1, 0], [41.92, 1.57])
    """
    values = jnp.asarray(values)
    return Best(first_largest(values, axis=axis), jnp.max(values, axis=axis))


@float64
def pseudo_regret(best: ArrayLike, value: ArrayLike) -> jax.Array:
    """Return the cost of a stay in which one action is kept: v* − v, with the lifetime objective h* − h.

    Two infinite values are equally good: their difference is 0.

    Examples
    --------
    >>> pseudo_regret([5.0, float("inf")], [3.5, float("inf")]).tolist()
    [1.5, 0.0]
    """
    best, value = jnp.asarray(best, dtype=float), jnp.asarray(value, dtype=float)
    return jnp.where(best == value, 0.0, best - value)


@float64
def round_cost(
    best: ArrayLike, value: ArrayLike, probability: ArrayLike, earning: ArrayLike = 1.0
) -> jax.Array:
    r"""Return the cost of one round, where actions may change from round to round.

    A round that earns g and ends the stay with probability p costs :math:`v_* p - g`. The probabilities of a
    user's rounds add up to 1 in expectation, so these costs add up to :math:`v_*` minus what was earned, and with
    one action for the whole stay to :math:`v_* - v`.

    Since :math:`v = g/p`, the cost is :math:`(v_* - v)\,p`, which is never negative; with the lifetime objective
    that is :math:`(p - p_*)/p_*`. Two limits need care. If no user leaves an action that earns less than 0, then
    v = −∞, and the first form is used: a round costs −g. If some action earns for ever, then :math:`v_* = \infty`,
    and a round of any other action costs as much as a stay with it.

    Parameters
    ----------
    best, value : array_like
        :math:`v_*` and v, the values of the best action and of the one that is played.
    probability : array_like
        p, the probability that this round is the last.
    earning : array_like
        g, what the round earns in expectation: 1 with the lifetime objective.

    Examples
    --------
    >>> float(round_cost(best=4.0, value=2.0, probability=0.5))
    1.0
    """
    plain = best * jnp.asarray(probability) - earning
    loss = pseudo_regret(best, value)
    # Each form is NaN at some limit; that value is not selected.
    endless = jnp.where(jnp.isinf(best), loss, plain)
    return jnp.where(jnp.isinf(loss), endless, loss * probability)


def standardise(u: ArrayLike, w: ArrayLike, beta: ArrayLike) -> jax.Array:
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
