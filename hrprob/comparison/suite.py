"""Policies over several problems: ranks, and how far each is from the best of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrprob.comparison.paired import Comparison

__all__ = ["Place", "rank", "ratios"]


class Place(NamedTuple):
    """A policy over all problems that it played."""

    policy: str
    problems: int
    mean_rank: float
    firsts: int  # problems on which no other had less regret
    worst_ratio: float  # largest regret, as a multiple of the least on that problem
    worst_problem: str
    median_ratio: float


def ratios(found: Mapping[str, Comparison]) -> dict[str, dict[str, float]]:
    """Return, by problem and policy, the mean regret as a multiple of the least on that problem."""
    table = {}
    for problem, comparison in found.items():
        regret = {
            s.policy: s.regret.mean for s in comparison.standings if s.policy not in comparison.yardsticks
        }
        # A policy that loses nothing has no multiple; one round is where differences begin to matter.
        least = max(min(regret.values()), 1.0)
        table[problem] = {policy: max(value, 1.0) / least for policy, value in regret.items()}
    return table


def rank(found: Mapping[str, Comparison]) -> list[Place]:
    """Return the policies, the one of least worst ratio first; ties in regret share a rank."""
    table = ratios(found)
    names = list(dict.fromkeys(policy for row in table.values() for policy in row))
    places = []
    for policy in names:
        mine = {problem: row[policy] for problem, row in table.items() if policy in row}
        standings = [
            1 + sum(other < table[problem][policy] for other in table[problem].values()) for problem in mine
        ]
        worst = max(mine, key=lambda problem: mine[problem])
        places.append(
            Place(
                policy,
                len(mine),
                float(np.mean(standings)),
                sum(place == 1 for place in standings),
                mine[worst],
                worst,
                float(np.median(list(mine.values()))),
            )
        )
    return sorted(places, key=lambda place: (-place.problems, place.worst_ratio))
