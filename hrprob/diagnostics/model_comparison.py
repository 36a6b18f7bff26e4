"""Comparison of outcome models by leave-one-out cross-validation [1]_.

The models are normal, Student-t, mixture, and normal with one variance for all contexts; they
are compared by the expected log predictive density of a new round.

References
----------
.. [1] A. Vehtari, A. Gelman, J. Gabry, "Practical Bayesian model evaluation using
   leave-one-out cross-validation and WAIC", Statistics and Computing 27, 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import xarray

from hrprob._core.records import record
from hrprob._core.types import Decoded
from hrprob.estimation.posterior.base import Engine
from hrprob.fitting import predictive
from hrprob.fitting.fit import fit
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Data, Model, Rounds, Setting, priors
from hrprob.numerics.products import contract

__all__ = ["MODELS", "Homoscedastic", "compare_models", "fit_models", "log_likelihood_tree"]


@record()
class Homoscedastic(Model):
    """Normal outcomes with one variance for all contexts, f(φ₁)."""

    kind: ClassVar[str] = "homoscedastic"
    data: ClassVar[type] = Rounds

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return N(u, w)."""
        return dist.Normal(u, jnp.sqrt(w))

    def program(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Run the model: like every other, except for the variance."""
        theta, phi = priors.sample(prior, setting)
        rows = data.x.shape[0]
        with numpyro.plate("row", rows):
            self.observe(data, contract(data.x, theta), jnp.full(rows, setting.variance(phi[0])))


MODELS: dict[str, str | Model] = {
    "gaussian": "gaussian",
    "student-t": "student-t",
    "mixture": "mixture",
    "homoscedastic": Homoscedastic(),
}
"""The models that can be compared, by name."""

_SAMPLER = {"kind": "nuts", "chains": 2, "warmup": 300, "draws": 500, "depth": 6}


def fit_models(
    table: Table,
    setting: Setting,
    models: Mapping[str, str | Model] = MODELS,
    engine: str | Mapping[str, object] | Engine = _SAMPLER,
    seed: int = 0,
    prior: object = "uniform",
) -> dict[str, Posterior]:
    """Return the posterior of each model given the same rounds and the same prior."""
    options: dict[str, Decoded] = {
        "prior": prior,
        "link": setting.link,
        "bounds": setting.bounds,
        "seed": seed,
    }
    return {name: fit(table, engine, model=model, **options) for name, model in models.items()}


def log_likelihood_tree(posterior: Posterior) -> xarray.DataTree:
    """Return draws and their pointwise log likelihood as a tree, as a comparison by LOO needs them."""
    from arviz_base import from_dict

    table, (chains, draws, _) = posterior.table, posterior.theta.shape
    each = predictive.log_likelihood(posterior.target, table.x, table.r, posterior.flat())
    groups = {
        "posterior": {"theta": posterior.theta, "phi": posterior.phi},
        "log_likelihood": {"r": each.reshape(chains, draws, len(table))},
    }
    return from_dict(groups, dims={"r": ["round"]})


def compare_models(trees: Mapping[str, xarray.DataTree], reference: str) -> xarray.Dataset:
    """Return the expected log predictive density of each model, and its difference to the reference.

    Parameters
    ----------
    trees : mapping of str to DataTree
        With ``log_likelihood``, by the name of the model.
    reference : str
        The model that the others are compared with.

    Returns
    -------
    xarray.Dataset
        Over model: ``elpd`` and ``se``; ``ahead``, elpd minus that of the reference, with ``ahead_se`` over
        rounds; the effective number of parameters ``p_loo``; ``bad_k``, the share of rounds with a Pareto k̂ above 0.7.
    """
    import arviz_stats

    loo = arviz_stats.loo  # type: ignore[attr-defined]
    computed = {name: loo(tree, pointwise=True, var_name="r") for name, tree in trees.items()}
    pointwise = {name: np.asarray(one.elpd_i).ravel() for name, one in computed.items()}
    base = pointwise[reference]
    rows = base.size
    columns = {
        "elpd": [float(np.sum(each)) for each in pointwise.values()],
        "se": [float(np.std(each) * np.sqrt(rows)) for each in pointwise.values()],
        "ahead": [float(np.sum(each - base)) for each in pointwise.values()],
        "ahead_se": [float(np.std(each - base) * np.sqrt(rows)) for each in pointwise.values()],
        "p_loo": [float(one.p) for one in computed.values()],
        "bad_k": [float(np.mean(np.asarray(one.pareto_k) > 0.7)) for one in computed.values()],
    }
    return xarray.Dataset(
        {name: ("model", np.array(column)) for name, column in columns.items()},
        coords={"model": list(computed)},
        attrs={"reference": reference, "rounds": rows},
    )
