r"""ε-greedy: greedy, but for a random action now and then.

User t is served a uniformly random action with probability

.. math:: \varepsilon_t = \min(1, \varepsilon\, t^{-\kappa}),

and else the action of largest estimated value. κ = 0 explores for ever; κ = ½ explores √T users of T.

References
----------
.. [1] P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit
   problem", Machine Learning 47, 2002.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob.policies.base import Seen, register
from hrprob.policies.greedy import Greedy
from hrprob.policies.learners import GLSEState

__all__ = ["EpsilonGreedy"]


class EpsilonGreedyState(NamedTuple):
    """The estimates, and how many users they have seen."""

    learned: GLSEState
    users: jax.Array  # () who have left

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size

    @property
    def inverse(self) -> jax.Array:
        """V⁻¹."""
        return self.learned.inverse


@register("epsilon-greedy")
class EpsilonGreedy(Greedy):
    """Serve the action of largest estimated value, or a random one with a probability that falls.

    Parameters
    ----------
    epsilon : float
        ε, the probability at the first user, or above 1 for some users at random to begin with.
    decay : float
        κ, in [0, 1].
    ridge, variance_floor, growth, samples, eager, warmup
        As for every policy on the GLSE.
    """

    epsilon: Any = 1.0
    decay: Any = 0.5

    def check(self) -> None:
        """Check ε and κ."""
        set_frozen(
            self,
            epsilon=check_number("epsilon", self.epsilon, low=0, remedy="0 is greedy"),
            decay=check_number("decay", self.decay, low=0, high=1, remedy="0 explores for ever"),
        )

    def init(self) -> Any:
        """Return the state before the first user."""
        return EpsilonGreedyState(super().init(), jnp.zeros(()))

    def select(self, state: Any, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the greedy action, or a random one."""
        probability = jnp.minimum(self.epsilon * (state.users + 1.0) ** -self.decay, 1.0)
        # One number decides both: given that it is below the probability, it is uniform there.
        number = jax.random.uniform(key)
        actions = contexts.shape[0]
        place = jnp.floor(actions * number / jnp.maximum(probability, 1e-300)).astype(jnp.int32)
        greedy = super().select(state.learned, key, contexts, beta)
        return jnp.where(number < probability, jnp.minimum(place, actions - 1), greedy)

    def update(self, state: Any, seen: Seen) -> Any:
        """Learn from what was seen."""
        return EpsilonGreedyState(super().update(state.learned, seen), state.users)

    def depart(self, state: EpsilonGreedyState, user: jax.Array) -> EpsilonGreedyState:
        """Count the user."""
        return state._replace(users=state.users + 1.0)
