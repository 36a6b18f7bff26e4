"""Withheld coordinates are 0 for a while, and nothing is learned about them."""

from __future__ import annotations

import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, trial_keys
from hrprob.simulation.arrivals import arrivals
from tests.problem.arrived import arrive


def test_withheld_coordinates_are_zero_for_a_while() -> None:
    arrived = arrive([1, 2, 3, 4, WARMUP_USERS], contexts=hrprob.Withholding(6, users=3, coordinates=2))
    np.testing.assert_allclose(np.linalg.norm(arrived.contexts, axis=2), 1.0, rtol=1e-12)
    early = [0, 1, 2, 4]
    assert np.all(arrived.contexts[early][:, :, 2:] == 0)
    assert np.all(arrived.contexts[early][:, :, :2] != 0)
    assert np.all(arrived.contexts[3] != 0)


@pytest.mark.slow
def test_nothing_is_learned_about_withheld_coordinates() -> None:
    problem = hrprob.Problem(contexts=hrprob.Withholding(5, users=30, coordinates=2))
    from hrprob.simulation.programs import advance, begin

    with double_precision():
        policy = hrprob.Greedy().bind(problem, 30)
        keys = trial_keys(0, np.arange(2))
        carry = begin(policy, keys)
        carry, _ = advance(problem.rules, policy, keys, carry, arrivals(problem, keys, np.arange(1, 31)))
    theta = np.asarray(carry.learning.state.estimates.theta)
    assert np.all(theta[2:] == 0)
    assert np.all(theta[:2] != 0)
