r"""The constants C₃ and C₄ of Theorem 2, computed from the derivatives of h.

=========  ============  =====================================
symbol     name          where
=========  ============  =====================================
C₃, C₄     ``c3, c4``    Theorem 2
q_u, q_v   ``q_u, q_v``  proof of Theorem 2
M_h        ``m_h``       Lemma 12, smoothness of h
=========  ============  =====================================

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import program
from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob.lifetime import h
from hrprob.noise import NORMAL, Noise
from hrprob.problem.links import AffineLink

__all__ = ["Domain", "LipschitzConstants", "lipschitz_constants"]


class Domain(NamedTuple):
    """The domain of the suprema: the least and the largest value of each argument."""

    u: tuple[float, float]
    w: tuple[float, float]
    beta: tuple[float, float]


class LipschitzConstants(NamedTuple):
    """Suprema of the derivatives of h over ``domain``, and C₃ and C₄ computed from them."""

    q_u: float  # sup |∂h/∂u|
    q_v: float  # sup |∂h/∂w|
    m_h: float  # sup of the spectral norm of the Hessian in (u, w)
    c3: float  # q_u + M_h
    c4: float  # M_f (q_v + M_h M_f L)
    domain: Domain


@nearest_keywords
def lipschitz_constants(
    link: AffineLink,
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
    without limit, so the constants exist only above a variance floor, and their size depends
    on it.

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
        The smallest variance considered, above 0.
    noise : Noise
        The standardised distribution of outcomes.

    Notes
    -----
    h depends on u and β through their difference, so two arguments remain. The
    derivatives come from automatic differentiation on a grid (edges included), which is
    then refined around its largest value. A supremum on an edge, the usual case, is
    exact up to rounding; one in the interior has a relative error of 1e-9 at most, provided that
    the peak is wider than the spacing of the first grid: 1/256 of the range of the difference,
    and of the range of ln w.

    Examples
    --------
    >>> from hrprob.problem.links import Affine
    >>> link = Affine(slope=1.0, offset=2.0)
    >>> constants = lipschitz_constants(link, bound=1.0, beta_low=-0.5, beta_high=1.0, variance_floor=1.0)
    >>> f"{constants.c3:.1f}, {constants.c4:.1f}"
    '165.5, 158.2'
    >>> constants.domain.w
    (1.0, 3.0)
    """
    bound = check_number("bound", bound, low=0, remedy="it bounds the norm of φ")
    bound_theta = check_number("bound_theta", bound_theta, low=0, remedy="it bounds the norm of θ")
    beta_low = check_number("beta_low", beta_low, remedy="the paper's −B")
    beta_high = check_number(
        "beta_high",
        beta_high,
        low=beta_low,
        remedy="a level some standard deviations above u stands for infinity",
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
    # Where users never leave, h is infinite although its computed derivatives are 0.
    if not np.all(np.isfinite([*suprema, float(h(0.0, variance_floor, gaps[0], noise))])):
        raise InvalidInput(
            "variance_floor",
            "must leave the derivatives of h below 1e308",
            variance_floor,
            "raise it, or raise `beta_low`: with users who almost never leave the constants are infinite",
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


@program()
def _sizes(noise: Noise, gap: jax.Array, w: jax.Array) -> jax.Array:
    """Return |∂h/∂u|, |∂h/∂w| and the Hessian's spectral norm at u = 0, β = gap; shape (3, ...)."""

    def lifetime(u: jax.Array, w: jax.Array, gap: jax.Array) -> jax.Array:
        return h(u, w, gap, noise)

    def at(gap: jax.Array, w: jax.Array) -> jax.Array:
        zero = jnp.zeros_like(gap)
        along_u, along_w = jax.grad(lifetime, argnums=(0, 1))(zero, w, gap)
        (uu, uw), (_, ww) = jax.hessian(lifetime, argnums=(0, 1))(zero, w, gap)
        # Eigenvalues of a symmetric 2×2 matrix; hypot avoids the overflow of squaring 1e200.
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
    """Maximise row ``which`` of :func:`_sizes` on a grid that is refined around its largest value."""
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
            # At first two spacings each way, since the peak lies next to the best grid point.
            half = (top - bottom) * (2.0 / (points - 1) if step == 0 else shrink)
            center = np.array([gap[i], log_w[j]])
            bottom, top = np.maximum(low, center - half), np.minimum(high, center + half)
    return best
