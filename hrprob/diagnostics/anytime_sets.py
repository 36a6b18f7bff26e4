r"""Four sets for φ* along n: what they promise, how often they keep it at one n and at all n at once, and how wide they are.

====================  =================================================================================================
``likelihood-ratio``  the joint set for (θ*, φ*) of :mod:`hrprob.estimation.likelihood_ratio`, normal outcomes, predictive
                      ``weighted``: 1 − δ for all n at once, any design
``rho``               ρ_n(δ/n²) about the GLSE, as printed
``calibrated``        quantiles of a parametric bootstrap about the GLSE: 1 − δ at one n, as far as estimates stand for the truth
``posterior``         the ellipsoid with 1 − δ of the posterior (``laplace``): 1 − δ over truths drawn from the prior, at one n
====================  =================================================================================================

Radii are about the GLSE in the norm of V; that of the likelihood-ratio set is of the ellipsoid to second order of the
likelihood, to which the distance of its centre from the GLSE is added. The posterior is looked at in some data sets and at
the stated sizes only, the other sets after every user from the first size on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.compiled import program
from hrprob._core.precision import float64
from hrprob._core.types import Array, AsWritten, Number, PyTree
from hrprob.diagnostics.designs import Design, sample_sizes
from hrprob.diagnostics.posterior_sets import posterior_sets
from hrprob.diagnostics.printed_sets import printed_sets
from hrprob.estimation import glse
from hrprob.estimation.likelihood_ratio import region
from hrprob.estimation.likelihood_ratio.paths import paths_of
from hrprob.estimation.likelihood_ratio.predictives import make_predictive
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior
from hrprob.numerics.products import quadratic_form
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Stays, first_rows
from hrprob.policies import HRUCB
from hrprob.policies.base import Seen
from hrprob.problem import Problem
from hrprob.problem.links.base import as_affine
from hrprob.simulation.data_sets import CAP, DataSets, gather_blocks
from hrprob.simulation.truths import Truths

__all__ = ["KINDS", "compare_promises"]

KINDS = ("likelihood-ratio", "rho", "calibrated", "posterior")
"""The sets, in the order of the tables."""

_RIDGE = 1.0
_PREDICTIVE = "weighted"


class _Found(NamedTuple):
    """By kind, data set and size; NaN where there is none."""

    now: np.ndarray  # (kinds, sets, sizes) whether the set contains the truth
    always: np.ndarray  # (kinds, sets, sizes) at this size and before
    radius: np.ndarray  # (kinds, sets, sizes)
    error: np.ndarray  # (sets, sizes) of the GLSE's φ


@float64
def compare_promises(
    problem: Problem,
    design: Design,
    *,
    delta: float,
    most: int,
    replications: int,
    fits: int,
    seed: int,
    prior: AsWritten = "uniform",
    report: Callable[[int], None] = lambda users: None,
) -> xarray.Dataset:
    """Return coverage and radius of the four sets over kind and n.

    Parameters
    ----------
    problem : Problem
        What is played.
    design : Design
        How contexts are picked.
    delta : float
        δ.
    most : int
        Largest n.
    replications, fits : int
        Data sets, and how many of them a posterior is fitted to and the radius of the likelihood-ratio set is computed for.
    seed : int
        Seed of all random numbers.
    prior : str or prior
        Prior of the posterior.
    report : callable
        Called now and then with the number of users served since the last call.

    Returns
    -------
    xarray.Dataset
        ``coverage`` at n, ``always`` up to n, ``radius``, ``count`` of data sets; and over n, ``quantile``: the 1 − δ
        quantile of the GLSE's error.
    """
    wanted = sample_sizes(most)
    truths = Truths(*(np.tile(truth, (replications, 1)) for truth in (problem.theta, problem.phi)))
    blocks = gather_blocks(
        design.problem,
        design.policy,
        truths,
        users=design.users,
        seed=seed,
        cap=math.inf,
        enough=most,
        report=report,
    )
    every = _compare(problem, _joined(list(blocks), most), wanted, delta, fits, seed, prior)
    # As many as in the other section: sizes that nine tenths of the data sets reach.
    kept = np.mean(np.isfinite(every.error), axis=0) >= 0.9
    now, always, radius, error = (leaf[..., kept] for leaf in every)
    by = ("kind", "n")
    return xarray.Dataset(
        {
            "coverage": (by, _mean(now)),
            "always": (by, _mean(always)),
            "radius": (by, _mean(radius)),
            "count": (by, np.isfinite(now).sum(axis=1)),
            "quantile": ("n", np.nanquantile(error, 1.0 - delta, axis=0, method="weibull")),
        },
        coords={"kind": list(KINDS), "n": wanted[kept]},
        attrs={"delta": delta, "noise": problem.noise.kind},
    )


class _Block(NamedTuple):
    """Data sets with as many rows as they need."""

    stays: Stays  # (sets, rows, ...)
    truths: Truths


def _joined(blocks: Sequence[DataSets], most: int) -> _Block:
    """Return all data sets in one block, up to the user after whom each has ``most`` rounds, or to the last."""
    needed = []
    for block in blocks:
        rounds = np.cumsum(np.asarray(block.stays.rounds), axis=1)
        short = rounds[:, -1] < most
        needed.append(rounds.shape[1] if short.any() else int(np.argmax(rounds >= most, axis=1).max()) + 1)
    rows = max(needed)
    stays = [[_resized(np.asarray(leaf), rows) for leaf in block.stays] for block in blocks]
    truths = (block.truths for block in blocks)
    return _Block(
        Stays(*(np.concatenate(leaves) for leaves in zip(*stays, strict=True))),  # type: ignore[arg-type]
        Truths(*(np.concatenate(leaves) for leaves in zip(*truths, strict=True))),
    )


def _resized(leaf: np.ndarray, rows: int) -> np.ndarray:
    """Return a leaf (sets, rows, ...) cut, or with empty rows added, to this number of rows."""
    missing = max(rows - leaf.shape[1], 0)
    return np.pad(leaf[:, :rows], [(0, 0), (0, missing)] + [(0, 0)] * (leaf.ndim - 2))


def _mean(values: np.ndarray) -> np.ndarray:
    """Return means over data sets (kinds, sets, sizes) that are not NaN; NaN if all are."""
    known = np.isfinite(values)
    return np.where(
        known.any(axis=1), np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1), np.nan
    )


def _compare(
    problem: Problem,
    block: _Block,
    wanted: np.ndarray,
    delta: float,
    fits: int,
    seed: int,
    prior: AsWritten,
) -> _Found:
    stays = _padded(block.stays, wanted)
    model, setting = make_model("gaussian"), Setting.of(problem)
    log_q = np.asarray(make_predictive(_PREDICTIVE).absorb_sets(stays, model, setting))
    paths = paths_of(log_q, stays, model, setting, *block.truths)
    rows = block.stays.rounds.shape[1]
    bound = HRUCB(radius="calibrated", delta=delta, ridge=_RIDGE).bind(problem, rows)
    error, calibrated = (
        np.pad(leaf, [(0, 0), (0, paths.rounds.shape[1] - rows)], mode="edge")
        for leaf in _glse_along(bound, block.stays, block.truths.phi)
    )
    printed = printed_sets(problem, _RIDGE, None)
    rho = np.asarray(jax.jit(printed["paper"].rho_simultaneous)(np.maximum(paths.rounds, 1.0), delta))
    inside = np.stack([paths.log_ratio <= -math.log(delta), error <= rho, error <= calibrated])
    # Sets are looked at from the first size on.
    inside_since = np.logical_and.accumulate(inside | (paths.rounds < wanted[0]), axis=2)
    at = np.stack([np.argmax(paths.rounds >= size, axis=1) for size in wanted], axis=1)  # (sets, sizes)
    reached = paths.rounds[:, -1:] >= wanted

    def pick(values: np.ndarray) -> np.ndarray:
        return np.where(reached, np.take_along_axis(values.astype(float), at, axis=1), np.nan)

    target, fits = Target(model, make_prior(prior), setting), min(fits, len(error))
    own = np.full((2, *at.shape), np.nan)
    wide = np.full(at.shape, np.nan)
    if fits:
        # The posterior's mass in them is not used; they have the shape of the other section's, and so its program.
        radii = np.broadcast_to(pick(rho)[0][:, None, None], (len(wanted), 2, len(printed)))
        posterior = posterior_sets(*block, target, radii, delta, _RIDGE, wanted, fits, seed)
        own[0, :fits], own[1, :fits] = posterior.ellipsoid[..., 0], posterior.radius[..., 0]
        log_q = np.cumsum(log_q[:fits], axis=1)
        radius = _radii(_some(stays, fits), at[:fits] + 1, log_q, delta, setting)
        wide[:fits] = np.where(reached[:fits], np.asarray(radius), np.nan)
    always = np.where(
        np.isnan(own[0]), np.nan, np.logical_and.accumulate(np.nan_to_num(own[0], nan=1.0) > 0, axis=1)
    )
    return _Found(
        np.stack([*(pick(one) for one in inside), own[0]]),
        np.stack([*(pick(one) for one in inside_since), always]),
        np.stack([wide, pick(rho), pick(calibrated), own[1]]),
        pick(error),
    )


def _some(stays: Stays, sets: int) -> Stays:
    return Stays(*(leaf[:sets] for leaf in stays))


def _padded(stays: Stays, wanted: np.ndarray) -> Stays:
    """Return data sets with empty rows added, so that those of both designs have one shape.

    Every shape is several programs of its own, and empty rows change nothing.
    """
    most = max(np.asarray(stays.rounds).shape[1], int(wanted[-1]))
    rows = capacity_for(1 << (most - 1).bit_length())
    return Stays(*(_resized(np.asarray(leaf), rows) for leaf in stays))  # type: ignore[arg-type]


@jax.jit
def _glse_along(bound: HRUCB, stays: Stays, phi: Array) -> tuple[jax.Array, jax.Array]:
    """Return the error of the GLSE's φ and its calibrated radius, (sets, rows) both."""

    def of_set(stays: Stays, phi: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(state: PyTree, row: tuple[Stays, jax.Array]) -> tuple[PyTree, tuple[jax.Array, jax.Array]]:
            stay, number = row
            seen = Seen(
                number,
                stay.x[None],
                jnp.zeros((), jnp.int32),
                stay.x,
                jnp.zeros(()),
                stay.rounds,
                jnp.asarray(True),
                stay.rounds,
                stay.total,
                stay.squares,
                jnp.zeros(CAP),
            )
            state = bound.depart(bound.update(state, seen), number)
            learned = state.learned
            shape = learned.statistics.gram + _RIDGE * jnp.eye(phi.shape[-1])
            error = jnp.sqrt(jnp.maximum(quadratic_form(shape, learned.estimates.phi - phi), 0.0))
            return state, (error, bound.width.radii(state.width, learned).phi)

        numbers = jnp.arange(1.0, stays.rounds.shape[0] + 1.0)
        first = jax.tree.map(jnp.asarray, bound.init())
        both: tuple[jax.Array, jax.Array] = jax.lax.scan(step, first, (stays, numbers))[1]
        return both

    return jax.vmap(of_set)(jax.tree.map(jnp.asarray, stays), jnp.asarray(phi))


@program()
def _radii(stays: Stays, rows: Array, log_q: Array, delta: Number, setting: Setting) -> jax.Array:
    """Return the largest ‖φ − φ̂‖ in the norm of V over the set's ellipsoid, after some rows: (sets, sizes)."""
    d, link, bounds = setting.dimension, as_affine(setting.link), setting.bounds

    def of_set(data: Stays, rows: jax.Array, log_q: jax.Array) -> jax.Array:
        def of_size(rows: jax.Array) -> jax.Array:
            some = first_rows(data, rows)
            fitted = region.expand(
                [(some, rows)], log_q[rows - 1], delta, region.empty(d, bounds), link, bounds
            )
            sums = jax.tree.map(
                lambda leaf: jnp.sum(leaf, axis=0),
                jax.vmap(lambda *row: glse.add(glse.empty(d), *row))(*some),
            )
            shape = sums.gram + _RIDGE * jnp.eye(d)
            away = glse.solve(sums, _RIDGE, link).phi - fitted.phi
            root = jnp.linalg.cholesky(fitted.phi_covariance)
            longest = jnp.linalg.eigvalsh(root.T @ shape @ root)[-1]
            return jnp.sqrt(quadratic_form(shape, away)) + jnp.sqrt(fitted.squared_radius * longest)

        return jax.lax.map(of_size, rows)

    return jax.vmap(of_set)(jax.tree.map(jnp.asarray, stays), jnp.asarray(rows), jnp.asarray(log_q))
