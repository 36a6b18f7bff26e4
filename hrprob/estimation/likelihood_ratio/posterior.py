r"""Predictives from a posterior: the model's density averaged over draws of (θ, φ).

With the exact posterior, Σ ln q is the logarithm of the evidence, and Π q / Π p the prior–posterior ratio. Any other
distribution of (θ, φ) in its place, such as an engine's approximation fitted to earlier rows only, makes a valid
set too: a mixture of densities is a density.

An engine is fitted when the rows have grown by ``refit``, to all rows so far, and its draws serve until the next fit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.precision import double_precision
from hrprob._core.records import set_frozen
from hrprob._core.registry import Registry
from hrprob._core.types import AsWritten, Integer, PyTree
from hrprob.estimation.likelihood_ratio.predictives import Predictive, guarded, register
from hrprob.estimation.posterior.engines import ENGINES, make_engine
from hrprob.numerics.buffers import read_rows
from hrprob.numerics.control_flow import once
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Data, first_rows, pad

if TYPE_CHECKING:
    from hrprob.estimation.posterior.base import Engine
    from hrprob.estimation.posterior.target import Target
    from hrprob.models import Model
    from hrprob.models.setting import Setting

__all__ = ["LaplacePredictive", "PosteriorPredictive", "SMCPredictive"]

# Rows whose densities are averaged together, where many data sets are followed in one program.
_WINDOW = 32


class PosteriorState(NamedTuple):
    """The draws of (θ, φ) that serve now, and when the engine is fitted again."""

    rows: int
    due: int  # number of rows at which the engine is fitted next
    theta: jax.Array  # (draws, d)
    phi: jax.Array  # (draws, d)


@register("posterior", static=("draws", "seed"))
class PosteriorPredictive(Predictive[PosteriorState]):
    """The average over draws of a posterior engine.

    Parameters
    ----------
    engine : str, table or engine
        An engine that fits inside compiled programs: "laplace" or "smc".
    prior : str, table or Prior
        The prior of (θ, φ).
    draws : int, default 256
        Draws per fit.
    refit : float, default 1.2
        The engine is fitted again when the number of rows has grown by this factor.
    seed : int
        The seed of the draws.
    """

    PARTS: ClassVar[dict[str, Registry[Engine]]] = {"engine": ENGINES}

    engine: AsWritten = "laplace"
    prior: AsWritten = "uniform"
    draws: int = 256
    refit: float = 1.2
    seed: int = 0

    def __post_init__(self) -> None:
        from hrprob.models import make_prior

        set_frozen(self, engine=make_engine(self.engine), prior=make_prior(self.prior))
        if not self.engine.streaming:
            remedy = 'it is fitted many times; choose "laplace" or "smc"'
            raise InvalidInput("engine", "must fit inside compiled programs", self.engine.kind, remedy)
        remedy = "the density is averaged over them"
        set_frozen(self, draws=check_count("draws", self.draws, remedy=remedy))
        remedy = "1.2 fits again whenever the rows have grown by 20 %"
        set_frozen(self, refit=check_number("refit", self.refit, low=1, remedy=remedy))
        set_frozen(self, seed=check_count("seed", self.seed, low=0, remedy="it makes the draws repeatable"))

    def init(self, model: Model, setting: Setting) -> PosteriorState:
        """Return draws from the prior."""
        with double_precision():
            target = self._target(model, setting)
            belief = self.engine.init(target, jax.random.key(self.seed))
            return PosteriorState(0, 1, *self._draw(target, belief, 0))

    def absorb(
        self, state: PosteriorState, past: Data, new: Data, model: Model, setting: Setting
    ) -> tuple[PosteriorState, jax.Array]:
        """Return the state after the new rows, and ln q of each, in chunks between two fits."""
        from hrprob.estimation.posterior.inference import fit_engine

        target, log_q, seen = self._target(model, setting), [], 0
        every = jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), past, new)
        first, count = past.x.shape[0], new.x.shape[0]
        with double_precision():
            while seen < count:
                until = min(count, seen + state.due - state.rows)
                chunk = jax.tree.map(lambda leaf, a=seen, b=until: np.asarray(leaf)[a:b], new)
                log_q.append(
                    np.asarray(_average(state.rows, state.theta, state.phi, pad(chunk), model, setting))[
                        : until - seen
                    ]
                )
                state = state._replace(rows=state.rows + until - seen)
                seen = until
                if state.rows == state.due:
                    rows = jax.tree.map(lambda leaf, end=first + seen: leaf[:end], every)
                    key = jax.random.fold_in(jax.random.key(self.seed), state.rows)
                    # Rows are padded to powers of two, so that few programs are compiled.
                    belief = fit_engine(self.engine, target, pad(rows), key)
                    due = self._next_fit(state.rows)
                    state = PosteriorState(state.rows, due, *self._draw(target, belief, state.rows))
            return state, jnp.asarray(np.concatenate(log_q) if log_q else np.zeros(0))

    def absorb_sets(self, data: Data, model: Model, setting: Setting) -> jax.Array:
        """Return ln q of every row of several data sets, side by side in one program: (sets, rows).

        An engine that follows the data row by row is fitted set by set.
        """
        if self.engine.sequential:
            return super().absorb_sets(data, model, setting)
        rows = data.x.shape[1]
        wide = _padded(data, capacity_for(rows + _WINDOW))
        with double_precision():
            first, count, fits = self._windows(rows)
            each = np.asarray(_windows_of_sets(self, self._target(model, setting), wide, first, count, fits))
            windows = zip(range(len(first)), count, strict=True)
            return jnp.asarray(
                np.concatenate([each[:, number, :length] for number, length in windows], axis=1)
            )

    def _windows(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the windows of rows between two fits: the first row, how many, and whether a fit comes before it."""
        windows, row, due = [], 0, 1
        while row < rows:
            fits = row == due
            if fits:
                due = self._next_fit(row)
            count = min(_WINDOW, due - row, rows - row)
            windows.append((row, count, fits))
            row += count
        first, length, before = zip(*windows, strict=True)
        return np.array(first, np.int32), np.array(length, np.int32), np.array(before)

    def _next_fit(self, rows: int) -> int:
        return max(rows + 1, math.ceil(rows * self.refit))

    def _target(self, model: Model, setting: Setting) -> Target:
        from hrprob.estimation.posterior.target import Target

        return Target(model, self.prior, setting)

    def _draw(self, target: Target, belief: PyTree, rows: int) -> tuple[jax.Array, jax.Array]:
        key = jax.random.fold_in(jax.random.key(self.seed + 1), rows)
        both: tuple[jax.Array, jax.Array] = _draws(
            self.engine, target, belief, jax.random.split(key, self.draws)
        )
        return both


