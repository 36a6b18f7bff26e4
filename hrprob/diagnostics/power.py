"""Error rates of tests, and the differences that they can detect."""

from __future__ import annotations

import math

from hrprob.numerics.power import detectable_difference
from hrprob.numerics.uniformity import detectable_shift

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


def describe_detectable_shift(data_sets: int, significance: float) -> tuple[bool, str]:
    """Return whether a test of uniformity that passed detects more than gross faults, and words about it."""
    shift = detectable_shift(data_sets, significance)
    words = f"detect shares that are off by {100 * shift:.0f} points"
    if shift <= _MOST_SHIFT:
        return True, f"not significantly different from uniform, and {data_sets} data sets would {words}"
    return False, f"{data_sets} data sets could only {words}"
