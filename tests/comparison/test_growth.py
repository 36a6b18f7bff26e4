"""The tests of linear and sublinear growth, on curves whose growth is known and on played policies."""

import json
import math

import numpy as np
import pytest

from hrprob.comparison.estimates import Estimate
from hrprob.comparison.growth import FALL, falls, linear, measured_error_rates, sublinear, window_rates
from tests.comparison.growth_cases import TABLE, cases, error_rates

USERS = np.arange(1, 30001, 10)


def curve(regret, noise=0.03, trials=20, seed=0):
    """Return regrets (trials, users) with a factor of their own in each trial."""
    factor = 1 + noise * np.random.default_rng(seed).standard_normal((trials, 1))
    return regret(USERS) * factor


LIMIT = curve(lambda t: 0.0369 * t, noise=0.005, seed=1)


def test_windows_are_doublings():
    rates = window_rates(np.arange(1, 801), np.sqrt(np.arange(1, 801))[None, :])
    expected = [
        (math.sqrt(end) - math.sqrt(start)) / (end - start)
        for start, end in ((100, 200), (200, 400), (400, 800))
    ]
    assert rates[:, 0] == pytest.approx(expected)


def test_windows_need_users():
    with pytest.raises(ValueError, match="four users"):
        window_rates(np.array([1, 2]), np.zeros((3, 2)))


def test_exploration_that_dies_out_does_not_make_a_linear_policy_sublinear():
    """The published rates of σ_max-UCB, 63, 43.9 and 38.3: they fall, to the rate of the limit."""
    regret = curve(lambda t: 0.0369 * t + 250 * (1 - np.exp(-t / 5000)), noise=0.02)
    rates = window_rates(USERS, regret).mean(axis=1)
    assert rates[0] > 1.3 * rates[2]
    assert linear(USERS, regret, LIMIT).verdict == "holds"
    assert sublinear(USERS, regret, LIMIT).verdict == "fails"


def test_a_policy_that_still_explores_is_undecided_and_only_users_help():
    regret = curve(lambda t: 0.0369 * t + 12 * np.sqrt(t))
    assert linear(USERS, regret, LIMIT)._replace(needed=math.inf) == linear(USERS, regret, LIMIT)
    assert linear(USERS, regret, LIMIT).verdict == "undecided"
    assert sublinear(USERS, regret, LIMIT).verdict in ("undecided", "fails")


@pytest.mark.parametrize(
    ("regret", "linear_is", "sublinear_is"),
    [
        (lambda t: 50 * np.log1p(t), "fails", "holds"),
        (lambda t: 2 * np.sqrt(t), "fails", "holds"),
        (lambda t: 0.0369 * t, "holds", "fails"),
        (lambda t: 0.015 * t, "fails", "fails"),
        (lambda t: 0.0 * t, "fails", "holds"),
    ],
    ids=["log", "root", "limit", "linear below the limit", "no regret"],
)
def test_verdicts(regret, linear_is, sublinear_is):
    # A rate that stays below the limit's is linear with another limit: not the limit's, and not sublinear.
    values = curve(regret)
    assert linear(USERS, values, LIMIT).verdict == linear_is
    assert sublinear(USERS, values, LIMIT).verdict == sublinear_is


def test_wide_intervals_decide_nothing_and_say_what_it_would_take():
    regret = curve(lambda t: 0.0369 * t, noise=0.4)
    test = linear(USERS, regret, LIMIT)
    assert test.verdict == "undecided"
    assert 20 < test.needed < 10_000
    # With about as many trials as that it is decided.
    many = curve(lambda t: 0.0369 * t, noise=0.4, trials=3 * int(test.needed))
    limit = curve(lambda t: 0.0369 * t, noise=0.005, trials=3 * int(test.needed), seed=1)
    assert linear(USERS, many, limit).verdict == "holds"


def test_a_limit_without_regret_decides_nothing():
    regret = curve(lambda t: 50 * np.log1p(t))
    test = linear(USERS, regret, 0.0 * LIMIT)
    assert test.verdict == "undecided"
    assert isinstance(test.late, Estimate)


def test_falling_rates():
    assert falls(USERS, curve(np.sqrt))[0] == "holds"
    assert falls(USERS, curve(lambda t: 1.0 * t))[0] == "fails"
    # The boundary itself: t to the power of ¾.
    _, fall = falls(USERS, curve(lambda t: t**0.75, noise=0.0))
    assert fall.mean == pytest.approx(FALL, rel=1e-3)


def test_measured_error_rates_are_small():
    rates = measured_error_rates()
    assert rates["replications"] == 200
    assert rates["trials"] == 20
    assert len({(case["policy"], case["problem"]) for case in rates["cases"]}) >= 10
    for case in rates["cases"]:
        for test in ("linear", "sublinear"):
            assert case[test]["wrong"] <= 0.05, case


@pytest.mark.study
def test_the_table_of_error_rates_is_what_the_policies_give():
    """About twelve minutes of computing; the seeds are fixed, another processor may move a few choices."""
    again = error_rates(cases())
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    for case, before in zip(again["cases"], stored["cases"], strict=True):
        assert (case["policy"], case["problem"], case["users"]) == (
            before["policy"],
            before["problem"],
            before["users"],
        )
        for test in ("linear", "sublinear"):
            assert case[test]["wrong"] <= 0.05
            assert case[test]["undecided"] == pytest.approx(before[test]["undecided"], abs=0.03)
