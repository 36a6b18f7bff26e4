"""What every engine offers, and what is done with any of them.

An engine is a record of its settings; what it believes is a tuple of arrays of its own.

===============  =======================================================================
``init``         the belief before anything is seen
``fit``          the belief given data: streaming engines take ``tables`` (pairs of a buffer
                 and its rows in use) and the last belief, and live inside compiled programs;
                 the others take data, a key and perhaps a start
``absorb``       streaming engines only: the belief after one more stay, until the next fit
``keep``         the others only: what a policy keeps of a fit, of fixed size
``draw``         one draw of z = (z_θ, z_φ)
``log_density``  where the belief has a density: ln q(z)
===============  =======================================================================

The functions below serve all of them alike: :func:`fit` gives a belief, :func:`draw_many`
draws from it with ln p and, where there is a density, ln p − ln q of every draw, and
:func:`export` makes a tree for ArviZ of the draws. :func:`sample` is the first two in one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob._core.records import with_fields
from hrprob.estimation.posterior import sites as program
from hrprob.estimation.posterior.nuts import Chains
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import first_rows, pad

__all__ = ["DIMS", "Draws", "Engine", "draw_many", "export", "features", "fit", "has_density", "sample"]

DIMS = {"theta": ["feature"], "phi": ["feature"]}
"""What the axes of θ and φ are called in a tree for ArviZ."""

# Particles are not independent of each other. Clouds are: what differs between them is the error.
_CLOUDS = 4
# Tries of ``smc`` at a draw of θ in its ball: where data put θ beyond the bound most of them fail.
_TRIES = 1000
# Draws looked at together; it divides 4000, so that nothing is left over.
_BATCH = 50


class Engine(Protocol):
    """What the policies and the functions below ask of an engine."""

    kind: ClassVar[str]
    streaming: ClassVar[bool]
    refit: ClassVar[float]

    def init(self, target: Target) -> Any:
        """Return the belief before anything is seen."""
        ...

    def draw(self, target: Target, belief: Any, key: jax.Array, scale: Any = 1.0) -> jax.Array:
        """Return one draw of z (2d,)."""
        ...


class Draws(NamedTuple):
    """Draws from a belief."""

    theta: np.ndarray  # (chains, draws, d)
    phi: np.ndarray  # (chains, draws, d)
    z: np.ndarray  # (chains, draws, 2d), and further where the program has further sites
    log_ratio: np.ndarray  # (chains, draws) ln p − ln q up to a constant; 0 where q is taken for p
    sites: Mapping[str, np.ndarray] = {}  # (chains, draws, ...) each, beyond θ and φ
    statistics: Mapping[str, np.ndarray] = {}  # (chains, draws) each, by ArviZ's names


def has_density(engine: Any) -> bool:
    """Say whether an engine's belief has a density, so that it can be held against the posterior.

    Examples
    --------
    >>> from hrprob.estimation.posterior.engines import make_engine
    >>> [has_density(make_engine(kind)) for kind in ("nuts", "svi", "laplace", "smc")]
    [False, True, True, False]
    """
    return hasattr(engine, "log_density")


def fit(engine: Any, target: Target, data: Any, key: jax.Array, start: Any = None) -> Any:
    """Return what ``engine`` believes given all of ``data``, in double precision; given none, the prior.

    ``start`` is a belief of the same engine to begin at. The particles of ``smc`` follow the data from their
    first row on, and always begin at the prior.
    """
    with double_precision():
        data = program.at_least_a_row(jax.tree.map(jnp.asarray, data))
        if not engine.streaming:
            return engine.fit(target, data, key, start)
        first = engine.init(target) if start is None else start  # it says what the engine cannot do
        program.check_program(engine, target, data)
        rows = data.x.shape[0]
        wide = pad(data, capacity_for(rows))
        if engine.kind == "smc":
            return _stream(engine, target, wide, rows, key)
        return _fit_at_once(engine, target, wide, rows, first)


def draw_many(
    engine: Any, target: Target, belief: Any, data: Any, key: jax.Array, draws: int = 4000
) -> Draws:
    """Return ``draws`` draws from a belief (all that there are, for ``nuts``), with their importance ratios."""
    with double_precision():
        data = program.at_least_a_row(jax.tree.map(jnp.asarray, data))
        sites = program.extra_sites(target, data)
        if isinstance(belief, Chains):
            z, ratio, statistics = belief.z, jnp.zeros(belief.z.shape[:2]), belief.statistics()
        else:
            if engine.kind == "smc":
                engine = with_fields(engine, tries=max(engine.tries, _TRIES))
            keys = jax.random.split(key, draws)
            z, density, ratio = (leaf[None] for leaf in _draw_many(engine, target, sites, belief, data, keys))
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


def sample(engine: Any, target: Target, data: Any, key: jax.Array, draws: int = 4000) -> Draws:
    """Return about ``draws`` draws from the posterior given ``data``, by chain where chains make sense.

    The chains of ``smc`` are clouds of their own, a fit each: where they disagree, there are
    too few particles.
    """
    by_fit, by_draw = jax.random.split(key)
    if engine.kind != "smc":
        return draw_many(engine, target, fit(engine, target, data, by_fit), data, by_draw, draws)
    each = [
        draw_many(engine, target, fit(engine, target, data, one), data, another, -(-draws // _CLOUDS))
        for one, another in zip(
            jax.random.split(by_fit, _CLOUDS), jax.random.split(by_draw, _CLOUDS), strict=True
        )
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *each)


def export(draws: Draws, **sample_stats: Any) -> Any:
    """Return the draws as an ArviZ DataTree: ``posterior`` and ``sample_stats``."""
    from arviz_base import from_dict

    groups = {"posterior": {"theta": draws.theta, "phi": draws.phi} | dict(draws.sites)}
    statistics = (
        {"log_ratio": draws.log_ratio}
        | dict(draws.statistics)
        | {name: np.asarray(value) for name, value in sample_stats.items()}
    )
    return from_dict(groups | {"sample_stats": statistics}, dims=DIMS, coords=features(draws.theta.shape[-1]))


def features(dimension: int) -> dict[str, list[str]]:
    """Return the names of the entries of θ and φ, as ArviZ's coordinates.

    Examples
    --------
    >>> features(2)
    {'feature': ['x1', 'x2']}
    """
    return {"feature": [f"x{j + 1}" for j in range(dimension)]}


@jax.jit
def _fit_at_once(engine: Any, target: Target, data: Any, rows: Any, start: Any) -> Any:
    return engine.fit(target, [(data, rows)], start)


@jax.jit
def _stream(engine: Any, target: Target, data: Any, rows: Any, key: jax.Array) -> Any:
    """Return the particles after all rows.

    They are moved whenever the rows have grown by the engine's factor, and when they are worn.
    """

    def move(belief: Any, number: Any) -> Any:
        return engine.fit(target, [(first_rows(data, number + 1), number + 1)], belief)

    def step(number: Any, carry: Any) -> Any:
        belief, due = carry
        stay = jax.tree.map(lambda leaf: leaf[number], data)
        belief = engine.absorb(target, belief, stay)
        now = (number + 1 >= due) | (number + 1 == rows) | engine.worn(belief)
        belief = jax.lax.cond(now, move, lambda belief, number: belief, belief, number)
        return belief, jnp.where(now, jnp.ceil((number + 1) * engine.refit), due)

    return jax.lax.fori_loop(0, rows, step, (engine.init(target, key), jnp.asarray(1.0)))[0]


@functools.partial(jax.jit, static_argnames="sites")
def _draw_many(
    engine: Any, target: Target, sites: program.Sites, belief: Any, data: Any, keys: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    z = jax.lax.map(lambda key: engine.draw(target, belief, key), keys, batch_size=_BATCH)

    # What was fitted: the likelihood, or the program, unless they are known to be the same.
    by_program = bool(sites) or not (engine.streaming or program.agrees(target.model))

    def density(z: jax.Array) -> jax.Array:
        return program.log_density(target, sites, z, data) if by_program else target.log_density(z, data)

    at_draws = jax.lax.map(density, z, batch_size=_BATCH)
    if not has_density(engine):
        return z, at_draws, jnp.zeros(z.shape[0])
    return z, at_draws, at_draws - jax.vmap(lambda z: engine.log_density(target, belief, z))(z)
