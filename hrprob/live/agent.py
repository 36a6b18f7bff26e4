"""Any policy, live: real users arrive, outcomes come in one by one.

What the engine does for simulated users, an :class:`Agent` does for real ones, with the
same policies and the same conventions: the sample set grows by Γ(t), estimates move when
a user leaves (lazy) or after every round (eager).
"""

from __future__ import annotations

import contextlib
import dataclasses
import numbers
import threading
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import LARGEST_SEED
from hrprob.live.decisions import Choice, Decisions
from hrprob.policies.base import Policy
from hrprob.problem import Affine, Bounds, Problem, Sphere
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS
from hrprob.simulation.engine import check_policy

__all__ = ["Agent"]

# Sums of squares of such outcomes, and their products with contexts, are finite.
_LARGEST_OUTCOME = 1e100


class Agent:
    """A policy at work.

    Its programs are compiled when it is made, which takes seconds (with a posterior tens of seconds); after that a
    decision with its update takes a fraction of a millisecond for policies without a posterior.
    A call that raises changes nothing. Several threads may share an agent: each call is made as a whole.

    Parameters
    ----------
    policy : Policy
        What chooses.
    dimension, actions : int
        Length of a context, and how many of them a user has.
    link : Affine
        f, from φᵀx to the variance.
    bounds : Bounds
        Norm bounds of θ* and φ* that the policy may rely on.
    noise, objective, satisfaction
        What the policy assumes about outcomes, objective and levels, as a
        :class:`~hrprob.Problem` has them; by default normal outcomes, the lifetime, levels
        uniform on [-1, 1] and given on arrival. Hidden levels are never given.
    contexts
        How contexts are drawn, for policies that prepare for it (``cmdp`` with its k-means
        cells); by default uniformly on the unit sphere.
    users : int
        About how many users will come. Some radii depend on it, and a policy with a
        posterior has room for this many.
    seed : int
        The seed of policies that draw.

    Examples
    --------
    >>> import hrprob
    >>> agent = Agent(hrprob.HRUCB(), dimension=2, actions=2)
    >>> action = agent.arrive([[0.6, 0.0], [0.0, 0.6]], beta=-0.5)
    >>> agent.observe(0.3)  # the user stays, and is served the same action
    0
    >>> agent.observe(-0.7) is None  # below β: the user has left
    True
    >>> agent.users, agent.samples
    (1, 2)
    """

    @nearest_keywords
    def __init__(
        self,
        policy: Policy,
        *,
        dimension: int,
        actions: int,
        link: Affine | None = None,
        bounds: Bounds | None = None,
        noise: Any = None,
        objective: Any = None,
        satisfaction: Any = None,
        contexts: Any = None,
        users: int = 30000,
        seed: int = 0,
    ) -> None:
        check_policy(policy)
        if policy.knows_truth:
            raise InvalidInput(
                "policy", "must be able to learn", policy.kind, "it needs the truth, which is unknown here"
            )
        if policy.warmup:
            remedy = "serve the first users at random yourself and `observe` what comes"
            raise InvalidInput("warmup", "must be 0 for live users", policy.warmup, remedy)
        check_count(
            "seed", seed, low=0, high=LARGEST_SEED, remedy="any whole number of at most 63 bits will do"
        )
        check_count("users", users, remedy="it is about how many will come")
        check_count("actions", actions, remedy="it is the number of contexts a user has")
        nothing = np.zeros(check_count("dimension", dimension, remedy="it is the length of a context"))
        given = {
            "link": link,
            "bounds": bounds,
            "noise": noise,
            "objective": objective,
            "satisfaction": satisfaction,
            "contexts": Sphere(actions=actions) if contexts is None else contexts,
        }
        setting = Problem(
            theta=nothing, phi=nothing, **{name: part for name, part in given.items() if part is not None}
        )
        if setting.contexts.actions != actions:
            remedy = "it is the number of contexts a user has"
            raise InvalidInput(
                "actions", f"must be {setting.contexts.actions}, as of contexts", actions, remedy
            )
        self.dimension, self.actions = dimension, actions
        self.users, self.samples = 0, 0
        with double_precision():
            self.policy = policy.bind(setting, users)
            self._decisions = Decisions(self.policy, seed)
        self._pauses = set(self.policy.pauses(users))
        self._most_users = users
        self._stay: _Stay | None = None
        self._lock = threading.RLock()
        self._level_given = setting.satisfaction.seen

    @property
    def state(self) -> Any:
        """The policy's state."""
        return self._decisions.state

    def arrive(self, contexts: Any, beta: float | None = None) -> int:
        """Admit a new user and return the action to serve first.

        Parameters
        ----------
        contexts : array_like, shape (actions, d)
            One context of norm at most 1 per action.
        beta : float, optional
            The user's satisfaction level; left out where levels are hidden.
        """
        with self._whole_call():
            return self._arrive(contexts, beta)

    def _arrive(self, contexts: Any, beta: float | None) -> int:
        if self._stay is not None:
            raise InvalidInput(
                "arrive", "must wait until the last user has left", "a user who stays", "call `leave` first"
            )
        try:
            array = np.asarray(contexts, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput("contexts", "must hold numbers only", contexts, "one row per action") from None
        if array.shape != (self.actions, self.dimension) or not np.all(np.isfinite(array)):
            shape = (self.actions, self.dimension)
            raise InvalidInput(
                "contexts", f"must be a finite array {shape}", array.shape, "one row per action"
            )
        longest = float(np.linalg.norm(array, axis=1).max())
        if longest > 1 + 1e-9:
            raise InvalidInput(
                "contexts", "must have norms of at most 1", longest, "scale all of them by one factor"
            )
        if self.users >= self._most_users and getattr(self.policy, "capacity", None) is not None:
            remedy = "a policy with a posterior keeps all of them; make the agent with more"
            raise InvalidInput("users", f"must be more than {self.users}", self._most_users, remedy)
        level = self._level(beta)
        self.users += 1
        with double_precision():
            choice = self._decisions.choose(array, level, self.users, self.samples)
        self._stay = _Stay(choice, level)
        return choice.action

    def observe(self, outcome: float, *, left: bool | None = None) -> int | None:
        """Record an outcome; return the next action, or None if the user has left.

        Parameters
        ----------
        outcome : float
            What the round gave.
        left : bool, optional
            Whether the user left after it. Needed where levels are hidden; otherwise it follows
            from the level.
        """
        with self._whole_call():
            return self._observe(outcome, left)

    def _observe(self, outcome: float, left: bool | None) -> int | None:
        if self._stay is None:
            raise InvalidInput("observe", "must follow `arrive`", "no user", "call `arrive` first")
        if (left is None) != self._level_given:
            wanted = (
                "be left out: it follows from the level"
                if self._level_given
                else "be given: the level is hidden"
            )
            raise InvalidInput("left", f"must {wanted}", left, "see `satisfaction` of the agent")
        if not isinstance(left, bool | np.bool_ | None):
            raise InvalidInput("left", "must be true or false", left, "it says whether the user left")
        limit = _LARGEST_OUTCOME
        remedy = "it is what the round gave, in units in which squares can be added up"
        r = check_number("outcome", outcome, low=-limit, high=limit, remedy=remedy)
        stay = self._stay
        if stay.sampled < stay.choice.quota:
            self.samples += 1
            stay.take(r)
        stay.played += 1
        if left if left is not None else r < stay.beta:
            self._part(left=True)
            return None
        if not self.policy.eager:
            return stay.choice.action
        self._learn(left=False, gone=False)
        with double_precision():
            choice = self._decisions.choose_again(stay.choice, self.samples)
        self._stay = _Stay(choice, stay.beta)
        return choice.action

    def leave(self) -> None:
        """Let the present user go, for a reason of their own; the policy learns from the rounds so far."""
        with self._whole_call():
            if self._stay is not None:
                self._part(left=False)

    @contextlib.contextmanager
    def _whole_call(self) -> Iterator[None]:
        """Let one thread in at a time; if the call raises, the agent is as it was before."""
        with self._lock:
            before = {name: getattr(self, name) for name in ("users", "samples", "_stay")}
            decisions = dict(vars(self._decisions))
            if self._stay is not None:
                before["_stay"] = dataclasses.replace(self._stay, outcomes=self._stay.outcomes.copy())
            try:
                yield
            except BaseException:
                vars(self).update(before)
                vars(self._decisions).update(decisions)
                raise

    def _level(self, beta: float | None) -> float:
        if not self._level_given:
            if beta is not None:
                remedy = "this agent's levels are hidden; see `satisfaction`"
                raise InvalidInput("beta", "must be left out", beta, remedy)
            return float("nan")
        if isinstance(beta, numbers.Real) and beta == np.inf:
            return float("inf")
        return check_number("beta", beta, remedy="a number, or infinity for a user who leaves at once")

    def _part(self, *, left: bool) -> None:
        """Learn from the rounds since the last update, and tell the policy that the user is gone."""
        self._learn(left=left, gone=True)
        self._stay = None
        if self.users in self._pauses:
            with double_precision():
                # Outside a batch there is one trial.
                batched = jax.tree.map(lambda leaf: leaf[..., None], self.state)
                fitted = self.policy.fit_outside(batched, self.users, self._decisions.split_key()[None])
                self._decisions.state = jax.tree.map(lambda leaf: leaf[..., 0], fitted)

    def _learn(self, *, left: bool, gone: bool) -> None:
        stay = self._stay
        assert stay is not None
        numbers = (self.users, stay.played, left, stay.sampled, stay.total, stay.squares)
        with double_precision():
            self._decisions.learn(stay.choice, numbers, stay.outcomes, gone=gone)


@dataclasses.dataclass
class _Stay:
    """The present user, and the rounds since the policy last learned."""

    choice: Choice
    beta: float
    played: int = 0
    sampled: int = 0
    total: float = 0.0
    squares: float = 0.0
    outcomes: list[float] = dataclasses.field(default_factory=list)

    def take(self, outcome: float) -> None:
        if self.sampled < BLOCK_OF_ROUNDS:
            self.outcomes.append(outcome)
        self.sampled += 1
        self.total, self.squares = self.total + outcome, self.squares + outcome**2
