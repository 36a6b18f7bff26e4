"""Designs for the printed confidence sets: how contexts are picked, and the sample sizes that are examined.

The lemmas behind ρ_n take the contexts as independent of the noise. So there are three
designs side by side: **fixed**, one round each of contexts picked at random; the contexts that
**hr-ucb** picks; those that **thompson** picks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import check_count
from hrprob._core.records import with_fields
from hrprob.policies import HRUCB, Random, Thompson
from hrprob.policies.base import Policy
from hrprob.problem import InfiniteLevels, Problem

__all__ = ["Design", "designs", "sample_sizes"]


class Design(NamedTuple):
    """How contexts are picked."""

    problem: Problem
    policy: Policy
    users: int


def sample_sizes(most: int) -> np.ndarray:
    """Return numbers of rounds from 10 on, two per decade.

    Examples
    --------
    >>> sample_sizes(1000).tolist(), sample_sizes(316).tolist()
    ([10, 32, 100, 316, 1000], [10, 32, 100, 316])
    """
    check_count("most", most, low=10, remedy="the smallest sample size is 10 rounds")
    sizes = np.round(10 ** np.arange(1.0, math.log10(most) + 0.5, 0.5)).astype(int)
    return sizes[sizes <= most]


def designs(
    problem: Problem,
    most: int,
    users: int = 30_000,
    hr_ucb: Policy | None = None,
    thompson: Policy | None = None,
) -> dict[str, Design]:
    """Return the three designs.

    Parameters
    ----------
    problem : Problem
        What is played.
    most, users : int
        Rounds of the fixed design, and the most users of the others, where rounds depend on lifetimes.
    hr_ucb, thompson : Policy, optional
        By default HR-UCB with ξ by the formula of the released program, at σ²_max = f(L), and Thompson sampling with ``laplace``.
    """
    return {
        # Where no user stays for a second round, contexts do not depend on the noise.
        "fixed": Design(_with_one_action(problem).replace(satisfaction=InfiniteLevels()), Random(), most),
        "hr-ucb": Design(problem, hr_ucb or HRUCB(), users),
        "thompson": Design(problem, thompson or Thompson(), users),
    }


def _with_one_action(problem: Problem) -> Problem:
    """Return the problem with one context per user, where its contexts can be drawn for a single action."""
    # Of other contexts, one is picked at random.
    if not getattr(problem.contexts, "drawn_by_action", False):
        return problem
    return problem.replace(contexts=with_fields(problem.contexts, actions=1))
