"""The answer of a comparison: yes, no or cannot tell, and a verdict per rival or problem.

=====================  ==========================================  ==============================================
compared               question                                    yes if, no if
=====================  ==========================================  ==============================================
policies               is the one of least mean regret the best?   it is significantly better than each of the others
with a baseline        is a policy better than the baseline?       one is significantly better; all are significantly worse
on several problems    is the one of the smallest worst case       it is so on each; another is significantly better
                       the best on all of them?                    on one of them
=====================  ==========================================  ==============================================

Otherwise it cannot be told, and every undecided line says which difference would have been detected and how many trials one
as large as that seen would take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hrprob._core.formatting import format_number, percent
from hrprob.comparison.headline import detectable_in_words, pair_in_words
from hrprob.io.verdicts import FAILS, PASSES, UNDECIDED, Answer, Verdict
from hrprob.numerics.power import POWER

if TYPE_CHECKING:
    from hrprob.comparison.records import Comparison, Pair
    from hrprob.comparison.suite import SuiteRank

__all__ = ["answer_of", "answer_over"]

_WORDS = {"yes": "Yes", "no": "No", "cannot tell": "Cannot tell"}
# Undecided first where all must pass, passes first where one does.
_ALL_MUST, _ONE_DOES = (FAILS, UNDECIDED, PASSES), (PASSES, UNDECIDED, FAILS)


def answer_of(comparison: Comparison) -> Answer:
    """Return the answer of a comparison on one problem, from its headline."""
    asked = comparison.baseline or comparison.leader
    others = [name for name in comparison.rivals if name != asked]
    verdicts = [_verdict(comparison, name, asked) for name in others]
    ends = {one.verdict for one in verdicts}
    if comparison.baseline:
        question = f"Is a policy better than {asked}?"
        answer = "yes" if PASSES in ends else "no" if ends == {FAILS} else "cannot tell"
        order = _ONE_DOES
    else:
        question, order = f"Is {asked} the best policy?", _ALL_MUST
        answer = "yes" if ends == {PASSES} else "cannot tell"
    ordered = sorted(verdicts, key=lambda one: order.index(one.verdict))
    return Answer(answer, f"{_WORDS[answer]}: {comparison.headline}", ordered, question)


def answer_over(comparisons: Mapping[str, Comparison], ranks: list[SuiteRank]) -> Answer:
    """Return the answer over several problems: of the baseline, or else of the policy that is first among ``ranks``."""
    best = ranks[0]
    asked = _asked(comparisons, best)
    verdicts = [
        _on_problem(name, comparison, pairs)
        for name, comparison in comparisons.items()
        if (pairs := _pairs_with(comparison, asked))
    ]
    ends = {one.verdict for one in verdicts}
    answer = "no" if FAILS in ends else "yes" if ends == {PASSES} else "cannot tell"
    ordered = sorted(verdicts, key=lambda one: _ALL_MUST.index(one.verdict))
    question = f"Is {asked} the best policy on all {len(verdicts)} problems?"
    counts = {end: sum(one.verdict == end for one in verdicts) for end in (FAILS, UNDECIDED)}
    why = {
        "yes": "it is significantly better than all others on each",
        "no": f"on {counts[FAILS]} of {len(verdicts)} another policy is significantly better",
        "cannot tell": f"on {counts[UNDECIDED]} of {len(verdicts)} it is not significantly different from another",
    }[answer]
    return Answer(answer, f"{_WORDS[answer]}: {why}. {_over_problems(best, ranks)}", ordered, question)


def _verdict(comparison: Comparison, name: str, asked: str) -> Verdict:
    """Return the verdict on one rival of the leader, or of the baseline."""
    pair = comparison.pair(name, asked)
    # Of the baseline, how much the rival loses; of the leader, how much the leader does.
    first, second = (name, asked) if comparison.baseline else (asked, name)
    words = f"{first} loses {pair_in_words(comparison, first, second)} than {second}"
    if not comparison.different(pair):
        return Verdict(name, UNDECIDED, f"{words}, not significantly", _would_detect(comparison, name, asked))
    less = pair.difference.mean < 0 if pair.policy == first else pair.difference.mean > 0
    return Verdict(name, PASSES if less else FAILS, words)


def _would_detect(comparison: Comparison, name: str, asked: str) -> str:
    """Return which difference would have been detected, and how many trials would detect the one that was seen."""
    pair = comparison.pair(name, asked)
    words, seen = detectable_in_words(comparison, pair), abs(pair.difference.mean)
    least = comparison.detectable(pair)
    if not (math.isfinite(least) and 0.0 < seen < least):
        return words
    # The error of a mean falls with the square root of the trials.
    trials = math.ceil(comparison.trials * (least / seen) ** 2)
    if trials > 10**6:
        return f"{words}; no number of trials that can be played would detect the one that was seen"
    return f"{words}; about {format_number(trials)} trials would detect the one that was seen (`--until` plays them)"


def _asked(comparisons: Mapping[str, Comparison], best: SuiteRank) -> str:
    """Return the policy that the answer is about: with a baseline, no other one is compared with all."""
    baselines = (one.baseline for one in comparisons.values() if one.baseline in one.rivals)
    return next(baselines, None) or best.policy


def _pairs_with(comparison: Comparison, policy: str) -> dict[str, Pair]:
    """Return the pairs of a policy on one problem, by the other policy."""
    return {
        other: pair
        for other in comparison.rivals
        for pair in comparison.pairs
        if {pair.policy, pair.other} == {policy, other}
    }


def _on_problem(name: str, comparison: Comparison, pairs: Mapping[str, Pair]) -> Verdict:
    """Return whether a policy is the best on one problem, given its pairs there."""
    others = list(pairs)
    better = [
        other
        for other, pair in pairs.items()
        if comparison.different(pair) and (pair.difference.mean < 0) == (pair.policy == other)
    ]
    if better:
        pair = pairs[better[0]]
        policy = pair.other if pair.policy == better[0] else pair.policy
        words = f"{better[0]} loses {pair_in_words(comparison, better[0], policy)}"
        return Verdict(
            name, FAILS, f"{words}, and {len(better)} of {len(others)} policies are significantly better"
        )
    undecided = [other for other, pair in pairs.items() if not comparison.different(pair)]
    if not undecided:
        return Verdict(name, PASSES, f"significantly better than each of {len(others)} others")
    widest = max(comparison.detectable(pairs[other]) for other in undecided)
    detectable = "no difference could have been detected"
    if math.isfinite(widest):
        detectable = f"differences above {format_number(widest, 3)} {comparison.unit} would have been detected with probability {percent(POWER)}"
    return Verdict(
        name, UNDECIDED, f"not significantly different from {len(undecided)} of {len(others)}", detectable
    )


def _over_problems(best: SuiteRank, ranks: list[SuiteRank]) -> str:
    """Return who has the smallest worst case, and who is first most often."""
    everywhere = max(rank.problems for rank in ranks)
    most = max(ranks, key=lambda rank: (rank.firsts, rank.problems))
    words = (
        f"{best.policy} has the smallest worst case over {everywhere} problems, a mean regret of at most "
        f"{best.worst_ratio.against(1)} times that of the policy one would have picked (on {best.worst_problem})"
    )
    if most.policy == best.policy:
        return f"{words}, and it has the least mean regret on {most.firsts} of them."
    return f"{words}; {most.policy} has the least mean regret most often, on {most.firsts} of them."
