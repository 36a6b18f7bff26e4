"""Greedy-first explores where greedy locks in, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin
from tests.helpers import make
from tests.policies.problems import ONE_SET


def exploring(problem: hrprob.Problem, users: int) -> np.ndarray:
    with double_precision():
        policy = make("greedy-first", {}).bind(problem, users)
        keys = trial_keys(0, np.arange(8))
        arrived = arrivals(problem, keys, np.arange(1, users + 1, dtype=np.uint32))
        carry, _ = advance(problem.rules, policy, keys, begin(policy, keys), arrived)
    return np.asarray(carry.learning.state.exploring)


@pytest.mark.study
def test_greedy_first_explores_where_greedy_locks_in_and_only_there() -> None:
    assert np.all(exploring(ONE_SET, 300) == 1)
    assert np.all(exploring(hrprob.Problem(), 300) == 0)
