r"""Policies over several problems: ranks, and regret compared with the best policy on each problem.

The best policy of a problem is not known. The policy of the least mean over some trials is better there than it is
on average, because it was chosen for that, and a ratio to its mean is too large. So the choice and the ratio rest on different
trials: the trials are split into halves (even and odd numbers), a trial of one half is compared with the policy of the
least mean regret over the *other* half, and the ratio is

.. math:: \frac{\sum_i R_i(\text{policy})}{\sum_i R_i(\text{chosen without trial } i\text{'s half})},

with Fieller's interval over trials (:func:`~hrprob.comparison.estimates.ratio_of_means`). What it is compared with may fall short of the
best by the error of that choice, so the ratio is to *the policy that one would pick*, and may be below 1. ``plain`` is
the ratio to the least mean over all trials, which cannot.

================  ==============================================================================================
``worst_ratio``   largest ratio over the problems. Its interval reaches from the largest lower to the largest upper end
                  of intervals that hold for all problems simultaneously (Bonferroni), so it covers the largest of the true
                  ratios, whichever problem that is. It has no upper end where the trials of some problem do not bound a
                  ratio there, which happens where the regret of the best policy has a heavy tail
``typical``       geometric mean of the ratios, with a t interval over problems of their logarithms. For problems
                  drawn from a distribution (:mod:`hrprob.comparison.held_out`) it is an estimate for that distribution; for
                  problems that somebody picked it describes how much they differ
================  ==============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray

from hrprob.comparison.estimates import Estimate, estimate, ratio_of_means
from hrprob.comparison.records import Comparison, plain_record
from hrprob.numerics.ratios import ratios_to_least

__all__ = ["Ratios", "RegretRatio", "SuiteRank", "rank_policies", "ratio_to_best", "ratios"]

_LEVEL = 0.95


class RegretRatio(NamedTuple):
    """The regret of a policy on one problem, divided by that of the best."""

    ratio: Estimate  # to the policy chosen on the other half of the trials
    simultaneous: tuple[float, float]  # the interval that holds on all problems simultaneously
    plain: float  # to the least mean over all trials


class SuiteRank(NamedTuple):
    """A policy over all problems that it played."""

    policy: str
    problems: int
    mean_rank: Estimate  # over problems
    firsts: int  # problems on which no other policy had less regret
    worst_ratio: Estimate
    worst_problem: str
    median_ratio: float
    typical: Estimate  # geometric mean of the ratios, over problems

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return plain_record(self)


Ratios = dict[str, dict[str, RegretRatio]]


def ratios(comparisons: Mapping[str, Comparison], data: Mapping[str, xarray.Dataset]) -> Ratios:
    """Return, by problem and policy, the regret divided by that of the best policy on that problem.

    Parameters
    ----------
    comparisons, data : mapping
        The comparison on every problem, and the result that was compared.
    """
    level = 1.0 - (1.0 - _LEVEL) / len(comparisons)
    return {
        problem: ratio_to_best(_regrets(comparison, data[problem]), level)
        for problem, comparison in comparisons.items()
    }


def ratio_to_best(regret: Mapping[str, np.ndarray], level: float = _LEVEL) -> dict[str, RegretRatio]:
    """Return the ratio of every policy's regret to that of the best policy.

    Parameters
    ----------
    regret : mapping
        The regrets over trials of every policy, the same trials for all.
    level : float
        Level of ``simultaneous``.

    Examples
    --------
    >>> regret = {"a": np.array([1.0, 4.0, 2.0, 3.0]), "b": np.array([3.0, 8.0, 4.0, 7.0])}
    >>> ratio = ratio_to_best(regret)["b"]
    >>> print(ratio.ratio, round(ratio.plain, 2))
    2.20 [1.87, 4.20] 2.2
    """
    # Regrets below one round count as one, so that a ratio to nearly nothing cannot be huge.
    values = {policy: own + max(0.0, 1.0 - float(np.mean(own))) for policy, own in regret.items()}
    best = _best_of_other_half(values)
    plain = ratios_to_least({policy: float(np.mean(own)) for policy, own in values.items()})
    return {policy: _ratio(own, best, plain[policy], level) for policy, own in values.items()}


def rank_policies(table: Mapping[str, Mapping[str, RegretRatio]]) -> list[SuiteRank]:
    """Return the policies by their worst ratio, the smallest first; equal regrets share a rank.

    Parameters
    ----------
    table : mapping
        The result of :func:`ratios`.
    """
    names = list(dict.fromkeys(policy for row in table.values() for policy in row))
    ranks = [_rank_policy(policy, table) for policy in names]
    return sorted(ranks, key=lambda rank: (-rank.problems, rank.worst_ratio.mean))


def _regrets(comparison: Comparison, data: xarray.Dataset) -> dict[str, np.ndarray]:
    regret = data.regret.sel(user=comparison.at)
    return {policy: np.asarray(regret.sel(policy=policy).values, dtype=float) for policy in comparison.rivals}


def _best_of_other_half(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return, for every trial, its regret under the policy that is best in the other half of the trials."""
    table = np.stack(list(values.values()))  # (policies, trials)
    best = np.empty(table.shape[1])
    for half in (0, 1):
        others = table[:, 1 - half :: 2] if table.shape[1] > 1 else table
        best[half::2] = table[int(np.argmin(others.mean(axis=1))), half::2]
    return best


def _ratio(own: np.ndarray, best: np.ndarray, plain: float, level: float) -> RegretRatio:
    if not math.isfinite(plain):
        unknown = Estimate(math.inf, math.inf, -math.inf, math.inf)
        return RegretRatio(unknown, unknown[2:], math.inf)
    simultaneous = ratio_of_means(own, best, level)
    return RegretRatio(ratio_of_means(own, best), (simultaneous.low, simultaneous.high), plain)


def _rank_policy(policy: str, table: Mapping[str, Mapping[str, RegretRatio]]) -> SuiteRank:
    own = {problem: row[policy] for problem, row in table.items() if policy in row}
    ranks = np.array(
        [
            1 + sum(other.plain < table[problem][policy].plain for other in table[problem].values())
            for problem in own
        ]
    )
    worst = max(own, key=lambda problem: own[problem].ratio.mean)
    means = np.array([one.ratio.mean for one in own.values()])
    logarithms = estimate(np.log(np.maximum(means, 1e-12)))
    return SuiteRank(
        policy,
        problems=len(own),
        mean_rank=estimate(ranks),
        firsts=int(np.sum(ranks == 1)),
        worst_ratio=own[worst].ratio._replace(
            low=max(one.simultaneous[0] for one in own.values()),
            high=max(one.simultaneous[1] for one in own.values()),
        ),
        worst_problem=worst,
        median_ratio=float(np.median(means)),
        typical=Estimate(
            math.exp(logarithms.mean),
            math.exp(logarithms.mean) * logarithms.se,
            math.exp(logarithms.low),
            math.exp(logarithms.high) if logarithms.high < 700.0 else math.inf,
        ),
    )
