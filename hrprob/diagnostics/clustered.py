"""Coverage of intervals at several contexts of each of many data sets, with tests that allow for clusters.

Contexts of one data set share a posterior, so hits and misses within a data set are
correlated. A coverage is tested as that of N/(1 + ϱ Σm(m − 1)/N) independent contexts, N in all and
m per data set. ϱ, the correlation of two hits in one data set, is computed from differences to the
nominal level itself, over all numbers of users; the largest over levels is used. So the test
does not depend on an error that is estimated from the coverage under test, which is 0 where all
are covered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

__all__ = ["Coverage", "cluster_coverage", "shares_of_error"]


# The share of the error rate that is spent on the level that verdicts are about.
_ON_LEVEL = 0.8


class Coverage(NamedTuple):
    """Coverage of one group of contexts, by number of users and level."""

    coverage: np.ndarray  # (users, levels)
    se: np.ndarray  # (users, levels)
    p_value: np.ndarray  # (users, levels) of the coverage being the level
    contexts: float  # how many independent contexts the group is worth, per number of users


def cluster_coverage(inside: np.ndarray, mask: np.ndarray, levels: np.ndarray) -> Coverage:
    """Return the coverage of the contexts in ``mask``, its standard error and its test.

    Parameters
    ----------
    inside : ndarray
        Whether each truth lies in its interval, (users, data sets, points, levels).
    mask : ndarray
        Which contexts belong to the group, (users, data sets, points).
    levels : ndarray
        Nominal levels.
    """
    points = mask.sum(axis=2)[..., None]  # (users, sets, 1)
    hits = (inside & mask[..., None]).sum(axis=2)  # (users, sets, levels)
    total = points.sum(axis=1)
    share = hits.sum(axis=1) / total
    # Over all numbers of users: a single one is too few to estimate a correlation.
    away = np.where(mask[..., None], inside - levels, 0.0)
    pairs = np.sum(points * (points - 1))
    together = np.sum(away.sum(axis=2) ** 2 - (away**2).sum(axis=2), axis=(0, 1))
    correlation = np.clip(np.max(together / (levels * (1.0 - levels))) / max(pairs, 1), 0.0, 1.0)
    effective = total / (1.0 + correlation * np.sum(points * (points - 1), axis=1) / total)
    return Coverage(
        share,
        _standard_error(hits, points, share, levels, effective),
        _two_sided(share * effective, effective, levels),
        float(effective.mean()),
    )


def _standard_error(
    hits: np.ndarray, points: np.ndarray, share: np.ndarray, levels: np.ndarray, effective: np.ndarray
) -> np.ndarray:
    """Return the standard error over data sets of Σ(hits)/Σ(points); data sets differ in their points.

    It is that of the linearised ratio. Where all or none are hits the data show no scatter: there it is
    that of a share with one more context, which is hit with the probability of the level.
    """
    sets = hits.shape[1]
    residual = hits - share[:, None] * points
    linear = np.sqrt(sets / (sets - 1) * np.sum(residual**2, axis=1)) / points.sum(axis=1)
    near = (share * effective + levels) / (effective + 1.0)
    return np.where((share == 0.0) | (share == 1.0), np.sqrt(near * (1.0 - near) / effective), linear)


def _two_sided(hits: np.ndarray, trials: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return the two-sided binomial p-value; neither number need be whole."""
    few = special.betaincc(hits + 1.0, np.maximum(trials - hits, 1e-300), probability)
    many = special.betainc(np.maximum(hits, 1e-300), trials - hits + 1.0, probability)
    few, many = np.where(hits >= trials, 1.0, few), np.where(hits <= 0.0, 1.0, many)
    return np.minimum(1.0, 2.0 * np.minimum(few, many))


def shares_of_error(levels: np.ndarray, judged: float) -> np.ndarray:
    """Return the share of the error rate that is spent on each level: most of it on the one that verdicts are about.

    Examples
    --------
    >>> shares_of_error(np.array([0.5, 0.9, 0.95]), 0.9).tolist()
    [0.1, 0.8, 0.1]
    """
    if judged not in levels:
        return np.full(levels.size, 1.0 / levels.size)
    other = (1.0 - _ON_LEVEL) / max(levels.size - 1, 1)
    shares = np.where(levels == judged, _ON_LEVEL if levels.size > 1 else 1.0, other)
    return np.round(shares, 12)
