"""Error rates of tests, and the differences that they can detect."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from hrprob.numerics.power import POWER, detectable_difference
from hrprob.numerics.uniformity import simultaneous_band

__all__ = ["ERROR_RATE", "describe_detectable_shift", "detectable_coverage", "detectable_shift"]

ERROR_RATE = 0.01
"""Probability at most that one family of tests rejects although everything is as it should be."""

# Tests of uniformity can speak for an engine if a share that is off by this much would be detected.
_MOST_SHIFT = 0.26


def detectable_coverage(level: float, significance: float, contexts: float) -> float:
    """Return how far the coverage of ``contexts`` independent contexts must be from its level to be detected.

    Examples
    --------
    >>> round(detectable_coverage(0.9, 0.01, 400), 3)
    0.051
    """
    return detectable_difference(math.sqrt(level * (1.0 - level) / contexts), math.inf, significance)


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


def describe_detectable_shift(data_sets: int, significance: float) -> tuple[bool, str]:
    """Return whether a test of uniformity that passed detects more than gross faults, and words about it."""
    shift = detectable_shift(data_sets, significance)
    words = f"detect shares that are off by {100 * shift:.0f} points"
    if shift <= _MOST_SHIFT:
        return True, f"not significantly different from uniform, and {data_sets} data sets would {words}"
    return False, f"undecided: {data_sets} data sets could only {words}"
