"""The bases of policies by their estimator, updated one user at a time.

:class:`RidgeLearner` estimates θ by ridge regression, :class:`GLSELearner` θ and φ by the GLSE, both with
rank-one updates of V⁻¹. :class:`WeightedLearner` weights every stay by its variance, and has covariances
of its estimates.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.records import record, set_frozen
from hrprob.estimation import glse, weighted
from hrprob.estimation.forgetting import Memory
from hrprob.estimation.projection import project
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.products import contract, quadratic_form
from hrprob.policies.base import Seen
from hrprob.policies.forgetful import ForgetfulLearner
from hrprob.policies.offers import Prediction, predicted
from hrprob.policies.sample_set import Learner
from hrprob.problem.links.base import as_affine

__all__ = [
    "GLSELearner",
    "GLSEState",
    "RidgeLearner",
    "RidgeState",
    "WeightedLearner",
    "WeightedState",
    "norm_of",
]

_LEAST_RIDGE = 1e-6


class RidgeState(NamedTuple):
    """θ̂ = V⁻¹ Σ r x, and the sums from which it is computed."""

    sample_size: jax.Array  # () |S|
    inverse: jax.Array  # (d, d) V⁻¹
    sum_rx: jax.Array  # (d,)
    theta: jax.Array  # (d,)


class GLSEState(NamedTuple):
    """The statistics of the GLSE, and the estimates computed from them."""

    statistics: glse.Statistics
    estimates: glse.Estimates
    memory: Memory | None = None  # of a policy that forgets

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.statistics.count

    @property
    def inverse(self) -> jax.Array:
        """V⁻¹."""
        return self.estimates.inverse


class WeightedState(NamedTuple):
    """The statistics of the weighted estimator, and the beliefs computed from them."""

    statistics: weighted.Statistics
    estimates: weighted.Estimates
    memory: Memory | None = None  # of a policy that forgets

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.statistics.sample_size


def norm_of(inverse: jax.Array, contexts: jax.Array) -> jax.Array:
    """Return ‖x‖_{V⁻¹} of each context (actions, d)."""
    # Rounding can make a quadratic form that is 0 in exact arithmetic slightly negative.
    return jnp.sqrt(jnp.maximum(quadratic_form(inverse, contexts), 0.0))


@record()
class RidgeLearner(Learner[RidgeState]):
    """A policy that estimates the mean by ridge regression.

    Parameters
    ----------
    ridge : float, default 1
        λ. With 0, 1e-6 is used to keep V invertible, which is negligible beside the estimation error.
    """

    has_leverage: ClassVar[bool] = True

    ridge: float = dataclasses.field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        ridge = check_number("ridge", self.ridge, low=0, remedy="λ is added to the diagonal of XᵀX")
        set_frozen(self, ridge=ridge)
        super().__post_init__()

    def init(self) -> RidgeState:
        """Return the state before the first user: θ̂ = 0."""
        d = self.known.dimension
        return RidgeState(
            jnp.zeros(()),
            jnp.eye(d) / jnp.maximum(self.ridge, _LEAST_RIDGE),
            jnp.zeros(d),
            jnp.zeros(d),
        )

    def update(self, state: RidgeState, seen: Seen) -> RidgeState:
        """Add the sampled rounds and update θ̂."""
        inverse = glse.sherman_morrison(state.inverse, seen.context, seen.sampled)
        sum_rx = state.sum_rx + seen.total * seen.context
        return RidgeState(state.sample_size + seen.sampled, inverse, sum_rx, contract(inverse, sum_rx))

    def predict(
        self, state: RidgeState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return the estimated mean; the variance is not estimated."""
        u = contract(contexts[action], state.theta)
        unknown = jnp.full_like(u, jnp.nan)
        return Prediction(u, unknown, unknown, unknown)


