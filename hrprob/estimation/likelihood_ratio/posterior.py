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
from hrprob._core.types import AsWritten, PyTree
from hrprob.estimation.likelihood_ratio.predictives import Predictive, guarded, register
from hrprob.estimation.posterior.engines import ENGINES, make_engine
from hrprob.observations import Data, pad

if TYPE_CHECKING:
    from hrprob.estimation.posterior.base import Engine
    from hrprob.estimation.posterior.target import Target
    from hrprob.models import Model
    from hrprob.models.setting import Setting

__all__ = ["LaplacePredictive", "PosteriorPredictive", "SMCPredictive"]


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
                log_q.append(np.asarray(_average(state, pad(chunk), model, setting))[: until - seen])
                state = state._replace(rows=state.rows + until - seen)
                seen = until
                if state.rows == state.due:
                    rows = jax.tree.map(lambda leaf, end=first + seen: leaf[:end], every)
                    key = jax.random.fold_in(jax.random.key(self.seed), state.rows)
                    # Rows are padded to powers of two, so that few programs are compiled.
                    belief = fit_engine(self.engine, target, pad(rows), key)
                    due = max(state.rows + 1, math.ceil(state.rows * self.refit))
                    state = PosteriorState(state.rows, due, *self._draw(target, belief, state.rows))
        return state, jnp.asarray(np.concatenate(log_q) if log_q else np.zeros(0))

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
def _average(state: PosteriorState, data: Data, model: Model, setting: Setting) -> jax.Array:
    """Return ln q of each row."""

    def of_draw(theta: jax.Array, phi: jax.Array) -> jax.Array:
        likelihood: jax.Array = model.log_likelihood(theta, phi, data, setting)
        return likelihood

    each = jax.vmap(of_draw)(state.theta, state.phi)  # (draws, rows)
    log_q = jax.nn.logsumexp(each, axis=0) - jnp.log(state.theta.shape[0])
    u, w = setting.moments(jnp.mean(state.theta, axis=0), jnp.mean(state.phi, axis=0), data.x)
    return guarded(log_q, data, state.rows + jnp.arange(data.x.shape[0]), u, w)
