r"""A test that numbers are uniform on [0, 1], as the rank of the truth among posterior draws must be.

The rank of a truth among draws, divided by their number, is its probability integral
transform (PIT) under the posterior. For N uniform numbers, the count below z is binomial. The
statistic is the least two-sided probability of such a count over z = 1/K, ..., (K − 1)/K [1]_: the
level of the narrowest simultaneous band that contains the whole empirical distribution function.
Its distribution under uniformity is simulated, so a test at level α errs with probability α at any
N. Smaller p-values than simulations can resolve are bounded by the sum of the probabilities over
the points (Bonferroni), so that each of many tests can still fail.

Leave-one-out PIT values are uniform but dependent: any two predictive distributions share all data but two.
:func:`dependent_uniformity_p_value` is the test for them, POT-C [2]_: under uniformity the i-th smallest of n
values has the distribution Beta(i, n + 1 − i); the two-sided p-values of all n order statistics are combined by
their mean on the Cauchy scale, tan(π(½ − p)), whose upper tail hardly depends on how they depend on each other
[3]_; p-values above ½ enter as ½ (truncated combination), so that they cannot hide small ones.

References
----------
.. [1] T. Säilynoja, P.-C. Bürkner, A. Vehtari, "Graphical test for discrete uniformity and
   its applications in goodness-of-fit evaluation and multiple sample comparison", Statistics
   and Computing 32, 2022.
.. [2] H. Tesso, A. Vehtari, "LOO-PIT predictive model checking", 2026; ``uniformity_test`` of the R package
   posterior and of ArviZ 1.3.
.. [3] Y. Liu, J. Xie, "Cauchy combination test: a powerful test with analytic p-value calculation under
   arbitrary dependency structures", Journal of the American Statistical Association 115, 2020.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from hrprob.numerics.power import POWER

__all__ = [
    "dependent_uniformity_p_value",
    "detectable_shift",
    "pit_among",
    "simultaneous_band",
    "uniformity_p_value",
]

_MOST_POINTS = 100
_SIMULATIONS = 20000


def pit_among(truth: ArrayLike, draws: ArrayLike, rng: np.random.Generator, axis: int = 1) -> np.ndarray:
    """Return the randomised PIT of the truth among draws: uniform if truth and draws have one distribution.

    With L draws it is (rank + U)/(L + 1), U uniform on [0, 1], so that it is continuous and uniform
    whatever L is. Ties are broken at random.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pit = pit_among(np.zeros(3), rng.normal(size=(3, 99)), rng)
    >>> bool(np.all((0.3 < pit) & (pit < 0.7)))
    True
    """
    value = np.expand_dims(np.asarray(truth), axis)
    draws = np.asarray(draws)
    below = np.sum(draws < value, axis=axis)
    ties = np.sum(draws == value, axis=axis)
    rank = below + np.floor(rng.uniform(size=below.shape) * (ties + 1))
    return (rank + rng.uniform(size=below.shape)) / (draws.shape[axis] + 1)


def uniformity_p_value(numbers: ArrayLike) -> float:
    """Return the p-value of the test that numbers are uniform on [0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> uniformity_p_value(rng.uniform(size=200)) > 0.05
    True
    >>> uniformity_p_value(rng.uniform(size=200) ** 2) < 0.001
    True
    """
    values = np.asarray(numbers, dtype=float).ravel()
    grid = _grid(values.size)
    counts = np.searchsorted(np.sort(values), grid, side="right")
    least = _least_probability(counts[None], values.size)[0]
    as_extreme = np.searchsorted(_null(values.size), least, side="right")
    return float(min((1 + as_extreme) / (_SIMULATIONS + 1), 2 * grid.size * least))


def dependent_uniformity_p_value(numbers: ArrayLike) -> float:
    """Return the p-value of the test that dependent numbers, as LOO-PIT values are, are uniform on [0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> dependent_uniformity_p_value(rng.uniform(size=200)) > 0.05
    True
    >>> dependent_uniformity_p_value(rng.uniform(size=200) ** 2) < 0.001
    True
    """
    values = np.sort(np.asarray(numbers, dtype=float).ravel())
    order = np.arange(1, values.size + 1)
    below = stats.beta.cdf(values, order, order[::-1])
    above = stats.beta.sf(values, order, order[::-1])
    p = 2.0 * np.minimum(below, above)
    extreme = np.maximum(p[p < 0.5], 1e-300)
    # Divided by the number of all values: a mean over those below ½ alone would double the level.
    return float(stats.cauchy.sf(np.sum(stats.cauchy.isf(extreme)) / values.size))


def simultaneous_band(size: int, error_rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points z, and the lower and upper edge of a band for the empirical distribution function there.

    The band contains the function of ``size`` uniform numbers with probability 1 − ``error_rate``. A function
    leaves it exactly if :func:`uniformity_p_value` of its numbers is below ``error_rate``.

    Examples
    --------
    >>> z, low, high = simultaneous_band(100, 0.05)
    >>> bool(np.all((low < z) & (z < high)))
    True
    """
    inside = _probabilities(size) >= _least_accepted(size, error_rate)
    low = np.argmax(inside, axis=1)
    high = size - np.argmax(inside[:, ::-1], axis=1)
    return _grid(size), low / size, high / size


def detectable_shift(data_sets: int, significance: float) -> float:
    """Return how far the share of PIT values below a point must be off to be detected, wherever the point is.

    Examples
    --------
    >>> round(detectable_shift(200, 0.01), 2)
    0.16
    """
    z, _, high = simultaneous_band(data_sets, significance)
    most = np.rint(data_sets * high)
    # With this share, more than ``most`` values lie below z with the wanted probability. Where the band reaches up
    # to all values, no share is too large. Shares that are too small are the mirror image.
    share = stats.beta.ppf(POWER, most + 1, data_sets - most)
    return float(np.max(np.where(most < data_sets, share, 1.0) - z))


def _grid(size: int) -> np.ndarray:
    points = max(2, min(size, _MOST_POINTS))
    return np.arange(1, points) / points


def _least_probability(counts: np.ndarray, size: int) -> np.ndarray:
    """Return the statistic of each row of counts below the points of the grid."""
    table = _probabilities(size)
    return table[np.arange(counts.shape[1]), counts].min(axis=1)


def _least_accepted(size: int, error_rate: float) -> float:
    """Return the least value of the statistic whose p-value is no less than ``error_rate``."""
    below = int(np.ceil(error_rate * (_SIMULATIONS + 1))) - 1  # simulations that must be as extreme
    by_simulation = _null(size)[below - 1] if below else 0.0
    return max(float(by_simulation), error_rate / (2 * _grid(size).size))


@functools.lru_cache(maxsize=8)
def _probabilities(size: int) -> np.ndarray:
    """Return the two-sided probability of each count 0 ... size (columns) at each point of the grid (rows)."""
    count, z = np.arange(size + 1), _grid(size)[:, None]
    return np.minimum(stats.binom.cdf(count, size, z), stats.binom.sf(count - 1, size, z))


@functools.lru_cache(maxsize=8)
def _null(size: int) -> np.ndarray:
    """Return the statistic of simulated uniform numbers, sorted; the seed is fixed."""
    points = _grid(size).size + 1
    cells = np.random.default_rng(0).multinomial(size, np.full(points, 1.0 / points), _SIMULATIONS)
    return np.sort(_least_probability(np.cumsum(cells, axis=1)[:, :-1], size))
