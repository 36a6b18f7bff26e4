r"""Which claims of the paper hold in the simulations: each holds, fails or is undecided.

========================================  ==================================================================
claim                                     decided by
========================================  ==================================================================
linear and sublinear regret               :mod:`hrprob.comparison.growth`, against the limit that is named
one policy beats another                  the 95 % interval of the difference of regrets, paired by trial where
                                          both met the same users and Welch's otherwise
K matters only while users are few        the share of the gap between K = 2 and K = 5 that arises after a third of the
                                          users: an equivalence to 0 with a margin of one third (a gap that
                                          grows evenly has a share of two thirds)
smaller K costs slightly more             the differences K = 2 − K = 3 and K = 3 − K = 5; slightly: less than
                                          twice the regret of K = 5
========================================  ==================================================================

Each claim is decided by itself, without a correction for their number. Claims on growth are about the users that were
played; a limit, as in Theorem 3, is never decided by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import xarray

from hrprob._core.formatting import format_number, percent
from hrprob.comparison.estimates import (
    Estimate,
    Verdict,
    all_hold,
    paired_difference,
    ratio_of_means,
    trials_needed,
    unpaired_difference,
    verdict_above,
)
from hrprob.comparison.growth import CEILING, FALL, LEVEL, MARGIN, GrowthTest, falls, linear, sublinear
from hrprob.reproduce.cmdp_counts import CMDPCounts
from hrprob.reproduce.parts import name_of
from hrprob.reproduce.published import published_curves

__all__ = ["LEAST_TRIALS", "LEAST_USERS", "Claim", "claims"]

LEAST_USERS, LEAST_TRIALS = 10_000, 10
"""Smaller runs give no verdicts on claims."""

_LATE_SHARE = 1 / 3
_SLIGHTLY = 2.0
# A verdict that this level of intervals changes says so.
_STRICTER = 0.95
_LIMITS = {
    "mean-oracle": "the best-mean oracle",
    "random": "a random choice",
    "coin-toss": "a coin toss",
}
# Policies that the paper leaves out.
_LEFT_OUT = ("greedy", "thompson")
_RELEASED_WIDTH = "hr-ucb-k5-released-width"

Decision = tuple[Verdict, str]
Runs = Mapping[str, xarray.Dataset]


class Claim(NamedTuple):
    """A claim of the paper, the verdict on it in one setting, and the evidence."""

    claim: str
    setting: str
    verdict: Verdict
    evidence: str


def claims(setting: str, runs: Runs, counts: Mapping[str, CMDPCounts] | None = None) -> list[Claim]:
    """Return the claims of the simulation section, decided on one setting's runs.

    Parameters
    ----------
    setting : str
        Name of the setting.
    runs : dict
        The runs by panel: "a", "b", "b-cmdp", "c", "d", as far as there are any.
    counts : dict, optional
        How much of the time each CMDP of panel b knew its actions, by the policy's name.
    """
    known = counts or {}
    tests: list[tuple[str, tuple[str, ...], Callable[[], Decision]]] = [
        (
            "Over these users, HR-UCB has sublinear regret whatever K",
            ("a",),
            lambda: _hr_ucb_sublinear(runs["a"]),
        ),
        (
            "Theorem 3: HR-UCB has sublinear regret as users grow without limit",
            ("a",),
            lambda: _sublinear_for_ever(runs["a"]),
        ),
        ("K matters only while users are few", ("a",), lambda: _early_only(runs["a"])),
        ("Smaller K costs slightly more", ("a",), lambda: _smaller_costs_more(runs["a"])),
        (
            "Over these users, LinUCB has linear regret",
            ("b",),
            lambda: _linear(runs["b"], "linucb", "mean-oracle"),
        ),
        (
            "Over these users, CMDP has linear regret",
            ("b-cmdp",),
            lambda: _cmdp_linear(runs["b-cmdp"], known),
        ),
        (
            "Over these users, σ_max-UCB has linear regret",
            ("c",),
            lambda: _linear(runs["c"], "sigma-max-ucb", "mean-oracle"),
        ),
        (
            "Remark 4: over these users, σ_max-UCB tends to the action of the largest mean",
            ("c",),
            lambda: _tends_to(runs["c"], "sigma-max-ucb", "mean-oracle"),
        ),
        ("HR-UCB beats LinUCB", ("b",), lambda: _beats(runs["b"], "linucb")),
        ("HR-UCB beats CMDP", ("b", "b-cmdp"), lambda: _beats_cmdp(runs, known)),
        ("HR-UCB beats σ_max-UCB", ("c",), lambda: _beats(runs["c"], "sigma-max-ucb")),
        ("HR-UCB beats CMDP on the discrete sets", ("d",), lambda: _beats_on_sets(runs["d"])),
    ]
    decided = []
    for claim, panels, test in tests:
        if all(panel in runs and _large_enough(runs[panel]) for panel in panels):
            verdict, evidence = test()
            decided.append(Claim(claim, setting, verdict, evidence))
    return decided


def _large_enough(run: xarray.Dataset) -> bool:
    return int(run.user[-1]) >= LEAST_USERS and run.sizes["trial"] >= LEAST_TRIALS


def _regret(run: xarray.Dataset, policy: str) -> np.ndarray:
    return np.asarray(run.regret.sel(policy=policy).values)


def _at_end(run: xarray.Dataset, policy: str) -> np.ndarray:
    return _regret(run, policy)[:, -1]


def _growth(
    test: Callable[..., GrowthTest], run: xarray.Dataset, policy: str, limit: str, level: float = LEVEL
) -> GrowthTest:
    return test(run.user.values, _regret(run, policy), _regret(run, limit), level=level)


def _growth_in_words(test: GrowthTest, policy: str, limit: str) -> str:
    words = (
        f"{name_of(policy)}: {test.rate:.1f} per thousand users after the first half, "
        f"{test.late.against(CEILING, 1 - MARGIN, 1, 1 + MARGIN)} times the rate of {_LIMITS[limit]} "
        f"({test.limit_rate:.1f}); over two doublings of users the rate changes by a factor of "
        f"{test.fall.against(FALL, 1)}, over the last by {test.last_fall.against(1)} (90 % intervals)"
    )
    return words + (_what_it_takes(test.needed) if test.verdict == "undecided" else "")


def _what_it_takes(needed: float) -> str:
    if not math.isfinite(needed):
        return "; undecided: more trials would not help, more users would"
    return f"; undecided: it would take about {format_number(needed, 0)} trials, if the estimate stays where it is"


def _hr_ucb_sublinear(run: xarray.Dataset) -> Decision:
    policies = [name for name in ("hr-ucb-k2", "hr-ucb-k3", "hr-ucb-k5") if name in run.policy.values]
    tests = {name: _growth(sublinear, run, name, "mean-oracle") for name in policies}
    parts = [_growth_in_words(test, name, "mean-oracle") for name, test in tests.items()]
    verdict = all_hold([test.verdict for test in tests.values()])
    if _RELEASED_WIDTH in run.policy.values:
        other = _growth(sublinear, run, _RELEASED_WIDTH, "mean-oracle")
        words = _growth_in_words(other, _RELEASED_WIDTH, "mean-oracle")
        parts.append(f"with the released ξ the claim {_of(other.verdict)}: {words}")
    return verdict, "; ".join(parts)


def _sublinear_for_ever(run: xarray.Dataset) -> Decision:
    """Return what a run says about a limit: that it cannot decide it."""
    verdict, _ = _hr_ucb_sublinear(run)
    return "undecided", (
        f"no finite run decides a limit; over these {format_number(run.user[-1])} users it {_of(verdict)} (above), which neither "
        "confirms nor contradicts a theorem about ever more of them"
    )


def _of(verdict: Verdict) -> str:
    return "is undecided" if verdict == "undecided" else verdict


def _early_only(run: xarray.Dataset) -> Decision:
    users = run.user.values
    third = int(np.abs(users - users[-1] / 3).argmin())
    gap = _regret(run, "hr-ucb-k2") - _regret(run, "hr-ucb-k5")
    share = ratio_of_means(gap[:, -1] - gap[:, third], gap[:, -1])
    whole = paired_difference(run, "hr-ucb-k2", "hr-ucb-k5")
    if share.above(-_LATE_SHARE) and share.below(_LATE_SHARE):
        verdict: Verdict = "holds"
    else:
        verdict = "fails" if share.above(_LATE_SHARE) or share.below(-_LATE_SHARE) else "undecided"
    words = (
        f"K = 2 minus K = 5: {whole.against(0)} over all users; the share of it that arises after user "
        f"{format_number(users[third])} is {share.against(-_LATE_SHARE, 0, _LATE_SHARE)}, of the published curves {_published_share():.2f}; "
        "a gap that grows evenly would have 0.67, and below 0.33 counts as early"
    )
    if verdict == "undecided":
        words += _what_it_takes(trials_needed(share, run.sizes["trial"], -_LATE_SHARE, _LATE_SHARE))
    return verdict, words


def _published_share() -> float:
    """Return the share of the published gap between K = 2 and K = 5 that arises after user 10 001."""
    curves = {curve.policy: curve for curve in published_curves() if curve.panel == "a"}
    gap = curves["hr-ucb-k2"].regret - curves["hr-ucb-k5"].regret
    third = int(np.abs(curves["hr-ucb-k2"].users - 10_001).argmin())
    return float(1.0 - gap[third] / gap[-1])


def _smaller_costs_more(run: xarray.Dataset) -> Decision:
    pairs = [("2", "3"), ("3", "5")]
    differences = [paired_difference(run, f"hr-ucb-k{small}", f"hr-ucb-k{large}") for small, large in pairs]
    ratio = ratio_of_means(_at_end(run, "hr-ucb-k2"), _at_end(run, "hr-ucb-k5"))
    slight: Verdict = (
        "holds" if ratio.below(_SLIGHTLY) else "fails" if ratio.above(_SLIGHTLY) else "undecided"
    )
    verdicts = [verdict_above(difference, 0) for difference in differences]
    words = [
        f"K = {small} minus K = {large}: {_decided(difference, run.sizes['trial'])}"
        for (small, large), difference in zip(pairs, differences, strict=True)
    ]
    words.append(
        f"K = 2 costs {ratio.against(1, _SLIGHTLY)} times as much as K = 5 (slightly: less than twice)"
        + (
            _what_it_takes(trials_needed(ratio, run.sizes["trial"], _SLIGHTLY))
            if slight == "undecided"
            else ""
        )
    )
    return all_hold([*verdicts, slight]), "; ".join(words)


def _decided(difference: Estimate, trials: int) -> str:
    """Return a difference and, where its sign is undecided, how many trials would decide it."""
    words = difference.against(0)
    if verdict_above(difference, 0) == "undecided":
        words += f" (it would take about {format_number(trials_needed(difference, trials, 0.0), 0)} trials)"
    return words


def _linear(run: xarray.Dataset, policy: str, limit: str) -> Decision:
    test = _growth(linear, run, policy, limit)
    words = _growth_in_words(test, policy, limit)
    stricter = _growth(linear, run, policy, limit, level=_STRICTER).verdict
    if stricter != test.verdict:
        words += f"; with {100 * _STRICTER:.0f} % intervals the claim {_of(stricter)}"
    if limit == "mean-oracle":
        words += f"; {percent(_same_choices(run, policy, limit), 1)} of these users were served the action of the limit"
    return test.verdict, words


def _same_choices(run: xarray.Dataset, policy: str, limit: str) -> float:
    """Return the share of users after the first half whom both policies served the same action."""
    late = run.action.sel(user=slice(int(run.user[-1]) // 2 + 1, None))
    return float((late.sel(policy=policy) == late.sel(policy=limit)).mean())


def _cmdp_linear(run: xarray.Dataset, counts: Mapping[str, CMDPCounts]) -> Decision:
    limit = "coin-toss" if "coin-toss" in run.policy.values else "random"
    verdict, words = _linear(run, "cmdp", limit)
    return verdict, "; ".join([words, *_counts_in_words(run, counts)])


def _counts_in_words(run: xarray.Dataset, counts: Mapping[str, CMDPCounts]) -> list[str]:
    parts = []
    for name, count in counts.items():
        versus = ratio_of_means(_at_end(run, name), _at_end(run, "random"))
        parts.append(
            f"{name_of(name)} has {format_number(count.pairs)} pairs of cell and action and needs {format_number(count.needed, 0)} tries to know them "
            f"all, where {format_number(count.rounds, 0)} rounds were played; {percent(count.random, 1)} of its choices were random (counted in two trials); its "
            f"regret is {versus.against(1)} times that of a random choice"
        )
    return parts


def _tends_to(run: xarray.Dataset, policy: str, limit: str) -> Decision:
    action = run.action
    other = np.cumsum((action.sel(policy=policy) != action.sel(policy=limit)).values, axis=1)
    verdict, fall = falls(run.user.values, other.astype(float))
    words = (
        f"{percent(_same_choices(run, policy, limit), 1)} of the users after the first half were served the action of "
        f"{_LIMITS[limit]}; the share of other choices changes by a factor of {fall.against(FALL, 1)} over two "
        f"doublings of users (90 % interval; below {FALL:.2f} counts as vanishing)"
    )
    if verdict == "undecided":
        words += _what_it_takes(trials_needed(fall, run.sizes["trial"], FALL))
    return verdict, words


def _beats(run: xarray.Dataset, rival: str, own: str = "hr-ucb-k5") -> Decision:
    trials = run.sizes["trial"]
    difference = paired_difference(run, rival, own)
    parts = [f"{name_of(rival)} minus HR-UCB: {_decided(difference, trials)}"]
    parts += [
        f"{name_of(other)}, which the paper leaves out, minus HR-UCB: {_decided(paired_difference(run, other, own), trials)}"
        for other in _LEFT_OUT
        if other in run.policy.values
    ]
    if _RELEASED_WIDTH in run.policy.values:
        released = paired_difference(run, rival, _RELEASED_WIDTH)
        parts.append(f"with the released ξ, {name_of(rival)} minus HR-UCB: {_decided(released, trials)}")
    return verdict_above(difference, 0), "; ".join(parts)


def _beats_cmdp(runs: Runs, counts: Mapping[str, CMDPCounts]) -> Decision:
    if "cmdp" not in runs["b"].policy.values:
        difference = unpaired_difference(_at_end(runs["b-cmdp"], "cmdp"), _at_end(runs["b"], "hr-ucb-k5"))
        return verdict_above(difference, 0), (
            f"CMDP minus HR-UCB: {_decided(difference, runs['b'].sizes['trial'])}, unpaired (Welch); CMDP served other users, with two "
            "actions instead of twenty, and is in effect a coin toss: this says that HR-UCB beats a coin toss"
        )
    run = runs["b"]
    verdict, words = _beats(run, "cmdp")
    parts = [words]
    if "cmdp" in counts:
        parts.append(
            f"{percent(counts['cmdp'].random, 1)} of CMDP's choices were random: this says that HR-UCB beats a random choice"
        )
    parts += [
        f"{name_of(name)} minus HR-UCB: {_decided(paired_difference(run, name, own), run.sizes['trial'])} ({label})"
        for name in counts
        if name != "cmdp"
        for own, label in (("hr-ucb-k5", "ξ as printed"), (_RELEASED_WIDTH, "released ξ"))
    ]
    return verdict, "; ".join(parts)


def _beats_on_sets(run: xarray.Dataset) -> Decision:
    verdict, words = _beats(run, "cmdp")
    parts = [words]
    parts += [
        f"CMDP minus {name_of(name)}: {_decided(paired_difference(run, 'cmdp', name), run.sizes['trial'])}"
        for name in ("cmdp-with-beta", "cmdp-eager")
        if name in run.policy.values
    ]
    if not np.any(_at_end(run, "mean-oracle")):
        parts.append(
            "the best-mean oracle has no regret here: in each of the ten sets one action is best whatever β, so that "
            "leaving β or the variance out costs nothing in the end, and CMDP pays for its tries alone"
        )
    growth = _growth(sublinear, run, "cmdp", "random")
    words = _growth_in_words(growth, "cmdp", "random")
    parts.append(f"CMDP itself: sublinear regret {_of(growth.verdict)}: {words}")
    return verdict, "; ".join(parts)
