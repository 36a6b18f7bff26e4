"""The report of a reproduction: verdicts first, then the figures, then notes on the settings."""

from __future__ import annotations

from pathlib import Path

import hrprob
from hrprob._core.formatting import format_number, percent
from hrprob.comparison.estimates import Verdict as Holding
from hrprob.comparison.growth import measured_error_rates
from hrprob.io.config import Experiment
from hrprob.io.page import Report
from hrprob.io.verdicts import FAILS, PASSES, UNDECIDED, Answer, Verdict, conclude
from hrprob.reproduce.claims import Claim
from hrprob.reproduce.curves import CurveVerdict, margin_of
from hrprob.reproduce.first_user import FirstUser
from hrprob.reproduce.parts import name_of

__all__ = ["CAPTIONS", "QUESTION", "answer_of", "write_page"]

CAPTIONS = {
    "figure1": "Figure 1. (a) The variance of outcomes grows with the context. (b) The action with the higher mean "
    "has the higher risk of falling below β.",
    "figure2-released": "Figure 2 in the released settings, with the published points. Greedy and Thompson "
    "sampling, which the paper leaves out, are added. The CMDP of panel (b) is that of the published run: two "
    "actions, and cells that say nothing about the context, so a coin toss.",
    "figure2-text": "The same panels as the text has them: contexts uniform in the ball, ξ as printed with "
    "C₁ = … = C₄ = 1, σ_max-UCB divided by σ_max, LinUCB with a ridge, CMDP on all twenty actions with a "
    "partition that works (50 k-means cells, without and with β; it needs more tries than there are rounds and is a "
    "random choice) and with 5 cells, which can learn. Panel (d): CMDP with one action per stay, without and with β, "
    "and eager. Released ξ: 26.03.",
    "index": "The index as printed: HR-UCB (K = 5) with each ξ, compared with Thompson sampling, greedy, a random choice and the "
    "bound of Theorem 3 with C₁ = … = C₄ = 1. With C₃ and C₄ computed, 1.5·10⁹⁷ and 2.9·10⁹⁷, the bound would be "
    "larger by as much. Contexts in the ball, no warm-up, σ²_max = f(‖φ*‖). Likelihood-ratio set: exact optimism over a "
    "joint set for (θ, φ) that is valid for all n and any design, in a closed form that is tested, not proved, to contain it.",
    "validity": "What validity costs: the last regrets of the same run, with 95 % intervals, and their ratios to that of optimism "
    "over the likelihood-ratio set (Fieller, paired). In brackets, for what the width is proved: as printed neither "
    "printed set is; the corrected ones are for designs that do not depend on the noise; of the likelihood-ratio set, the "
    "exact set is for any design and all n at once, the closed form that the policy uses is tested to contain it. The others promise nothing.",
}

_NOTES = (
    "Where the paper's text and the released program differ, both were run. Released: contexts on the unit "
    "sphere; ξ in effect the constant α⁽¹⁾ at n = K·T; five warm-up users; LinUCB without a ridge and learning from "
    "every round; σ_max-UCB divided by σ²_max; CMDP with one action per stay and without β in its context, and in panel (b) with two actions and "
    "a look-up that compares a context with itself.",
    "Regret is the pseudo regret: the oracle's expected lifetime minus the policy's, given contexts and β. C₁ and C₂ "
    "have no published values and are 1; C₃ and C₄ are 1 except where they are computed, which is over |u| ≤ 1, "
    "w ∈ [0.01, f(L)], β ∈ [−1, 1]: they then are 1.5·10⁹⁷ and 2.9·10⁹⁷, and the index is the norm of the context alone.",
)

# Published values at user 1 that are less probable are named.
_IMPROBABLE = 0.01

QUESTION = "Do the paper's curves and claims hold?"
"""The title of the page."""

_ENDS = {"holds": PASSES, "fails": FAILS, "undecided": UNDECIDED}
_GOOD: dict[Holding, bool | None] = {"holds": True, "fails": False, "undecided": None}
_AGREEMENT: dict[Holding, str] = {"holds": "agrees", "fails": "does not agree", "undecided": "undecided"}

_CURVES_CAPTION = (
    "Last published user of each curve. HR-UCB with K = 5 is one run and one published curve in panels a, b and c, "
    "and is judged once. The points of a curve are sums over the same users, so a curve is judged as a whole. It "
    "agrees if the 95 % interval of the difference at the last user lies within 20 % of the published value and no "
    "point differs significantly (Bonferroni over its points, 1 % per curve); it does not agree if some point "
    "does; otherwise it is undecided. Of CMDP in panel d the published single trials are known (Welch); elsewhere the "
    "published standard error is taken to equal ours. The released ξ depends on the number of users, so "
    "runs with other numbers than 30 000 are not quite comparable."
)

_CLAIMS_TEXT = (
    "A claim holds, fails or is undecided; an undecided one says what it would take. Brackets: 95 % intervals over "
    "trials if nothing else is said, with digits enough to see on which side of the deciding value they lie. "
    "Differences are paired by trial if nothing else is said. Linear: after the first half of the users, the rate of "
    "regret lies within 10 % of that of the policy's own limit on the same users (90 % interval, two one-sided "
    "tests); it fails if it lies below. Sublinear: the rate lies below half of the limit's, falls over two "
    "doublings of users by a factor below 0.71 (as t to the power of 3/4 does), and still falls over the last; it fails "
    "if it falls less, or if linear holds. Both are statements about the growth within these users, not about a limit."
)

