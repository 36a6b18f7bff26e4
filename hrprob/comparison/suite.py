"""Policies over several problems: ranks, and regret compared with the best on each problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrprob.comparison.paired import Comparison

__all__ = ["SuiteRank", "rank_policies", "ratios"]


class SuiteRank(NamedTuple):
    """A policy over all problems that it played."""

    policy: str
    problems: int
    mean_rank: float
    firsts: int  # problems on which no other policy had less regret
    worst_ratio: float  # largest ratio of its regret to the least on that problem
    worst_problem: str
    median_ratio: float


def ratios(comparisons: Mapping[str, Comparison]) -> dict[str, dict[str, float]]:
    """Return, by problem and policy, the mean regret divided by the least on that problem."""
    table = {}
    for problem, comparison in comparisons.items():
        regret = {
            standing.policy: standing.regret.mean
            for standing in comparison.standings
            if standing.policy not in comparison.yardsticks
        }
        # Regrets below one round count as one, so that a ratio to nearly nothing cannot be huge.
        least = max(min(regret.values()), 1.0)
        table[problem] = {policy: max(value, 1.0) / least for policy, value in regret.items()}
    return table


def rank_policies(comparisons: Mapping[str, Comparison]) -> list[SuiteRank]:
    """Return the policies by their worst ratio, the smallest first; equal regrets share a rank."""
    table = ratios(comparisons)
    names = list(dict.fromkeys(policy for row in table.values() for policy in row))
    ranks = [_rank_policy(policy, table) for policy in names]
    return sorted(ranks, key=lambda rank: (-rank.problems, rank.worst_ratio))


def _rank_policy(policy: str, table: Mapping[str, Mapping[str, float]]) -> SuiteRank:
    own = {problem: row[policy] for problem, row in table.items() if policy in row}
    ranks = [1 + sum(other < table[problem][policy] for other in table[problem].values()) for problem in own]
    worst = max(own, key=lambda problem: own[problem])
    return SuiteRank(
        policy,
        problems=len(own),
        mean_rank=float(np.mean(ranks)),
        firsts=sum(rank == 1 for rank in ranks),
        worst_ratio=own[worst],
        worst_problem=worst,
        median_ratio=float(np.median(list(own.values()))),
    )
