"""The state of a policy can be looked at while it plays; that does not change the play."""

import numpy as np

import hrprob
from hrprob._core.precision import double_precision
from hrprob.simulation.play import look_at_states
from tests.policies.problems import PROBLEM


def test_states_are_those_after_the_users_asked_for():
    def sizes(policy, state):
        return state.sample_size

    with double_precision():
        twice = look_at_states(PROBLEM, hrprob.HRUCB(growth=1), sizes, [3, 8], trials=2, seed=0)
        once = look_at_states(PROBLEM, hrprob.HRUCB(growth=1), sizes, [8], trials=2, seed=0)
    # With K = 1 the sample set is full after every user: Γ(t) = t.
    np.testing.assert_array_equal(twice, [[3, 3], [8, 8]])
    np.testing.assert_array_equal(once, twice[1:])
