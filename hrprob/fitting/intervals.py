"""The probability of an interval, wherever one is asked for."""

from __future__ import annotations

from typing import Any

from hrprob._core.errors import check_number

__all__ = ["check_prob"]


def check_prob(prob: Any) -> float:
    """Return the probability of an interval, or raise.

    Examples
    --------
    >>> check_prob(0.9)
    0.9
    """
    remedy = "it is the probability of the interval, 0.9 for example"
    return check_number("prob", prob, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
