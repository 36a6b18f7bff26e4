"""Regret, coverage and width of each policy, with their intervals, and verdicts with three ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray

from hrprob._core.formatting import format_interval, format_number, listed, percent, with_error
from hrprob.comparison.estimates import Estimate, Verdict, estimate
from hrprob.comparison.frontier.intervals import KINDS, PARAMETERS
from hrprob.io.result_table import ResultTable
from hrprob.io.verdicts import Answer, conclude_words
from hrprob.numerics.shares import share_interval

__all__ = [
    "MARGIN",
    "QUESTION",
    "SYMBOLS",
    "Coverage",
    "Point",
    "answer_of",
    "frontier_table",
    "points_of",
    "verdicts_in_words",
]

MARGIN = 0.05
"""By how much coverage may be below the level before intervals count as too short."""

QUESTION = "Do intervals from a policy's own data cover?"

SYMBOLS = {"theta": "θ", "phi": "φ"}
"""How texts write the parameters."""

_NAMES = {"wald": "Wald", "posterior": "posterior", "anytime": "anytime"}
# All coordinates of one parameter together have this error rate.
_ERROR = 0.05


class Coverage(NamedTuple):
    """How often one kind of interval covers the coordinates of one parameter."""

    kind: str
    parameter: str
    mean: Estimate  # over coordinates and trials
    worst: float  # share of trials of the coordinate that is covered least
    low: float  # simultaneous interval of that share
    high: float
    coordinate: int  # which one
    width: float  # median over trials of the mean over coordinates
    verdict: Verdict


class Point(NamedTuple):
    """One policy."""

    policy: str
    dial: str
    setting: float | None
    regret: Estimate
    rounds: float  # mean over trials
    joint: float  # share of trials in which the likelihood-ratio set contains the truth
    coverage: list[Coverage]

    def of(self, kind: str, parameter: str) -> Coverage:
        """Return the coverage of one kind of interval and one parameter."""
        return next(one for one in self.coverage if (one.kind, one.parameter) == (kind, parameter))

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "policy": self.policy,
            "dial": self.dial,
            "setting": self.setting,
            "regret": self.regret._asdict(),
            "rounds": self.rounds,
            "joint": self.joint,
            "coverage": {
                kind: {
                    parameter: {
                        name: value._asdict() if isinstance(value, Estimate) else value
                        for name, value in self.of(kind, parameter)._asdict().items()
                        if name not in ("kind", "parameter")
                    }
                    for parameter in PARAMETERS
                }
                for kind in KINDS
            },
        }


def points_of(result: xarray.Dataset) -> list[Point]:
    """Return what was measured of each policy.

    Parameters
    ----------
    result : xarray.Dataset
        The result of :func:`hrprob.frontier`.
    """
    return [_point(result.sel(policy=policy)) for policy in result.policy.values]


def _point(one: xarray.Dataset) -> Point:
    setting = float(one.setting)
    return Point(
        str(one.policy.values),
        str(one.dial.values),
        setting if np.isfinite(setting) else None,
        estimate(one.regret.values),
        float(one.rounds.mean()),
        float(one.joint.values.astype(float).mean()),
        [
            _coverage(one.sel(kind=kind, parameter=parameter), kind, parameter)
            for kind in KINDS
            for parameter in PARAMETERS
        ],
    )


def _coverage(cell: xarray.Dataset, kind: str, parameter: str) -> Coverage:
    covered = cell.covered.values.astype(float)  # (coordinates, trials)
    level, trials = float(cell.attrs["level"]), covered.shape[1]
    tail = _ERROR / (2 * len(covered))
    shares = covered.mean(axis=1)
    ends = [share_interval(round(share * trials), trials, tail) for share in shares]
    least = int(np.argmin(shares))
    return Coverage(
        kind,
        parameter,
        estimate(covered.mean(axis=0)),
        float(shares[least]),
        *ends[least],
        coordinate=int(cell.coordinate.values[least]),
        width=float(np.median(cell.width.values.mean(axis=0))),
        verdict=_verdict(ends, level),
    )


def _verdict(ends: list[tuple[float, float]], level: float) -> Verdict:
    """Return whether every coordinate is covered at least with ``level`` − :data:`MARGIN`."""
    if any(high < level - MARGIN for _, high in ends):
        return "fails"
    return "holds" if all(low >= level - MARGIN for low, _ in ends) else "undecided"


def answer_of(result: xarray.Dataset) -> Answer:
    """Return whether the intervals of every kind cover, for every policy."""
    return conclude_words(verdicts_in_words(result), QUESTION, "kinds of intervals", "more --trials")


def verdicts_in_words(result: xarray.Dataset) -> list[tuple[bool | None, str]]:
    """Return one finding per kind of interval and parameter: for which policies they cover."""
    points, level, trials = points_of(result), float(result.attrs["level"]), result.sizes["trial"]
    found: list[tuple[bool | None, str]] = []
    for kind in KINDS:
        for parameter in PARAMETERS:
            by = {
                verdict: [point.policy for point in points if point.of(kind, parameter).verdict == verdict]
                for verdict in ("holds", "fails", "undecided")
            }
            words = [f"{_NAMES[kind]} intervals of {SYMBOLS[parameter]}, level {percent(level)}:"]
            if by["fails"]:
                words.append(f"too short for {listed(by['fails'])}.")
            if by["holds"]:
                who = "every policy" if len(by["holds"]) == len(points) else listed(by["holds"])
                words.append(f"At least {percent(level - MARGIN)} of trials covered for {who}.")
            if by["undecided"]:
                words.append(
                    f"Not decided for {listed(by['undecided'])}: with {format_number(trials)} trials only a coverage below "
                    f"{percent(_detectable(trials, level, result.sizes['coordinate']))} would be found too short most of the time."
                )
            good = False if by["fails"] else None if by["undecided"] else True
            found.append((good, " ".join(words)))
    return found


def _detectable(trials: int, level: float, coordinates: int) -> float:
    """Return the largest coverage that is found too short with probability about one half."""
    tail = _ERROR / (2 * coordinates)
    hits = max(
        (k for k in range(trials + 1) if share_interval(k, trials, tail)[1] < level - MARGIN), default=0
    )
    return hits / trials


def frontier_table(result: xarray.Dataset) -> ResultTable:
    """Return regret, worst coverage and width of every policy, those of least regret first."""
    points = sorted(points_of(result), key=lambda point: point.regret.mean)
    header = ["policy", "regret"]
    header += [f"{_NAMES[kind]} {SYMBOLS[parameter]}" for kind in KINDS for parameter in PARAMETERS]
    header += [f"width {_NAMES[kind]} {SYMBOLS['phi']}" for kind in KINDS]
    rows: list[list[object]] = []
    for point in points:
        row: list[object] = [point.policy, with_error(point.regret.mean, point.regret.se)]
        row += [_share(one) for one in point.coverage]
        row += [format_number(point.of(kind, "phi").width, 2) for kind in KINDS]
        rows.append(row)
    level = percent(float(result.attrs["level"]))
    meanings = {
        "regret": f"Mean pseudo regret after {format_number(result.attrs['users'])} users, ± its standard error.",
        "Wald θ": "Coverage of the coordinate that is covered least, with Clopper and Pearson's interval, simultaneous over the coordinates "
        f"(95 % in all). Wanted: {level}. ✗: too short by more than {percent(MARGIN)}; ?: undecided.",
        "width Wald φ": "Median over trials of the mean width over the coordinates of φ; intervals are cut to the bounds.",
    }
    caption = f"{format_number(result.sizes['trial'])} trials; intervals after the last user, from the rounds in each policy's sample set."
    return ResultTable(header, rows, caption, meanings)


def _share(one: Coverage) -> str:
    mark = {"holds": "", "fails": " ✗", "undecided": " ?"}[one.verdict]
    return f"{percent(one.worst)} {format_interval(100 * one.low, 100 * one.high, 0)}{mark}"
