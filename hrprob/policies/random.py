"""A uniformly random action: what knowing nothing costs."""

from __future__ import annotations

import jax

from hrprob.policies.base import Policy, Seen, register

__all__ = ["Random"]


@register("random")
class Random(Policy):
    """Serve one uniformly random action to each user."""

    def init(self) -> tuple[()]:
        """Return nothing: there is nothing to learn."""
        return ()

    def select(self, state: tuple[()], key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return a uniformly random action."""
        return jax.random.randint(key, (), 0, contexts.shape[0])

    def update(self, state: tuple[()], seen: Seen) -> tuple[()]:
        """Learn nothing."""
        return state
