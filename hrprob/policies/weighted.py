r"""HR-UCB on the weighted estimator: exact optimism around feasible generalised least squares.

The estimator (:mod:`hrprob.estimation.weighted`) comes with covariances Σ_θ and Σ_φ, so widths
need no σ_max: û ± r_θ·(xᵀΣ_θx)^{1/2} and ŵ ± r_φ·M_f(xᵀΣ_φx)^{1/2}, each belief cut to its bounds.

===========  =========================================================================
``radius``   r_θ and r_φ
===========  =========================================================================
calibrated   the 1 − δ radius of the normal belief: (χ²_d quantile)^{1/2}, for both
theory       (2 ln(1/δ) + ln(det Σ₀/det Σ))^{1/2} + (d + 2)^{1/2}, each with its own Σ
constant     the number ``xi``, for both; 0 is greedy on the weighted estimator
===========  =========================================================================

The theory is the self-normalised bound [1]_ for noise of unit scale, which the weights make of
it as long as w̃ is no smaller than the variance; (d + 2)^{1/2} bounds what the ridge adds. For φ
the noise is a centred square, whose tails are heavier: there the bound is a form, not a proof.

References
----------
.. [1] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, "Improved Algorithms for Linear Stochastic
   Bandits", NeurIPS 2011, Theorem 2.
"""

from __future__ import annotations

import math
from typing import Any, Self

import jax
import jax.numpy as jnp
from scipy import special

from hrprob._core.errors import check_choice
from hrprob._core.records import with_fields
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.estimation.weighted import Belief, Estimates
from hrprob.numerics.factors import log_determinant
from hrprob.policies.base import register
from hrprob.policies.exact_optimism import largest_value
from hrprob.policies.learners import WeightedLearner, WeightedState
from hrprob.policies.radius import Radii, check_delta, check_xi
from hrprob.problem import Problem

__all__ = ["HRUCBWeighted", "chi_radius"]

RADII = ("calibrated", "theory", "constant")


def chi_radius(dimension: int, delta: float) -> float:
    """Return the radius within which a standard normal vector lies with probability 1 − δ.

    Examples
    --------
    >>> round(chi_radius(4, 0.1), 4)
    2.7892
    """
    return math.sqrt(float(special.chdtri(dimension, delta)))


@register("hr-ucb-weighted", static=("radius",))
class HRUCBWeighted(WeightedLearner):
    """Serve the action of largest lifetime that weighted estimates allow.

    Parameters
    ----------
    delta : float
        δ, the probability that a set misses.
    radius : {"calibrated", "theory", "constant"}
        How wide; see the module's text.
    xi : float, optional
        The number itself, with ``radius="constant"``.
    variance_floor, growth, eager, warmup
        As for every policy on the weighted estimator.
    """

    delta: Any = 0.1
    radius: Any = "calibrated"
    xi: Any = None

    def check(self) -> None:
        """Check what bears on the width."""
        check_choice("radius", self.radius, RADII)
        check_delta(self)
        check_xi(self)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its radius settled, where that is a number."""
        bound = super().bind(problem, users)
        if self.radius == "theory":
            return bound
        number = self.xi if self.radius == "constant" else chi_radius(bound.known.dimension, self.delta)
        return with_fields(bound, radius="constant", xi=float(number), delta=None)

    def radii(self, state: WeightedState) -> Radii:
        """Return how many deviations off θ and φ may be."""
        if self.radius == "constant":
            return Radii(self.xi, self.xi)
        known, estimates = self.known, state.estimates
        return Radii(
            self._self_normalised(estimates.theta, known.bounds.theta),
            self._self_normalised(estimates.phi, known.bounds.phi),
        )

    def _self_normalised(self, belief: Belief, bound: Any) -> jax.Array:
        d = self.known.dimension
        gained = -log_determinant(prior_precision(d, bound) * belief.covariance)
        return jnp.sqrt(2.0 * jnp.log(1.0 / self.delta) + gained) + math.sqrt(d + 2.0)

    def sets(self, state: WeightedState) -> tuple[Estimates, Radii]:
        """Return the confidence sets: centres and shapes of two ellipsoids, and their radii."""
        return state.estimates, self.radii(state)

    def select(self, state: WeightedState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return argmax of the largest value."""
        return jnp.argmax(self.optimistic(state, contexts, beta, self.radii(state)))

    def optimistic(
        self, state: WeightedState, contexts: jax.Array, beta: jax.Array, radii: Radii
    ) -> jax.Array:
        """Return the largest value of each action within these radii."""
        of = self.moments(state, contexts)
        u, w = (of.u, radii.theta * of.u_deviation), (of.w, radii.phi * of.w_deviation)
        return largest_value(self.known, contexts, beta, u, w, self.variance_floor)
