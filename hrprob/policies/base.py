"""What every policy speaks: ``init``, ``select``, ``update``, pure functions over arrays.

================  ==========================================================
``init``          the state before the first user
``select``        the action for a user, or for a round
``update``        the state after what was seen of it
``depart``        the state once the user has left (nothing, for most)
``quota``         how many more rounds the sample set may take
``pauses``        where a compiled run stops for ``fit_outside`` (nowhere)
================  ==========================================================

A policy is a record of its parameters. Numbers are arguments of the compiled
program, so variants of a policy share one compilation; ``static`` fields (names,
switches) are part of the program. It is written for one trial and one user at a
time; the engine batches it.

A policy in full is in the README; twenty lines make one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.records import describe, record, set_frozen, with_fields
from hrprob._core.registry import Registry
from hrprob.numerics.products import quadratic_form
from hrprob.problem import Known, Problem
from hrprob.problem.parts import PARTS

__all__ = [
    "BELIEFS",
    "LONGEST",
    "POLICIES",
    "Learner",
    "Policy",
    "Seen",
    "clip_values",
    "make_policy",
    "register",
]

BELIEFS = ("noise", "objective", "satisfaction")
"""The parts of a problem that a policy may take to be others than they are."""

LONGEST = 1e6
"""What averages of values count at most: h itself has no mean where the variance may be near 0."""


def clip_values(values: jax.Array) -> jax.Array:
    """Return values held to ± :data:`LONGEST`, that one where nobody would ever leave outweighs not all others."""
    return jnp.clip(values, -LONGEST, LONGEST)


class Seen(NamedTuple):
    """What a policy sees of one user, or of one round, after serving one action.

    Under the lazy update it is the user's whole stay; where actions change from round
    to round (eager updates, warm-up users) it is a single round. ``total`` and
    ``squares`` are over the ``sampled`` rounds, the first ones: those that the policy's
    ``growth`` lets into its sample set.
    """

    user: jax.Array  # () number of users arrived so far, this one and the warm-up included
    contexts: jax.Array  # (actions, d)
    action: jax.Array  # () int
    context: jax.Array  # (d,) that of the action
    beta: jax.Array  # () NaN where levels are not seen
    played: jax.Array  # () rounds played
    left: jax.Array  # () bool: the last of them made the user leave
    sampled: jax.Array  # () rounds that enter the sample set
    total: jax.Array  # () Σ r over the sampled rounds
    squares: jax.Array  # () Σ r² over the sampled rounds
    outcomes: jax.Array  # (k,) r of the first k rounds, of which the first ``sampled`` count


@record(static=("eager",))
class Policy:
    """A rule that picks an action for each user, and its parameters.

    Subclasses are made with :func:`~hrprob.policies.base.register` and give
    ``init``, ``select`` and ``update``.

    Parameters
    ----------
    warmup : int
        Users served before the first, a new uniformly random action every round. The
        policy learns from them; the regret and the user numbers leave them out.
    eager : bool
        Learn after every round and choose anew (Remark 3), not only when a user leaves.
    """

    kind: ClassVar[str]
    # Whether `bind` looks at the truth of the problem: such a policy is a yardstick, not a method.
    knows_truth: ClassVar[bool] = False

    eager: Any = dataclasses.field(default=False, kw_only=True)
    warmup: Any = dataclasses.field(default=0, kw_only=True)
    # Absent until `bind`, which the engine calls before anything that needs it.
    known: Known = dataclasses.field(default=None, init=False, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        remedy = "it is the number of users served at random before the first"
        set_frozen(self, warmup=check_count("warmup", self.warmup, low=0, remedy=remedy))
        if not isinstance(self.eager, bool):
            raise InvalidInput("eager", "must be true or false", self.eager, "true updates after every round")
        self.check()

    def check(self) -> None:
        """Check the parameters; a subclass raises :class:`~hrprob._core.errors.InvalidInput`."""

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy for this problem: it has ``known``, and its open defaults are filled in."""
        return with_fields(self, known=problem.known(users))

    def beliefs(self, problem: Problem) -> dict[str, Any]:
        """Return what the policy takes noise, objective and satisfaction to be when it plays ``problem``."""
        return {part: getattr(problem, part) for part in BELIEFS}

    def init(self) -> Any:
        """Return the state before the first user."""
        raise NotImplementedError

    def select(self, state: Any, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action for a user with these contexts (actions, d) and this level.

        ``beta`` is NaN where levels are not seen; ``self.known.value`` does without it then.
        """
        raise NotImplementedError

    def update(self, state: Any, seen: Seen) -> Any:
        """Return the state after what was seen."""
        raise NotImplementedError

    def depart(self, state: Any, user: jax.Array) -> Any:
        """Return the state once ``user`` has left: the place for what is not worth doing every round."""
        return state

    def quota(self, state: Any, sample_size: jax.Array, user: jax.Array, context: jax.Array) -> jax.Array:
        """Return how many more rounds may enter the sample set while ``user`` is served this context."""
        return math.inf + 0.0 * sample_size

    def pauses(self, users: int) -> Sequence[int]:
        """Return after which users :meth:`fit_outside` must be called, in order; 0 is after the warm-up."""
        return ()

    def fit_outside(self, state: Any, user: int, keys: jax.Array) -> Any:
        """Return the state after what cannot be compiled with the rest, at one of the ``pauses``.

        ``state`` has the trials on the last axis of every leaf; there is one key a trial.
        """
        raise NotImplementedError


P = TypeVar("P", bound=type)

POLICIES: Registry[Policy] = Registry(
    "policies",
    field="policy",
    package="hrprob.policies",
    requires=("init", "select", "update", "bind"),
    remedy="`hrprob policies` describes them",
)
"""All policies."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[P], P]:
    """Make a class a policy that can be named ``kind``; ``static`` fields are not numbers.

    Examples
    --------
    >>> "hr-ucb" in POLICIES.kinds()
    True
    """
    return POLICIES.register(kind, static=static)


def make_policy(policy: Any) -> Policy:
    """Return a policy: itself, by its kind, or from a table with its kind and parameters.

    Examples
    --------
    >>> make_policy({"kind": "linucb", "alpha": 0.5}).alpha
    0.5
    """
    return POLICIES.make(policy)


@record(static=("samples",))
class Learner(Policy):
    r"""A policy with a sample set S that may grow by ``growth`` rounds a user.

    Parameters
    ----------
    growth : float, optional
        K: S takes a round while it has fewer than Γ(t) = K·t; every round if not given.
    samples : {"first", "informative"}
        Which rounds S takes within that: the first that come, or those that inform most.
    noise, objective, satisfaction : str, table or part of a problem, optional
        ψ, what is to be maximised, and how levels are distributed, as the policy takes them to
        be; the problem's own unless given. Of levels that are seen only their range can be taken
        for another, where c3 or c4 is "computed" from it.

    Notes
    -----
    An informative round is one of large leverage, :math:`\lVert x\rVert_{V^{-1}}^2`, against a
    threshold that spends the budget [1]_. The leverages of |S| rounds have mean d/|S|, and a round
    is taken if its own is at least

    .. math:: \frac{d}{|S| + d} \cdot \frac{\min(10K, \Gamma(t)/10)}{\Gamma(t) - |S|},

    a threshold that falls as the budget is left unspent and rises without limit as it runs out:
    |S| settles some 10K rounds below Γ(t), or takes every round where Γ(t) is more than there are.

    References
    ----------
    .. [1] C. Riquelme, M. Ghavamzadeh, A. Lazaric, "Active learning for accurate estimation of
       linear models", ICML 2017; C. Riquelme, R. Johari, B. Zhang, "Online active linear regression
       via thresholding", AAAI 2017.
    """

    # Whether the state has V⁻¹ and |S| as ``inverse`` and ``sample_size``, from which leverages are computed.
    has_leverage: ClassVar[bool] = False
    PARTS: ClassVar[dict[str, Registry[Any]]] = {part: PARTS[part] for part in BELIEFS}

    growth: Any = dataclasses.field(default=None, kw_only=True)
    samples: Any = dataclasses.field(default="first", kw_only=True)
    noise: Any = dataclasses.field(default=None, kw_only=True)
    objective: Any = dataclasses.field(default=None, kw_only=True)
    satisfaction: Any = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.growth is not None:
            remedy = "each user plays at least one round, so K is 1 or more"
            set_frozen(self, growth=check_number("growth", self.growth, low=1, remedy=remedy))
        self._check_samples()
        for part in BELIEFS:
            if getattr(self, part) is not None:
                set_frozen(self, **{part: PARTS[part].make(getattr(self, part))})
        if self.noise is not None and hasattr(self, "model"):
            remedy = "`model` says how it takes outcomes to be distributed"
            raise InvalidInput("noise", "must not be given to a policy with a model", self.noise, remedy)
        super().__post_init__()

    def _check_samples(self) -> None:
        check_choice("samples", self.samples, ("first", "informative"))
        if self.samples == "informative" and not self.has_leverage:
            remedy = "it keeps no V⁻¹ to tell which rounds inform; take hr-ucb or another policy on the GLSE or on ridge"
            raise InvalidInput("samples", 'must be "first" for this policy', self.samples, remedy)
        if self.samples == "informative" and self.growth is None:
            remedy = "without a budget every round is taken, informative or not"
            raise InvalidInput("growth", 'must be given with samples = "informative"', None, remedy)

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy for this problem."""
        bound = super().bind(problem, users)
        beliefs = self.beliefs(problem)
        self._check_levels(problem, beliefs["satisfaction"])
        self._check_values(problem, beliefs["satisfaction"], beliefs["noise"])
        # What is believed is in `known` from here on.
        growth = math.inf if self.growth is None else self.growth
        settled = dict.fromkeys(BELIEFS) | {"growth": growth}
        return with_fields(bound, known=with_fields(bound.known, **beliefs), **settled)

    def _check_levels(self, problem: Problem, levels: Any) -> None:
        """Raise if levels are taken to be seen that are not, or where it makes no difference what they are."""
        if not levels.seen:
            return
        if not problem.satisfaction.seen:
            remedy = 'it sees no level; take "hidden" or "redrawn" ones'
            raise InvalidInput("satisfaction", "must not be seen", self.satisfaction, remedy)
        # Computed constants are suprema over all levels that are thought possible.
        computed = "computed" in (getattr(self, "c3", None), getattr(self, "c4", None))
        if not computed and describe(levels) != describe(problem.satisfaction):
            remedy = (
                'β is seen on arrival, and no choice would change; believe in "hidden" or "redrawn" levels'
            )
            raise InvalidInput(
                "satisfaction", "must not be seen unless it is the problem's own", describe(levels), remedy
            )

    def _check_values(self, problem: Problem, levels: Any, noise: Any) -> None:
        """Raise unless some action can have a finite value if these are the levels and the noise."""
        given = [part for part in ("model", "noise") if getattr(self, part, None) is not None]
        if getattr(levels, "needs_tail", False) and noise.tail is None:
            remedy = "lifetimes averaged over normal levels depend on it; give the noise a `tail`, or take bounded levels"
            must = "must go with a noise of known tail where normal levels are hidden"
            raise InvalidInput([*given, "satisfaction"][0], must, noise.kind, remedy)
        # Nobody leaves sooner than with the lowest mean and the largest variance that the bounds allow.
        mean, variance = -problem.bounds.theta, problem.link(problem.bounds.phi)
        try:
            levels.check_finite(noise, np.array([mean]), np.array([variance]))
        except InvalidInput as complaint:
            remedy = "no action within `bounds` would have a finite value that can be computed, and all would tie; "
            if self.satisfaction is not None or not given:
                remedy += "believe in narrower or higher levels, or in `redrawn` ones"
                raise InvalidInput(
                    f"satisfaction.{complaint.field}", complaint.must, complaint.got, remedy
                ) from None
            remedy += "believe in a noise with a heavier lower tail"
            must = "must leave some action's average over hidden levels finite"
            raise InvalidInput(given[0], must, noise.kind, remedy) from None

    def beliefs(self, problem: Problem) -> dict[str, Any]:
        """Return ψ, objective and levels as told; else ψ of the policy's model, and the problem's own."""
        own = super().beliefs(problem)
        if hasattr(self, "model"):
            own["noise"] = self.model.noise
        return {
            part: mine if getattr(self, part) is None else getattr(self, part) for part, mine in own.items()
        }

    def quota(self, state: Any, sample_size: jax.Array, user: jax.Array, context: jax.Array) -> jax.Array:
        """Return Γ(t) − |S|, or 0 where the context informs too little."""
        budget = self.growth * user
        if self.samples == "first":
            return budget - sample_size
        d = context.shape[-1]
        # |S| when the estimates last moved: what is decided for a stay holds for all of it.
        slack = jnp.maximum(budget - state.sample_size, 0.0)
        leverage = quadratic_form(state.inverse, context) * (state.sample_size + d) / d
        informs = leverage * slack >= jnp.minimum(10.0 * self.growth, 0.1 * budget)
        return jnp.where(informs, budget - sample_size, 0.0)
