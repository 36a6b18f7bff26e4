r"""Regret over trials in numbers: means, ratios, growth, differences, each with its interval.

**Intervals** are 95 % intervals over trials, if nothing else is said: Student's t for means, Fieller's for ratios of means,
Welch's for means of different trials. A statement is decided by its interval, and :meth:`Estimate.against`
prints as many digits as it takes for the printed interval to decide as the exact one does.

Two numbers describe how a curve R(t) grows over the last two thirds of the users, each
computed in every trial and averaged:

- the *growth exponent*: slope of ln R(t) on ln t; 1 is linear, ½ is √t, 0 is flat;
- the *rate ratio*: regret of the last third of the users divided by that of the middle third; 1 is
  linear, (√3 − √2)/(√2 − 1) = 0.77 is √t. Unlike the exponent, it does not depend on the first third.

They describe; they do not decide. Exploration that dies out lowers both for a policy of linear regret:
:mod:`hrprob.comparison.growth` has the tests.

References
----------
.. [1] E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical
   Society B 16, 1954.
.. [2] B. L. Welch, "The generalization of 'Student's' problem when several different population
   variances are involved", Biometrika 34, 1947.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob._core.formatting import decimals_for, format_interval, format_number

__all__ = [
    "Estimate",
    "Verdict",
    "all_hold",
    "decisive_digits",
    "estimate",
    "growth_exponent",
    "paired_difference",
    "rate_ratio",
    "ratio_of_means",
    "trials_needed",
    "unpaired_difference",
    "verdict_above",
]

Verdict = Literal["holds", "fails", "undecided"]
"""The verdicts on a claim."""

_LEVEL = 0.95
# More digits than a double has decide nothing.
_MOST_DIGITS = 15


class Estimate(NamedTuple):
    """A mean over trials with its standard error and its interval, 95 % if nothing else is said."""

    mean: float
    se: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.against()

    def against(self, *values: float) -> str:
        """Return mean and interval, with digits by the standard error, and enough that no number is rounded across one of ``values``.

        Examples
        --------
        >>> ratio = Estimate(0.9505, 0.0222, 0.904, 0.997)
        >>> print(ratio, "but", ratio.against(1.0))
        0.95 [0.90, 1.00] but 0.951 [0.904, 0.997]
        """
        numbers = (self.mean, self.low, self.high)
        large = all(abs(number) >= 100 for number in numbers if math.isfinite(number))
        digits = decimals_for(self.se) if 0.0 < self.se < math.inf else 0 if large else 2
        digits = decisive_digits(numbers, values, digits)
        return f"{format_number(self.mean, digits)} {format_interval(self.low, self.high, digits)}"

    def negated(self) -> Estimate:
        """Return the estimate of minus the quantity."""
        return self._replace(mean=-self.mean, low=-self.high, high=-self.low)

    def below(self, value: float) -> bool:
        """Say whether the whole interval lies below ``value``."""
        return self.high < value

    def above(self, value: float) -> bool:
        """Say whether the whole interval lies above ``value``."""
        return self.low > value


def decisive_digits(numbers: Iterable[float], values: Iterable[float], digits: int) -> int:
    """Return the least number of digits, from ``digits`` on, that rounds none of ``numbers`` across one of ``values``.

    Examples
    --------
    >>> decisive_digits((1.16, 1.0017, 1.35), [1.0], 2), decisive_digits((1.16, 0.9, 1.35), [1.0], 2)
    (3, 2)
    """
    pairs = list(itertools.product(numbers, values))
    while digits < _MOST_DIGITS and not all(_same_side(*pair, digits) for pair in pairs):
        digits += 1
    return digits


def _same_side(number: float, value: float, digits: int) -> bool:
    """Say whether ``number`` and ``number`` rounded to ``digits`` digits are on the same side of ``value``."""
    if not math.isfinite(number):
        return True
    return bool(np.sign(round(number, digits) - value) == np.sign(number - value))


def all_hold(verdicts: list[Verdict]) -> Verdict:
    """Return the verdict on a claim that consists of several: one that fails is enough to fail it.

    Examples
    --------
    >>> all_hold(["holds", "undecided"]), all_hold(["undecided", "fails"]), all_hold(["holds", "holds"])
    ('undecided', 'fails', 'holds')
    """
    if "fails" in verdicts:
        return "fails"
    return "holds" if verdicts and all(verdict == "holds" for verdict in verdicts) else "undecided"


def verdict_above(value: Estimate, bound: float) -> Verdict:
    """Return whether a mean lies above ``bound``: by its interval, or undecided."""
    if value.above(bound):
        return "holds"
    return "fails" if value.below(bound) else "undecided"


def trials_needed(value: Estimate, trials: int, *bounds: float) -> float:
    """Return how many trials would free the interval of the nearest bound, if the mean stayed where it is.

    Its width falls with the square root of the number of trials.

    Examples
    --------
    >>> trials_needed(Estimate(1.0, 0.5, 0.0, 2.0), 20, 0.5)
    80.0
    """
    half = max(value.high - value.mean, value.mean - value.low)
    distance = min(abs(value.mean - bound) for bound in bounds)
    if not math.isfinite(half) or distance == 0:
        return math.inf
    return float(math.ceil(trials * (half / distance) ** 2))


def estimate(values: np.ndarray) -> Estimate:
    """Return the mean over trials with its 95 % t interval.

    Examples
    --------
    >>> print(estimate(np.array([1.0, 2.0, 3.0])))
    2.0 [−0.5, 4.5]
    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean, math.inf, -math.inf, math.inf)
    se = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    half = _t(len(values) - 1) * se
    return Estimate(mean, se, mean - half, mean + half)


