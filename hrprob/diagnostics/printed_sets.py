r"""The printed confidence sets compared with replications and with the posterior, along n.

===================================  ============================================================
symbol                               name
===================================  ============================================================
‖φ̂_n − φ*‖ in V_n                    ``error`` of the GLSE, in each replication
ρ_n(δ/n²), α⁽¹⁾_n(δ)                 ``radius``: of the set for φ*, for θ*
(1 − δ) quantile of the error        ``quantile``: pointwise in n
the same of its maximum up to n      ``quantile_simultaneous``
(1 − δ) quantile of max error/ρ      ``factor``: c_n, by which ρ may shrink and cover all of 1 … n
(1 − δ) quantile of ‖φ − E φ‖         ``posterior_radius``: φ drawn from the posterior
===================================  ============================================================

Quantiles over replications are such that a new replication is below with probability 1 − δ (Weibull's
definition; linear interpolation gives too small a quantile with few replications). Their errors are by
bootstrap. n counts rounds in the sample set; where stays have several, errors are computed when users
leave, first when there are n rounds or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import jax
import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.precision import float64
from hrprob.diagnostics.designs import Design, sample_sizes
from hrprob.diagnostics.glse_by_data_set import check_affine
from hrprob.diagnostics.posterior_sets import PosteriorSets
from hrprob.diagnostics.replicated_errors import PARAMETERS, Errors, ReplicationJob, radii_at
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.estimation.posterior.base import Engine, StreamingEngine
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.estimation.versions import COMPARED
from hrprob.models import Model, Setting, Stays, make_model, make_prior
from hrprob.noise.sub_gaussian import scale_of
from hrprob.problem import Problem
from hrprob.problem.links.base import as_affine
from hrprob.simulation.data_sets import gather_jobs
from hrprob.simulation.tasks import JobRunner, SideBySide
from hrprob.simulation.truths import Truths

__all__ = ["TooFewRounds", "compare_sets", "printed_sets"]

_RESAMPLES = 200
# A size is examined if at least this share of the replications reaches it.
_REACHED = 0.9


class TooFewRounds(InvalidInput):
    """Raised for a design whose data sets do not reach the smallest sample size."""


@float64
def compare_sets(
    design: Design,
    *,
    delta: float = 0.1,
    ridge: float = 1.0,
    most: int = 100_000,
    replications: int = 100,
    fits: int = 32,
    seed: int = 0,
    variance_max: float | None = None,
    prior: object = "uniform",
    model: Model | None = None,
    engine: Engine | None = None,
    report: Callable[[int], None] = lambda users: None,
    runner: JobRunner | None = None,
    name: str = "printed sets",
) -> xarray.Dataset:
    """Return the printed sets, the errors over replications and the posterior, along n.

    Parameters
    ----------
    design : Design
        How contexts are picked.
    delta, ridge : float
        δ and λ.
    most : int
        Largest n. Sizes that fewer than nine tenths of the replications reach are left out; at least
        one size must remain.
    replications, fits : int
        Data sets, and how many of them a posterior is fitted to.
    seed : int
        Seed of all random numbers.
    variance_max : float, optional
        σ²_max; by default f at the bound of φ.
    prior : str or prior
        Prior of the posterior.
    model, engine : Model, Engine, optional
        Model and engine of the posterior; by default normal outcomes, by ``laplace``. So it is too for a model that is
        conditioned on single outcomes, as of data sets as long as these sums per stay are kept, and for an engine that does
        not fit whole data sets inside compiled programs, as it would take seconds for each of hundreds of fits; the
        attribute ``posterior`` says whose it is, and why.
    report : callable
        Called now and then with the number of users served since the last call.
    runner : JobRunner, optional
        Where the replications are computed; by default in threads of this process.
    name : str
        The name of this step, for the runner.

    Returns
    -------
    xarray.Dataset
        Over parameter (phi, theta) and n, some over version (paper, corrected) too: ``radius``,
        ``quantile``, ``quantile_simultaneous``, ``factor``, ``coverage`` and
        ``coverage_simultaneous`` of the printed sets, ``posterior_radius``, its
        ``posterior_coverage``, that of the posterior's own ellipsoid, ``ellipsoid_coverage``,
        ``posterior_mass`` inside the printed sets, ``log_volume_ratio``; standard errors are called
        ``quantile_se`` and so on. Over replication too: ``error``, and ``largest_error`` and
        ``largest_share`` (error over radius) at any size up to n. Over n: ``reached``, the number of
        replications that have at least that number of rounds.
    """
    check_number(
        "delta",
        delta,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        remedy="the probability that the set misses",
    )
    check_count("replications", replications, low=2, remedy="quantiles are over replications")
    check_count("fits", fits, remedy="the printed sets are compared with posteriors too")
    problem, prior = design.problem, make_prior(prior)
    wanted = sample_sizes(most)
    sets = printed_sets(problem, ridge, variance_max)
    radii = radii_at(sets, wanted, delta)
    truths = Truths(*(np.tile(truth, (replications, 1)) for truth in (problem.theta, problem.phi)))
    used, why = stand_ins(model, engine)
    target = Target(used.model, prior, Setting.of(problem))
    gathering = gather_jobs(
        problem, design.policy, truths, users=design.users, seed=seed, cap=math.inf, enough=most
    )
    done = np.cumsum([0, *(job.real for job in gathering)])
    jobs = [
        ReplicationJob(
            job, used.engine, target, sets, radii, delta, ridge, wanted, max(fits - int(before), 0), seed
        )
        for job, before in zip(gathering, done, strict=False)
    ]
    parts = list((runner or SideBySide()).run(name, jobs, report))
    errors = [part.errors for part in parts]
    compared = [part.posteriors for part in parts if part.posteriors is not None]
    every = Errors(*(np.concatenate(leaves, axis=-2) for leaves in zip(*errors, strict=True)))
    _check_reached(every.error[0], design, wanted)
    posterior: PosteriorSets = jax.tree.map(lambda *leaves: np.concatenate(leaves), *compared)
    whose = f"{used.engine.kind}, {used.model.kind} outcomes, {prior.kind} prior{why}"
    return _dataset(every, posterior, sets, radii, delta, wanted).assign_attrs(
        ridge=float(ridge), posterior=whose, noise_scale=_known_scale(problem)
    )


class _Used(NamedTuple):
    """Model and engine of the posteriors."""

    model: Model
    engine: StreamingEngine


def stand_ins(model: Model | None, engine: Engine | None) -> tuple[_Used, str]:
    """Return model and engine that posteriors of sums per stay can have, and why they are not those given.

    Examples
    --------
    >>> from hrprob.estimation.posterior.engines import make_engine
    >>> used, why = stand_ins(make_model("student-t"), make_engine("smc"))
    >>> used.model.kind, used.engine.kind, why
    ('gaussian', 'laplace', '; student-t is fitted to single outcomes, which are not kept; smc is too slow for so many fits')
    """
    reasons = []
    if model is not None and model.data is not Stays:
        reasons.append(f"{model.kind} is fitted to single outcomes, which are not kept")
        model = None
    if engine is not None and (engine.sequential or not engine.streaming):
        reasons.append(f"{engine.kind} is too slow for so many fits")
        engine = None
    used = _Used(
        make_model("gaussian") if model is None else model,
        cast(StreamingEngine, make_engine("laplace") if engine is None else engine),
    )
    return used, "".join(f"; {reason}" for reason in reasons)


def _reached(errors: np.ndarray) -> np.ndarray:
    """Return which sizes enough of the replications reach, given errors (sets, sizes) that are NaN elsewhere."""
    return np.mean(np.isfinite(errors), axis=0) >= _REACHED


def _check_reached(errors: np.ndarray, design: Design, wanted: np.ndarray) -> None:
    if not _reached(errors).any():
        raise TooFewRounds(
            "users",
            f"must be enough for {_REACHED:.0%} of the replications to have {wanted[0]} rounds in the sample set",
            design.users,
            f"{np.mean(np.isfinite(errors[:, 0])):.0%} have under {design.policy.kind!r}; raise it, or let the "
            "policy keep more rounds",
        )


def printed_sets(problem: Problem, ridge: float, variance_max: float | None) -> dict[str, ConfidenceSets]:
    """Return the confidence sets of both versions, for an affine link.

    Where the noise has no sub-Gaussian scale, or none that is known, no set is proved, and those for normal noise are returned: a
    reader then sees how they do.
    """
    check_affine(problem.link)
    scale = _known_scale(problem)
    largest = float(problem.link(problem.bounds.phi)) if variance_max is None else variance_max
    return {
        version: ConfidenceSets(
            variance_max=largest,
            dimension=problem.dimension,
            ridge=ridge,
            slope=as_affine(problem.link).slope,
            bound=problem.bounds.phi,
            bound_theta=problem.bounds.theta,
            version=version,
            noise_scale=scale if math.isfinite(scale) else 1.0,
        )
        for version in COMPARED
    }


def _known_scale(problem: Problem) -> float:
    """Return the sub-Gaussian scale of the noise; infinite also where it cannot be computed."""
    try:
        return scale_of(problem.noise)
    except InvalidInput:
        return math.inf


def _dataset(
    errors: Errors,
    posterior: PosteriorSets,
    sets: Mapping[str, ConfidenceSets],
    radii: np.ndarray,
    delta: float,
    wanted: np.ndarray,
) -> xarray.Dataset:
    kept = _reached(errors.error[0])
    error, largest, share, largest_share = (leaf[..., kept] for leaf in errors)

    def each(function: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> np.ndarray:
        """Return a function of the replications (sets, sizes) for every parameter, and version if there is one."""
        if values.ndim > 2:
            return np.array([each(function, one) for one in values])
        return function(values)

    def quantile(values: np.ndarray) -> np.ndarray:
        return _quantile(values, 1.0 - delta)

    def quantile_se(values: np.ndarray) -> np.ndarray:
        return _bootstrap_error(values, 1.0 - delta)

    def mean(leaf: jax.Array) -> np.ndarray:
        return np.moveaxis(np.nanmean(np.asarray(leaf)[:, kept], axis=0), 0, 1)

    by, by_version = ("parameter", "n"), ("parameter", "version", "n")
    return xarray.Dataset(
        {
            "radius": (by_version, np.moveaxis(radii[kept], 0, -1)),
            "quantile": (by, each(quantile, error)),
            "quantile_simultaneous": (by, each(quantile, largest)),
            "factor": (by_version, each(quantile, largest_share)),
            "quantile_se": (by, each(quantile_se, error)),
            "quantile_simultaneous_se": (by, each(quantile_se, largest)),
            "factor_se": (by_version, each(quantile_se, largest_share)),
            "posterior_radius_se": (by, _error_of_mean(np.asarray(posterior.radius)[:, kept])),
            "reached": ("n", np.isfinite(error[0]).sum(axis=0)),
            "coverage": (by_version, each(_covered, share)),
            "coverage_simultaneous": (by_version, each(_covered, largest_share)),
            "posterior_radius": (by, mean(posterior.radius)),
            "posterior_coverage": (by, mean(posterior.covers)),
            "ellipsoid_coverage": (by, mean(posterior.ellipsoid)),
            "error": (("parameter", "replication", "n"), error),
            "largest_error": (("parameter", "replication", "n"), largest),
            "largest_share": (("parameter", "version", "replication", "n"), largest_share),
            "posterior_mass": (("parameter", "n", "version"), mean(posterior.mass)),
            "log_volume_ratio": (("parameter", "n", "version"), mean(posterior.log_volume)),
        },
        coords={"parameter": list(PARAMETERS), "n": wanted[kept], "version": list(sets)},
        attrs={
            "delta": delta,
            "replications": error.shape[1],
            "fits": len(posterior.radius),
            "variance_max": float(sets["paper"].variance_max),
            "c1": float(sets["paper"].c1),
            "c2": float(sets["paper"].c2),
        },
    )


def _covered(shares: np.ndarray) -> np.ndarray:
    """Return the share of replications whose error is within the radius, by size; NaN is left out."""
    return np.nanmean(np.where(np.isnan(shares), np.nan, shares <= 1.0), axis=0)


def _quantile(values: np.ndarray, probability: float) -> np.ndarray:
    """Return for each column the value that a new one is below with this probability; NaN is left out."""
    function = np.quantile if np.isfinite(values).all() else np.nanquantile
    return np.asarray(function(values, probability, axis=0, method="weibull"))


def _bootstrap_error(values: np.ndarray, probability: float) -> np.ndarray:
    """Return the standard error of such a quantile, by bootstrap over rows with a fixed seed."""
    rows = np.random.default_rng(0).integers(len(values), size=(_RESAMPLES, len(values)))
    return np.std([_quantile(values[resample], probability) for resample in rows], axis=0, ddof=1)


def _error_of_mean(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over fits (fits, sizes, parameters), by parameter; NaN for one fit."""
    count = np.isfinite(values).sum(axis=0)
    away = np.nansum((values - np.nanmean(values, axis=0)) ** 2, axis=0)
    return np.where(count > 1, np.sqrt(away / np.maximum(count - 1, 1) / np.maximum(count, 1)), np.nan).T
