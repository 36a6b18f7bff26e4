r"""Which published curves agree with ours.

The published curves are means of 20 trials at thirty users each. For one of them, CMDP of panel d, the single
trials are there too, and the difference is Welch's. For the others the published standard error is taken to
equal ours, so that of the difference is √2 times ours, and in units of it the difference has Student's t
distribution.

The points of a curve are sums over the same users and go together, so a curve is judged as a whole:

=============  =======================================================================================
holds          at the last user the 95 % interval of the difference lies within 20 % of the published value,
               and no point of the curve differs significantly
fails          some point differs significantly: Bonferroni's correction over the points of the curve, with a
               probability of at most 1 % that any point of an equal curve does
undecided      otherwise
=============  =======================================================================================

HR-UCB with K = 5 is one run and one published curve, whichever panel shows it, and is judged once. Its panels a, b
and c and the other curves make 8 distinct curves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob.comparison.estimates import Estimate, Verdict, estimate, unpaired_difference
from hrprob.reproduce.published import Curve, published_curves, published_trials

__all__ = ["CurvePoint", "CurveVerdict", "compare_curves", "judge_curve", "margin_of"]

_MARGIN = 0.2
_ERROR = 0.01


class CurvePoint(NamedTuple):
    """One point of a published curve beside ours."""

    panel: str  # the first that shows the curve
    policy: str
    user: int
    published: float
    mean: float
    se: float
    z: float  # difference in standard errors of the difference
    p_value: float


class CurveVerdict(NamedTuple):
    """A whole published curve beside ours."""

    panels: list[str]
    policy: str
    verdict: Verdict
    points: list[CurvePoint]
    difference: Estimate  # ours minus published at the last user
    unpaired: bool  # whether the published single trials are known
    coin_toss: bool  # whether the policy is in effect a coin toss between two actions

    @property
    def last(self) -> CurvePoint:
        """The last point."""
        return self.points[-1]


def compare_curves(runs: dict[str, xarray.Dataset]) -> list[CurveVerdict]:
    """Compare every distinct published curve with ours, for the panels that were run.

    Parameters
    ----------
    runs : dict
        The runs by panel: "a", "b", "b-cmdp", "c", "d".
    """
    verdicts: list[CurveVerdict] = []
    for curve, panels in _distinct(runs):
        coin_toss = (curve.panel, curve.policy) == ("b", "cmdp")
        run = runs["b-cmdp" if coin_toss else curve.panel].sel(policy=curve.policy)
        users = [int(user) for user in curve.users if user in run.user.values]
        single = published_trials() if (curve.panel, curve.policy) == ("d", "cmdp") else None
        differences, points = [], []
        for user in users:
            published = float(curve.regret[curve.users == user][0])
            theirs = None if single is None else single.regret[:, single.users == user][:, 0]
            ours = run.regret.sel(user=user).values
            difference, p = _difference(ours, published, theirs)
            mean = estimate(ours)
            z = difference.mean / difference.se if difference.se > 0 else math.nan
            points.append(CurvePoint(panels[0], curve.policy, user, published, mean.mean, mean.se, z, p))
            differences.append(difference)
        if points:
            verdict = judge_curve(points, differences[-1])
            verdicts.append(
                CurveVerdict(
                    panels, curve.policy, verdict, points, differences[-1], single is not None, coin_toss
                )
            )
    return verdicts


def _distinct(runs: dict[str, xarray.Dataset]) -> list[tuple[Curve, list[str]]]:
    """Return the curves of the panels that were run, each once, with the panels that show it."""
    found: dict[tuple[str, bytes], tuple[Curve, list[str]]] = {}
    for curve in published_curves():
        needed = "b-cmdp" if (curve.panel, curve.policy) == ("b", "cmdp") else curve.panel
        if needed in runs:
            key = (curve.policy, curve.regret.tobytes())
            found.setdefault(key, (curve, []))[1].append(curve.panel)
    return list(found.values())


def _difference(ours: np.ndarray, published: float, theirs: np.ndarray | None) -> tuple[Estimate, float]:
    """Return our mean minus the published one, and the p-value of no difference."""
    if len(ours) < 2:
        return Estimate(float(np.mean(ours)) - published, math.inf, -math.inf, math.inf), math.nan
    if theirs is not None:
        return unpaired_difference(ours, theirs), float(stats.ttest_ind(ours, theirs, equal_var=False).pvalue)
    own, degrees = estimate(ours), len(ours) - 1
    mean, se = own.mean - published, math.sqrt(2.0) * own.se
    half = math.sqrt(2.0) * (own.high - own.mean)
    p = 2.0 * float(stats.t.sf(abs(mean) / se, degrees)) if se > 0 else float(mean == 0)
    return Estimate(mean, se, mean - half, mean + half), p


def judge_curve(points: list[CurvePoint], last: Estimate) -> Verdict:
    """Return whether a whole published curve agrees with ours.

    Parameters
    ----------
    points : list of CurvePoint
        All points of the curve.
    last : Estimate
        Our mean minus the published one at the last user.

    Examples
    --------
    >>> def point(p):
    ...     return CurvePoint("a", "x", 1, 100.0, 100.0, 1.0, 0.0, p)
    >>> others = [point(0.5)] * 29
    >>> judge_curve([point(0.003), *others], Estimate(1.0, 3.0, -5.0, 7.0))
    'holds'
    >>> judge_curve([point(0.0003), *others], Estimate(1.0, 3.0, -5.0, 7.0))
    'fails'
    >>> judge_curve([point(0.5), *others], Estimate(1.0, 15.0, -29.0, 31.0))
    'undecided'
    """
    if any(point.p_value * len(points) < _ERROR for point in points):
        return "fails"
    most = margin_of(points[-1])
    return "holds" if last.above(-most) and last.below(most) else "undecided"


def margin_of(point: CurvePoint) -> float:
    """Return the greatest difference at the last user that counts as agreement."""
    return _MARGIN * point.published
