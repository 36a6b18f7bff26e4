"""The posterior of each of many data sets, by any engine: draws of θ and φ, and moments of outcomes.

Data sets of one length are fitted side by side in one compiled program. A streaming engine
follows the users as it does in a policy, and draws are taken after some of them. An engine is
used through its protocol alone, so that tests can replace a sound engine by a faulty one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import program
from hrprob._core.precision import double_precision, float64
from hrprob._core.types import Array, Integer, PyTree
from hrprob.estimation.posterior.base import Engine, StreamingEngine
from hrprob.estimation.posterior.inference import fit_engine
from hrprob.estimation.posterior.target import Target, capacity_for
from hrprob.models import Data, first_rows, pad
from hrprob.numerics.control_flow import once
from hrprob.policies.bayes import refit_times
from hrprob.simulation.checkpoints import ChunkStore
from hrprob.simulation.tasks import JobRunner, SideBySide, pack_tree, unpack_tree

__all__ = ["FitJob", "Posteriors", "checkpoints", "draws_of", "moments_of", "posteriors"]

# Rows of data and data sets that are fitted side by side at most.
_ROWS_AT_ONCE = 2**13
_SETS_AT_ONCE = 32
# Draws of a streaming engine are taken whenever the number of users has grown by this factor.
_GROWTH = 1.1


class Posteriors(NamedTuple):
    """Draws from the posterior of each data set."""

    theta: np.ndarray  # (sets, draws, d)
    phi: np.ndarray  # (sets, draws, d)


def checkpoints(users: int, first: int = 10) -> list[int]:
    """Return after how many users draws of a streaming engine are taken, from ``first`` up to ``users``.

    Examples
    --------
    >>> checkpoints(30)
    [10, 11, 13, 15, 17, 19, 21, 24, 27, 30]
    """
    grown = np.flatnonzero(refit_times(users, _GROWTH))
    return sorted({first, *(int(number) for number in grown if number >= first)})


def posteriors(
    engine: Engine,
    target: Target,
    data: Data,
    users: Sequence[int],
    *,
    draws: int = 500,
    seed: int = 0,
    report: Callable[[int], None] = lambda sets: None,
    runner: JobRunner | None = None,
    name: str = "posteriors",
) -> list[Posteriors]:
    """Fit ``engine`` to each data set and return draws, after each of some numbers of users.

    Parameters
    ----------
    engine : Engine
        How the posterior is computed.
    target : Target
        The posterior itself: model, prior, setting.
    data : Data
        Data sets on the first axis of every leaf, users on the second.
    users : sequence of int
        The numbers of users after which draws are returned, in rising order.
    draws : int
        Draws of each posterior; at most as many as a sampler makes.
    seed : int
        Seed of the engine.
    report : callable
        Called now and then with the number of data sets that were fitted since the last call.
    runner : JobRunner, optional
        Where the data sets are fitted; by default in threads of this process.
    name : str
        The name of this step, for the runner.
    """
    sets, stops = data.x.shape[0], tuple(int(number) for number in users)
    # Even batches waste the least on the last one.
    batches = -(-sets // min(sets, _SETS_AT_ONCE, max(1, _ROWS_AT_ONCE // stops[-1])))
    size = -(-sets // batches)

    def job(first: int) -> FitJob:
        # The last batch is filled up with copies of the last data set, so that all have one shape.
        numbers = np.arange(first, first + size)
        batch = jax.tree.map(lambda leaf: np.asarray(leaf)[np.minimum(numbers, sets - 1), : stops[-1]], data)
        return FitJob(engine, target, batch, numbers, sets, stops, draws, seed)

    jobs = [job(first) for first in range(0, sets, size)]
    fitted = (runner or SideBySide()).run(name, jobs, report)
    return [jax.tree.map(lambda *leaves: np.concatenate(leaves), *one) for one in zip(*fitted, strict=True)]


class FitJob(NamedTuple):
    """Some data sets that an engine is fitted to side by side; the arguments are those of :func:`posteriors`."""

    engine: Engine
    target: Target
    data: Data  # of this batch
    numbers: np.ndarray  # of its data sets
    sets: int  # of all batches
    stops: tuple[int, ...]
    draws: int
    seed: int

    @property
    def size(self) -> int:
        """How many data sets it has."""
        return int(np.sum(self.numbers < self.sets))

    def play(
        self,
        *,
        workers: int | None = None,
        report: Callable[[int], None] = lambda sets: None,
        store: ChunkStore | None = None,
    ) -> list[Posteriors]:
        """Fit them in this thread; return draws after each number of users."""
        with double_precision():
            found = _draws_of_each(
                self.engine,
                self.target,
                jax.tree.map(jnp.asarray, self.data),
                self.seed,
                self.numbers,
                stops=self.stops,
                draws=self.draws,
            )
            theta, phi = (np.asarray(leaf)[: self.size] for leaf in found)
        report(self.size)
        return [Posteriors(theta[:, stop], phi[:, stop]) for stop in range(len(self.stops))]

    def pack(self, result: list[Posteriors]) -> dict[str, np.ndarray]:
        """Return the draws as arrays by name."""
        return pack_tree(result)

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> list[Posteriors]:
        """Return the draws that were packed."""
        nothing: PyTree = 0
        return unpack_tree([Posteriors(nothing, nothing) for _ in self.stops], arrays)


@program(static=("stops", "draws"))
def _draws_of_each(
    engine: Engine,
    target: Target,
    data: Data,
    seed: Integer,
    numbers: Array,
    *,
    stops: tuple[int, ...],
    draws: int,
) -> tuple[jax.Array, jax.Array]:
    """Return draws of θ and φ (sets, stops, draws, d) of the data sets with these numbers."""
    keys = jax.vmap(lambda number: jax.random.fold_in(jax.random.key(seed), number))(numbers)
    if engine.streaming:
        return target.coefficients(_follow(cast(StreamingEngine, engine), target, data, keys, stops, draws))

    def one(data: Data, key: jax.Array) -> jax.Array:
        return jnp.stack(
            [
                draws_of(engine, target, jax.tree.map(lambda leaf, n=n: leaf[:n], data), key, draws)
                for n in stops
            ]
        )

    return target.coefficients(jax.vmap(one)(data, keys))


def _follow(
    engine: StreamingEngine, target: Target, data: Data, keys: jax.Array, stops: tuple[int, ...], draws: int
) -> jax.Array:
    """Return draws of z of a streaming engine, fitted at the stops and, if sequential, at its own times too."""
    users = stops[-1]
    stop_after = np.full(users + 1, -1)  # by number of users: the index of the stop there, or −1
    stop_after[list(stops)] = np.arange(len(stops))
    # Between stops most engines need no fit; particles must be carried along.
    due = (stop_after >= 0) | (refit_times(users, engine.refit) if engine.sequential else False)

    def begin(data: Data, key: jax.Array) -> PyTree:
        by_start, by_draws = jax.random.split(key)
        first = engine.init(target, by_start), jnp.zeros((len(stops), draws, target.size))
        return pad(data, capacity_for(users)), by_draws, first

    wide, by_draws, start = jax.vmap(begin)(data, keys)

    def step(number: jax.Array, now: PyTree) -> PyTree:
        def one(wide: Data, by_draws: jax.Array, now: PyTree) -> PyTree:
            belief, z = now
            row = jax.tree.map(lambda leaf: leaf[number], wide)
            so_far = first_rows(wide, number + 1)
            absorbed = engine.absorb(target, belief, row)
            belief = engine.refresh(target, [(so_far, number + 1)], absorbed, jnp.asarray(due)[number + 1])
            stop = jnp.asarray(stop_after)[number + 1]
            with_draws = lambda z: z.at[stop].set(engine.draw_some(target, belief, by_draws, draws))  # noqa: E731
            return belief, once(stop >= 0, with_draws, z)

        return jax.vmap(one)(wide, by_draws, now)

    # The data sets are vectorised within the loop: around it, JAX would trace the loop twice.
    return jax.lax.fori_loop(0, users, step, start)[1]


def draws_of(engine: Engine, target: Target, data: Data, key: jax.Array, draws: int) -> jax.Array:
    """Return draws of z (draws, 2d) from the posterior of one data set."""
    by_fit, by_draws = jax.random.split(key)
    belief = fit_engine(engine, target, data, by_fit)
    return engine.draw_some(target, belief, by_draws, draws)


@float64
def moments_of(target: Target, draws: Posteriors, x: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the outcome at contexts x (sets, points, d), draw by draw.

    Both have shape (sets, draws, points).
    """
    return _moments(target, *(jnp.asarray(leaf) for leaf in (*draws, x)))


@jax.jit
def _moments(target: Target, theta: jax.Array, phi: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    def one(theta: jax.Array, phi: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.vmap(lambda theta, phi: target.setting.moments(theta, phi, x))(theta, phi)

    return jax.vmap(one)(theta, phi, x)
