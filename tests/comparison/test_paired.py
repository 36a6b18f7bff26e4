"""The statistics of a comparison, against plain versions and by their error rates."""

import itertools

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison import figures
from hrprob.comparison.paired import compare, compare_pair
from hrprob.comparison.sequential import decide, looks, nominal_level
from hrprob.comparison.suite import rank_policies, ratios
from hrprob.numerics.multiple_testing import holm

POLICIES = {
    "greedy": hrprob.Greedy(),
    "random": hrprob.Random(),
    "oracle": hrprob.Oracle(),
    "hr": hrprob.HRUCB(),
}
TINY = hrprob.Problem(theta=[0.5, 0.2], phi=[0.5, -0.3], contexts=hrprob.Ball(3))


@pytest.fixture(scope="module")
def result():
    return hrprob.simulate(TINY, POLICIES, users=60, trials=12, seed=2)


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


def test_the_oracle_is_a_yardstick(result):
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


def test_infinite_and_equal_regrets_are_no_difference():
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
def test_what_cannot_be_compared(result, changes, field):
    with pytest.raises(InvalidInput) as complaint:
        compare(result, **changes)
    assert complaint.value.field == field
    with pytest.raises(InvalidInput, match="two at least"):
        compare(result.sel(policy=["oracle", "greedy"]))


def test_ranks_and_ratios(result):
    comparisons = {"one": compare(result), "two": compare(result, at=1)}
    table = ratios(comparisons)
    assert min(table["one"].values()) == 1.0
    assert "oracle" not in table["one"]
    ranks = rank_policies(comparisons)
    worst = [rank.worst_ratio for rank in ranks]
    assert worst == sorted(worst)
    best = max(table["one"], key=lambda name: -table["one"][name])
    assert next(rank for rank in ranks if rank.policy == best).firsts >= 1


# The sequential rule.


def test_nominal_level_is_that_of_a_brownian_motion():
    rng = np.random.default_rng(1)
    count, runs = 5, 200_000
    times = 2.0 ** np.arange(count)
    steps = rng.normal(size=(runs, count)) * np.sqrt(np.diff(times, prepend=0.0))
    standard = np.cumsum(steps, axis=1) / np.sqrt(times)
    ever = np.any(np.abs(standard) > stats.norm.isf(nominal_level(0.05, count) / 2), axis=1)
    # Standard error √(.05·.95/200000) = .0005.
    assert np.mean(ever) == pytest.approx(0.05, abs=0.002)


@pytest.mark.study
def test_trials_are_added_until_it_is_decided():
    policies = {"greedy": hrprob.Greedy(), "random": hrprob.Random(), "same": hrprob.Greedy(ridge=1.0001)}
    found = decide(TINY, policies, users=30, first_trials=4, most_trials=16)
    # Two that are all but the same are never told apart.
    assert (found.decided, found.looks, found.comparison.trials) == (False, 3, 16)
    whole = hrprob.simulate(TINY, policies, users=30, trials=16)
    np.testing.assert_array_equal(found.result.regret, whole.regret)
    clear = decide(TINY, {name: policies[name] for name in ("greedy", "random")}, users=30, first_trials=40)
    assert (clear.decided, clear.looks) == (True, 1)
    assert looks(8, 640)[-1] == 512


@pytest.mark.slow
def test_a_run_is_gone_on_with():
    policies = {"greedy": hrprob.Greedy(), "same": hrprob.Greedy(ridge=1.0001)}
    begun = hrprob.simulate(TINY, policies, users=30, trials=6)
    found = decide(TINY, policies, users=30, first_trials=4, most_trials=8, result=begun)
    whole = hrprob.simulate(TINY, policies, users=30, trials=8)
    np.testing.assert_array_equal(found.result.regret, whole.regret)


@pytest.fixture(scope="module")
def regrets():
    """Final regrets of one policy in many trials; another seed is other trials."""
    run = hrprob.simulate(TINY, hrprob.Greedy(), users=25, trials=160_000, keep=25)
    return run.regret.isel(policy=0, user=-1).values


@pytest.mark.slow
def test_a_policy_is_not_told_apart_from_itself(regrets):
    several = regrets[:40_000].reshape(1000, 2, 20)
    called = sum(compare_pair("a", "b", one, other).p_value <= 0.05 for one, other in several)
    # Binomial: 50 with a standard deviation of 6.9; three of them each way.
    assert 29 <= called <= 71


@pytest.mark.slow
def test_nor_by_looking_again_and_again(regrets):
    stops = looks(20, 80)
    nominal = nominal_level(0.05, len(stops))
    called = 0
    for one, other in regrets.reshape(1000, 2, 80):
        called += any(stats.ttest_rel(one[:n], other[:n]).pvalue <= nominal for n in stops)
    # As above, three standard deviations; had every look its 5 %, 107 would be expected.
    assert 29 <= called <= 71


@pytest.mark.slow
def test_many_pairs_together_keep_the_level(regrets):
    """Of six equal policies, any pair is called different in at most 5 % of comparisons."""
    several = regrets[:120_000].reshape(1000, 6, 20)
    called = 0
    for trials in several:
        p = np.array([stats.ttest_rel(a, b).pvalue for a, b in itertools.combinations(trials, 2)])
        called += bool(np.min(holm(p)) <= 0.05)
    assert called <= 71


@pytest.mark.slow
def test_of_many_policies_the_best_are_drawn() -> None:
    rng = np.random.default_rng(0)
    policies = {f"p{xi:02d}": hrprob.HRUCB(radius="constant", xi=float(xi)) for xi in rng.permutation(10)}
    run = hrprob.simulate(hrprob.Problem(theta=[0.5], phi=[0.5]), policies, users=60, trials=4, keep="all")
    found = hrprob.compare(run, baseline="p09")
    ordered = figures.best_first(run, found)
    few = figures.shown_policies(ordered)
    assert sorted(ordered.policy.values) == sorted(policies)
    assert few.sizes["policy"] == figures.MOST_CURVES
    assert few.policy.values[0] == "p09"
    others = [name for name in policies if name != "p09"]
    best = run.regret.isel(user=-1).mean("trial").sel(policy=others).to_series().sort_values(kind="stable")
    assert set(few.policy.values[1:]) == set(best.index[: figures.MOST_CURVES - 1]) or best.duplicated().any()
    figures.plot_differences(few, found)
    # With few policies nothing changes.
    three = run.isel(policy=slice(3))
    assert figures.best_first(three, hrprob.compare(three)) is three
