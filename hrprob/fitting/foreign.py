"""Draws that another program made, read back to be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jax
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.types import AsWritten
from hrprob.estimation.posterior.foreign_draws import ForeignDraws
from hrprob.estimation.posterior.sites import extra_sites
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.columns import Columns
from hrprob.fitting.conditioning import model_data
from hrprob.fitting.from_data import bounds_from, prior_with_intercept
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import as_table
from hrprob.io.netcdf import read_netcdf
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem import Bounds
from hrprob.problem.links import LINKS
from hrprob.problem.links.base import is_affine

__all__ = ["read_posterior"]

_MUST = "must have a group `posterior` with the draws"


@nearest_keywords
def read_posterior(
    tree: AsWritten,
    data: object,
    *,
    link: object,
    model: object = "gaussian",
    prior: object = "uniform",
    bounds: Bounds | None = None,
    names: Mapping[str, str] | None = None,
    intercept: bool = False,
    outcome: str | None = None,
    context: str | Sequence[str] | None = None,
    user: str | None = None,
    level: str | None = None,
    scale: bool | str = False,
    seed: int = 0,
) -> Posterior:
    """Return draws of another program as a posterior, for ``check()``, ``predict()`` and ``concerns()``.

    Model, link, scale and data must be those that the draws were made with: nothing in the draws says it.

    Parameters
    ----------
    tree : DataTree, InferenceData, path or mapping
        The draws: a tree of ArviZ with a group ``posterior``, the path of its netCDF file, or arrays (chain, draw, ...) by name.
    data : table of rounds
        As for :func:`hrprob.fit`.
    link : Link, str or table
        f, from φᵀx to the variance.
    model, prior : str, table or object
        The distribution of outcomes, and the prior; the prior matters for the check of its sensitivity alone.
    bounds : Bounds, optional
        Of the norms; by default as ``bounds="auto"`` of :func:`hrprob.fit` has them, and wide enough for all draws.
    names : mapping, optional
        The names of the variables there, by hrprob's: ``{"theta": "beta", "phi": "gamma"}``.
    intercept : bool
        Whether the first entries of θ and φ are intercepts.
    outcome, context, user, level, scale
        As for :func:`hrprob.fit`.
    seed : int
        The seed of predictive draws.

    Returns
    -------
    Posterior
        Its engine is "foreign"; what refits the model is undecided.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = {"b": 0.1 * rng.normal(size=(4, 100, 1)), "g": 0.1 * rng.normal(size=(4, 100, 1))}
    >>> table = ([[0.6], [-0.6], [1.0]], [0.4, -1.2, 0.3])
    >>> read_posterior(draws, table, link="log", names={"theta": "b", "phi": "g"})
    <Posterior by foreign of 'gaussian' outcomes, 'uniform' prior: 4 × 100 draws, 3 rounds, d = 1>
    """
    variables, statistics = _groups(tree)
    outcomes = make_model(model)
    columns = Columns(outcome, context, user, level, outcomes.further_columns)
    table = as_table(data, columns, scale)
    table = table.with_intercept() if intercept else table
    made, first = LINKS.make(link), int(intercept)
    named = {"theta": "theta", "phi": "phi"} | dict(names or {})
    theta, phi = (_draws(variables, named[name], name, table.dimension) for name in ("theta", "phi"))
    if bounds is None:
        chosen = bounds_from(table, made)
        longest = [1.05 * float(np.linalg.norm(part[..., first:], axis=-1).max()) for part in (theta, phi)]
        of_phi = chosen.phi if is_affine(made) else max(chosen.phi, longest[1])
        bounds = Bounds(max(chosen.theta, longest[0]), of_phi)
    setting = Setting(table.dimension, made, bounds)
    slopes = make_prior(prior)
    target = Target(outcomes, prior_with_intercept(table, made, slopes) if intercept else slopes, setting)
    rows = model_data(target, table)
    with double_precision():
        sites = extra_sites(target, jax.tree.map(jax.numpy.asarray, rows))
    return Posterior(
        theta=theta,
        phi=phi,
        sites={name: _draws(variables, named.get(name, name), name) for name, _ in sites},
        statistics=statistics,
        log_ratio=np.zeros(theta.shape[:2]),
        table=table,
        target=target,
        engine=ForeignDraws(),
        seed=seed,
    )


def _groups(tree: AsWritten) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the variables of the group ``posterior`` and of ``sample_stats``, or raise."""
    if isinstance(tree, str | Path):
        tree = read_netcdf(Path(tree), "tree", _MUST)
    if isinstance(tree, Mapping) and "posterior" not in tree:
        return {name: np.asarray(value) for name, value in tree.items()}, {}
    try:
        group = tree["posterior"]
        found = {str(name): np.asarray(group[name].values) for name in group.data_vars}
    except (KeyError, TypeError, AttributeError) as error:
        remedy = f"give a tree of ArviZ, its file, or a dictionary of arrays (chain, draw, ...) ({error})"
        raise InvalidInput("tree", _MUST, type(tree).__name__, remedy) from None
    try:
        stats = tree["sample_stats"]
        known = {str(name): np.asarray(stats[name].values) for name in stats.data_vars}
    except (KeyError, AttributeError):
        known = {}
    shape = next(iter(found.values())).shape[:2] if found else ()
    return found, {name: value for name, value in known.items() if value.shape == shape}


def _draws(
    variables: Mapping[str, np.ndarray], there: str, name: str, dimension: int | None = None
) -> np.ndarray:
    """Return the draws (chain, draw, ...) of one variable, or raise."""
    if there not in variables:
        remedy = f"the tree has {', '.join(variables)}; `names` says which one it is"
        raise InvalidInput("tree", f"must have draws of {name}", there, remedy)
    draws = np.asarray(variables[there], dtype=float)
    if dimension is not None and (draws.ndim != 3 or draws.shape[-1] != dimension):
        must = f"must have draws of {name} of shape (chain, draw, {dimension})"
        raise InvalidInput("tree", must, draws.shape, "one entry per feature, in the order of the contexts")
    if not np.all(np.isfinite(draws)):
        raise InvalidInput("tree", f"must have finite draws of {name}", "NaN or infinity", "drop such draws")
    return draws
