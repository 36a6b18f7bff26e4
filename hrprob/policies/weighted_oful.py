r"""Weighted OFUL: optimism about the mean by a regression that knows variance and uncertainty [1]_.

A round counts 1/σ̄², where

.. math:: \bar\sigma^2 = \max\{\sigma^2,\ \alpha^2,\ \gamma^2 \lVert x\rVert_{\Sigma}\},

Σ being the covariance of the regression, α = σ_max/√T and γ² = R/√d. With R a bound of the
noise, the published radius is

.. math::
    \beta_n = 12\sqrt{d \ln\bigl(1 + \tfrac{n}{\alpha^2 d\lambda}\bigr) \ell_n} + 30\,\ell_n\,R/\gamma^2
    + \sqrt\lambda\,R_\theta, \qquad \ell_n = \ln\frac{32(\ln(\gamma^2/\alpha) + 1)\,n^2}{\delta},

with :math:`\ln(\gamma^2/\alpha)` no less than 0. The index is as published the optimistic mean
θ̂ᵀx + β‖x‖_Σ, or the lifetime at the optimistic mean and the estimated variance.

The paper is told σ² with every round. Here it is the estimate of
:mod:`hrprob.estimation.weighted`. Normal noise has no bound; R is what T·K rounds (K = 10) exceed
with probability δ at most.

References
----------
.. [1] D. Zhou, Q. Gu, "Computationally efficient horizon-free reinforcement learning for linear
   mixture MDPs", NeurIPS 2022, Section 4.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_choice
from hrprob._core.records import record, with_fields
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.estimation.weighted import Moments
from hrprob.numerics.products import quadratic_form
from hrprob.policies.base import register
from hrprob.policies.learners import WeightedLearner, WeightedState
from hrprob.policies.radius import check_delta, check_xi, variance_max_of
from hrprob.policies.weighted import chi_radius
from hrprob.problem import Problem

__all__ = ["UncertaintyWeighted", "WeightedOFUL"]

RADII = ("published", "calibrated", "constant")
INDICES = ("mean", "lifetime")
_ROUNDS = 10.0


@record(static=("radius", "index"))
class UncertaintyWeighted(WeightedLearner):
    """A policy on the regression whose weights know variance and uncertainty.

    Parameters
    ----------
    index : {"mean", "lifetime"}
        What is made largest: the mean outcome as published, or the lifetime.
    radius : {"published", "calibrated", "constant"}
        β: as published, the 1 − δ radius of a normal vector in d dimensions, or ``xi``.
    delta : float
        δ, the probability that the set misses.
    xi : float, optional
        β itself, with ``radius="constant"``.
    """

    offered: ClassVar[tuple[str, ...]] = RADII

    index: Any = "mean"
    radius: Any = "published"
    delta: Any = 0.1
    xi: Any = None
    least: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)  # α²
    share: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)  # γ²
    noise_bound: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)  # R

    def check(self) -> None:
        """Check what bears on index and radius."""
        check_choice("index", self.index, INDICES)
        check_choice("radius", self.radius, self.offered)
        check_delta(self)
        check_xi(self)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with α, γ, R and a radius that is a number settled."""
        bound = super().bind(problem, users)
        d, largest = bound.known.dimension, variance_max_of(bound.known, None)
        most = math.sqrt(2.0 * largest * math.log(2.0 * _ROUNDS * users / self.delta))
        bound = with_fields(bound, least=largest / users, share=most / math.sqrt(d), noise_bound=most)
        if self.radius == "published":
            return bound
        numbers = {"belief": 1.0, "calibrated": chi_radius(d, self.delta), "constant": self.xi}
        return with_fields(bound, radius="constant", xi=float(numbers[self.radius]), delta=None)

    def counted(self, state: WeightedState, context: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return σ̄² for θ, and what the estimator itself counts with for φ."""
        variance, for_phi = super().counted(state, context)
        uncertainty = jnp.sqrt(jnp.maximum(quadratic_form(state.estimates.theta.covariance, context), 0.0))
        return jnp.maximum(jnp.maximum(variance, self.least), self.share * uncertainty), for_phi

    def beta(self, state: WeightedState) -> jax.Array:
        """Return the radius with the sampled rounds so far."""
        if self.radius == "constant":
            return self.xi
        d, bound = self.known.dimension, self.known.bounds.theta
        precision = prior_precision(d, bound)
        n = jnp.maximum(state.sample_size, 1.0)
        # ln(γ²/α), which the formula needs to be positive.
        span = jnp.maximum(jnp.log(self.share / jnp.sqrt(self.least)), 0.0)
        ell = jnp.log(32.0 * (span + 1.0) * n * n / self.delta)
        spread = jnp.sqrt(d * jnp.log1p(n / (self.least * d * precision)) * ell)
        return 12.0 * spread + 30.0 * ell * self.noise_bound / self.share + jnp.sqrt(precision) * bound

    def worth(self, u: jax.Array, of: Moments, beta: jax.Array) -> jax.Array:
        """Return what an action of mean ``u`` is worth by the index."""
        return u if self.index == "mean" else self.known.value(u, of.w, beta)


@register("weighted-oful")
class WeightedOFUL(UncertaintyWeighted):
    """Serve the action of largest optimistic mean, or lifetime, by variance-weighted regression.

    Parameters
    ----------
    index, radius, delta, xi
        See the module's text.
    variance_floor, growth, eager, warmup
        As for every policy on the weighted estimator.
    """

    def select(self, state: WeightedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the index at the optimistic mean."""
        of = self.moments(state, contexts)
        norm = jnp.sqrt(jnp.maximum(quadratic_form(state.estimates.theta.covariance, contexts), 0.0))
        return jnp.argmax(self.worth(of.u + self.beta(state) * norm, of, beta))
