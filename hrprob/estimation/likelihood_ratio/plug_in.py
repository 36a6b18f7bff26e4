r"""Predictives from an estimate: the model's own density at the estimated mean and a widened variance.

An estimate treated as the truth is overconfident. Its variance is therefore widened by the error of the mean
and kept above a floor,

.. math:: \tilde w = \max(\hat w, \text{floor}\cdot f(0)) + \text{inflation}\cdot\operatorname{var}(\hat u),

and mean and variance are clipped to what the bounds of ‖θ‖ and ‖φ‖ allow. For the GLSE var(û) is taken for
:math:`\hat w\,x^\top V^{-1}x`.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from hrprob._core.compiled import program
from hrprob._core.errors import check_number
from hrprob._core.precision import float64
from hrprob._core.records import record, set_frozen
from hrprob._core.types import Integer, Number
from hrprob.estimation import glse, weighted
from hrprob.estimation.likelihood_ratio.predictives import Predictive, guarded, register, sums_of
from hrprob.numerics.products import contract, quadratic_form
from hrprob.observations import Data, pad
from hrprob.problem.links.base import as_affine

if TYPE_CHECKING:
    from hrprob.models import Model
    from hrprob.models.setting import Setting
    from hrprob.problem.known import Known

__all__ = ["GLSEPredictive", "PlugIn", "PlugInState", "WeightedPredictive", "predict_rows"]


S = TypeVar("S")
E = TypeVar("E")


class PlugInState(NamedTuple, Generic[S, E]):
    """The rows seen so far, and what the estimator keeps of them."""

    rows: jax.Array  # ()
    statistics: S
    estimates: E


@record()
class PlugIn(Predictive[PlugInState[S, E]], Generic[S, E]):
    """A predictive from a streaming estimator.

    Parameters
    ----------
    inflation : float, default 1.5
        Factor on the variance of û that is added to the variance of the predictive.
    floor : float, default 0.15
        Least variance of the predictive, as a share of f(0).
    """

    inflation: float = 1.5
    floor: float = 0.15

    def __post_init__(self) -> None:
        remedy = "the predictive's variance is widened by it"
        set_frozen(self, inflation=check_number("inflation", self.inflation, low=0, remedy=remedy))
        remedy = "it is a share of f(0), the variance at φᵀx = 0"
        set_frozen(self, floor=check_number("floor", self.floor, low=0, open_low=True, remedy=remedy))

    @abc.abstractmethod
    def moments(self, estimates: E, x: jax.Array, setting: Setting | Known) -> tuple[jax.Array, jax.Array]:
        """Return mean and variance of the predictive at contexts (..., d)."""

    @abc.abstractmethod
    def learn(
        self,
        state: PlugInState[S, E],
        x: jax.Array,
        rounds: Number,
        total: Number,
        squares: Number,
        setting: Setting | Known,
    ) -> PlugInState[S, E]:
        """Return the state after one more row."""

    def absorb(
        self, state: PlugInState[S, E], past: Data, new: Data, model: Model, setting: Setting | Known
    ) -> tuple[PlugInState[S, E], jax.Array]:
        """Return the state after the new rows, and ln q of each."""
        rows = new.x.shape[0]
        state, log_q = _scan(self, state, pad(new), rows, model, setting)
        return state, log_q[:rows]

    def absorb_sets(self, data: Data, model: Model, setting: Setting) -> jax.Array:
        """Return ln q of every row of several data sets, side by side in one program: (sets, rows)."""
        log_q: jax.Array = _scan_sets(self, data, model, setting)
        return log_q

    def _widened(self, w: jax.Array, u_variance: jax.Array, setting: Setting | Known) -> jax.Array:
        return jnp.maximum(w, self.floor * setting.link(0.0)) + self.inflation * u_variance


def predict_rows(
    predictive: PlugIn[S, E],
    state: PlugInState[S, E],
    data: Data,
    rows: Integer,
    model: Model,
    setting: Setting | Known,
) -> tuple[PlugInState[S, E], jax.Array]:
    """Return the state after the first ``rows`` rows of ``data``, and ln q of each row; pure, for any number of trials."""

    def step(state: PlugInState[S, E], row: Data) -> tuple[PlugInState[S, E], jax.Array]:
        one = jax.tree.map(lambda leaf: leaf[None], row)
        u, w = predictive.moments(state.estimates, one.x, setting)
        log_q = guarded(model.row_log_likelihood(one, u, w), one, state.rows, u, w)[0]
        sums = jax.tree.map(lambda leaf: leaf[0], sums_of(one))
        after = predictive.learn(state, sums.x, sums.rounds, sums.total, sums.squares, setting)
        used = state.rows < end
        return jax.tree.map(lambda new, old: jnp.where(used, new, old), after, state), log_q

    end = state.rows + rows
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=float), state)
    return jax.lax.scan(step, state, jax.tree.map(jnp.asarray, data))


_scan = float64(jax.jit(predict_rows))


@float64
@program()
def _scan_sets(predictive: PlugIn[S, E], data: Data, model: Model, setting: Setting) -> jax.Array:
    def of_set(data: Data) -> jax.Array:
        state = predictive.init(model, setting)
        return predict_rows(predictive, state, data, data.x.shape[0], model, setting)[1]

    return jax.vmap(of_set)(jax.tree.map(jnp.asarray, data))


@register("glse")
class GLSEPredictive(PlugIn[glse.Statistics, glse.Estimates]):
    """The paper's estimator.

    Parameters
    ----------
    ridge : float, default 1
        λ, above 0.
    inflation, floor : float
        How the variance is widened.
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        remedy = "without a ridge V may be singular"
        set_frozen(self, ridge=check_number("ridge", self.ridge, low=0, open_low=True, remedy=remedy))
        super().__post_init__()

    def init(
        self, model: Model | None, setting: Setting | Known
    ) -> PlugInState[glse.Statistics, glse.Estimates]:
        """Return the state before the first row: θ̂ = φ̂ = 0."""
        d = setting.dimension
        nothing = jnp.zeros(d)
        return PlugInState(
            jnp.zeros(()), glse.empty(d), glse.Estimates(nothing, nothing, jnp.eye(d) / self.ridge)
        )

    def moments(
        self, estimates: glse.Estimates, x: jax.Array, setting: Setting | Known
    ) -> tuple[jax.Array, jax.Array]:
        """Return mean and variance of the predictive at contexts (..., d)."""
        length = jnp.sqrt(contract(x, x))
        most_u, most_v = setting.bounds.theta * length, setting.bounds.phi * length
        u = jnp.clip(contract(x, estimates.theta), -most_u, most_u)
        w = setting.link(jnp.clip(contract(x, estimates.phi), -most_v, most_v))
        w = jnp.maximum(w, self.floor * setting.link(0.0))
        return u, self._widened(w, w * jnp.maximum(quadratic_form(estimates.inverse, x), 0.0), setting)

    def learn(
        self,
        state: PlugInState[glse.Statistics, glse.Estimates],
        x: jax.Array,
        rounds: Number,
        total: Number,
        squares: Number,
        setting: Setting | Known,
    ) -> PlugInState[glse.Statistics, glse.Estimates]:
        """Return the state after one more row."""
        statistics = glse.add(state.statistics, x, rounds, total, squares)
        inverse = glse.sherman_morrison(state.estimates.inverse, x, rounds)
        return PlugInState(
            state.rows + 1.0, statistics, glse.estimate(statistics, inverse, as_affine(setting.link))
        )


