r"""Draws of the posterior itself, from an engine's draws that are only near it.

Importance weights p/q tell by how much draws from an approximation q are off. Where they move means or standard deviations,
or few draws carry all of the weight, particles from q are *tempered* to p [1]_: the target is :math:`q^{1-\tau} p^\tau` with τ
rising from 0 to 1, each time as far as leaves half of the particles effective; they are resampled by their weights and moved
by Hamiltonian Monte Carlo in coordinates in which they have covariance 1. At τ = 1 they are moved on, and the last
moves are the draws. Particles of an engine that approximates p by particles alone (``smc`` over θ and φ) are moved at τ = 1.

Four groups of particles know nothing of each other, and the draws of each stand in the order of its moves: where the
groups disagree, or drift, their split R-hat is above 1. The standard error of a mean, in posterior sds, is
about :math:`\sqrt{(\hat R^2 - 1)/4}`, .07 at R-hat 1.01.

References
----------
.. [1] P. Del Moral, A. Doucet, A. Jasra, "Sequential Monte Carlo samplers", Journal of the
   Royal Statistical Society B 68(3), 2006.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtri

from hrprob._core.precision import double_precision
from hrprob._core.types import PyTree
from hrprob.estimation.posterior import sites as program
from hrprob.estimation.posterior.base import Engine
from hrprob.estimation.posterior.importance import smoothed_weights
from hrprob.estimation.posterior.inference import Draws, draw_many, fit_engine, sample_posterior
from hrprob.estimation.posterior.resampling import largest_power, systematic
from hrprob.estimation.posterior.target import Target
from hrprob.numerics.products import contract
from hrprob.observations import Data

__all__ = ["GROUP", "GROUPS", "is_near", "sample_refined"]

GROUPS, GROUP = 4, "group"
"""Groups of particles that are moved separately, and the name of the statistic that tells them apart."""
_PARTICLES = 250
# Draws stay as they are where this share of them is effective by their weights, which have a mean (k̂ below 1) and move
# means and sds by no more than this; the agreed limits are 0.15 sds and a factor of 1.15.
_ENOUGH, _MOST_K, _MOST_MOVED = 0.25, 1.0, 0.1
# Effective share of the particles that a step of the tempering leaves.
_LEAST_SHARE = 0.5
_MOST_STAGES = 64
# Moves of every stage, and at τ = 1 before draws are kept.
_MOVES, _SETTLING = 2, 6
# Leapfrog steps of a move, and the acceptance probability that their size is adapted to.
_STEPS, _ACCEPT = 6, 0.8
# Products of particles and rows that are held in memory at once.
_AT_ONCE = 2**21


class _Moved(NamedTuple):
    """Draws by group, in the order of the moves."""

    z: jax.Array  # (groups, draws, k)
    log_density: jax.Array  # (groups, draws) ln p, up to a constant
    accept: jax.Array  # (groups,) acceptance probability of the last move


class _Cloud(NamedTuple):
    """Particles on their way from q to p."""

    z: jax.Array  # (particles, k)
    value: jax.Array  # (particles,) ln p
    other: jax.Array  # (particles,) ln q
    power: jax.Array  # () τ
    stage: jax.Array  # () int
    moves: jax.Array  # () int, since τ was raised
    total: jax.Array  # () int, of moves
    step: jax.Array  # () size of a leapfrog step
    accept: jax.Array  # () of the last move
    mean: jax.Array  # (k,) of the coordinates that are moved in
    factor: jax.Array  # (k, k)
    kept: jax.Array  # (recorded, particles, k)
    kept_value: jax.Array  # (recorded, particles)


def is_near(drawn: Draws) -> bool:
    """Say whether weighting draws would hardly change the means and sds of all parameters.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=(1, 4000, 2))
    >>> def told(log_ratio):
    ...     return is_near(Draws(e[..., :1], e[..., 1:], e, log_ratio))
    >>> told(-0.02 * e[..., 0] ** 2), told(0.3 * e[..., 0]), told(3.0 * e[..., 0])
    (True, False, False)
    """
    weight, k = smoothed_weights(drawn.log_ratio.reshape(-1))
    if not (k < _MOST_K and 1.0 / np.sum(weight**2) >= _ENOUGH * weight.size):
        return False
    parts = (drawn.theta, drawn.phi, *drawn.sites.values())
    every = np.concatenate([part.reshape(weight.size, -1) for part in parts], axis=1)
    sd = np.maximum(every.std(axis=0), 1e-300)
    mean = weight @ every
    shift = np.abs(mean - every.mean(axis=0)) / sd
    ratio = np.sqrt(weight @ (every - mean) ** 2) / sd
    varies = every.std(axis=0) > 0.0
    return bool(np.all(shift[varies] <= _MOST_MOVED) and np.all(np.abs(np.log(ratio[varies])) <= _MOST_MOVED))


def sample_refined(engine: Engine, target: Target, data: Data, key: jax.Array, draws: int = 4000) -> Draws:
    """Return about ``draws`` draws from the posterior given ``data``, refined where the engine's own are not near it.

    Draws of an engine whose beliefs have a density stay as they are, in one chain, where they are near it by their weights; else
    they are tempered to the posterior, with weights of 1, and the statistic ``group`` says which group of particles each
    comes from. An engine without a density keeps its chains, and says itself (:meth:`~.base.Engine.moves_draws`) whether its draws are moved.
    """
    moving = engine.moves_draws(target)
    if not engine.has_density:
        drawn = sample_posterior(engine, target, data, key, draws)
        return _refined(engine, target, None, drawn, data, key, draws) if moving else drawn
    by_fit, by_draw = jax.random.split(key)
    belief = fit_engine(engine, target, data, by_fit)
    drawn = draw_many(engine, target, belief, data, by_draw, draws)
    if is_near(drawn):
        return drawn
    return _refined(engine, target, belief, drawn, data, key, draws)


def _refined(
    engine: Engine, target: Target, belief: PyTree, drawn: Draws, data: Data, key: jax.Array, draws: int
) -> Draws:
    """Return draws that are moved from those of an engine: by group where it has chains, else in one with all groups."""
    with double_precision():
        wide, sites = program.padded(target, jax.tree.map(jnp.asarray, data))
        k = drawn.z.shape[-1]
        # Chains of an engine's own stay apart.
        flat = drawn.z.reshape(-1, k)
        picks = np.linspace(0, len(flat) - 1, GROUPS * _PARTICLES).astype(int).reshape(GROUPS, _PARTICLES)
        recorded = -(-draws // (GROUPS * _PARTICLES))
        # Fit and draws use split(key), whose keys are those of fold_in with 0 and 1.
        keys = jax.random.split(jax.random.fold_in(key, 2), GROUPS)
        moved = _refine(engine, target, sites, belief, jnp.asarray(flat[picks]), wide, keys, recorded)
        every = np.linspace(0, moved.z.shape[1] - 1, -(-draws // GROUPS)).astype(int)
        z = moved.z[:, every]
        theta, phi = target.coefficients(z[..., : target.size])
        others = program.values(target, sites, z, wide)
        by_group = Draws(
            np.asarray(theta),
            np.asarray(phi),
            np.asarray(z),
            np.zeros(z.shape[:2]),
            {name: np.asarray(leaf) for name, leaf in others.items()},
            {"lp": np.asarray(moved.log_density[:, every])},
        )
        if not engine.has_density:
            return by_group
        group = np.broadcast_to(np.arange(GROUPS)[:, None], z.shape[:2])
        every_group = by_group._replace(statistics={**by_group.statistics, GROUP: group})
        return jax.tree.map(lambda leaf: leaf.reshape(1, -1, *leaf.shape[2:]), every_group)


@functools.partial(jax.jit, static_argnames=("sites", "recorded"))
def _refine(
    engine: Engine,
    target: Target,
    sites: program.Sites,
    belief: PyTree,
    z: jax.Array,
    data: Data,
    keys: jax.Array,
    recorded: int,
) -> _Moved:
    by_program = bool(sites) or (engine.runs_programs and not program.agrees(target.model))

    def density(z: jax.Array) -> jax.Array:
        return program.log_density(target, sites, z, data) if by_program else target.log_density(z, data)

    def other(z: jax.Array) -> jax.Array:
        return engine.log_density(target, belief, z) if engine.has_density else jnp.zeros(())

    batch = max(1, min(_PARTICLES, _AT_ONCE // max(data.x.shape[0], 1)))
    begin = 0.0 if engine.has_density else 1.0
    one = functools.partial(_group, density, other, batch=batch, begin=begin, recorded=recorded)
    return lax.map(lambda given: one(*given), (z, keys))


def _group(
    density: Callable[[jax.Array], jax.Array],
    other: Callable[[jax.Array], jax.Array],
    z: jax.Array,
    key: jax.Array,
    *,
    batch: int,
    begin: float,
    recorded: int,
) -> _Moved:
    """Return the draws of one group of particles z (particles, k)."""
    n, k = z.shape
    value, log_q = lax.map(lambda z: (_known(density(z)), other(z)), z, batch_size=batch)
    mean, factor = _moments(z)
    first = _Cloud(
        z,
        value,
        log_q,
        power=jnp.asarray(begin),
        stage=jnp.zeros((), jnp.int32),
        # The first step raises τ.
        moves=jnp.asarray(_MOVES, jnp.int32),
        total=jnp.zeros((), jnp.int32),
        step=jnp.asarray(0.6 * k**-0.25),
        accept=jnp.zeros(()),
        mean=mean,
        factor=factor,
        kept=jnp.zeros((recorded, n, k)),
        kept_value=jnp.zeros((recorded, n)),
    )

    def advance(now: tuple[jax.Array, _Cloud]) -> tuple[jax.Array, _Cloud]:
        key, cloud = now
        number = cloud.total + 1
        # All random numbers of a step in one draw: every generator is a program that takes long to compile.
        uniform = jax.random.uniform(jax.random.fold_in(key, number), (n, k + 3), minval=1e-300)
        cloud = _raised(uniform[0, -1], cloud._replace(total=number))
        cloud = _moved(uniform[:, :-1], cloud, density, other, batch)
        place = cloud.moves - 1 - _SETTLING
        last = (cloud.power >= 1.0) & (place >= 0)
        at = jnp.clip(place, 0, recorded - 1)
        kept = jnp.where(last, cloud.kept.at[at].set(cloud.z), cloud.kept)
        values = jnp.where(last, cloud.kept_value.at[at].set(cloud.value), cloud.kept_value)
        return key, cloud._replace(kept=kept, kept_value=values)

    def goes_on(now: tuple[jax.Array, _Cloud]) -> jax.Array:
        return (now[1].power < 1.0) | (now[1].moves < _SETTLING + recorded)

    _, end = lax.while_loop(goes_on, advance, (key, first))
    return _Moved(end.kept.reshape(-1, k), end.kept_value.reshape(-1), end.accept)


def _raised(uniform: jax.Array, now: _Cloud) -> _Cloud:
    """Return the particles with τ raised and resampled, where they have moved often enough since the last time."""
    due = (now.power < 1.0) & (now.moves >= _MOVES)
    ahead = (1.0 - now.power) * (now.value - now.other)
    part = jnp.where(now.stage < _MOST_STAGES - 1, largest_power(ahead, _LEAST_SHARE), 1.0)
    part = jnp.where(part > 0.999, 1.0, part)
    picks = systematic(uniform, jax.nn.softmax(part * ahead), now.z.shape[0])
    z = now.z[picks]
    mean, factor = _moments(z)
    there = now._replace(
        z=z,
        value=now.value[picks],
        other=now.other[picks],
        power=jnp.where(part >= 1.0, 1.0, now.power + part * (1.0 - now.power)),
        stage=now.stage + 1,
        moves=jnp.zeros_like(now.moves),
        mean=mean,
        factor=factor,
    )
    return jax.tree.map(lambda new, old: jnp.where(due, new, old), there, now)


def _moved(
    uniform: jax.Array,
    now: _Cloud,
    density: Callable[[jax.Array], jax.Array],
    other: Callable[[jax.Array], jax.Array],
    batch: int,
) -> _Cloud:
    """Return the particles after one move of Hamiltonian Monte Carlo each, and the size of its steps adapted."""

    def parts(e: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        z = now.mean + contract(now.factor, e)
        value, log_q = _known(density(z)), other(z)
        return now.power * value + (1.0 - now.power) * log_q, (value, log_q)

    slope = jax.value_and_grad(parts, has_aux=True)

    def move(given: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        e, value, log_q, momentum, stretch, uniform = given
        size = now.step * stretch

        # A first leap of size 0 evaluates the gradient, so that the density is part of the program once.
        def leap(number: int, at: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            e, p, gradient, *_ = at
            here = jnp.where(number == 0, 0.0, size)
            p = p + 0.5 * here * gradient
            e = e + here * p
            (aim, (value, log_q)), gradient = slope(e)
            return e, p + 0.5 * here * gradient, gradient, aim, value, log_q

        zero = jnp.zeros(())
        there, p, _, aim, value_there, log_q_there = lax.fori_loop(
            0, _STEPS + 1, leap, (e, momentum, jnp.zeros_like(e), zero, zero, zero)
        )
        before = now.power * value + (1.0 - now.power) * log_q - 0.5 * contract(momentum, momentum)
        log_ratio = jnp.nan_to_num(aim - 0.5 * contract(p, p) - before, nan=-jnp.inf, posinf=jnp.inf)
        accepted = jnp.log(uniform) < log_ratio
        new = (there, value_there, log_q_there)
        kept = jax.tree.map(lambda one, two: jnp.where(accepted, one, two), new, (e, value, log_q))
        return (*kept, jnp.exp(jnp.minimum(log_ratio, 0.0)))

    k = now.z.shape[1]
    e = jax.scipy.linalg.solve_triangular(now.factor, (now.z - now.mean).T, lower=True).T
    given = (
        e,
        now.value,
        now.other,
        ndtri(uniform[:, :k]),
        0.7 + 0.6 * uniform[:, k],
        uniform[:, k + 1],
    )
    e, value, log_q, probability = lax.map(move, given, batch_size=batch)
    accept = jnp.mean(probability)
    return now._replace(
        z=now.mean + e @ now.factor.T,
        value=value,
        other=log_q,
        moves=now.moves + 1,
        step=now.step * jnp.exp(jnp.clip(accept - _ACCEPT, -0.5, 0.2)),
        accept=accept,
    )


def _moments(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return mean and Cholesky factor of the covariance of particles z (n, k), shrunk towards its diagonal."""
    n, k = z.shape
    mean = jnp.mean(z, axis=0)
    covariance = (z - mean).T @ (z - mean) / n
    share = k / (n + k)
    shrunk = (1.0 - share) * covariance + share * jnp.diag(jnp.diagonal(covariance)) + 1e-12 * jnp.eye(k)
    return mean, jnp.linalg.cholesky(shrunk)


def _known(value: jax.Array) -> jax.Array:
    """Return a log density with NaN as almost −∞, finite."""
    return jnp.maximum(jnp.nan_to_num(value, nan=-1e300), -1e300)
