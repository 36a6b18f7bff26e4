r"""Greedy: the action of largest estimated value, index h_β(θ̂ᵀx, f(φ̂ᵀx)).

Where contexts vary from user to user they provide exploration at no cost, and greedy is hard to
beat; where they do not, it can select a suboptimal action permanently [1]_.

References
----------
.. [1] H. Bastani, M. Bayati, K. Khosravi, "Mostly exploration-free algorithms for
   contextual bandits", Management Science 67(3), 2021.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.records import record
from hrprob.numerics.choice import first_largest
from hrprob.policies.base import Seen, register
from hrprob.policies.learners import GLSELearner, GLSEState
from hrprob.policies.offers import Prediction

__all__ = ["CountedState", "CountingGreedy", "Greedy"]


@register("greedy")
class Greedy(GLSELearner):
    """Select the action of largest estimated value (plug-in GLSE, no exploration).

    Examples
    --------
    >>> policy = Greedy(ridge=2.0, warmup=5)
    >>> policy.ridge, policy.warmup
    (2.0, 5)
    """

    def select(self, state: GLSEState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest value at the estimates."""
        return first_largest(self.known.value(*self.plug_in(state, contexts), beta))


class CountedState(NamedTuple):
    """The state of the estimator, and the number of users who have left."""

    learned: GLSEState
    users: jax.Array  # ()

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size

    @property
    def inverse(self) -> jax.Array:
        """V⁻¹."""
        return self.learned.inverse


@record()
class CountingGreedy(Greedy):
    """A greedy policy whose exploration depends on the number of users so far."""

    def init(self) -> CountedState:
        """Return the state before the first user."""
        return CountedState(super().init(), jnp.zeros(()))

    def greedy(self, state: CountedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest value at the estimates."""
        return super().select(state.learned, key, contexts, beta)

    def predict(
        self, state: CountedState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the estimates."""
        return super().predict(state.learned, contexts, beta, action)

    def update(self, state: CountedState, seen: Seen) -> CountedState:
        """Update the estimates."""
        return CountedState(super().update(state.learned, seen), state.users)

    def depart(self, state: CountedState, user: jax.Array) -> CountedState:
        """Count the user."""
        return state._replace(users=state.users + 1.0)