@register("weighted")
class WeightedPredictive(PlugIn[weighted.Statistics, weighted.Estimates]):
    """The weighted estimator, whose beliefs are truncated to the bounds.

    Parameters
    ----------
    inflation, floor : float
        How the variance is widened.
    """

    def init(
        self, model: Model | None, setting: Setting | Known
    ) -> PlugInState[weighted.Statistics, weighted.Estimates]:
        """Return the state before the first row: the priors."""
        return PlugInState(jnp.zeros(()), *weighted.empty(setting.dimension, setting.bounds))

    def moments(
        self, estimates: weighted.Estimates, x: jax.Array, setting: Setting | Known
    ) -> tuple[jax.Array, jax.Array]:
        """Return mean and variance of the predictive at contexts (..., d)."""
        floor = self.floor * as_affine(setting.link)(0.0)
        estimated = weighted.moments(estimates, x, as_affine(setting.link), setting.bounds, floor)
        return estimated.u, self._widened(estimated.w, estimated.u_sd**2, setting)

    def learn(
        self,
        state: PlugInState[weighted.Statistics, weighted.Estimates],
        x: jax.Array,
        rounds: Number,
        total: Number,
        squares: Number,
        setting: Setting | Known,
    ) -> PlugInState[weighted.Statistics, weighted.Estimates]:
        """Return the state after one more row."""
        floor = self.floor * as_affine(setting.link)(0.0)
        variance = weighted.weighting_variance(
            state.estimates, x, as_affine(setting.link), setting.bounds, floor
        )
        added = weighted.add(
            state.statistics,
            state.estimates,
            x,
            rounds,
            total,
            squares,
            as_affine(setting.link),
            (variance, variance),
        )
        return PlugInState(state.rows + 1.0, *added)
