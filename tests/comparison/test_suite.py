"""Ranks over several problems."""

from hrprob.comparison.paired import compare
from hrprob.comparison.suite import rank_policies, ratios


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
