r"""Ensemble sampling: as many perturbed regressions as members, one of them drawn per user [1]_.

Member j of the ensemble regresses on outcomes to which its own noise was added. A stay of m rounds that the weighted estimator
(:mod:`hrprob.estimation.weighted`) counts with variance w̃ adds to the member's perturbations

.. math::
    p^j_\theta \mathrel{+}= \sqrt{m/\tilde w}\;\zeta x, \qquad
    p^j_\phi \mathrel{+}= \sqrt{m/2}\,(M_f/\tilde w)\;\zeta' x, \qquad \zeta, \zeta' \sim N(0, 1),

and the prior adds :math:`\kappa^{1/2} N(0, I)` once, with κ its precision. The member is

.. math:: \theta^j = \hat\theta \pm s\, \Sigma_\theta\, p^j_\theta, \qquad \phi^j = \hat\phi \pm s\, \Sigma_\phi\, p^j_\phi .

For contexts that do not depend on the perturbations, :math:`p^j_\theta` has covariance :math:`\Sigma_\theta^{-1}`, and the member is a
draw from the normal belief, times ``scale`` s. A stay costs a few operations per member, whatever came before: nothing is
factorised or sampled again. One sign for θ and φ is drawn with the member, as in [1]_, where ensembles of order d ln T
members suffice for linear bandits; nothing is proved for the lifetime.

References
----------
.. [1] D. Janz, A. E. Litvak, C. Szepesvári, "Ensemble sampling for linear bandits: small ensembles suffice",
   NeurIPS 2024, arXiv:2311.08376.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_count, check_number
from hrprob._core.random_numbers import key_of_data
from hrprob._core.records import set_frozen, with_fields
from hrprob.estimation.posterior.conjugate import prior_precision
from hrprob.numerics.choice import first_largest
from hrprob.numerics.products import contract
from hrprob.policies.base import Seen, register
from hrprob.policies.learners import WeightedLearner, WeightedState
from hrprob.policies.offers import Prediction
from hrprob.problem import Problem
from hrprob.problem.links.base import as_affine

__all__ = ["EnsembleSampling", "EnsembleState"]

# The first key of every trial; outcomes, which differ between trials, make the next ones differ.
_FIRST_KEY = (0x1BD11BDA, 0x5CA1AB1E)


class EnsembleState(NamedTuple):
    """The state of the weighted estimator, and the perturbations of the members."""

    learned: WeightedState
    theta: jax.Array  # (members, d)
    phi: jax.Array  # (members, d)
    key: jax.Array  # (2,) uint32, of the next stay

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        return self.learned.sample_size


@register("ensemble-sampling", static=("members",))
class EnsembleSampling(WeightedLearner):
    """Select the best action under one of several perturbed regressions, drawn per user.

    Parameters
    ----------
    members : int, optional
        Regressions in the ensemble; by default ⌈d ln T⌉, for T users, and at least two.
    scale : float, default 1
        Factor on the perturbations: below 1 explores less.

    Examples
    --------
    >>> EnsembleSampling(members=20, scale=0.5).members
    20
    """

    members: int | None = None
    scale: float = 1.0

    def check(self) -> None:
        """Check members and scale."""
        if self.members is not None:
            remedy = "one member explores nothing"
            set_frozen(self, members=check_count("members", self.members, low=2, high=10**5, remedy=remedy))
        remedy = "it multiplies perturbations"
        set_frozen(self, scale=check_number("scale", self.scale, low=0, remedy=remedy))
        self.refuse_forgetting("perturbations of forgotten users would stay")

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with its number of members for this many users."""
        bound = super().bind(problem, users)
        if self.members is not None:
            return bound
        return with_fields(bound, members=max(2, math.ceil(problem.dimension * math.log(max(users, 2)))))

    @property
    def _size(self) -> int:
        assert self.members is not None  # set by `bind`
        return self.members

    def init(self) -> EnsembleState:
        """Return the state before the first user: all members are the prior's mean."""
        none = jnp.zeros((self._size, self.known.dimension))
        return EnsembleState(super().init(), none, none, jnp.asarray(_FIRST_KEY, jnp.uint32))

    def update(self, state: EnsembleState, seen: Seen) -> EnsembleState:
        """Update the regression, and perturb every member."""
        learned, d = state.learned, self.known.dimension
        key = key_of_data(state.key, jnp.stack([jnp.asarray(seen.total), jnp.asarray(seen.squares)]))
        of_stay, of_prior, after = jax.random.split(key, 3)
        noise = jax.random.normal(of_stay, (2, self._size))
        # The prior's share comes with the first outcomes, because only they differ between trials.
        first = (learned.sample_size == 0) & (seen.sampled > 0)
        prior = jnp.where(first, jax.random.normal(of_prior, (2, self._size, d)), 0.0)
        bounds, slope = self.known.bounds, as_affine(self.known.link).slope
        for_theta, for_phi = self.weighting(learned, seen.context)
        sd_theta = jnp.sqrt(seen.sampled / for_theta)
        sd_phi = jnp.sqrt(0.5 * seen.sampled) * slope / for_phi
        return EnsembleState(
            super().update(learned, seen),
            state.theta
            + jnp.sqrt(prior_precision(d, bounds.theta)) * prior[0]
            + (sd_theta * noise[0])[:, None] * seen.context,
            state.phi
            + jnp.sqrt(prior_precision(d, bounds.phi)) * prior[1]
            + (sd_phi * noise[1])[:, None] * seen.context,
            jax.random.key_data(after),
        )

    def select(self, state: EnsembleState, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action of largest value under one member."""
        by_member, by_sign = jax.random.split(key)
        member = jax.random.randint(by_member, (), 0, self._size)
        step = self.scale * jnp.where(jax.random.bernoulli(by_sign), 1.0, -1.0)
        theta, phi = (
            belief.mean + step * contract(belief.covariance, perturbed[member])
            for belief, perturbed in zip(state.learned.estimates, (state.theta, state.phi), strict=True)
        )
        known, length = self.known, jnp.sqrt(contract(contexts, contexts))
        most_u, most_v = known.bounds.theta * length, known.bounds.phi * length
        u = jnp.clip(contract(contexts, theta), -most_u, most_u)
        w = known.link(jnp.clip(contract(contexts, phi), -most_v, most_v))
        return first_largest(known.value(u, jnp.maximum(w, self.variance_floor), beta))

    def predict(
        self, state: EnsembleState, contexts: jax.Array, beta: jax.Array, action: jax.Array
    ) -> Prediction:
        """Return what follows from the regression without perturbations."""
        return super().predict(state.learned, contexts, beta, action)
