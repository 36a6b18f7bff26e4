"""Group sequential comparison: its level, and that trials are added as one run would have them."""

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob.comparison.sequential import decide, looks, nominal_level
from tests.comparison.example import TINY


def test_the_nominal_level_is_that_of_a_brownian_motion():
    rng = np.random.default_rng(1)
    count, runs = 5, 200_000
    times = 2.0 ** np.arange(count)
    steps = rng.normal(size=(runs, count)) * np.sqrt(np.diff(times, prepend=0.0))
    standard = np.cumsum(steps, axis=1) / np.sqrt(times)
    ever = np.any(np.abs(standard) > stats.norm.isf(nominal_level(0.05, count) / 2), axis=1)
    # Standard error √(.05·.95/200000) = .0005.
    assert np.mean(ever) == pytest.approx(0.05, abs=0.002)


@pytest.mark.study
def test_trials_are_added_until_the_leader_differs():
    policies = {"greedy": hrprob.Greedy(), "random": hrprob.Random(), "same": hrprob.Greedy(ridge=1.0001)}
    found = decide(TINY, policies, users=30, first_trials=4, most_trials=16)
    # Two nearly identical policies never differ significantly.
    assert (found.decided, found.looks, found.comparison.trials) == (False, 3, 16)
    whole = hrprob.simulate(TINY, policies, users=30, trials=16)
    np.testing.assert_array_equal(found.result.regret, whole.regret)
    clear = decide(TINY, {name: policies[name] for name in ("greedy", "random")}, users=30, first_trials=40)
    assert (clear.decided, clear.looks) == (True, 1)
    assert looks(8, 640)[-1] == 512


@pytest.mark.slow
def test_a_run_is_continued():
    policies = {"greedy": hrprob.Greedy(), "same": hrprob.Greedy(ridge=1.0001)}
    begun = hrprob.simulate(TINY, policies, users=30, trials=6)
    found = decide(TINY, policies, users=30, first_trials=4, most_trials=8, result=begun)
    whole = hrprob.simulate(TINY, policies, users=30, trials=8)
    np.testing.assert_array_equal(found.result.regret, whole.regret)


@pytest.mark.slow
def test_interim_analyses_keep_the_level(regrets):
    stops = looks(20, 80)
    nominal = nominal_level(0.05, len(stops))
    one, other = np.moveaxis(regrets.reshape(1000, 2, 80), 1, 0)
    p = [stats.ttest_rel(one[:, :n], other[:, :n], axis=1).pvalue for n in stops]
    called = np.sum(np.min(p, axis=0) <= nominal)
    # Binomial: 50 with a standard deviation of 6.9; three of them each way. At 5 % per look, 107 are expected.
    assert 29 <= called <= 71
