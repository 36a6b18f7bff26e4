r"""What decides how long a stay is, what it is worth and what it costs.

An action of mean u and variance w earns g per round and has the value v = g·E[rounds]
(:mod:`hrprob.problem.objectives`). The formulas for the cost of a stay and of a single round stand in
:mod:`hrprob.lifetime`; :class:`StayRules` supplies the noise, the levels and the objective of a problem.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob import lifetime
from hrprob._core.precision import float64
from hrprob._core.records import record
from hrprob._core.types import Number, Numbers
from hrprob.noise import Noise
from hrprob.problem.levels import Satisfaction
from hrprob.problem.objectives import Objective, total
from hrprob.problem.objectives.base import counts_rounds

__all__ = ["StayRules"]


@record()
class StayRules:
    """Noise, levels and objective: all that matters for a stay once mean and variance of each action are known.

    Problems that differ only in their truth or their contexts have equal rules, and share the compiled programs of
    the engine.
    """

    noise: Noise
    satisfaction: Satisfaction
    objective: Objective

    def value(self, u: Numbers, w: Numbers, beta: Numbers) -> jax.Array:
        """Return the value v of one action for a whole stay: with the lifetime objective, h_β(u, w)."""
        rounds = self.satisfaction.rounds(u, w, beta, self.noise)
        return total(self.objective.earning(u, w, self.noise), rounds)

    def rank(self, u: Numbers, w: Numbers, beta: Numbers) -> jax.Array:
        """Return a number that orders the actions of a user as their values do: the value, or what is cheaper.

        An expected lifetime h = 1/Ψ(z) at a level that is seen falls in z = (β − u)/√w alone, so −z will do.

        Examples
        --------
        >>> import hrprob
        >>> rules = hrprob.Problem().rules
        >>> float(rules.rank(0.5, 4.0, -1.0)), bool(rules.value_of(0.75) == rules.value(0.5, 4.0, -1.0))
        (0.75, True)
        """
        return -lifetime.standardise(u, w, beta) if self._ranks_by_gap else self.value(u, w, beta)

    def value_of(self, rank: jax.Array) -> jax.Array:
        """Return the value of an action of this :meth:`rank`."""
        return self.noise.reciprocal_cdf(-rank) if self._ranks_by_gap else rank

    @property
    def _ranks_by_gap(self) -> bool:
        return counts_rounds(self.objective) and self.satisfaction.seen

    @float64
    def round_cost(self, best: Number, value: Number, u: Numbers, w: Numbers, beta: Numbers) -> jax.Array:
        """Return the cost of one round of an action, where actions may change from round to round.

        It is :func:`hrprob.lifetime.round_cost` with the user's own probability of reneging p. Where the level is
        hidden and kept, v is a mean over levels and not the value for this user, so only the form v*·p − g is
        correct (in expectation). A policy may then learn about the level within a stay and do better than the best
        single action, so that a cost can be negative.

        Parameters
        ----------
        best, value : array_like
            v* and v, the values of the best action and of this one.
        u, w, beta : array_like
            Mean and variance of the outcome, and the user's true level.
        """
        probability = jnp.asarray(self.satisfaction.reneging_probability(u, w, beta, self.noise))
        earning = self.objective.earning(u, w, self.noise)
        if self.satisfaction.value_is_mean:
            return best * probability - earning
        return lifetime.round_cost(best, value, probability, earning)

    def rest_cost(self, best: Number, value: Number, u: Numbers, w: Numbers, beta: Numbers) -> jax.Array:
        """Return the expected cost of the rest of a stay in which the action is kept; see :meth:`round_cost`."""
        if self.satisfaction.value_is_mean:
            earned = total(self.objective.earning(u, w, self.noise), lifetime.h(u, w, beta, self.noise))
            return best - earned
        return lifetime.pseudo_regret(best, value)
