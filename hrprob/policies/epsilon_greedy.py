r"""ε-greedy: greedy, except for uniformly random actions with a decreasing probability.

User t is served a uniformly random action with probability

.. math:: \varepsilon_t = \min(1, \varepsilon\, t^{-\kappa}),

and the action of largest estimated value otherwise. κ = 0 explores at a constant rate; κ = ½ explores
with about 2ε√T of T users.

References
----------
.. [1] P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit
   problem", Machine Learning 47, 2002.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen
from hrprob._core.types import Integer
from hrprob.policies.base import register
from hrprob.policies.greedy import CountedState, CountingGreedy
from hrprob.policies.offers import Offer, nth_offered

__all__ = ["EpsilonGreedy"]


@register("epsilon-greedy")
class EpsilonGreedy(CountingGreedy):
    """Select the action of largest estimated value, or a random one with decreasing probability.

    Parameters
    ----------
    epsilon : float, default 1
        ε, the probability of a random action for the first user; above 1, several first users are
        certain to be served a random action.
    decay : float, default 0.5
        κ in [0, 1], the exponent at which the probability decreases.

    Examples
    --------
    >>> policy = EpsilonGreedy(epsilon=0.5, decay=1.0)
    >>> policy.epsilon, policy.decay
    (0.5, 1.0)
    """

    epsilon: float = 1.0
    decay: float = 0.5

    def check(self) -> None:
        """Check ε and κ."""
        set_frozen(
            self,
            epsilon=check_number("epsilon", self.epsilon, low=0, remedy="0 is greedy"),
            decay=check_number("decay", self.decay, low=0, high=1, remedy="0 explores at a constant rate"),
        )

    def select(self, state: CountedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the greedy action, or a random one."""
        probability, actions = self._exploring(state), contexts.shape[0]
        number = jax.random.uniform(key)
        greedy = self.greedy(state, key, contexts, beta)
        return jnp.where(number < probability, _numbered(number, probability, actions), greedy)

    def select_among(self, state: CountedState, key: jax.Array, offer: Offer) -> jax.Array:
        """Return the greedy one of the offered actions, or a random one of them."""
        probability, number = self._exploring(state), jax.random.uniform(key)
        random = nth_offered(offer.offered, _numbered(number, probability, jnp.sum(offer.offered)))
        greedy = offer.served_as[self.greedy(state, key, offer.contexts, offer.beta)]
        return jnp.where(number < probability, random, greedy)

    def probability(
        self, state: CountedState, key: jax.Array, offer: Offer, action: jax.Array, draws: int
    ) -> jax.Array:
        """Return the action's share of ε_t, and 1 − ε_t where it is the greedy one."""
        random = self._exploring(state)
        greedy = offer.served_as[self.greedy(state, key, offer.contexts, offer.beta)]
        return random / jnp.sum(offer.offered) + jnp.where(action == greedy, 1.0 - random, 0.0)

    def _exploring(self, state: CountedState) -> jax.Array:
        """Return ε_t, the probability of a random action."""
        return jnp.minimum(self.epsilon * (state.users + 1.0) ** -self.decay, 1.0)


def _numbered(number: jax.Array, probability: jax.Array, actions: Integer) -> jax.Array:
    """Return a random action's number from a uniform one: given that this is below the probability, it is uniform there."""
    random = jnp.floor(actions * number / jnp.maximum(probability, 1e-300)).astype(jnp.int32)
    return jnp.minimum(random, actions - 1)
