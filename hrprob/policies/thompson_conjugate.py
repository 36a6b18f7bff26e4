r"""Thompson sampling with posteriors in closed form, to measure the value of modelling the variance.

===========================  ===================================================
``thompson-known-variance``  φ* is known: θ given φ* is truncated normal
``thompson-homoscedastic``   one unknown variance for all contexts
===========================  ===================================================

The first has the uniform prior on the ball (:mod:`hrprob.estimation.posterior.conjugate`),
the second the normal–inverse-gamma prior.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen, set_later, with_fields
from hrprob.estimation import glse
from hrprob.estimation.posterior.conjugate import draw_in_ball, prior_precision
from hrprob.numerics.choice import first_largest
from hrprob.numerics.factors import cholesky
from hrprob.numerics.products import contract
from hrprob.policies.base import Seen, register
from hrprob.policies.offers import Prediction, predicted
from hrprob.policies.sample_set import Learner
from hrprob.problem import Problem

__all__ = ["ThompsonHomoscedastic", "ThompsonKnownVariance"]


class NormalState(NamedTuple):
    """A normal posterior of θ, by its sufficient statistics."""

    sample_size: jax.Array  # ()
    covariance: jax.Array  # (d, d) of θ, in units of the noise's variance
    sum_rx: jax.Array  # (d,) Σ r x, weighted
    squares: jax.Array  # () Σ r²


@register("thompson-known-variance")
class ThompsonKnownVariance(Learner[NormalState]):
    """Thompson sampling over θ with the true φ given: a bound on what knowing the variance gains.

    Parameters
    ----------
    scale : float
        Factor on the spread of the posterior.

    Examples
    --------
    >>> ThompsonKnownVariance(scale=0.5).scale
    0.5
    """

    knows_truth: ClassVar[bool] = True

    scale: float = 1.0
    truth: np.ndarray = set_later()

    def check(self) -> None:
        """Check the scale."""
        set_frozen(self, scale=check_number("scale", self.scale, low=0, remedy="it multiplies a spread"))

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with this problem's φ*."""
        return with_fields(super().bind(problem, users), truth=problem.phi)

    def init(self) -> NormalState:
        """Return the prior."""
        d, radius = self.known.dimension, self.known.bounds.theta
        zero = jnp.zeros(())
        return NormalState(zero, jnp.eye(d) / prior_precision(d, radius), jnp.zeros(d), zero)

    def select(self, state: NormalState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the value at one draw of θ."""
        mean = contract(state.covariance, state.sum_rx)
        theta = draw_in_ball(key, mean, state.covariance, self.known.bounds.theta, self.scale)
        return first_largest(self.known.value(contract(contexts, theta), self._variance(contexts), beta))

    def update(self, state: NormalState, seen: Seen) -> NormalState:
        """Add the sampled rounds, each with weight 1/w."""
        weight = 1.0 / self._variance(seen.context)
        return NormalState(
            state.sample_size + seen.sampled,
            glse.sherman_morrison(state.covariance, seen.context, weight * seen.sampled),
            state.sum_rx + weight * seen.total * seen.context,
            state.squares + weight * seen.squares,
        )

    def _variance(self, contexts: jax.Array) -> jax.Array:
        from hrprob.models import Setting

        return Setting.of(self.known).variance(contract(contexts, self.truth))


@register("thompson-homoscedastic")
class ThompsonHomoscedastic(Learner[NormalState]):
    r"""Thompson sampling over θ and one variance σ² for all contexts.

    The prior is :math:`\sigma^2 \sim \text{IG}(a, a f(0))`, with
    :math:`\theta \mid \sigma^2 \sim N(0, \sigma^2/\lambda)`.

    Parameters
    ----------
    scale : float
        Factor on the spread of θ.
    shape : float
        a: the prior of σ² counts as 2a rounds.
    ridge : float
        λ.

    Examples
    --------
    >>> ThompsonHomoscedastic(shape=2.0).shape
    2.0
    """

    scale: float = 1.0
    shape: float = 1.0
    ridge: float = 1.0

    def check(self) -> None:
        """Check the numbers."""
        remedy = "the prior needs some weight"
        set_frozen(
            self,
            scale=check_number("scale", self.scale, low=0, remedy="it multiplies a spread"),
            shape=check_number("shape", self.shape, low=0, open_low=True, remedy=remedy),
            ridge=check_number("ridge", self.ridge, low=0, open_low=True, remedy=remedy),
        )

    def init(self) -> NormalState:
        """Return the prior."""
        d, zero = self.known.dimension, jnp.zeros(())
        return NormalState(zero, jnp.eye(d) / self.ridge, jnp.zeros(d), zero)

    def select(self, state: NormalState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the value at one draw of θ and σ²."""
        by_variance, by_theta = jax.random.split(key)
        mean, rest = self._centre(state)
        variance = rest / jax.random.gamma(by_variance, self.shape + 0.5 * state.sample_size)
        factor = cholesky(state.covariance)
        noise = jax.random.normal(by_theta, mean.shape)
        theta = mean + self.scale * jnp.sqrt(variance) * contract(factor, noise)
        return first_largest(self.known.value(contract(contexts, theta), variance, beta))

    def update(self, state: NormalState, seen: Seen) -> NormalState:
        """Add the sampled rounds."""
        return NormalState(
            state.sample_size + seen.sampled,
            glse.sherman_morrison(state.covariance, seen.context, seen.sampled),
            state.sum_rx + seen.total * seen.context,
            state.squares + seen.squares,
        )

    def predict(
        self, state: NormalState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the posterior mean of θ and the inverse of that of 1/σ²."""
        mean, rest = self._centre(state)
        variance = rest / (self.shape + 0.5 * state.sample_size)
        return predicted(self.known, contract(contexts[action], mean), variance, beta)

    def _centre(self, state: NormalState) -> tuple[jax.Array, jax.Array]:
        """Return the posterior mean of θ, and the rate of the posterior of 1/σ²."""
        mean = contract(state.covariance, state.sum_rx)
        rest = self.shape * self.known.link(0.0) + 0.5 * (state.squares - contract(mean, state.sum_rx))
        return mean, rest
