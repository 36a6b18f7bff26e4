r"""An interval for a policy's lifetime that holds at all times [1]_.

After every user i, let :math:`\xi_i \ge 0` have mean μ given the users before. With predictable
:math:`\lambda_i \in [0, \tfrac12]` and :math:`\hat\xi_{i-1} \in [0, 1]`,

.. math:: \exp\Bigl\{\sum_i \lambda_i(\xi_i - \mu) - \psi(\lambda_i)(\xi_i - \hat\xi_{i-1})^2\Bigr\},
    \qquad \psi(\lambda) = -\ln(1 - \lambda) - \lambda,

is a supermartingale, whatever bounds the weights have, and so with probability 1 − α for all n together

.. math:: \mu \ge \frac{\sum_i \lambda_i \xi_i - \ln(1/\alpha) - \sum_i \psi(\lambda_i)(\xi_i - \hat\xi_{i-1})^2}{\sum_i \lambda_i}.

The lifetime up to the horizon H, divided by H, lies in [0, 1]. Its estimate by inverse propensities is not negative, and neither is that of
1 minus it, which gives the upper bound; each has half of α. The logger may have learned from the users before, and one may look after
every user, and stop.

References
----------
.. [1] I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis, P. Mineiro, "Anytime-valid off-policy inference for
   contextual bandits", ACM/IMS Journal of Data Science 1(3), 2024 (arXiv 2210.10768).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hrprob.live.evaluation.logged import LoggedStays
from hrprob.live.evaluation.weights import Weights

__all__ = ["Sequence", "anytime_interval", "lower_bounds"]

_MOST_BET = 0.5


class Sequence(NamedTuple):
    """Intervals after every user, each the intersection with those before."""

    low: np.ndarray  # (users,)
    high: np.ndarray  # (users,)


def anytime_interval(log: LoggedStays, weights: Weights, horizon: float, level: float) -> Sequence:
    """Return intervals of this level for the expected lifetime up to the horizon, after every user."""
    present = np.where(weights.known, weights.before, 0.0)
    lived = np.bincount(log.owner, present, minlength=log.users) / horizon
    missed = weights.upto[log.first + weights.lengths - 1] * (horizon - weights.lengths) / horizon
    alpha = 0.5 * (1.0 - level)
    low, high = lower_bounds(lived, alpha), 1.0 - lower_bounds(missed, alpha)
    # Every user plays a round.
    low = np.maximum.accumulate(np.maximum(horizon * low, 1.0))
    return Sequence(low, np.minimum.accumulate(np.minimum(horizon * high, horizon)))


def lower_bounds(numbers: np.ndarray, alpha: float) -> np.ndarray:
    """Return lower bounds (n,) of the mean of numbers that are not negative, which hold for all n together.

    Examples
    --------
    >>> bounds = lower_bounds(np.random.default_rng(0).exponential(0.5, size=4000), alpha=0.025)
    >>> bool(0.4 < bounds[-1] < 0.5)
    True
    """
    n = np.arange(1, len(numbers) + 1)
    clipped = np.minimum(numbers, 1.0)
    # Before each number: the mean and the variance of those before it, with half a number at ½ and ¼.
    means = np.append(0.5, (0.5 + np.cumsum(clipped)) / (n + 1))[:-1]
    squares = np.cumsum((numbers - np.minimum(means, 1.0)) ** 2)
    variance = np.append(0.25, (0.25 + squares) / (n + 1))[:-1]
    bets = np.minimum(np.sqrt(2.0 * math.log(1.0 / alpha) / (variance * n * np.log1p(n))), _MOST_BET)
    psi = -np.log1p(-bets) - bets
    spread = np.cumsum(psi * (numbers - means) ** 2)
    return (np.cumsum(bets * numbers) - math.log(1.0 / alpha) - spread) / np.cumsum(bets)
