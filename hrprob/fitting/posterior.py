r"""The posterior of θ and φ given a table of rounds: draws, summaries, predictions.

==============  ======================  ============================================
symbol          name                    meaning
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
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import xarray
from numpy.typing import ArrayLike

from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, key_of
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.importance import Reweighted, reweight
from hrprob.estimation.posterior.inference import Draws
from hrprob.estimation.posterior.refining import GROUP
from hrprob.estimation.posterior.target import Target
from hrprob.fitting import concerns, predictive, summary, tree
from hrprob.fitting.checks import runner
from hrprob.fitting.checks.runner import Checked
from hrprob.fitting.conditioning import model_columns
from hrprob.fitting.intervals import central, check_prob
from hrprob.fitting.questions import check_contexts, check_levels, lifetime_of, new_columns
from hrprob.fitting.table import Table
from hrprob.io.result_table import ResultTable
from hrprob.models import Setting

if TYPE_CHECKING:
    import pandas

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
        Per draw (chain, draw), by ArviZ's names: ``lp``, ln p up to a constant, and the statistics of
        the sampler ``nuts``.
    log_ratio : ndarray, shape (chain, draw)
        ln p − ln q up to a constant where the engine approximates p by a density q; else 0.
    table : Table
        The rounds.
    target : Target
        Model, prior and setting.
    engine : engine
        The engine that made the draws.
    seed : int
        The seed of all random numbers.
    chosen : tuple of str
        What :func:`hrprob.fit` chose, in words: from the data, and the engine where that was left to it.

    Examples
    --------
    >>> import hrprob  # slow
    >>> table = ([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5]], [0.7, -0.2, 0.4])
    >>> posterior = hrprob.fit(table, engine="laplace", draws=200)
    >>> posterior.theta.shape
    (1, 200, 2)
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
    chosen: tuple[str, ...] = ()

    def __repr__(self) -> str:
        chains, draws, d = self.theta.shape
        return (
            f"<Posterior by {self.engine.kind} of {self.target.model.kind!r} outcomes, "
            f"{self.target.prior.kind!r} prior: {chains} × {draws} draws, {len(self.table)} rounds, d = {d}>"
        )

    def __str__(self) -> str:
        return "\n".join([repr(self)[1:-1], str(self._table()), *self._remarks()])

    def _repr_html_(self) -> str:
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks())
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self._table()._repr_html_()}{remarks}"

    def _remarks(self) -> list[str]:
        return [*self.chosen, *(f"! {concern}" for concern in self.concerns())]

    def _table(self, prob: float = 0.9) -> ResultTable:
        return summary.as_table(self.summary(prob))

    def to_frame(self, prob: float = 0.9) -> pandas.DataFrame:
        """Return :meth:`summary` as a data frame, one row per parameter.

        Parameters
        ----------
        prob : float, default 0.9
            Probability of the central intervals from ``low`` to ``high``.

        Examples
        --------
        >>> import hrprob  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> list(posterior.to_frame().index)
        ['theta[x1]', 'phi[x1]']
        """
        return self.summary(prob).to_dataframe()

    def to_latex(self, prob: float = 0.9) -> str:
        """Return the table of parameters in LaTeX (booktabs), with intervals of probability ``prob``."""
        return self._table(prob).to_latex()

    def to_markdown(self, prob: float = 0.9) -> str:
        """Return the table of parameters in Markdown, with intervals of probability ``prob``."""
        return self._table(prob).to_markdown()

    @property
    def setting(self) -> Setting:
        """Dimension, link and bounds."""
        return self.target.setting

    def flat(self) -> dict[str, np.ndarray]:
        """Return the draws of all sites, the chains one after another."""
        every = {"theta": self.theta, "phi": self.phi} | dict(self.sites)
        return {name: value.reshape(-1, *value.shape[2:]) for name, value in every.items()}

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns of the table that the model's program uses beside contexts and outcomes."""
        return model_columns(self.target, self.table)

    def moments(self, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return mean θᵀx and variance f(φᵀx) of an outcome at contexts x (m, d), (chain, draw, m) each."""
        return self.moments_at(self._contexts(x))

    def moments_at(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what :meth:`moments` does, at contexts as the model sees them (``table.x``)."""
        with double_precision():
            u, w = _moments(self.setting, *(jnp.asarray(v) for v in (self.theta, self.phi, contexts)))
            return np.asarray(u), np.asarray(w)

    def _contexts(self, x: ArrayLike) -> np.ndarray:
        """Return contexts as the model sees them: checked, and divided by the scale of the data."""
        return check_contexts(x, self.table)

    def slopes(self, name: str) -> np.ndarray:
        """Return the draws of "theta" or "phi" without the intercept: the part that the bounds are for."""
        draws: np.ndarray = getattr(self, name)[..., int(self.table.intercept) :]
        return draws

    def predict(
        self, x: ArrayLike, beta: ArrayLike | None = None, prob: float = 0.9, *, outcome: bool = False
    ) -> xarray.Dataset:
        """Return posterior summaries of outcomes and lifetimes at some contexts.

        The expected lifetime h = 1/p grows without bound as the probability p of reneging falls, and
        its posterior mean may be infinite although every mean of draws is finite. So ``lifetime`` has a
        median and an interval, the reciprocals of those of p (infinite where p is 0), and its mean is
        NaN. Both p and h are under the model's own noise. Under a model of users who differ, all of these are of a new
        user, whose effect is integrated out; p is then that of the first round, and 1/p of a stay whose rounds all have
        it.

        Parameters
        ----------
        x : array_like, shape (m, d) or (d,)
            Contexts in the units of the data: of norm at most 1, unless the fit had a ``scale``.
        beta : float or array_like, shape (m,), optional
            Satisfaction levels; without them the result has ``mean`` and ``variance`` only.
        prob : float
            Probability of the central intervals from ``low`` to ``high``.
        outcome : bool
            Add ``outcome``, the predictive distribution of one outcome (of a new user).

        Returns
        -------
        xarray.Dataset
            ``mean`` and ``variance`` of an outcome, ``reneging_probability`` and ``lifetime``, over
            context and statistic (mean, median, low, high).

        Examples
        --------
        >>> import hrprob  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> said = posterior.predict([[1.0]], beta=-0.5)
        >>> [name for name in said.data_vars]
        ['mean', 'variance', 'reneging_probability', 'lifetime']
        >>> bool(said.lifetime.sel(statistic="low") < said.lifetime.sel(statistic="high"))
        True
        """
        check_prob(prob)
        contexts = self._contexts(x)
        u, w = (value.reshape(-1, len(contexts)) for value in self.moments_at(contexts))
        columns = {"mean": central(u, prob), "variance": central(w, prob)}
        if beta is not None:
            levels = check_levels(beta, len(contexts))
            new = new_columns(self.target.model, len(contexts), levels)
            probability = central(predictive.reneging(self.target, contexts, levels, self.flat(), new), prob)
            columns |= {"reneging_probability": probability, "lifetime": lifetime_of(probability)}
        if outcome:
            key, new = key_of(self.seed, Purpose.REPLICATES), new_columns(self.target.model, len(contexts))
            columns["outcome"] = central(
                predictive.outcomes(self.target, contexts, self.flat(), key, new), prob
            )
        return xarray.Dataset(
            {name: (("context", "statistic"), value) for name, value in columns.items()},
            coords={"statistic": list(STATISTICS)},
            attrs={"prob": prob, "interval": "central"},
        )

    def reweight(self) -> Reweighted:
        """Return the draws with importance weights and the Pareto k̂ that says whether to trust them.

        Engines without a density (``nuts``, ``smc``) have equal weights: k̂ is NaN, ``trusted`` is None,
        and R-hat in :meth:`summary` is the diagnostic.

        Examples
        --------
        >>> import hrprob  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> posterior.reweight().trusted is False
        False
        """
        nothing = np.empty((*self.log_ratio.shape, 0))
        return reweight(Draws(self.theta, self.phi, nothing, self.log_ratio, self.sites))

    @property
    def pareto_k(self) -> float | None:
        """Pareto k̂ of the engine's approximation; None where that has no density, or the draws were refined."""
        return self.reweight().pareto_k if self.engine.has_density and not self.refined else None

    @property
    def refined(self) -> bool:
        """Whether the draws were moved from the engine's approximation to the posterior itself, in groups."""
        return GROUP in self.statistics

    @property
    def divergences(self) -> int | None:
        """The number of divergent transitions of ``nuts``; None for engines without."""
        diverging = self.statistics.get("diverging")
        return None if diverging is None else int(np.sum(diverging))

    def summary(self, prob: float = 0.9) -> xarray.Dataset:
        """Return a table of all parameters: mean, standard deviation, interval, Monte Carlo error.

        Parameters
        ----------
        prob : float
            Probability of the central intervals from ``low`` to ``high``.

        Returns
        -------
        xarray.Dataset
            Over ``parameter``: ``mean``, ``sd``, ``low``, ``high`` and ``mcse``, the Monte Carlo
            error of the mean; for ``nuts`` also ``ess_bulk``, ``ess_tail`` and ``rhat``; for
            ``smc``, whose chains are independent fits, ``rhat``. Its attributes
            are the probability, ``pareto_k`` where the engine's approximation has a density, and
            ``divergences`` for ``nuts``.

        Examples
        --------
        >>> import hrprob  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> posterior.summary(prob=0.9).parameter.values.tolist()
        ['theta[x1]', 'phi[x1]']
        """
        return summary.summarise(self, prob)

    def concerns(self) -> list[str]:
        """Return reasons not to trust the draws, in words; an empty list if there are none.

        Examples
        --------
        >>> import hrprob  # slow
        >>> hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace").concerns()
        []
        """
        return [concern.words for concern in concerns.concerns(self)]

    def check(self, *, quick: bool = False, checks: Sequence[object] | None = None) -> Checked:
        """Return whether model and draws can be trusted on these data: yes, no or cannot tell, and why.

        Every check is one file of :mod:`hrprob.fitting.checks`. P-values are adjusted for their number by Holm's
        procedure and tested at 2.5 % in all; they are approximate, so this bounds false alarms only as far as they
        are exact. On ten sound problems with 100 users, 7 of 200 quick pages had any check that fails: 3.5 %, with a
        95 % interval from 1.4 to 7.1 %; with 400 users 3 of 200, 1.5 %, from 0.3 to 4.3 %.

        Parameters
        ----------
        quick : bool
            Leave out checks that refit the model.
        checks : sequence, optional
            Checks by kind; by default all.

        Returns
        -------
        Checked
            ``answer``, ``verdicts``, ``results``; ``write(folder)`` writes a page with figures and ``check.json``.

        Examples
        --------
        >>> import hrprob  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]] * 10, [0.4, -1.2, 0.3] * 10), engine="laplace")
        >>> posterior.check(checks=["users"]).answer.answer
        'cannot tell'
        """
        return runner.check(self, quick=quick, checks=checks)

    def to_datatree(self, pointwise: bool | str = "auto", prior: bool = True) -> xarray.DataTree:
        """Return draws, data and predictive distributions as a tree for ArviZ.

        On Python 3.12 and later ``import arviz`` takes it: ``arviz.plot_trace_dist(tree)``,
        ``arviz.loo(tree)``. On Python 3.11, where the package ``arviz`` is of an older generation that
        knows no such trees, import its parts, which hrprob installs: ``arviz_base``, ``arviz_stats`` and
        ``arviz_plots``, with the same functions.

        Parameters
        ----------
        pointwise : bool or "auto"
            Whether to include the groups with one entry per draw and round: ``log_likelihood``,
            ``posterior_predictive`` and ``prior_predictive``. "auto" takes every k-th
            draw of each chain, with the smallest k that leaves at most 20 million entries of
            ``log_likelihood`` and 5 million of each of the others; the attribute ``thinning`` of
            such a group is k, its coordinate ``draw`` has the draws that are left.
        prior : bool
            Whether to include draws from the prior: ``prior`` and ``prior_predictive``.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior``, ``sample_stats``, ``prior``, ``observed_data``,
            ``constant_data``, and with ``pointwise`` the three named above; dimensions chain,
            draw, feature and round.

        Examples
        --------
        >>> import hrprob  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> dict(posterior.to_datatree()["log_likelihood"].sizes)
        {'chain': 1, 'draw': 4000, 'round': 3}
        """
        return tree.to_datatree(self, pointwise, prior)

    def save(self, path: str | Path, pointwise: bool | str = "auto") -> None:
        """Write :meth:`to_datatree` as a netCDF file, atomically."""
        tree.save(self, path, pointwise)

    @classmethod
    def load(cls, path: str | Path) -> Posterior:
        """Return the posterior in a file that :meth:`save` wrote.

        A model of one's own must have been imported before.

        Examples
        --------
        >>> import hrprob, pathlib, tempfile  # slow
        >>> posterior = hrprob.fit(([[0.6], [0.6], [1.0]], [0.4, -1.2, 0.3]), engine="laplace")
        >>> file = pathlib.Path(tempfile.mkdtemp(), "posterior.nc")
        >>> posterior.save(file)
        >>> bool((hrprob.Posterior.load(file).phi == posterior.phi).all())
        True
        """
        return tree.load(path, cls)


@jax.jit
def _moments(setting: Setting, theta: jax.Array, phi: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(jax.vmap(lambda theta, phi: setting.moments(theta, phi, x)))(theta, phi)
