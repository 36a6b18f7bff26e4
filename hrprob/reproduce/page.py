"""The report of a reproduction: verdicts first, then the figures, then notes on the settings."""

from __future__ import annotations

from pathlib import Path

import hrprob
from hrprob.comparison.estimates import MOST_STANDARD_ERRORS
from hrprob.io.config import Experiment
from hrprob.io.page import Report
from hrprob.reproduce.verdicts import Claim, CurvePoint, curve_agrees

__all__ = ["verdicts_in_words", "write_page"]

_CAPTIONS = {
    "figure1": "Figure 1. (a) The variance of outcomes grows with the context. (b) The action with the higher mean "
    "has the higher risk of falling below β.",
    "figure2-released": "Figure 2 in the released settings, with the published points. Greedy and Thompson "
    "sampling, which the paper leaves out, are added. The CMDP of panel (b) is that of the published run: two "
    "actions, and cells that say nothing about the context, so a coin toss.",
    "figure2-text": "The same panels as the text has them: contexts uniform in the ball, ξ as printed with "
    "C₁ = … = C₄ = 1, σ_max-UCB divided by σ_max, LinUCB with a ridge, CMDP on all twenty actions with a "
    "partition that works (50 k-means cells).",
    "index": "The index as printed: HR-UCB (K = 5) with each ξ, compared with greedy, a random choice and the "
    "bound of Theorem 3. Contexts in the ball, no warm-up, σ²_max = f(‖φ*‖).",
}

_NOTES = (
    "Where the paper's text and the released program differ, both were run. Released: contexts on the unit "
    "sphere; ξ in effect the constant α⁽¹⁾ at n = K·T; five warm-up users; LinUCB without a ridge and learning from "
    "every round; σ_max-UCB divided by σ²_max; CMDP without β in its context, and in panel (b) with two actions and "
    "a look-up that compares a context with itself.",
    "Regret is the pseudo regret: the oracle's expected lifetime minus the policy's, given contexts and β. C₁ and C₂ "
    "have no published values and are 1; C₃ and C₄ are 1 except where they are computed, which is over |u| ≤ 1, "
    "w ∈ [0.01, f(L)], β ∈ [−1, 1]: they then exceed 10⁹⁰ and the index is the norm of the context alone.",
)

_CURVES_CAPTION = (
    "Last published user of each curve; points: how many of the curve's points lie within "
    f"{MOST_STANDARD_ERRORS:g} standard errors of the difference. A curve agrees if its last point does "
    "and no point differs by more than the largest of thirty would by chance. The released ξ depends on the number "
    "of users, so runs with other numbers than 30 000 are not quite comparable."
)

_CLAIMS_TEXT = (
    "Growth exponent: slope of ln regret on ln users over the last two thirds of the users. Rate ratio: "
    "regret of the last third divided by that of the middle third; both are 1 for linear regret, and the second "
    "does not depend on the first third. Brackets: 95 % intervals over trials. Sublinear: both below 1 by more than "
    "three standard errors. Linear: the rate ratio is not. Differences are paired by trial."
)


def verdicts_in_words(curves: list[CurvePoint], claims: list[Claim], trials: int) -> list[tuple[bool, str]]:
    """Return all verdicts, curves first, each with whether it agrees with the paper."""
    verdicts: list[tuple[bool, str]] = []
    for points in _by_curve(curves):
        last = points[-1]
        agreeing = sum(point.agrees for point in points)
        agrees = curve_agrees(points, trials)
        word = "agrees" if agrees else "does not agree"
        note = " (a coin toss between two actions)" if (last.panel, last.policy) == ("b", "cmdp") else ""
        words = (
            f"Panel {last.panel}, {last.policy}{note}: {word}; at user {last.user} ours is "
            f"{last.mean:,.0f} ± {last.se:,.0f}, published {last.published:,.0f} ({last.z:+.1f} standard "
            f"errors); within {MOST_STANDARD_ERRORS:g} at {agreeing} of {len(points)} points"
        )
        verdicts.append((agrees, words))
    for claim in claims:
        word = "holds" if claim.holds else "DOES NOT HOLD"
        verdicts.append((claim.holds, f"{claim.claim} ({claim.setting}): {word}. {claim.evidence}"))
    return verdicts


def write_page(
    path: Path,
    curves: list[CurvePoint],
    claims: list[Claim],
    figures: list[str],
    folder: Path,
    quick: bool,
    experiment: Experiment,
) -> None:
    """Write the report to ``path``, with the figures that are in ``folder``."""
    warning = "A QUICK run, too small to compare: it shows that it works, nothing else. " if quick else ""
    page = Report(
        "Stay With Me, reproduced",
        f"{warning}The figures of Hsieh, Liu, Bhattacharya and Kumar (ICML 2019), played again: "
        f"{experiment.users:,} users, {experiment.trials} trials, seed {experiment.seed}.",
    )
    if curves:
        _add_curves(page, curves, experiment.trials)
    if claims:
        _add_claims(page, claims)
    page.heading("The figures")
    for name in figures:
        page.figure(folder / f"{name}.png", _CAPTIONS[name])
    page.heading("What was run")
    for note in _NOTES:
        page.text(note)
    page.footer(
        f"hrprob {hrprob.__version__}; every number of this page is in summary.json, every run in results.nc."
    )
    path.write_text(page.render(), encoding="utf-8")


def _add_curves(page: Report, curves: list[CurvePoint], trials: int) -> None:
    page.heading("Do the curves agree?")
    by_curve = _by_curve(curves)
    agree = [curve_agrees(points, trials) for points in by_curve]
    rows = [
        [
            last.panel,
            last.policy,
            last.user,
            last.published,
            last.mean,
            last.se,
            f"{last.z:+.2f}",
            f"{sum(point.agrees for point in points)} of {len(points)}",
            "agrees" if agrees else "does not agree",
        ]
        for points, agrees in zip(by_curve, agree, strict=True)
        for last in points[-1:]
    ]
    header = ["panel", "policy", "user", "published", "ours", "± se", "difference (se)", "points", "verdict"]
    page.table(header, rows, _CURVES_CAPTION, agree)


def _add_claims(page: Report, claims: list[Claim]) -> None:
    page.heading("Do the claims hold?")
    page.text(_CLAIMS_TEXT)
    page.table(
        ["claim", "setting", "evidence", "verdict"],
        [
            [claim.claim, claim.setting, claim.evidence, "holds" if claim.holds else "does not hold"]
            for claim in claims
        ],
        good=[claim.holds for claim in claims],
    )


def _by_curve(curves: list[CurvePoint]) -> list[list[CurvePoint]]:
    """Return the points of each published curve, in the order of the users."""
    by_curve: dict[tuple[str, str], list[CurvePoint]] = {}
    for point in curves:
        by_curve.setdefault((point.panel, point.policy), []).append(point)
    return list(by_curve.values())
