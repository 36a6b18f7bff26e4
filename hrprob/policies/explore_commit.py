"""Explore, then commit: uniformly random actions for N users, then the estimates for good.

After the N-th user nothing more is learned [1]_. Unless given, N is T^(2/3) rounded up, at
which the costs of exploring and of committing too early are of one order when gaps are unknown.

References
----------
.. [1] T. Lattimore, C. Szepesvári, "Bandit Algorithms", Cambridge University Press 2020,
   chapter 6.
"""

from __future__ import annotations

import math
from typing import Any, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_count
from hrprob._core.records import set_frozen, with_fields
from hrprob.policies.base import Seen, register
from hrprob.policies.epsilon_greedy import EpsilonGreedyState
from hrprob.policies.greedy import Greedy
from hrprob.problem import Problem

__all__ = ["ExploreCommit"]


@register("explore-commit")
class ExploreCommit(Greedy):
    """Serve random actions to the first users, and the best by what they taught to all others.

    Parameters
    ----------
    explore : int, optional
        N, the users served at random; T^(2/3) rounded up unless given.
    ridge, variance_floor, growth, samples, eager, warmup
        As for every policy on the GLSE.
    """

    explore: Any = None

    def check(self) -> None:
        """Check N."""
        if self.explore is not None:
            remedy = "it is a number of users"
            set_frozen(self, explore=float(check_count("explore", self.explore, low=0, remedy=remedy)))

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with N settled."""
        explore = float(math.ceil(users ** (2.0 / 3.0))) if self.explore is None else self.explore
        return with_fields(super().bind(problem, users), explore=explore)

    def init(self) -> Any:
        """Return the state before the first user."""
        return EpsilonGreedyState(super().init(), jnp.zeros(()))

    def _exploring(self, state: EpsilonGreedyState) -> jax.Array:
        return state.users < self.explore + self.warmup

    def select(self, state: Any, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return a random action, or after N users the greedy one."""
        random = jax.random.randint(key, (), 0, contexts.shape[0])
        return jnp.where(self._exploring(state), random, super().select(state.learned, key, contexts, beta))

    def update(self, state: Any, seen: Seen) -> Any:
        """Learn from what was seen, until the N-th user has left."""
        learned = super().update(state.learned, seen)
        kept = jax.tree.map(
            lambda new, old: jnp.where(self._exploring(state), new, old), learned, state.learned
        )
        return EpsilonGreedyState(kept, state.users)

    def depart(self, state: EpsilonGreedyState, user: jax.Array) -> EpsilonGreedyState:
        """Count the user."""
        return state._replace(users=state.users + 1.0)
