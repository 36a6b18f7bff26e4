"""What is done with any engine: fit it to data, draw from its belief, hand the draws to ArviZ.

==========================  ===============================================================
:func:`fit_engine`          the belief of an engine given a whole data set
:func:`draw_many`           draws from a belief, with ln p of each and, where the belief has
                            a density q, ln p − ln q
:func:`sample_posterior`    both in one; several chains where the engine has several
:func:`export`              the draws as a tree for ArviZ
==========================  ===============================================================
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core import compiled
from hrprob._core.precision import double_precision
from hrprob._core.types import Integer, PyTree
from hrprob.estimation.posterior import sites as program
from hrprob.estimation.posterior.base import BatchEngine, Engine, StreamingEngine
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import first_rows, pad
from hrprob.observations import Data, features

if TYPE_CHECKING:
    import xarray

__all__ = [
    "DIMS",
    "ROOM",
    "Draws",
    "draw_many",
    "export",
    "features",
    "fit_at_once",
    "fit_engine",
    "sample_posterior",
]

DIMS = {"theta": ["feature"], "phi": ["feature"]}
"""What the axes of θ and φ are called in a tree for ArviZ."""

ROOM = 4096
"""Rows of the buffer of all smaller data sets: one program fits them."""
# In more dimensions such a buffer is too large for loops over it to be compiled to one kernel.
_FEW = 16
# Draws computed together; it divides 4000, so that no second program is compiled for a remainder.
_BATCH = 50


class Draws(NamedTuple):
    """Draws from a belief."""

    theta: np.ndarray  # (chains, draws, d)
    phi: np.ndarray  # (chains, draws, d)
    z: np.ndarray  # (chains, draws, 2d), and more where the program has more sites
    log_ratio: np.ndarray  # (chains, draws) ln p − ln q up to a constant; 0 where q counts as p
    sites: Mapping[str, np.ndarray] = {}  # (chains, draws, ...) each, beyond θ and φ
    statistics: Mapping[str, np.ndarray] = {}  # (chains, draws) each, by ArviZ's names


def fit_engine(engine: Engine, target: Target, data: Data, key: jax.Array, start: PyTree = None) -> PyTree:
    """Return the belief of ``engine`` given all of ``data``, in double precision; without data, the prior.

    ``start`` is a belief of the same engine to begin at. A sequential engine follows the data from their
    first row on, and always begins at the prior.
    """
    with double_precision():
        data = program.at_least_a_row(jax.tree.map(jnp.asarray, data))
        # It raises where the engine does not take the model or the prior.
        first = engine.init(target, key) if engine.streaming and start is None else start
        if not engine.runs_programs:
            program.check_program(engine, target, data)
        if not engine.streaming:
            return engine.fit(target, data, key, start)
        rows = data.x.shape[0]
        streaming = cast(StreamingEngine, engine)
        if engine.sequential:
            return _fit_row_by_row(streaming, target, pad(data, capacity_for(rows)), rows, key)
        small = rows <= ROOM and target.setting.dimension <= _FEW
        wide = pad(data, ROOM if small else capacity_for(rows))
        return fit_at_once(streaming, target, wide, rows, first)


def draw_many(
    engine: Engine, target: Target, belief: PyTree, data: Data, key: jax.Array, draws: int = 4000
) -> Draws:
    """Return ``draws`` draws from a belief, with their importance ratios.

    Of an engine whose belief consists of draws these are returned, all of them.
    """
    with double_precision():
        data = program.at_least_a_row(jax.tree.map(jnp.asarray, data))
        sites = program.extra_sites(target, data)
        statistics: dict[str, np.ndarray] = {}
        if engine.makes_draws:
            own = cast(BatchEngine, engine)
            z, statistics = own.own_draws(belief), dict(own.statistics(belief))
            ratio = jnp.zeros(z.shape[:2])
            if "lp" not in statistics:
                flat = z.reshape(-1, z.shape[-1])
                statistics["lp"] = np.asarray(_at_draws(engine, target, sites, flat, data)).reshape(
                    ratio.shape
                )
        else:
            keys = jax.random.split(key, draws)
            careful = engine.for_final_draws()
            z, density, ratio = (
                leaf[None] for leaf in _draw_many(careful, target, sites, belief, data, keys)
            )
            statistics = {"lp": np.asarray(density)}
        theta, phi = target.coefficients(z[..., : target.size])
        others = program.values(target, sites, z, data)
        return Draws(
            np.asarray(theta),
            np.asarray(phi),
            np.asarray(z),
            np.asarray(ratio),
            {name: np.asarray(leaf) for name, leaf in others.items()},
            statistics,
        )


def sample_posterior(engine: Engine, target: Target, data: Data, key: jax.Array, draws: int = 4000) -> Draws:
    """Return about ``draws`` draws from the posterior given ``data``, by chain where the engine has chains.

    Where an engine has ``replicates``, each chain is a fit of its own: where they disagree, the engine's
    settings are too small.
    """
    by_fit, by_draw = jax.random.split(key)
    chains = engine.replicates
    if chains == 1:
        belief = fit_engine(engine, target, data, by_fit)
        return draw_many(engine, target, belief, data, by_draw, draws)
    keys = zip(jax.random.split(by_fit, chains), jax.random.split(by_draw, chains), strict=True)
    each = [
        draw_many(engine, target, fit_engine(engine, target, data, one), data, another, -(-draws // chains))
        for one, another in keys
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *each)


def export(draws: Draws, **sample_stats: ArrayLike) -> xarray.DataTree:
    """Return the draws as an ArviZ DataTree: ``posterior`` and ``sample_stats``."""
    from arviz_base import from_dict

    groups = {"posterior": {"theta": draws.theta, "phi": draws.phi} | dict(draws.sites)}
    statistics = (
        {"log_ratio": draws.log_ratio}
        | dict(draws.statistics)
        | {name: np.asarray(value) for name, value in sample_stats.items()}
    )
    return from_dict(groups | {"sample_stats": statistics}, dims=DIMS, coords=features(draws.theta.shape[-1]))


@compiled.program()
def fit_at_once(engine: StreamingEngine, target: Target, data: Data, rows: Integer, start: PyTree) -> PyTree:
    """Return the belief given the first ``rows`` rows of ``data``, a buffer of fixed length."""
    return engine.fit(target, [(data, rows)], start)


@jax.jit
def _fit_row_by_row(
    engine: StreamingEngine, target: Target, data: Data, rows: Integer, key: jax.Array
) -> PyTree:
    """Return the belief after all rows, refitted when the rows have grown by its factor or it needs a refit."""

    def move(belief: PyTree, number: jax.Array) -> PyTree:
        return engine.fit(target, [(first_rows(data, number + 1), number + 1)], belief)

    def step(number: jax.Array, carry: tuple[PyTree, jax.Array]) -> tuple[PyTree, jax.Array]:
        belief, due = carry
        row = jax.tree.map(lambda leaf: leaf[number], data)
        belief = engine.absorb(target, belief, row)
        now = (number + 1 >= due) | (number + 1 == rows) | engine.needs_refit(belief)
        belief = jax.lax.cond(now, move, lambda belief, number: belief, belief, number)
        return belief, jnp.where(now, jnp.ceil((number + 1) * engine.refit), due)

    return jax.lax.fori_loop(0, rows, step, (engine.init(target, key), jnp.asarray(1.0)))[0]


@functools.partial(jax.jit, static_argnames="sites")
def _draw_many(
    engine: Engine, target: Target, sites: program.Sites, belief: PyTree, data: Data, keys: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return draws of z, ln p of each, and ln p − ln q of each (0 where there is no q)."""
    z = jax.lax.map(lambda key: engine.draw(target, belief, key), keys, batch_size=_BATCH)
    at_draws = _log_densities(engine, target, sites, z, data)
    if not engine.has_density:
        return z, at_draws, jnp.zeros(z.shape[0])
    return z, at_draws, at_draws - jax.vmap(lambda z: engine.log_density(target, belief, z))(z)


def _log_densities(
    engine: Engine, target: Target, sites: program.Sites, z: jax.Array, data: Data
) -> jax.Array:
    """Return ln p of each z (n, size), up to a constant."""
    # The density that was fitted: the program's, unless the likelihood is known to be the same.
    by_program = bool(sites) or (engine.runs_programs and not program.agrees(target.model))

    def density(z: jax.Array) -> jax.Array:
        return program.log_density(target, sites, z, data) if by_program else target.log_density(z, data)

    return jax.lax.map(density, z, batch_size=_BATCH)


_at_draws = jax.jit(_log_densities, static_argnames="sites")
