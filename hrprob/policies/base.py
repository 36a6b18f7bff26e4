"""The interface of a policy, what it observes, and the registry of policies.

================  ==========================================================
``init``          the state before the first user
``select``        the action for a user, or for a round
``update``        the state after an observation
``depart``        the state once the user has left (by default unchanged)
``quota``         how many more rounds may enter the sample set
``pauses``        where a compiled run stops for ``fit_outside`` (by default nowhere)
``select_among``  the action where only some are offered
``probability``   of the action that was selected, where the policy draws it
``predict``       mean, variance, reneging probability and lifetime of actions
================  ==========================================================

All are pure functions over arrays. A policy is a record of its parameters. Numbers are arguments of
the compiled program, so variants of a policy share one compilation; ``static`` fields (names,
switches) are part of the program. A policy is written for one trial and one user at a time; the
engine batches it.

The tutorial "Writing your own" of the documentation has a complete policy in twenty lines. A policy that estimates from a sample set extends
:class:`hrprob.policies.sample_set.Learner`.
"""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from hrprob._core.descriptions import Parameter, describe_class, values_as_html
from hrprob._core.docstrings import summary_of
from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.records import describe, record, set_frozen, set_later, with_fields
from hrprob._core.registry import Registry
from hrprob._core.tables import to_toml
from hrprob._core.types import State
from hrprob.policies.assumptions import Assumptions
from hrprob.policies.offers import Offer, Prediction, depends_on, unknown_prediction
from hrprob.problem import Known, Problem

__all__ = ["LONGEST", "POLICIES", "Policy", "Seen", "clip_values", "make_policy", "register"]

SECONDS_PER_EVALUATION = 1e-7
"""About how long one core takes to evaluate Ψ of a noise that is not normal (.04 to .3 µs were measured)."""

LONGEST = 1e6
"""The bound to which values are clipped in averages: h has no mean where the variance may be near 0."""


def clip_values(values: jax.Array) -> jax.Array:
    """Clip to ± :data:`LONGEST`, so that one near-infinite lifetime cannot dominate an average."""
    return jnp.clip(values, -LONGEST, LONGEST)


class Seen(NamedTuple):
    """What a policy observes of one user, or of one round, after serving one action.

    Under the lazy update it is the user's whole stay; where actions change from round
    to round (eager updates, warm-up users) it is a single round.

    Parameters
    ----------
    user : Array
        Number of users who have arrived, this one and those of the warm-up included.
    contexts : Array
        The contexts of all actions, (actions, d).
    action : Array
        The action that was served, from 0.
    context : Array
        Its context, (d,).
    beta : Array
        The satisfaction level; NaN where levels are not seen.
    played : Array
        Rounds that were played.
    left : Array
        Whether the user left after the last of them.
    sampled : Array
        Rounds that enter the sample set: the first ones, as many as the policy's ``quota`` admits. By default these are all, or
        the first 65 536 of a stay that is longer.
    total : Array
        Σ r over the ``sampled`` rounds, not over all that were played.
    squares : Array
        Σ r² over the same rounds.
    outcomes : Array
        Single outcomes, (k,): r of the first k rounds, where k is a fixed number. The first ``sampled`` are in the sample set,
        which may have more than k; what stands behind them must not be used, because the user may have left before.

    Examples
    --------
    A stay of three rounds under the first of two actions, of which two are in the sample set:

    >>> contexts = jnp.array([[0.6, 0.0], [0.0, 0.8]])
    >>> outcomes = jnp.array([0.3, 0.1, -0.9])
    >>> seen = Seen(1, contexts, 0, contexts[0], -0.5, 3, True, 2, 0.4, 0.1, outcomes)
    >>> seen.played, seen.sampled
    (3, 2)
    """

    user: jax.Array  # () number of users arrived so far, including this one and the warm-up
    contexts: jax.Array  # (actions, d)
    action: jax.Array  # () int
    context: jax.Array  # (d,) the context of the action
    beta: jax.Array  # () satisfaction level; NaN where levels are not seen
    played: jax.Array  # () rounds played
    left: jax.Array  # () bool: whether the user left after the last of them
    sampled: jax.Array  # () rounds that enter the sample set
    total: jax.Array  # () Σ r over the sampled rounds
    squares: jax.Array  # () Σ r² over the sampled rounds
    outcomes: jax.Array  # (k,) r of the first k rounds; the first ``sampled`` of them are in the sample set


