"""The report of a reproduction: verdicts first, then the figures, then every number."""

from __future__ import annotations

from pathlib import Path

import hrprob
from hrprob.comparison.estimates import MOST_STANDARD_ERRORS
from hrprob.io.config import Experiment
from hrprob.io.page import Report
from hrprob.reproduce.verdicts import Claim, CurvePoint, curve_agrees

__all__ = ["last_points", "verdicts_in_words", "write_page"]

_CAPTIONS = {
    "figure1": "Figure 1. (a) The spread of outcomes grows with the context. (b) The action of higher mean has "
    "the higher risk of falling below β.",
    "figure2-released": "Figure 2 in the released settings, with the published points on top. Greedy and Thompson "
    "sampling, which the paper leaves out, stand beside. The CMDP of panel (b) is the published run's: two actions and cells that "
    "say nothing about the context, so a coin toss.",
    "figure2-text": "The same panels as the text has them: contexts uniform in the ball, ξ as printed with "
    "C₁ = … = C₄ = 1, σ_max-UCB divided by σ_max, LinUCB with a ridge, CMDP on all twenty actions with a "
    "partition that works (50 k-means cells).",
    "index": "What the printed index does: HR-UCB (K = 5) with each ξ, beside greedy, a random choice and the "
    "bound of Theorem 3. Contexts in the ball, no warm-up, σ²_max = f(‖φ*‖).",
}

_NOTES = (
    "Where the paper's text and the released program differ, both were run. Released: contexts on the unit "
    "sphere; ξ in effect the constant α⁽¹⁾ at n = K·T; five warm-up users; LinUCB without a ridge and learning from "
    "every round; σ_max-UCB divided by σ²_max; CMDP without β in its context, and in panel (b) with two actions and "
    "a look-up that compares a context with itself.",
    "Regret is the pseudo regret: the oracle's expected lifetime less the policy's, given contexts and β. C₁ and C₂ "
    "have no published values and are 1; C₃ and C₄ are 1 unless said to be computed, which is over |u| ≤ 1, "
    "w ∈ [0.01, f(L)], β ∈ [−1, 1]: they then exceed 10⁹⁰ and the index is the norm of the context alone.",
)


def last_points(curves: list[CurvePoint]) -> list[CurvePoint]:
    """Return the last published point of each curve."""
    last = {(point.panel, point.policy): point for point in curves}
    return list(last.values())


def verdicts_in_words(curves: list[CurvePoint], claims: list[Claim], trials: int) -> list[tuple[bool, str]]:
    """Return what was found, most important first, each with whether it is as the paper has it."""
    found: list[tuple[bool, str]] = []
    for point in last_points(curves):
        along = [p for p in curves if (p.panel, p.policy) == (point.panel, point.policy)]
        agreeing = sum(p.agrees for p in along)
        agrees = curve_agrees(along, trials)
        word = "agrees" if agrees else "does not agree"
        note = " (a coin toss between two actions)" if (point.panel, point.policy) == ("b", "cmdp") else ""
        found.append(
            (
                agrees,
                f"Panel {point.panel}, {point.policy}{note}: {word}; at user {point.user} ours is "
                f"{point.mean:,.0f} ± {point.se:,.0f}, published {point.published:,.0f} ({point.z:+.1f} standard "
                f"errors); within {MOST_STANDARD_ERRORS:g} at {agreeing} of {len(along)} points",
            )
        )
    for claim in claims:
        word = "holds" if claim.holds else "DOES NOT HOLD"
        found.append((claim.holds, f"{claim.claim} ({claim.setting}): {word}. {claim.evidence}"))
    return found


def write_page(
    path: Path,
    curves: list[CurvePoint],
    claims: list[Claim],
    figures: list[str],
    folder: Path,
    quick: bool,
    experiment: Experiment,
) -> None:
    """Write the report to ``path``, with the figures found in ``folder``."""
    quickly = "A QUICK run, too small to compare: see that it works, not what it says. " if quick else ""
    page = Report(
        "Stay With Me, reproduced",
        f"{quickly}The figures of Hsieh, Liu, Bhattacharya and Kumar (ICML 2019), played anew: "
        f"{experiment.users:,} users, {experiment.trials} trials, seed {experiment.seed}.",
    )
    if curves:
        page.heading("Do the curves agree?")
        last = last_points(curves)
        whole = {
            (point.panel, point.policy): [
                p for p in curves if (p.panel, p.policy) == (point.panel, point.policy)
            ]
            for point in last
        }
        judged = [curve_agrees(points, experiment.trials) for points in whole.values()]
        page.table(
            ["panel", "policy", "user", "published", "ours", "± se", "difference (se)", "points", "verdict"],
            [
                [
                    point.panel,
                    point.policy,
                    point.user,
                    point.published,
                    point.mean,
                    point.se,
                    f"{point.z:+.2f}",
                    f"{sum(p.agrees for p in points)} of {len(points)}",
                    "agrees" if agrees else "does not agree",
                ]
                for point, points, agrees in zip(last, whole.values(), judged, strict=True)
            ],
            "Last published user of each curve; points: how many of the curve's points lie within "
            f"{MOST_STANDARD_ERRORS:g} standard errors of the difference. A curve agrees if its last point does "
            "and none is further off than probability allows among thirty. The released ξ depends on the number of "
            "users, so other than 30 000 are not quite comparable.",
            judged,
        )
    if claims:
        page.heading("Do the claims hold?")
        page.text(
            "Growth exponent: slope of ln regret on ln users over the last two thirds of the users. Rate ratio: "
            "regret of the last third over that of the middle third; both are 1 for linear regret, and the second "
            "forgets how the curve began. Brackets: 95 % intervals over trials. Sublinear: both below 1 by more than "
            "three standard errors. Linear: the rate ratio is not. Differences are paired by trial."
        )
        page.table(
            ["claim", "setting", "evidence", "verdict"],
            [[c.claim, c.setting, c.evidence, "holds" if c.holds else "does not hold"] for c in claims],
            good=[c.holds for c in claims],
        )
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
