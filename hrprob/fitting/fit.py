"""Fit a posterior of θ and φ to rounds, with any engine, outcome model and prior."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.devices import on_device
from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import LARGEST_SEED, key_of
from hrprob._core.records import describe
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import Draws
from hrprob.estimation.posterior.refining import sample_refined
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.automatic import REFERENCE, choose_engine, is_auto
from hrprob.fitting.columns import Columns
from hrprob.fitting.concerns import about_draws
from hrprob.fitting.conditioning import model_data
from hrprob.fitting.from_data import bounds_from, intercepts_in_words, link_from, prior_with_intercept
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
from hrprob.problem.links.base import is_affine
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
    bounds: Bounds | str | None = None,
    intercept: bool = False,
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
    device: str | None = None,
    progress: bool = False,
) -> Posterior:
    """Return the posterior of θ and φ given rounds that were played.

    Parameters
    ----------
    data : Problem or table of rounds
        A table is (x, r), (x, r, user) or (x, r, user, beta), a dictionary, an xarray dataset or
        a data frame (pandas, polars) with such columns (x, or x1, ..., xd), the path of a CSV file with
        them, or a :class:`~hrprob.fitting.table.Table`. Columns of other names are named by
        ``outcome``, ``context``, ``user`` and ``level``; further ones are used where the model names them
        (``Model.columns``). A problem is played: see ``policy``.
    engine : str, table or engine
        "nuts", the reference; "laplace" and "svi", normal approximations whose draws are moved to the posterior
        itself where they are not near it (:mod:`hrprob.estimation.posterior.refining`); "smc", particles that take
        in the rounds in their order; "auto", the cheapest whose own error estimate is within the limits
        (:mod:`hrprob.fitting.automatic`). An engine of one's own is one file: see
        :mod:`hrprob.estimation.posterior.base`.
    model : str, table or Model
        The distribution of outcomes given θ and φ: by default "gaussian", or the model with the
        noise of a problem. A model of one's own is one file: see :mod:`hrprob.models.base`.
    prior : str, table or Prior
        "uniform" on the balls ‖θ‖ ≤ ``bounds.theta`` and ‖φ‖ ≤ ``bounds.phi``, or "gaussian",
        truncated to them. A prior of one's own is one class: see :mod:`hrprob.models.priors`.
    link : Link, str or table, optional
        f, from φᵀx to the variance: "affine", "log", "softplus" or one's own; by default f(z) = z + 2, and with an
        intercept or ``bounds="auto"`` the log link, its scale the variance of residuals of least squares. A problem has its
        own.
    bounds : Bounds or "auto", optional
        By default 1 and 2. "auto" chooses them from the data: twice the norm of the maximum likelihood estimate plus six
        standard errors (``hrprob.fitting.from_data`` has the rule), so that draws do not sit at a bound; the result says
        which they are. A problem has its own.
    intercept : bool
        Whether mean and variance have intercepts, outside the norms and their bounds, with normal priors that are placed by
        the data (``hrprob.fitting.from_data``); needs a link that is positive everywhere. Contexts are given without
        them, to ``fit`` and to ``predict``.
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
    scale : bool, "columns" or "standardise"
        Divide all contexts by their largest norm, if that is above 1; or each column by its largest
        absolute value and by √d; or centre each column, divide it by its standard deviation, and all by the largest norm.
        θ and φ are then those of the divided contexts; the posterior keeps centre and
        divisors (``posterior.table.centre``, ``posterior.table.scale``) and takes later contexts as they are.
    device : str, optional
        Where it is computed: "cpu", "gpu", "tpu", or one of several by its number, "gpu:1"; by default JAX's own choice.
        Tested on CPU only.
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
    given = None if is_auto(engine) else _with_draws(make_engine(engine), draws)
    outcomes = _model(data, model)
    columns = Columns(outcome, context, user, level)
    chosen_prior, words = make_prior(prior), list[str]()
    priors.check_record(chosen_prior)
    if isinstance(data, Problem):
        _check_no_columns(columns, scale, intercept)
        table, setting = _played(data, policy, users, seed, most_rounds, link, bounds)
    else:
        _check_unused(policy=policy, users=users, most_rounds=most_rounds)
        table = as_table(data, columns._replace(further=outcomes.further_columns), scale)
        table = table.with_intercept() if intercept else table
        setting, words = _setting(table, link, bounds)
        if table.intercept:
            chosen_prior = prior_with_intercept(table, setting.link, chosen_prior)
            words += intercepts_in_words(chosen_prior)
        elif isinstance(chosen_prior, priors.WithIntercept):
            remedy = "it is for contexts whose first entry is 1, which intercept=True puts there"
            raise InvalidInput("prior", "must go with intercept=True", chosen_prior.kind, remedy)
    priors.check_prior(chosen_prior, setting)
    target = Target(outcomes, chosen_prior, setting)
    job = functools.partial(
        _fitted, target=target, table=table, seed=seed, draws=draws, progress=progress, device=device
    )
    if given is not None:
        return job(given, words)
    choice = choose_engine(target)
    first = job(_with_draws(make_engine(choice.engine), draws), [*words, choice.why])
    wrong = [] if choice.engine == REFERENCE else about_draws(first)
    if not wrong:
        return first
    why = f"auto chose {REFERENCE}: of {choice.engine}, {wrong[0].words.partition(': ')[0]}"
    return job(_with_draws(make_engine(REFERENCE), draws), [*words, why])