@record(static=("project",))
class GLSELearner(ForgetfulLearner[GLSEState]):
    """A policy that estimates mean and variance by the GLSE.

    Parameters
    ----------
    ridge : float, default 1
        λ, above 0.
    variance_floor : float, default 0.01
        The smallest estimated variance: f(φ̂ᵀx) is clipped to it from below.
    project : bool, default False
        Whether values are computed at the estimates projected onto the balls of the problem's bounds, in the norm
        of V, as Lemma 6 of the paper needs (:mod:`hrprob.estimation.projection`). The estimates themselves, and the
        residuals in φ̂, stay as they are.
    """

    has_leverage: ClassVar[bool] = True
    needs_affine_link: ClassVar[bool] = True

    ridge: float = dataclasses.field(default=1.0, kw_only=True)
    variance_floor: float = dataclasses.field(default=0.01, kw_only=True)
    project: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.project, bool):
            raise InvalidInput("project", "must be true or false", self.project, "it projects the estimates")
        floor_remedy = "f(φ̂ᵀx) can be negative and is clipped to this"
        set_frozen(
            self,
            ridge=check_number(
                "ridge", self.ridge, low=0, open_low=True, remedy="without a ridge V may be singular"
            ),
            variance_floor=check_number(
                "variance_floor", self.variance_floor, low=0, open_low=True, remedy=floor_remedy
            ),
        )
        super().__post_init__()

    def init(self) -> GLSEState:
        """Return the state before the first user: θ̂ = φ̂ = 0."""
        d = self.known.dimension
        nothing, sums = jnp.zeros(d), glse.empty(d)
        estimates = glse.Estimates(nothing, nothing, jnp.eye(d) / self.ridge)
        return GLSEState(sums, estimates, self.remember(sums))

    def update(self, state: GLSEState, seen: Seen) -> GLSEState:
        """Add the sampled rounds and update θ̂ and φ̂."""
        if state.memory is not None:
            return self._update_and_forget(state, seen)
        statistics = glse.add(state.statistics, seen.context, seen.sampled, seen.total, seen.squares)
        inverse = glse.sherman_morrison(state.inverse, seen.context, seen.sampled)
        return GLSEState(statistics, glse.estimate(statistics, inverse, as_affine(self.known.link)))

    def _update_and_forget(self, state: GLSEState, seen: Seen) -> GLSEState:
        assert state.memory is not None  # as of a policy that forgets
        memory, statistics = self.add_to(
            state.memory,
            seen.user,
            lambda sums: glse.add(sums, seen.context, seen.sampled, seen.total, seen.squares),
        )
        # The ridge is not discounted, so V⁻¹ is not a rank-one update of the last.
        inverse = inverse_of(cholesky(statistics.gram + self.ridge * jnp.eye(self.known.dimension)))
        return GLSEState(statistics, glse.estimate(statistics, inverse, as_affine(self.known.link)), memory)

    def predict(
        self, state: GLSEState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the estimates."""
        u, w = self.plug_in(state, contexts[action][None])
        return predicted(self.known, u[0], w[0], beta)

    def plug_in(self, state: GLSEState, contexts: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the estimated mean and variance of each context (actions, d)."""
        theta, phi, inverse = state.estimates
        if self.project:
            bounds = self.known.bounds
            theta, phi = project(theta, inverse, bounds.theta), project(phi, inverse, bounds.phi)
        u = contract(contexts, theta)
        variance = self.known.link(contract(contexts, phi))
        return u, jnp.maximum(variance, self.variance_floor)


@record()
class WeightedLearner(ForgetfulLearner[WeightedState]):
    """A policy on the weighted estimator (:mod:`hrprob.estimation.weighted`).

    Parameters
    ----------
    variance_floor : float, default 0.01
        The smallest estimated variance of an action.
    """

    needs_affine_link: ClassVar[bool] = True

    variance_floor: float = dataclasses.field(default=0.01, kw_only=True)

    def __post_init__(self) -> None:
        remedy = "estimated variances are clipped to it from below"
        floor = check_number("variance_floor", self.variance_floor, low=0, open_low=True, remedy=remedy)
        set_frozen(self, variance_floor=floor)
        super().__post_init__()

    def init(self) -> WeightedState:
        """Return the state before the first user: the priors."""
        statistics, estimates = weighted.empty(self.known.dimension, self.known.bounds)
        return WeightedState(statistics, estimates, self.remember(weighted.with_precision(statistics)))

    def update(self, state: WeightedState, seen: Seen) -> WeightedState:
        """Add the sampled rounds and update both beliefs."""
        if state.memory is not None:
            return self._update_and_forget(state, seen)
        added = weighted.add(
            state.statistics,
            state.estimates,
            seen.context,
            seen.sampled,
            seen.total,
            seen.squares,
            as_affine(self.known.link),
            self.weighting(state, seen.context),
        )
        return WeightedState(*added)

    def _update_and_forget(self, state: WeightedState, seen: Seen) -> WeightedState:
        variances, known = self.weighting(state, seen.context), self.known
        assert state.memory is not None  # as of a policy that forgets
        memory, sums = self.add_to(
            state.memory,
            seen.user,
            lambda sums: weighted.add_sums(
                sums, seen.context, seen.sampled, seen.total, seen.squares, variances
            ),
        )
        return WeightedState(
            sums.statistics, weighted.solve(sums, as_affine(known.link), known.bounds), memory
        )

    def weighting(self, state: WeightedState, context: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the variances by which a stay is weighted, for θ and for φ."""
        known = self.known
        variance = weighted.weighting_variance(
            state.estimates, context, as_affine(known.link), known.bounds, self.variance_floor
        )
        return variance, variance

    def predict(
        self, state: WeightedState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the centres of both beliefs."""
        moments = self.moments(state, contexts[action][None])
        return predicted(self.known, moments.u[0], moments.w[0], beta)

    def moments(self, state: WeightedState, contexts: jax.Array) -> weighted.Moments:
        """Return mean and variance of the outcomes of each context (actions, d), and their sds."""
        known = self.known
        return weighted.moments(
            state.estimates, contexts, as_affine(known.link), known.bounds, self.variance_floor
        )
