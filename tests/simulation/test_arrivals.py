"""Arrivals made in bulk: the same numbers as one by one, and ranks that order actions as their values do."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, Source, trial_keys
from hrprob.problem.objectives import MeanVariance
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS, arrivals

# To the last bit, in the code that users run.
pytestmark = pytest.mark.optimised

USERS = np.arange(1, 41, dtype=np.uint32)
KEYS = trial_keys(0, np.arange(3))

PROBLEMS = {
    "lifetime": hrprob.Problem(contexts=hrprob.Sphere(6)),
    "risk": hrprob.Problem(contexts=hrprob.Sphere(6), objective=MeanVariance(aversion=0.1)),
    "hidden": hrprob.Problem(contexts=hrprob.Sphere(6), satisfaction=hrprob.HiddenLevels()),
    "one round": hrprob.Problem(
        contexts=hrprob.Sphere(6), satisfaction=hrprob.InfiniteLevels(), objective=hrprob.Reward()
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_ranks_and_values_are_those_of_the_actions(name: str) -> None:
    problem = PROBLEMS[name]
    with double_precision():
        arrived = arrivals(problem, KEYS, USERS)
        values = np.asarray(problem.value(arrived.mean, arrived.sd**2, arrived.beta[:, None]))
        np.testing.assert_allclose(np.asarray(problem.rules.value_of(arrived.rank)), values, rtol=1e-12)
    np.testing.assert_allclose(arrived.best, values.max(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(arrived.rank).max(axis=1), arrived.best_rank)


def test_noise_in_bulk_is_that_of_single_users() -> None:
    with double_precision():
        arrived = arrivals(PROBLEMS["lifetime"], KEYS, USERS)
        alone = Source(KEYS, jnp.asarray(USERS[7:8])).normal(Purpose.NOISE, (BLOCK_OF_ROUNDS,))
    np.testing.assert_array_equal(np.asarray(arrived.noise)[7:8], alone)


def test_stays_of_one_round_have_the_noise_of_one() -> None:
    with double_precision():
        every, first = (arrivals(PROBLEMS[name], KEYS, USERS).noise for name in ("lifetime", "one round"))
    assert first.shape[1] == 1
    np.testing.assert_array_equal(np.asarray(every)[:, :1], first)


def test_the_oracle_has_no_regret_at_all() -> None:
    # Its value comes from one program, that of the action it plays from another.
    for problem in PROBLEMS.values():
        run = hrprob.simulate(problem, hrprob.Oracle(), users=60, trials=3, keep="all")
        assert np.all(run.regret == 0.0)
