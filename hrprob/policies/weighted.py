r"""HR-UCB on the weighted estimator: optimism within confidence sets of feasible generalised least squares.

The estimator (:mod:`hrprob.estimation.weighted`) has covariances Σ_θ and Σ_φ, so widths
need no σ_max: û ± r_θ·(xᵀΣ_θx)^{1/2} and ŵ ± r_φ·M_f(xᵀΣ_φx)^{1/2}, with each belief truncated to its bounds.

===========  =========================================================================
``radius``   r_θ and r_φ
===========  =========================================================================
calibrated   the 1 − δ radius of the normal belief: (χ²_d quantile)^{1/2}, for both
theory       (2 ln(1/δ) + ln(det Σ₀/det Σ))^{1/2} + (d + 2)^{1/2}, each with its own Σ
constant     the number ``xi``, for both; 0 is greedy on the weighted estimator
===========  =========================================================================

The theory is the self-normalised bound [1]_ for noise of unit scale, which weighting achieves
as long as w̃ is not smaller than the variance; (d + 2)^{1/2} bounds the bias of the ridge. For φ
the noise is a centred square, which has heavier tails: there the bound is used without a proof.

References
----------
.. [1] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, "Improved Algorithms for Linear Stochastic
   Bandits", NeurIPS 2011, Theorem 2.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import jax
import jax.numpy as jnp

from hrprob._core.records import record, set_later, with_fields
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.estimation.weighted import Belief, Estimates
from hrprob.numerics.choice import first_largest
from hrprob.numerics.factors import log_determinant
from hrprob.policies.base import register
from hrprob.policies.learners import WeightedLearner, WeightedState
from hrprob.policies.radii.base import Radii, Radius, Width, check_radius
from hrprob.policies.radii.constant import Constant
from hrprob.policies.radii.normal_quantile import NormalQuantile
from hrprob.policies.radii.parameters import RadiusParameters
from hrprob.policies.radii.rectangle import largest_value
from hrprob.problem import Known, Problem
from hrprob.problem.bounds import Bounds

__all__ = ["HRUCBWeighted"]


@record(static=("dimension",))
class SelfNormalisedWidth(Width[tuple[()], WeightedState]):
    """The radii of the self-normalised bound, each from its own covariance."""

    delta: float
    bounds: Bounds
    dimension: int

    def radii(self, state: tuple[()], learned: WeightedState) -> Radii:
        """Return the radii for θ and φ."""
        return Radii(
            self._radius(learned.estimates.theta, self.bounds.theta),
            self._radius(learned.estimates.phi, self.bounds.phi),
        )

    def _radius(self, belief: Belief, bound: float) -> jax.Array:
        d = self.dimension
        gain = -log_determinant(prior_precision(d, bound) * belief.covariance)
        return jnp.sqrt(2.0 * jnp.log(1.0 / self.delta) + gain) + math.sqrt(d + 2.0)


class SelfNormalised(Radius[RadiusParameters]):
    """The self-normalised bound."""

    def width(self, policy: RadiusParameters, known: Known) -> SelfNormalisedWidth:
        """Return the width with the policy's δ."""
        return SelfNormalisedWidth(policy.delta, known.bounds, known.dimension)


@register("hr-ucb-weighted", static=("radius",))
class HRUCBWeighted(WeightedLearner):
    """Select the action of largest lifetime within the confidence sets of the weighted estimator.

    Parameters
    ----------
    delta : float, default 0.1
        δ, the probability that a confidence set misses the truth.
    radius : {"calibrated", "theory", "constant"}, default "calibrated"
        The radii of the sets: the quantile of the normal belief, a self-normalised bound, or ``xi``.
    xi : float, optional
        The radius itself, with ``radius="constant"``.

    Examples
    --------
    >>> HRUCBWeighted(radius="constant", xi=2.0).xi
    2.0
    """

    radius_choices: ClassVar[dict[str, Radius]] = {
        "calibrated": NormalQuantile(),
        "theory": SelfNormalised(),
        "constant": Constant(),
    }

    delta: float = 0.1
    radius: str = "calibrated"
    xi: float | None = None
    width: Width[tuple[()], WeightedState] = set_later()

    def check(self) -> None:
        """Check the parameters of the radii."""
        check_radius(self, self.radius_choices)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its width for this problem."""
        bound = super().bind(problem, users)
        width = self.radius_choices[self.radius].width(bound, bound.known)
        return with_fields(bound, width=width, radius="bound", xi=None, delta=None)

    def radii(self, state: WeightedState) -> Radii:
        """Return the bounds on the errors of θ̂ and φ̂, in standard deviations."""
        return self.width.radii((), state)

    def confidence_sets(self, state: WeightedState) -> tuple[Estimates, Radii]:
        """Return the confidence sets: centres and shapes of two ellipsoids, and their radii."""
        return state.estimates, self.radii(state)

    def select(self, state: WeightedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest value within the sets."""
        return first_largest(self.optimistic(state, contexts, beta, self.radii(state)))

    def optimistic(
        self, state: WeightedState, contexts: jax.Array, beta: jax.Array, radii: Radii
    ) -> jax.Array:
        """Return the largest value of each action within these radii."""
        moments = self.moments(state, contexts)
        u, w = (moments.u, radii.theta * moments.u_sd), (moments.w, radii.phi * moments.w_sd)
        return largest_value(self.known, contexts, beta, u, w, self.variance_floor)
