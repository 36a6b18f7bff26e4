"""Explore, then commit: uniformly random actions for N users, then the estimates without further learning.

Nothing is learned after the N-th user [1]_. By default N is T^(2/3) rounded up, at which the regret of
exploring and the regret of committing too early are of the same order when gaps are unknown.

References
----------
.. [1] T. Lattimore, C. Szepesvári, "Bandit Algorithms", Cambridge University Press 2020,
   chapter 6.
"""

from __future__ import annotations

import math
from typing import Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_count
from hrprob._core.records import set_frozen, with_fields
from hrprob.policies.base import Seen, register
from hrprob.policies.greedy import CountedState, CountingGreedy
from hrprob.policies.offers import Offer, nth_offered
from hrprob.problem import Problem

__all__ = ["ExploreCommit"]


@register("explore-commit")
class ExploreCommit(CountingGreedy):
    """Select random actions for the first users, then the best action by the estimates from them.

    Parameters
    ----------
    explore : int, optional
        N, the number of users served at random; by default T^(2/3) rounded up.

    Examples
    --------
    >>> ExploreCommit(explore=200).explore
    200.0
    """

    explore: float | None = None

    def check(self) -> None:
        """Check N."""
        if self.explore is not None:
            remedy = "it is a number of users"
            set_frozen(self, explore=float(check_count("explore", self.explore, low=0, remedy=remedy)))

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with N for this number of users."""
        explore = float(math.ceil(users ** (2.0 / 3.0))) if self.explore is None else self.explore
        return with_fields(super().bind(problem, users), explore=explore)

    def _exploring(self, state: CountedState) -> jax.Array:
        assert self.explore is not None  # set by `bind`
        return state.users < self.explore + self.warmup

    def select(self, state: CountedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return a random action, or after N users the greedy one."""
        random = jax.random.randint(key, (), 0, contexts.shape[0])
        return jnp.where(self._exploring(state), random, self.greedy(state, key, contexts, beta))

    def select_among(self, state: CountedState, key: jax.Array, offer: Offer) -> jax.Array:
        """Return a random one of the offered actions, or after N users the greedy one."""
        random = nth_offered(offer.offered, jax.random.randint(key, (), 0, jnp.sum(offer.offered)))
        greedy = offer.served_as[self.greedy(state, key, offer.contexts, offer.beta)]
        return jnp.where(self._exploring(state), random, greedy)

    def probability(
        self, state: CountedState, key: jax.Array, offer: Offer, action: jax.Array, draws: int
    ) -> jax.Array:
        """Return one by the number of offered actions, and after N users 1."""
        return jnp.where(self._exploring(state), 1.0 / jnp.sum(offer.offered), 1.0)

    def update(self, state: CountedState, seen: Seen) -> CountedState:
        """Update the estimates, until the N-th user has left."""
        updated = super().update(state, seen)
        return jax.tree.map(lambda new, old: jnp.where(self._exploring(state), new, old), updated, state)
