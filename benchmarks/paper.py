"""The paper's experiment: 20 trials of 30000 users, 20 actions, d = 4, in the settings of the released program."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.limit import compile_limit, has_compiler, run_limit
from benchmarks.measure import measured, second

__all__ = ["TRIALS", "USERS", "hr_ucb", "policies", "run", "simulate_seconds"]

USERS, TRIALS = 30000, 20
VARIANCE_MAX = 2 + math.sqrt(0.5**2 + 0.2**2 + 0.8**2 + 0.9**2)
_TEXTBOOK_USERS = 2000
# Users and repetitions of policies that would take minutes, or whose cost per user fewer users tell as well.
_SIZES = {
    "thompson smc": (3000, 1),
    "thompson laplace": (USERS, 1),
    "hr-ucb likelihood-ratio": (10000, 3),
    "hr-ucb-exact likelihood-ratio": (10000, 3),
}


def hr_ucb(**changes: Any) -> Any:
    """Return HR-UCB in the released settings."""
    import hrprob

    return hrprob.HRUCB(growth=5, radius="released", variance_max=VARIANCE_MAX, warmup=5, **changes)


def policies() -> dict[str, Any]:
    """Return policies with closed forms, and Thompson sampling."""
    import hrprob

    return {
        "hr-ucb": hr_ucb(),
        "hr-ucb eager": hr_ucb(eager=True),
        "hr-ucb paper": hrprob.HRUCB(radius="paper"),
        "hr-ucb likelihood-ratio": hrprob.HRUCB(radius="likelihood-ratio", warmup=5),
        "hr-ucb-exact likelihood-ratio": hrprob.HRUCBExact(radius="likelihood-ratio", warmup=5),
        "greedy": hrprob.Greedy(warmup=5),
        "linucb": hrprob.LinUCB(ridge=0, warmup=5),
        "sigma-max-ucb": hrprob.SigmaMaxUCB(divide_by="variance", variance_max=VARIANCE_MAX, warmup=5),
        "random": hrprob.Random(),
        "oracle": hrprob.Oracle(),
        "thompson laplace": hrprob.Thompson(engine="laplace"),
        "thompson smc": hrprob.Thompson(engine="smc"),
    }


def simulate_seconds(
    policy: Any, *, users: int = USERS, trials: int = TRIALS, repeats: int = 3, between: Any = int
) -> Any:
    """Return first and later seconds of `simulate` with one worker, and the regret of each trial."""
    import hrprob

    regret: list[np.ndarray] = []

    def play() -> None:
        problem = hrprob.Problem()
        result = hrprob.simulate(
            problem, {"it": policy}, users=users, trials=trials, seed=0, keep=1000, workers=1
        )
        regret[:] = [result.regret.isel(policy=0, user=-1).values]

    first, later = second(play, repeats, between)
    return first, later, regret[0]


def run() -> dict[str, Any]:
    """Measure, and return what the table needs."""
    limits: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        program = compile_limit(folder) if has_compiler() else None
        turn = int if program is None else lambda: limits.append(run_limit(program, seed=len(limits)))
        table = {}
        for name, policy in policies().items():
            users, repeats = _SIZES.get(name, (USERS, 3))
            first, later, regret = simulate_seconds(policy, users=users, repeats=repeats, between=turn)
            table[name] = {
                "users": users,
                "microseconds": later.cpu / users / TRIALS * 1e6,
                "cpu": later.cpu,
                "wall": later.wall,
                "compilation": max(first.cpu - later.cpu, 0.0),
                "regret": float(regret.mean()),
                "regret_se": float(regret.std(ddof=1) / math.sqrt(len(regret))),
            }
        files = _with_files(Path(folder), turn)
    least = min((limit.cpu_seconds for limit in limits), default=None)
    return {
        "limit": None
        if least is None
        else {
            "microseconds": least / USERS / TRIALS * 1e6,
            "cpu": least,
            "regret": limits[0].regret_mean,
            "regret_se": limits[0].regret_se,
        },
        "policies": table,
        "run with files": files,
        "numpy": _textbook(),
    }


def _with_files(folder: Path, between: Any) -> dict[str, float]:
    """Return the seconds of `hrprob run` of HR-UCB alone, in a process that has its programs."""
    import hrprob
    from hrprob.io.config import Experiment
    from hrprob.io.run import run_experiment

    experiment = Experiment(hrprob.Problem(), {"HR-UCB": hr_ucb()}, users=USERS, trials=TRIALS)
    _, later = second(lambda: run_experiment(experiment, folder / "result"), 3, between)
    return {"microseconds": later.cpu / USERS / TRIALS * 1e6, "cpu": later.cpu, "wall": later.wall}


def _textbook() -> dict[str, float]:
    """Return the seconds of HR-UCB as one would first write it: the sample is kept, and every user refits from it."""
    from scipy.stats import norm

    rng, users = np.random.default_rng(0), _TEXTBOOK_USERS
    theta, phi = np.array([0.6, 0.5, 0.5, 0.3]), np.array([0.5, 0.2, 0.8, 0.9])

    def play() -> None:
        rows, outcomes = np.zeros((5 * users, 4)), np.zeros(5 * users)
        size, estimates = 0, (np.zeros(4), np.zeros(4))
        inverse = np.eye(4)
        for user in range(1, users + 1):
            x = rng.normal(size=(20, 4))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            beta = rng.uniform(-1, 1)
            w = np.maximum(x @ estimates[1] + 2, 0.01)
            bonus = 26.03 * np.sqrt(np.einsum("ai,ij,aj->a", x, inverse, x))
            chosen = x[np.argmax(1 / norm.cdf((beta - x @ estimates[0]) / np.sqrt(w)) + bonus)]
            outcome = np.inf
            while outcome >= beta:
                outcome = theta @ chosen + math.sqrt(phi @ chosen + 2) * rng.normal()
                if size < 5 * user:
                    rows[size], outcomes[size], size = chosen, outcome, size + 1
            sample, seen = rows[:size], outcomes[:size]
            inverse = np.linalg.inv(sample.T @ sample + np.eye(4))
            mean = inverse @ (sample.T @ seen)
            estimates = mean, inverse @ (sample.T @ ((seen - sample @ mean) ** 2 - 2))

    # The cost of a user grows with the sample; it is that of the first users.
    return {"users": users, **measured(play).over(users)}
