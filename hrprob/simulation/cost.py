"""What takes much longer than usual, said before a run with an estimate of the time.

Two things cost more than the compiled programs themselves, and each says how much: an average over levels that no
policy sees, where the noise has no closed form for it (``evaluations`` of the levels), and an engine that is fitted
from outside (``seconds_per_fit`` of the engine). The estimates are good to a factor of a few.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from hrprob.policies.base import Policy
from hrprob.simulation.progress import duration

__all__ = ["slow_policies"]

# Seconds of one core per user and trial, as HR-UCB on 20 actions takes them.
_USUAL = 3e-6
# A note is worth reading above these: the factor by which it is slower, and the seconds that it takes.
_LEAST_FACTOR, _LEAST_SECONDS = 10.0, 20.0


def slow_policies(policies: Mapping[str, Policy], users: int, trials: int) -> list[str]:
    """Return a line for each policy that will take tens of times longer than usual, with about how long.

    Parameters
    ----------
    policies : mapping of str to Policy
        Who plays, bound to the problem.
    users, trials : int
        The size of the run.

    Examples
    --------
    >>> import hrprob
    >>> problem = hrprob.Problem(satisfaction=hrprob.HiddenLevels(), noise=hrprob.StudentT())
    >>> policy = hrprob.Greedy().bind(problem, 30000)
    >>> for line in slow_policies({"greedy": policy}, 30000, 20):
    ...     print(line)  # doctest: +ELLIPSIS
    greedy will take long, about ...: the value of an action is an average over levels of 170 evaluations
    """
    lines = []
    for name, policy in policies.items():
        costs = policy.extra_seconds(users)
        seconds = trials * sum(costs.values())
        if seconds >= _LEAST_SECONDS and seconds >= _LEAST_FACTOR * _USUAL * users * trials:
            reasons = " and ".join(why for why, cost in costs.items() if cost)
            lines.append(
                f"{name} will take long, about {duration(seconds / (os.cpu_count() or 1))}: {reasons}"
            )
    return lines
