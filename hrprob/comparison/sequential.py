r"""Add trials until the leader differs significantly from all others, at a stated error probability.

This is a group sequential test: interim analyses (looks) take place at n₀, 2n₀, 4n₀, … trials, at most K of
them. At each, every pair is tested as in :mod:`.paired`, Holm's correction included, but at the nominal
level α′ of Pocock's design [1]_: the level at which a standard Brownian motion, observed at times 1, 2, 4,
…, exceeds :math:`\pm z_{\alpha'/2}\sqrt t` at any of them with probability α. So the probability that
equal policies are ever called different is α for one pair and at most α for all pairs
together, as far as means over trials are normal.

References
----------
.. [1] S. J. Pocock, "Group sequential methods in the design and analysis of clinical
   trials", Biometrika 64(2), 1977.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray
from scipy import optimize, stats

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob.comparison.paired import compare
from hrprob.comparison.records import Comparison
from hrprob.comparison.tables import decision_in_words
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.engine import named
from hrprob.simulation.progress import Progress
from hrprob.simulation.tasks import Scheduler, Task, join, play_task, play_tasks

__all__ = ["Decision", "decide", "looks", "nominal_level"]

FIRST_TRIALS = 20
MOST_TRIALS = 640


class Decision(NamedTuple):
    """How a sequential comparison ended."""

    comparison: Comparison  # at the nominal level of one look
    result: xarray.Dataset  # all trials that were played
    decided: bool  # the leader differs significantly from every other policy
    looks: int
    level: float  # the probability of calling equal policies different, over all looks

    def __repr__(self) -> str:
        return f"<Decision: {'decided' if self.decided else 'not decided'} after {self.comparison.trials} trials>"

    def __str__(self) -> str:
        return f"{decision_in_words(self)}\n{self.comparison}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(decision_in_words(self))}</p>{self.comparison._repr_html_()}"


def looks(first: int, most: int) -> list[int]:
    """Return the numbers of trials at which a look takes place.

    Examples
    --------
    >>> looks(20, 100)
    [20, 40, 80]
    """
    counts = [first]
    while 2 * counts[-1] <= most:
        counts.append(2 * counts[-1])
    return counts


@functools.cache
def nominal_level(level: float, count: int) -> float:
    """Return the level of each of ``count`` looks for which the overall level is ``level``.

    Examples
    --------
    >>> nominal_level(0.05, 1)
    0.05
    >>> round(nominal_level(0.05, 6), 3)
    0.011
    """
    if count == 1:
        return level
    times = 2.0 ** np.arange(count)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    normal = stats.multivariate_normal(cov=correlation, seed=0)

    def excess(nominal: float) -> float:
        edge = np.full(count, stats.norm.isf(nominal / 2))
        return 1.0 - float(normal.cdf(edge, lower_limit=-edge)) - level

    return float(optimize.brentq(excess, level / count, level, xtol=1e-5 * level))


@nearest_keywords
def decide(
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy],
    *,
    level: float = 0.05,
    users: int = 30000,
    seed: int = 0,
    first_trials: int = FIRST_TRIALS,
    most_trials: int = MOST_TRIALS,
    baseline: str | None = None,
    at: int | None = None,
    result: xarray.Dataset | None = None,
    scheduler: Scheduler | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Decision:
    """Play trials until the leader differs significantly from all others, or there are ``most_trials``.

    Parameters
    ----------
    problem : Problem
        What is played.
    policies : mapping of names to policies, or policies
        Without names, a policy goes by its kind.
    users, seed : int
        T, and the seed of everything random.
    level : float
        Probability of ever calling equal policies different.
    first_trials, most_trials : int
        Trials at the first look, and the most trials that are played.
    baseline : str, optional
        Compare every policy with this one, instead of the leader with every other.
    at : int, optional
        The user at which regrets are compared; by default the last.
    result : xarray.Dataset, optional
        Trials of the same run that were played before, from number 0 on; they are used first.
    scheduler : Scheduler, optional
        Where trials are played; by default in this process.
    say : callable
        Called with one line of text after each look.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> import hrprob
    >>> decision = decide(hrprob.Problem(), [hrprob.Greedy(), hrprob.Random()], users=50)  # slow
    >>> decision.decided, decision.comparison.trials
    (True, 20)
    """
    remedy = "it is the probability of calling equal policies different"
    check_number("until", level, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    check_count("first_trials", first_trials, low=2, remedy="a standard error needs two")
    check_count("most_trials", most_trials, low=first_trials, remedy="the first look alone needs more")
    stops = looks(first_trials, most_trials)
    nominal = nominal_level(level, len(stops))
    for trials in stops:
        result = _extended(result, trials, problem, policies, users, seed, progress, scheduler)
        played = result.isel(trial=slice(0, trials))
        comparison = compare(played, baseline=baseline, at=at, level=nominal)
        open_pairs = _undecided(comparison)
        say(f"{trials} trials: {'decided' if not open_pairs else f'{open_pairs} pairs open'}")
        if not open_pairs:
            break
    return Decision(comparison, played, not open_pairs, stops.index(trials) + 1, level)


def _extended(
    result: xarray.Dataset | None,
    trials: int,
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy],
    users: int,
    seed: int,
    progress: bool,
    scheduler: Scheduler | None,
) -> xarray.Dataset:
    have = 0 if result is None else result.sizes["trial"]
    if result is not None and result.trial.values.tolist() != list(range(have)):
        raise InvalidInput(
            "result",
            "must have its trials from 0 on",
            result.trial.values.tolist(),
            "trials cannot be left out",
        )
    if have >= trials and result is not None:
        return result
    keep = "auto" if result is None else _step(result)
    task = Task(problem, named(policies), users, range(have, trials), seed, keep)
    if scheduler is None:
        more = play_task(task, progress=progress)
    else:
        with Progress(progress, task.size) as shown:
            more = play_tasks(task, scheduler, lambda users: shown.played("", users))
    if result is None:
        return more
    return join([result, more])


def _step(result: xarray.Dataset) -> int:
    users = result.user.values
    return int(users[1] - users[0]) if len(users) > 1 else 1


def _undecided(comparison: Comparison) -> int:
    """Return how many of the pairs to be decided are not significantly different."""
    pairs = [
        pair
        for pair in comparison.pairs
        if comparison.baseline or comparison.leader in (pair.policy, pair.other)
    ]
    return sum(not comparison.different(pair) for pair in pairs)
