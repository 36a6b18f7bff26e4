"""Configurations that are accepted, played, and compared with a plain loop: every action, lifetime and regret.

Numbers of a configuration are changed, not its shapes: compiling a program takes seconds, playing it a moment.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob.io import config
from hrprob.simulation.engine import simulate
from tests.simulation import plain

__all__ = ["SHAPES", "a_played_configuration", "play"]

USERS, TRIALS = 30, 2
# Rounds that the plain loop plays of a run at most.
_MOST_ROUNDS = 5000
# Shapes and kinds: each is a program.
SHAPES: list[dict[str, Any]] = [
    {"d": 2, "contexts": {"kind": "ball", "actions": 5}, "policy": {"kind": "greedy"}},
    {"d": 2, "contexts": {"kind": "ball", "actions": 5}, "policy": {"kind": "hr-ucb", "radius": "released"}},
    {"d": 2, "contexts": {"kind": "ball", "actions": 5}, "policy": {"kind": "linucb"}},
    {"d": 4, "contexts": {"kind": "sphere", "actions": 8}, "policy": {"kind": "hr-ucb", "radius": "paper"}},
    {"d": 4, "contexts": {"kind": "sphere", "actions": 8}, "policy": {"kind": "oracle"}},
    {"d": 2, "contexts": {"kind": "ball", "actions": 5}, "policy": {"kind": "sigma-max-ucb"}},
]
# What every policy of a kind may be given, as a range; a tenth of the values is drawn from a hundred times as wide a one.
_NUMBERS = {
    "greedy": {"ridge": (0.05, 5.0), "variance_floor": (0.001, 0.3), "growth": (1.0, 6.0)},
    "hr-ucb": {"ridge": (0.05, 5.0), "delta": (0.01, 0.9), "growth": (1.0, 6.0), "variance_max": (0.5, 6.0)},
    "linucb": {"ridge": (0.05, 5.0), "alpha": (0.0, 3.0), "growth": (1.0, 6.0)},
    "sigma-max-ucb": {"ridge": (0.05, 5.0), "delta": (0.01, 0.9), "growth": (1.0, 6.0)},
    "oracle": {},
}


def a_played_configuration(rng: random.Random, shape: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration of this shape, with numbers of its own; some are not accepted."""

    def number(low: float, high: float) -> float:
        if rng.random() < 0.1:
            return rng.choice((-1.0, 1.0, 100.0)) * rng.uniform(low, high) * rng.choice((1.0, 0.01))
        return rng.uniform(low, high)

    offset, slope, d = number(0.5, 3.0), number(0.3, 2.0), shape["d"]
    bound = abs(number(0.3, 1.0)) * offset / slope
    direction = [rng.gauss(0.0, 1.0) for _ in range(d)]
    length = sum(one**2 for one in direction) ** 0.5
    low = number(-1.0, 1.0)
    kind = shape["policy"]["kind"]
    numbers = {name: number(*ends) for name, ends in _NUMBERS[kind].items()}
    return {
        "problem": {
            "theta": [number(-0.6, 0.6) for _ in range(d)],
            "phi": [one / length * bound * number(0.0, 1.0) for one in direction],
            "link": {"kind": "affine", "slope": slope, "offset": offset},
            "bounds": {"theta": number(0.8, 1.2), "phi": bound},
            "contexts": shape["contexts"],
            "satisfaction": {"kind": "uniform", "low": low, "high": low + number(0.0, 1.5)},
        },
        "run": {"users": USERS, "trials": TRIALS, "seed": rng.randrange(2**40)},
        "policy": [shape["policy"] | numbers],
    }


def play(number: int, seed: int) -> str:
    """Play configuration ``number``; return how it ended: refused, played, or too long to be compared."""
    rng = random.Random(f"played {seed} {number}")
    data = a_played_configuration(rng, SHAPES[number % len(SHAPES)])
    try:
        experiment = config.from_data(data)
        result = simulate(
            experiment.problem,
            experiment.policies,
            users=USERS,
            trials=TRIALS,
            seed=experiment.seed,
            keep="all",
        )
    except InvalidInput:
        return "refused"
    (name, policy), run = next(iter(experiment.policies.items())), result.isel(policy=0)
    for variable in ("regret", "lifetime", "best", "mean_lifetime"):
        assert not np.isnan(run[variable]).any(), f"NaN in {variable} of {name}"
    if float(run.lifetime.sum()) > _MOST_ROUNDS or not np.isfinite(run.best).all():
        return "too long"
    played = plain.play(
        policy, experiment.problem, users=USERS, trials=TRIALS, seed=experiment.seed, engine=run.action.values
    )
    np.testing.assert_array_equal(run.action, played.action)
    np.testing.assert_array_equal(run.lifetime, played.lifetime)
    # Costs are differences of lifetimes up to thousands.
    np.testing.assert_allclose(run.regret, played.regret, rtol=1e-8, atol=1e-8)
    return "played"
