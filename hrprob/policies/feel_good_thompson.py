r"""Feel-good Thompson sampling: a posterior that leans towards good news [1]_, and its variance-aware form [2]_.

What is drawn has the density

.. math::
    \pi_t(\theta, \phi) \propto p_0(\theta, \phi) \prod_i p(r_i \mid x_i, \theta, \phi)\;
    \exp\Big(\lambda \sum_{s < t} \min\big(b, \max_a v_s(a; \theta, \phi)\big)\Big),

where :math:`v_s(a)` is the value of action a for user s, the expected lifetime unless the objective is another, and b a cap. Thompson sampling has
λ = 0. Its frequentist regret can be too large by a factor of the dimension's root, because a draw is optimistic about half of the time; the
tilt towards parameters under which the users so far could have been served well removes that factor for rewards in [0, 1] [1]_.

**λ.** With ``variance_aware = false`` it is :math:`c\,\sqrt{d/T}/b`, the order of [1]_ (rewards divided by b lie in [0, 1]).
With ``variance_aware = true`` the cumulative variance takes the place of T, the order of [2]_:
:math:`\lambda_t = c\,\sqrt{d/(1 + \sum_{s<t} \bar w_s/\sigma^2_{\max})}/b`, with :math:`\bar w_s` the variance under the action that was
served, averaged over the draws, where [2]_ is told it, and :math:`\sigma^2_{\max} = f(L)`. The likelihood weights rounds by their variances in both
forms. c is ``strength``; the constants of the theorems are not known to us to be good ones, and nothing is proved for the lifetime.

**How it is drawn.** After every fit the engine gives a pool of ``draws`` values of (θ, φ) from its belief. Each has the log weight
λΣ min(b, max v), plus the log likelihood of the stays since the fit, and a user is served by one of the pool, drawn by weight: importance
resampling, exact as the pool grows and as far as the engine's belief is the posterior. The sum over past users is kept for
every member of the pool; after a fit it is computed anew for the new pool from the action sets of the last ``memory`` users, times the
share of users that they stand for. It is exact up to that many users, and later an estimate from so many of them.

References
----------
.. [1] T. Zhang, "Feel-good Thompson sampling for contextual bandits and reinforcement learning", SIAM Journal on
   Mathematics of Data Science 4(2), 2022, arXiv:2110.00871.
.. [2] X. Li, Q. Gu, "Variance-aware feel-good Thompson sampling for contextual bandits", NeurIPS 2025, arXiv:2511.02123.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.random_numbers import key_of_data
from hrprob._core.records import set_frozen, set_later, with_fields
from hrprob._core.types import PyTree
from hrprob.numerics.choice import first_largest
from hrprob.numerics.control_flow import once
from hrprob.numerics.products import contract
from hrprob.observations import Data
from hrprob.policies import ledger
from hrprob.policies.base import Seen, register
from hrprob.policies.bayes import BayesState
from hrprob.policies.ledger import Ledger
from hrprob.policies.radii.theory_constants import variance_max_of
from hrprob.policies.thompson import Thompson
from hrprob.problem import Problem

__all__ = ["FeelGoodState", "FeelGoodThompson"]

# The first key of every trial; outcomes, which differ between trials, make the next ones differ.
_FIRST_KEY = (0x0FEE1600, 0x0D000001)


class Pool(NamedTuple):
    """Draws of z, and what their weights consist of."""

    z: jax.Array  # (draws, 2d)
    likelihood: jax.Array  # (draws,) Σ ln p of the rows since the draws were made
    good: jax.Array  # (draws,) Σ min(b, max v) over all users


class Remembered(NamedTuple):
    """The action sets of the last users, and what was served to the last of them."""

    contexts: jax.Array  # (memory, actions, d)
    beta: jax.Array  # (memory,)
    served: jax.Array  # (d,)


class FeelGoodState(NamedTuple):
    """The posterior, a pool of its draws, and what the tilt needs."""

    ledger: Ledger[Data]
    belief: PyTree  # of the engine
    past: PyTree  # as of BayesState
    pool: Pool
    remembered: Remembered
    variance: jax.Array  # () Σ w̄ / σ²_max
    key: jax.Array  # (2,) uint32

    @property
    def posterior(self) -> BayesState:
        """The state of Thompson sampling."""
        return BayesState(self.ledger, self.belief, self.past)


@register("feel-good-thompson", static=("capacity", "warm_rows", "draws", "memory", "variance_aware"))
class FeelGoodThompson(Thompson):
    """Serve the best action under a draw from the posterior, tilted towards parameters that promise much.

    Parameters
    ----------
    strength : float, default 1
        c, the factor of λ; 0 is Thompson sampling from a pool of draws.
    most : float, default 10
        b, the cap of the value of a user in the tilt.
    variance_aware : bool, default False
        Whether λ depends on the cumulative variance of what was served, instead of on the number of users.
    draws : int, default 64
        Draws in the pool.
    memory : int, default 256
        Users whose action sets are kept for new pools.

    Examples
    --------
    >>> FeelGoodThompson(variance_aware=True, engine="smc").engine.kind
    'smc'
    """

    strength: float = dataclasses.field(default=1.0, kw_only=True)
    most: float = dataclasses.field(default=10.0, kw_only=True)
    variance_aware: bool = dataclasses.field(default=False, kw_only=True)
    draws: int = dataclasses.field(default=64, kw_only=True)
    memory: int = dataclasses.field(default=256, kw_only=True)
    users: float = set_later()  # T
    variance_max: float = set_later()  # σ²_max

    def check(self) -> None:
        """Check the tilt, and that the engine fits within a run."""
        super().check()
        set_frozen(
            self,
            strength=check_number("strength", self.strength, low=0, remedy="0 is Thompson sampling"),
            most=check_number("most", self.most, low=0, open_low=True, remedy="values are capped at it"),
            draws=check_count("draws", self.draws, low=2, high=10**5, remedy="they stand for the posterior"),
            memory=check_count("memory", self.memory, high=10**6, remedy="it is a number of users"),
        )
        if not isinstance(self.variance_aware, bool):
            remedy = "true lets the variance decide on the tilt"
            raise InvalidInput("variance_aware", "must be true or false", self.variance_aware, remedy)
        if not self.engine.streaming:
            remedy = 'the pool is drawn within the run; take "laplace" or "smc"'
            raise InvalidInput("engine", "must fit within a run", self.engine.kind, remedy)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with T and σ²_max."""
        bound = super().bind(problem, users)
        return with_fields(bound, users=float(users), variance_max=variance_max_of(bound.known, None))

    def values_per_user(self) -> int:
        """Return how many values of actions one user takes: one per draw and action."""
        return int(self.draws) * self.known.actions

    def init(self) -> FeelGoodState:
        """Return the state before the first user: a pool from the prior."""
        posterior = super().init()
        shape, nothing = (self.memory, self.known.actions, self.known.dimension), jnp.zeros(self.draws)
        pool = Pool(self._drawn(posterior.belief, jax.random.key(0)), nothing, nothing)
        remembered = Remembered(jnp.zeros(shape), jnp.zeros(self.memory), jnp.zeros(self.known.dimension))
        key = jnp.asarray(_FIRST_KEY, jnp.uint32)
        return FeelGoodState(*posterior, pool, remembered, jnp.zeros(()), key)

    def select(self, state: FeelGoodState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the best action under one of the pool, drawn by weight."""
        z = state.pool.z[jax.random.categorical(key, self.log_weights(state))]
        return first_largest(self.values(z, contexts, beta))

    def log_weights(self, state: FeelGoodState) -> jax.Array:
        """Return the log weight of every draw of the pool, up to a constant."""
        return state.pool.likelihood + self.tilt(state) * state.pool.good

    def tilt(self, state: FeelGoodState) -> jax.Array:
        """Return λ."""
        size = 1.0 + state.variance if self.variance_aware else self.users
        return self.strength * jnp.sqrt(self.known.dimension / size) / self.most

    def update(self, state: FeelGoodState, seen: Seen) -> FeelGoodState:
        """Record what was seen, and weight the pool by its likelihood."""
        posterior = super().update(state.posterior, seen)
        row = jax.tree.map(lambda leaf: leaf[None], ledger.row_of(self.model.data, seen))
        target = self.target
        likelihood = target.row_at_many(row, *target.coefficients(state.pool.z))
        slot = self._slot(seen.user)
        remembered = Remembered(
            state.remembered.contexts.at[slot].set(seen.contexts),
            state.remembered.beta.at[slot].set(seen.beta),
            seen.context,
        )
        words = key_of_data(state.key, jnp.stack([jnp.asarray(seen.total), jnp.asarray(seen.squares)]))
        return FeelGoodState(
            *posterior,
            state.pool._replace(likelihood=state.pool.likelihood + likelihood),
            remembered,
            state.variance,
            jax.random.key_data(words),
        )

    def depart(self, state: FeelGoodState, user: jax.Array) -> FeelGoodState:
        """Add the user to the tilt, and draw a new pool where the posterior was fitted."""
        posterior = super().depart(state.posterior, user)
        pool, remembered, slot = state.pool, state.remembered, self._slot(user)
        good = self._good(pool.z, remembered.contexts[slot], remembered.beta[slot])
        pool = pool._replace(good=pool.good + good)
        _, phi = self.target.coefficients(pool.z)
        served = self.target.setting.variance(contract(phi, remembered.served))

        def renew(_: Pool) -> Pool:
            z = self._drawn(posterior.belief, jax.random.wrap_key_data(state.key))
            return Pool(z, jnp.zeros(self.draws), self._good_so_far(z, remembered, user))

        due = jnp.asarray(self.due)[jnp.asarray(user, jnp.int32)]
        return FeelGoodState(
            *posterior,
            once(due, renew, pool),
            remembered,
            state.variance + jnp.mean(served) / self.variance_max,
            state.key,
        )

    def _slot(self, user: jax.Array) -> jax.Array:
        """Return the place of a user among those remembered."""
        return (jnp.asarray(user, jnp.int32) - 1) % self.memory

    def _drawn(self, belief: PyTree, key: jax.Array) -> jax.Array:
        """Return draws of z (draws, 2d)."""
        each = jax.vmap(lambda key: self.engine.draw(self.target, belief, key, self.scale))
        return each(jax.random.split(key, self.draws))

    def _good(self, z: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return min(b, max v) of one user under each draw z (draws, 2d)."""
        values = jax.vmap(lambda z: self.values(z, contexts, beta))(z)
        return jnp.minimum(jnp.max(values, axis=-1), self.most)

    def _good_so_far(self, z: jax.Array, remembered: Remembered, user: jax.Array) -> jax.Array:
        """Return Σ min(b, max v) over all users under each draw, from those that are remembered."""
        kept = jnp.minimum(jnp.asarray(user, jnp.int32), self.memory)

        def add(number: jax.Array, total: jax.Array) -> jax.Array:
            return total + self._good(z, remembered.contexts[number], remembered.beta[number])

        total = jax.lax.fori_loop(0, kept, add, jnp.zeros(self.draws))
        return total * user / jnp.maximum(kept, 1)
