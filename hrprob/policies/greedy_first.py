r"""Greedy-first: greedy while the served contexts are diverse, optimism from then on [1]_.

Greedy learns θ and φ in all directions as long as the served contexts span the space:

.. math:: \lambda_{\min}\Bigl(\sum_{s \le t} x_s x_s^\top\Bigr) \ge \tfrac14 \lambda_0 t .

This is checked whenever the number of users has grown by 5 %, with one context per user. Once it
fails, the policy is HR-UCB on the weighted estimator (:mod:`hrprob.policies.weighted`) from then on.

The paper assumes that λ₀ is known, or estimates it from the first users. Here it is half the least
eigenvalue for the contexts *offered* so far, averaged over the actions of each user: that of a uniformly
random choice. No check is made before 8d users.

References
----------
.. [1] H. Bastani, M. Bayati, K. Khosravi, "Mostly exploration-free algorithms for contextual
   bandits", Management Science 67(3), 2021, Algorithm 2.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.records import set_later, with_fields
from hrprob.numerics.choice import first_largest
from hrprob.numerics.control_flow import once
from hrprob.numerics.factors import eigh
from hrprob.policies.base import Seen, register
from hrprob.policies.learners import WeightedState
from hrprob.policies.offers import Prediction
from hrprob.policies.radii.base import Radii
from hrprob.policies.schedule import refit_times
from hrprob.policies.weighted import HRUCBWeighted
from hrprob.problem import Problem

__all__ = ["GreedyFirst"]

_SHARE = 0.25 * 0.5
_FIRST_CHECK = 8
_GROWTH = 1.05


class GreedyFirstState(NamedTuple):
    """The state of the estimator, the contexts served and offered, and whether the policy explores."""

    learned: WeightedState
    served: jax.Array  # (d, d) Σ xxᵀ, one context per stay, or per round of an eager policy
    offered: jax.Array  # (d, d) Σ of the mean of xxᵀ over the actions offered
    exploring: jax.Array  # () 0 or 1

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size


@register("greedy-first")
class GreedyFirst(HRUCBWeighted):
    """Select greedily while the served contexts are diverse, and optimistically from then on.

    Examples
    --------
    >>> GreedyFirst(delta=0.05).delta
    0.05
    """

    due: np.ndarray = set_later()

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with the schedule of its checks."""
        bound = super().bind(problem, users)
        due = refit_times(self.warmup + users, _GROWTH)
        due[: _FIRST_CHECK * problem.dimension] = False
        return with_fields(bound, due=due)

    def init(self) -> GreedyFirstState:
        """Return the state before the first user."""
        nothing = jnp.zeros((self.known.dimension, self.known.dimension))
        return GreedyFirstState(super().init(), nothing, nothing, jnp.zeros(()))

    def radii(self, state: GreedyFirstState) -> Radii:
        """Return radii of 0 while greedy, and those of the confidence sets after that."""
        radii = super().radii(state.learned)
        return Radii(state.exploring * radii.theta, state.exploring * radii.phi)

    def select(
        self, state: GreedyFirstState, key: jax.Array, contexts: jax.Array, beta: jax.Array
    ) -> jax.Array:
        """Return the action of largest value within the radii."""
        return first_largest(self.optimistic(state.learned, contexts, beta, self.radii(state)))

    def update(self, state: GreedyFirstState, seen: Seen) -> GreedyFirstState:
        """Update the estimates, and the sums of contexts served and offered."""
        x, contexts = seen.context, seen.contexts
        offered = jnp.mean(contexts[:, :, None] * contexts[:, None, :], axis=0)
        return GreedyFirstState(
            super().update(state.learned, seen),
            state.served + x[:, None] * x,
            state.offered + offered,
            state.exploring,
        )

    def predict(
        self, state: GreedyFirstState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the estimates."""
        return super().predict(state.learned, contexts, beta, action)

    def depart(self, state: GreedyFirstState, user: jax.Array) -> GreedyFirstState:
        """Check the diversity at the scheduled users."""

        def check(exploring: jax.Array) -> jax.Array:
            least = eigh(jnp.stack([state.served, state.offered]))[0][:, 0]
            return jnp.where(least[0] < _SHARE * least[1], 1.0, exploring)

        now = jnp.asarray(self.due)[jnp.asarray(user, jnp.int32)]
        return state._replace(exploring=once(now, check, state.exploring))
