r"""The formulas in which the paper as printed, its corrections and what can be proved differ.

==============================  ==============  ===========================================================
where                           as printed      ``corrected``
==============================  ==============  ===========================================================
Lemma 1, scale of the noise     σ²_max          R = κ·σ_max: the lemma quotes Theorem 2 of [2]_, which has the
                                                sub-Gaussian scale there; κ is that of the standardised noise,
                                                1 for normal noise (Remark 5; :mod:`hrprob.noise.sub_gaussian`).
                                                As printed the set is too wide if σ_max > 1, and not
                                                proved if σ_max < 1 or κ > 1
Lemma 1, one dimension          d ln(1/δ)       2 ln(1/δ): the determinant bound of [2]_ gives
                                                d ln(1 + n/dλ) + 2 ln(1/δ), which d ln((n+λ)/δλ) bounds for d ≥ 2
Lemma 1, bias of the ridge      √λ              √λ·R_θ, with R_θ the bound of ‖θ*‖ (1 in the paper)
Lemma 4, α⁽³⁾                   ln(d/δ)         ln(2d/δ): the norm of a symmetric matrix is the larger of its
                                                extreme eigenvalues, in absolute value; Tropp's bound [3]_ is
                                                needed for both
Lemma 4, α⁽³⁾, scale            σ_max           R = κ·σ_max, as in Lemma 1
Theorem 1, bias of the ridge    L²√λ            L√λ, since λ‖φ*‖ in the norm of V⁻¹ is at most L√λ
Theorem 3, logarithm            T               Γ(T): it counts samples, as in the last step of the proof
Theorem 3, λ < 1                –               times λ^(−1/2): ‖x‖² in the norm of V⁻¹ is at most 1/λ, and only
                                                for λ ≥ 1 equal to its minimum with 1
==============================  ==============  ===========================================================

``explicit`` is ``corrected`` with an α⁽²⁾ that has no unknown constants. Lemma 3 rests on Lemma A.1, which gives no values for C₁
and C₂, states its threshold with the power −1/2 of Σ|B_ii|² where its use has +1/2, and leaves out the
off-diagonal entries of B, which do not vanish here. It is not needed:

1. η_i = e_i² − 1, with e_i the standardised noise, is *sub-gamma* on both sides, ln E exp(sη) ≤ vs²/2(1 − cs) for
   0 ≤ s < 1/c: with v = c = 2 if κ = 1, since E exp(se²) ≤ (1 − 2s)^(−1/2) (write exp(se²) as a mean of exp(√(2s)·g·e) over a normal
   g), and below by Bennett's inequality, as −η ≤ 1 and Var η ≤ 2; with v = 16κ⁴, c = 2κ² otherwise, since
   E e^{2k} ≤ 2·k!·(2κ²)^k.
2. For a unit vector u, uᵀV^{-1/2}Xᵀ(ε∘ε − σ²) = Σ a_i σ_i² η_i with Σ a_i² ≤ 1, |a_i| ≤ 1 (Lemma A.2). **If the
   contexts are fixed**, the η_i are independent, and the sum exceeds b(x) = σ²_max (√(2vx) + cx) with probability at
   most e^(−x).
3. A vector is at most √d times as long as its largest coordinate (2d one-sided events), and at most 1/(1 − r) times as
   long as its largest projection on an r-net of the sphere of (1 + 2/r)^d points. Hence with probability 1 − δ

.. math:: \lVert X^\top(\varepsilon\circ\varepsilon - \sigma^2)\rVert_{V^{-1}} \le
    \min\Big\{\sqrt d\, b\big(\ln\tfrac{2d}\delta\big),\
    \min_r \tfrac{1}{1-r}\, b\big(d\ln(1 + \tfrac2r) + \ln\tfrac1\delta\big)\Big\} .

What is proved, and for which design:

============================  =======================  ==================================================
statement                     contexts fixed           contexts picked by a policy
============================  =======================  ==================================================
Lemma 1 (set for θ*)          ``corrected``            ``corrected``: the bound of [2]_ is for martingales
Lemma 3                       ``explicit``             not proved: V depends on the noise
Lemma 4                       ``corrected``            not proved: the same
Lemma 5                       follows from Lemma 1     follows from Lemma 1
Theorem 1 (set for φ*)        ``explicit``             not proved; coverage is measured
Theorem 2                     for ‖θ̂‖ ≤ 1, ‖φ̂‖ ≤ L     the same
Lemma 6, Theorem 3            –                        given both sets, with projected estimates and
                                                       computed C₃, C₄
============================  =======================  ==================================================

By itself Lemma 4 holds with probability 1 − 2δ, not 1 − δ: its proof uses two events of probability 1 − δ.
Theorem 1 counts them correctly, since Lemmas 4 and 5 share the event of Lemma 1.

A further version is a subclass of :class:`Printed` and an entry of :data:`VERSIONS`.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
.. [2] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, "Improved Algorithms for Linear
   Stochastic Bandits", NeurIPS 2011.
.. [3] J. A. Tropp, "User-Friendly Tail Bounds for Sums of Random Matrices", Foundations of
   Computational Mathematics 12, 2012, Theorem 4.1.
.. [4] S. Boucheron, G. Lugosi, P. Massart, "Concentration Inequalities", Oxford University
   Press, 2013, Sections 2.4 and 2.7 (sub-gamma variables, Bennett's inequality).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hrprob._core.precision import arrays_for
from hrprob._core.types import Number

if TYPE_CHECKING:
    import jax

    from hrprob.estimation.confidence import ConfidenceSets

__all__ = ["COMPARED", "VERSIONS", "Corrected", "Explicit", "Printed"]

# Finenesses r of the nets; the bound holds for each, so the smallest may be taken.
_NETS = np.arange(0.05, 0.75, 0.05)


class Printed:
    """The formulas as the paper prints them; all assume the noise to be normal."""

    # Whether the formulas hold only for noise with a sub-Gaussian scale.
    needs_scale = False

    def noise_scale(self, variance_max: Number, kappa: Number) -> Number:
        """Return the scale of the noise in Lemma 1, given κ, the scale of the standardised noise."""
        return variance_max

    def log_delta_weight(self, dimension: int) -> int:
        """Return the factor of ln(1/δ) in Lemma 1."""
        return dimension

    def theta_norm(self, bound_theta: Number) -> Number:
        """Return what √λ is multiplied by in Lemma 1."""
        return 1.0

    def alpha2(self, sets: ConfidenceSets, delta: Number) -> jax.Array:
        """Return α⁽²⁾, with the constants C₁ and C₂."""
        xp = arrays_for(sets, delta)
        tail = xp.log(sets.c1 / delta) / sets.c2
        return xp.sqrt(2.0 * sets.dimension * (tail**2 + 1.0)) * sets.variance_max

    def alpha3_variance(self, variance_max: Number, kappa: Number) -> Number:
        """Return the square of the noise's scale in Lemma 4."""
        return variance_max

    def tails(self, dimension: int) -> int:
        """Return how many events the bound of Lemma 4 takes together."""
        return dimension

    def phi_norm(self, bound: Number) -> Number:
        """Return what √λ is multiplied by in Theorem 1."""
        return bound**2

    def counted(self, users: Number, samples: Number) -> Number:
        """Return the count in the logarithm of Theorem 3."""
        return users

    def largest_norm(self, ridge: Number) -> Number:
        """Return the factor of Theorem 3 for λ < 1."""
        return 1.0


