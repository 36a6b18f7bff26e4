"""Logged stays: who was served what, with which probability, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.keywords import nearest_fields

__all__ = ["LoggedStays"]


@nearest_fields
@dataclass(frozen=True, eq=False)
class LoggedStays:
    """Stays in the order of their arrival; their rounds stand one after the other.

    Parameters
    ----------
    contexts : array, shape (users, actions, d)
        The context of every action; NaN in the rows of actions that were not offered.
    beta : array, shape (users,)
        Satisfaction levels; NaN where they are hidden.
    lengths : array of int, shape (users,)
        How many rounds of each stay are known; at least one.
    action, propensity, outcome : arrays, shape (rounds,)
        What was served, the probability with which the logger chose it given the rounds before, and what it gave.
    left : array of bool, shape (users,)
        Whether the user left after the last known round; else the stay is censored there.

    Examples
    --------
    >>> log = LoggedStays(
    ...     contexts=np.array([[[0.6], [0.1]]]), beta=np.array([0.0]), lengths=np.array([2]),
    ...     action=np.array([1, 1]), propensity=np.array([0.5, 1.0]), outcome=np.array([0.3, -0.2]),
    ...     left=np.array([True]),
    ... )
    >>> log.users, log.number.tolist(), log.first.tolist()
    (1, [1, 2], [0])
    """

    contexts: np.ndarray
    beta: np.ndarray
    lengths: np.ndarray
    action: np.ndarray
    propensity: np.ndarray
    outcome: np.ndarray
    left: np.ndarray

    def __post_init__(self) -> None:
        if not self.users:
            raise InvalidInput(
                "log", "must have at least one stay", "none", "a stay has at least one outcome"
            )
        bad = np.flatnonzero(~((self.propensity > 0) & (self.propensity <= 1)))
        if bad.size:
            remedy = f"round {bad[0] + 1}; it is the probability with which the action was chosen"
            raise InvalidInput("propensity", "must lie in (0, 1]", self.propensity[bad[0]], remedy)
        bad = np.flatnonzero(~np.isfinite(self.outcome))
        if bad.size:
            remedy = f"round {bad[0] + 1}; leave out rounds whose outcome is not known"
            raise InvalidInput("outcome", "must be a finite number", self.outcome[bad[0]], remedy)
        last = self.contexts.shape[1] - 1
        bad = np.flatnonzero((self.action < 0) | (self.action > last))
        if bad.size:
            remedy = f"round {bad[0] + 1}; actions are counted from 0"
            raise InvalidInput("action", f"must be from 0 to {last}", int(self.action[bad[0]]), remedy)
        served = self.contexts[self.owner, self.action]
        if not np.all(np.isfinite(served)):
            row = int(np.flatnonzero(~np.all(np.isfinite(served), axis=-1))[0])
            remedy = f"round {row + 1}: only what is offered can be served"
            raise InvalidInput("action", "must be one that has a context", int(self.action[row]), remedy)
        longest = float(np.nanmax(np.linalg.norm(self.contexts, axis=-1)))
        if longest > 1 + 1e-4:
            remedy = "divide all contexts by one number"
            raise InvalidInput("contexts", "must have norms of at most 1", longest, remedy)

    @property
    def users(self) -> int:
        """How many stays there are."""
        return len(self.lengths)

    @property
    def first(self) -> np.ndarray:
        """The place of each stay's first round (users,)."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def owner(self) -> np.ndarray:
        """The stay of each round (rounds,)."""
        return np.repeat(np.arange(self.users), self.lengths)

    @property
    def number(self) -> np.ndarray:
        """The number of each round within its stay, from 1 (rounds,)."""
        return np.arange(len(self.action)) - self.first[self.owner] + 1

    @property
    def offered(self) -> np.ndarray:
        """Whether each action was offered (users, actions)."""
        return np.all(np.isfinite(self.contexts), axis=-1)

    @property
    def censored(self) -> np.ndarray:
        """Whether each stay ended without a departure (users,)."""
        return ~self.left

    def part(self, start: int, stop: int) -> LoggedStays:
        """Return the stays from ``start`` up to ``stop``."""
        users, rounds = slice(start, stop), slice(*np.append(self.first, len(self.action))[[start, stop]])
        of_users = (self.contexts[users], self.beta[users], self.lengths[users])
        of_rounds = (self.action[rounds], self.propensity[rounds], self.outcome[rounds])
        return LoggedStays(*of_users, *of_rounds, self.left[users])
