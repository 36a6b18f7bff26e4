r"""How tight an inequality is on replications, and how often it fails.

**Tightness** is the 1 − α quantile of left/right over replications, α being the allowed probability of failure (the
maximum where none is allowed): 1 means that the bound cannot be improved, 0.01 that it is a hundred times as large as needed
at this truth and design. Its interval is by bootstrap over replications.

**Failures** are counted with Clopper and Pearson's 95 % interval, which the verdict compares with α:

==========  ============================================================================
holds       no failure where none is allowed; else the interval's upper end is at most α
fails       a failure where none is allowed; else the interval's lower end is above α
undecided   the interval contains α, and is printed
==========  ============================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrprob.estimation.confidence import ConfidenceSets
from hrprob.numerics.shares import share_interval
from hrprob.theory.inequalities import Inequality
from hrprob.theory.quantities import Quantities

__all__ = ["Finding", "evaluate", "failure_interval", "verdict_on"]

COVERAGE = 0.95
_RESAMPLES = 500
# Left and right sides of an identity differ by rounding.
_ROUNDING = 1e-9


class Finding(NamedTuple):
    """One inequality on the replications of one design, at one number of users."""

    key: str
    reference: str
    statement: str
    design: str
    version: str
    users: int
    n: float  # median number of samples
    replications: int
    left_median: float
    left_90: float
    left_most: float
    right: float  # median
    tightness: float
    tightness_low: float
    tightness_high: float
    failures: int
    share: float
    share_low: float
    share_high: float
    allowed: float  # probability of failure
    verdict: str
    note: str


def evaluate(
    inequality: Inequality,
    quantities: Quantities,
    sets: Mapping[str, ConfidenceSets],
    *,
    delta: float,
    design: str,
    cuts: np.ndarray,
    at: tuple[int, ...],
    seed: int = 0,
) -> list[Finding]:
    """Return the findings of one inequality, for each version and each number of users in ``at``."""
    findings = []
    for version in inequality.versions:
        if version not in sets:
            continue
        left = inequality.left(quantities)
        right = np.asarray(inequality.right(quantities, sets[version], delta))
        share = _ratio(left, right)
        if not inequality.pointwise:
            share = np.maximum.accumulate(share, axis=1)
        allowed = inequality.allowed * delta
        for users in at:
            place = int(np.searchsorted(cuts, users))
            one = share[:, place]
            tight = _tightness(one, allowed, np.random.default_rng([seed, users]))
            failures = int(np.sum(one > 1.0 + _ROUNDING))
            low, high = failure_interval(failures, one.size)
            median, ninety, most = (_quantile(left[:, place], level) for level in (0.5, 0.9, 1.0))
            findings.append(
                Finding(
                    key=inequality.key,
                    reference=inequality.reference,
                    statement=inequality.statement,
                    design=design,
                    version=version if inequality.depends_on_sets else "",
                    users=users,
                    n=float(np.median(quantities.n[:, place])),
                    replications=one.size,
                    left_median=median,
                    left_90=ninety,
                    left_most=most,
                    right=float(np.median(right[:, place])),
                    tightness=tight[0],
                    tightness_low=tight[1],
                    tightness_high=tight[2],
                    failures=failures,
                    share=failures / one.size,
                    share_low=low,
                    share_high=high,
                    allowed=allowed,
                    verdict=verdict_on(failures, (low, high), allowed),
                    note=inequality.note,
                )
            )
    return findings


def verdict_on(failures: int, interval: tuple[float, float], allowed: float) -> str:
    """Return "holds", "fails" or "undecided".

    Examples
    --------
    >>> verdict_on(0, failure_interval(0, 100), 0.0), verdict_on(8, failure_interval(8, 100), 0.1)
    ('holds', 'undecided')
    """
    if allowed == 0.0:
        return "fails" if failures else "holds"
    if interval[1] <= allowed:
        return "holds"
    return "fails" if interval[0] > allowed else "undecided"


def failure_interval(failures: int, replications: int) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a probability.

    Examples
    --------
    >>> [round(end, 4) for end in failure_interval(0, 100)]
    [0.0, 0.0362]
    """
    return share_interval(failures, replications, (1.0 - COVERAGE) / 2.0)


def _quantile(values: np.ndarray, level: float) -> float:
    """Return a quantile, without interpolation: lifetimes may be infinite."""
    return float(np.quantile(values, level, method="higher"))


def _ratio(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left/right; infinite where the right side is 0 or negative and the left side is not 0."""
    safe = np.where(right > 0.0, right, 1.0)
    return np.where(right > 0.0, left / safe, np.where(left > 0.0, math.inf, 0.0))


def _tightness(share: np.ndarray, allowed: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return the quantile of left/right, and its interval by bootstrap."""
    level = 1.0 - allowed

    def quantile(values: np.ndarray) -> np.ndarray:
        # Without interpolation: some ratios are infinite.
        return np.quantile(values, level, axis=-1, method="higher")

    resampled = quantile(share[rng.integers(0, share.size, (_RESAMPLES, share.size))])
    tail = (1.0 - COVERAGE) / 2.0
    low, high = np.quantile(resampled, [tail, 1.0 - tail], method="nearest")
    return float(quantile(share)), float(low), float(high)