@record(static=("eager",))
class Policy(Generic[State]):
    """A rule that selects an action for each user, and its parameters.

    Subclasses are registered with :func:`~hrprob.policies.base.register` and define
    ``init``, ``select`` and ``update``.

    Parameters
    ----------
    warmup : int, default 0
        Number of users served before the first, each with a new uniformly random action every
        round. The policy learns from them; the regret and the user numbers exclude them.
    eager : bool, default False
        Update and select after every round (Remark 3), instead of only when a user leaves.

    Examples
    --------
    A policy of one's own that serves the first action to everybody:

    >>> @register("first")
    ... class First(Policy):
    ...     'Serve the first action.'
    ...     def init(self):
    ...         return ()
    ...     def select(self, state, key, contexts, beta):
    ...         return 0
    ...     def update(self, state, seen):
    ...         return state
    >>> First(warmup=2).warmup
    2
    >>> _ = POLICIES._classes.pop("first")
    """

    kind: ClassVar[str]
    # Whether `bind` uses the true θ* and φ* of the problem: such a policy is a benchmark, not a method.
    knows_truth: ClassVar[bool] = False
    # Whether it learns nothing because it knows the truth: comparisons give its regret and do not test it.
    is_oracle: ClassVar[bool] = False
    # Whether its programs are faster where the arrays of one trial lie together: those of many draws or rows.
    trials_apart: ClassVar[bool] = False
    # Whether its program is among those that take longest to compile: these are compiled first.
    long_program: ClassVar[bool] = False
    # The design of data sets that it can stand for in diagnostics; none by default.
    design: ClassVar[str] = ""

    eager: bool = dataclasses.field(default=False, kw_only=True)
    warmup: int = dataclasses.field(default=0, kw_only=True)
    # None until `bind`, which the engine calls before anything that needs it.
    known: Known = set_later()

    def __post_init__(self) -> None:
        remedy = "it is the number of users served at random before the first"
        set_frozen(self, warmup=check_count("warmup", self.warmup, low=0, remedy=remedy))
        if not isinstance(self.eager, bool):
            raise InvalidInput("eager", "must be true or false", self.eager, "true updates after every round")
        self.check()

    def __str__(self) -> str:
        # Parameters that must be given have no default to compare with.
        required = any(one.required for one, _ in self._described())
        usual = {} if required else describe(type(self)())
        changed = [
            f"{one.name} = {to_toml(value)}"
            for one, value in self._described()
            if one.name not in usual or value != usual[one.name]
        ]
        return self.kind + (f" ({', '.join(changed)})" if changed else "")

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.kind)}</b>: {html.escape(summary_of(type(self)))}"
        return values_as_html(title, self._described())

    def _described(self) -> list[tuple[Parameter, object]]:
        """Return every parameter with its value as plain data."""
        values = describe(self)
        parameters = describe_class("policies", self.kind, type(self)).parameters
        return [(one, values.get(one.name)) for one in parameters]

    def check(self) -> None:
        """Check the parameters; a subclass raises :class:`~hrprob._core.errors.InvalidInput`."""

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy for this problem: with ``known`` set, and defaults that depend on it computed."""
        if self.knows_truth:
            problem.check_still("a policy that is told the truth is told that of the first user")
        return with_fields(self, known=problem.known(users))

    def assumptions(self, problem: Problem) -> Assumptions:
        """Return the noise, objective and satisfaction levels that the policy assumes for ``problem``."""
        return Assumptions(
            noise=problem.noise, objective=problem.objective, satisfaction=problem.satisfaction
        )

    def init(self) -> State:
        """Return the state before the first user."""
        raise NotImplementedError

    def select(self, state: State, key: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the action for a user with these contexts (actions, d) and this satisfaction level.

        ``beta`` is NaN where levels are not seen; ``self.known.value`` does not use it then.
        """
        raise NotImplementedError

    def update(self, state: State, seen: Seen) -> State:
        """Return the state after an observation."""
        raise NotImplementedError

    def select_among(self, state: State, key: jax.Array, offer: Offer) -> jax.Array:
        """Return the action for a user to whom only some actions are offered.

        By default a copy that is selected stands for the action that it is a copy of. A policy that tells actions
        apart by their numbers, or draws them uniformly, must leave absent ones out itself.
        """
        return offer.served_as[self.select(state, key, offer.contexts, offer.beta)]

    def probability(
        self, state: State, key: jax.Array, offer: Offer, action: jax.Array, draws: int
    ) -> jax.Array:
        """Return the probability with which the policy selects ``action`` for this user, in this state.

        By default it is estimated: of ``draws`` further selections, each with its own key, k agree, and it is
        (k + 1)/(draws + 1), whose inverse has mean 1/p up to a factor 1 − (1 − p)^(draws + 1). For a policy
        that does not use its key it is exactly 1, and nothing is computed again.
        """

        def again(key: jax.Array) -> jax.Array:
            return self.select_among(state, key, offer)

        if not depends_on(again, key):
            return jnp.ones(())
        same = jax.vmap(again)(jax.random.split(key, draws)) == action
        return (jnp.sum(jnp.where(same, 1.0, 0.0)) + 1.0) / (draws + 1.0)

    def predict(self, state: State, contexts: jax.Array, beta: jax.Array, action: jax.Array) -> Prediction:
        """Return what the policy expects of one of the actions, of contexts (actions, d); by default it estimates nothing."""
        return unknown_prediction()

    def values_per_user(self) -> int:
        """Return how many values of actions one choice computes."""
        return self.known.actions

    def extra_seconds(self, users: int) -> dict[str, float]:
        """Return about how many seconds of one core a trial takes for what is not usual, by the reason in words.

        The policy is bound to its problem. What is usual: one evaluation of Ψ per value of an action.
        """
        known = self.known
        evaluations = known.satisfaction.evaluations(known.noise)
        reason = f"the value of an action is an average over levels of {evaluations} evaluations"
        # The oracle's values are computed too, for the regret.
        values = self.values_per_user() + known.actions
        return {reason: (evaluations - 1) * values * users * SECONDS_PER_EVALUATION}

    def depart(self, state: State, user: jax.Array) -> State:
        """Return the state once ``user`` has left; for computations too costly for every round."""
        return state

    def quota(self, state: State, sample_size: jax.Array, user: jax.Array, context: jax.Array) -> jax.Array:
        """Return how many more rounds may enter the sample set while ``user`` is served this context."""
        return math.inf + 0.0 * sample_size

    def pauses(self, users: int) -> Sequence[int]:
        """Return after which users :meth:`fit_outside` must be called, in order; 0 is after the warm-up."""
        return ()

    def fit_outside(self, state: State, user: int, keys: jax.Array) -> State:
        """Return the state after a computation outside the compiled run, at one of the ``pauses``.

        ``state`` has the trials on the last axis of every leaf; ``keys`` has one key per trial.
        """
        raise NotImplementedError


P = TypeVar("P", bound=type)

POLICIES: Registry[Policy] = Registry(
    "policies",
    field="policy",
    package="hrprob.policies",
    requires=("init", "select", "update", "bind"),
    remedy="`hrprob policies` describes them",
    modules={
        "bayes-greedy": "bayes_index",
        "bayes-ucb": "bayes_index",
        "hr-ucb-exact": "exact_optimism",
        "hr-ucb-weighted": "weighted",
        "sigma-max-ucb": "sigma_max",
        "thompson-homoscedastic": "thompson_conjugate",
        "thompson-known-variance": "thompson_conjugate",
    },
)
"""All policies."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[P], P]:
    """Register a class as the policy ``kind``; ``static`` fields are options, not numbers.

    Examples
    --------
    >>> "hr-ucb" in POLICIES.kinds()
    True
    """
    return POLICIES.register(kind, static=static)


def make_policy(policy: object) -> Policy:
    """Return a policy from an instance, a kind, or a table with a kind and parameters.

    Examples
    --------
    >>> make_policy({"kind": "linucb", "alpha": 0.5}).alpha
    0.5
    """
    return POLICIES.make(policy)
