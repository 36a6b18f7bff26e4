"""What the Bayesian policies share: the users seen so far, and a posterior that follows them.

A policy keeps every user's stay as one row of a buffer and fits its posterior to the
rows so far whenever their number has grown by the factor ``refit``. When that is
depends on the number of users alone, so that all trials of a batch fit together and a
user between two fits costs nothing but a draw.

Warm-up users are served many actions: theirs is a small table of its own, one row for
each warm-up user and action.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from hrprob.errors import InvalidInput, check_number
from hrprob.estimation.posterior.rows import once, write_row
from hrprob.policies.base import Learner, Seen
from hrprob.problem import Problem
from hrprob.record import record, settle, with_fields

__all__ = ["BayesLearner", "BayesState", "refit_times"]


class BayesState(NamedTuple):
    """What was seen, and what is believed of it."""

    stays: Any  # Stays of (capacity,) users
    warm: Any  # Stays of (warm-up users · actions,) rows
    belief: Any  # the engine's own


@record(static=("eager", "capacity", "warm_rows"))
class BayesLearner(Learner):
    """A policy with a posterior of (θ, φ).

    Parameters
    ----------
    engine : str, table or engine
        How the posterior is found: "laplace", "smc", "svi" or "nuts".
    model : str, table or Model
        How outcomes are distributed given θ and φ.
    prior : str, table or Prior
        "uniform" on the two balls, or "gaussian", cut to them.
    refit : float, optional
        The posterior is fitted anew when the number of users has grown by this factor;
        unless given, what suits the engine (1.05 for "laplace", 1.2 for "smc", else 1.5).
    growth : float, optional
        K, where the sample set may grow by so many rounds a user only.
    """

    engine: Any = dataclasses.field(default="laplace", kw_only=True)
    model: Any = dataclasses.field(default="gaussian", kw_only=True)
    prior: Any = dataclasses.field(default="uniform", kw_only=True)
    refit: Any = dataclasses.field(default=None, kw_only=True)
    due: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)
    capacity: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)
    warm_rows: Any = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from hrprob.estimation.posterior.engines import make_engine
        from hrprob.models import make_model, make_prior

        remedy = "1.05 fits anew whenever the users have grown by 5 %; 1 after every user"
        settle(
            self,
            engine=make_engine(self.engine),
            model=make_model(self.model),
            prior=make_prior(self.prior),
        )
        refit = self.engine.refit if self.refit is None else self.refit
        settle(self, refit=check_number("refit", refit, low=1, remedy=remedy))
        super().__post_init__()

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with room for these users."""
        from hrprob.estimation.posterior.target import capacity_for

        self._check_support()
        bound = super().bind(problem, users)
        return with_fields(
            bound,
            due=refit_times(self.warmup + users, self.refit, self.warmup),
            capacity=capacity_for(users),
            warm_rows=capacity_for(self.warmup * bound.known.actions),
        )

    def _check_support(self) -> None:
        from hrprob.models import Stays

        if self.model.data is not Stays:
            raise InvalidInput(
                "model",
                "must be one that stays can tell of",
                self.model.kind,
                "a policy sees sums over a stay, which say all about normal outcomes only",
            )
        if self.eager:
            raise InvalidInput("eager", "must be false", True, "a posterior follows whole stays")

    @property
    def target(self) -> Any:
        """The posterior that is followed."""
        from hrprob.estimation.posterior.target import Target
        from hrprob.models import Setting

        return Target(self.model, self.prior, Setting.of(self.known))

    def init(self) -> BayesState:
        """Return the state before the first user: the prior."""
        d = self.known.dimension
        belief = self.engine.init(self.target)
        return BayesState(_empty(self.capacity, d), _empty(self.warm_rows, d), belief)

    def update(self, state: BayesState, seen: Seen) -> BayesState:
        """Add the user, and fit anew where it is time."""
        user = jnp.asarray(seen.user, jnp.int32)
        place = user - 1 - jnp.asarray(self.warmup, jnp.int32)
        warm = self._warm_up(state.warm, seen, user, place < 0)
        stays = _write(state.stays, place, seen)
        if not self.engine.streaming:
            return BayesState(stays, warm, state.belief)
        stay = type(stays)(seen.context, seen.taken, seen.total, seen.squares)
        belief = once(
            jnp.asarray(self.due)[user],
            lambda belief: self.engine.fit(self.target, self._tables(stays, warm, place), belief),
            self.engine.absorb(self.target, state.belief, stay),
        )
        return BayesState(stays, warm, belief)

    def stretch_ends(self, users: int) -> list[int]:
        """Return after which users :meth:`fit_outside` must be called, in order; 0 is after the warm-up.

        Empty where the engine fits within the compiled program.
        """
        if self.engine.streaming:
            return []
        due = np.flatnonzero(np.asarray(self.due)) - int(self.warmup)
        return [int(user) for user in due if 0 <= user < users and user + int(self.warmup) > 0]

    def fit_outside(self, state: BayesState, user: int, keys: jax.Array) -> BayesState:
        """Return the state fitted anew after ``user`` users, every leaf with the trials on its last axis.

        Called between compiled stretches, in double precision, with one key a trial. Trials are
        fitted one after another, each from its own last fit.
        """
        target = self.target
        from hrprob.models import pad

        rows = 1 << max(user + self.warm_rows - 1, 0).bit_length()
        beliefs = []
        for trial in range(state.stays.rounds.shape[-1]):
            of_trial = jax.tree.map(lambda leaf, trial=trial: leaf[..., trial], state)
            both = jax.tree.map(lambda a, b: jnp.concatenate([a[:user], b]), of_trial.stays, of_trial.warm)
            start = of_trial.belief if user > 1 else None
            fitted = self.engine.fit(target, pad(both, rows), keys[trial], start)
            beliefs.append(self.engine.keep(target, fitted))
        belief = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *beliefs)
        return state._replace(belief=belief)

    def _tables(self, stays: Any, warm: Any, place: jax.Array) -> Any:
        return [(stays, jnp.maximum(place + 1, 0)), (warm, self.warm_rows)]

    def _warm_up(self, warm: Any, seen: Seen, user: jax.Array, warming: jax.Array) -> Any:
        if self.warm_rows == 0:
            return warm
        row = jnp.where(warming, (user - 1) * self.known.actions + seen.action, self.warm_rows)
        return type(warm)(
            warm.x.at[row].set(seen.context, mode="drop"),
            warm.rounds.at[row].add(seen.taken, mode="drop"),
            warm.total.at[row].add(seen.total, mode="drop"),
            warm.squares.at[row].add(seen.squares, mode="drop"),
        )

    def values(self, z: jax.Array, contexts: jax.Array, beta: jax.Array) -> jax.Array:
        """Return the value of each action at z (2d,)."""
        target = self.target
        theta, phi = target.coefficients(z)
        u, w = target.setting.moments(theta, phi, contexts)
        return self.known.value(u, w, beta)


def refit_times(users: int, factor: float, warmup: int = 0) -> np.ndarray:
    """Return, for every number of users from 0 on, whether the posterior is fitted when they have left.

    Examples
    --------
    >>> np.flatnonzero(refit_times(40, 1.5)).tolist()
    [1, 2, 3, 5, 8, 12, 18, 27]
    """
    due = np.zeros(users + 1, dtype=bool)
    due[: warmup + 1] = warmup > 0
    count = 1
    while count <= users:
        due[count] = True
        count = max(count + 1, math.ceil(count * factor))
    return due


def _empty(rows: int, d: int) -> Any:
    from hrprob.models import Stays

    return Stays(jnp.zeros((rows, d)), jnp.zeros(rows), jnp.zeros(rows), jnp.zeros(rows))


def _write(stays: Any, place: jax.Array, seen: Seen) -> Any:
    # A warm-up user is written to the first row too, as nothing; the first user then takes it over.
    counts = jnp.where(place < 0, 0.0, 1.0)
    row = (seen.context, counts * seen.taken, counts * seen.total, counts * seen.squares)
    at = jnp.maximum(place, 0)
    return type(stays)(*(write_row(column, entry, at) for column, entry in zip(stays, row, strict=True)))
