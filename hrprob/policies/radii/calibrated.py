r"""A calibrated radius: quantiles of estimation errors from a parametric bootstrap during the run.

ρ_n is meant to hold for every truth and for all n simultaneously, and is hundreds of times larger than the
errors that occur. Here the radii are quantiles of simulated errors instead: B replicates of the
sample set share its contexts and stays, their noise is drawn from the estimated distribution, and
the same estimators are applied to each. With ε̃ the noise of a replicate,

.. math::
    \tilde e_\theta = V^{-1} X^\top \tilde\varepsilon - \lambda V^{-1}\hat\theta, \qquad
    \tilde e_\varphi = \tilde\varphi - V^{-1} \sum_t x_t x_t^\top \hat\varphi_t - \lambda V^{-1}\hat\varphi,

where the first terms are the random errors and the last terms the shrinkage by the ridge. The radii
are the 1 − δ quantiles of :math:`\lVert\tilde e_\theta\rVert_V` and
:math:`\lVert\tilde e_\varphi\rVert_V` over the replicates.

No past data are stored: the noise of a stay is drawn when the stay ends, from the
estimates before it (variance w and m rounds: Σε ~ N(0, mw), Σε² = (Σε)²/m + w·χ²(m − 1),
the last by the Wilson–Hilferty approximation [2]_), and added to the sums of
:mod:`hrprob.estimation.glse`. Quantiles are recomputed whenever the number of users has grown by 5 %.

The guarantee is weaker than that of ρ_n: probability 1 − δ at one n, for a fixed design and normal
outcomes, as far as the estimates can stand for the truth. Under heavier-tailed noise squared residuals vary
more than in the replicates, and the set for φ is too small.
:func:`hrprob.comparison.coverage.coverage` measures the actual coverage.

References
----------
.. [1] B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, section 6.5.
.. [2] E. B. Wilson, M. M. Hilferty, "The distribution of chi-square", PNAS 17, 1931.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.records import record
from hrprob.estimation import glse
from hrprob.numerics.control_flow import once
from hrprob.numerics.products import contract, quadratic_form
from hrprob.policies.base import Seen
from hrprob.policies.learners import GLSEState
from hrprob.policies.radii.base import Radii, Radius, Width, register
from hrprob.policies.radii.parameters import OptimistParameters
from hrprob.policies.radii.theory_constants import lipschitz_weights
from hrprob.policies.schedule import refit_times
from hrprob.problem import Known
from hrprob.problem.links import AffineLink
from hrprob.problem.links.base import as_affine

__all__ = ["REPLICATES", "BootstrapWidth", "Calibrated", "Replicates"]

REPLICATES = 100
"""B, the number of replicates."""

# Keys of the replicates' noise are derived from this seed and the user's number, the same in all trials:
# that costs a fraction of separate numbers, and leaves the trials as independent as their users are.
_SEED = 0x626F6F74
_GROWTH = 1.05


class Replicates(NamedTuple):
    """Sums over the noise of B replicates, and the radii last computed from them."""

    sum_rx: jax.Array  # (B, d)
    sum_rrx: jax.Array  # (B, d)
    sum_rxx: jax.Array  # (B, d(d+1)/2), the upper triangles
    centre: jax.Array  # (d,) Σ m x xᵀφ̂, with the φ̂ before each stay
    radii: Radii


@record(static=("eager",))
class BootstrapWidth(Width[Replicates, GLSEState]):
    """Radii that are quantiles over the replicates."""

    delta: float
    ridge: float
    c3: float
    c4: float
    floor: float
    link: AffineLink
    due: np.ndarray  # (users + 1,) bool
    eager: bool

    def init(self, known: Known) -> Replicates:
        """Return empty sums, and the radii that follow from the bounds alone."""
        d, root = known.dimension, jnp.sqrt(self.ridge)
        rows, squares = jnp.zeros((REPLICATES, d)), jnp.zeros((REPLICATES, d * (d + 1) // 2))
        radii = Radii(root * known.bounds.theta, root * known.bounds.phi)
        return Replicates(rows, rows, squares, jnp.zeros(d), radii)

    def update(self, state: Replicates, learned: GLSEState, seen: Seen) -> Replicates:
        """Draw the noise of the observed rounds for every replicate."""
        x, phi = seen.context, learned.estimates.phi
        variance = jnp.maximum(self.link(contract(x, phi)), self.floor)
        totals, squares = self._noise(learned, seen, variance)
        return state._replace(
            sum_rx=state.sum_rx + totals[:, None] * x,
            sum_rrx=state.sum_rrx + squares[:, None] * x,
            sum_rxx=state.sum_rxx + totals[:, None] * glse.products(x),
            # The variance that was used, floor included, is the truth of the replicates.
            centre=state.centre + seen.sampled * self.link.inverse(variance) * x,
        )

    def _noise(self, learned: GLSEState, seen: Seen, variance: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return Σε and Σε² over the sampled rounds, (B,) each."""
        key = jax.random.fold_in(jax.random.key(_SEED), jnp.asarray(seen.user, jnp.uint32))
        if self.eager:
            # Several rounds of one user need different noise.
            key = jax.random.fold_in(key, jnp.asarray(learned.sample_size, jnp.uint32))
        first, second = jax.random.normal(key, (2, REPLICATES))
        rounds = jnp.maximum(seen.sampled, 1.0)
        freedom = jnp.maximum(rounds - 1.0, 1.0)
        part = 2.0 / (9.0 * freedom)
        cube = freedom * jnp.maximum(1.0 - part + second * jnp.sqrt(part), 0.0) ** 3
        rest = jnp.where(rounds > 1.0, cube, 0.0)
        # All are 0 if no round is sampled.
        weight = jnp.where(seen.sampled > 0, variance, 0.0)
        return jnp.sqrt(rounds * weight) * first, weight * (first * first + rest)

    def depart(self, state: Replicates, learned: GLSEState, user: jax.Array) -> Replicates:
        """Recompute the quantiles at the scheduled users."""
        number = jnp.asarray(user, jnp.int32)
        radii = once(jnp.asarray(self.due)[number], lambda _: self._quantiles(state, learned), state.radii)
        return state._replace(radii=radii)

    def _quantiles(self, state: Replicates, learned: GLSEState) -> Radii:
        theta, phi, inverse = learned.estimates
        sums = learned.statistics
        # The position of each entry of a symmetric matrix in its upper triangle.
        upper = np.zeros((theta.shape[-1],) * 2, dtype=int)
        upper[np.triu_indices_from(upper)] = np.arange(state.sum_rxx.shape[-1])
        upper = np.maximum(upper, upper.T)

        def replicate(sum_rx: jax.Array, sum_rrx: jax.Array, sum_rxx: jax.Array) -> glse.Estimates:
            drawn = sums._replace(sum_rx=sum_rx, sum_rrx=sum_rrx, sum_rxx=sum_rxx)
            return glse.estimate(drawn, inverse, self.link)

        estimated = jax.vmap(replicate)(state.sum_rx, state.sum_rrx, state.sum_rxx[:, upper])
        theta_errors = estimated.theta - self.ridge * contract(inverse, theta)
        phi_errors = estimated.phi - contract(inverse, state.centre + self.ridge * phi)
        shape = sums.gram + self.ridge * jnp.eye(theta.shape[-1])
        rank = jnp.ceil((1.0 - self.delta) * (REPLICATES + 1.0)).astype(jnp.int32) - 1

        def radius(errors: jax.Array) -> jax.Array:
            squared = jnp.sort(quadratic_form(shape, errors))
            return jnp.sqrt(jnp.maximum(squared[jnp.minimum(rank, REPLICATES - 1)], 0.0))

        return Radii(radius(theta_errors), radius(phi_errors))

    def radii(self, state: Replicates, learned: GLSEState) -> Radii:
        """Return the quantiles."""
        return state.radii

    def xi(self, state: Replicates, learned: GLSEState) -> jax.Array:
        """Return C₃·(radius for θ) + C₄·(radius for φ)."""
        return self.c3 * state.radii.theta + self.c4 * state.radii.phi


@register("calibrated")
class Calibrated(Radius[OptimistParameters]):
    """1 − δ quantiles of a parametric bootstrap."""

    needs_phi: ClassVar[bool] = True

    def width(self, policy: OptimistParameters, known: Known) -> BootstrapWidth:
        """Return the bootstrap width."""
        if policy.delta * (REPLICATES + 1) < 1:
            remedy = f"{REPLICATES} replicates have no quantile for a smaller probability"
            raise InvalidInput("delta", f"must be at least 1/{REPLICATES + 1}", policy.delta, remedy)
        return BootstrapWidth(
            delta=policy.delta,
            ridge=policy.ridge,
            floor=policy.variance_floor,
            link=as_affine(known.link),
            due=refit_times(policy.warmup + int(known.users), _GROWTH, policy.warmup),
            # Warm-up users are served round by round too.
            eager=policy.eager or policy.warmup > 0,
            **lipschitz_weights(policy, known),
        )
