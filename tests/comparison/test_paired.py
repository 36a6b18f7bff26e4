"""Paired comparison, compared with plain versions and by its error rates."""

import itertools

import numpy as np
import pytest
from scipy import stats

from hrprob._core.errors import InvalidInput
from hrprob.comparison import paired
from hrprob.comparison.paired import compare, compare_pair
from hrprob.numerics.multiple_testing import holm


def test_numbers_are_those_of_the_trials(result):
    found = compare(result, at=60)
    greedy, random = (result.regret.sel(policy=name, user=60).values for name in ("greedy", "random"))
    pair = found.pair("greedy", "random")
    sign = 1 if pair.policy == "greedy" else -1
    assert pair.difference.mean == pytest.approx(sign * np.mean(greedy - random))
    assert pair.p_value == pytest.approx(stats.ttest_rel(greedy, random).pvalue)
    test = stats.ttest_rel(greedy, random).confidence_interval(0.95)
    assert sorted([sign * pair.difference.low, sign * pair.difference.high]) == pytest.approx(
        [test.low, test.high]
    )
    assert pair.bootstrap[0] < pair.difference.mean < pair.bootstrap[1]
    standing = next(one for one in found.standings if one.policy == "greedy")
    expected = result.best.mean("user").values - greedy / 60
    assert standing.expected_lifetime.mean == pytest.approx(expected.mean())
    assert standing.optimal == pytest.approx(float(result.optimal.sel(policy="greedy").mean()))
    shares = result.optimal.mean(("trial", "user"))
    assert float(shares.sel(policy="oracle")) == 1.0
    assert float(shares.sel(policy="random")) < 0.6


def test_the_oracle_has_a_standing_and_is_not_compared(result):
    found = compare(result)
    assert found.standings[0].policy == "oracle"
    assert found.leader != "oracle"
    assert all("oracle" not in (pair.policy, pair.other) for pair in found.pairs)
    assert len(found.pairs) == 3
    against = compare(result, baseline="random")
    assert {pair.policy for pair in against.pairs} == {"greedy", "hr"}


def test_holm_is_the_step_down_rule():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.uniform(size=6)
        # The largest family level at which p_i is rejected, rank by rank.
        order = np.argsort(p)
        plain = np.empty(6)
        for place, i in enumerate(order):
            plain[i] = min(1.0, max(p[j] * (6 - k) for k, j in enumerate(order[: place + 1])))
        np.testing.assert_allclose(holm(p), plain)


def test_infinite_and_equal_regrets_do_not_differ():
    same = compare_pair("a", "b", np.array([np.inf, 1.0, 2.0]), np.array([np.inf, 1.0, 2.0]))
    assert (same.difference.mean, same.p_value, same.wins) == (0.0, 1.0, 0.5)
    apart = compare_pair("a", "b", np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    assert (apart.difference.mean, apart.p_value) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"baseline": "nobody"}, "baseline"),
        ({"at": 61}, "at"),
        ({"level": 0.0}, "level"),
        ({"level": 1.5}, "level"),
    ],
)
def test_unusable_input_is_refused(result, changes, field):
    with pytest.raises(InvalidInput) as complaint:
        compare(result, **changes)
    assert complaint.value.field == field
    with pytest.raises(InvalidInput, match="two at least"):
        compare(result.sel(policy=["oracle", "greedy"]))


@pytest.mark.slow
def test_equal_policies_are_called_different_at_the_nominal_rate(regrets, monkeypatch):
    # Its bootstrap intervals take most of a comparison's time, and p-values do not come from them.
    monkeypatch.setattr(paired, "_bootstrap", lambda difference: (0.0, 0.0))
    several = regrets[:40_000].reshape(1000, 2, 20)
    called = sum(compare_pair("a", "b", one, other).p_value <= 0.05 for one, other in several)
    # Binomial: 50 with a standard deviation of 6.9; three of them each way.
    assert 29 <= called <= 71


@pytest.mark.slow
def test_many_pairs_together_keep_the_level(regrets):
    """Among six equal policies, any pair is called different in at most 5 % of comparisons."""
    several = regrets[:120_000].reshape(1000, 6, 20)
    one, other = np.array(list(itertools.combinations(range(6), 2))).T
    p = stats.ttest_rel(several[:, one], several[:, other], axis=-1).pvalue
    assert sum(np.min(holm(pairs)) <= 0.05 for pairs in p) <= 71
