r"""The posterior of θ and φ given a table of rounds: draws, and what they say.

==============  ======================  ============================================
symbol          name                    what it is
==============  ======================  ============================================
θ, φ            ``theta``, ``phi``      draws (chain, draw, d)
θᵀx, f(φᵀx)     ``moments``             mean and variance of an outcome, by draw
h_β(u, w)       ``predict``             expected lifetime under the model's own noise
k̂              ``summary``, ``reweight``  Pareto shape of the importance weights [1]_
==============  ======================  ============================================

References
----------
.. [1] A. Vehtari, D. Simpson, A. Gelman, Y. Yao, J. Gabry, "Pareto smoothed importance
   sampling", Journal of Machine Learning Research 25, 2024.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.importance import Reweighted, reweight
from hrprob.estimation.posterior.inference import Draws
from hrprob.estimation.posterior.target import Target
from hrprob.fitting import predictive
from hrprob.fitting.table import Table
from hrprob.models import Setting

__all__ = ["Posterior"]

STATISTICS = ("mean", "median", "low", "high")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws from a posterior, with the model, the data and the engine that they come from.

    Made by :func:`hrprob.fit`, or read back by :meth:`load`.

    Attributes
    ----------
    theta, phi : ndarray, shape (chain, draw, d)
        Draws of θ and φ.
    sites : mapping of str to ndarray
        Draws (chain, draw, ...) of latent sites that the model has beyond θ and φ.
    statistics : mapping of str to ndarray
        For each draw (chain, draw), by ArviZ's names: ``lp``, ln p up to a constant, and how
        ``nuts`` fared.
    log_ratio : ndarray, shape (chain, draw)
        ln p − ln q up to a constant where the engine approximates p by a density q; else 0.
    table : Table
        The rounds.
    target : Target
        Model, prior and setting.
    engine : engine
        What the draws were made by.
    seed : int
        The seed of everything random.
    """

    theta: np.ndarray
    phi: np.ndarray
    sites: Mapping[str, np.ndarray]
    statistics: Mapping[str, np.ndarray]
    log_ratio: np.ndarray
    table: Table
    target: Target
    engine: Engine
    seed: int

    def __repr__(self) -> str:
        chains, draws, d = self.theta.shape
        return (
            f"<Posterior by {self.engine.kind} of {self.target.model.kind!r} outcomes, "
            f"{self.target.prior.kind!r} prior: {chains} × {draws} draws, {len(self.table)} rounds, d = {d}>"
        )

    @property
    def setting(self) -> Setting:
        """Dimension, link and bounds."""
        return self.target.setting

    def flat(self) -> dict[str, np.ndarray]:
        """Return the draws of all sites, the chains one after another."""
        every = {"theta": self.theta, "phi": self.phi} | dict(self.sites)
        return {name: value.reshape(-1, *value.shape[2:]) for name, value in every.items()}

    def moments(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean θᵀx and variance f(φᵀx) of an outcome at contexts x (m, d), (chain, draw, m) each."""
        contexts = _check_contexts(x, self.setting.dimension)
        with double_precision():
            u, w = _moments(self.setting, *(jnp.asarray(v) for v in (self.theta, self.phi, contexts)))
            return np.asarray(u), np.asarray(w)

    def predict(self, x: Any, beta: Any = None, prob: float = 0.9) -> xarray.Dataset:
        """Return what is believed of outcomes at some contexts.

        The expected lifetime h = 1/p grows without bound as the probability p of reneging falls, and
        its posterior mean may be infinite, whatever a mean of draws shows. So ``lifetime`` has a
        median and an interval, those of p turned over and infinite where p is 0, and its mean is
        left open (NaN). Both p and h are under the model's own noise.

        Parameters
        ----------
        x : array_like, shape (m, d) or (d,)
            Contexts of norm at most 1.
        beta : float or array_like, shape (m,), optional
            Satisfaction levels; without them there are ``mean`` and ``variance`` only.
        prob : float
            Probability of the central intervals from ``low`` to ``high``.

        Returns
        -------
        xarray.Dataset
            ``mean`` and ``variance`` of an outcome, ``reneging_probability`` and ``lifetime``, over
            context and statistic (mean, median, low, high).

        Examples
        --------
        >>> import hrprob
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> said = posterior.predict([[1.0]], beta=-0.5)
        >>> [name for name in said.data_vars]
        ['mean', 'variance', 'reneging_probability', 'lifetime']
        >>> bool(said.lifetime.sel(statistic="low") < said.lifetime.sel(statistic="high"))
        True
        """
        check_prob(prob)
        contexts = _check_contexts(x, self.setting.dimension)
        u, w = (value.reshape(-1, len(contexts)) for value in self.moments(contexts))
        found = {"mean": _central(u, prob), "variance": _central(w, prob)}
        if beta is not None:
            levels = _check_levels(beta, len(contexts))
            probability = _central(predictive.reneging(self.target, contexts, levels, self.flat()), prob)
            found |= {"reneging_probability": probability, "lifetime": _lifetime(probability)}
        return xarray.Dataset(
            {name: (("context", "statistic"), value) for name, value in found.items()},
            coords={"statistic": list(STATISTICS)},
            attrs={"prob": prob, "interval": "central"},
        )

    def reweight(self) -> Reweighted:
        """Return the draws with importance weights and the Pareto k̂ that says whether to trust them.

        Draws of ``nuts`` and ``smc`` are taken for draws from the posterior and weigh the same:
        there is no density to hold against it, k̂ is NaN and ``trusted`` None, and it is R-hat
        in :meth:`summary` that says something of them.

        Examples
        --------
        >>> import hrprob
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> posterior.reweight().trusted
        True
        """
        nothing = np.empty((*self.log_ratio.shape, 0))
        return reweight(Draws(self.theta, self.phi, nothing, self.log_ratio, self.sites))

    @property
    def pareto_k(self) -> float | None:
        """Pareto k̂ of the engine's approximation; None where it has no density to compare."""
        return self.reweight().pareto_k if self.engine.has_density else None

    @property
    def divergences(self) -> int | None:
        """How many draws of ``nuts`` diverged; None for another engine."""
        diverging = self.statistics.get("diverging")
        return None if diverging is None else int(np.sum(diverging))

    def summary(self, prob: float = 0.9) -> xarray.Dataset:
        """Return a table of all parameters: mean, deviation, interval, and how well they are known.

        Parameters
        ----------
        prob : float
            Probability of the central intervals from ``low`` to ``high``.

        Returns
        -------
        xarray.Dataset
            Over ``parameter``: ``mean``, ``sd``, ``low``, ``high`` and ``mcse``, the Monte Carlo
            error of the mean; for ``nuts`` also ``ess_bulk``, ``ess_tail`` and ``rhat``, for
            ``smc``, whose chains are independent clouds of particles, ``rhat``. Its attributes
            have the probability, ``pareto_k`` where the engine approximates by a density, and
            ``divergences`` for ``nuts``.

        Examples
        --------
        >>> import hrprob
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> posterior.summary(prob=0.9).parameter.values.tolist()
        ['theta[x1]', 'phi[x1]']
        """
        from hrprob.fitting.summary import summarise

        return summarise(self, prob)

    def concerns(self) -> list[str]:
        """Return what speaks against trusting the draws, in words; nothing if all is well.

        Examples
        --------
        >>> import hrprob
        >>> hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace").concerns()
        []
        """
        from hrprob.fitting.summary import concerns

        return concerns(self)

    def to_datatree(self, pointwise: bool | str = "auto", prior: bool = True) -> Any:
        """Return everything as a tree that ArviZ works on.

        Parameters
        ----------
        pointwise : bool or "auto"
            Whether to have what is as large as draws times rounds: ``log_likelihood`` and the
            outcomes in ``posterior_predictive`` and ``prior_predictive``. "auto" takes every k-th
            draw of each chain, with the least k that leaves 20 million entries of
            ``log_likelihood`` and 5 million of each of the others; the attribute ``thinning`` of
            such a group is k, its coordinate ``draw`` the draws that it has.
        prior : bool
            Whether to have draws from the prior: ``prior`` and ``prior_predictive``.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior``, ``sample_stats``, ``prior``, ``observed_data``,
            ``constant_data``, and with ``pointwise`` the three named above; dimensions chain,
            draw, feature and round.

        Examples
        --------
        >>> import hrprob
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> dict(posterior.to_datatree()["log_likelihood"].sizes)
        {'chain': 1, 'draw': 4000, 'round': 3}
        """
        from hrprob.fitting.tree import to_datatree

        return to_datatree(self, pointwise, prior)

    def save(self, path: str | Path, pointwise: bool | str = "auto") -> None:
        """Write :meth:`to_datatree` as a netCDF file, whole or not at all."""
        from hrprob.fitting.tree import save

        save(self, path, pointwise)

    @classmethod
    def load(cls, path: str | Path) -> Posterior:
        """Return the posterior in a file that :meth:`save` wrote.

        A model of one's own must have been imported before.

        Examples
        --------
        >>> import hrprob, pathlib, tempfile
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> file = pathlib.Path(tempfile.mkdtemp(), "posterior.nc")
        >>> posterior.save(file)
        >>> bool((hrprob.Posterior.load(file).phi == posterior.phi).all())
        True
        """
        from hrprob.fitting.tree import load

        return load(path)


def check_prob(prob: Any) -> float:
    """Return the probability of an interval, or raise."""
    remedy = "it is the probability of the interval, 0.9 for example"
    return check_number("prob", prob, low=0, high=1, open_low=True, open_high=True, remedy=remedy)


@jax.jit
def _moments(setting: Setting, theta: jax.Array, phi: jax.Array, x: jax.Array) -> Any:
    return jax.vmap(jax.vmap(lambda theta, phi: setting.moments(theta, phi, x)))(theta, phi)


def _central(values: np.ndarray, prob: float) -> np.ndarray:
    """Return mean, median and the ends of the central interval of draws (draws, m), as (m, 4)."""
    quantiles = np.quantile(values, [0.5, 0.5 - prob / 2, 0.5 + prob / 2], axis=0)
    return np.stack([values.mean(axis=0), *quantiles], axis=-1)


def _lifetime(probability: np.ndarray) -> np.ndarray:
    """Return the statistics (m, 4) of h = 1/p from those of p: it falls, so low and high change places.

    Quantiles of h itself would be taken between infinite draws, where there is no between.
    """
    _, median, low, high = probability.T
    with np.errstate(divide="ignore", over="ignore"):
        ends = 1.0 / np.stack([median, high, low], axis=-1)
    return np.insert(ends, 0, np.nan, axis=-1)


def _check_contexts(x: Any, dimension: int) -> np.ndarray:
    try:
        contexts = np.atleast_2d(np.asarray(x, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInput("x", "must hold numbers only", x, "one row a context") from None
    if contexts.ndim != 2 or contexts.shape[1] != dimension or not len(contexts):
        raise InvalidInput("x", f"must have shape (m, {dimension})", contexts.shape, "one row a context")
    # The same checks as for contexts that were played.
    return np.asarray(Table(contexts, np.zeros(len(contexts))).x)


def _check_levels(beta: Any, contexts: int) -> np.ndarray:
    levels = Table(np.zeros((contexts, 1)), np.zeros(contexts), beta=beta).beta
    return np.asarray(levels)
