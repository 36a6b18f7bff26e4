"""What an agent knows of a user who is present, and what it says of a decision."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import jax
import numpy as np

from hrprob.live.decisions import Chosen
from hrprob.simulation.arrivals import BLOCK_OF_ROUNDS

__all__ = ["Decision", "Stay", "User", "decision_of"]

User = str | int | None
"""What a user is called; None is the one user of :meth:`~hrprob.Agent.arrive`."""


_PROBABILITY = Chosen._fields.index("probability")


class Stay(NamedTuple):
    """A user who is present, and the rounds since the policy last learned."""

    number: int  # of the arrival, from 1
    warming: bool
    beta: float
    arrival: np.ndarray  # the numbers of the user, as the programs take them
    chosen: np.ndarray  # what the program returned for the present round
    budget: float  # |S| from which on no further round may be sampled
    own: tuple[jax.Array, ...]  # what the policy's state holds of this user alone
    time: float  # of the arrival or the last outcome
    rounds: int = 0  # outcomes so far
    played: int = 0
    sampled: int = 0
    total: float = 0.0
    squares: float = 0.0
    outcomes: tuple[float, ...] = ()

    @property
    def action(self) -> int:
        """The action of the present round."""
        return int(self.chosen[0])

    def take(self, outcome: float, time: float, *, sampled: bool) -> Stay:
        """Return the stay after one more round, which enters the sample set or not."""
        played = self._replace(time=time, rounds=self.rounds + 1, played=self.played + 1)
        if not sampled:
            return played
        first = self.sampled < BLOCK_OF_ROUNDS
        return played._replace(
            sampled=self.sampled + 1,
            total=self.total + outcome,
            squares=self.squares + outcome**2,
            outcomes=(*self.outcomes, outcome) if first else self.outcomes,
        )

    def keep(self) -> Stay:
        """Return the stay with the action of its first round kept: from now on its probability is 1."""
        chosen = self.chosen.copy()
        chosen[_PROBABILITY] = 1.0
        return self._replace(chosen=chosen)

    def learned(self, own: tuple[jax.Array, ...]) -> Stay:
        """Return the stay once the policy has learned from its rounds so far."""
        return self._replace(own=own, played=0, sampled=0, total=0.0, squares=0.0, outcomes=())


@dataclasses.dataclass(frozen=True)
class Decision:
    """What to serve a user, and what the policy expects of it.

    Parameters
    ----------
    user : str, int or None
        Whom to serve.
    action : int
        What to serve.
    probability : float
        The probability with which the policy selects this action for this user in its present state: 1 for a policy that does
        not draw, and in later rounds of a stay whose action is kept. Thompson sampling and policies that average over posterior draws have no closed form; theirs is estimated
        from ``propensity_draws`` further selections (:meth:`hrprob.Policy.probability`).
    mean, sd : float or None
        Estimated mean and standard deviation of the outcome; None where the policy has no estimate.
    reneging : float or None
        Estimated probability that the user leaves after the round.
    lifetime : float or None
        Estimated number of rounds, the last included, if the action is kept.
    round : int
        Which round of the stay it is, from 1.
    warmup : bool
        Whether the action was drawn uniformly for a warm-up user.

    Examples
    --------
    >>> import hrprob
    >>> agent = hrprob.Agent(hrprob.Random(), dimension=2, actions=4)
    >>> decision = agent.select("ann", [[0.6, 0.0], [0.0, 0.6], [0.3, 0.3], [0.1, 0.2]], beta=0.0)
    >>> decision.probability, decision.round, decision.mean is None
    (0.25, 1, True)
    """

    user: User
    action: int
    probability: float
    mean: float | None
    sd: float | None
    reneging: float | None
    lifetime: float | None
    round: int
    warmup: bool


def decision_of(user: User, stay: Stay) -> Decision:
    """Return the decision for the present round of a stay."""
    chosen = Chosen(*stay.chosen.tolist())
    sd = math.sqrt(chosen.variance) if chosen.variance >= 0 else math.nan
    return Decision(
        user=user,
        action=int(chosen.action),
        probability=chosen.probability,
        mean=_or_none(chosen.mean),
        sd=_or_none(sd),
        reneging=_or_none(chosen.reneging),
        lifetime=_or_none(chosen.lifetime),
        round=stay.rounds + 1,
        warmup=stay.warming,
    )


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
