"""Uniformly random actions: the regret without learning."""

from __future__ import annotations

import jax

from hrprob.policies.base import Policy, Seen, register

__all__ = ["Random"]


@register("random")
class Random(Policy):
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

    def update(self, state: tuple[()], seen: Seen) -> tuple[()]:
        """Return the state unchanged."""
        return state
