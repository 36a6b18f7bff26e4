r"""Information-directed sampling on the lifetime, with one information ratio per user [1]_.

Over M draws (θ, φ) from the posterior, the expected regret of an action a is
Δ_a = mean of (max v − v_a), v being the values under a draw, and its information gain I_a. A user is served
the action, or a mixture of two actions, with the smallest information ratio

.. math:: \min_q \frac{(q\Delta_a + (1-q)\Delta_b)^2}{q I_a + (1-q) I_b},

whose best q is :math:`\Delta_b/(\Delta_a - \Delta_b) - 2I_b/(I_a - I_b)`, clipped to [0, 1].
The information gain of a stay of m rounds, m being the expected lifetime, is

================  ==========================================================================
``information``   I_a
================  ==========================================================================
optimal-action    m·V[E(u_a | A*)]/(2w_a) + m·V[E(w_a | A*)]/(4w_a²): about the best action A*;
                  the variance-based form [1]_, each variance divided by that of its noise
parameters        ½ ln(1 + m·V[u_a]/w_a) + ½ ln(1 + m·V[w_a]/(2w_a²)): about θ and φ; the
                  heteroscedastic form [2]_, its second term for squared residuals
================  ==========================================================================

The draws are made when the posterior is fitted and used until it is refitted.

References
----------
.. [1] D. Russo, B. Van Roy, "Learning to optimize via information-directed sampling", Operations
   Research 66(1), 2018.
.. [2] J. Kirschner, A. Krause, "Information directed sampling and bandits with heteroscedastic
   noise", COLT 2018.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_choice, check_count
from hrprob._core.records import set_frozen
from hrprob.estimation.posterior.engines import ENGINES
from hrprob.numerics.control_flow import once
from hrprob.numerics.products import contract
from hrprob.policies.base import Seen, clip_values, register
from hrprob.policies.bayes import BayesLearner, BayesState
from hrprob.policies.offers import Offer, Prediction

__all__ = ["IDS", "best_mixture"]

# The key of the draws is this seed with the user's number folded in.
_SEED = 0x696473


class IDSState(NamedTuple):
    """The data and the belief, and draws from it."""

    believed: BayesState
    theta: jax.Array  # (draws, d)
    phi: jax.Array  # (draws, d)


class _Actions(NamedTuple):
    """Moments and values of all actions under the draws."""

    u: jax.Array  # (draws, actions)
    w: jax.Array  # (draws, actions)
    values: jax.Array  # (draws, actions)
    rounds: jax.Array  # (actions,)


def best_mixture(regret: jax.Array, gain: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return two actions and the probability of the first that minimise the information ratio.

    Examples
    --------
    >>> first, second, probability = best_mixture(jnp.asarray([1.0, 2.0, 9.0]), jnp.asarray([0.1, 1.0, 1.0]))
    >>> int(first), int(second), round(float(probability), 3)
    (0, 1, 0.222)
    """
    by_regret, by_gain = (values[:, None] - values[None, :] for values in (regret, gain))
    flat = (by_regret == 0) | (by_gain == 0)
    slopes = (jnp.where(flat, 1.0, difference) for difference in (by_regret, by_gain))
    inside = regret[None, :] / next(slopes) - 2.0 * gain[None, :] / next(slopes)
    # Where one of the two differences is 0 the ratio is monotone in q, and 0 or 1 is best.
    probability = jnp.clip(jnp.where(flat, 1.0, inside), 0.0, 1.0)
    mixed = (regret[None, :] + probability * by_regret) ** 2 / (gain[None, :] + probability * by_gain)
    # A pair and its reverse differ by rounding only: each pair is considered once.
    place = jnp.argmin(jnp.where(jnp.tri(len(regret), dtype=bool).T, mixed, jnp.inf))
    first, second = place // len(regret), place % len(regret)
    return first, second, probability[first, second]


