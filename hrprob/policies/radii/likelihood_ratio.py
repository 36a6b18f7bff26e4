r"""A joint set for (θ, φ) from the likelihood of normal outcomes: valid for all n simultaneously, under any design.

The set is that of :mod:`hrprob.estimation.likelihood_ratio`, with the weighted estimator as predictive: with probability
1 − δ the truth is in it after every user, whatever the policy picks. No constant is tuned, and no union over two sets is
taken. It is fitted to the stored stays whenever the number of users has grown by 15 %, in the closed form of
:mod:`hrprob.estimation.likelihood_ratio.region`; between two fits the last one serves, and stays valid. That form is
an approximation whose slack is stated there, and so is what the policy uses.

=================  ==============================================================================================
policy             what it does with the set
=================  ==============================================================================================
``hr-ucb-exact``   maximises the value over the boundary of what the set allows for (u, w) at a context; no C₃, C₄
``hr-ucb``         adds C₃ times the largest \|u − û\| and C₄ times the largest \|φᵀx − φ̂ᵀx\| in the set
=================  ==============================================================================================

Rounds for which the stored table has no room (an eager policy has eight rows per user) are left out of the likelihood and of
the predictive alike. Which they are depends on earlier choices alone, so the set stays valid.

Outcomes must be assumed normal: with another noise Σr and Σr² of a stay do not suffice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.records import record
from hrprob.estimation import weighted
from hrprob.estimation.likelihood_ratio import region
from hrprob.estimation.likelihood_ratio.plug_in import PlugInState, WeightedPredictive
from hrprob.estimation.weighted import Belief, Estimates
from hrprob.noise.normal import log_density_of_rounds
from hrprob.numerics.control_flow import once
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Stays
from hrprob.policies import ledger
from hrprob.policies.base import Seen
from hrprob.policies.learners import GLSEState
from hrprob.policies.ledger import EAGER_SLOTS, Ledger
from hrprob.policies.radii.base import Radii, Radius, Width, register
from hrprob.policies.radii.parameters import OptimistParameters
from hrprob.policies.radii.theory_constants import lipschitz_weights
from hrprob.policies.schedule import refit_times
from hrprob.problem import Known
from hrprob.problem.links.base import as_affine

__all__ = ["LikelihoodRatio", "LikelihoodRatioState", "LikelihoodRatioWidth"]

if TYPE_CHECKING:
    from hrprob.policies.optimism import OptimistState

_GROWTH = 1.15


class LikelihoodRatioState(NamedTuple):
    """The stays so far, the predictive, Σ ln q, and the set that was last fitted."""

    ledger: Ledger[Stays]
    predictive: PlugInState[weighted.Statistics, weighted.Estimates]
    log_q: jax.Array  # ()
    region: region.Region


@record(static=("capacity", "warm_rows", "slots"))
class LikelihoodRatioWidth(Width[LikelihoodRatioState, GLSEState]):
    """The likelihood-ratio set of a policy on one problem."""

    known: Known
    predictive: WeightedPredictive
    delta: float
    scale: float
    c3: float
    c4: float
    warmup: int
    due: np.ndarray  # (users + 1,) bool
    capacity: int
    warm_rows: int
    slots: int

    def init(self, known: Known) -> LikelihoodRatioState:
        """Return no stays, and the balls of the bounds."""
        d = known.dimension
        tables = ledger.empty(Stays, rows=self.capacity, warm=self.warm_rows, slots=self.slots, dimension=d)
        whole = region.empty(d, known.bounds)
        return LikelihoodRatioState(tables, self.predictive.init(None, known), jnp.zeros(()), whole)

    def update(self, state: LikelihoodRatioState, learned: GLSEState, seen: Seen) -> LikelihoodRatioState:
        """Add ln q of the sampled rounds, then let the predictive learn from them."""
        number = jnp.asarray(seen.user, jnp.int32) - 1
        warming = (number < jnp.asarray(self.warmup, jnp.int32)) & (self.warm_rows > 0)
        warm_row = jnp.where(warming, number * self.known.actions + seen.action, -1)
        room = warming | (ledger.room(state.ledger, seen.context) > 0.0)
        rounds, total, squares = (
            jnp.where(room, part, 0.0) for part in (seen.sampled, seen.total, seen.squares)
        )
        x, predictive = seen.context, self.predictive
        u, w = predictive.moments(state.predictive.estimates, x, self.known)
        return state._replace(
            ledger=ledger.note(state.ledger, seen, warm_row),
            predictive=predictive.learn(state.predictive, x, rounds, total, squares, self.known),
            log_q=state.log_q + log_density_of_rounds(u, w, rounds, total, squares),
        )

    def depart(
        self, state: LikelihoodRatioState, learned: GLSEState, user: jax.Array
    ) -> LikelihoodRatioState:
        """Move the stay to the table of all users, and fit the set at the scheduled ones."""
        number = jnp.asarray(user, jnp.int32)
        place = number - 1 - jnp.asarray(self.warmup, jnp.int32)
        closed = ledger.close(state.ledger, place)
        tables = [(closed.rows, jnp.maximum(place + 1, 0) * self.slots)]
        if self.warm_rows:
            tables.append((closed.warm, jnp.asarray(self.warm_rows)))
        link, bounds = as_affine(self.known.link), self.known.bounds

        def fit(last: region.Region) -> region.Region:
            return region.fit(tables, state.log_q, self.delta, last, link, bounds, self.scale)

        return state._replace(ledger=closed, region=once(jnp.asarray(self.due)[number], fit, state.region))

    def largest_values(
        self,
        policy: OptimistParameters,
        state: OptimistState[GLSEState],
        contexts: jax.Array,
        beta: jax.Array,
    ) -> jax.Array:
        """Return the largest value of each context (actions, d) over the boundary of the set."""
        known = self.known
        u, w = region.boundary(
            state.width.region, contexts, as_affine(known.link), known.bounds, policy.variance_floor
        )
        return known.largest_value(u, w, beta)

    def bonus(
        self, policy: OptimistParameters, state: OptimistState[GLSEState], contexts: jax.Array
    ) -> jax.Array:
        """Return C₃ times the largest error of the mean, and C₄ times that of φᵀx, in the set."""
        link = as_affine(self.known.link)
        u, w = policy.plug_in(state.learned, contexts)
        ends = region.ends(state.width.region, contexts, link, self.known.bounds, policy.variance_floor)
        of_mean = jnp.maximum(jnp.abs(ends.u_low - u), jnp.abs(ends.u_high - u))
        of_variance = jnp.maximum(jnp.abs(ends.w_low - w), jnp.abs(ends.w_high - w))
        return self.c3 * of_mean + self.c4 * of_variance / link.slope

    def radii(self, state: LikelihoodRatioState, learned: GLSEState) -> Radii:
        """Return the radius of the joint set, in the norms of its own information matrices."""
        radius = region.SLACK * jnp.sqrt(state.region.squared_radius)
        return Radii(radius, radius)

    def confidence_sets(self, state: OptimistState[GLSEState]) -> tuple[Estimates, Radii]:
        """Return the ellipsoids that the closed form of the set has for θ and for φ, and their radius."""
        fitted = state.width.region
        shapes = Estimates(
            Belief(fitted.theta, fitted.theta_covariance), Belief(fitted.phi, fitted.phi_covariance)
        )
        return shapes, self.radii(state.width, state.learned)


@register("likelihood-ratio")
class LikelihoodRatio(Radius[OptimistParameters]):
    """The likelihood-ratio set of normal outcomes."""

    needs_phi: ClassVar[bool] = True
    takes_scale: ClassVar[bool] = True
    needs_all_rounds: ClassVar[bool] = True

    def width(self, policy: OptimistParameters, known: Known) -> LikelihoodRatioWidth:
        """Return the width with room for these users."""
        if not getattr(known.noise, "sums_suffice", False):
            must = 'must be assumed normal with radius = "likelihood-ratio"'
            remedy = 'sums over a stay do not suffice for other noises; set noise = "normal" to assume it'
            raise InvalidInput("noise", must, known.noise.kind, remedy)
        slots, users = EAGER_SLOTS if policy.eager else 1, int(known.users)
        return LikelihoodRatioWidth(
            known=known,
            predictive=WeightedPredictive(),
            delta=policy.delta,
            scale=policy.scale,
            warmup=policy.warmup,
            due=refit_times(policy.warmup + users, _GROWTH, policy.warmup),
            capacity=capacity_for(users * slots),
            warm_rows=capacity_for(policy.warmup * known.actions),
            slots=slots,
            **lipschitz_weights(policy, known),
        )
