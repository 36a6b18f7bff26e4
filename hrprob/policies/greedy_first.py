r"""Greedy-first: greedy while what it plays stays diverse, optimism from then on [1]_.

Greedy learns all there is to learn as long as the contexts that it serves span the space:

.. math:: \lambda_{\min}\Bigl(\sum_{s \le t} x_s x_s^\top\Bigr) \ge \tfrac14 \lambda_0 t .

Whenever the users have grown by 5 % this is checked, one context a user, and if it fails, greedy has
come to an end: from then on the policy is HR-UCB on the weighted estimator
(:mod:`hrprob.policies.weighted`).

The paper takes λ₀ as known, or from a first stretch of users. Here it is half the least
eigenvalue of the contexts *offered* so far, all actions of a user alike: what a choice without
preference would bring. No check is made before 8d users.

References
----------
.. [1] H. Bastani, M. Bayati, K. Khosravi, "Mostly exploration-free algorithms for contextual
   bandits", Management Science 67(3), 2021, Algorithm 2.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp

from hrprob._core.records import with_fields
from hrprob.numerics.control_flow import once
from hrprob.numerics.factors import eigh
from hrprob.policies.base import Seen, register
from hrprob.policies.bayes import refit_times
from hrprob.policies.learners import WeightedState
from hrprob.policies.radius import Radii
from hrprob.policies.weighted import HRUCBWeighted
from hrprob.problem import Problem

__all__ = ["GreedyFirst"]

_SHARE = 0.25 * 0.5
_FIRST_CHECK = 8
_GROWTH = 1.05


class GreedyFirstState(NamedTuple):
    """What was learned, what was served and offered, and whether greedy has come to an end."""

    learned: WeightedState
    served: jax.Array  # (d, d) Σ xxᵀ, one context a stay, or a round of an eager policy
    offered: jax.Array  # (d, d) the same, as a mean over the actions of each user
    exploring: jax.Array  # () 0 or 1

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size


@register("greedy-first")
class GreedyFirst(HRUCBWeighted):
    """Serve greedily while the contexts served stay diverse, and optimistically from then on.

    Parameters
    ----------
    delta, radius, xi
        The width of the optimism; see :mod:`hrprob.policies.weighted`.
    variance_floor, growth, eager, warmup
        As for every policy on the weighted estimator.
    """

    due: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with the times of its checks."""
        bound = super().bind(problem, users)
        due = refit_times(self.warmup + users, _GROWTH)
        due[: _FIRST_CHECK * problem.dimension] = False
        return with_fields(bound, due=due)

    def init(self) -> GreedyFirstState:
        """Return the state before the first user."""
        nothing = jnp.zeros((self.known.dimension, self.known.dimension))
        return GreedyFirstState(super().init(), nothing, nothing, jnp.zeros(()))

    def radii(self, state: Any) -> Radii:
        """Return no width while greedy, and that of the optimism after that."""
        wide = super().radii(state.learned)
        return Radii(state.exploring * wide.theta, state.exploring * wide.phi)

    def select(self, state: Any, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the largest value within the width."""
        return jnp.argmax(self.optimistic(state.learned, contexts, beta, self.radii(state)))

    def update(self, state: Any, seen: Seen) -> GreedyFirstState:
        """Learn from what was seen, and note how diverse it was."""
        x, contexts = seen.context, seen.contexts
        offered = jnp.mean(contexts[:, :, None] * contexts[:, None, :], axis=0)
        return GreedyFirstState(
            super().update(state.learned, seen),
            state.served + x[:, None] * x,
            state.offered + offered,
            state.exploring,
        )

    def depart(self, state: GreedyFirstState, user: jax.Array) -> GreedyFirstState:
        """Check the diversity where it is time."""

        def check(exploring: jax.Array) -> jax.Array:
            least = eigh(jnp.stack([state.served, state.offered]))[0][:, 0]
            return jnp.where(least[0] < _SHARE * least[1], 1.0, exploring)

        now = jnp.asarray(self.due)[jnp.asarray(user, jnp.int32)]
        return state._replace(exploring=once(now, check, state.exploring))
