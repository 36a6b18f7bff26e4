"""Who won, in one sentence with three ends: better, worse, or not significantly different and what would have been detected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hrprob._core.formatting import format_number, listed, p_is, percent
from hrprob.comparison.estimates import Estimate
from hrprob.numerics.power import POWER

if TYPE_CHECKING:
    from hrprob.comparison.records import Comparison, Pair

__all__ = ["detectable_in_words", "headline", "pair_in_words", "verdict_in_words"]

_MOST_NAMED = 4


def headline(comparison: Comparison) -> str:
    """Return the sentence that :attr:`Comparison.headline` documents."""
    words = _against_baseline(comparison) if comparison.baseline else _about_leader(comparison)
    wrong = {name: beliefs for name, beliefs in comparison.misspecified.items() if name in comparison.rivals}
    if len(wrong) > _MOST_NAMED:
        return f"{words} {_named(list(wrong))} assume what the problem does not have."
    return " ".join([words, *(f"{name} {belief}." for name, beliefs in wrong.items() for belief in beliefs)])


def pair_in_words(comparison: Comparison, policy: str, other: str) -> str:
    """Return how much less or more ``policy`` loses than ``other``: "86 [40, 131] rounds less"."""
    more = _oriented(comparison.pair(policy, other), policy)
    less = more.mean < 0
    shown = more.negated() if less else more
    return f"{shown.against(0)} {comparison.unit} {'less' if less else 'more'}"


def verdict_in_words(comparison: Comparison, pair: Pair) -> str:
    """Return the verdict on a pair: which of the two is better, or what would have been detected."""
    if comparison.different(pair):
        better = pair.policy if pair.difference.mean < 0 else pair.other
        return f"{better} is better"
    least = comparison.detectable(pair)
    would = f" (more than {_rounded(least)} would have been detected)" if math.isfinite(least) else ""
    return f"not significantly different{would}"


def _about_leader(comparison: Comparison) -> str:
    leader = comparison.leader
    others = [name for name in comparison.rivals if name != leader]
    open_ones = [name for name in others if not comparison.different(comparison.pair(leader, name))]
    users = f"in {format_number(comparison.at)} users"
    if not open_ones:
        which = others[0] if len(others) == 1 else f"{others[0]}, the second of {len(others) + 1} policies,"
        words = f"{leader} loses {pair_in_words(comparison, leader, others[0])} than {which} {users}"
        rest = "" if len(others) == 1 else "; it is significantly better than each of the others"
        return f"{words}{rest} {_basis(comparison, comparison.pair(leader, others[0]))}."
    first = comparison.pair(leader, open_ones[0])
    amount = (
        f"{pair_in_words(comparison, leader, open_ones[0])} than {open_ones[0]} {_basis(comparison, first)}"
    )
    detectable = detectable_in_words(comparison, first)
    if len(others) == 1:
        return f"{leader} and {open_ones[0]} are not significantly different {users}: {leader} loses {amount}; {detectable}."
    beaten = [name for name in others if name not in open_ones]
    rest = f" It is significantly better than {_named(beaten)}." if beaten else ""
    return (
        f"No single winner {users}: {leader} has the least mean regret, but is not significantly different from "
        f"{_named(open_ones)}.{rest} It loses {amount}; {detectable}."
    )


def _against_baseline(comparison: Comparison) -> str:
    assert comparison.baseline is not None
    others = [name for name in comparison.rivals if name != comparison.baseline]
    if len(others) > _MOST_NAMED:
        return _many_against_baseline(comparison, comparison.baseline, others)
    parts = []
    for name in others:
        pair = comparison.pair(name, comparison.baseline)
        amount = pair_in_words(comparison, name, comparison.baseline)
        if comparison.different(pair):
            parts.append(f"{name} loses {amount}")
        else:
            parts.append(
                f"{name} is not significantly different (it loses {amount}; {detectable_in_words(comparison, pair)})"
            )
    basis = f"{_trials(comparison)}, {percent(0.95)} intervals"
    return f"Compared with {comparison.baseline} in {format_number(comparison.at)} users ({basis}): {'; '.join(parts)}."


def _many_against_baseline(comparison: Comparison, baseline: str, others: list[str]) -> str:
    """Return how many policies are better, worse and not significantly different; the table has each of them."""
    pairs = {name: comparison.pair(name, baseline) for name in others}
    open_ones = [name for name in others if not comparison.different(pairs[name])]
    better = [name for name in others if name not in open_ones and _oriented(pairs[name], name).mean < 0]
    worse = [name for name in others if name not in open_ones and name not in better]
    verdicts = {"significantly better": better, "significantly worse": worse}
    parts = [f"{_counted(names)} {words} ({_named(names)})" for words, names in verdicts.items() if names]
    if open_ones:
        # What would have been detected in every one of them is the largest of their detectable differences.
        widest = max((pairs[name] for name in open_ones), key=comparison.detectable)
        detectable = detectable_in_words(comparison, widest)
        parts.append(f"{_counted(open_ones)} not significantly different ({_named(open_ones)}): {detectable}")
    users = f"in {format_number(comparison.at)} users"
    basis = f"{_trials(comparison)}, Holm-corrected"
    return f"Of {len(others)} policies compared with {baseline} {users} ({basis}): {'; '.join(parts)}."


def _counted(names: list[str]) -> str:
    return f"{len(names)} {'is' if len(names) == 1 else 'are'}"


def _basis(comparison: Comparison, pair: Pair) -> str:
    """Return what the sentence rests on, in brackets."""
    corrected = ", Holm-corrected" if len(comparison.pairs) > 1 else ""
    return f"({_trials(comparison)}, {percent(0.95)} interval, {p_is(pair.p_holm)}{corrected})"


def detectable_in_words(comparison: Comparison, pair: Pair) -> str:
    """Return which difference of a pair would have been detected."""
    least = comparison.detectable(pair)
    if not math.isfinite(least):
        return f"{_trials(comparison)} cannot detect any difference"
    return (
        f"a difference of more than {_rounded(least)} {comparison.unit} would have been detected with probability "
        f"{percent(POWER)}"
    )


def _trials(comparison: Comparison) -> str:
    return "1 trial" if comparison.trials == 1 else f"{format_number(comparison.trials)} trials"


def _rounded(value: float) -> str:
    """Return a number with three digits, rounded up so that the statement stays true.

    Examples
    --------
    >>> _rounded(54.321), _rounded(0.012345)
    ('54.4', '0.0124')
    """
    if value <= 0:
        return format_number(value)
    scale = 10.0 ** (math.floor(math.log10(value)) - 2)
    return format_number(math.ceil(value / scale - 1e-9) * scale)


def _oriented(pair: Pair, policy: str) -> Estimate:
    return pair.difference if pair.policy == policy else pair.difference.negated()


def _named(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return listed(names)
    return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more"
