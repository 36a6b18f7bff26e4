r"""Bayesian and frequentist estimates side by side, as data arrive.

================  ================================================================
θ̂, φ̂             the GLSE, with the standard errors of its sampling distribution
E[θ], E[φ]        posterior means, with posterior standard deviations
``efficiency``    mean squared error of the posterior mean over that of the GLSE
================  ================================================================

The GLSE's standard errors treat the contexts as given, and plug its own variances
ŵ = f(φ̂ᵀx) in, held above a floor:

.. math::
    \widehat{\mathbb V}\,\hat\theta = V^{-1} \Big(\sum m\,\hat w\, xx^\top\Big) V^{-1}, \qquad
    \widehat{\mathbb V}\,\hat\varphi = M_f^{-2}\, V^{-1} \Big(\sum m\,(\kappa - 1)\,\hat w^2 xx^\top\Big) V^{-1},

κ being the fourth moment of the standardised noise, 3 for the normal; where it is infinite
or not known, φ̂ has no standard errors. That the residuals in φ̂ are estimated is of smaller
order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.precision import float64
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.estimation import glse
from hrprob.models import Stays
from hrprob.problem import Problem
from hrprob.problem.links import Affine
from hrprob.simulation.data_sets import DataSets

__all__ = ["compare_estimates", "efficiency", "first_users", "glse_of_each"]

ESTIMATORS = ("GLSE", "posterior")


@float64
def glse_of_each(
    stays: Stays,
    link: Affine,
    ridge: float = 1.0,
    variance_floor: float = 0.01,
    fourth_moment: float | None = 3.0,
) -> Any:
    """Return the GLSE of every data set and its standard errors.

    Parameters
    ----------
    stays : Stays
        Data sets on the first axis of every leaf, users on the second.
    link : Affine
        f.
    ridge, variance_floor : float
        λ, and the least variance that is plugged in.
    fourth_moment : float, optional
        κ, that of the standardised noise; without it, standard errors of φ̂ are NaN.

    Returns
    -------
    tuple of ndarray
        θ̂, φ̂ and their standard errors, (sets, d) each.
    """
    kurtosis = math.nan if fourth_moment is None else fourth_moment
    return _glse_of_each(jax.tree.map(jnp.asarray, stays), link, ridge, variance_floor, kurtosis)


@jax.jit
def _glse_of_each(stays: Stays, link: Affine, ridge: Any, floor: Any, kurtosis: Any) -> Any:
    d = stays.x.shape[-1]

    def one(data: Stays) -> Any:
        each = jax.vmap(lambda *row: glse.add(glse.empty(d), *row))(*data)
        found = glse.solve(jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), each), ridge, link)
        variance = jnp.maximum(link(data.x @ found.phi), floor)

        def deviation(weight: jax.Array) -> jax.Array:
            spread = jnp.einsum("n,ni,nj->ij", data.rounds * weight, data.x, data.x)
            return jnp.sqrt(jnp.diagonal(found.inverse @ spread @ found.inverse))

        squares = deviation((kurtosis - 1.0) * variance**2) / link.slope
        return found.theta, found.phi, deviation(variance), squares

    return jax.vmap(one)(stays)


def first_users(data: DataSets, users: int, sets: int) -> Stays:
    """Return the stays of the first users, the others as if they had not come: one shape, one program."""
    there = np.arange(data.stays.rounds.shape[1]) < users
    leaves = (np.asarray(leaf)[:sets] for leaf in data.stays)
    return Stays(*(np.where(there.reshape(1, -1, *[1] * (leaf.ndim - 2)), leaf, 0.0) for leaf in leaves))  # type: ignore[arg-type]


def compare_estimates(problem: Problem, data: DataSets, found: Mapping[int, Posteriors]) -> xarray.Dataset:
    """Return both estimates of every coefficient in every data set, after some numbers of users.

    Parameters
    ----------
    problem : Problem
        Whose link the GLSE needs, and whose noise its standard errors.
    data : DataSets
        The data sets; the posteriors are of the first of them.
    found : mapping of int to Posteriors
        By the number of users that the posterior has seen.

    Returns
    -------
    xarray.Dataset
        ``estimate`` and ``se`` over estimator (GLSE, posterior), users, data_set, parameter
        (theta, phi) and feature; ``truth`` over data_set, parameter and feature.
    """
    sets = next(iter(found.values())).theta.shape[0]
    fourth = getattr(problem.noise, "fourth_moment", None)
    estimates, errors = [], []
    for users, draws in found.items():
        theta, phi, of_theta, of_phi = glse_of_each(
            first_users(data, users, sets), problem.link, fourth_moment=fourth
        )
        means = [leaf.mean(axis=1) for leaf in draws]
        deviations = [leaf.std(axis=1, ddof=1) for leaf in draws]
        estimates.append([np.stack([theta, phi], axis=1), np.stack(means, axis=1)])
        errors.append([np.stack([of_theta, of_phi], axis=1), np.stack(deviations, axis=1)])
    dims = ("users", "estimator", "data_set", "parameter", "feature")
    return xarray.Dataset(
        {
            "estimate": (dims, np.array(estimates)),
            "se": (dims, np.array(errors)),
            "truth": (dims[2:], np.stack([leaf[:sets] for leaf in data.truths], axis=1)),
        },
        coords={
            "users": list(found),
            "estimator": list(ESTIMATORS),
            "parameter": ["theta", "phi"],
            "feature": [f"x{j + 1}" for j in range(problem.dimension)],
        },
    )


def efficiency(estimates: xarray.Dataset) -> xarray.Dataset:
    """Return mean squared errors and their ratio, by users and parameter.

    ``efficiency`` is the error of the posterior mean over that of the GLSE: below 1 the posterior
    mean is nearer the truth. Its standard error is that of the linearised ratio over data sets.
    ``honesty`` is the root mean square of (estimate − truth)/se: 1 if standard errors mean what
    they say.
    """
    away = estimates.estimate - estimates.truth
    each = (away**2).sum("feature")
    mse = each.mean("data_set")
    glse_error, posterior_error = (each.sel(estimator=name, drop=True) for name in ESTIMATORS)
    ratio = mse.sel(estimator="posterior", drop=True) / mse.sel(estimator="GLSE", drop=True)
    residual = posterior_error - ratio * glse_error
    sets = estimates.sizes["data_set"]
    se = residual.std("data_set", ddof=1) / np.sqrt(sets) / mse.sel(estimator="GLSE", drop=True)
    honesty = np.sqrt(((away / estimates.se) ** 2).mean(("data_set", "feature")))
    return xarray.Dataset({"mse": mse, "efficiency": ratio, "efficiency_se": se, "honesty": honesty})
