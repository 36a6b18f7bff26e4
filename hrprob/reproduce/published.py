"""The published curves, as the authors' program wrote them.

Thirty points per curve (users 1, 1001, ..., 29001), each the mean of 20 trials; no
standard errors were published.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

__all__ = ["Curve", "published_curves"]


class Curve(NamedTuple):
    """A published curve."""

    panel: str
    policy: str
    users: np.ndarray  # (points,)
    regret: np.ndarray  # (points,)


@cache
def published_curves() -> tuple[Curve, ...]:
    """Return every curve of the four panels of Figure 2, in the order of the file.

    Examples
    --------
    >>> [(curve.panel, curve.policy) for curve in published_curves()][:3]
    [('a', 'hr-ucb-k2'), ('a', 'hr-ucb-k3'), ('a', 'hr-ucb-k5')]
    """
    file = resources.files("hrprob.experiments") / "reference" / "published_regret.csv"
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
        points.setdefault((row["panel"], row["policy"]), []).append((int(row["user"]), float(row["regret"])))
    return tuple(
        Curve(panel, policy, np.array([user for user, _ in curve]), np.array([regret for _, regret in curve]))
        for (panel, policy), curve in points.items()
    )