def _fitted(
    engine: Engine,
    chosen: list[str],
    target: Target,
    table: Table,
    seed: int,
    draws: int | None,
    progress: bool,
    device: str | None,
) -> Posterior:
    """Return the posterior by one engine; ``chosen`` says what was chosen."""
    if progress:
        print_line(f"compiling {engine.kind}, then fitting it to {len(table)} rounds …")
    with on_device(device):
        drawn = sample_refined(
            engine, target, model_data(target, table), key_of(seed), DRAWS if draws is None else draws
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
        engine=engine,
        seed=seed,
        chosen=tuple(chosen),
    )


def _model(data: object, model: object) -> Model:
    """Return the outcome model: as given, or the one with the noise of a problem, or the normal one."""
    if model is None:
        made = model_for_noise(data.noise) if isinstance(data, Problem) else make_model("gaussian")
    else:
        made = make_model(model)
    _check_registered(made)
    return made


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
    bounds: object,
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


def _setting(table: Table, link: object, bounds: object) -> tuple[Setting, list[str]]:
    """Return dimension, link and bounds, and in words what was chosen from the data."""
    words: list[str] = []
    auto = isinstance(bounds, str) and bounds == "auto"
    if not auto and bounds is not None and not isinstance(bounds, Bounds):
        remedy = 'write hrprob.Bounds(theta=1.0, phi=2.0), or "auto"'
        raise InvalidInput("bounds", 'must be of the class Bounds, or "auto"', bounds, remedy)
    if link is None and (auto or table.intercept):
        found = link_from(table)
        made: Link = found
        words.append(f"link log, of the scale {found.scale:g}: the variance of residuals of least squares")
    else:
        made = LINKS.make(Affine() if link is None else link)
    if auto:
        chosen = bounds_from(table, made)
        words.append(
            f"bounds {chosen.theta:g} of ‖θ‖ and {chosen.phi:g} of ‖φ‖, chosen from the data: twice the estimate plus six "
            "standard errors" + (", φ's as large as the link allows" if is_affine(made) else "")
        )
    else:
        chosen = bounds if isinstance(bounds, Bounds) else Bounds()
    return Setting(table.dimension, made, chosen), words


def _check_unused(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            remedy = "a table has been played already; give a Problem to play one"
            raise InvalidInput(name, "must not be given with a table of rounds", value, remedy)


def _check_no_columns(columns: Columns, scale: object, intercept: object) -> None:
    named = dict(zip(columns._fields[:4], columns[:4], strict=True))
    for name, value in {**named, "scale": scale or None, "intercept": intercept or None}.items():
        if value is not None:
            remedy = "a problem makes its own rounds; leave it out"
            raise InvalidInput(name, "must not be given with a problem", value, remedy)


def _check_registered(model: Model) -> None:
    if any(leaf is model for leaf in jax.tree.leaves(model)) or not hasattr(model, "kind"):
        remedy = f"put @hrprob.models.register('a-name') above the class {type(model).__name__}"
        raise InvalidInput("model", "must be of a registered class", type(model).__name__, remedy)
