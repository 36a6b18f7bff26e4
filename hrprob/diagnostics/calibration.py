r"""Whether intervals for σ²(x) hold what they say.

Over data sets with truths drawn from the prior, the place of σ²(x) = f(φ*ᵀx) among draws of
f(φᵀx) is uniform, and a central interval of level p holds it in a share p of the data sets:
at any context that does not depend on the truth other than through the data. So the
coverage is looked at by region too:

================  =========================================================
region            contexts
================  =========================================================
all               fresh ones, drawn as those of a user
low, high         the third of them with the least, the largest predicted σ²
explored, rare    the third with the least, the largest ‖x‖ in V⁻¹
served            the one that the policy picks for the next user
================  =========================================================

Contexts of one data set share a posterior, so errors are over data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray
from scipy import stats

from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.diagnostics.replicate import DataSets
from hrprob.diagnostics.uniformity import place_among, uniformity_p_value
from hrprob.estimation.posterior.target import Target
from hrprob.problem import Problem

__all__ = ["ERROR_RATE", "LEVELS", "REGIONS", "coverage", "sigma2_places"]

LEVELS = (0.5, 0.8, 0.9, 0.95)
REGIONS = ("all", "low", "high", "explored", "rare", "served")
ERROR_RATE = 0.01
"""Chance that a calibrated posterior is called anything else, all levels and sizes together."""


def sigma2_places(
    problem: Problem, target: Target, data: DataSets, found: Mapping[int, Posteriors], seed: int = 0
) -> xarray.Dataset:
    """Return where σ²(x) stands among its draws, at the fresh contexts and at the next one served.

    Parameters
    ----------
    problem : Problem
        Whose link makes variances of the truths.
    target : Target
        Whose setting makes variances of the draws.
    data : DataSets
        Data sets with one user more than the largest number in ``found``, and fresh contexts.
    found : mapping of int to Posteriors
        By the number of users that the posterior has seen.
    seed : int
        Breaks ties.

    Returns
    -------
    xarray.Dataset
        ``place``, ``predicted`` and ``leverage`` over users, data_set and point; the last point
        is the context served next.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, list[np.ndarray]] = {"place": [], "predicted": [], "leverage": []}
    for users, draws in found.items():
        x = np.concatenate([data.fresh, np.asarray(data.stays.x)[:, users : users + 1]], axis=1)
        variance = np.asarray(moments_of(target, draws, x)[1])
        truth = np.asarray(problem.link(np.einsum("spd,sd->sp", x, data.truths.phi)))
        columns["place"].append(place_among(truth, variance, rng))
        columns["predicted"].append(variance.mean(axis=1))
        columns["leverage"].append(_leverage(data, users, x))
    dims = ("users", "data_set", "point")
    points = [*(f"fresh {number + 1}" for number in range(data.fresh.shape[1])), "served"]
    return xarray.Dataset(
        {name: (dims, np.stack(column)) for name, column in columns.items()},
        coords={"users": list(found), "point": points},
    )


def _leverage(data: DataSets, users: int, x: np.ndarray) -> np.ndarray:
    """Return ‖x‖ in the norm of (XᵀX + I)⁻¹ at contexts x (sets, points, d)."""
    seen, rounds = np.asarray(data.stays.x)[:, :users], np.asarray(data.stays.rounds)[:, :users]
    gram = np.einsum("sn,sni,snj->sij", rounds, seen, seen) + np.eye(x.shape[-1])
    return np.sqrt(np.einsum("spi,sij,spj->sp", x, np.linalg.inv(gram), x))


def coverage(places: xarray.Dataset, levels: Any = LEVELS) -> xarray.Dataset:
    """Return the coverage of central intervals with its standard error, and tests of both.

    Parameters
    ----------
    places : xarray.Dataset
        What :func:`sigma2_places` returned.
    levels : sequence of float
        Levels of the intervals.

    Returns
    -------
    xarray.Dataset
        ``coverage`` and ``se`` over region, users and level; ``p_value`` over ``point_kind``
        (fresh, served) and users: of uniformity, by one context a data set. ``most_errors``, an
        attribute, is how many standard errors a coverage may be off.
    """
    inside = np.abs(places.place.values[..., None] - 0.5) <= np.asarray(levels) / 2
    masks = _masks(places)
    found = [[_share(inside[n], mask[n]) for n in range(places.sizes["users"])] for mask in masks.values()]
    dims = ("region", "users", "level")
    uniform = [
        [uniformity_p_value(of_users) for of_users in places.place.sel(point=point).values]
        for point in ("fresh 1", "served")
    ]
    tests = len(levels) * places.sizes["users"]
    return xarray.Dataset(
        {
            "coverage": (dims, np.array([[share for share, _ in row] for row in found])),
            "se": (dims, np.array([[error for _, error in row] for row in found])),
            "p_value": (("point_kind", "users"), np.array(uniform)),
        },
        coords={
            "region": list(masks),
            "users": places.users.values,
            "level": list(levels),
            "point_kind": ["fresh", "served"],
        },
        attrs={"most_errors": float(stats.norm.isf(ERROR_RATE / (2 * tests))), "error_rate": ERROR_RATE},
    )


def _masks(places: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return which points (users, data_set, point) belong to each region."""
    fresh = np.broadcast_to(places.point.values != "served", places.place.shape)

    def third(name: str, upper: bool) -> np.ndarray:
        values = places[name].values
        edges = [np.quantile(of_users[:, :-1], 2 / 3 if upper else 1 / 3) for of_users in values]
        edge = np.array(edges)[:, None, None]
        return fresh & ((values >= edge) if upper else (values <= edge))

    return {
        "all": fresh,
        "low": third("predicted", upper=False),
        "high": third("predicted", upper=True),
        "explored": third("leverage", upper=False),
        "rare": third("leverage", upper=True),
        "served": ~fresh,
    }


def _share(inside: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of points inside, by level, and its standard error over data sets.

    It is a ratio of sums, Σ(inside)/Σ(points), for data sets have unlike numbers of points in a
    region; the error is that of its linearisation.
    """
    points = mask.sum(axis=1)
    hits = (inside & mask[..., None]).sum(axis=1)
    share = hits.sum(axis=0) / points.sum()
    residual = hits - share * points[:, None]
    sets = len(points)
    return share, np.sqrt(sets / (sets - 1) * np.sum(residual**2, axis=0)) / points.sum()
