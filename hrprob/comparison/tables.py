"""A comparison as tables and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hrprob._core.formatting import (
    decimals_for,
    format_interval,
    format_number,
    format_p,
    percent,
    signed,
    with_error,
)
from hrprob.comparison.headline import verdict_in_words
from hrprob.io.result_table import ResultTable

if TYPE_CHECKING:
    from hrprob.comparison.estimates import Estimate
    from hrprob.comparison.records import Comparison, Pair
    from hrprob.comparison.sequential import Decision
    from hrprob.comparison.suite import SuiteRank

__all__ = ["decision_in_words", "pairs_table", "ranks_table", "standings_table", "summary_table"]


def summary_table(comparison: Comparison) -> ResultTable:
    """Return the table for a paper: regret of every policy, and its difference from the leader or the baseline."""
    against = comparison.baseline or comparison.leader
    rows = []
    for one in comparison.standings:
        row: list[object] = [_marked(comparison, one.policy), with_error(one.regret.mean, one.regret.se)]
        if one.policy == against or one.policy in comparison.oracles:
            rows.append([*row, "", "", ""])
            continue
        pair = comparison.pair(one.policy, against)
        difference = pair.difference if pair.policy == one.policy else pair.difference.negated()
        rows.append([*row, *_difference(difference), format_p(pair.p_holm)])
    meanings = {
        "regret": f"Mean over trials of the cumulative pseudo regret at user {format_number(comparison.at)}, ± its standard error.",
        f"minus {against}": f"Mean of the paired differences from the regret of {against}: negative is better.",
        "95 % interval": "Of that difference, by Student's t.",
        "p, Holm": "Two-sided paired t-test, corrected for the number of pairs.",
    }
    caption = (
        f"Regret in {comparison.unit} at user {format_number(comparison.at)}, {format_number(comparison.trials)} trials, "
        f"± standard error; differences are paired by trial."
    )
    return ResultTable(["policy", *meanings], rows, caption, meanings)


def standings_table(comparison: Comparison) -> ResultTable:
    """Return the table of every policy by itself: regret, lifetime, growth, computing time."""
    meanings = {
        "regret": "Mean over trials of the cumulative pseudo regret, ± its standard error: what the oracle's expected "
        "lifetimes exceed the policy's by.",
        "95 % interval": "Of the mean regret, by Student's t over trials.",
        "lifetime": "Mean realised lifetime of a user, in rounds.",
        "expected": "Mean expected lifetime given the actions: the oracle's minus the regret per user. It has none of the "
        "noise of realised lifetimes.",
        "optimal": "Share of users whose first action was the best for them.",
        "exponent": "Slope of ln regret on ln users over the last two thirds of the users: 1 is linear, ½ is √t, 0 is flat.",
        "rate ratio": "Regret of the last third of the users over that of the middle third: 1 is linear, 0.77 is √t.",
        "µs per user": "Computing time of the policy per user and trial, in microseconds, without compilation.",
    }
    rows = [
        [
            _marked(comparison, one.policy),
            with_error(one.regret.mean, one.regret.se),
            format_interval(one.regret.low, one.regret.high, decimals_for(one.regret.se)),
            format_number(one.lifetime.mean, 3),
            format_number(one.expected_lifetime.mean, 3),
            percent(one.optimal, 1),
            _with_interval(one.exponent),
            _with_interval(one.ratio),
            format_number(one.microseconds, 2),
        ]
        for one in comparison.standings
    ]
    caption = (
        f"Every policy by itself at user {format_number(comparison.at)}, {format_number(comparison.trials)} trials, "
        f"regret in {comparison.unit} ± standard error. Smallest regret first."
    )
    return ResultTable(["policy", *meanings], rows, caption, meanings)


def pairs_table(comparison: Comparison) -> ResultTable:
    """Return the table of all pairs: difference, intervals, p-values, wins, verdict."""
    count = "one pair" if len(comparison.pairs) == 1 else f"{len(comparison.pairs)} pairs"
    meanings = {
        "difference": "Mean over trials of the regret of the first policy minus that of the second: negative if the first is better.",
        "95 % t": "Interval of the mean difference, by Student's t.",
        "95 % bootstrap": "The same by the bootstrap (BCa from 10 trials on), for skewed differences.",
        "p": "Two-sided paired t-test of a mean difference of 0.",
        "p, Holm": f"The same, corrected for {count} by Holm's method.",
        "wins": "Share of trials in which the first policy has less regret, a tie counts half, with Wilson's 95 % interval.",
        "verdict": f"Which policy is better, where the corrected p is at most {comparison.level:.3g}; else the difference that "
        "would have been detected with probability 80 %, at the strictest of Holm's levels.",
    }
    rows = [_pair_row(comparison, pair) for pair in comparison.pairs]
    caption = (
        f"Pairs of policies at user {format_number(comparison.at)}, paired by trial. Smallest p-value first."
    )
    return ResultTable(["policy", "compared with", *meanings], rows, caption, meanings)


def ranks_table(ranks: Sequence[SuiteRank]) -> ResultTable:
    """Return the table of ranks over a suite."""
    meanings = {
        "problems": "Number of problems that the policy played.",
        "mean rank": "Mean of its ranks by mean regret; equal regrets share a rank.",
        "firsts": "Problems on which no other policy had less mean regret.",
        "worst ratio [95 %]": "The largest of its ratios. The interval covers the largest true ratio over the problems (Fieller, "
        "Bonferroni over problems).",
        "on": "The problem of the worst ratio.",
        "median ratio": "The median of its ratios.",
        "typical ratio [95 %]": "Geometric mean of its ratios, with its interval over problems.",
    }
    rows = [
        [
            rank.policy,
            rank.problems,
            format_number(rank.mean_rank.mean, 1),
            rank.firsts,
            rank.worst_ratio.against(1),
            rank.worst_problem,
            format_number(rank.median_ratio, 2),
            rank.typical.against(1),
        ]
        for rank in ranks
    ]
    caption = (
        "Ratio: regret divided by that of the policy that is best in the other half of the trials, so that the choice of "
        "the best does not count in its own favour; it may be below 1. Smallest worst ratio first."
    )
    return ResultTable(["policy", *meanings], rows, caption, meanings)


def decision_in_words(decision: Decision) -> str:
    """Say how a sequential comparison ended."""
    comparison = decision.comparison
    error = f"the probability that equal policies are ever called different is at most {decision.level:g}"
    trials = format_number(comparison.trials)
    if decision.decided:
        compared = (
            f"all others against {comparison.baseline}"
            if comparison.baseline
            else f"{comparison.leader} against all others"
        )
        return f"Decided after {trials} trials ({compared}); {error}."
    return f"Not decided after {trials} trials, the most that were allowed; {error}."


def _marked(comparison: Comparison, name: str) -> str:
    """Return a policy's name, with a dagger where it holds a wrong belief."""
    return f"{name} †" if name in comparison.misspecified else name


def _difference(difference: Estimate) -> tuple[str, str]:
    """Return a difference and its interval, with digits enough to see on which side of 0 it lies."""
    mean, bounds = difference.against(0).split(" ", 1)
    return (f"+{mean}" if difference.mean > 0 else mean), bounds


def _with_interval(value: Estimate) -> str:
    return f"{format_number(value.mean, 2)} {format_interval(value.low, value.high, 2)}"


def _pair_row(comparison: Comparison, pair: Pair) -> list[object]:
    decimals = decimals_for(pair.difference.se)
    return [
        _marked(comparison, pair.policy),
        _marked(comparison, pair.other),
        signed(pair.difference.mean, decimals),
        _difference(pair.difference)[1],
        format_interval(*pair.bootstrap, decimals),
        format_p(pair.p_value),
        format_p(pair.p_holm),
        f"{percent(pair.wins)} [{percent(pair.wins_low)}, {percent(pair.wins_high)}]",
        verdict_in_words(comparison, pair),
    ]
