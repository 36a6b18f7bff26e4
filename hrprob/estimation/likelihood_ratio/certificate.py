r"""An ellipsoid that provably surrounds the likelihood-ratio set of normal outcomes, where the data allow a proof.

Let v̂ = (θ̂, φ̂) be any pair with positive variances ŵ_i, and for another pair v let

.. math:: a_i = \frac{(\theta - \hat\theta)^\top x_i}{\sqrt{\hat w_i}}, \qquad
    y_i = \frac{M_f (\phi - \hat\phi)^\top x_i}{\hat w_i}, \qquad e_j = \frac{r_j - \hat u_i}{\sqrt{\hat w_i}}

for round j under context i. Where all y_i > −1, exactly

.. math:: 2(\ell(\hat v) - \ell(v)) = -2\nabla\ell(\hat v)^\top(v - \hat v)
    + \sum_j \Big[\frac{(a + e_j y)^2}{1 + y} - \big(y - \ln(1 + y)\big)\Big].

Since :math:`1/(1 + y) \ge 1 - y` and, for :math:`|y| \le Y < 1`, :math:`y - \ln(1 + y) \le y^2/2 - y^3/3 + c(Y)\,y^4` with
:math:`c(Y) = (-\ln(1 - Y) - Y - Y^2/2 - Y^3/3)/Y^4`, the sum is at least

.. math:: \sum_j \big[(a + e_j y)^2 - (\tfrac12 + c(Y) Y^2)\, y^2\big] - T(v - \hat v), \qquad
    T = \sum_j \big[(a + e_j y)^2 y - \tfrac13 y^3\big].

The first part is a quadratic form, T a cubic one; both take one pass over the data. On the sphere
:math:`\lVert v - \hat v\rVert_A = R` all :math:`|y_i| \le \eta R`, and T is at most tR³, t being the spectral norm of the
tensor's unfolding. So if

.. math:: R^2 \lambda(\eta R) - t R^3 - 2 \lVert\nabla\ell\rVert_{A^{-1}} R > 2(\ell(\hat v) - \tau),

λ being the least eigenvalue of the quadratic form relative to A, no point of the sphere is in the set, and the connected piece of
the set around v̂ lies within the ellipsoid. ``docs/explanation/likelihood-ratio.md`` has the proof with all steps, and says
why there are other pieces at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hrprob.observations import Stays
from hrprob.problem.links import Affine

__all__ = ["Certificate", "Expansion", "certify", "expand"]

# Radii that are tried, as factors on that of a quadratic likelihood.
_FACTORS = np.linspace(1.0, 3.0, 201)


class Expansion(NamedTuple):
    """The log likelihood around v̂, as the proof needs it."""

    gradient: np.ndarray  # (2d,)
    scores: np.ndarray  # (2d, 2d) Σ_j of the squares (a + e_j y)²
    curvature: np.ndarray  # (2d, 2d) Σ_j of the squares y²
    cubic: np.ndarray  # (2d, 2d, 2d) the symmetric tensor of T
    leverage: float  # η


class Certificate(NamedTuple):
    """A proved radius, in the norm of A."""

    radius: float
    slack: float  # the radius over √(2(ℓ(v̂) − τ))


def expand(v: np.ndarray, stays: Stays, link: Affine, shape: np.ndarray) -> Expansion:
    """Return the expansion around v = (θ, φ) (2d,), with η in the norm of ``shape`` (2d, 2d)."""
    d = len(v) // 2
    x, rounds, total, squares = (np.asarray(leaf, dtype=float) for leaf in stays)
    used = rounds > 0
    x, rounds, total, squares = x[used], rounds[used], total[used], squares[used]
    u, w = x @ v[:d], np.asarray(link(x @ v[d:]))
    by_a, by_y = x / np.sqrt(w)[:, None], float(link.slope) * x / w[:, None]
    first = (total - rounds * u) / np.sqrt(w)  # Σ e
    second = (squares - 2.0 * u * total + rounds * u * u) / w  # Σ e²
    scores = np.block(
        [
            [by_a.T @ (rounds[:, None] * by_a), by_a.T @ (first[:, None] * by_y)],
            [by_y.T @ (first[:, None] * by_a), by_y.T @ (second[:, None] * by_y)],
        ]
    )
    curvature = np.zeros((2 * d, 2 * d))
    curvature[d:, d:] = by_y.T @ (rounds[:, None] * by_y)
    cubic = _cubic(by_a, by_y, rounds, first, second)
    gradient = np.concatenate([first @ by_a, 0.5 * (second - rounds) @ by_y])
    inverse = np.linalg.inv(shape)[d:, d:]
    leverage = math.sqrt(float(np.max(np.sum(by_y @ inverse * by_y, axis=1), initial=0.0)))
    return Expansion(gradient, scores, curvature, cubic, leverage)


def certify(
    v: np.ndarray, stays: Stays, link: Affine, shape: np.ndarray, excess: float
) -> Certificate | None:
    """Return the least radius for which the proof goes through; None if there is none.

    Parameters
    ----------
    v : ndarray, shape (2d,)
        The centre v̂ = (θ̂, φ̂).
    stays : Stays
        The data, normal outcomes.
    link : Affine
        f.
    shape : ndarray, shape (2d, 2d)
        A, the matrix of the ellipsoid.
    excess : float
        ℓ(v̂) − τ.
    """
    parts = expand(v, stays, link, shape)
    root = np.linalg.inv(np.linalg.cholesky(shape))
    scores, curvature = (root @ part @ root.T for part in (parts.scores, parts.curvature))
    cubic = np.einsum("ijk,ai,bj,ck->abc", parts.cubic, root, root, root, optimize=True)
    third = float(np.linalg.norm(cubic.reshape(len(v), -1), ord=2))
    slope, quadratic = float(np.linalg.norm(root @ parts.gradient)), math.sqrt(2.0 * max(excess, 0.0))
    for radius in quadratic * _FACTORS:
        bound = parts.leverage * radius
        if bound >= 1.0:
            return None
        least = np.linalg.eigvalsh(scores - (0.5 + _quartic_factor(bound) * bound**2) * curvature)[0]
        if radius**2 * least - third * radius**3 - 2.0 * slope * radius > quadratic**2:
            return Certificate(float(radius), float(radius / quadratic))
    return None


def _cubic(
    by_a: np.ndarray, by_y: np.ndarray, rounds: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return the symmetric tensor of T = Σ m a²y + 2(Σe)ay² + (Σe² − m/3)y³, over v = (θ, φ)."""
    d = by_a.shape[1]

    def product(weight: np.ndarray, *factors: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("n,ni,nj,nk->ijk", weight, *factors, optimize=True))

    t, p = slice(0, d), slice(d, 2 * d)
    tensor = np.zeros((2 * d, 2 * d, 2 * d))
    tensor[p, p, p] = product(second - rounds / 3.0, by_y, by_y, by_y)
    mixed, twice = product(rounds, by_a, by_a, by_y) / 3.0, 2.0 * product(first, by_a, by_y, by_y) / 3.0
    tensor[t, t, p], tensor[t, p, t], tensor[p, t, t] = mixed, mixed.swapaxes(1, 2), mixed.transpose(2, 0, 1)
    tensor[t, p, p], tensor[p, t, p], tensor[p, p, t] = twice, twice.swapaxes(0, 1), twice.transpose(1, 2, 0)
    return tensor


def _quartic_factor(bound: float) -> float:
    """Return c(Y), the largest (y − ln(1 + y) − y²/2 + y³/3)/y⁴ for |y| ≤ Y.

    Examples
    --------
    >>> round(_quartic_factor(0.5), 3), _quartic_factor(0.0)
    (0.424, 0.25)
    """
    if bound < 1e-2:
        return 0.25 + 0.21 * bound
    return (-math.log1p(-bound) - bound - bound**2 / 2.0 - bound**3 / 3.0) / bound**4
