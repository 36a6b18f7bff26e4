"""The simulation once more, slowly: plain NumPy in float64.

Every sample is stored, every estimate is computed from all of them by ``numpy.linalg`` just
before it is used, Algorithm 1's sample set is kept literally, and users are played out round by
round. Only the random numbers are shared with the engine, so the two can be compared action by
action.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from tests.simulation.plain_draws import Draws, Past, Round, User
from tests.simulation.plain_policies import PLAIN, estimates, sample_sums
from tests.simulation.plain_values import values_and_costs, variance_at

__all__ = ["PLAIN", "Draws", "Played", "estimates", "play", "values_and_costs"]

# Indices closer than this are ties: rounding decides between them, so the engine's choice is used.
TIE = 1e-9


class Played(NamedTuple):
    """How a policy played, each array (trials, users)."""

    action: np.ndarray
    lifetime: np.ndarray
    regret: np.ndarray  # cumulative
    samples: np.ndarray  # |S| after the user
    past: list[Past]  # of each trial, at the end
    undecided: bool  # a tie in a round whose action the engine does not report


def play(policy: Any, problem: Any, *, users: int, trials: int, seed: int, engine: np.ndarray) -> Played:
    """Play ``policy``; where indices tie, ``engine`` (trials, users) says what the first round chose."""
    draws = Draws(problem, seed, users, trials)
    rows = [_play_trial(policy, problem, users, draws, trial, engine[trial]) for trial in range(trials)]
    *arrays, past, undecided = zip(*rows, strict=True)
    return Played(*(np.array(array) for array in arrays), list(past), any(undecided))


def _play_trial(
    policy: Any, problem: Any, users: int, draws: Draws, trial: int, engine: np.ndarray
) -> tuple[list[int], list[int], list[float], list[int], Past, bool]:
    # What is computed before the first user (cells, context sets) is used as it is.
    index_of = functools.partial(PLAIN[policy.kind], policy.bind(problem, users), policy, problem, users)
    past = Past([], [])
    actions, lifetimes, costs, samples = [], [], [], []
    undecided = False

    for t in range(1, policy.warmup + 1):
        user = draws.user(t - 1, trial, warm=True)
        i, left = 0, False
        while not left:
            a = user.warmup_action(i)
            left = _play_round(policy, problem, user, a, i, past, t)
            i += 1

    for number in range(1, users + 1):
        t = policy.warmup + number
        user = draws.user(number - 1, trial, warm=False)
        values, costs_of = values_and_costs(problem, user)
        i, left, cost = 0, False, 0.0
        while not left:
            if i == 0 or policy.eager:
                index = index_of(past, user, i)
                a = int(np.argmax(index))
                ties = _ties(index)
                if i == 0:
                    if engine[number - 1] != a:
                        assert ties[engine[number - 1]], (number, engine[number - 1], index)
                        a = int(engine[number - 1])
                    actions.append(a)
                else:
                    undecided = undecided or bool(np.any(index[ties] != index.max()))
            cost += costs_of[a]
            if i == 0 or policy.eager:
                # Under the lazy update S is chosen by what was known when the user came.
                design = Past([], list(past.samples))
            left = _play_round(policy, problem, user, a, i, past, t, design)
            i += 1
        lifetimes.append(i)
        costs.append(cost if policy.eager else values.max() - values[a])
        samples.append(len(past.samples))
    return actions, lifetimes, list(np.cumsum(costs)), samples, past, undecided


def _play_round(
    policy: Any, problem: Any, user: User, a: int, i: int, past: Past, t: int, design: Any = None
) -> bool:
    """Play round ``i``, let it into S if S takes it, and say whether the user left."""
    x = user.contexts[a]
    outcome = problem.theta @ x + math.sqrt(variance_at(problem, problem.phi, x)) * user.noise(i)
    played = Round(user, a, outcome, outcome < user.level(problem, i))
    past.rounds.append(played)
    if _takes(policy, past, past if design is None else design, x, t):
        past.samples.append(played)
    return played.left


def _takes(policy: Any, past: Past, design: Past, x: np.ndarray, t: int) -> bool:
    """Whether S takes a round: |S| < Γ(t), and with a chosen S a leverage above the threshold."""
    growth = getattr(policy, "growth", None)
    if growth is None:
        return True
    if len(past.samples) >= growth * t:
        return False
    if policy.samples == "first":
        return True
    n, d = len(design.samples), len(x)
    _, _, V = sample_sums(design, d, max(policy.ridge, 1e-6))
    threshold = (
        d / (n + d) * min(10 * growth, growth * t / 10) / (growth * t - n) if n < growth * t else math.inf
    )
    return x @ np.linalg.solve(V, x) >= threshold


def _ties(index: np.ndarray) -> np.ndarray:
    best = index.max()
    return index == best if np.isinf(best) else index >= best - TIE * max(1.0, abs(best))
