"""The published curves, as the authors' program wrote them.

Thirty points per curve (users 1, 1001, ..., 29001), each the mean of 20 trials; no
standard errors were published. Of one curve, CMDP of panel d, the 20 single trials are known.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

__all__ = ["Curve", "Trials", "published_curves", "published_trials"]


class Curve(NamedTuple):
    """A published curve."""

    panel: str
    policy: str
    users: np.ndarray  # (points,)
    regret: np.ndarray  # (points,)


class Trials(NamedTuple):
    """The single trials of a published curve."""

    users: np.ndarray  # (points,)
    regret: np.ndarray  # (trials, points)


@cache
def published_curves() -> tuple[Curve, ...]:
    """Return every curve of the four panels of Figure 2, in the order of the file.

    Examples
    --------
    >>> [(curve.panel, curve.policy) for curve in published_curves()][:3]
    [('a', 'hr-ucb-k2'), ('a', 'hr-ucb-k3'), ('a', 'hr-ucb-k5')]
    """
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in _rows("published_regret.csv"):
        points.setdefault((row["panel"], row["policy"]), []).append((int(row["user"]), float(row["regret"])))
    return tuple(
        Curve(panel, policy, np.array([user for user, _ in curve]), np.array([regret for _, regret in curve]))
        for (panel, policy), curve in points.items()
    )


@cache
def published_trials() -> Trials:
    """Return the single trials of CMDP in panel d, whose mean is the published curve.

    Examples
    --------
    >>> published_trials().regret.shape
    (20, 30)
    """
    rows = [
        (int(row["trial"]), int(row["user"]), float(row["regret"]))
        for row in _rows("cmdp_discrete_trials.csv")
    ]
    users = sorted({user for _, user, _ in rows})
    trials = sorted({trial for trial, _, _ in rows})
    regret = {(trial, user): value for trial, user, value in rows}
    return Trials(np.array(users), np.array([[regret[trial, user] for user in users] for trial in trials]))


def _rows(name: str) -> list[dict[str, str]]:
    file = resources.files("hrprob.experiments") / "reference" / name
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
