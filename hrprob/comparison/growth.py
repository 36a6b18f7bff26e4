r"""Is a regret linear or sublinear? Tests with three ends, over the cumulative regrets of trials.

No finite run decides what happens for ever, and a falling rate of regret alone decides nothing: while exploration dies
out, the rate of a policy of linear regret falls too. So a policy is compared with its *limit*: the policy it
tends to if its regret is linear (the best-mean oracle for policies that look at means only; a random choice for one
that never learns), played on the same users. Rates of regret are looked at in three windows, each a doubling of
users:

.. math:: w_1 = (T/8, T/4], \quad w_2 = (T/4, T/2], \quad w_3 = (T/2, T].

**Linear** is an equivalence (two one-sided tests [1]_) of the *late ratio*, the rate in w₃ over the limit's rate
in w₃:

=============  =======================================================================================
holds          the interval of the late ratio lies within 1 ± ``margin``
fails          it lies below 1 − ``margin``: the regret grows more slowly than the limit's
undecided      otherwise. Above 1 + ``margin`` the policy still explores, and only more users help
=============  =======================================================================================

**Sublinear** needs a late ratio clearly below 1 and a rate that falls over the doublings, by at least
:math:`4^{-1/4} = 0.71` from w₁ to w₃, as a regret of order :math:`t^{3/4}` does (√t: 0.5):

=============  =======================================================================================
holds          the late ratio lies below ½, the fall from w₁ to w₃ below 0.71, the fall from w₂ to w₃ below 1,
               each with its whole interval
fails          the fall from w₁ to w₃ lies above 0.71, or *linear* holds
undecided      otherwise
=============  =======================================================================================

All ratios are ratios of means over trials with Fieller's 90 % intervals, so that each end is a one-sided test
at 5 %. A verdict is a statement about the growth within these T users. Wrong verdicts and undecided ones have been counted on policies whose growth is known
(``growth_test_rates.json``; :func:`measured_error_rates`).

References
----------
.. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach",
   Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
"""

from __future__ import annotations

import json
import math
from importlib import resources
from typing import NamedTuple

import numpy as np

from hrprob._core.types import Decoded
from hrprob.comparison.estimates import Estimate, Verdict, ratio_of_means, trials_needed

__all__ = [
    "CEILING",
    "FALL",
    "LEVEL",
    "MARGIN",
    "GrowthTest",
    "falls",
    "linear",
    "measured_error_rates",
    "sublinear",
    "window_rates",
]

MARGIN = 0.1
"""A late rate within this share of the limit's rate counts as equal to it."""

CEILING = 0.5
"""A late rate below this share of the limit's rate is clearly below it."""

FALL = 4.0**-0.25
"""The least fall of the rate over two doublings that counts as sublinear."""

LEVEL = 0.9
"""Level of the intervals, by default: two one-sided tests at 5 % each."""


class GrowthTest(NamedTuple):
    """A verdict on the growth of a regret, and what it rests on."""

    verdict: Verdict
    late: Estimate  # rate in w₃ over the limit's
    fall: Estimate  # rate in w₃ over that in w₁
    last_fall: Estimate  # rate in w₃ over that in w₂
    rate: float  # per thousand users, in w₃
    limit_rate: float
    trials: int
    needed: float  # trials that would decide; infinite if only more users would; NaN once decided


def window_rates(users: np.ndarray, regret: np.ndarray) -> np.ndarray:
    """Return the regret per user in the windows w₁, w₂ and w₃, of shape (3, trials).

    Parameters
    ----------
    users : ndarray, shape (points,)
        The numbers of the users at which regret is known, in order; the last is T.
    regret : ndarray, shape (trials, points)
        Cumulative regret.

    Examples
    --------
    >>> users = np.arange(1, 801)
    >>> window_rates(users, 0.5 * users[None, :]).ravel().tolist()
    [0.5, 0.5, 0.5]
    """
    last = float(users[-1])
    places = np.array([int(np.abs(users - last / part).argmin()) for part in (8, 4, 2, 1)])
    lengths = np.diff(users[places])
    if np.any(lengths <= 0):
        raise ValueError(f"the windows need regret at four users at least, got users {users.tolist()}")
    return (np.diff(np.asarray(regret, dtype=float)[:, places], axis=1) / lengths).T