@register("laplace", static=("draws", "seed"))
class LaplacePredictive(PosteriorPredictive):
    """The average over draws of Laplace's approximation of the posterior."""

    engine: AsWritten = "laplace"


@register("smc", static=("draws", "seed"))
class SMCPredictive(PosteriorPredictive):
    """The average over draws from the particles of a sequential Monte Carlo sampler."""

    engine: AsWritten = "smc"
    refit: float = 1.5


@jax.jit
def _draws(engine: Engine, target: Target, belief: PyTree, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    z = jax.vmap(lambda key: engine.draw(target, belief, key))(keys)
    both: tuple[jax.Array, jax.Array] = target.coefficients(z)
    return both


@jax.jit
def _average(
    rows: Integer, theta: jax.Array, phi: jax.Array, data: Data, model: Model, setting: Setting
) -> jax.Array:
    """Return ln q of each row by draws θ, φ (draws, d), after ``rows`` earlier ones."""

    def of_draw(theta: jax.Array, phi: jax.Array) -> jax.Array:
        likelihood: jax.Array = model.log_likelihood(theta, phi, data, setting)
        return likelihood

    each = jax.vmap(of_draw)(theta, phi)  # (draws, rows)
    log_q = jax.nn.logsumexp(each, axis=0) - jnp.log(theta.shape[0])
    u, w = setting.moments(jnp.mean(theta, axis=0), jnp.mean(phi, axis=0), data.x)
    return guarded(log_q, data, rows + jnp.arange(data.x.shape[0]), u, w)


@jax.jit
def _windows_of_sets(
    predictive: PosteriorPredictive,
    target: Target,
    data: Data,
    first: jax.Array,
    count: jax.Array,
    fits: jax.Array,
) -> jax.Array:
    """Return ln q in every window (sets, windows, _WINDOW), by the draws of the last fit before it."""
    engine, seed = predictive.engine, predictive.seed

    def of_set(data: Data) -> jax.Array:
        def step(belief: PyTree, window: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[PyTree, jax.Array]:
            row, _, fit = window
            belief = once(fit, lambda last: engine.fit(target, [(first_rows(data, row), row)], last), belief)
            key = jax.random.fold_in(jax.random.key(seed + 1), row)
            both = _draws(engine, target, belief, jax.random.split(key, predictive.draws))
            some = jax.tree.map(lambda leaf: read_rows(leaf, row, _WINDOW), data)
            return belief, _average(row, *both, some, target.model, target.setting)

        begin = engine.init(target, jax.random.key(seed))
        each: jax.Array = jax.lax.scan(step, begin, (first, count, fits))[1]
        return each

    return jax.vmap(of_set)(jax.tree.map(jnp.asarray, data))


def _padded(data: Data, rows: int) -> Data:
    """Return data sets (sets, rows, ...) with empty rows added."""
    missing = rows - data.x.shape[1]
    return jax.tree.map(
        lambda leaf: np.pad(np.asarray(leaf), [(0, 0), (0, missing)] + [(0, 0)] * (leaf.ndim - 2)), data
    )
