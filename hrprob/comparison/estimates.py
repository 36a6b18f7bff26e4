r"""Regret over trials in numbers: means, growth, differences, each with its interval.

Two numbers describe how a curve R(t) grows over the last two thirds of the users, each
computed in every trial and averaged, with its 95 % t interval over trials:

- the *growth exponent*: slope of ln R(t) on ln t; 1 is linear, ½ is √t, 0 is flat;
- the *rate ratio*: regret of the last third of the users divided by that of the middle third; 1 is
  linear, (√3 − √2)/(√2 − 1) = 0.77 is √t. Unlike the exponent, it does not depend on the first third.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import xarray
from scipy import stats

__all__ = [
    "MOST_STANDARD_ERRORS",
    "Estimate",
    "estimate",
    "growth_exponent",
    "paired_difference",
    "rate_ratio",
]

MOST_STANDARD_ERRORS = 3.0
"""Differences of more standard errors than this count as clear."""


class Estimate(NamedTuple):
    """A mean over trials with its standard error and 95 % interval."""

    mean: float
    se: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.mean)} [{_short(self.low)}, {_short(self.high)}]"

    def below(self, value: float) -> bool:
        """Say whether the mean lies below ``value`` by more than three standard errors."""
        return self.mean + MOST_STANDARD_ERRORS * self.se < value

    def above(self, value: float) -> bool:
        """Say whether the mean lies above ``value`` by more than three standard errors."""
        return self.mean - MOST_STANDARD_ERRORS * self.se > value


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def estimate(values: np.ndarray) -> Estimate:
    """Return the mean over trials with its 95 % t interval.

    Examples
    --------
    >>> print(estimate(np.array([1.0, 2.0, 3.0])))
    2.00 [-0.48, 4.48]
    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean, math.inf, -math.inf, math.inf)
    se = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    half = float(stats.t.ppf(0.975, len(values) - 1)) * se
    return Estimate(mean, se, mean - half, mean + half)


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
