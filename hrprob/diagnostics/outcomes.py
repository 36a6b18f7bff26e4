r"""Do outcomes look as the model says? One data set, its model and three others.

- **LOO-PIT**: where each outcome stands in its predictive distribution given all others,
  by importance sampling [1]_; uniform if the model holds.
- **Residuals**: e = (r − θᵀx)/√f(φᵀx) of the data against those of data drawn anew from each
  posterior draw: skewness, excess kurtosis, the largest |e|.
- **Models** by the expected log predictive density of a new round [1]_: normal, Student-t,
  mixture, and normal with one variance for all contexts.

Users leave because of their outcomes, so the last outcome of a stay lies below β and the
others above. Over whole stays that evens out: the number of rounds is a stopping time, and
every outcome has its full distribution given those before it.

References
----------
.. [1] A. Vehtari, A. Gelman, J. Gabry, "Practical Bayesian model evaluation using
   leave-one-out cross-validation and WAIC", Statistics and Computing 27, 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import xarray
from scipy import stats

from hrprob._core.precision import double_precision
from hrprob._core.records import record
from hrprob.diagnostics.uniformity import uniformity_p_value
from hrprob.fitting import predictive
from hrprob.fitting.fit import fit
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Data, Model, Rounds, Setting, priors
from hrprob.numerics.products import contract
from hrprob.simulation.data_sets import DataSets

__all__ = [
    "MODELS",
    "Homoscedastic",
    "compare_models",
    "fit_models",
    "log_likelihood_tree",
    "loo_places",
    "residual_checks",
    "table_of",
]

STATISTICS = {
    "skewness": stats.skew,
    "excess kurtosis": stats.kurtosis,
    "largest |e|": lambda e, axis: np.max(np.abs(e), axis=axis),
}


@record()
class Homoscedastic(Model):
    """Normal outcomes with one variance for all contexts, f(φ₁)."""

    kind: ClassVar[str] = "homoscedastic"
    data: ClassVar[type] = Rounds

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return N(u, w)."""
        return dist.Normal(u, jnp.sqrt(w))

    def program(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Run the model: as every other, but for the variance."""
        theta, phi = priors.sample(prior, setting)
        rows = data.x.shape[0]
        with numpyro.plate("row", rows):
            self.observe(data, contract(data.x, theta), jnp.full(rows, setting.variance(phi[0])))


MODELS: dict[str, Any] = {
    "gaussian": "gaussian",
    "student-t": "student-t",
    "mixture": "mixture",
    "homoscedastic": Homoscedastic(),
}
"""What a problem's own model is compared with."""

_SAMPLER = {"kind": "nuts", "chains": 2, "warmup": 300, "draws": 500, "depth": 6}


def table_of(data: DataSets, number: int = 0, most_rounds: int = 600) -> Table:
    """Return single rounds of one data set, those of its first users until there are ``most_rounds``.

    The last of these users is in it whole: to leave out whoever has too many would be to choose by outcomes.
    """
    rounds = np.asarray(data.stays.rounds)[number].astype(int)
    rounds = np.minimum(rounds, data.outcomes.shape[-1])
    users = min(int(np.searchsorted(np.cumsum(rounds), most_rounds)) + 1, len(rounds))
    each = np.repeat(np.arange(users), rounds[:users])
    place = np.concatenate([np.arange(count) for count in rounds[:users]])
    return Table(
        x=np.asarray(data.stays.x)[number, each],
        r=data.outcomes[number, each, place],
        user=each,
        beta=data.beta[number, each],
    )


def fit_models(
    table: Table,
    setting: Setting,
    models: Mapping[str, Any] = MODELS,
    engine: Any = _SAMPLER,
    seed: int = 0,
    prior: Any = "uniform",
) -> dict[str, Posterior]:
    """Return the posterior of each model given the same rounds and the same prior."""
    options: dict[str, Any] = {"prior": prior, "link": setting.link, "bounds": setting.bounds, "seed": seed}
    return {name: fit(table, engine, model=model, **options) for name, model in models.items()}


def log_likelihood_tree(posterior: Posterior) -> Any:
    """Return draws and their pointwise log likelihood as a tree: what a comparison by LOO needs."""
    from arviz_base import from_dict

    table, (chains, draws, _) = posterior.table, posterior.theta.shape
    each = predictive.log_likelihood(posterior.target, table.x, table.r, posterior.flat())
    groups = {
        "posterior": {"theta": posterior.theta, "phi": posterior.phi},
        "log_likelihood": {"r": each.reshape(chains, draws, len(table))},
    }
    return from_dict(groups, dims={"r": ["round"]})


def compare_models(trees: Mapping[str, Any], reference: str) -> xarray.Dataset:
    """Return the expected log predictive density of each model, and how far ahead of the reference it is.

    Parameters
    ----------
    trees : mapping of str to DataTree
        With ``log_likelihood``, by the name of the model.
    reference : str
        The model that the others are held against.

    Returns
    -------
    xarray.Dataset
        Over model: ``elpd`` and ``se``; ``ahead`` of the reference, with ``ahead_se`` over rounds;
        ``p_loo``; ``bad_k``, the share of rounds with a Pareto k̂ above 0.7.
    """
    import arviz_stats

    loo: Any = arviz_stats.loo  # type: ignore[attr-defined]
    found = {name: loo(tree, pointwise=True, var_name="r") for name, tree in trees.items()}
    pointwise = {name: np.asarray(of.elpd_i).ravel() for name, of in found.items()}
    base = pointwise[reference]
    rows = base.size
    columns = {
        "elpd": [float(np.sum(each)) for each in pointwise.values()],
        "se": [float(np.std(each) * np.sqrt(rows)) for each in pointwise.values()],
        "ahead": [float(np.sum(each - base)) for each in pointwise.values()],
        "ahead_se": [float(np.std(each - base) * np.sqrt(rows)) for each in pointwise.values()],
        "p_loo": [float(of.p) for of in found.values()],
        "bad_k": [float(np.mean(np.asarray(of.pareto_k) > 0.7)) for of in found.values()],
    }
    return xarray.Dataset(
        {name: ("model", np.array(column)) for name, column in columns.items()},
        coords={"model": list(found)},
        attrs={"reference": reference, "rounds": rows},
    )


def loo_places(tree: Any) -> tuple[np.ndarray, float]:
    """Return where each outcome stands in its leave-one-out predictive distribution, and the p-value of uniformity."""
    import arviz_stats

    # Outcomes are continuous: no ties to be broken at random.
    loo_pit: Any = arviz_stats.loo_pit  # type: ignore[attr-defined]
    places = np.asarray(loo_pit(tree, var_names="r")["r"]).ravel()
    return places, uniformity_p_value(places)


def residual_checks(tree: Any, setting: Setting, draws: int = 500) -> xarray.Dataset:
    """Return statistics of the residuals' shape, of the data and of data drawn anew from the posterior.

    Parameters
    ----------
    tree : DataTree
        With ``posterior``, ``posterior_predictive``, ``observed_data`` and ``constant_data``.
    setting : Setting
        Which makes mean and variance of a draw.
    draws : int
        Draws looked at.

    Returns
    -------
    xarray.Dataset
        Over statistic and draw: ``observed`` (it depends on the draw) and ``replicated``; over
        statistic: ``p_value``, the probability that drawn data have a larger statistic than those seen.
    """
    posterior = tree["posterior"]
    theta, phi = (np.asarray(posterior[name]).reshape(-1, setting.dimension) for name in ("theta", "phi"))
    again = np.asarray(tree["posterior_predictive"]["r"]).reshape(len(theta), -1)
    picks = np.linspace(0, len(theta) - 1, min(draws, len(theta))).astype(int)
    x, r = np.asarray(tree["constant_data"]["x"]), np.asarray(tree["observed_data"]["r"])
    mean = theta[picks] @ x.T
    with double_precision():
        deviation = np.sqrt(np.asarray(setting.variance(jnp.asarray(phi[picks] @ x.T))))
    both = ((r - mean) / deviation, (again[picks] - mean) / deviation)
    seen, drawn = (np.stack([of(e, axis=1) for of in STATISTICS.values()]) for e in both)
    return xarray.Dataset(
        {
            "observed": (("statistic", "draw"), seen),
            "replicated": (("statistic", "draw"), drawn),
            "p_value": ("statistic", np.mean(drawn >= seen, axis=1)),
        },
        coords={"statistic": list(STATISTICS)},
    )
