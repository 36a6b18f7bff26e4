r"""Tests of prequential residuals against what was known before each of them.

Let :math:`e_i` have mean 0 and variance 1 given the past, and let the *weights* :math:`g_i` depend on the past and on
the present context alone. Then the partial sums of :math:`g_i e_i` are a martingale, and

.. math:: T = \sum_i g_i e_i \Big/ \Big(\sum_i g_i^2\Big)^{1/2}

is approximately standard normal under any policy and any stopping rule. Weights are contexts, their squares and
products, each minus its mean over earlier rounds. An effect is the mean of e per typical size of the weight,
:math:`T / \sqrt n`, with standard error :math:`1/\sqrt n`.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

__all__ = [
    "MEAN_ABSOLUTE",
    "SKEWNESS_OF_SIZE",
    "Effects",
    "context_weights",
    "effects",
    "spread",
    "two_sided_p",
    "upper_p",
]

MEAN_ABSOLUTE = math.sqrt(2.0 / math.pi)
"""E|e| of a standard normal e."""

SKEWNESS_OF_SIZE = 0.9953
"""The skewness of |e|."""
# Rounds before weights are used: their means over earlier rounds are then known roughly.
_FIRST = 10


class Effects(NamedTuple):
    """Effects of several weights on a residual, in order of the weights."""

    names: list[str]
    effect: np.ndarray  # per typical size of the weight, in units of the residual
    se: float
    p_value: float  # of the largest, allowing for their number

    @property
    def largest(self) -> int:
        """The index of the largest effect."""
        return int(np.argmax(np.abs(self.effect)))

    def within(self, margin: float) -> bool:
        """Return whether the one-sided 95 % bounds of all effects lie within ± ``margin``."""
        return bool(np.max(np.abs(self.effect)) + stats.norm.ppf(0.95) * self.se <= margin)


def effects(
    residual: np.ndarray, weights: dict[str, np.ndarray], scale: float = 1.0, skewness: float = 0.0
) -> Effects:
    """Return the effects of weights on a residual of mean 0, variance 1 and this skewness, multiplied by ``scale``.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=400)
    >>> found = effects(e + 0.5, {"everywhere": np.ones(400)})
    >>> bool(abs(found.effect[0] - 0.5) < 3 * found.se), bool(found.p_value < 1e-6)
    (True, True)
    """
    kept = {name: g for name, g in weights.items() if np.sum(g**2) > 1e-9 * g.size}
    n = residual.size
    standard = np.array([np.sum(g * residual) / math.sqrt(np.sum(g**2)) for g in kept.values()])
    p = np.array([two_sided_p(value, g, skewness) for value, g in zip(standard, kept.values(), strict=True)])
    return Effects(
        list(kept),
        scale * standard / math.sqrt(n),
        scale / math.sqrt(n),
        float(min(1.0, np.min(p) * p.size)),
    )


def two_sided_p(standard: float, weights: np.ndarray, skewness: float) -> float:
    """Return the p-value of a standardised sum of weighted residuals, corrected for its skewness (Cornish and Fisher).

    Examples
    --------
    >>> two_sided_p(3.0, np.ones(100), 0.0) < two_sided_p(3.0, np.ones(100), 1.0)
    True
    """
    return float(2.0 * stats.norm.sf(abs(_normal(standard, weights, skewness))))


def upper_p(standard: float, weights: np.ndarray, skewness: float) -> float:
    """Return the same one-sided: small where the sum is large.

    Examples
    --------
    >>> round(upper_p(1.6449, np.ones(100), 0.0), 4), round(upper_p(-1.6449, np.ones(100), 0.0), 4)
    (0.05, 0.95)
    """
    return float(stats.norm.sf(_normal(standard, weights, skewness)))


def _normal(standard: float, weights: np.ndarray, skewness: float) -> float:
    """Return a standardised sum without its skewness."""
    of_sum = skewness * float(np.sum(weights**3) / np.sum(weights**2) ** 1.5)
    return standard - of_sum * (standard**2 - 1.0) / 6.0


def context_weights(x: np.ndarray, features: tuple[str, ...], predicted: np.ndarray) -> dict[str, np.ndarray]:
    """Return the weights of contexts x (n, d): a constant, entries, squares, products, and mean times norm.

    Examples
    --------
    >>> list(context_weights(np.ones((20, 2)), ("x1", "x2"), np.zeros(20)))
    ['everywhere', 'x1', 'x2', 'x1²', 'x2²', 'x1·x2', 'the norm', 'mean × norm']
    """
    norm = np.linalg.norm(x, axis=1)
    raw = {name: x[:, j] for j, name in enumerate(features)}
    raw |= {f"{name}²": x[:, j] ** 2 for j, name in enumerate(features)}
    raw |= {
        f"{features[j]}·{features[k]}": x[:, j] * x[:, k] for j, k in combinations(range(len(features)), 2)
    }
    raw |= {"the norm": norm, "mean × norm": predicted * norm}
    return {"everywhere": np.ones(len(x))} | {name: _centred(column) for name, column in raw.items()}


def spread(residual: np.ndarray) -> tuple[np.ndarray, float]:
    """Return |e| as a residual of mean 0 and variance 1, and how many units of relative variance one of it is.

    If the variance is 1 + δ instead of 1, the mean of |e| changes by δ/2 of itself. The distribution of |e| is less skewed
    than that of e² (:data:`SKEWNESS_OF_SIZE`).
    """
    sd = math.sqrt(1.0 - MEAN_ABSOLUTE**2)
    return (np.abs(residual) - MEAN_ABSOLUTE) / sd, 2.0 * sd / MEAN_ABSOLUTE


def _centred(column: np.ndarray) -> np.ndarray:
    """Return a column minus its mean over earlier rounds; 0 in the first rounds, and where it does not vary."""
    number = np.arange(column.size)
    earlier = np.concatenate([[0.0], np.cumsum(column)[:-1]]) / np.maximum(number, 1)
    return np.where(number < min(_FIRST, column.size // 2), 0.0, column - earlier)
