"""What the README's explanations compute, on users whose values are known."""

import numpy as np
import pytest

import hrprob
from tests.quoted.explanations import Users, scaled, total


@pytest.fixture
def users():
    """Return two users with three actions each."""
    mean = np.array([[0.5, 0.2, 0.1], [0.1, 0.3, 0.2]])
    value = np.array([[2.0, 5.0, 1.0], [1.0, 4.0, 3.0]])
    return Users(hrprob.Problem(), np.zeros((2, 1)), mean, np.ones((2, 3)), value)


def test_the_cost_of_another_score(users):
    # The largest mean is the first action of user 1, which costs 3, and the best one of user 2.
    error = users.error(users.mean, users=1000)
    assert error["share"] == 0.5
    assert error["cost"]["mean"] == 1500.0
    assert users.costs(users.value).tolist() == [0.0, 0.0]


def test_standard_errors_are_those_of_a_sum_of_users():
    costs = np.array([0.0, 1.0, 2.0, 3.0])
    assert total(costs, 100) == pytest.approx({"mean": 150.0, "se": 100 * np.std(costs, ddof=1) / 2})


def test_values_under_other_parts_of_the_problem(users):
    # With β = u half of the rounds end a stay under any symmetric noise.
    level = users._replace(beta=np.array([[0.5], [0.1]]))
    assert level.valued(noise=hrprob.Mixture(weight=0.5, gap=1.0))[:, 0].tolist() == pytest.approx([2.0, 2.0])


def test_a_scaled_width_is_the_released_one_times_the_factor():
    policy = scaled("drifting", "HR-UCB", 0.5)
    assert policy.xi == pytest.approx(26.03 / 2, abs=0.005)
    assert (policy.growth, policy.warmup) == (5, 5)
