"""Verdicts, intervals and tightness, on numbers whose answer is known."""

import math

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob.theory.findings import evaluate, failure_interval, verdict_on
from hrprob.theory.inequalities import INEQUALITIES, Inequality
from hrprob.theory.page import _failing
from hrprob.theory.quantities import Quantities


def _quantities(left: np.ndarray) -> Quantities:
    return Quantities(*[left] * len(Quantities._fields))._replace(n=np.ones_like(left))


def _finding(left, allowed, pointwise=True):
    entry = Inequality(
        "k", "r", "s", lambda q: q.theta_error, lambda q, sets, delta: np.ones_like(q.n), allowed
    )
    entry = Inequality(**{**vars(entry), "pointwise": pointwise})
    sets = {"corrected": hrprob.ConfidenceSets(4.0, 4, version="corrected")}
    at = tuple(range(1, left.shape[1] + 1))
    return evaluate(entry, _quantities(left), sets, delta=0.1, design="d", cuts=np.array(at), at=at)


def test_failures_are_counted_and_judged():
    left = np.where(np.arange(1000)[:, None] < [300, 100, 20], 2.0, 0.5)
    many, some, few = _finding(left, allowed=1.0)
    assert [one.failures for one in (many, some, few)] == [300, 100, 20]
    assert [one.verdict for one in (many, some, few)] == ["fails", "undecided", "holds"]
    assert few.tightness == 0.5
    assert many.tightness == 2.0


def test_a_share_of_failures_is_not_rounded_across_what_is_allowed():
    (one,) = _finding(np.full((10, 1), 0.5), allowed=1.0)
    printed = _failing(one._replace(share=0.08, share_low=0.06, share_high=0.1003, allowed=0.1))
    assert printed == "8.00 % [6.00 %, 10.03 %]"


def test_nothing_may_fail_where_nothing_is_allowed():
    left = np.array([[0.9, 0.9], [1.0 + 1e-12, 1.1]])
    assert [one.verdict for one in _finding(left, allowed=0.0)] == ["holds", "fails"]


def test_simultaneous_statements_fail_once_and_for_all():
    left = np.array([[2.0, 0.1]] * 20 + [[0.1, 0.1]] * 20)
    assert [one.failures for one in _finding(left, 1.0, pointwise=False)] == [20, 20]
    assert [one.failures for one in _finding(left, 1.0)] == [20, 0]


def test_intervals_are_those_of_clopper_and_pearson():
    for k, n in ((0, 50), (7, 50), (50, 50)):
        wanted = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
        assert failure_interval(k, n) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert verdict_on(0, (0.0, 0.1), 0.1) == "holds"


def test_entries_have_keys_of_their_own_and_known_versions():
    keys = [one.key for one in INEQUALITIES]
    assert len(keys) == len(set(keys))
    for one in INEQUALITIES:
        assert one.allowed in (0.0, 1.0, 2.0, 3.0)
        for version in one.versions:
            hrprob.ConfidenceSets(4.0, 4, version=version)


def test_a_right_side_below_zero_is_a_failure():
    entry = Inequality("k", "r", "s", lambda q: q.theta_error, lambda q, sets, delta: -np.ones_like(q.n))
    sets = {"corrected": hrprob.ConfidenceSets(4.0, 4, version="corrected")}
    left = np.ones((10, 1))
    (one,) = evaluate(entry, _quantities(left), sets, delta=0.1, design="d", cuts=np.array([1]), at=(1,))
    assert (one.failures, one.tightness) == (10, math.inf)
