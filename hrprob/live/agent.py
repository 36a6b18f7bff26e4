"""Any policy, live: real users arrive, outcomes come in when they come.

What the engine does for simulated users, an :class:`Agent` does for real ones, with the
same policies and the same conventions: the sample set grows by Γ(t), estimates move when
a user leaves (lazy) or after every round (eager), warm-up users are served at random.

Many users may be present at once. A policy then learns as if they had come one after the other, in the order
in which they leave: Γ counts arrivals, everything else departures. With one user at a time the two are the same.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.keywords import nearest_keywords
from hrprob._core.types import Decoded
from hrprob.live import replay, saving
from hrprob.live.checks import check_path, check_row, check_time, check_user
from hrprob.live.decision_log import DecisionLog, read_log
from hrprob.live.saving import Kept
from hrprob.live.serving import COUNTS, Serving
from hrprob.live.settings import AgentSettings
from hrprob.live.stays import Decision, User, decision_of
from hrprob.noise import Noise
from hrprob.policies.base import Policy
from hrprob.problem import Affine, Bounds
from hrprob.problem.levels import Satisfaction
from hrprob.problem.objectives import Objective

__all__ = ["Agent"]


class Agent(Serving):
    """A policy at work.

    Its programs are compiled when it is made, which takes seconds (with a posterior tens of seconds); after that a
    decision with its update takes a fraction of a millisecond for policies without a posterior.
    A call that raises changes nothing. Several threads may share an agent: each call is made as a whole.

    There are two ways to use it. :meth:`select` and :meth:`update` serve many users at once, each by a name; :meth:`arrive`
    and :meth:`observe` serve one user at a time, who needs none.

    Parameters
    ----------
    policy : Policy
        What chooses.
    dimension, actions : int
        Length of a context, and how many actions there are at most.
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
        About how many users will come, warm-up users not counted. Some radii depend on it, and a policy with a
        posterior has room for this many.
    seed : int
        The seed of policies that draw.
    propensity_draws : int
        How many further selections estimate the probability of an action, where it has no closed form.
    timeout : float, optional
        After how many seconds without an outcome :meth:`expire` ends a stay.
    silence : {"censored", "reneged"}
        What it means if no outcome comes. "censored": nothing; the outcomes so far count, and the user
        neither stayed nor left. "reneged": the round that was not answered was the last one, after which the user left; its
        outcome is unknown and enters no sample set, so estimated means are then too high.
    log : path, optional
        A file to which every call is appended before it returns (:mod:`hrprob.live.decision_log`).
    durable : bool
        Whether a call waits until its line in the log is on the disk itself: then a power failure loses
        nothing either, and a call takes milliseconds.

    Examples
    --------
    >>> import hrprob
    >>> agent = Agent(hrprob.HRUCB(), dimension=2, actions=2)
    >>> first = agent.select("ann", [[0.6, 0.0], [0.0, 0.6]], beta=-0.5)
    >>> second = agent.select("bob", [[0.1, 0.2], [0.3, 0.0]], beta=0.0)
    >>> agent.update("bob", -0.7) is None  # below β: the user has left
    True
    >>> agent.update("ann", 0.3).action  # the user stays, and is served the same action
    0
    >>> agent.present, agent.users, agent.samples
    (('ann',), 2, 2)
    >>> agent
    <Agent with 'hr-ucb', d = 2, 2 actions: 2 users so far, 1 present, 2 rounds in the sample set>

    One user at a time:

    >>> agent = Agent(hrprob.HRUCB(), dimension=2, actions=2)
    >>> action = agent.arrive([[0.6, 0.0], [0.0, 0.6]], beta=-0.5)
    >>> agent.observe(0.3)
    0
    >>> agent.observe(-0.7) is None
    True
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
        noise: str | Mapping[str, object] | Noise | None = None,
        objective: str | Mapping[str, object] | Objective | None = None,
        satisfaction: str | Mapping[str, object] | Satisfaction | None = None,
        contexts: ArrayLike | None = None,
        users: int = 30000,
        seed: int = 0,
        propensity_draws: int = 64,
        timeout: float | None = None,
        silence: str = "censored",
        log: str | Path | None = None,
        durable: bool = False,
    ) -> None:
        assumed = (link, bounds, noise, objective, satisfaction, contexts)
        self._log: DecisionLog | None = None
        serving = (users, seed, propensity_draws, timeout, silence)
        self._begin(AgentSettings(policy, dimension, actions, *assumed, *serving))
        if log is not None:
            self._open_log(log, durable)

    def __repr__(self) -> str:
        with self._lock:
            present, users, samples = len(self._stays), self.users, self.samples
        return (
            f"<Agent with {self.settings.policy.kind!r}, d = {self.dimension}, {self.actions} actions: "
            f"{users} users so far, {present} present, {samples} rounds in the sample set>"
        )

    @property
    def present(self) -> tuple[User, ...]:
        """The users who are present, in the order of their arrival."""
        with self._lock:
            return tuple(sorted(self._stays, key=lambda user: self._stays[user].number))

    # Many users, each by a name.

    def select(
        self,
        user: str | int,
        contexts: ArrayLike | None = None,
        beta: float | None = None,
        *,
        actions: Iterable[int] | None = None,
        time: float | None = None,
    ) -> Decision:
        """Admit a new user, or look up one who is present, and return what to serve.

        For a user who is present the decision of the current round is returned again, unchanged, so a caller that did not
        get the answer may ask twice. A user who left may come again under the same name, as a new user.

        Parameters
        ----------
        user : str or int
            The user's name.
        contexts : array_like, shape (actions, d)
            One context of norm at most 1 per action that is offered; left out for a user who is present.
        beta : float, optional
            The user's satisfaction level; left out where levels are hidden.
        actions : sequence of int, optional
            The numbers of the actions that are offered, one per row of ``contexts``; by default all.
        time : float, optional
            When it was, in seconds; by default now.
        """
        check_user(user)
        with self._whole_call():
            if contexts is None and user in self._stays:
                return decision_of(user, self._stays[user])
            if user in self._stays:
                remedy = "leave contexts out to see the decision for a user who is present"
                raise InvalidInput("contexts", "must be left out", f"user {user!r} is present", remedy)
            return self._arrive(user, contexts, beta, actions, time)

    def update(
        self, user: str | int, outcome: float, *, left: bool | None = None, time: float | None = None
    ) -> Decision | None:
        """Record an outcome; return the next decision for the user, or None if the user has left.

        Parameters
        ----------
        user : str or int
            The user's name.
        outcome : float
            What the round gave.
        left : bool, optional
            Whether the user left after it. Needed where levels are hidden; otherwise it follows
            from the level.
        time : float, optional
            When it was, in seconds; by default now.
        """
        return self.update_many([(user, outcome, left)], time=time)[0]

    def update_many(
        self,
        outcomes: Iterable[tuple[User, float] | tuple[User, float, bool | None]],
        *,
        time: float | None = None,
    ) -> list[Decision | None]:
        """Record outcomes that came together: all of them or, if one cannot be used, none.

        Parameters
        ----------
        outcomes : iterable of tuples
            (user, outcome) or (user, outcome, left), in the order in which they happened; a user may occur several times.
        time : float, optional
            When it was, in seconds; by default now.
        """
        rows = [check_row(row) for row in outcomes]
        with self._whole_call():
            return self._update(rows, time)

    def expire(self, time: float | None = None) -> tuple[User, ...]:
        """End the stays of users who have been silent for longer than ``timeout``; return who they are.

        What their silence means is the agent's ``silence``.
        """
        if self.settings.timeout is None:
            remedy = "make the agent with a number of seconds"
            raise InvalidInput("timeout", "must be given to end stays by it", None, remedy)
        now = check_time(time, clock.time())
        with self._whole_call():
            silent = self._silent(now, self.settings.timeout)
            reneged = self.settings.silence == "reneged"
            for user in silent:
                stay = self._stays[user]
                self._part(user, stay._replace(played=stay.played + 1) if reneged else stay, left=reneged)
            if silent:
                self._record(lambda: {"event": "expire", "time": now, "users": list(silent)})
            return silent

    # One user at a time.

    def arrive(self, contexts: ArrayLike, beta: float | None = None) -> int:
        """Admit a new user and return the action to serve first.

        Parameters
        ----------
        contexts : array_like, shape (actions, d)
            One context of norm at most 1 per action.
        beta : float, optional
            The user's satisfaction level; left out where levels are hidden.
        """
        with self._whole_call():
            if None in self._stays:
                must = "must wait until the last user has left"
                raise InvalidInput("arrive", must, "a user who stays", "call `leave` first")
            return self._arrive(None, contexts, beta, None, None).action

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
            if None not in self._stays:
                raise InvalidInput("observe", "must follow `arrive`", "no user", "call `arrive` first")
            decision = self._update([(None, outcome, left)], None)[0]
            return None if decision is None else decision.action

    def leave(self, user: User = None) -> None:
        """Let a user go, for a reason of their own; the policy learns from the rounds so far.

        Without a name it is the one user of :meth:`arrive`. Nothing happens if the user is not present.
        """
        with self._whole_call():
            if user in self._stays:
                self._part(user, self._stays[user], left=False)
                self._record(lambda: {"event": "leave", "user": user})

    # What is kept.

    def save(self, path: str | Path) -> None:
        """Write the whole agent to a file: settings, state, random numbers and users who are present.

        The file is written whole or not at all, and :meth:`load` makes an agent of it that goes on exactly as this one
        would have. :mod:`hrprob.live.saving` says what is in it.
        """
        with self._lock:
            counts = {name: getattr(self, name) for name in COUNTS}
            decisions = self._decisions
            kept = Kept(self.settings, counts, decisions.key, decisions.leaves, dict(self._stays))
        saving.write(check_path("path", path), kept)

    @classmethod
    def load(cls, path: str | Path, *, log: str | Path | None = None, durable: bool = False) -> Self:
        """Return the agent that was saved.

        Parameters
        ----------
        path : path
            What :meth:`save` wrote.
        log : path, optional
            The agent's log: calls that it has from after the agent was saved are made again, so that nothing is lost,
            and further ones are appended. A new file is begun if there is none.
        durable : bool
            As for the agent.
        """
        kept = saving.read(Path(path))
        agent = cls.__new__(cls)
        agent._log = None
        agent._begin(kept.settings, kept)
        if log is not None:
            agent._open_log(log, durable)
        return agent

    @classmethod
    def rebuild(cls, log: str | Path, *, append: bool = True, durable: bool = False) -> Self:
        """Return the agent that wrote a log, by making all its calls again; every answer is compared with the log.

        Parameters
        ----------
        log : path
            The whole log, from an agent's first call on.
        append : bool
            Whether further calls are appended to it.
        durable : bool
            As for the agent.
        """
        start = next(read_log(Path(log)), None)
        agent = cls.__new__(cls)
        agent._log = None
        agent._begin(replay.settings_of(log, start))
        if append:
            agent._open_log(log, durable)
        else:
            replay.make_calls(agent, Path(log), agent._repeat)
        return agent

    def close(self) -> None:
        """Close the log, if there is one; the agent can still be used, without it."""
        with self._lock:
            if self._log is not None:
                self._log.close()
            self._log = None

    def _open_log(self, path: str | Path, durable: bool) -> None:
        described = self.settings.described()
        log = DecisionLog(check_path("log", path), durable=durable)
        try:
            if log.empty:
                log.append(replay.start_of(described, self.events))
            else:
                replay.make_calls(self, Path(path), self._repeat)
        except BaseException:
            log.close()
            raise
        self._log = log

    def _record(self, event: Callable[[], dict[str, object]]) -> None:
        super()._record(event)
        if self._log is not None:
            self._log.append(event())

    def _repeat(self, event: dict[str, Decoded]) -> object:
        """Make one call of a log again and return its answer."""
        user, time = event.get("user"), event.get("time")
        if event["event"] == "expire":
            return self.expire(time)
        if event["event"] == "leave":
            self.leave(user)
            return None
        with self._whole_call():
            if event["event"] == "select":
                beta = None if event["beta"] is None else float(event["beta"])
                return self._arrive(user, event["contexts"], beta, event["actions"], time)
            return self._update([tuple(row) for row in event["outcomes"]], time)