class Corrected(Printed):
    """The formulas with the errors of the print corrected; C₁ and C₂ remain."""

    needs_scale = True

    def noise_scale(self, variance_max: Number, kappa: Number) -> Number:
        """Return R = κ·σ_max."""
        return kappa * arrays_for(variance_max).sqrt(variance_max)

    def log_delta_weight(self, dimension: int) -> int:
        """Return d, but 2 in one dimension."""
        return max(dimension, 2)

    def theta_norm(self, bound_theta: Number) -> Number:
        """Return the bound of ‖θ*‖."""
        return bound_theta

    def alpha3_variance(self, variance_max: Number, kappa: Number) -> Number:
        """Return R²."""
        return kappa**2 * variance_max

    def tails(self, dimension: int) -> int:
        """Return 2d: both ends of the spectrum."""
        return 2 * dimension

    def phi_norm(self, bound: Number) -> Number:
        """Return the bound of ‖φ*‖."""
        return bound

    def counted(self, users: Number, samples: Number) -> Number:
        """Return the number of samples."""
        return samples

    def largest_norm(self, ridge: Number) -> Number:
        """Return max(1, λ^(−1/2))."""
        xp = arrays_for(ridge)
        return xp.maximum(1.0, 1.0 / xp.sqrt(ridge))


class Explicit(Corrected):
    """The corrected formulas, with an α⁽²⁾ that is proved for fixed contexts and has no unknown constants."""

    def alpha2(self, sets: ConfidenceSets, delta: Number) -> jax.Array:
        """Return α⁽²⁾ from the sub-gamma tails of the squared noise."""
        xp, kappa, d = arrays_for(sets, delta), sets.noise_scale, sets.dimension
        # Below this, κ is 1 up to rounding.
        variance = xp.where(kappa <= 1.0, 2.0, 16.0 * kappa**4)
        scale = 2.0 * kappa**2

        def tail(x: Number) -> jax.Array:
            return sets.variance_max * (xp.sqrt(2.0 * variance * x) + scale * x)

        log_delta = xp.log(1.0 / delta)
        bound = xp.sqrt(float(d)) * tail(xp.log(2.0 * d) + log_delta)
        for r in _NETS.tolist():
            bound = xp.minimum(bound, tail(d * float(np.log1p(2.0 / r)) + log_delta) / (1.0 - r))
        return bound


VERSIONS: dict[str, Printed] = {"paper": Printed(), "corrected": Corrected(), "explicit": Explicit()}
"""The versions by name."""

COMPARED = ("paper", "corrected")
"""The versions that reports compare side by side."""
