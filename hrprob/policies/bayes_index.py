"""Bayesian index policies: serve the action with the largest summary of its value's posterior.

====================  =====================================================
``bayes-greedy``      the posterior mean of the value
``bayes-ucb``         a posterior quantile of the value [1]_
====================  =====================================================

References
----------
.. [1] E. Kaufmann, O. Cappé, A. Garivier, "On Bayesian upper confidence bounds for bandit
   problems", AISTATS 2012.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_count, check_number
from hrprob._core.records import record, set_frozen
from hrprob.numerics.choice import first_largest
from hrprob.policies.base import clip_values, register
from hrprob.policies.bayes import BayesLearner, BayesState

__all__ = ["BayesGreedy", "BayesUCB"]


@record(static=("eager", "capacity", "warm_rows", "draws"))
class _ByDraws(BayesLearner):
    """A policy that computes the values of all actions under some posterior draws."""

    draws: int = 64

    def check(self) -> None:
        """Check the number of draws."""
        set_frozen(self, draws=check_count("draws", self.draws, remedy="they represent the posterior"))

    def values_per_user(self) -> int:
        """Return how many values of actions one choice computes: one per draw and action."""
        return int(self.draws) * self.known.actions

    def values_of_draws(
        self, state: BayesState, key: jax.Array, contexts: jax.Array, beta: jax.Array
    ) -> jax.Array:
        """Return the value of each action under each draw (draws, actions)."""

        def one(key: jax.Array) -> jax.Array:
            return self.values(self.engine.draw(self.target, state.belief, key), contexts, beta)

        return jax.vmap(one)(jax.random.split(key, self.draws))


@register("bayes-greedy", static=("capacity", "warm_rows", "draws"))
class BayesGreedy(_ByDraws):
    """Serve the action of largest posterior mean value.

    The mean is over ``draws`` draws, each value clipped to a million: h itself has no mean
    where variances near 0 have positive posterior probability.

    Parameters
    ----------
    draws : int
        Draws from the posterior per user.

    Examples
    --------
    >>> policy = BayesGreedy(draws=128, engine="smc")
    >>> policy.draws, policy.engine.kind
    (128, 'smc')
    """

    def select(self, state: BayesState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the mean."""
        return first_largest(jnp.mean(clip_values(self.values_of_draws(state, key, contexts, beta)), axis=0))


@register("bayes-ucb", static=("capacity", "warm_rows", "draws"))
class BayesUCB(_ByDraws):
    """Serve the action with the largest upper quantile of its value.

    Parameters
    ----------
    level : float
        The probability of the quantile, in (0, 1).
    draws : int
        Draws from the posterior per user.

    Examples
    --------
    >>> BayesUCB(level=0.95).level
    0.95
    """

    level: float = 0.9

    def check(self) -> None:
        """Check the level."""
        super().check()
        level = check_number(
            "level", self.level, low=0, high=1, open_low=True, open_high=True, remedy="it is a probability"
        )
        set_frozen(self, level=level)

    def select(self, state: BayesState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the quantile."""
        values = jnp.sort(self.values_of_draws(state, key, contexts, beta), axis=0)
        place = jnp.clip(jnp.ceil(self.level * self.draws) - 1, 0, self.draws - 1).astype(jnp.int32)
        return first_largest(values[place])
