"""The difference that a test can detect."""

from __future__ import annotations

import math

from scipy import stats

__all__ = ["POWER", "detectable_difference"]

POWER = 0.8
"""Probability with which a difference that is called detectable is detected."""


def detectable_difference(se: float, degrees: float, level: float, power: float = POWER) -> float:
    """Return how large a difference of means must be to be detected by a two-sided t-test.

    Parameters
    ----------
    se : float
        The standard error of the difference.
    degrees : float
        Its degrees of freedom.
    level : float
        The level of the test.
    power : float
        The probability of detecting it.

    Examples
    --------
    >>> round(detectable_difference(1.0, 1e6, 0.05), 2)
    2.8
    """
    if not math.isfinite(se) or degrees < 1:
        return math.inf
    return float((stats.t.isf(level / 2, degrees) + stats.norm.ppf(power)) * se)
