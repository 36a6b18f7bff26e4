"""Contexts and levels from functions: called once per user and trial, and checked as users arrive."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.random_numbers import WARMUP_USERS
from hrprob.comparison.coverage import coverage
from hrprob.simulation.data_sets import Truths, gather
from tests.problem.arrived import PHI, THETA, arrive, complaint


def test_a_function_returns_contexts_per_user_and_trial() -> None:
    def contexts(key: Any, user: Any) -> Any:
        return 0.3 * jnp.cos(user + jax.random.uniform(key, (2, 4)))

    def level(key: Any, user: Any) -> Any:
        return -1.0 / user

    arrived = arrive(
        [1, 2, WARMUP_USERS],
        contexts=hrprob.ContextFunction(contexts, actions=2),
        satisfaction=hrprob.LevelFunction(level, low=-1.0, high=0.0),
    )
    assert arrived.contexts.shape == (3, 2, 4, 3)
    assert len(np.unique(arrived.contexts)) == 3 * 2 * 4 * 3
    assert np.all(np.abs(arrived.contexts[0] - 0.3 * np.cos(1.5)) < 0.3)
    np.testing.assert_allclose(arrived.beta[:2, 0], [-1.0, -0.5])
    assert hrprob.LevelFunction(level, low=-1.0, high=0.0).support == (-1.0, 0.0)
    assert hrprob.LevelFunction(level).support == (-np.inf, np.inf)


def once(then: Any, before: Any, at: int) -> Any:
    return lambda key, user: jnp.where(user == at, then, before)


# Functions that are correct for every user for whom they are tried, and the error when another user arrives.
LATE = [
    (
        {"satisfaction": (jnp.nan, 0.0)},
        "problem.satisfaction.function",
        "finite levels within [-1, 1], got nan",
    ),
    ({"satisfaction": (2.0, 0.0)}, "problem.satisfaction.function", "finite levels within [-1, 1], got 2.0"),
    ({"contexts": (jnp.nan, 0.0)}, "problem.contexts.function", "finite numbers only"),
    ({"contexts": (1e200, 0.0)}, "problem.contexts.function", "norm at most 1, got inf"),
    ({"contexts": (0.6, 0.1)}, "problem.contexts.function", "norm at most 1, got 1.2"),
]


def with_functions(at: int, satisfaction: Any = (0.0, 0.0), contexts: Any = (0.1, 0.1)) -> hrprob.Problem:
    shape = np.ones((2, 4))
    levels = hrprob.LevelFunction(once(*satisfaction, at), low=-1.0, high=1.0)
    return hrprob.Problem(
        theta=THETA,
        phi=PHI,
        satisfaction=levels,
        contexts=hrprob.ContextFunction(lambda key, user: shape * once(*contexts, at)(key, user), actions=2),
    )


@pytest.mark.parametrize(("then", "field", "words"), LATE)
def test_what_a_function_returns_late_is_checked(then: Any, field: str, words: str) -> None:
    problem = with_functions(70, **then)
    error = complaint(lambda: hrprob.simulate(problem, hrprob.Random(), users=80, trials=2))
    assert error.field == field
    assert words in str(error)
    assert "so it is for user 70;" in str(error)


def _gathered(problem: hrprob.Problem) -> Any:
    truths = Truths(np.tile(problem.theta, (2, 1)), np.tile(problem.phi, (2, 1)))
    return gather(problem, hrprob.Random(), truths, users=80, seed=0)


def _covered(problem: hrprob.Problem) -> Any:
    return coverage(problem, hrprob.HRUCB(), users=[10, 80], trials=2)


@pytest.mark.slow
@pytest.mark.parametrize("use", [_gathered, pytest.param(_covered, marks=pytest.mark.study)])
def test_what_a_function_returns_late_is_checked_in_data_sets_and_coverage(use: Any) -> None:
    error = complaint(lambda: use(with_functions(70, satisfaction=(jnp.nan, 0.0))))
    assert error.field == "problem.satisfaction.function"
    assert "so it is for user 70;" in str(error)
    use(with_functions(82, satisfaction=(jnp.nan, 0.0)))


@pytest.mark.slow
def test_a_function_is_not_checked_for_users_beyond_the_last() -> None:
    # The last chunk is padded to the length of the others.
    problem = with_functions(81, satisfaction=(jnp.nan, 0.0))
    result = hrprob.simulate(problem, hrprob.Random(), users=80, trials=2)
    assert np.all(np.isfinite(result.regret))


def test_what_a_function_returns_for_warm_up_users_is_checked() -> None:
    problem = with_functions(0, satisfaction=(jnp.inf, 0.0))
    assert np.all(np.isfinite(hrprob.simulate(problem, hrprob.Random(), users=80, trials=2).regret))
    for use in (
        lambda: hrprob.simulate(problem, hrprob.Greedy(warmup=2), users=80, trials=2),
        lambda: coverage(problem, hrprob.HRUCB(warmup=2), users=[10], trials=2),
    ):
        error = complaint(use)
        assert error.field == "problem.satisfaction.function"
        assert "so it is for warm-up user 0;" in str(error)
