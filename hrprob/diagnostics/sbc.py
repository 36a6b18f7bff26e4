r"""Simulation-based calibration: whether an engine's posterior is the posterior.

Truths are drawn from the prior, data from the model given each truth, and an engine is
fitted to each data set. If what it returns is the posterior, the rank of the truth among
its draws is uniform, for every quantity that is a function of truth and data [1]_:

==========  ====================================================================
quantity    what
==========  ====================================================================
θ_j, φ_j    the coefficients
σ²(x)       f(φᵀx) at a fresh context, and at the one that is served next
h           the expected lifetime there, at the level of a fresh, of the next user
==========  ====================================================================

The p-values of one engine at one number of users are adjusted together, so that there a
sound engine fails any of its tests with a stated probability at most. Those of several engines
or numbers of users are not: each has that probability anew.

References
----------
.. [1] S. Talts, M. Betancourt, D. Simpson, A. Vehtari, A. Gelman, "Validating Bayesian
   inference algorithms with simulation-based calibration", arXiv:1804.06788, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray

from hrprob import lifetime
from hrprob.diagnostics.posteriors import Posteriors, moments_of
from hrprob.diagnostics.uniformity import place_among, uniformity_p_value
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.multiple_testing import holm
from hrprob.problem import Problem
from hrprob.simulation.data_sets import DataSets, check_fresh, check_users

__all__ = ["ERROR_RATE", "judge", "quantities", "ranks"]

ERROR_RATE = 0.01
"""Probability at most that a sound engine fails one or more of its tests at one number of users."""


def quantities(dimension: int) -> list[str]:
    """Return the names of what is ranked.

    Examples
    --------
    >>> quantities(1)
    ['θ1', 'φ1', 'σ²(x)', 'σ²(x) served', 'h', 'h served']
    """
    coefficients = [f"{symbol}{j + 1}" for symbol in "θφ" for j in range(dimension)]
    return [*coefficients, "σ²(x)", "σ²(x) served", "h", "h served"]


def ranks(
    problem: Problem, target: Target, data: DataSets, found: Mapping[int, Posteriors], seed: int = 0
) -> xarray.DataArray:
    """Return where each true quantity stands among its draws, over users, quantity and data set.

    Parameters
    ----------
    problem : Problem
        Whose link and noise make variances and lifetimes of the truths.
    target : Target
        Whose setting and model make those of the draws.
    data : DataSets
        Data sets with one user more than the largest number in ``found``, and fresh contexts.
    found : mapping of int to Posteriors
        By the number of users that the posterior has seen.
    seed : int
        Breaks ties.
    """
    check_users(found, data)
    check_fresh(data)
    rng = np.random.default_rng(seed)
    places = [_ranks_at(problem, target, data, users, draws, rng) for users, draws in found.items()]
    return xarray.DataArray(
        np.stack(places),
        dims=("users", "quantity", "data_set"),
        coords={"users": list(found), "quantity": quantities(problem.dimension)},
        name="place",
    )


def _ranks_at(
    problem: Problem, target: Target, data: DataSets, users: int, found: Posteriors, rng: np.random.Generator
) -> np.ndarray:
    sets = found.theta.shape[0]
    theta, phi = (leaf[:sets] for leaf in data.truths)
    # The first fresh context, and the one that the policy picks knowing just these users.
    x = np.stack([data.fresh[:sets, 0], np.asarray(data.stays.x)[:sets, users]], axis=1)
    beta = np.stack([data.fresh_beta[:sets, 0], data.beta[:sets, users]], axis=1)
    u, w = moments_of(target, found, x)
    true_u, true_w = np.einsum("spd,sd->sp", x, theta), _variance(problem, x, phi)
    drawn = np.asarray(lifetime.h(u, w, beta[:, None], target.model.noise))
    true = np.asarray(lifetime.h(true_u, true_w, beta, problem.noise))
    truths = np.concatenate([theta, phi, true_w, true], axis=1)
    draws = np.concatenate([found.theta, found.phi, w, drawn], axis=2)
    return place_among(truths, draws, rng).T


def _variance(problem: Problem, x: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return np.maximum(np.asarray(problem.link(np.einsum("spd,sd->sp", x, phi))), 0.0)


def judge(places: xarray.DataArray, error_rate: float = ERROR_RATE) -> xarray.Dataset:
    """Return p-values of uniformity, adjusted for all quantities at one number of users, and who passes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places = xarray.DataArray(rng.uniform(size=(1, 2, 100)), dims=("users", "quantity", "data_set"))
    >>> judge(places).passed.values.tolist()
    [[True, True]]
    """
    axes = ("users", "quantity")
    p: Any = np.array([[uniformity_p_value(row) for row in at] for at in places.values])
    adjusted = np.stack([holm(row) for row in p])
    return xarray.Dataset(
        {"p_value": (axes, p), "adjusted": (axes, adjusted), "passed": (axes, adjusted >= error_rate)},
        coords={name: places[name] for name in axes if name in places.coords},
        attrs={"error_rate": error_rate, "data_sets": places.sizes["data_set"]},
    )
