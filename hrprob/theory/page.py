"""The report: verdicts first, then the inequalities one by one, the regret bound, and what is proved."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np

import hrprob
from hrprob._core.formatting import format_number
from hrprob.comparison.estimates import decisive_digits
from hrprob.io.page import Report
from hrprob.io.verdicts import Answer, conclude_words
from hrprob.theory.figures import CAPTIONS, WIDTHS
from hrprob.theory.findings import Finding, failure_interval, verdict_on
from hrprob.theory.inequalities import NOT_A_CLAIM
from hrprob.theory.play import AT, DELTA, GROWTH, RIDGE, Theory
from hrprob.theory.regret import STEPS, Decomposition

__all__ = ["QUESTION", "answer_of", "write_page"]

QUESTION = "Does every inequality of the paper hold?"

_GOOD = {"holds": True, "fails": False, "undecided": None}

_READING = (
    "Each row is one inequality on the replications of one design: quantiles of its left side, the median of its right side, "
    "how tight it is (the quantile of left/right that the allowed probability of failure leaves, with a 95 % interval by "
    "bootstrap: 1 is as tight as can be, 0.01 a hundred times larger than needed at this truth and design), and how "
    "often it fails (with Clopper and Pearson's 95 % interval) against the probability that the paper allows. "
    "Holds: the interval lies at or below that probability, or nothing failed where nothing may. Fails: it lies above. "
    "Undecided: it contains it, and more replications would be needed. A verdict is about this setting: an inequality that "
    "holds here need not be proved, and one that is proved is mostly far from tight at a single truth."
)

_PROVED = (
    "The set for θ* (Lemma 1, corrected) holds for every design, also one that a policy picks, and for every "
    "noise with a sub-Gaussian scale. Lemmas 3 and 4, and with them the set for φ*, are proved for contexts that do not depend "
    "on the noise (Lemma 3 in the version explicit, where C₁ and C₂ are not needed); for contexts that a policy picks they are "
    "not proved, because V depends on the noise, and are only measured here. Lemma 6 needs estimates inside the balls of "
    "Theorem 2, which `project = true` makes true, and the computed C₃ and C₄; with C₃ = C₄ = 1, the default, neither Lemma 6 nor "
    "Theorem 3 is proved. Theorem 3 with λ < 1 needs the factor λ^(−1/2) of the version corrected."
)


def write_page(path: Path, theory: Theory, folder: Path, quick: bool) -> None:
    """Write the report to ``path``, with the figures that are in ``folder``."""
    warning = "A QUICK run with few replications: it shows that everything works. " if quick else ""
    sizes, sets = theory.sizes, theory.sets["paper"]
    page = Report(
        QUESTION,
        f'{warning}Every inequality of "Stay With Me" by Hsieh, Liu, Bhattacharya and Kumar (ICML 2019), both sides computed on '
        f"{format_number(sizes.replications)} replications of the paper's setting (seed {theory.seed}): a fixed design of "
        f"{format_number(sizes.rounds)} contexts, and the contexts that HR-UCB picks for {format_number(sizes.users)} users, "
        "with a constant ξ by the formula of the released program and σ²_max as below (from L; the program took it from ‖φ*‖). "
        f"δ = {DELTA:g}, λ = {RIDGE:g}, K = {GROWTH:g}, σ²_max = {float(sets.variance_max):g}, C₁ = C₂ = C₃ = C₄ = 1, "
        f"sub-Gaussian scale of the noise κ = {theory.noise_scale:.4g}. Each verdict is about this setting. A share of failures has "
        "its 95 % interval in brackets, over replications; left/right is the quantile that the allowed probability of failure leaves.",
    )
    page.answer(answer_of(theory))
    page.heading("What is proved")
    page.text(_PROVED)
    page.heading("Why ρ_n is so large")
    page.figure(folder / "terms.png", CAPTIONS["terms"])
    page.heading("How tight is each inequality?")
    page.figure(folder / "tightness.png", CAPTIONS["tightness"])
    page.heading("Which of them fail, and how often?")
    page.figure(folder / "failures.png", CAPTIONS["failures"])
    _add_regret(page, theory, folder)
    _add_rates(page, theory, folder)
    page.heading("Every inequality")
    page.text(_READING)
    for design in theory.quantities:
        _add_table(page, theory, design)
    page.footer(f"hrprob {hrprob.__version__}; every number of this page is in theory.json.")
    path.write_text(page.render(), encoding="utf-8")


def answer_of(theory: Theory) -> Answer:
    """Return whether every inequality holds, with one verdict per inequality and version, over both designs."""
    return conclude_words(_verdicts(theory), QUESTION, "inequalities")


def _verdicts(theory: Theory) -> list[tuple[bool | None, str]]:
    verdicts: list[tuple[bool | None, str]] = []
    groups: dict[tuple[str, str], list[Finding]] = {}
    for one in theory.findings:
        if one.note.startswith(NOT_A_CLAIM):
            continue
        groups.setdefault((one.key, one.version), []).append(one)
    for (_, version), findings in groups.items():
        words = {one.verdict for one in findings}
        verdict = next(word for word in ("fails", "undecided", "holds") if word in words)
        named = f" ({version})" if version else ""
        parts = [_in_words(design, findings) for design in theory.quantities]
        note = f" [{findings[0].note}]" if findings[0].note else ""
        text = (
            f"{findings[0].reference}{named}: {findings[0].statement}: {verdict}. {'; '.join(parts)}.{note}"
        )
        verdicts.append((_GOOD[verdict], text))
    return verdicts + _regret_verdicts(theory)


def _in_words(design: str, findings: list[Finding]) -> str:
    """Return the worst share of failures of one design, and how tight the inequality is at the end."""
    here = [one for one in findings if one.design == design]
    worst, last = max(here, key=lambda one: one.share), here[-1]
    allowed = f", {_percent(worst.allowed)} allowed" if worst.allowed else ", none allowed"
    fails = f"fails in {_failing(worst)}"
    where = f" at n = {format_number(worst.n, 0)}" if worst.failures else ""
    return f"{design}: {fails}{where}{allowed}; left/right {_number(last.tightness)} at n = {format_number(last.n, 0)}"


def _regret_verdicts(theory: Theory) -> list[tuple[bool | None, str]]:
    made: list[tuple[bool | None, str]] = []
    for radius, one in theory.decompositions.items():
        failing, users = int(one.failing.sum()), one.failing.size
        mean = {step: float(np.mean(one.chain[step])) for step in STEPS}
        steps = ", ".join(
            f"{format_number(mean[after] / mean[before])} ({after.replace('_xi', ' ξ')})"
            for before, after in pairwise(STEPS)
        )
        verdict, trials = _optimism(one)
        words = (
            f"Proof of Theorem 3, {WIDTHS[radius]}: w_t ≤ 2ξ‖x_t‖ for all users of a trial: {verdict}, {trials}; it fails for "
            f"{format_number(failing)} of all {format_number(users)} users; Σ min{{‖x_t‖², 1}} is "
            f"{float(np.mean(one.potential)):.1f} on average, 2 ln det is {float(np.mean(one.log_determinant)):.1f} and its bound "
            f"{one.potential_bound:.1f}; the regret {format_number(mean['regret'], 0)} is enlarged by the factors {steps}"
        )
        made.append((_GOOD[verdict], words))
    return made


def _when_below_random(theory: Theory) -> str:
    """Return from which user on the bound says more than that a policy beats a random choice."""
    parts = []
    for version, bound in theory.rates.items():
        first = bound.first_below_random
        when = (
            f"{format_number(float(f'{first:.2g}'))} users"
            if math.isfinite(first)
            else "more than 10¹⁵ users"
        )
        parts.append(f"{version}: from {when} on")
    return (
        f"Theorem 3's bound (C₃ = C₄ = 1, δ = {DELTA:g}) lies below the regret of a random choice ({theory.random_cost:.3f} per "
        f"user) only for many users; {'; '.join(parts)}."
    )


def _optimism(one: Decomposition) -> tuple[str, str]:
    """Return whether w_t ≤ 2ξ‖x_t‖ for all users fails in no more trials than is allowed, and in how many it does."""
    trials = len(one.failing)
    failures = int(one.failing.any(axis=1).sum())
    low, high = failure_interval(failures, trials)
    # ξ at δ rests on three events, each of which fails with probability δ at most, as in Lemma 6.
    allowed = 3.0 * DELTA
    shares = (failures / trials, low, high)
    digits = decisive_digits([100 * share for share in shares], [100 * allowed], 1)
    share, low_words, high_words = (_percent(value, digits) for value in shares)
    words = f"it fails in {share} [{low_words}, {high_words}] of {format_number(trials)} trials, {_percent(allowed)} allowed"
    return verdict_on(failures, (low, high), allowed), words


def _add_regret(page: Report, theory: Theory, folder: Path) -> None:
    page.heading("Where the regret bound is slack")
    page.text(
        "The proof of Theorem 3 is a chain of upper bounds on the regret; the factors between neighbours say where it is lost. "
        f"{theory.sizes.trials} trials of {format_number(theory.sizes.users)} users, without warm-up."
    )
    page.figure(folder / "slack.png", CAPTIONS["slack"])
    header = ["ξ", "quantile", "Σ w_t", "Σ 2ξ‖x‖", "largest ξ", "Cauchy", "potential"]
    rows = [
        [WIDTHS[radius], level, *(float(np.quantile(one.chain[step], level)) for step in STEPS)]
        for radius, one in theory.decompositions.items()
        for level in (0.1, 0.5, 0.9)
    ]
    page.table(
        header, rows, "The chain at the last user, quantiles over trials; ξ at δ, where Theorem 3 has δ/3."
    )


def _add_rates(page: Report, theory: Theory, folder: Path) -> None:
    page.heading("The rate of the bound")
    page.text(
        "At δ = 1/T the bound is claimed to be O(√(T ln³T)), and so it is: the ratio to that tends to a constant. Remark 7 "
        "compares the bound at fixed δ with √(T ln T)·ln T for β = ∞, where every user stays for one round: the bound has that "
        "rate, but the regret that it bounds, of expected lifetimes, is then 0 for every policy."
    )
    page.text(_when_below_random(theory))
    page.figure(folder / "rates.png", CAPTIONS["rates"])
    rows = [
        [
            version,
            f"10^{math.log10(one.users[i]):.0f}",
            one.fixed[i],
            one.expected[i],
            one.exponent[i],
            one.over_rate[i],
            one.over_rate_fixed[i],
        ]
        for version, one in theory.rates.items()
        for i in range(0, len(one.users), 8)
    ]
    header = [
        "version",
        "T",
        f"δ = {DELTA:g}",
        "δ = 1/T",
        "exponent",
        "/ √(T ln³T)",
        "δ fixed / (√(T ln T) ln T)",
    ]
    page.table(header, [[str(a), b, *(f"{value:.4g}" for value in rest)] for a, b, *rest in rows])


def _add_table(page: Report, theory: Theory, design: str) -> None:
    findings = [one for one in theory.findings if one.design == design]
    rows = [
        [
            one.reference,
            one.statement,
            one.version,
            f"{format_number(one.n, 0)}",
            _number(one.left_median),
            _number(one.left_90),
            _number(one.right),
            f"{_number(one.tightness)} [{_number(one.tightness_low)}, {_number(one.tightness_high)}]",
            _failing(one),
            _percent(one.allowed),
            one.verdict,
        ]
        for one in findings
    ]
    header = [
        "where",
        "left ≤ right",
        "version",
        "n",
        "left, median",
        "left, 90 %",
        "right",
        "left/right",
        "fails",
        "allowed",
        "verdict",
    ]
    at = ", ".join(
        str(users) for users in (*AT, int(theory.cuts[design][-1])) if users <= theory.cuts[design][-1]
    )
    caption = f"{design.capitalize()} design, after {at} users; n is the median number of samples."
    page.table(header, rows, caption, [_GOOD[one.verdict] for one in findings])


def _number(value: float) -> str:
    rounded = format_number(value)
    # A ratio is compared with 1, across which it must not be rounded.
    return f"{value:.6g}" if rounded == "1" and value != 1.0 else rounded


def _failing(one: Finding) -> str:
    """Return the share of failures and its interval, not rounded across the probability that is allowed."""
    shares = (one.share, one.share_low, one.share_high)
    digits = decisive_digits([100 * share for share in shares], [100 * one.allowed], 1)
    share, low, high = (_percent(share, digits) for share in shares)
    return f"{share} [{low}, {high}]"


def _percent(share: float, digits: int = 1) -> str:
    """Return a percentage with these digits; 0 and 1 only if they are exact."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return f"{percent:.2g} %"
    return f"{percent:.{digits}f} %" if percent not in (0, 100) else f"{percent:.0f} %"
