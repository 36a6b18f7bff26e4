"""Uniformly random actions: the regret without learning."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob.policies.base import Policy, Seen, register
from hrprob.policies.offers import Offer, nth_offered

__all__ = ["Random"]


@register("random")
class Random(Policy[tuple[()]]):
    """Select one uniformly random action per user.

    Examples
    --------
    What there is to lose, beside any other policy:

    >>> import hrprob
    >>> result = hrprob.simulate(hrprob.Problem(), [Random(), hrprob.Greedy()], users=200, trials=2)  # slow
    >>> lost = result.regret.isel(user=-1).mean("trial")
    >>> bool(lost.sel(policy="random") > lost.sel(policy="greedy"))
    True
    """

    def init(self) -> tuple[()]:
        """Return an empty state."""
        return ()

    def select(self, state: tuple[()], key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return a uniformly random action."""
        return jax.random.randint(key, (), 0, contexts.shape[0])

    def select_among(self, state: tuple[()], key: jax.Array, offer: Offer) -> jax.Array:
        """Return a uniformly random one of the offered actions."""
        return nth_offered(offer.offered, jax.random.randint(key, (), 0, jnp.sum(offer.offered)))

    def probability(
        self, state: tuple[()], key: jax.Array, offer: Offer, action: jax.Array, draws: int
    ) -> jax.Array:
        """Return one by the number of offered actions."""
        return 1.0 / jnp.sum(offer.offered)

    def update(self, state: tuple[()], seen: Seen) -> tuple[()]:
        """Return the state unchanged."""
        return state
