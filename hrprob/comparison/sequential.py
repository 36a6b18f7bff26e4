r"""Trials are added until the leading pairs are decided, at a stated probability of a false call.

Looks are taken at n₀, 2n₀, 4n₀, … trials, K of them at most. At each, every pair is tested
as in :mod:`.paired`, Holm's correction included, but at the nominal level α′ of Pocock's
design [1]_: the one at which a standard Brownian motion, looked at when its time is 1, 2, 4,
…, leaves :math:`\pm z_{\alpha'/2}\sqrt t` at any look with probability α. So the probability that
equal policies are ever called different is α for one pair and at most α for all pairs
together, as far as means over trials are normal.

References
----------
.. [1] S. J. Pocock, "Group sequential methods in the design and analysis of clinical
   trials", Biometrika 64(2), 1977.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray
from scipy import optimize, stats

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob.comparison.paired import Comparison, compare
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.engine import simulate

__all__ = ["Decision", "decide", "looks", "nominal_level"]

FIRST_TRIALS = 20
MOST_TRIALS = 640


class Decision(NamedTuple):
    """Where it ended."""

    comparison: Comparison  # at the nominal level of a look
    result: xarray.Dataset  # all trials played
    decided: bool  # the leader differs from every other policy
    looks: int
    level: float  # the probability of a false call over all looks


def looks(first: int, most: int) -> list[int]:
    """Return after how many trials a look is taken.

    Examples
    --------
    >>> looks(20, 100)
    [20, 40, 80]
    """
    found = [first]
    while 2 * found[-1] <= most:
        found.append(2 * found[-1])
    return found


@functools.cache
def nominal_level(level: float, count: int) -> float:
    """Return the level of each of ``count`` looks that makes ``level`` over all of them.

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
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Decision:
    """Play trials until the leader differs from everybody else, or there are ``most_trials``.

    Parameters
    ----------
    problem, policies, users, seed
        As for :func:`~hrprob.simulation.engine.simulate`.
    level : float
        Probability of ever calling a pair different that is not.
    first_trials, most_trials : int
        The first look, and the most trials that are played.
    baseline : str, optional
        Decide each policy against this one, in place of the leader against each.
    at : int, optional
        The user at which regrets are compared; the last unless given.
    result : xarray.Dataset, optional
        Trials of the same run that were played before, from number 0 on; looks that they allow
        come first.
    say : callable
        Told what was found at each look.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> import hrprob
    >>> found = decide(hrprob.Problem(), [hrprob.Greedy(), hrprob.Random()], users=50)
    >>> found.decided, found.comparison.trials
    (True, 20)
    """
    remedy = "it is the probability of a false difference"
    check_number("until", level, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    check_count("first_trials", first_trials, low=2, remedy="a spread needs two")
    check_count("most_trials", most_trials, low=first_trials, remedy="the first look alone needs more")
    stops = looks(first_trials, most_trials)
    nominal = nominal_level(level, len(stops))
    for trials in stops:
        result = _extended(result, trials, problem, policies, users, seed, progress)
        seen = result.isel(trial=slice(0, trials))
        found = compare(seen, baseline=baseline, at=at, level=nominal)
        open_pairs = _undecided(found)
        say(f"{trials} trials: {'decided' if not open_pairs else f'{open_pairs} pairs open'}")
        if not open_pairs:
            break
    return Decision(found, seen, not open_pairs, stops.index(trials) + 1, level)


def _extended(
    result: xarray.Dataset | None,
    trials: int,
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy],
    users: int,
    seed: int,
    progress: bool,
) -> xarray.Dataset:
    have = 0 if result is None else result.sizes["trial"]
    if result is not None and result.trial.values.tolist() != list(range(have)):
        raise InvalidInput("result", "must have its trials from 0 on", result.trial.values.tolist(), "")
    if have >= trials and result is not None:
        return result
    keep = "auto" if result is None else _step(result)
    more = simulate(
        problem,
        policies,
        users=users,
        trials=trials - have,
        seed=seed,
        first_trial=have,
        keep=keep,
        progress=progress,
    )
    if result is None:
        return more
    both = xarray.concat(
        [result, more], "trial", data_vars="minimal", coords="minimal", compat="override", join="exact"
    )
    return both.assign(seconds=result.seconds + more.seconds)


def _step(result: xarray.Dataset) -> int:
    users = result.user.values
    return int(users[1] - users[0]) if len(users) > 1 else 1


def _undecided(found: Comparison) -> int:
    pairs = [pair for pair in found.pairs if found.baseline or found.leader in (pair.policy, pair.other)]
    return sum(not found.different(pair) for pair in pairs)
