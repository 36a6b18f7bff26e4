r"""Confidence sets of the GLSE, the width of the HR-UCB index, and the regret bound.

=========  =========================  ==============================================
symbol     name                       where
=========  =========================  ==============================================
σ²_max     ``variance_max``           Section 3, the largest variance of an outcome
λ, d       ``ridge``, ``dimension``   Section 4.1
M_f, L     ``slope``, ``bound``       Section 3, slope of the link and bound of ‖φ*‖
C₁, C₂     ``c1``, ``c2``             Lemma 3; the source gives no values
C₃, C₄     ``c3``, ``c4``             Theorem 2; :func:`lipschitz_constants`
α⁽¹⁾_n(δ)  ``sets.alpha1``            Lemma 1, radius of the set for θ*
α⁽²⁾(δ)    ``sets.alpha2``            Lemma 3
α⁽³⁾(δ)    ``sets.alpha3``            Lemma 4
ρ_n(δ)     ``sets.rho``               Theorem 1, radius of the set for φ* at one n
ρ_n(δ/n²)  ``sets.rho_simultaneous``  Theorem 1, for all n at once
ξ_t(δ)     ``sets.xi``                Section 4.2, width of the index
Regret_T   ``sets.regret_bound``      Theorem 3
q_u, q_v   ``q_u``, ``q_v``           proof of Theorem 2
M_h        ``m_h``                    Lemma 12, smoothness of h
=========  =========================  ==============================================

Two versions are offered. ``paper`` is as printed. ``corrected`` differs in three places:

- Lemma 1 quotes Theorem 2 of Abbasi-Yadkori, Pál and Szepesvári (2011) with σ²_max where
  that has the sub-Gaussian scale σ_max: too wide if σ_max > 1, and no bound if σ_max < 1.
- λ‖φ*‖ in the norm of V⁻¹ is at most L√λ, where Theorem 1 has L²√λ.
- The logarithm of Theorem 3 counts samples, of which there are up to Γ(T) and not T.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
.. [2] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, "Improved Algorithms for Linear
   Stochastic Bandits", NeurIPS 2011.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.precision import double_precision, float64, is_traced
from hrprob._core.records import record, set_frozen
from hrprob.lifetime import h
from hrprob.noise import NORMAL, Noise
from hrprob.problem.links import Affine

__all__ = ["VERSIONS", "ConfidenceSets", "Domain", "LipschitzConstants", "lipschitz_constants"]

VERSIONS = ("paper", "corrected")


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
        Bound of ‖θ*‖, 1 in the paper; the version ``corrected`` heeds another.
    c1, c2, c3, c4 : float
        The constants that the theory leaves open.
    version : {"paper", "corrected"}
        As printed, or with the slips mended (see the module's text).

    Notes
    -----
    The sets assume contexts of norm at most 1, ‖θ*‖ ≤ ``bound_theta`` and ‖φ*‖ ≤ L.

    Examples
    --------
    >>> sets = ConfidenceSets(variance_max=4.0, dimension=4)
    >>> sets.rho_simultaneous(np.array([1e2, 1e3]), delta=0.1).round().tolist()
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

    def __post_init__(self) -> None:
        positive = {
            "variance_max": "it is the largest variance of an outcome",
            "ridge": "without a ridge V may be singular",
            "slope": "the variance must grow along φᵀx",
            "c1": "it enters as ln(C₁/δ)",
            "c2": "it enters as 1/C₂",
        }
        not_negative = {
            "bound": "it bounds the norm of φ",
            "bound_theta": "it bounds the norm of θ",
            "c3": "it weighs the width for θ; see `lipschitz_constants`",
            "c4": "it weighs the width for φ; see `lipschitz_constants`",
        }
        for name, remedy in positive.items():
            set_frozen(
                self, **{name: check_number(name, getattr(self, name), low=0, open_low=True, remedy=remedy)}
            )
        for name, remedy in not_negative.items():
            set_frozen(self, **{name: check_number(name, getattr(self, name), low=0, remedy=remedy)})
        set_frozen(
            self, dimension=check_count("dimension", self.dimension, remedy="it is the length of a context")
        )
        check_choice("version", self.version, VERSIONS)

    @float64
    def alpha1(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\sigma^2_{\max}\sqrt{d \ln((n+\lambda)/(\delta\lambda))} + \sqrt\lambda`.

        The version ``corrected`` has :math:`\sigma_{\max}` in front, and the bound of ‖θ*‖ at :math:`\sqrt\lambda`.
        """
        n, delta = _check_n(n), _check_delta(delta)
        spread = jnp.sqrt(self.dimension * jnp.log((n + self.ridge) / (delta * self.ridge)))
        if self.version == "paper":
            return spread * self.variance_max + jnp.sqrt(self.ridge)
        return spread * jnp.sqrt(self.variance_max) + jnp.sqrt(self.ridge) * self.bound_theta

    @float64
    def alpha2(self, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\sqrt{2d\,\sigma^4_{\max}((\ln(C_1/\delta)/C_2)^2 + 1)}`."""
        delta = _check_delta(delta)
        tail = jnp.log(self.c1 / delta) / self.c2
        return jnp.sqrt(2.0 * self.dimension * (tail**2 + 1.0)) * self.variance_max

    @float64
    def alpha3(self, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\sqrt{2d\,\sigma^2_{\max} \ln(d/\delta)}`."""
        delta = _check_delta(delta)
        return jnp.sqrt(2.0 * self.dimension * self.variance_max * jnp.log(self.dimension / delta))

    @float64
    def rho(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return the radius of the set for φ* at one n.

        .. math::
            \rho_n(\delta) = \tfrac{1}{M_f}\bigl\{\alpha^{(1)}_n(\tfrac\delta3)
            \bigl(\alpha^{(1)}_n(\tfrac\delta3) + 2\alpha^{(3)}(\tfrac\delta3)\bigr)
            + \alpha^{(2)}(\tfrac\delta3)\bigr\} + L^2\sqrt\lambda

        The version ``corrected`` has :math:`L\sqrt\lambda` at the end.
        """
        third = _check_delta(delta) / 3.0
        alpha1 = self.alpha1(n, third)
        error = alpha1 * (alpha1 + 2.0 * self.alpha3(third)) + self.alpha2(third)
        bias = self.bound**2 if self.version == "paper" else self.bound
        return error / self.slope + jnp.sqrt(self.ridge) * bias

    @float64
    def rho_simultaneous(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\rho_n(\delta/n^2)`, which serves for every n at once."""
        n, delta = _check_n(n), _check_delta(delta)
        return self.rho(n, delta / n**2)

    @float64
    def xi(self, n: ArrayLike, delta: ArrayLike) -> jax.Array:
        r"""Return :math:`\xi = C_3\,\alpha^{(1)}_n(\delta) + C_4\,\rho_n(\delta/n^2)`."""
        return self.alpha1(n, delta) * self.c3 + self.rho_simultaneous(n, delta) * self.c4

    @float64
    def regret_bound(self, users: ArrayLike, delta: ArrayLike, growth: ArrayLike) -> jax.Array:
        r"""Return the bound on the regret after T users that holds with probability 1 − δ.

        .. math::
            \sqrt{8\,\xi_T^2(\delta/3)\,T\,d\,\ln\frac{N + \lambda d}{\lambda d}}

        with ξ at its largest sample size, Γ(T) = KT. N is T as printed and Γ(T) in the
        version ``corrected``, as in the last step of the proof.

        Parameters
        ----------
        users : array_like
            T.
        delta : array_like
            δ, in (0, 1).
        growth : array_like
            K, at least 1.
        """
        users, delta = _check_n(users, "users", "it is the number of users"), _check_delta(delta)
        growth = _check_n(growth, "growth", "every user brings at least one sample")
        samples = growth * users
        counted = users if self.version == "paper" else samples
        unit = self.ridge * self.dimension
        squared = 8.0 * users * self.dimension * jnp.log((counted + unit) / unit)
        return self.xi(samples, delta / 3.0) * jnp.sqrt(squared)


def _check_n(value: ArrayLike, field: str = "n", remedy: str = "it counts samples") -> jax.Array:
    if not is_traced(value) and not np.all(np.asarray(value) >= 1):
        raise InvalidInput(field, "must be at least 1", value, remedy)
    return jnp.asarray(value, dtype=float)


def _check_delta(value: ArrayLike) -> jax.Array:
    if not is_traced(value):
        plain = np.asarray(value)
        if not np.all((plain > 0) & (plain < 1)):
            raise InvalidInput(
                "delta", "must lie in (0, 1)", value, "it is the probability that the set misses"
            )
    return jnp.asarray(value, dtype=float)


class Domain(NamedTuple):
    """Where suprema were taken: the least and the largest value of each argument."""

    u: tuple[float, float]
    w: tuple[float, float]
    beta: tuple[float, float]


class LipschitzConstants(NamedTuple):
    """Suprema of the derivatives of h over ``domain``, and the C₃ and C₄ made of them."""

    q_u: float  # sup |∂h/∂u|
    q_v: float  # sup |∂h/∂w|
    m_h: float  # sup of the spectral norm of the Hessian in (u, w)
    c3: float  # q_u + M_h
    c4: float  # M_f (q_v + M_h M_f L)
    domain: Domain


def lipschitz_constants(
    link: Affine,
    bound: float,
    *,
    beta_low: float,
    beta_high: float,
    bound_theta: float = 1.0,
    variance_floor: float = 0.01,
    noise: Noise = NORMAL,
) -> LipschitzConstants:
    r"""Compute C₃ and C₄ from the derivatives of h over a stated domain.

    The domain is :math:`|u| \le` ``bound_theta``, :math:`w \in` [``variance_floor``, f(L)]
    and :math:`\beta \in` [``beta_low``, ``beta_high``]. As w → 0 the derivatives grow
    without limit, so the constants exist only above a floor, and the floor decides how
    large they are.

    Parameters
    ----------
    link : Affine
        f.
    bound : float
        L, the bound of ‖φ*‖.
    beta_low, beta_high : float
        Range of the satisfaction levels.
    bound_theta : float
        Bound of ‖θ*‖.
    variance_floor : float
        Least variance considered, above 0.
    noise : Noise
        The standardised distribution of the noise.

    Notes
    -----
    h depends on u and β through their difference, so two arguments remain. The
    derivatives come from automatic differentiation on a grid (edges included), which is
    then drawn together around its best point. A supremum on an edge, the usual case, is
    exact up to rounding; one inside is right to a relative 1e-9, provided that the peak
    is wider than the first grid's spacing: 1/256 of the range of the difference, and of
    that of ln w.

    Examples
    --------
    >>> link = Affine(slope=1.0, offset=2.0)
    >>> found = lipschitz_constants(link, bound=1.0, beta_low=-0.5, beta_high=1.0, variance_floor=1.0)
    >>> f"{found.c3:.1f}, {found.c4:.1f}"
    '165.5, 158.2'
    >>> found.domain.w
    (1.0, 3.0)
    """
    bound = check_number("bound", bound, low=0, remedy="it bounds the norm of φ")
    bound_theta = check_number("bound_theta", bound_theta, low=0, remedy="it bounds the norm of θ")
    beta_low = check_number("beta_low", beta_low, remedy="the paper's −B")
    beta_high = check_number(
        "beta_high", beta_high, low=beta_low, remedy="a level some deviations above u stands for infinity"
    )
    w_high = float(link(bound))
    variance_floor = check_number(
        "variance_floor",
        variance_floor,
        low=0,
        high=w_high,
        open_low=True,
        remedy="f(L) is the largest variance",
    )
    gaps = (beta_low - bound_theta, beta_high + bound_theta)
    suprema = [_supremum(noise, which, gaps, (variance_floor, w_high)) for which in range(3)]
    # Where nobody leaves at all nothing moves, and derivatives are 0 next to an h without bound.
    if not np.all(np.isfinite([*suprema, float(h(0.0, variance_floor, gaps[0], noise))])):
        raise InvalidInput(
            "variance_floor",
            "must leave the derivatives of h below 1e308",
            variance_floor,
            "raise it, or raise `beta_low`: a user who all but never leaves has no finite constant",
        )
    q_u, q_v, m_h = suprema
    return LipschitzConstants(
        q_u=q_u,
        q_v=q_v,
        m_h=m_h,
        c3=q_u + m_h,
        c4=float(link.slope) * (q_v + m_h * float(link.slope) * bound),
        domain=Domain((-bound_theta, bound_theta), (variance_floor, w_high), (beta_low, beta_high)),
    )


@jax.jit
def _sizes(noise: Noise, gap: jax.Array, w: jax.Array) -> jax.Array:
    """Return |∂h/∂u|, |∂h/∂w| and the Hessian's spectral norm at u = 0, β = gap; shape (3, ...)."""

    def lifetime(u: jax.Array, w: jax.Array, gap: jax.Array) -> jax.Array:
        return h(u, w, gap, noise)

    def at(gap: jax.Array, w: jax.Array) -> jax.Array:
        zero = jnp.zeros_like(gap)
        along_u, along_w = jax.grad(lifetime, argnums=(0, 1))(zero, w, gap)
        (uu, uw), (_, ww) = jax.hessian(lifetime, argnums=(0, 1))(zero, w, gap)
        # Eigenvalues of a symmetric 2×2 matrix; hypot keeps 1e200 from overflowing when squared.
        spectral = jnp.abs(uu + ww) / 2 + jnp.hypot((uu - ww) / 2, uw)
        return jnp.stack([jnp.abs(along_u), jnp.abs(along_w), spectral])

    return jnp.moveaxis(jax.vmap(jax.vmap(at))(gap, w), -1, 0)


def _supremum(
    noise: Noise,
    which: int,
    gaps: tuple[float, float],
    variances: tuple[float, float],
    points: int = 257,
    shrink: float = 0.25,
    rounds: int = 20,
) -> float:
    """Maximise row ``which`` of :func:`_sizes` by a grid that is drawn together around its best point."""
    low = np.array([gaps[0], np.log(variances[0])])
    high = np.array([gaps[1], np.log(variances[1])])
    bottom, top, best = low, high, -np.inf
    with double_precision():
        for step in range(rounds):
            count = points if step == 0 else 17
            gap, log_w = (np.linspace(a, b, count) for a, b in zip(bottom, top, strict=True))
            # exp(ln w) may round to a value outside the box.
            w = np.clip(np.exp(log_w), *variances)
            values = np.asarray(_sizes(noise, *np.meshgrid(gap, w, indexing="ij"))[which])
            if not np.all(np.isfinite(values)):
                return float("inf")
            i, j = np.unravel_index(np.argmax(values), values.shape)
            best = max(best, float(values[i, j]))
            # Two spacings each way at first, since the peak lies next to the best point of the grid.
            half = (top - bottom) * (2.0 / (points - 1) if step == 0 else shrink)
            center = np.array([gap[i], log_w[j]])
            bottom, top = np.maximum(low, center - half), np.minimum(high, center + half)
    return best
