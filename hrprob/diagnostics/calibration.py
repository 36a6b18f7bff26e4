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

Contexts of one data set share a posterior, so errors are over data sets. A coverage is
tested as that of N/(1 + ϱ Σm(m − 1)/N) independent contexts, N in all and m in a data set:
ϱ, the correlation of two hits in one data set, is that of deviations from the level itself,
over all numbers of users, and the largest over levels. So the test does not rest on an
error that is estimated from the very coverage it judges, which is 0 where all are covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray
from scipy import special

from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.diagnostics.uniformity import place_among, uniformity_p_value
from hrprob.estimation.posterior.target import Target
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, check_fresh, check_users

__all__ = ["ERROR_RATE", "LEVELS", "REGIONS", "coverage", "sigma2_places"]

LEVELS = (0.5, 0.8, 0.9, 0.95)
REGIONS = ("all", "low", "high", "explored", "rare", "served")
ERROR_RATE = 0.01
"""Probability at most that a calibrated posterior is called anything else, all levels and sizes together."""


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
        Data sets with one user more than the largest number in ``found``, and fresh contexts; the
        posteriors are of the first of them.
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
    check_users(found, data)
    check_fresh(data)
    rng = np.random.default_rng(seed)
    columns: dict[str, list[np.ndarray]] = {"place": [], "predicted": [], "leverage": []}
    for users, draws in found.items():
        sets = len(draws.phi)
        x = np.concatenate([data.fresh[:sets], np.asarray(data.stays.x)[:sets, users : users + 1]], axis=1)
        variance = np.asarray(moments_of(target, draws, x)[1])
        truth = np.asarray(problem.link(np.einsum("spd,sd->sp", x, data.truths.phi[:sets])))
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
    seen, rounds = (np.asarray(leaf)[: len(x), :users] for leaf in (data.stays.x, data.stays.rounds))
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
        Over region, users and level: ``coverage``, its standard error ``se``, and ``probability``, the
        p-value of its being the level; over region: ``contexts``, how many independent ones the
        region is worth at one number of users. ``p_value`` over ``point_kind`` (fresh, served) and
        users: of uniformity, by one context a data set. Attributes: ``least_probability`` for region all,
        and ``least_chance_elsewhere`` for the others, below which a coverage is not its level, with
        ``error_rate`` over all cells of region all, and of all others; ``data_sets``.
    """
    at = np.asarray(levels, dtype=float)
    inside = np.abs(places.place.values[..., None] - 0.5) <= at / 2
    masks = _masks(places)
    found = [_region(inside, mask, at) for mask in masks.values()]
    dims = ("region", "users", "level")
    uniform = [
        [uniformity_p_value(of_users) for of_users in places.place.sel(point=point).values]
        for point in ("fresh 1", "served")
    ]
    tests = at.size * places.sizes["users"]
    return xarray.Dataset(
        {name: (dims, np.stack([of[name] for of in found])) for name in ("coverage", "se", "probability")}
        | {
            "contexts": ("region", np.array([of["contexts"] for of in found])),
            "p_value": (("point_kind", "users"), np.array(uniform)),
        },
        coords={
            "region": list(masks),
            "users": places.users.values,
            "level": list(levels),
            "point_kind": ["fresh", "served"],
        },
        attrs={
            "error_rate": ERROR_RATE,
            "least_probability": ERROR_RATE / tests,
            "least_chance_elsewhere": ERROR_RATE / (tests * (len(masks) - 1)),
            "data_sets": places.sizes["data_set"],
        },
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


def _region(inside: np.ndarray, mask: np.ndarray, levels: np.ndarray) -> dict[str, Any]:
    """Return coverage, its error and its test (users, levels) of the points in ``mask`` (users, sets, points)."""
    points = mask.sum(axis=2)[..., None]  # (users, sets, 1)
    hits = (inside & mask[..., None]).sum(axis=2)  # (users, sets, levels)
    total = points.sum(axis=1)
    share = hits.sum(axis=1) / total
    # Over all numbers of users: one is too few to tell a correlation from none.
    away = np.where(mask[..., None], inside - levels, 0.0)
    pairs = np.sum(points * (points - 1))
    together = np.sum(away.sum(axis=2) ** 2 - (away**2).sum(axis=2), axis=(0, 1))
    correlation = np.clip(np.max(together / (levels * (1.0 - levels))) / max(pairs, 1), 0.0, 1.0)
    worth = total / (1.0 + correlation * np.sum(points * (points - 1), axis=1) / total)
    return {
        "coverage": share,
        "se": _error(hits, points, share, levels, worth),
        "probability": _two_sided(share * worth, worth, levels),
        "contexts": float(worth.mean()),
    }


def _error(
    hits: np.ndarray, points: np.ndarray, share: np.ndarray, levels: np.ndarray, worth: np.ndarray
) -> np.ndarray:
    """Return the standard error over data sets of Σ(hits)/Σ(points), for sets have unlike numbers of points.

    It is that of the linearised ratio; where all or none are hits, which shows no scatter, that of
    one hit more, weighed as the level.
    """
    sets = hits.shape[1]
    residual = hits - share[:, None] * points
    linear = np.sqrt(sets / (sets - 1) * np.sum(residual**2, axis=1)) / points.sum(axis=1)
    near = (share * worth + levels) / (worth + 1.0)
    return np.where((share == 0.0) | (share == 1.0), np.sqrt(near * (1.0 - near) / worth), linear)


def _two_sided(hits: np.ndarray, trials: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return the probability of binomial hits as strange as these; neither number need be whole."""
    few = special.betaincc(hits + 1.0, np.maximum(trials - hits, 1e-300), probability)
    many = special.betainc(np.maximum(hits, 1e-300), trials - hits + 1.0, probability)
    few, many = np.where(hits >= trials, 1.0, few), np.where(hits <= 0.0, 1.0, many)
    return np.minimum(1.0, 2.0 * np.minimum(few, many))
