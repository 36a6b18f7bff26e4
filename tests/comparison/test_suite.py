"""Ranks over several problems, and ratios to a best policy that is not known."""

import math

import numpy as np
import pytest

from hrprob.comparison.paired import compare
from hrprob.comparison.suite import rank_policies, ratio_to_best, ratios


def test_ranks_and_ratios(result):
    comparisons = {"one": compare(result), "two": compare(result, at=1)}
    table = ratios(comparisons, dict.fromkeys(comparisons, result))
    assert min(ratio.plain for ratio in table["one"].values()) == 1.0
    assert "oracle" not in table["one"]
    ranks = rank_policies(table)
    worst = [rank.worst_ratio.mean for rank in ranks]
    assert worst == sorted(worst)
    best = min(table["one"], key=lambda name: table["one"][name].plain)
    assert next(rank for rank in ranks if rank.policy == best).firsts >= 1
    for rank in ranks:
        assert rank.typical.low <= rank.typical.mean <= rank.typical.high
        assert rank.to_dict()["worst_ratio"]["mean"] == rank.worst_ratio.mean


def test_the_choice_of_the_best_does_not_count_in_its_own_favour():
    """Policies that are all alike have a ratio of 1, though the least of their means is below the mean.

    A mean of 20 trials has a relative standard error of 0.11, so the mean ratio over 100 replications has one of about
    0.11 · √2 / 10 = 0.016; the plain ratio to the least of ten means is about 1 + 1.54 · 0.11 = 1.2.
    """
    rng = np.random.default_rng(0)
    plain, split = [], []
    for _ in range(100):
        regret = {str(policy): rng.exponential(100.0, 20) * 0.5 + 50.0 for policy in range(10)}
        ratio = ratio_to_best(regret)["0"]
        plain.append(ratio.plain)
        split.append(ratio.ratio.mean)
    assert np.mean(plain) > 1.1
    assert np.mean(split) == pytest.approx(1.0, abs=0.05)


def test_intervals_cover_the_ratio():
    """Two policies, one 1.5 times as bad: the 95 % interval misses in at most 10 % of 200 replications (3 sd above 5 %)."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(200):
        best = rng.normal(100.0, 10.0, 20)
        worse = 1.5 * best + rng.normal(0.0, 15.0, 20)
        interval = ratio_to_best({"best": best, "worse": worse})["worse"].ratio
        missed += not interval.low <= 1.5 <= interval.high
    assert missed / 200 < 0.1


def test_the_worst_ratio_covers_the_largest_of_the_true_ones():
    """With equal ratios on many problems the largest estimate is too large; its interval still covers, in 95 %."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(40):
        table = {}
        for problem in range(8):
            best = rng.normal(100.0, 10.0, 20)
            worse = 1.5 * best + rng.normal(0.0, 15.0, 20)
            table[str(problem)] = ratio_to_best({"best": best, "worse": worse}, level=1 - 0.05 / 8)
        worst = next(rank for rank in rank_policies(table) if rank.policy == "worse").worst_ratio
        covered += worst.low <= 1.5 <= worst.high
    assert covered >= 34  # 38 minus 3 sd


def test_small_and_infinite_regrets():
    table = ratio_to_best({"none": np.zeros(4), "small": np.full(4, 0.5), "lost": np.full(4, np.inf)})
    # Below one round counts as one.
    assert table["small"].ratio.mean == table["none"].ratio.mean == 1.0
    assert table["lost"].plain == math.inf
    assert ratio_to_best({"a": np.array([2.0]), "b": np.array([3.0])})["b"].ratio.high == math.inf
