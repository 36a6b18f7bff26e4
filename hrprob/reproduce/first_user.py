r"""The first published point of LinUCB and HR-UCB, compared with many trials of one user.

At user 1 a published value is the mean of 20 regrets of one user each, after the warm-up. Twenty trials of ours say little
about it; thousands of one user cost nothing, and the probability of a mean of 20 as large as the published one can be
read off means of 20 that are drawn from them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hrprob.io.config import Experiment
from hrprob.policies import HRUCB
from hrprob.policies.base import Policy
from hrprob.policies.radii.constant import ConstantWidth
from hrprob.problem import Problem
from hrprob.reproduce.published import published_curves
from hrprob.simulation.engine import simulate

__all__ = ["FirstUser", "first_users"]

_POLICIES = ("linucb", "hr-ucb-k5")
_PUBLISHED_TRIALS, _DRAWS = 20, 200_000


class FirstUser(NamedTuple):
    """A published regret at user 1, and how probable one as large is."""

    policy: str
    published: float
    mean: float  # of many trials
    probability: float  # that a mean of 20 trials is as large as the published one, or larger


def first_users(experiment: Experiment, trials: int = 4000) -> list[FirstUser]:
    """Return how probable the published values at user 1 are, for the policies that the experiment has."""
    policies = {
        name: _with_width(experiment.policies[name], experiment.problem, experiment.users)
        for name in _POLICIES
        if name in experiment.policies
    }
    if not policies:
        return []
    run = simulate(experiment.problem, policies, users=1, trials=trials, seed=experiment.seed)
    published = {curve.policy: float(curve.regret[0]) for curve in published_curves() if curve.panel != "d"}
    found = []
    for name in policies:
        regret = run.regret.sel(policy=name).values[:, 0]
        draws = np.random.default_rng(0).choice(regret, (_DRAWS, _PUBLISHED_TRIALS)).mean(axis=1)
        probability = float(np.mean(draws >= published[name]))
        found.append(FirstUser(name, published[name], float(regret.mean()), probability))
    return found


def _with_width(policy: Policy, problem: Problem, users: int) -> Policy:
    """Return the policy with the ξ that it has in a run of ``users`` users."""
    if not isinstance(policy, HRUCB):
        return policy
    width = policy.bind(problem, users).width
    assert isinstance(width, ConstantWidth)  # as the released radius is
    xi = float(width.value)
    return HRUCB(
        growth=policy.growth,
        ridge=policy.ridge,
        radius="constant",
        xi=xi,
        variance_floor=policy.variance_floor,
        warmup=policy.warmup,
    )
