"""Intervals of a probability from a count."""

from __future__ import annotations

from scipy import stats

__all__ = ["share_interval"]


def share_interval(hits: int, total: int, tail: float = 0.025) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a probability, with ``tail`` beyond each end.

    Examples
    --------
    >>> [round(end, 4) for end in share_interval(0, 100)]
    [0.0, 0.0362]
    """
    low = float(stats.beta.ppf(tail, hits, total - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1.0 - tail, hits + 1, total - hits)) if hits < total else 1.0
    return low, high
