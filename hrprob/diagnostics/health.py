r"""Are the draws draws from the posterior? How each engine fared on one data set.

============  ============================================================================
engine        what is looked at
============  ============================================================================
nuts          R-hat, bulk and tail effective sample size, Monte Carlo error, divergences, and
              the energy: the Bayesian fraction of missing information of each chain [1]_
laplace, svi  Pareto k̂ and the effective sample size of their importance weights
smc           R-hat and Monte Carlo error between independent clouds of particles, and the
              effective sample size that these errors stand for
============  ============================================================================

References
----------
.. [1] M. Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo",
   arXiv:1701.02434, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import xarray

from hrprob.fitting.posterior import Posterior

__all__ = ["LEAST_BFMI", "health_concerns", "sampler_health"]

LEAST_BFMI = 0.3
_COLUMNS = ("mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail")


def sampler_health(posteriors: Mapping[str, Posterior]) -> xarray.Dataset:
    """Return how engines fared.

    Parameters
    ----------
    posteriors : mapping of str to Posterior
        Posteriors of the same data, by the name of the engine.

    Returns
    -------
    xarray.Dataset
        Over engine and parameter: ``mean``, ``sd``, ``mcse``, ``rhat``, ``ess_bulk``,
        ``ess_tail``; over engine: ``divergences``, ``bfmi`` (least of all chains), ``pareto_k``,
        ``effective`` draws, ``draws``. NaN where an engine has no such thing.
    """
    tables = {name: posterior.summary() for name, posterior in posteriors.items()}
    parameters = next(iter(tables.values())).parameter.values

    def column(table: xarray.Dataset, name: str) -> np.ndarray:
        return table[name].values if name in table else np.full(len(parameters), np.nan)

    facts = {name: _facts(posterior, tables[name]) for name, posterior in posteriors.items()}
    return xarray.Dataset(
        {
            name: (("engine", "parameter"), np.stack([column(table, name) for table in tables.values()]))
            for name in _COLUMNS
        }
        | {
            name: ("engine", np.array([of_engine[name] for of_engine in facts.values()]))
            for name in next(iter(facts.values()))
        },
        coords={"engine": list(tables), "parameter": parameters},
    )


def _facts(posterior: Posterior, table: xarray.Dataset) -> dict[str, float]:
    draws = posterior.theta.shape[0] * posterior.theta.shape[1]
    k = posterior.pareto_k
    if posterior.engine.has_density:
        effective = posterior.reweight().effective
    elif "ess_bulk" in table:
        effective = float(table.ess_bulk.min())
    else:
        effective = float(np.min((table["sd"] / table["mcse"]) ** 2))
    return {
        "draws": float(draws),
        "divergences": math.nan if posterior.divergences is None else float(posterior.divergences),
        "bfmi": _bfmi(posterior),
        "pareto_k": math.nan if k is None else k,
        "effective": effective,
    }


def _bfmi(posterior: Posterior) -> float:
    import arviz_stats
    from arviz_base import from_dict

    energy = posterior.statistics.get("energy")
    if energy is None:
        return math.nan
    tree = from_dict({"sample_stats": {"energy": np.asarray(energy)}})
    return float(np.min(np.asarray(arviz_stats.bfmi(tree)["energy"])))  # type: ignore[attr-defined]


def health_concerns(posterior: Posterior) -> list[str]:
    """Return what speaks against trusting the draws, in words; nothing if all is well."""
    found = posterior.concerns()
    bfmi = _bfmi(posterior)
    if bfmi < LEAST_BFMI:
        found.append(
            f"the fraction of missing information is {bfmi:.2f}, below {LEAST_BFMI}: the energy moves too "
            "slowly for the tails to be seen; raise `warmup` and `draws`"
        )
    return found
