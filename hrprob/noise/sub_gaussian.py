r"""The sub-Gaussian scale of a standardised noise e: the least R with E exp(se) ≤ exp(R²s²/2) for every s.

.. math:: R^2 = \sup_{s \ne 0} g(s), \qquad g(s) = \frac{2 \ln M(s)}{s^2}, \qquad M(s) = \mathbb E\,e^{se} .

g(0) = 1 is the variance, so R is at least 1: equal to 1 for normal noise and for noises that are "strictly"
sub-Gaussian, above 1 for others, infinite where a tail falls slower than every normal density. The
confidence sets need R·σ_max where the paper, whose noise is normal, has σ_max (its Remark 5).

As s → ±∞, g tends to the squared sd of the normal density like which the tail falls, and to 0 for bounded
noise. Near s = 0 the textbook ln M loses all its digits; with mean 0,

.. math:: M(s) - 1 = \mathbb E\,[e^{se} - 1 - se]

has an integrand that is nowhere negative, and loses none. g is computed on a grid in asinh s, which is
refined around its largest value until that changes by less than 1e-12. The result is rounded up by a relative
1e-9 if ln M is in closed form and by 1e-6 if it was integrated, so that it is an upper bound in
floating point too; a peak of g narrower than the spacing of the first grid, 1/80 in asinh s in the first case
and 1/50 in the second, is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hrprob._core.errors import InvalidInput

if TYPE_CHECKING:
    from hrprob.noise.base import Noise, Tailed

__all__ = ["excess_exponential", "integrated_scale", "largest_scale", "scale_of"]

LogMGF = Callable[[np.ndarray], np.ndarray]

_CLOSED_FORM, _INTEGRATED = 1e-9, 1e-6
# Points of the first grid, in both cases; points and number of the finer ones.
_GRID, _COARSE_GRID, _REFINED, _ROUNDS = 801, 201, 17, 10
# Below this |a| the series of eᵃ − 1 − a is used; its 17th term is below 1e-20 of the first.
_SMALL, _TERMS = 0.5, 16
# A density is integrated in pieces of at least _PIECE, wider far out, with _NODES nodes each.
_PIECE, _NODES = 0.125, 16
# The largest s looked at is _FAR over the sd of the tail.
_FAR = 30.0
# How ln ψ/z² must behave between these points for a tail to count as normal, or as heavier.
_TAIL_POINTS = (2.0**12, 2.0**14, 2.0**16)
_NORMAL_TAIL, _HEAVY_TAIL = 0.97, 0.9
_MOMENT_ERROR = 1e-6


def scale_of(noise: Noise) -> float:
    """Return the noise's sub-Gaussian scale; raise if it offers none.

    Examples
    --------
    >>> from hrprob.noise import Normal, StudentT
    >>> scale_of(Normal()), scale_of(StudentT(df=5.0))
    (1.0, inf)
    """
    scale = getattr(noise, "sub_gaussian_scale", None)
    if scale is None:
        remedy = "the confidence sets need it; give the noise a `sub_gaussian_scale`: R with E exp(se) ≤ exp(R²s²/2)"
        raise InvalidInput(
            "noise", "must have a sub-Gaussian scale", getattr(noise, "kind", repr(noise)), remedy
        )
    return float(scale)


def largest_scale(
    log_mgf: LogMGF,
    *,
    limit: float = 0.0,
    most: float = 1e4,
    tolerance: float = _CLOSED_FORM,
    points: int = _GRID,
) -> float:
    """Return the scale of a noise, given ln M, rounded up by a relative ``tolerance``; exactly 1 if g never exceeds 1.

    Parameters
    ----------
    log_mgf : callable
        ln M at an array of values s ≠ 0.
    limit : float
        The larger of the limits of g as s → ±∞.
    most : float
        The largest |s| looked at.
    tolerance : float
        The relative error of R² that is allowed for.
    points : int
        Points of the first grid on each side of 0.
    """
    highest = limit
    for sign in (-1.0, 1.0):
        low, high = math.asinh(1e-4), math.asinh(most)
        for step in range(_ROUNDS):
            places = np.linspace(low, high, points if step == 0 else _REFINED)
            s = sign * np.sinh(places)
            values = 2.0 * np.asarray(log_mgf(s)) / s**2
            if not np.all(np.isfinite(values)):
                return math.inf
            best = int(np.argmax(values))
            highest = max(highest, float(values[best]))
            low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    # Rounding of ln M must not make a noise of scale 1 one of scale 1 + 1e-10.
    return 1.0 if highest <= 1.0 + tolerance / 10 else math.sqrt(highest * (1.0 + tolerance))


def excess_exponential(a: np.ndarray) -> np.ndarray:
    """Return eᵃ − 1 − a, with a small relative error near 0 too.

    Examples
    --------
    >>> [f"{excess:.12g}" for excess in excess_exponential(np.array([1e-9, 1.0]))]
    ['5.00000000167e-19', '0.718281828459']
    """
    a = np.asarray(a, dtype=float)
    small = np.where(np.abs(a) < _SMALL, a, 0.0)
    series = np.zeros_like(a)
    for k in range(_TERMS, 1, -1):
        series = (series + 1.0) * small / k if k > 2 else (series + 1.0) * small**2 / 2.0
    return np.where(np.abs(a) < _SMALL, series, np.expm1(np.where(np.abs(a) < _SMALL, 1.0, a)) - a)


def integrated_scale(noise: Tailed) -> float:
    """Return the scale of a noise from its log density; infinite if a tail is heavier than normal.

    Raises
    ------
    InvalidInput
        If the tails are neither clearly normal nor clearly heavier, or the density cannot be
        integrated to a mass of 1, a mean of 0 and a variance of 1.
    """
    tails = [_tail_variance(noise, side) for side in (-1.0, 1.0)]
    if math.inf in tails:
        return math.inf
    # Bounded noise has no tail; s is then looked at up to _FAR.
    sd = math.sqrt(max(*tails, 1.0))
    most = _FAR / sd
    z, weights = _nodes(noise, reach=sd * (_FAR + 40.0))
    with np.errstate(under="ignore"):
        log_density = np.asarray(noise.log_pdf(z))
        mass = weights * np.exp(log_density)
    _check_moments(noise, z, mass)

    def log_mgf(s: np.ndarray) -> np.ndarray:
        values = np.empty_like(s)
        for place, one in enumerate(s):
            a = one * z
            if np.max(a) < 1.0:
                values[place] = np.log1p(np.sum(mass * excess_exponential(a)))
            else:
                exponent = a + log_density
                top = np.max(exponent)
                values[place] = top + np.log(np.sum(weights * np.exp(exponent - top)))
        return values

    return largest_scale(log_mgf, limit=max(tails), most=most, tolerance=_INTEGRATED, points=_COARSE_GRID)


def _tail_variance(noise: Tailed, side: float) -> float:
    """Return τ² of the normal density like which ψ falls on one side; 0 if it ends or falls faster, ∞ if slower."""
    points = side * np.array(_TAIL_POINTS)
    with np.errstate(all="ignore"):
        log_density = np.asarray(noise.log_pdf(points), dtype=float)
    if np.any(np.isneginf(log_density)):
        return 0.0
    steepness = -log_density / points**2
    change = steepness[2] / steepness[1]
    if change <= _HEAVY_TAIL or not np.all(steepness > 0.0):
        return math.inf
    if change < _NORMAL_TAIL or not np.all(np.isfinite(log_density)):
        remedy = "its density falls almost like a normal one far out; give the noise a `sub_gaussian_scale` of its own"
        raise InvalidInput(
            "noise", "must have tails that are clearly normal or clearly heavier", noise.kind, remedy
        )
    if change > 1.5:  # faster than normal
        return 0.0
    quadratic = np.polyfit(points / _TAIL_POINTS[0], log_density, 2)[0] / _TAIL_POINTS[0] ** 2
    return float(-0.5 / quadratic)


def _nodes(noise: Tailed, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of Gauss-Legendre sums over ± ``reach``, in pieces that are split at the corners."""
    far = [0.0]
    while far[-1] < reach:
        far.append(far[-1] + max(_PIECE, far[-1] / 64.0))
    corners = [float(corner) for corner in noise.corners if abs(float(corner)) < reach]
    # Towards a corner the pieces shrink: the density may be steep there.
    close = [corner + sign * 2.0**-k for corner in corners for k in range(3, 30) for sign in (-1.0, 1.0)]
    cuts = np.unique([*far, *(-cut for cut in far), *corners, *close])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    low = np.array([a for a, _ in pairwise(cuts)])[:, None]
    half = np.diff(cuts)[:, None] / 2.0
    return (low + half * (1.0 + nodes)).ravel(), (half * weights).ravel()


def _check_moments(noise: Tailed, z: np.ndarray, mass: np.ndarray) -> None:
    moments = np.array([np.sum(mass), np.sum(mass * z), np.sum(mass * z * z)])
    if not np.all(np.abs(moments - [1.0, 0.0, 1.0]) < _MOMENT_ERROR):
        remedy = "mass, mean and variance by integration; give the noise `corners` where ψ is steep, or a `sub_gaussian_scale`"
        raise InvalidInput(
            "noise", "must have a density that can be integrated", [f"{m:.8g}" for m in moments], remedy
        )
