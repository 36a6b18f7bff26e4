"""A comparison as tables and in words."""

from __future__ import annotations

from collections.abc import Sequence

from hrprob.comparison.paired import Comparison, Pair
from hrprob.comparison.sequential import Decision
from hrprob.comparison.suite import SuiteRank
from hrprob.io.result_table import ResultTable

__all__ = ["decision_in_words", "pairs_table", "ranks_table", "standings_table"]


def standings_table(comparison: Comparison) -> ResultTable:
    """Return the table of every policy by itself: regret, lifetime, growth, computing time."""
    header = [
        "policy",
        "regret",
        "95 %",
        "lifetime",
        "expected",
        "optimal",
        "exponent",
        "rate ratio",
        "µs per user",
    ]
    rows = [
        [
            one.policy,
            f"{one.regret.mean:,.1f} ± {one.regret.se:.1f}",
            f"[{one.regret.low:,.1f}, {one.regret.high:,.1f}]",
            f"{one.lifetime.mean:.3f}",
            f"{one.expected_lifetime.mean:.3f}",
            f"{one.optimal:.1%}",
            f"{one.exponent.mean:.2f} [{one.exponent.low:.2f}, {one.exponent.high:.2f}]",
            f"{one.ratio.mean:.2f} [{one.ratio.low:.2f}, {one.ratio.high:.2f}]",
            f"{one.microseconds:.2f}",
        ]
        for one in comparison.standings
    ]
    caption = f"At user {comparison.at}, {comparison.trials} trials; ± standard error."
    return ResultTable(header, rows, caption)


def pairs_table(comparison: Comparison) -> ResultTable:
    """Return the table of all pairs: difference, intervals, p-values, wins, verdict."""
    header = ["policy", "minus", "difference", "95 % t", "95 % bootstrap", "p", "p, Holm", "wins", "verdict"]
    rows = [_pair_row(comparison, pair) for pair in comparison.pairs]
    caption = (
        "Difference: regret of the first policy minus regret of the second. Wins: share of trials in which the "
        "first has less regret, with Wilson's 95 % interval. Different: significantly, Holm-corrected p at most "
        f"{comparison.level:.3g}."
    )
    return ResultTable(header, rows, caption)


def ranks_table(ranks: Sequence[SuiteRank]) -> ResultTable:
    """Return the table of ranks over a suite."""
    header = ["policy", "problems", "mean rank", "firsts", "worst ratio", "on", "median ratio"]
    rows = [
        [
            rank.policy,
            rank.problems,
            f"{rank.mean_rank:.1f}",
            rank.firsts,
            f"{rank.worst_ratio:.2f}",
            rank.worst_problem,
            f"{rank.median_ratio:.2f}",
        ]
        for rank in ranks
    ]
    caption = "Ratio: regret divided by the least regret on the same problem. Smallest worst ratio first."
    return ResultTable(header, rows, caption)


def decision_in_words(decision: Decision) -> str:
    """Say how a sequential comparison ended."""
    comparison = decision.comparison
    error = f"the probability that equal policies are ever called different is at most {decision.level:g}"
    if decision.decided:
        compared = (
            f"all others against {comparison.baseline}"
            if comparison.baseline
            else f"{comparison.leader} against all others"
        )
        return f"Decided after {comparison.trials} trials ({compared}); {error}."
    return f"Not decided after {comparison.trials} trials, the most that were allowed; {error}."


def _pair_row(comparison: Comparison, pair: Pair) -> list[str]:
    difference = pair.difference
    return [
        pair.policy,
        pair.other,
        f"{difference.mean:+,.1f}",
        f"[{difference.low:,.1f}, {difference.high:,.1f}]",
        f"[{pair.bootstrap[0]:,.1f}, {pair.bootstrap[1]:,.1f}]",
        f"{pair.p_value:.2g}",
        f"{pair.p_holm:.2g}",
        f"{pair.wins:.0%} [{pair.wins_low:.0%}, {pair.wins_high:.0%}]",
        "different" if comparison.different(pair) else "not significantly different",
    ]
