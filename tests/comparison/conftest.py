"""Runs that several tests look at."""

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


@pytest.fixture(scope="module")
def regrets():
    """Final regrets of one policy in many independent trials."""
    run = hrprob.simulate(TINY, hrprob.Greedy(), users=25, trials=160_000, keep=25)
    return run.regret.isel(policy=0, user=-1).values