_HINDSIGHT_TEXT = (
    "What counts as equal was not fixed in advance. The margins (10 % for linear, 20 % for curves, one third for the late share of "
    "the gap between K = 2 and K = 5) and the 90 % level of the growth tests were set by people who had seen some of these numbers. "
    "In particular, that σ_max-UCB is undecided with 95 % intervals was seen before 90 % was chosen. Where 95 % would change a "
    "verdict on linear growth, the evidence says so; the intervals are printed so that a reader can apply margins of their own."
)


def answer_of(curves: list[CurveVerdict], claims: list[Claim]) -> Answer:
    """Return whether curves and claims of the paper hold; without claims the run was too small to tell."""
    if not claims:
        return Answer("cannot tell", "Cannot tell: the run is too small to decide anything.", [], QUESTION)
    verdicts = [_curve_verdict(curve) for curve in curves]
    verdicts += [Verdict(f"{one.claim} ({one.setting})", _ENDS[one.verdict], one.evidence) for one in claims]
    return conclude(verdicts, "more --trials", QUESTION, "curves and claims")


def _curve_verdict(curve: CurveVerdict) -> Verdict:
    last = curve.last
    most = margin_of(last)
    panels = f"Panel {curve.panels[0]}" if len(curve.panels) == 1 else f"Panels {', '.join(curve.panels)}"
    words = (
        f"{_AGREEMENT[curve.verdict]}; at user {last.user} ours is {format_number(last.mean, 0)} ± {format_number(last.se, 0)}, published "
        f"{format_number(last.published, 0)}, difference {curve.difference.against(-most, 0, most)}"
        f"{' (Welch, published single trials)' if curve.unpaired else ''}"
    )
    toss = " (a coin toss between two actions)" if curve.coin_toss else ""
    would = f"agreement would be an interval within ± {format_number(most, 0)}"
    undecided = would if curve.verdict == "undecided" else ""
    return Verdict(f"{panels}, {name_of(curve.policy)}{toss}", _ENDS[curve.verdict], words, undecided)


def _first_users_in_words(first_users: list[FirstUser]) -> list[str]:
    """Return which published values at user 1 are improbable."""
    return [
        f"User 1 of {name_of(first.policy)}: published {first.published:.2f}, the mean of many trials is {first.mean:.2f}; a "
        f"mean of 20 trials is as large with probability {first.probability:.4f}: unexplained"
        for first in first_users
        if first.probability < _IMPROBABLE
    ]


def write_page(
    path: Path,
    curves: list[CurveVerdict],
    claims: list[Claim],
    first_users: list[FirstUser],
    figures: list[str],
    folder: Path,
    quick: bool,
    experiment: Experiment,
) -> None:
    """Write the report to ``path``, with the figures that are in ``folder``."""
    warning = "A QUICK run, too small to compare: it shows that it works, nothing else. " if quick else ""
    page = Report(
        QUESTION,
        f"{warning}The figures of "
        f'"Stay With Me" by Hsieh, Liu, Bhattacharya and Kumar (ICML 2019), played again: '
        f"{format_number(experiment.users)} users, {experiment.trials} trials, seed {experiment.seed}.",
    )
    page.answer(answer_of(curves, claims))
    page.heading("The figures")
    for name in figures:
        page.figure(folder / f"{name}.png", CAPTIONS[name])
    if claims and curves:
        page.heading("Do the curves agree?")
        with page.folded("every curve, at its last published user"):
            _add_curves(page, curves, first_users)
    if claims:
        page.heading("Do the claims hold?")
        with page.folded("every claim with its evidence, and how the margins were set"):
            _add_claims(page, claims)
        page.heading("How often do the tests of growth err?")
        with page.folded("error rates that were measured beforehand"):
            _add_error_rates(page)
    page.heading("What was run")
    for note in _NOTES:
        page.text(note)
    page.footer(
        f"hrprob {hrprob.__version__}; every number of this page is in summary.json, every run in results.nc."
    )
    path.write_text(page.render(), encoding="utf-8")


def _add_curves(page: Report, curves: list[CurveVerdict], first_users: list[FirstUser]) -> None:
    rows = [
        [
            ", ".join(curve.panels),
            name_of(curve.policy),
            curve.last.user,
            curve.last.published,
            curve.last.mean,
            curve.last.se,
            curve.difference.against(-margin_of(curve.last), 0, margin_of(curve.last)),
            _AGREEMENT[curve.verdict],
        ]
        for curve in curves
    ]
    header = ["panels", "policy", "user", "published", "ours", "± se", "difference", "verdict"]
    page.table(header, rows, _CURVES_CAPTION, [_GOOD[curve.verdict] for curve in curves])
    for words in _first_users_in_words(first_users):
        page.text(f"{words}.")


def _add_claims(page: Report, claims: list[Claim]) -> None:
    page.text(_CLAIMS_TEXT)
    page.text(_HINDSIGHT_TEXT)
    page.table(
        ["claim", "setting", "evidence", "verdict"],
        [[claim.claim, claim.setting, claim.evidence, claim.verdict] for claim in claims],
        good=[_GOOD[claim.verdict] for claim in claims],
    )


def _add_error_rates(page: Report) -> None:
    """Add how often the tests of growth err, as measured."""
    measured = measured_error_rates()
    rows = [
        [
            case["policy"],
            case["problem"],
            case["growth"],
            case["users"],
            *(
                percent(case[test][end], 1)
                for test in ("linear", "sublinear")
                for end in ("wrong", "undecided")
            ),
        ]
        for case in measured["cases"]
    ]
    header = [
        "policy",
        "problem",
        "growth",
        "users",
        "linear: wrong",
        "undecided",
        "sublinear: wrong",
        "undecided",
    ]
    page.table(
        header,
        rows,
        f"Measured beforehand on policies whose growth is known, {measured['replications']} replications of "
        f"{measured['trials']} trials each; wrong: the opposite verdict.",
    )
