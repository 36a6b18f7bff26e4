"""Tests of residuals against the past: their error rates under stopping rules, and what they find."""

import numpy as np

from hrprob.fitting.checks.martingales import SKEWNESS_OF_SIZE, context_weights, effects, spread
from hrprob.fitting.checks.users import dependence


def stays(rng, users=60, shared=0.0):
    """Standard normal residuals of users who leave at the first one below −0.8: the stopping rule selects."""
    residual, user = [], []
    for number in range(users):
        own = rng.normal()
        for _ in range(30):
            residual.append(np.sqrt(shared) * own + np.sqrt(1 - shared) * rng.normal())
            user.append(number)
            if residual[-1] < -0.8:
                break
    return np.array(residual), np.array(user)


def test_users_who_leave_because_of_outcomes_do_not_look_dependent():
    rng, p_values, sizes, plain = np.random.default_rng(0), [], [], []
    for _ in range(400):
        e, users = stays(rng)
        p_values.append(dependence(e, users)[2])
        sizes.append(dependence(spread(e)[0], users, SKEWNESS_OF_SIZE)[2])
        sums, counts = np.bincount(users, e), np.bincount(users)
        of_pairs = (sums**2 - np.bincount(users, e**2)) / np.maximum(counts * (counts - 1), 1)
        plain.append(np.mean(of_pairs[counts > 1]))
    # 5 % of 400 are 20, with a standard deviation of 4.4; 4 of these are allowed.
    assert 5 <= np.sum(np.array(p_values) < 0.05) <= 37
    assert 5 <= np.sum(np.array(sizes) < 0.05) <= 37
    # A mean over users of the correlation of their pairs is biased: the number of pairs depends on the outcomes.
    assert abs(np.mean(plain)) > 4 * np.std(plain) / 20


def test_a_shared_effect_is_found():
    rng = np.random.default_rng(1)
    found = [dependence(*stays(rng, shared=0.4))[2] < 0.001 for _ in range(20)]
    assert sum(found) >= 16


def test_rounds_that_differ_more_than_expected_are_no_shared_effect():
    e = np.random.default_rng(2).normal(size=(200, 4))
    against = e - 0.3 * (e.sum(axis=1, keepdims=True) - e)
    estimate, _, p = dependence(against.ravel(), np.repeat(np.arange(200), 4))
    assert estimate < -0.1
    assert p > 0.99


def test_variances_along_features_have_the_stated_error_rate_and_are_found():
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(200):
        x = rng.normal(size=(80, 2))
        size, unit = spread(rng.normal(size=80))
        weights = context_weights(x, ("x1", "x2"), np.zeros(80))
        alarms += effects(size, weights, unit, SKEWNESS_OF_SIZE).p_value < 0.05
    # At most 10 of 200 are expected (Bonferroni); 3 standard deviations more are allowed.
    assert alarms <= 19
    x = rng.normal(size=(400, 2))
    size, unit = spread(np.sqrt(0.5 + 0.5 * x[:, 0] ** 2) * rng.normal(size=400))
    found = effects(size, context_weights(x, ("x1", "x2"), np.zeros(400)), unit, SKEWNESS_OF_SIZE)
    assert found.p_value < 0.01
    assert found.names[found.largest] == "x1²"
    assert not found.within(0.3)


def test_an_effect_is_a_relative_error_of_the_variance():
    rng = np.random.default_rng(3)
    size, unit = spread(np.sqrt(1.3) * rng.normal(size=20000))
    found = effects(size, {"everywhere": np.ones(20000)}, unit)
    # To first order in δ: 2(√1.3 − 1) = 0.28.
    assert abs(found.effect[0] - 0.28) < 3 * found.se
