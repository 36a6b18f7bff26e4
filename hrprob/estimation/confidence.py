r"""Confidence sets of the GLSE: their radii, and ξ, the width of the HR-UCB index.

=========  ===============================  ==============================================
symbol     name                             where
=========  ===============================  ==============================================
σ²_max     ``variance_max``                 Section 3, the largest variance of an outcome
κ          ``noise_scale``                  Remark 5, sub-Gaussian scale of the standardised noise
λ, d       ``ridge``, ``dimension``         Section 4.1
M_f, L     ``slope``, ``bound``             Section 3, slope of the link and bound of ‖φ*‖
C₁, C₂     ``c1``, ``c2``                   Lemma 3; the paper gives no values
C₃, C₄     ``c3``, ``c4``                   Theorem 2; :mod:`hrprob.estimation.lipschitz`
α⁽¹⁾_n(δ)  ``confidence.alpha1``            Lemma 1, radius of the set for θ*
α⁽²⁾(δ)    ``confidence.alpha2``            Lemma 3
α⁽³⁾(δ)    ``confidence.alpha3``            Lemma 4
ρ_n(δ)     ``confidence.rho``               Theorem 1, radius of the set for φ* at one n
ρ_n(δ/n²)  ``confidence.rho_simultaneous``  Theorem 1, for all n simultaneously
ξ_t(δ)     ``confidence.xi``                Section 4.2, width of the index
Regret_T   ``confidence.regret_bound``      Theorem 3; :mod:`hrprob.estimation.regret_bound`
=========  ===============================  ==============================================

There are three versions: ``paper`` is as printed, ``corrected`` has the errors of the print corrected, ``explicit``
has besides an α⁽²⁾ without unknown constants. :mod:`hrprob.estimation.versions` lists the differences, and says which
version is proved for which design.

Under noise that is not normal, ``corrected`` and ``explicit`` use κ·σ_max for σ_max in α⁽¹⁾ and α⁽³⁾. α⁽²⁾ is about squares of
noise: ``corrected`` assumes that C₁ and C₂ suit their tails, as the print does; ``explicit`` uses what κ implies for them.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

import math

import jax
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.precision import arrays_for, float64
from hrprob._core.records import record, set_frozen
from hrprob.estimation.arguments import check_at_least_one, check_delta
from hrprob.estimation.regret_bound import expected_regret_bound, regret_bound
from hrprob.estimation.versions import VERSIONS, Printed

__all__ = ["VERSIONS", "ConfidenceSets"]

# Why each parameter must be above 0, or at least 0.
_POSITIVE = {
    "variance_max": "it is the largest variance of an outcome",
    "ridge": "without a ridge V may be singular",
    "slope": "the variance must grow along φᵀx",
    "c1": "it enters as ln(C₁/δ)",
    "c2": "it enters as 1/C₂",
}
_NOT_NEGATIVE = {
    "bound": "it bounds the norm of φ",
    "bound_theta": "it bounds the norm of θ",
    "c3": "it weighs the width for θ; see `lipschitz_constants`",
    "c4": "it weighs the width for φ; see `lipschitz_constants`",
}


@record(static=("dimension", "version"))
class ConfidenceSets:
    r"""Radii of the confidence sets, as functions of the sample size and δ.

    Parameters
    ----------
    variance_max : float
        :math:`\sigma^2_{\max}`, the largest variance that an outcome can have.
    dimension : int
        d, the length of a context.
    ridge, slope, bound : float
        λ, M_f and L.
    bound_theta : float
        Bound of ‖θ*‖: 1 in the paper; the version ``corrected`` uses the value given.
    c1, c2, c3, c4 : float
        Constants for which the theory gives no values.
    version : {"paper", "corrected", "explicit"}
        As printed, corrected, or corrected without unknown constants in α⁽²⁾
        (:mod:`hrprob.estimation.versions`).
    noise_scale : float
        κ ≥ 1, the sub-Gaussian scale of the standardised noise: ``noise.sub_gaussian_scale``. 1 for normal noise. The
        version ``paper`` does not use it.

    Notes
    -----
    The sets assume contexts of norm at most 1, ‖θ*‖ ≤ ``bound_theta``, ‖φ*‖ ≤ L and variances of at most σ²_max. That
    for θ* is proved for contexts picked by a policy too (``corrected``, ``explicit``); that for φ* is proved for fixed
    contexts only (``explicit``).

    Examples
    --------
    >>> import numpy as np
    >>> confidence = ConfidenceSets(variance_max=4.0, dimension=4)
    >>> confidence.rho_simultaneous(np.array([1e2, 1e3]), delta=0.1).round().tolist()
    [2765.0, 3789.0]
    """

    variance_max: float
    dimension: int
    ridge: float = 1.0
    slope: float = 1.0
    bound: float = 2.0
    bound_theta: float = 1.0
    c1: float = 1.0
    c2: float = 1.0
    c3: float = 1.0
    c4: float = 1.0
    version: str = "paper"
    noise_scale: float = 1.0

    def __post_init__(self) -> None:
        for names, strictly in ((_POSITIVE, True), (_NOT_NEGATIVE, False)):
            for name, remedy in names.items():
                number = check_number(name, getattr(self, name), low=0, open_low=strictly, remedy=remedy)
                set_frozen(self, **{name: number})
        set_frozen(
            self, dimension=check_count("dimension", self.dimension, remedy="it is the length of a context")
        )
        check_choice("version", self.version, tuple(VERSIONS))
        set_frozen(self, noise_scale=_check_scale(self.noise_scale, self._formulas))

    @property
    def _formulas(self) -> Printed:
        return VERSIONS[self.version]

    @float64
    def alpha1(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\sigma^2_{\max}\sqrt{d \ln((n+\lambda)/(\delta\lambda))} + \sqrt\lambda`.

        The version ``corrected`` has the factor :math:`\kappa\sigma_{\max}` instead of :math:`\sigma^2_{\max}`,
        :math:`\sqrt\lambda` times the bound of ‖θ*‖, and in one dimension :math:`2\ln(1/\delta)`.
        """
        n, delta = check_at_least_one(n), check_delta(delta)
        formulas, xp = self._formulas, arrays_for(n, delta, self)
        squared = self.dimension * xp.log((n + self.ridge) / (delta * self.ridge))
        more = formulas.log_delta_weight(self.dimension) - self.dimension
        spread = xp.sqrt(squared if more == 0 else squared - more * xp.log(delta))
        scale = formulas.noise_scale(self.variance_max, self.noise_scale)
        radius: jax.Array = spread * scale + xp.sqrt(self.ridge) * formulas.theta_norm(self.bound_theta)
        return radius

    @float64
    def alpha2(self, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\sqrt{2d\,\sigma^4_{\max}((\ln(C_1/\delta)/C_2)^2 + 1)}`.

        The version ``explicit`` has the bound derived in :mod:`hrprob.estimation.versions`.
        """
        return self._formulas.alpha2(self, check_delta(delta))

    @float64
    def alpha3(self, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\sqrt{2d\,\sigma^2_{\max} \ln(d/\delta)}`.

        The version ``corrected`` has :math:`\kappa^2\sigma^2_{\max}` and :math:`\ln(2d/\delta)`.
        """
        delta, formulas, xp = check_delta(delta), self._formulas, arrays_for(delta, self)
        variance = formulas.alpha3_variance(self.variance_max, self.noise_scale)
        log_tails = xp.log(formulas.tails(self.dimension) / delta)
        bound: jax.Array = xp.sqrt(2.0 * self.dimension * variance * log_tails)
        return bound

    @float64
    def rho(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return the radius of the set for φ* at one n.

        .. math::
            \rho_n(\delta) = \tfrac{1}{M_f}\bigl\{\alpha^{(1)}_n(\tfrac\delta3)
            \bigl(\alpha^{(1)}_n(\tfrac\delta3) + 2\alpha^{(3)}(\tfrac\delta3)\bigr)
            + \alpha^{(2)}(\tfrac\delta3)\bigr\} + L^2\sqrt\lambda

        The version ``corrected`` has :math:`L\sqrt\lambda` as its last term.
        """
        third = check_delta(delta) / 3.0
        alpha1 = self.alpha1(n, third)
        error = alpha1 * (alpha1 + 2.0 * self.alpha3(third)) + self.alpha2(third)
        bias = arrays_for(self).sqrt(self.ridge) * self._formulas.phi_norm(self.bound)
        return error / self.slope + bias

    @float64
    def rho_simultaneous(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\rho_n(\delta/n^2)`, which holds for all n simultaneously."""
        n, delta = check_at_least_one(n), check_delta(delta)
        return self.rho(n, delta / n**2)

    @float64
    def xi(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\xi = C_3\,\alpha^{(1)}_n(\delta) + C_4\,\rho_n(\delta/n^2)`."""
        return self.alpha1(n, delta) * self.c3 + self.rho_simultaneous(n, delta) * self.c4

    def regret_bound(self, users: ArrayLike, delta: ArrayLike, growth: ArrayLike) -> jax.Array:
        """Return the bound on the regret after ``users`` users that holds with probability 1 − ``delta``.

        See :func:`hrprob.estimation.regret_bound.regret_bound`; ``growth`` is K, at least 1.
        """
        return regret_bound(self, users, delta, growth)

    def expected_regret_bound(
        self, users: ArrayLike, growth: ArrayLike, largest: ArrayLike = 0.0
    ) -> jax.Array:
        """Return the bound on the expected regret after ``users`` users, from δ = 1/T.

        See :func:`hrprob.estimation.regret_bound.expected_regret_bound`; ``largest`` is the most that one user can cost.
        """
        return expected_regret_bound(self, users, growth, largest)


def _check_scale(scale: object, formulas: Printed) -> float:
    """Return κ, or raise if there is none where the formulas need it."""
    if formulas.needs_scale and isinstance(scale, float) and math.isinf(scale):
        raise InvalidInput(
            "noise_scale",
            "must be finite",
            scale,
            "this noise has no sub-Gaussian scale, E exp(se) is infinite (as with Student-t tails), and the proofs of "
            'the sets fail; use version or radius "paper", which ignores the noise, or "calibrated" or "constant" radii',
        )
    remedy = "it is the sub-Gaussian scale of a noise of variance 1, see `noise.sub_gaussian_scale`"
    infinite = isinstance(scale, float) and math.isinf(scale)
    return math.inf if infinite else check_number("noise_scale", scale, low=1, remedy=remedy)
