"""Any policy, live: real users arrive, outcomes come in one by one.

What the engine does for simulated users, an :class:`Agent` does for real ones, with the
same policies and the same conventions: the sample set grows by Γ(t), estimates move when
a user leaves (lazy) or after every round (eager).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.precision import double_precision
from hrprob.policies.base import Policy, Seen
from hrprob.problem import Affine, Bounds, Problem, Sphere
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS

__all__ = ["Agent"]


class Agent:
    """A policy at work.

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
        if policy.knows_truth:
            raise InvalidInput(
                "policy", "must be able to learn", policy.kind, "it needs the truth, which is unknown here"
            )
        if policy.warmup:
            remedy = "serve the first users at random yourself and `observe` what comes"
            raise InvalidInput("warmup", "must be 0 for live users", policy.warmup, remedy)
        check_count("seed", seed, low=0, remedy="it is a whole number from 0 on")
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
            self.state: Any = self.policy.init()
            self._key = jax.random.key(seed)
        self._select = jax.jit(lambda policy, *args: policy.select(*args))
        self._update = jax.jit(lambda policy, *args: policy.update(*args))
        self._depart = jax.jit(lambda policy, *args: policy.depart(*args))
        self._pauses = set(self.policy.pauses(users))
        self._most_users = users
        self._stay: _Stay | None = None
        self._level_given = setting.satisfaction.seen

    def arrive(self, contexts: Any, beta: float | None = None) -> int:
        """Admit a new user and return the action to serve first.

        Parameters
        ----------
        contexts : array_like, shape (actions, d)
            One context of norm at most 1 per action.
        beta : float, optional
            The user's satisfaction level; left out where levels are hidden.
        """
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
        self._stay = _Stay(array, level)
        return self._choose()

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
        if self._stay is None:
            raise InvalidInput("observe", "must follow `arrive`", "no user", "call `arrive` first")
        if (left is None) != self._level_given:
            wanted = (
                "be left out: it follows from the level"
                if self._level_given
                else "be given: the level is hidden"
            )
            raise InvalidInput("left", f"must {wanted}", left, "see `satisfaction` of the agent")
        stay, r = self._stay, check_number("outcome", outcome, remedy="it is what the round gave")
        if stay.sampled < stay.quota:
            self.samples += 1
            stay.take(r)
        stay.played += 1
        if left if left is not None else r < stay.beta:
            self._part(left=True)
            return None
        if not self.policy.eager:
            return stay.action
        self._learn(left=False)
        return self._choose()

    def leave(self) -> None:
        """Let the present user go, for a reason of their own; the policy learns from the rounds so far."""
        if self._stay is not None:
            self._part(left=False)

    def _level(self, beta: float | None) -> float:
        if not self._level_given:
            if beta is not None:
                remedy = "this agent's levels are hidden; see `satisfaction`"
                raise InvalidInput("beta", "must be left out", beta, remedy)
            return float("nan")
        if beta == np.inf:
            return float("inf")
        return check_number("beta", beta, remedy="a number, or infinity for a user who leaves at once")

    def _part(self, *, left: bool) -> None:
        """Learn from the rounds since the last update, and tell the policy that the user is gone."""
        self._learn(left=left)
        self._stay = None
        with double_precision():
            self.state = self._depart(self.policy, self.state, jnp.asarray(float(self.users)))
            if self.users in self._pauses:
                self._key, key = jax.random.split(self._key)
                # Outside a batch there is one trial.
                batched = jax.tree.map(lambda leaf: jnp.asarray(leaf)[..., None], self.state)
                fitted = self.policy.fit_outside(batched, self.users, key[None])
                self.state = jax.tree.map(lambda leaf: leaf[..., 0], fitted)

    def _choose(self) -> int:
        stay = self._stay
        assert stay is not None
        with double_precision():
            self._key, key = jax.random.split(self._key)
            stay.action = int(
                self._select(self.policy, self.state, key, jnp.asarray(stay.contexts), stay.beta)
            )
            samples, users = jnp.asarray(float(self.samples)), jnp.asarray(float(self.users))
            context = jnp.asarray(stay.contexts[stay.action])
            stay.quota = float(self.policy.quota(self.state, samples, users, context))
        return stay.action

    def _learn(self, *, left: bool) -> None:
        stay = self._stay
        assert stay is not None
        with double_precision():
            seen = Seen(
                user=jnp.asarray(float(self.users)),
                contexts=jnp.asarray(stay.contexts),
                action=jnp.asarray(stay.action),
                context=jnp.asarray(stay.contexts[stay.action]),
                beta=jnp.asarray(stay.beta),
                played=jnp.asarray(float(stay.played)),
                left=jnp.asarray(left),
                sampled=jnp.asarray(float(stay.sampled)),
                total=jnp.asarray(stay.total),
                squares=jnp.asarray(stay.squares),
                outcomes=jnp.asarray(stay.outcomes),
            )
            self.state = self._update(self.policy, self.state, seen)
        self._stay = _Stay(stay.contexts, stay.beta, stay.action)


@dataclasses.dataclass
class _Stay:
    """The present user, and the rounds since the policy last learned."""

    contexts: np.ndarray
    beta: float
    action: int = 0
    quota: float = 0.0
    played: int = 0
    sampled: int = 0
    total: float = 0.0
    squares: float = 0.0
    outcomes: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(BLOCK_OF_ROUNDS))

    def take(self, outcome: float) -> None:
        if self.sampled < BLOCK_OF_ROUNDS:
            self.outcomes[self.sampled] = outcome
        self.sampled += 1
        self.total, self.squares = self.total + outcome, self.squares + outcome**2