def _t(degrees: float, level: float = _LEVEL) -> float:
    return float(stats.t.ppf(0.5 + level / 2, degrees))


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray, level: float = _LEVEL) -> Estimate:
    r"""Return the ratio of two means over the same trials, with Fieller's interval [1]_.

    The interval consists of all ρ for which a t-test of a mean of 0 does not reject
    :math:`a_i - \rho b_i`, so it respects that both means are noisy and go together. It is unbounded where the
    denominator's mean is not significantly different from 0; 0/0 is 0.

    Examples
    --------
    >>> print(ratio_of_means(np.array([3.0, 4.0, 5.0, 4.0]), np.array([6.0, 8.1, 9.9, 8.2])))
    0.497 [0.482, 0.509]
    """
    a, b = float(np.mean(numerator)), float(np.mean(denominator))
    if not np.any(numerator) and not np.any(denominator):
        return Estimate(0.0, 0.0, 0.0, 0.0)
    n = len(numerator)
    ratio = a / b if b else math.inf
    if n < 2:
        return Estimate(ratio, math.inf, -math.inf, math.inf)
    (aa, ab), (_, bb) = np.cov(numerator, denominator) / n
    t = _t(n - 1, level)
    square = b * b - t * t * bb
    if square <= 0:
        return Estimate(ratio, math.inf, -math.inf, math.inf)
    half = a * b - t * t * ab
    root = math.sqrt(max(half * half - square * (a * a - t * t * aa), 0.0))
    se = math.sqrt(max(aa - 2 * ratio * ab + ratio * ratio * bb, 0.0)) / abs(b)
    return Estimate(ratio, se, (half - root) / square, (half + root) / square)


def unpaired_difference(values: np.ndarray, others: np.ndarray) -> Estimate:
    """Return the difference of the means of two sets of trials that met different users (Welch [2]_).

    Examples
    --------
    >>> print(unpaired_difference(np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])))
    −4.0 [−10.0, 2.0]
    """
    test = stats.ttest_ind(values, others, equal_var=False)
    interval = test.confidence_interval(_LEVEL)
    se = math.sqrt(np.var(values, ddof=1) / len(values) + np.var(others, ddof=1) / len(others))
    return Estimate(float(np.mean(values) - np.mean(others)), se, float(interval.low), float(interval.high))


def _regret(run: xarray.Dataset, policy: str) -> xarray.DataArray:
    return run.regret.sel(policy=policy)


def growth_exponent(run: xarray.Dataset, policy: str) -> Estimate:
    """Return the slope of ln R(t) on ln t over the last two thirds of the users."""
    regret = _regret(run, policy)
    late = regret.sel(user=slice(int(run.user[-1]) / 3, None))
    if late.sizes["user"] < 2:
        return Estimate(math.nan, math.nan, math.nan, math.nan)
    # Equal steps of ln t: otherwise the many late users would outweigh the others.
    grid = np.unique(np.geomspace(float(late.user[0]), float(late.user[-1]), 40))
    points = late.sel(user=grid, method="nearest")
    x = np.log(points.user.values.astype(float))
    y = np.log(np.maximum(points.values, 1e-12))
    x = x - x.mean()
    return estimate((y * x).sum(axis=1) / (x * x).sum())


def rate_ratio(run: xarray.Dataset, policy: str) -> Estimate:
    """Return the regret of the last third of the users divided by that of the middle third.

    It is a ratio of means; its interval is that of the linearised ratio, the mean over trials of
    (last − ratio · middle)/mean(middle).
    """
    regret = _regret(run, policy)
    last = int(run.user[-1])
    first, second, third = (
        regret.sel(user=user, method="nearest").values for user in (last / 3, 2 * last / 3, last)
    )
    middle, late = second - first, third - second
    if np.mean(middle) <= 0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    ratio = float(np.mean(late) / np.mean(middle))
    spread = estimate((late - ratio * middle) / np.mean(middle))
    return Estimate(ratio, spread.se, ratio + spread.low, ratio + spread.high)


def paired_difference(run: xarray.Dataset, policy: str, other: str, since: float = 0.0) -> Estimate:
    """Return the regret of ``policy`` minus that of ``other`` at the last user, paired by trial.

    With ``since``, only regret after that share of the users counts.
    """

    def regret_since(name: str) -> np.ndarray:
        regret = _regret(run, name)
        start = regret.sel(user=max(1.0, since * int(run.user[-1])), method="nearest") if since else 0.0
        return np.asarray(regret.isel(user=-1) - start)

    return estimate(regret_since(policy) - regret_since(other))
