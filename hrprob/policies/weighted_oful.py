r"""Weighted OFUL: optimism about the mean, by a regression weighted by variance and uncertainty [1]_.

A round has weight 1/σ̄², where

.. math:: \bar\sigma^2 = \max\{\sigma^2,\ \alpha^2,\ \gamma^2 \lVert x\rVert_{\Sigma}\},

Σ is the covariance of the regression, α = σ_max/√T and γ² = R/√d. With R a bound of the
noise, the published radius is

.. math::
    \beta_n = 12\sqrt{d \ln\bigl(1 + \tfrac{n}{\alpha^2 d\lambda}\bigr) \ell_n} + 30\,\ell_n\,R/\gamma^2
    + \sqrt\lambda\,R_\theta, \qquad \ell_n = \ln\frac{32(\ln(\gamma^2/\alpha) + 1)\,n^2}{\delta},

with :math:`\ln(\gamma^2/\alpha)` replaced by 0 where it is negative. The index is, as published, the
optimistic mean θ̂ᵀx + β‖x‖_Σ, or the lifetime at the optimistic mean and the estimated variance.

The paper assumes that σ² is observed with every round. Here it is the estimate of
:mod:`hrprob.estimation.weighted`. Normal noise has no bound; R is a value that T·K rounds (K = 10) exceed
with probability at most δ.

References
----------
.. [1] D. Zhou, Q. Gu, "Computationally efficient horizon-free reinforcement learning for linear
   mixture MDPs", NeurIPS 2022, Section 4.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_choice
from hrprob._core.records import record, set_later, with_fields
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.estimation.weighted import Moments
from hrprob.numerics.choice import first_largest
from hrprob.numerics.products import quadratic_form
from hrprob.policies.base import register
from hrprob.policies.learners import WeightedLearner, WeightedState
from hrprob.policies.radii.base import Radius, Width, check_radius
from hrprob.policies.radii.constant import Constant
from hrprob.policies.radii.normal_quantile import NormalQuantile
from hrprob.policies.radii.theory_constants import variance_max_of
from hrprob.problem import Known, Problem

__all__ = ["UncertaintyWeighted", "WeightedOFUL"]

INDICES = ("mean", "lifetime")
_ROUNDS = 10.0


@record(static=("dimension",))
class PublishedWidth(Width[tuple[()], WeightedState]):
    """β_n as published."""

    delta: float
    least: float  # α²
    share: float  # γ²
    noise_bound: float  # R
    bound_theta: float  # R_θ
    dimension: int

    def xi(self, state: tuple[()], learned: WeightedState) -> jax.Array:
        """Return β_n."""
        d, bound = self.dimension, self.bound_theta
        precision = prior_precision(d, bound)
        n = jnp.maximum(learned.sample_size, 1.0)
        # ln(γ²/α), which must not be negative in the formula.
        log_ratio = jnp.maximum(jnp.log(self.share / jnp.sqrt(self.least)), 0.0)
        ell = jnp.log(32.0 * (log_ratio + 1.0) * n * n / self.delta)
        spread = jnp.sqrt(d * jnp.log1p(n / (self.least * d * precision)) * ell)
        return 12.0 * spread + 30.0 * ell * self.noise_bound / self.share + jnp.sqrt(precision) * bound


class Published(Radius["UncertaintyWeighted"]):
    """The published radius."""

    def width(self, policy: UncertaintyWeighted, known: Known) -> PublishedWidth:
        """Return β with the policy's δ, α, γ and R."""
        return PublishedWidth(
            delta=policy.delta,
            least=policy.least,
            share=policy.share,
            noise_bound=policy.noise_bound,
            bound_theta=known.bounds.theta,
            dimension=known.dimension,
        )


@record(static=("radius", "index"))
class UncertaintyWeighted(WeightedLearner):
    """A policy on the regression that is weighted by variance and uncertainty.

    Parameters
    ----------
    index : {"mean", "lifetime"}, default "mean"
        The quantity that is maximised: the mean outcome, as published, or the lifetime.
    radius : {"published", "calibrated", "constant"}, default "published"
        β: as published, the 1 − δ radius of a normal vector in d dimensions, or ``xi``.
    delta : float, default 0.1
        δ, the probability that the confidence set misses the truth.
    xi : float, optional
        β itself, with ``radius="constant"``.
    """

    radius_choices: ClassVar[dict[str, Radius]] = {
        "published": Published(),
        "calibrated": NormalQuantile(),
        "constant": Constant(),
    }

    index: str = "mean"
    radius: str = "published"
    delta: float = 0.1
    xi: float | None = None
    least: float = set_later()  # α²
    share: float = set_later()  # γ²
    noise_bound: float = set_later()  # R
    width: Width[tuple[()], WeightedState] = set_later()

    def check(self) -> None:
        """Check the index and the parameters of the radius."""
        check_choice("index", self.index, INDICES)
        check_radius(self, self.radius_choices)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with α, γ, R and its width for this problem."""
        bound = super().bind(problem, users)
        d, largest = bound.known.dimension, variance_max_of(bound.known, None)
        most = math.sqrt(2.0 * largest * math.log(2.0 * _ROUNDS * users / self.delta))
        bound = with_fields(bound, least=largest / users, share=most / math.sqrt(d), noise_bound=most)
        width = self.radius_choices[self.radius].width(bound, bound.known)
        return with_fields(bound, width=width, radius="bound", xi=None, delta=None)

    def weighting(self, state: WeightedState, context: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return σ̄² for θ, and the estimator's own weighting variance for φ."""
        variance, for_phi = super().weighting(state, context)
        uncertainty = jnp.sqrt(jnp.maximum(quadratic_form(state.estimates.theta.covariance, context), 0.0))
        return jnp.maximum(jnp.maximum(variance, self.least), self.share * uncertainty), for_phi

    def beta(self, state: WeightedState) -> jax.Array:
        """Return the radius β at the present sample size."""
        return self.width.xi((), state)

    def index_value(self, u: jax.Array, moments: Moments, beta: jax.Array) -> jax.Array:
        """Return the index of actions with mean ``u`` and the estimated variance."""
        return u if self.index == "mean" else self.known.value(u, moments.w, beta)


@register("weighted-oful")
class WeightedOFUL(UncertaintyWeighted):
    """Select the action of largest optimistic mean, or lifetime, by variance-weighted regression.

    Parameters
    ----------
    index : {"mean", "lifetime"}, default "mean"
        The quantity that is maximised: the mean outcome, as published, or the lifetime.
    radius : {"published", "calibrated", "constant"}, default "published"
        β, the radius of the confidence set for θ.
    delta : float, default 0.1
        δ, the probability that the confidence set misses the truth.
    xi : float, optional
        β itself, with ``radius="constant"``.

    Examples
    --------
    >>> WeightedOFUL(radius="constant", xi=1.0).xi
    1.0
    """

    def select(self, state: WeightedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest index at the optimistic mean."""
        moments = self.moments(state, contexts)
        norm = jnp.sqrt(jnp.maximum(quadratic_form(state.estimates.theta.covariance, contexts), 0.0))
        return first_largest(self.index_value(moments.u + self.beta(state) * norm, moments, beta))
