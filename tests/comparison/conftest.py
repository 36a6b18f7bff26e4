"""Runs that several tests look at."""

import numpy as np
import pytest

import hrprob
from tests.comparison.example import TINY

POLICIES = {
    "greedy": hrprob.Greedy(),
    "random": hrprob.Random(),
    "oracle": hrprob.Oracle(),
    "hr": hrprob.HRUCB(),
}


@pytest.fixture(scope="module")
def result():
    return hrprob.simulate(TINY, POLICIES, users=60, trials=12, seed=2)


@pytest.fixture(scope="session")
def regrets():
    """Independent draws from the final regrets of one policy in some thousand trials: its own distribution, skewed.

    Whatever the trials were, two groups of such draws have the same distribution exactly.
    """
    run = hrprob.simulate(TINY, hrprob.Greedy(), users=25, trials=4000, keep=25)
    return np.random.default_rng(0).choice(run.regret.isel(policy=0, user=-1).values, 160_000)
