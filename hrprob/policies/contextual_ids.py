r"""Contextual information-directed sampling on the lifetime: hrprob's default policy.

Information-directed sampling weighs the expected regret of an action against the information in its
outcomes. One ratio per user [1]_, [2]_ is short-sighted where contexts vary: information gained now serves
later users, and later users will provide much of it for free. The
ratio to minimise is that of averages over contexts and levels [3]_,

.. math:: \Psi(\pi) = \frac{(\mathbb{E}\,\Delta)^2}{\mathbb{E}\,I},

Δ being the expected regret and I the information gained when a user is served by π. At its minimum no
other action for any user lowers it: each user is served

.. math:: \arg\max_a\; \hat v_a + \lambda I_a, \qquad \lambda = \frac{\mathbb{E}\,\Delta}{2\,\mathbb{E}\,I},

v̂ being the estimated value, with h its plug-in. A single number λ, the price of information, connects the
users, and it is estimated: the averages run over the users served so far. Where
contexts explore for free, I is large under greedy choices, λ stays small and nearly all
choices are greedy; where greedy choices no longer give information about what is unknown, I falls, λ
grows without limit, and the users explore for whom it costs least.

=========  ===========================================================================
Δ          mean over posterior draws (θ, φ) of max_a v_a minus the value of the action served
I_a        ½ ln(1 + m s_u²/w) + ½ ln(1 + m s_w²/(2w²)): information of a stay of m rounds about θ
           and φ, in nats; s_u and s_w are the posterior sds of u and w, m the expected rounds
averages   weights (k/n)⁴: mostly over the last fifth of the users, since Δ and I fall as n grows
=========  ===========================================================================

The second term of I is the information in squared residuals, of variance 2w² [2]_. The posterior is the
normal distribution of the weighted estimator; draws of w are log-normal around ŵ, so that no draw is
negative. Draws are quasi-random, an additive recurrence that continues from user to user: the policy is
deterministic, and rare events occur with the right frequency.

No constant is tuned to a problem, and neither T nor σ_max is used.

References
----------
.. [1] D. Russo, B. Van Roy, "Learning to optimize via information-directed sampling", Operations
   Research 66(1), 2018.
.. [2] J. Kirschner, A. Krause, "Information directed sampling and bandits with heteroscedastic
   noise", COLT 2018.
.. [3] B. Hao, T. Lattimore, C. Qin, "Contextual information-directed sampling", ICML 2022.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri

from hrprob._core.errors import check_count
from hrprob._core.records import set_frozen
from hrprob._core.types import Integer
from hrprob.estimation.weighted import Moments
from hrprob.numerics.choice import first_largest
from hrprob.numerics.factors import cholesky
from hrprob.numerics.products import contract
from hrprob.policies.base import Seen, clip_values, register
from hrprob.policies.learners import WeightedLearner, WeightedState
from hrprob.policies.offers import Prediction
from hrprob.problem.links.base import as_affine

__all__ = ["ContextualIDS", "information", "quasi_normal"]

# The average of n numbers has weights (k/n)^4.
_RECENCY = 4.0


class ContextualIDSState(NamedTuple):
    """The estimates, and the running averages that give the price of information."""

    learned: WeightedState
    stays: jax.Array  # () so far; rounds, for an eager policy
    regret: jax.Array  # () average of Δ
    gain: jax.Array  # () average of I

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size


def information(moments: Moments, rounds: jax.Array) -> jax.Array:
    """Return the information of a stay of some rounds about θ and φ, for each action, in nats.

    Examples
    --------
    >>> one = jnp.ones(1)
    >>> f"{information(Moments(one, one, one, 0 * one), one)[0]:.4f}"  # ln(2)/2
    '0.3466'
    """
    of_mean = jnp.log1p(rounds * moments.u_sd**2 / moments.w)
    of_variance = jnp.log1p(rounds * moments.w_sd**2 / (2.0 * moments.w**2))
    return 0.5 * (of_mean + of_variance)


def quasi_normal(first: Integer, points: int, dimension: int) -> jax.Array:
    """Return points (points, dimension) of an infinite quasi-random normal sequence, from index ``first`` on.

    The sequence is (½ + k·α) mod 1 with α the powers of 1/g, g the positive root of
    g^(dimension + 1) = g + 1.
    """
    g = 2.0
    for _ in range(64):
        g = (1.0 + g) ** (1.0 / (dimension + 1.0))
    steps = g ** -np.arange(1.0, dimension + 1.0)
    number = first + jnp.arange(points)
    return ndtri(jnp.clip(jnp.mod(0.5 + number[:, None] * steps, 1.0), 1e-12, 1.0 - 1e-12))


@register("contextual-ids", static=("points",))
class ContextualIDS(WeightedLearner):
    """Serve the action of largest value plus the price of information times its information.

    Parameters
    ----------
    points : int
        Posterior draws per user, from which Δ is computed.

    Examples
    --------
    >>> import hrprob  # slow
    >>> fixed = hrprob.Problem(theta=[0.4, 0.5], phi=[0.0, 0.0], contexts=hrprob.Finite(0.9 * np.eye(2)[None]))
    >>> run = hrprob.simulate(fixed, ContextualIDS(), users=300, trials=4)
    >>> run.sizes["trial"]
    4
    """

    points: int = 8

    def check(self) -> None:
        """Check the number of draws."""
        set_frozen(self, points=check_count("points", self.points, remedy="they represent the posterior"))

    def init(self) -> ContextualIDSState:
        """Return the state before the first user: the price of information is 0."""
        zero = jnp.zeros(())
        return ContextualIDSState(super().init(), zero, zero, zero)

    def select(
        self, state: ContextualIDSState, key: jax.Array, contexts: jax.Array, beta: jax.Array
    ) -> jax.Array:
        """Return argmax of value and priced information."""
        moments = self.moments(state.learned, contexts)
        value = clip_values(self.known.value(moments.u, moments.w, beta))
        return first_largest(value + price(state) * self._gain(moments, beta))

    def update(self, state: ContextualIDSState, seen: Seen) -> ContextualIDSState:
        """Learn from what was seen, and update the averages of expected regret and information."""
        moments = self.moments(state.learned, seen.contexts)
        stays = state.stays + 1.0
        step = (1.0 + _RECENCY) / (stays + _RECENCY)
        gain = self._gain(moments, seen.beta)[seen.action]
        regret = self._expected_regret(state, moments, seen)
        return ContextualIDSState(
            super().update(state.learned, seen),
            stays,
            state.regret + step * (regret - state.regret),
            state.gain + step * (gain - state.gain),
        )

    def predict(
        self, state: ContextualIDSState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the estimates."""
        return super().predict(state.learned, contexts, beta, action)

    def _gain(self, moments: Moments, beta: jax.Array) -> jax.Array:
        known = self.known
        rounds = known.satisfaction.rounds(moments.u, moments.w, beta, known.noise)
        return information(moments, clip_values(rounds))

    def _expected_regret(self, state: ContextualIDSState, moments: Moments, seen: Seen) -> jax.Array:
        theta, phi = state.learned.estimates
        d, contexts = self.known.dimension, seen.contexts
        normal = quasi_normal(state.stays * self.points, self.points, 2 * d)
        by_theta, by_phi = (
            contract(contexts, contract(cholesky(belief.covariance), part[:, None, :])[:, None, :])
            for belief, part in ((theta, normal[:, :d]), (phi, normal[:, d:]))
        )
        u = moments.u + by_theta
        w = moments.w * jnp.exp(as_affine(self.known.link).slope * by_phi / moments.w)
        values = clip_values(self._within_bounds(contexts, u, w, seen.beta))
        return jnp.mean(jnp.max(values, axis=1) - values[:, seen.action])

    def _within_bounds(self, contexts: jax.Array, u: jax.Array, w: jax.Array, beta: jax.Array) -> jax.Array:
        known = self.known
        length = jnp.sqrt(contract(contexts, contexts))
        most_u, most_w = known.bounds.theta * length, known.link(known.bounds.phi * length)
        least_w = jnp.maximum(known.link(-known.bounds.phi * length), self.variance_floor)
        return known.value(jnp.clip(u, -most_u, most_u), jnp.clip(w, least_w, most_w), beta)


def price(state: ContextualIDSState) -> jax.Array:
    """Return λ, in units of value per nat."""
    return jnp.where(state.gain > 0, 0.5 * state.regret / jnp.where(state.gain > 0, state.gain, 1.0), 0.0)
