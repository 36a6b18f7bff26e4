"""The probability of an interval, wherever one is asked for."""

from __future__ import annotations

import numpy as np

from hrprob._core.errors import check_number

__all__ = ["central", "check_prob"]


def check_prob(prob: object) -> float:
    """Return the probability of an interval, or raise.

    Examples
    --------
    >>> check_prob(0.9)
    0.9
    """
    remedy = "it is the probability of the interval, 0.9 for example"
    return check_number("prob", prob, low=0, high=1, open_low=True, open_high=True, remedy=remedy)


def central(values: np.ndarray, prob: float) -> np.ndarray:
    """Return mean, median and the ends of the central interval of draws (draws, m), as (m, 4)."""
    quantiles = np.quantile(values, [0.5, 0.5 - prob / 2, 0.5 + prob / 2], axis=0)
    return np.stack([values.mean(axis=0), *quantiles], axis=-1)