@register("ids", static=("draws", "information", "mix"))
class IDS(BayesLearner):
    """Serve the actions of smallest information ratio under the posterior.

    Parameters
    ----------
    draws : int
        Draws from the posterior, from which regret and information gain are computed.
    information : {"optimal-action", "parameters"}
        What the information is about.
    mix : bool
        Whether a user may be served one of two actions at random.
    engine : {"laplace", "smc"}, table or engine, default "laplace"
        The approximation of the posterior; a streaming engine.

    Examples
    --------
    >>> policy = IDS(draws=32, mix=False)
    >>> policy.draws, policy.mix
    (32, False)
    """

    draws: int = 64
    information: str = "optimal-action"
    mix: bool = True

    def check(self) -> None:
        """Check the parameters."""
        set_frozen(self, draws=check_count("draws", self.draws, low=2, remedy="a variance needs two"))
        check_choice("information", self.information, ("optimal-action", "parameters"))
        if not isinstance(self.mix, bool):
            raise InvalidInput("mix", "must be true or false", self.mix, "true mixes two actions")
        if not self.engine.streaming:
            remedy = f"draws are made within the run; take {_streaming()}"
            raise InvalidInput("engine", "must be one that fits within a run", self.engine.kind, remedy)

    def init(self) -> IDSState:
        """Return the prior, and draws from it."""
        believed = super().init()
        return IDSState(believed, *self._draw(believed, jnp.zeros((), jnp.int32)))

    def quota(
        self, state: IDSState, sample_size: jax.Array, user: jax.Array, context: jax.Array
    ) -> jax.Array:
        """Return how many more rounds may enter the sample set."""
        return super().quota(state.believed, sample_size, user, context)

    def _draw(self, believed: BayesState, user: jax.Array) -> tuple[jax.Array, jax.Array]:
        # One key per user for all trials: their beliefs differ, and so do the draws.
        key = jax.random.fold_in(jax.random.key(_SEED), user)
        target = self.target

        def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
            return target.coefficients(self.engine.draw(target, believed.belief, key))

        theta, phi = jax.vmap(one)(jax.random.split(key, self.draws))
        return theta, phi

    def update(self, state: IDSState, seen: Seen) -> IDSState:
        """Record what was seen."""
        return state._replace(believed=super().update(state.believed, seen))

    def depart(self, state: IDSState, user: jax.Array) -> IDSState:
        """Refit where it is due, and draw."""
        believed = super().depart(state.believed, user)
        number = jnp.asarray(user, jnp.int32)
        draws = once(
            jnp.asarray(self.due)[number],
            lambda draws: self._draw(believed, number),
            (state.theta, state.phi),
        )
        return IDSState(believed, *draws)

    def select(self, state: IDSState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return an action of smallest ratio."""
        regret, gain = self._regret_and_gain(state, contexts, beta)
        if not self.mix:
            return jnp.argmin(regret**2 / gain)
        first, second, probability = best_mixture(regret, gain)
        return jnp.where(jax.random.uniform(key) < probability, first, second)

    def probability(
        self, state: IDSState, key: jax.Array, offer: Offer, action: jax.Array, draws: int
    ) -> jax.Array:
        """Return the weight of the action in the mixture."""
        if not self.mix:
            return jnp.ones(())
        first, second, weight = best_mixture(*self._regret_and_gain(state, offer.contexts, offer.beta))
        is_first, is_second = (offer.served_as[one] == action for one in (first, second))
        return jnp.where(is_first, weight, 0.0) + jnp.where(is_second, 1.0 - weight, 0.0)

    def predict(self, state: IDSState, contexts: jax.Array, beta: jax.Array, action: jax.Array) -> Prediction:
        """Return what follows from the centre of the posterior."""
        return super().predict(state.believed, contexts, beta, action)

    def _regret_and_gain(
        self, state: IDSState, contexts: jax.Array, beta: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        actions = self._actions(state, contexts, beta)
        regret = jnp.mean(jnp.max(actions.values, axis=1, keepdims=True) - actions.values, axis=0)
        # With nothing left to learn, the action of smallest regret is best.
        return regret, jnp.maximum(self._gain(actions), 1e-12)

    def _actions(self, state: IDSState, contexts: jax.Array, beta: jax.Array) -> _Actions:
        known, setting = self.known, self.target.setting
        u = contract(contexts, state.theta[:, None, :])
        w = setting.variance(contract(contexts, state.phi[:, None, :]))
        values = clip_values(known.value(u, w, beta))
        rounds = known.satisfaction.rounds(jnp.mean(u, axis=0), jnp.mean(w, axis=0), beta, known.noise)
        return _Actions(u, w, values, clip_values(rounds))

    def _gain(self, actions: _Actions) -> jax.Array:
        w = jnp.mean(actions.w, axis=0)
        if self.information == "parameters":
            of_mean = jnp.log1p(actions.rounds * jnp.var(actions.u, axis=0) / w)
            of_variance = jnp.log1p(actions.rounds * jnp.var(actions.w, axis=0) / (2.0 * w**2))
            return 0.5 * (of_mean + of_variance)
        best = jnp.argmax(actions.values, axis=1)
        belongs = jnp.where(best[:, None] == jnp.arange(actions.values.shape[1]), 1.0, 0.0)  # (draws, A*)
        return actions.rounds * (
            _between(belongs, actions.u) / (2.0 * w) + _between(belongs, actions.w) / (4.0 * w**2)
        )


def _streaming() -> str:
    """Return the streaming engines, for a message."""
    return " or ".join(kind for kind, engine in ENGINES.kinds().items() if engine.streaming)


def _between(belongs: jax.Array, numbers: jax.Array) -> jax.Array:
    """Return, for each action, the variance over A* of the mean of ``numbers`` given A*."""
    share = jnp.mean(belongs, axis=0)
    away = numbers - jnp.mean(numbers, axis=0)
    sums = belongs.T @ away / numbers.shape[0]  # (A*, actions), share times mean
    return jnp.sum(sums**2 / jnp.maximum(share, 1e-12)[:, None], axis=0)