def linear(
    users: np.ndarray,
    regret: np.ndarray,
    limit: np.ndarray,
    margin: float = MARGIN,
    level: float = LEVEL,
) -> GrowthTest:
    """Decide whether a regret grows linearly, at the rate of the policy's limit.

    Parameters
    ----------
    users : ndarray, shape (points,)
        The numbers of the users at which regrets are known.
    regret, limit : ndarray, shape (trials, points)
        Cumulative regret of the policy and of its limit, trial by trial on the same users.
    margin : float
        The greatest difference that counts as none, as a share of the limit's rate.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> rng, users = np.random.default_rng(0), np.arange(1, 801)
    >>> limit = 0.5 * users * (1 + 0.01 * rng.standard_normal((20, 1)))
    >>> linear(users, limit + 10 * np.sqrt(users), limit).verdict
    'undecided'
    >>> linear(users, limit + np.log(users), limit).verdict, linear(users, 0 * limit, limit).verdict
    ('holds', 'fails')
    """
    test = _measure(users, regret, limit, level)
    late = test.late
    if late.above(1 - margin) and late.below(1 + margin):
        return test._replace(verdict="holds")
    if late.below(1 - margin):
        return test._replace(verdict="fails")
    # Above its limit a policy still explores, and more trials would only show that more clearly.
    needed = math.inf if late.mean > 1 + margin else trials_needed(late, test.trials, 1 - margin, 1 + margin)
    return test._replace(needed=needed)


def sublinear(users: np.ndarray, regret: np.ndarray, limit: np.ndarray, level: float = LEVEL) -> GrowthTest:
    """Decide whether a regret grows sublinearly: clearly below the limit's rate, and ever more slowly.

    Parameters
    ----------
    users : ndarray, shape (points,)
        The numbers of the users at which regrets are known.
    regret, limit : ndarray, shape (trials, points)
        Cumulative regret of the policy and of its limit, trial by trial on the same users.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> rng, users = np.random.default_rng(0), np.arange(1, 801)
    >>> limit = 0.5 * users * (1 + 0.01 * rng.standard_normal((20, 1)))
    >>> [sublinear(users, regret, limit).verdict for regret in (np.log(users) + 0 * limit, limit)]
    ['holds', 'fails']
    """
    test = _measure(users, regret, limit, level)
    bounds = ((test.late, CEILING), (test.fall, FALL), (test.last_fall, 1.0))
    if all(ratio.below(bound) for ratio, bound in bounds):
        return test._replace(verdict="holds")
    if test.fall.above(FALL) or linear(users, regret, limit, level=level).verdict == "holds":
        return test._replace(verdict="fails")
    missing = [(ratio, bound) for ratio, bound in bounds if not ratio.below(bound)]
    if any(ratio.mean >= bound for ratio, bound in missing):
        # The estimates do not favour the claim: trials decide only if the rate does not fall.
        fails = test.fall.mean > FALL
        return test._replace(needed=trials_needed(test.fall, test.trials, FALL) if fails else math.inf)
    return test._replace(needed=max(trials_needed(ratio, test.trials, bound) for ratio, bound in missing))


def falls(users: np.ndarray, count: np.ndarray) -> tuple[Verdict, Estimate]:
    """Decide whether the rate of a cumulative count falls over two doublings like t^(−1/4) or faster."""
    first, _, third = window_rates(users, count)
    fall = ratio_of_means(third, first, LEVEL)
    if fall.below(FALL):
        return "holds", fall
    return ("fails" if fall.above(FALL) else "undecided"), fall


def _measure(users: np.ndarray, regret: np.ndarray, limit: np.ndarray, level: float) -> GrowthTest:
    first, second, third = window_rates(users, regret)
    limit_rate = window_rates(users, limit)[2]
    return GrowthTest(
        verdict="undecided",
        late=ratio_of_means(third, limit_rate, level),
        fall=ratio_of_means(third, first, level),
        last_fall=ratio_of_means(third, second, level),
        rate=1000.0 * float(np.mean(third)),
        limit_rate=1000.0 * float(np.mean(limit_rate)),
        trials=len(third),
        needed=math.nan,
    )


def measured_error_rates() -> dict[str, Decoded]:
    """Return how often the tests were wrong and undecided on policies whose growth is known.

    Examples
    --------
    >>> max(case["linear"]["wrong"] + case["sublinear"]["wrong"] for case in measured_error_rates()["cases"]) <= 0.05
    True
    """
    file = resources.files("hrprob.experiments") / "reference" / "growth_test_rates.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))
