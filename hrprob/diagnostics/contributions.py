"""Why is ρ_n so much larger than the quantile of the error? Contributions of each step of the bound.

ρ_n/quantile is a product of five factors, removed in this order: the union over n (δ/n² in place of
δ), σ²_max where κ·σ_max belongs (and L² in place of L, ln(d/δ) in place of ln(2d/δ)), the product α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾) that accounts for
the unknown θ*, the rest of the bound above the simultaneous quantile over data sets, and simultaneity
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.precision import double_precision
from hrprob._core.types import Number
from hrprob.diagnostics.printed_sets import printed_sets
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.problem import Problem

__all__ = ["contributions"]


def contributions(dataset: xarray.Dataset, problem: Problem, ridge: float | None = None) -> xarray.Dataset:
    """Return the factors whose product is ρ_n/quantile, for φ, by n.

    Parameters
    ----------
    dataset : xarray.Dataset
        From :func:`~hrprob.diagnostics.printed_sets.compare_sets`.
    problem : Problem
        What was played.
    ridge : float, optional
        λ; by default that of ``dataset``.

    Returns
    -------
    xarray.Dataset
        Over n: ``total`` and its factors ``union``, ``scale``, ``product``, ``rest`` and
        ``simultaneity``; and ``share_of_product``, the share of α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾) in the printed ρ_n.
    """
    given = dataset.attrs["ridge"] if ridge is None else ridge
    sets = printed_sets(problem, given, dataset.attrs["variance_max"])
    n, phi = dataset.n.values.astype(float), dataset.sel(parameter="phi")
    with double_precision():
        parts = jax.tree.map(np.asarray, _parts_of_rho(sets, n, dataset.attrs["delta"]))
    simultaneous, pointwise = phi.quantile_simultaneous.values, phi["quantile"].values
    factors = {
        "total": parts.printed / pointwise,
        "union": parts.printed / parts.at_one,
        "scale": parts.at_one / parts.corrected,
        "product": parts.corrected / parts.known_mean,
        "rest": parts.known_mean / simultaneous,
        "simultaneity": simultaneous / pointwise,
        "share_of_product": parts.product / parts.printed,
    }
    return xarray.Dataset(
        {name: ("n", values) for name, values in factors.items()}, coords={"n": dataset.n.values}
    )


class _Parts(NamedTuple):
    """ρ_n as printed, and as one cause after another is removed; (sizes,) each."""

    printed: jax.Array  # ρ_n(δ/n²)
    product: jax.Array  # of which α⁽¹⁾(α⁽¹⁾ + 2α⁽³⁾)/M_f
    at_one: jax.Array  # ρ_n(δ), for one n only
    corrected: jax.Array  # ρ_n(δ) of the corrected set
    known_mean: jax.Array  # the same if θ* were known


@jax.jit
def _parts_of_rho(sets: Mapping[str, ConfidenceSets], n: jax.Array, delta: Number) -> _Parts:
    paper, corrected = sets["paper"], sets["corrected"]
    third = delta / n**2 / 3
    alpha1 = paper.alpha1(n, third)
    known_mean = corrected.alpha2(delta / 3) / corrected.slope + corrected.bound * jnp.sqrt(corrected.ridge)
    return _Parts(
        printed=paper.rho(n, delta / n**2),
        product=alpha1 * (alpha1 + 2 * paper.alpha3(third)) / paper.slope,
        at_one=paper.rho(n, jnp.full_like(n, delta)),
        corrected=corrected.rho(n, delta),
        known_mean=known_mean,
    )
