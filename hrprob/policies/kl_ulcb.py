r"""KL-ULCB, for bandits with abandonment and finitely many arms [1]_.

An arm a is liked with probability μ_a. After n_a pulls with mean μ̂_a, and with k users so far, its
confidence bounds are

.. math::
    U_a = \max\{q : n_a\,\mathrm{kl}(\hat\mu_a, q) \le \ln k + 3 \ln\ln k\}, \qquad
    L_a = \min\{q : \text{the same}\},

where kl is the Kullback–Leibler divergence between Bernoulli distributions. A user who liked the last
item is served the arm of largest U, a user who did not the arm of largest L: optimism where a dislike has
no consequence, pessimism where it has.

**The reduced setting.** The policy distinguishes arms by their numbers and users by what they liked. This
corresponds to hrprob's problem if all users have one action set and one satisfaction level β: an arm is
liked if its outcome is not below β. Here every dislike makes the user leave, so a user who is present has
liked everything, and L is never used: the policy is KL-UCB [2]_, applied every round.

References
----------
.. [1] Z. Yang, X. Liu, L. Ying, "Exploration, exploitation, and engagement in multi-armed
   bandits with abandonment", Journal of Machine Learning Research 25(9), 2024 (arXiv 2022).
.. [2] A. Garivier, O. Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond",
   COLT 2011.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.records import set_frozen
from hrprob.policies.base import Policy, Seen, register
from hrprob.policies.offers import Offer, Prediction
from hrprob.problem import Problem

__all__ = ["KLULCB", "upper_bound"]

_HALVINGS = 40


class KLULCBState(NamedTuple):
    """Pulls and likes of each arm, and the number of users so far."""

    tries: jax.Array  # (actions,)
    likes: jax.Array  # (actions,)
    users: jax.Array  # () number of users who have left


def _divergence(p: jax.Array, q: jax.Array) -> jax.Array:
    """Return kl(p, q) of two Bernoulli distributions, for q in (0, 1)."""
    heads = jnp.where(p > 0, p * jnp.log(jnp.maximum(p, 1e-300) / q), 0.0)
    tails = jnp.where(p < 1, (1.0 - p) * jnp.log(jnp.maximum(1.0 - p, 1e-300) / (1.0 - q)), 0.0)
    return heads + tails


def upper_bound(mean: jax.Array, most: jax.Array) -> jax.Array:
    """Return the largest q with kl(mean, q) at most ``most``, by bisection to 1e-12.

    Examples
    --------
    >>> from hrprob._core.precision import double_precision
    >>> with double_precision():
    ...     q = upper_bound(jnp.asarray([0.0, 0.5]), jnp.log(2.0))
    >>> [f"{entry:.6f}" for entry in q]  # 1 − ½, and (1 + √¾)/2
    ['0.500000', '0.933013']
    """

    def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        inside = _divergence(mean, middle) <= most
        return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

    return jax.lax.fori_loop(0, _HALVINGS, halve, (mean, jnp.ones_like(mean)))[0]


@register("kl-ulcb")
class KLULCB(Policy[KLULCBState]):
    """Select the arm of largest upper confidence bound on the probability that it is liked.

    Parameters
    ----------
    constant : float, default 3
        The factor of ln ln k: 3 in the analysis, 0 often used in practice.
    eager : bool, default True
        Select an arm every round, as published, instead of one arm per user.

    Examples
    --------
    >>> KLULCB(constant=2.0).constant
    2.0
    """

    eager: bool = dataclasses.field(default=True, kw_only=True)
    constant: float = 3.0

    def check(self) -> None:
        """Check the constant."""
        remedy = "3 is that of the analysis, 0 is often used in practice"
        set_frozen(self, constant=check_number("constant", self.constant, low=0, remedy=remedy))

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy for this problem, if it has one set of arms and one level."""
        bound = super().bind(problem, users)
        context_sets = problem.sets
        if context_sets is None or len(context_sets) != 1:
            remedy = "arms are distinguished by their numbers alone; use one context set"
            got = "infinitely many" if context_sets is None else len(context_sets)
            raise InvalidInput("contexts.sets", "must be a single set for kl-ulcb", got, remedy)
        low, high = problem.satisfaction.support
        if low != high or not math.isfinite(low):
            remedy = 'one level for all users: satisfaction = { kind = "fixed", level = ... }'
            raise InvalidInput("satisfaction", "must be fixed for kl-ulcb", problem.satisfaction.kind, remedy)
        return bound

    def init(self) -> KLULCBState:
        """Return the state before the first user."""
        nothing = jnp.zeros(self.known.actions)
        return KLULCBState(nothing, nothing, jnp.zeros(()))

    def select(self, state: KLULCBState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return an arm that was never pulled, or the arm of largest U."""
        return jnp.argmax(self._bounds(state))

    def select_among(self, state: KLULCBState, key: jax.Array, offer: Offer) -> jax.Array:
        """Return the arm of largest U among those offered."""
        return jnp.argmax(jnp.where(offer.offered, self._bounds(state), -1.0))

    def predict(
        self, state: KLULCBState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return the share of pulls of the arm that were disliked; outcomes are not estimated."""
        tries, dislikes = state.tries[action], state.tries[action] - state.likes[action]
        nothing = super().predict(state, contexts, beta, action)
        return nothing._replace(reneging=dislikes / tries, lifetime=tries / dislikes)

    def _bounds(self, state: KLULCBState) -> jax.Array:
        """Return U of each arm; 2 for one that was never pulled."""
        k = state.users + 1.0
        # ln ln k is positive from k = 3 on.
        budget = jnp.log(k) + self.constant * jnp.log(jnp.log(jnp.maximum(k, 3.0)))
        mean = state.likes / jnp.maximum(state.tries, 1.0)
        bound = upper_bound(mean, budget / jnp.maximum(state.tries, 1.0))
        return jnp.where(state.tries > 0, bound, 2.0)

    def update(self, state: KLULCBState, seen: Seen) -> KLULCBState:
        """Count pulls and likes: every round is liked except the last one of a user who leaves."""
        liked = seen.played - jnp.where(seen.left, 1.0, 0.0)
        return KLULCBState(
            state.tries.at[seen.action].add(seen.played),
            state.likes.at[seen.action].add(liked),
            state.users,
        )

    def depart(self, state: KLULCBState, user: jax.Array) -> KLULCBState:
        """Count the user."""
        return state._replace(users=state.users + 1.0)
