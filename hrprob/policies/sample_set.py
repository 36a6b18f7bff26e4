"""The base of policies that learn: which rounds they learn from, and what they assume."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, Self, cast

import jax
import jax.numpy as jnp

from hrprob._core.errors import InvalidInput, check_choice, check_number
from hrprob._core.records import record, set_frozen, with_fields
from hrprob._core.registry import Registry
from hrprob._core.types import AsWritten, State
from hrprob.numerics.products import quadratic_form
from hrprob.policies.assumptions import ASSUMED, Assumptions, check_finite_values, check_levels
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.problem.links.base import is_affine
from hrprob.problem.parts import PARTS

__all__ = ["Learner"]


if TYPE_CHECKING:
    from hrprob.models import Model


class SampleState(Protocol):
    """What the state of an estimator has whose confidence sets are ellipsoids."""

    @property
    def sample_size(self) -> jax.Array:
        """|S|, the number of rounds in the sample set."""
        ...

    @property
    def inverse(self) -> jax.Array:
        """V⁻¹."""
        ...


@record(static=("samples",))
class Learner(Policy[State]):
    r"""A policy with a sample set S that may grow by ``growth`` rounds per user.

    Parameters
    ----------
    growth : float, optional
        K: a round enters S while S has fewer than Γ(t) = K·t rounds; by default every round enters.
    samples : {"first", "informative"}, default "first"
        Which rounds enter S within that budget: the first that occur, or the most informative.
    noise, objective, satisfaction : str, table or part of a problem, optional
        The noise distribution ψ, the objective and the distribution of satisfaction levels that the
        policy assumes; by default those of the problem. Where levels are seen, only their range can
        be assumed to be different, and only if c3 or c4 is "computed" from it.

    Notes
    -----
    An informative round is one of large leverage, :math:`\lVert x\rVert_{V^{-1}}^2`, compared with a
    threshold that depends on the remaining budget [1]_. The leverages of :math:`|S|` rounds
    have mean :math:`d/|S|`, and a round enters S if its leverage is at least

    .. math:: \frac{d}{|S| + d} \cdot \frac{\min(10K, \Gamma(t)/10)}{\Gamma(t) - |S|}.

    The threshold falls while the budget is not used and grows without limit as it runs out:
    :math:`|S|` stays about 10K rounds below Γ(t), or contains every round where Γ(t) exceeds their number.

    Examples
    --------
    A subclass has the parameters of every learner:

    >>> import hrprob
    >>> policy = hrprob.Greedy(growth=2, samples="informative")
    >>> isinstance(policy, Learner), policy.growth
    (True, 2.0)

    References
    ----------
    .. [1] C. Riquelme, M. Ghavamzadeh, A. Lazaric, "Active learning for accurate estimation of
       linear models", ICML 2017; C. Riquelme, R. Johari, B. Zhang, "Online active linear regression
       via thresholding", AAAI 2017.
    """

    # Whether the state has V⁻¹ and |S| as ``inverse`` and ``sample_size``, from which leverages are computed.
    has_leverage: ClassVar[bool] = False
    # Whether estimates or confidence sets need a link that is affine.
    needs_affine_link: ClassVar[bool] = False
    PARTS: ClassVar[dict[str, Registry[object]]] = {part: PARTS[part] for part in ASSUMED}

    growth: float | None = dataclasses.field(default=None, kw_only=True)
    samples: str = dataclasses.field(default="first", kw_only=True)
    noise: Annotated[AsWritten, "str | Mapping[str, object] | Noise | None"] = dataclasses.field(
        default=None, kw_only=True
    )
    objective: Annotated[AsWritten, "str | Mapping[str, object] | Objective | None"] = dataclasses.field(
        default=None, kw_only=True
    )
    satisfaction: Annotated[AsWritten, "str | Mapping[str, object] | Satisfaction | None"] = (
        dataclasses.field(default=None, kw_only=True)
    )

    def __post_init__(self) -> None:
        if self.growth is not None:
            remedy = "each user plays at least one round, so K is 1 or more"
            set_frozen(self, growth=check_number("growth", self.growth, low=1, remedy=remedy))
        self._check_samples()
        for part in ASSUMED:
            if getattr(self, part) is not None:
                set_frozen(self, **{part: PARTS[part].make(getattr(self, part))})
        if self.noise is not None and self._outcome_model is not None:
            remedy = "`model` is its assumption about the distribution of outcomes"
            raise InvalidInput("noise", "must not be given to a policy with a model", self.noise, remedy)
        super().__post_init__()

    def _check_samples(self) -> None:
        check_choice("samples", self.samples, ("first", "informative"))
        if self.samples == "informative" and not self.has_leverage:
            remedy = "it has no V⁻¹ from which leverages are computed; use hr-ucb or another policy on the GLSE or ridge regression"
            raise InvalidInput("samples", 'must be "first" for this policy', self.samples, remedy)
        if self.samples == "informative" and self.growth is None:
            remedy = "without a budget every round enters the sample set, informative or not"
            raise InvalidInput("growth", 'must be given with samples = "informative"', None, remedy)

    @property
    def _outcome_model(self) -> Model | None:
        """The model that gives the distribution of outcomes; None for a policy without one."""
        return getattr(self, "model", None)

    @property
    def uses_level_range(self) -> bool:
        """Whether the policy depends on the range of the levels, not only on the level of the user served."""
        return False

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy for this problem."""
        if self.needs_affine_link and not is_affine(problem.link):
            must = f"must do without the GLSE, because the link {problem.link.kind!r} of the problem is not affine"
            remedy = 'take the link "affine", or a policy that needs none, such as thompson'
            raise InvalidInput("kind", must, getattr(self, "kind", type(self).__name__), remedy)
        bound = super().bind(problem, users)
        assumed = self.assumptions(problem)
        levels, noise = assumed["satisfaction"], assumed["noise"]
        check_levels(problem, levels, given=self.satisfaction, range_matters=self.uses_level_range)
        fields = [part for part in ("model", "noise") if getattr(self, part, None) is not None]
        given = self.satisfaction is not None
        check_finite_values(problem, levels, noise, fields=fields, levels_given=given)
        # From here on the assumptions are in `known`.
        unused = dict.fromkeys(ASSUMED)
        growth = math.inf if self.growth is None else self.growth
        return with_fields(bound, known=with_fields(bound.known, **assumed), growth=growth, **unused)

    def assumptions(self, problem: Problem) -> Assumptions:
        """Return the parts as given; by default the noise of the policy's model, and the problem's own parts."""
        default = super().assumptions(problem)
        if self._outcome_model is not None:
            default["noise"] = self._outcome_model.noise
        return Assumptions(
            noise=default["noise"] if self.noise is None else self.noise,
            objective=default["objective"] if self.objective is None else self.objective,
            satisfaction=default["satisfaction"] if self.satisfaction is None else self.satisfaction,
        )

    def quota(self, state: State, sample_size: jax.Array, user: jax.Array, context: jax.Array) -> jax.Array:
        """Return :math:`Γ(t) − |S|`, or 0 where the context has too little leverage."""
        growth = self.growth
        assert growth is not None  # set by `bind`
        budget = growth * user
        if self.samples == "first":
            return budget - sample_size
        d = context.shape[-1]
        # |S| at the last update of the estimates, so that the decision is the same for a whole stay.
        sample = cast(SampleState, state)  # `has_leverage`
        slack = jnp.maximum(budget - sample.sample_size, 0.0)
        leverage = quadratic_form(sample.inverse, context) * (sample.sample_size + d) / d
        informative = leverage * slack >= jnp.minimum(10.0 * growth, 0.1 * budget)
        return jnp.where(informative, budget - sample_size, 0.0)
