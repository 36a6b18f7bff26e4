"""How an agent serves users who are present at the same time: arrivals, outcomes, departures.

A policy learns as if users had come one after the other, in the order in which they leave: Γ counts arrivals,
everything else departures. With one user at a time the two are the same. Warm-up users keep the numbers of their arrival.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence

import jax
import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.types import PyTree
from hrprob.live.checks import check_contexts, check_left, check_level, check_outcome, check_time
from hrprob.live.decisions import Chosen, Decisions, arrival_numbers, with_samples
from hrprob.live.saving import Kept
from hrprob.live.settings import AgentSettings
from hrprob.live.stays import Decision, Stay, User, decision_of

__all__ = ["COUNTS", "Serving"]

COUNTS = ("users", "samples", "events", "_departed", "_warmed")
"""What an agent counts: arrivals, rounds in the sample set, calls, departures, and departures of warm-up users."""


class Serving:
    """A policy, its state and the users who are present."""

    def _begin(self, settings: AgentSettings, kept: Kept | None = None) -> None:
        """Start from settings, or go on from what was kept."""
        self.settings, self.dimension, self.actions = settings, settings.dimension, settings.actions
        setting = settings.setting()
        # The words of a seed's key are its upper and lower 32 bits: `jax.random.key` would compile to say so.
        key = np.array(divmod(settings.seed, 2**32), np.uint32) if kept is None else kept.key
        with double_precision():
            self.policy = settings.policy.bind(setting, settings.users)
            leaves = None if kept is None else kept.leaves
            self._decisions = Decisions(self.policy, key, settings.propensity_draws, leaves)
        self._warmup = int(self.policy.warmup)
        self._pauses = set(self.policy.pauses(settings.users))
        self._level_given = setting.satisfaction.seen
        self._lock = threading.RLock()
        self._touched: dict[User, Stay | None] = {}
        self._stays: dict[User, Stay] = {} if kept is None else dict(kept.stays)
        self.users = self.samples = self.events = self._departed = self._warmed = 0
        if kept is not None:
            vars(self).update(kept.counts)

    @property
    def state(self) -> PyTree:
        """The policy's state."""
        return self._decisions.state

    def _record(self, event: Callable[[], dict[str, object]]) -> None:
        """Count a call, and let a subclass write it down; what to write is made only if somebody does."""
        self.events += 1

    def _arrive(
        self,
        user: User,
        contexts: ArrayLike | None,
        beta: float | None,
        offered: Iterable[int] | None,
        time: float | None,
    ) -> Decision:
        array, served_as = check_contexts(contexts, offered, self.actions, self.dimension)
        level = check_level(beta, given=self._level_given)
        now = check_time(time, clock.time())
        most = self.settings.users + self._warmup
        if self.users >= most and self._decisions.keeps_all_users:
            remedy = "a policy with a posterior keeps all of them; make the agent with more"
            raise InvalidInput("users", f"must be more than {self.users}", self.settings.users, remedy)
        self.users += 1
        warming, own = self.users <= self._warmup, self._decisions.nobody
        arrival = arrival_numbers(array, served_as, level, self.users, self.samples, warming)
        with double_precision():
            chosen = self._decisions.choose(arrival, own)
        budget = self.samples + float(chosen[1])
        stay = Stay(self.users, warming, level, arrival, chosen, budget, own, now)
        self._put(user, stay)
        decision = decision_of(user, stay)

        def event() -> dict[str, object]:
            offers = np.flatnonzero(served_as == np.arange(self.actions))
            given = {"contexts": array[offers], "beta": level, "actions": offers, "time": now}
            return {"event": "select", "user": user, **given, "decision": vars(decision)}

        self._record(event)
        return decision

    def _update(
        self, rows: Sequence[tuple[User, float, bool | None]], time: float | None
    ) -> list[Decision | None]:
        now = check_time(time, clock.time())
        decisions = [self._observe(user, outcome, left, now) for user, outcome, left in rows]

        def event() -> dict[str, object]:
            told = [[user, float(outcome), left] for user, outcome, left in rows]
            return {"event": "update", "outcomes": told, "time": now, "decisions": decisions}

        self._record(event)
        return decisions

    def _observe(self, user: User, outcome: object, left: bool | None, now: float) -> Decision | None:
        stay = self._stays.get(user)
        if stay is None:
            remedy = "it never came, has left, or was silent for too long; `select` admits a user"
            raise InvalidInput("user", "must be present", user, remedy)
        check_left(left, level_given=self._level_given)
        r = check_outcome(outcome)
        # Rounds of other users may have entered the sample set since this user's quota was computed.
        # A plain truth value: NumPy's would make the counts NumPy numbers, which cannot be saved.
        sampled = bool(stay.sampled < stay.chosen[1] and self.samples < stay.budget)
        self.samples += sampled
        stay = stay.take(r, now, sampled=sampled)
        if left if left is not None else r < stay.beta:
            self._part(user, stay, left=True)
            return None
        if self.policy.eager or stay.warming:
            stay = self._next_round(stay)
        elif stay.rounds == 1:
            stay = stay.keep()
        self._put(user, stay)
        return decision_of(user, stay)

    def _next_round(self, stay: Stay) -> Stay:
        """Learn from the last round, and choose again."""
        stay = stay.learned(self._learn(stay, left=False, gone=False))
        arrival = with_samples(stay.arrival, self.samples)
        with double_precision():
            chosen = self._decisions.choose(arrival, stay.own)
        return stay._replace(arrival=arrival, chosen=chosen, budget=self.samples + float(chosen[1]))

    def _part(self, user: User, stay: Stay, *, left: bool) -> None:
        """Let a user go."""
        self._finish(stay, left=left)
        self._put(user, None)

    def _finish(self, stay: Stay, *, left: bool) -> None:
        """Learn from the rounds since the last update, and tell the policy that the user is gone."""
        self._learn(stay, left=left, gone=True)
        if stay.warming:
            self._warmed += 1
            due = self._warmed == self._warmup and 0 in self._pauses
        else:
            self._departed += 1
            due = self._departed in self._pauses
        if due:
            with double_precision():
                # Outside a batch there is one trial.
                batched = jax.tree.map(lambda leaf: leaf[..., None], self._decisions.state)
                key = self._decisions.split_key()[None]
                fitted = self.policy.fit_outside(batched, 0 if stay.warming else self._departed, key)
                self._decisions.state = jax.tree.map(lambda leaf: leaf[..., 0], fitted)

    def _learn(self, stay: Stay, *, left: bool, gone: bool) -> tuple[jax.Array, ...]:
        number = stay.number if stay.warming else self._warmup + self._departed + 1
        numbers = (number, stay.played, left, stay.sampled, stay.total, stay.squares)
        with double_precision():
            return self._decisions.learn(
                stay.arrival, stay.chosen, numbers, stay.outcomes, stay.own, gone=gone
            )

    def _learn_from(
        self,
        contexts: np.ndarray,
        served_as: np.ndarray,
        beta: float,
        action: int,
        outcomes: list[float],
        left: bool,
    ) -> None:
        """Learn from a stay that somebody else served, all rounds of it, as from a user who came and went; not logged."""
        with self._whole_call():
            self.users += 1
            self.samples += len(outcomes)
            arrival = arrival_numbers(contexts, served_as, beta, self.users, self.samples, False)
            chosen = np.zeros(len(Chosen._fields))
            chosen[0] = action
            stay = Stay(self.users, False, beta, arrival, chosen, math.inf, self._decisions.nobody, 0.0)
            for outcome in outcomes:
                stay = stay.take(outcome, 0.0, sampled=True)
            self._finish(stay, left=left)

    def _silent(self, now: float, timeout: float) -> tuple[User, ...]:
        """Return users whose last outcome is older than the timeout, the most silent first."""
        # In an order that depends on the calls alone, so that the same calls give the same state.
        last = sorted((stay.time, stay.number, user) for user, stay in self._stays.items())
        return tuple(user for then, _, user in last if now - then > timeout)

    @contextlib.contextmanager
    def _whole_call(self) -> Iterator[None]:
        """Let one thread in at a time; if the call raises, the agent is as it was before."""
        with self._lock:
            before = {name: getattr(self, name) for name in COUNTS}
            decisions = dict(vars(self._decisions))
            self._touched = {}
            try:
                yield
            except BaseException:
                vars(self).update(before)
                vars(self._decisions).update(decisions)
                for user, stay in self._touched.items():
                    self._stays.pop(user, None)
                    if stay is not None:
                        self._stays[user] = stay
                raise

    def _put(self, user: User, stay: Stay | None) -> None:
        self._touched.setdefault(user, self._stays.get(user))
        if stay is None:
            del self._stays[user]
        else:
            self._stays[user] = stay
