"""How the cost grows: users, dimension, actions, trials; the exponent of each with an interval; memory."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from benchmarks.measure import in_process, measured

__all__ = ["exponent", "run"]

# The sizes; beside them others are small enough that all of it takes a few minutes.
_USERS = (1_000, 10_000, 100_000, 1_000_000)
_DIMENSIONS = (2, 4, 8, 16, 32, 64, 128)
_ACTIONS = (2, 10, 100, 1000)
_TRIALS = (1, 10, 100, 1000)
_MEMORY_USERS = (10_000, 100_000)
_LONGEST_CHUNK = 4096


def exponent(sizes: Any, costs: Any) -> dict[str, float]:
    """Return the slope of log cost on log size by least squares, with a 95 % interval.

    Examples
    --------
    >>> fitted = exponent([1, 2, 4, 8], [3.0, 12.0, 48.0, 192.0])
    >>> round(fitted["exponent"], 6), fitted["low"] <= 2 <= fitted["high"]
    (2.0, True)
    """
    from scipy.stats import t

    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    residuals = y - y.mean() - slope * centred
    degrees = len(x) - 2
    error = math.sqrt(float(residuals @ residuals) / degrees / float(centred @ centred))
    half = float(t.ppf(0.975, degrees)) * error
    return {"exponent": slope, "low": slope - half - 1e-12, "high": slope + half + 1e-12}


def run() -> dict[str, Any]:
    """Measure, and return what the table needs."""
    return {
        "users": _grown("users", _USERS),
        "dimension": _grown("dimension", _DIMENSIONS, users=128, trials=4),
        "actions": _grown("actions", _ACTIONS, users=2000),
        "trials": _grown("trials", _TRIALS, users=2000),
        "memory": {str(users): _memory(users) for users in _MEMORY_USERS},
    }


def _grown(name: str, sizes: tuple[int, ...], **others: int) -> dict[str, Any]:
    costs = []
    for size in sizes:
        costs.append(_seconds(**others, **{name: size}))
        # A study of minutes says how far it is.
        print(f"{name} = {size}: {costs[-1]:.3g} CPU s", file=sys.stderr, flush=True)
    return {"sizes": list(sizes), "beside": others, "cpu": costs, **exponent(sizes, costs)}


def _seconds(users: int, dimension: int = 4, actions: int = 20, trials: int = 20) -> float:
    """Return the CPU seconds of HR-UCB without trajectories, compilation apart."""
    import hrprob

    theta = np.full(dimension, 0.5 / math.sqrt(dimension))
    problem = hrprob.Problem(theta=theta, phi=theta, contexts=hrprob.Sphere(actions=actions))
    policy = hrprob.HRUCB(radius="released")

    def play(users: int) -> None:
        hrprob.simulate(problem, policy, users=users, trials=trials, seed=0, keep=users, workers=1)

    # A shorter run has the programs of a long one, whose chunks of users are no longer than this.
    play(min(users, _LONGEST_CHUNK))
    return measured(lambda: play(users)).cpu


def _memory(users: int, trials: int = 100) -> float:
    """Return the peak memory in MB of a process that plays without trajectories."""
    code = (
        "from benchmarks.measure import own_peak, prepare; prepare(); import hrprob;"
        f"hrprob.simulate(hrprob.Problem(), hrprob.HRUCB(), users={users}, trials={trials}, keep=1000);"
        "print(own_peak())"
    )
    return float(in_process(code)[0])
