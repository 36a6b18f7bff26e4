"""Fit a posterior of θ and φ to rounds, with any engine, outcome model and prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import LARGEST_SEED, key_of
from hrprob._core.records import describe
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import Draws, sample_posterior
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.columns import Columns
from hrprob.fitting.conditioning import model_data
from hrprob.fitting.gather import gather
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table, TableLike, as_table
from hrprob.models import (
    Model,
    Setting,
    make_model,
    make_prior,
    model_for_noise,
    priors,
)
from hrprob.policies import Thompson
from hrprob.problem import Affine, Bounds, Problem
from hrprob.problem.links import LINKS, Link
from hrprob.simulation.progress import print_line

if TYPE_CHECKING:
    from hrprob.models.priors.base import Prior
    from hrprob.policies import Policy

__all__ = ["fit"]

DRAWS = 4000
# The Pareto k̂ is fitted to a fifth of the draws, and needs more than a handful.
LEAST_DRAWS = 100
# More draws exceed the memory of a common machine.
MOST_DRAWS = 1_000_000
# Where numbers overflow and a bound exceeds every outcome by this factor, the bound is to blame.
_OFF_SCALE = 1e6


@nearest_keywords
def fit(
    data: Problem | TableLike,
    engine: str | Mapping[str, object] | Engine = "nuts",
    *,
    model: str | Mapping[str, object] | Model | None = None,
    prior: str | Mapping[str, object] | Prior = "uniform",
    link: str | Mapping[str, object] | Link | None = None,
    bounds: Bounds | None = None,
    seed: int = 0,
    draws: int | None = None,
    policy: Policy | None = None,
    users: int | None = None,
    most_rounds: int | None = None,
    outcome: str | None = None,
    context: str | Sequence[str] | None = None,
    user: str | None = None,
    level: str | None = None,
    scale: bool | str = False,
    progress: bool = False,
) -> Posterior:
    """Return the posterior of θ and φ given rounds that were played.

    Parameters
    ----------
    data : Problem or table of rounds
        A table is (x, r), (x, r, user) or (x, r, user, beta), a dictionary, an xarray dataset or
        a data frame (pandas, polars) with such columns (x, or x1, ..., xd), the path of a CSV file with
        them, or a :class:`~hrprob.fitting.table.Table`. Columns of other names are named by
        ``outcome``, ``context``, ``user`` and ``level``; further ones are not used. A problem is
        played: see ``policy``.
    engine : str, table or engine
        "nuts", the reference; "laplace" and "svi", normal approximations whose Pareto k̂ says
        whether to trust them; "smc", particles that take in the rounds in their order. An engine of
        one's own is one file: see :mod:`hrprob.estimation.posterior.base`.
    model : str, table or Model
        The distribution of outcomes given θ and φ: by default "gaussian", or the model with the
        noise of a problem. A model of one's own is one file: see :mod:`hrprob.models.base`.
    prior : str, table or Prior
        "uniform" on the balls ‖θ‖ ≤ ``bounds.theta`` and ‖φ‖ ≤ ``bounds.phi``, or "gaussian",
        truncated to them. A prior of one's own is one class: see :mod:`hrprob.models.priors`.
    link : Link, str or table, optional
        f, from φᵀx to the variance; by default f(z) = z + 2. A problem has its own.
    bounds : Bounds, optional
        By default 1 and 2. A problem has its own.
    seed : int
        The seed of all random numbers.
    draws : int, optional
        The approximate number of draws, all chains together, from 100 to a million; by default 4000,
        or the number that the engine's settings give.
    policy : Policy, optional
        The policy that plays, where ``data`` is a problem; by default Thompson sampling.
    users, most_rounds : int, optional
        The number of users that it serves, by default 100, and how many rounds of each stay are
        recorded, by default 1000.
    outcome, user, level : str, optional
        The columns of outcomes, users and satisfaction levels; by default r, user and beta.
    context : str or sequence of str, optional
        The columns of a context, in the order of θ and φ; by default x1, ..., xd.
    scale : bool or "columns"
        Divide all contexts by their largest norm, if that is above 1; or each column by its largest
        absolute value and by √d. θ and φ are then those of the divided contexts; the posterior keeps the
        divisors (``posterior.table.scale``) and takes later contexts as they are.
    progress : bool
        Say on stderr what is being done.

    Returns
    -------
    Posterior
        Draws, with ``summary()``, ``predict()``, ``reweight()``, ``to_datatree()``, ``save()``.

    Examples
    --------
    >>> import numpy as np  # slow
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> x /= np.linalg.norm(x, axis=1, keepdims=True)
    >>> r = x @ [0.6, 0.3] + np.sqrt(x @ [1.2, -1.0] + 2) * rng.normal(size=400)
    >>> posterior = fit((x, r), engine="laplace")
    >>> posterior
    <Posterior by laplace of 'gaussian' outcomes, 'uniform' prior: 1 × 4000 draws, 400 rounds, d = 2>
    >>> table = posterior.summary(prob=0.9)
    >>> bool((table.low.sel(parameter="phi[x1]") < 1.2) & (1.2 < table.high.sel(parameter="phi[x1]")))
    True
    """
    check_count("seed", seed, low=0, high=LARGEST_SEED, remedy="any whole number of at most 63 bits will do")
    chosen = _with_draws(make_engine(engine), draws)
    columns = Columns(outcome, context, user, level)
    if isinstance(data, Problem):
        _check_no_columns(columns, scale)
        table, setting = _played(data, policy, users, seed, most_rounds, link, bounds)
        outcomes = model_for_noise(data.noise) if model is None else make_model(model)
    else:
        _check_unused(policy=policy, users=users, most_rounds=most_rounds)
        table = as_table(data, columns, scale)
        setting = _setting(table.dimension, link, bounds)
        outcomes = make_model("gaussian" if model is None else model)
    _check_registered(outcomes)
    chosen_prior = make_prior(prior)
    priors.check_record(chosen_prior)
    priors.check_prior(chosen_prior, setting)
    target = Target(outcomes, chosen_prior, setting)
    if progress:
        print_line(f"compiling {chosen.kind}, then fitting it to {len(table)} rounds …")
    drawn = sample_posterior(
        chosen, target, model_data(target, table), key_of(seed), DRAWS if draws is None else draws
    )
    _check_numbers(drawn, table, target)
    return Posterior(
        theta=drawn.theta,
        phi=drawn.phi,
        sites=drawn.sites,
        statistics=drawn.statistics,
        log_ratio=drawn.log_ratio,
        table=table,
        target=target,
        engine=chosen,
        seed=seed,
    )


def _with_draws(engine: Engine, draws: int | None) -> Engine:
    """Return the engine with chains of ``draws`` draws together, where it has chains, or raise."""
    remedy = "some thousand give an interval two digits"
    if draws is None:
        if engine.total_draws is not None:
            remedy = f"all chains together; {remedy}"
            check_count("engine.draws", engine.total_draws, low=LEAST_DRAWS, high=MOST_DRAWS, remedy=remedy)
        return engine
    check_count("draws", draws, low=LEAST_DRAWS, high=MOST_DRAWS, remedy=remedy)
    return engine.with_draws(draws)


def _check_numbers(drawn: Draws, table: Table, target: Target) -> None:
    """Raise unless draws and densities are finite; the density may be 0 outside the support of bounded outcomes."""
    density = drawn.statistics["lp"]
    sound = all(np.all(np.isfinite(draw)) for draw in (drawn.theta, drawn.phi, *drawn.sites.values()))
    if sound and np.all(density < np.inf) and np.any(density > -np.inf):
        return
    must = "must give draws and densities that are finite numbers"
    with double_precision():
        theta, phi = target.coefficients(jnp.ones(target.size))
        tilt = target.prior.log_tilt(theta, phi, target.setting)
    if not np.isfinite(tilt):
        raise InvalidInput(
            "prior", must, describe(target.prior), "widen it: compared with its ball it is a point"
        )
    bound, largest = float(target.setting.bounds.theta), float(np.abs(table.r).max())
    sd = float(np.sqrt(target.setting.link(0.0)))
    if bound > _OFF_SCALE * max(sd, largest):
        remedy = f"lower it: outcomes of up to {largest:.3g} have no mean as large"
        raise InvalidInput("bounds.theta", must, bound, remedy)
    remedy = "give outcomes in units of about their sd, √f(φᵀx)"
    raise InvalidInput("r", must, f"|r| up to {largest:.3g}", remedy)


def _played(
    problem: Problem,
    policy: Policy | None,
    users: int | None,
    seed: int,
    most_rounds: int | None,
    link: object,
    bounds: Bounds | None,
) -> tuple[Table, Setting]:
    for name, given in (("link", link), ("bounds", bounds)):
        if given is not None:
            raise InvalidInput(name, "must not be given with a problem", given, "the problem has its own")
    table = gather(
        problem,
        Thompson() if policy is None else policy,
        users=100 if users is None else users,
        seed=seed,
        most_rounds=1000 if most_rounds is None else most_rounds,
    )
    return table, Setting(problem.dimension, problem.link, problem.bounds)


def _setting(dimension: int, link: object, bounds: object) -> Setting:
    bounds = Bounds() if bounds is None else bounds
    if not isinstance(bounds, Bounds):
        raise InvalidInput(
            "bounds", "must be of the class Bounds", bounds, "write hrprob.Bounds(theta=1.0, phi=2.0)"
        )
    return Setting(dimension, LINKS.make(Affine() if link is None else link), bounds)


def _check_unused(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            remedy = "a table has been played already; give a Problem to play one"
            raise InvalidInput(name, "must not be given with a table of rounds", value, remedy)


def _check_no_columns(columns: Columns, scale: object) -> None:
    for name, value in {**columns._asdict(), "scale": scale or None}.items():
        if value is not None:
            remedy = "a problem makes its own rounds; leave it out"
            raise InvalidInput(name, "must not be given with a problem", value, remedy)


def _check_registered(model: Model) -> None:
    if any(leaf is model for leaf in jax.tree.leaves(model)) or not hasattr(model, "kind"):
        remedy = f"put @hrprob.models.register('a-name') above the class {type(model).__name__}"
        raise InvalidInput("model", "must be of a registered class", type(model).__name__, remedy)
