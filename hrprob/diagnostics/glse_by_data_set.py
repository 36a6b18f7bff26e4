r"""The GLSE of each of many data sets, with its standard errors.

The standard errors treat the contexts as given, and use the estimated variances
ŵ = f(φ̂ᵀx), clipped from below at a floor:

.. math::
    \widehat{\mathbb V}\,\hat\theta = V^{-1} \Big(\sum m\,\hat w\, xx^\top\Big) V^{-1}, \qquad
    \widehat{\mathbb V}\,\hat\varphi = M_f^{-2}\, V^{-1} \Big(\sum m\,(\kappa - 1)\,\hat w^2 xx^\top\Big) V^{-1},

κ being the fourth moment of the standardised noise, 3 for the normal; where it is infinite
or not known, φ̂ has no standard errors. That the residuals in φ̂ are estimated is of smaller
order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import float64
from hrprob._core.types import Number
from hrprob.estimation import glse
from hrprob.models import Stays
from hrprob.problem.links import Affine
from hrprob.problem.links.base import Link, is_affine
from hrprob.simulation.data_sets import DataSets

__all__ = ["GLSEs", "check_affine", "first_users", "glse_by_data_set", "why_no_glse"]


class GLSEs(NamedTuple):
    """Estimates and standard errors of every data set."""

    theta: jax.Array  # (sets, d)
    phi: jax.Array  # (sets, d)
    theta_se: jax.Array  # (sets, d)
    phi_se: jax.Array  # (sets, d)


def why_no_glse(link: Link) -> str:
    """Return why there is no GLSE, and none of the printed sets, under a link; nothing if there is.

    Examples
    --------
    >>> why_no_glse(Affine())
    ''
    """
    if is_affine(link):
        return ""
    return f"the link {link.kind!r} is not affine, and the GLSE and the sets about it are defined for affine links only"


def check_affine(link: Link) -> None:
    """Raise unless there is a GLSE under a link."""
    why = why_no_glse(link)
    if why:
        raise InvalidInput("link", "must be affine", link.kind, f"{why}; take a posterior")


@float64
def glse_by_data_set(
    stays: Stays,
    link: Link,
    ridge: float = 1.0,
    variance_floor: float = 0.01,
    fourth_moment: float | None = 3.0,
) -> GLSEs:
    """Return the GLSE of every data set with its standard errors.

    Parameters
    ----------
    stays : Stays
        Data sets on the first axis of every leaf, users on the second.
    link : Link
        f, which must be affine.
    ridge, variance_floor : float
        λ, and the smallest variance that is plugged in.
    fourth_moment : float, optional
        κ, the fourth moment of the standardised noise; without it, standard errors of φ̂ are NaN.
    """
    check_affine(link)
    kurtosis = math.nan if fourth_moment is None else fourth_moment
    every: GLSEs = _glse_by_data_set(jax.tree.map(jnp.asarray, stays), link, ridge, variance_floor, kurtosis)
    return every


@jax.jit
def _glse_by_data_set(stays: Stays, link: Affine, ridge: Number, floor: Number, kurtosis: Number) -> GLSEs:
    d = stays.x.shape[-1]

    def one(data: Stays) -> GLSEs:
        each = jax.vmap(lambda *row: glse.add(glse.empty(d), *row))(*data)
        estimate = glse.solve(jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), each), ridge, link)
        variance = jnp.maximum(link(data.x @ estimate.phi), floor)

        def standard_error(weight: jax.Array) -> jax.Array:
            spread = jnp.einsum("n,ni,nj->ij", data.rounds * weight, data.x, data.x)
            return jnp.sqrt(jnp.diagonal(estimate.inverse @ spread @ estimate.inverse))

        phi_se = standard_error((kurtosis - 1.0) * variance**2) / link.slope
        return GLSEs(estimate.theta, estimate.phi, standard_error(variance), phi_se)

    every: GLSEs = jax.vmap(one)(stays)
    return every


def first_users(data: DataSets, users: int, sets: int) -> Stays:
    """Return the stays of the first users, with zeros in place of the others: one shape, one compiled program."""
    there = np.arange(data.stays.rounds.shape[1]) < users
    leaves = (np.asarray(leaf)[:sets] for leaf in data.stays)
    return Stays(*(np.where(there.reshape(1, -1, *[1] * (leaf.ndim - 2)), leaf, 0.0) for leaf in leaves))  # type: ignore[arg-type]
