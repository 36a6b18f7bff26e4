"""A third-party policy: a share of users gets a random action, the others the largest estimated mean."""

from typing import Any

import jax
import jax.numpy as jnp

import hrprob
from hrprob.plugins import check_number


@hrprob.register("mean-or-random")
class MeanOrRandom(hrprob.Policy):
    """Serve the largest mean reward so far, or a random action to a share of users."""

    share: Any = 0.1

    def __post_init__(self):
        check_number("share", self.share, low=0, high=1, remedy="it is a probability")

    def init(self):
        d = self.known.dimension
        return jnp.eye(d), jnp.zeros(d)  # Σ xxᵀ + I, Σ rx

    def select(self, state, key, contexts, beta):
        gram, moment = state
        best = jnp.argmax(contexts @ jnp.linalg.solve(gram, moment))
        coin, action = jax.random.split(key)
        drawn = jax.random.randint(action, (), 0, contexts.shape[0])
        return jnp.where(jax.random.uniform(coin) < self.share, drawn, best)

    def update(self, state, seen):
        gram, moment = state
        x = seen.context
        return gram + seen.sampled * jnp.outer(x, x), moment + seen.total * x
