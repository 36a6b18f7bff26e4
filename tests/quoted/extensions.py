"""The experiments on the extensions, played, and the differences that their README quotes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray
from scipy import stats

FOLDER = Path(__file__).parents[2] / "experiments" / "extensions"
FILES = sorted(path.stem for path in FOLDER.glob("*.toml"))


class Pair(NamedTuple):
    """A policy of a file, compared with another one, or with itself in another file."""

    name: str
    policy: str
    other_name: str
    other: str
    user: int | None = None  # by default the last

    @property
    def key(self) -> str:
        """The name under which it is recorded."""
        where = self.other if self.name == self.other_name else self.other_name
        return f"{self.name}, {self.policy} − {where}" + (f", user {self.user}" if self.user else "")

    def measure(self, out: Path, other_out: Path) -> dict:
        """Return both mean regrets, and the difference with its 95 % interval: Welch's if they are not paired."""
        ours, theirs = regret(out, self.policy, self.user), regret(other_out, self.other, self.user)
        if np.array_equal(ours, theirs):
            # Equal samples have no t statistic.
            low = high = 0.0
        elif self.name == self.other_name:
            low, high = stats.ttest_rel(ours, theirs).confidence_interval()
        else:
            low, high = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval()
        return {
            "with": float(ours.mean()),
            "without": float(theirs.mean()),
            "mean": float(ours.mean() - theirs.mean()),
            "low": float(low),
            "high": float(high),
        }


# The rows of the README's tables: with the extension and without it, both by file and policy.
_TABLE = [
    ("noise-mixture", "HR-UCB, ψ known", "noise-mixture", "HR-UCB, normal ψ"),
    ("noise-truncated", "HR-UCB, ψ known", "noise-truncated", "HR-UCB, normal ψ"),
    ("noise-student-t", "HR-UCB, ψ known", "noise-student-t", "HR-UCB, normal ψ"),
    ("hidden", "HR-UCB, β averaged over", "hidden", "HR-UCB, mean β"),
    ("hidden", "Greedy, β averaged over", "hidden", "Greedy, mean β"),
    ("redrawn", "HR-UCB, β redrawn", "redrawn", "HR-UCB, β kept"),
    ("reward", "HR-UCB for reward", "reward", "HR-UCB for lifetime"),
    ("reward", "Greedy for reward", "reward", "Greedy for lifetime"),
    ("eager", "HR-UCB, eager", "eager", "HR-UCB, lazy"),
    ("eager", "Greedy, eager", "eager", "Greedy, lazy"),
    ("within-user", "Thompson, one draw per round", "within-user", "Thompson, one draw per user"),
    ("active", "HR-UCB (K=1), informative", "active", "HR-UCB (K=1), first come"),
    ("active", "HR-UCB (K=2), informative", "active", "HR-UCB (K=2), first come"),
    ("active", "Greedy (K=1), informative", "active", "Greedy (K=1), first come"),
    ("infinite", "HR-UCB, ξ = 1", "infinite", "HR-UCB for lifetime"),
    ("infinite", "HR-UCB, ξ = 1", "infinite", "HR-UCB"),
    ("infinite", "HR-UCB, ξ = 1", "infinite", "LinUCB"),
    ("mean-variance", "HR-UCB, risk-averse", "mean-variance", "HR-UCB for reward"),
    ("threshold", "HR-UCB for the threshold", "threshold", "HR-UCB for reward"),
    *(
        (name, policy, reference, policy)
        for name, reference in (
            ("drifting", "independent"),
            ("withholding", "independent"),
            ("function", "independent"),
            ("sequence", "independent-few"),
        )
        for policy in ("HR-UCB", "Greedy", "LinUCB", "Random")
    ),
    *(
        (name, "HR-UCB", name, other)
        for name in ("drifting", "withholding", "function", "sequence")
        for other in ("LinUCB", "Greedy")
    ),
]


# The intervals in the README's text that no table has: a file, two of its policies, after how many users.
_TEXT = [
    ("hidden", "HR-UCB, β averaged over", "HR-UCB, mean β", 10000),
    ("hidden", "Greedy, β averaged over", "Greedy, mean β", 10000),
    ("eager", "HR-UCB, eager", "HR-UCB, lazy", 10),
    ("eager", "HR-UCB, eager", "HR-UCB, lazy", 100),
    ("within-user", "Thompson, one draw per round", "Thompson, one draw per user", 100),
    ("infinite", "HR-UCB, ξ = 1", "Greedy", 30000),
    ("reward", "HR-UCB for reward", "Greedy for reward", 30000),
]

PAIRS = [Pair(*row) for row in _TABLE]
EARLIER = [Pair(name, policy, name, other, user) for name, policy, other, user in _TEXT]


def play(name: str, out: Path, cold: bool = False) -> Path:
    """Play a file in a new process, if asked to without compiled programs of earlier ones; return its folder."""
    environment = dict(os.environ)
    if cold:
        environment = {key: value for key, value in environment.items() if not key.startswith("JAX_")}
        environment["HRPROB_CACHE"] = ""
    command = [sys.executable, "-m", "hrprob.cli", "run", FOLDER / f"{name}.toml", "--out", out]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return out


def regret(out: Path, policy: str, user: int | None = None) -> np.ndarray:
    """Return the regret of all trials, by default after the last user."""
    with xarray.open_dataset(out / "results.nc") as run:
        curve = run.regret.sel(policy=policy)
        return (curve.isel(user=-1) if user is None else curve.sel(user=user)).values


def play_all(folder: Path) -> dict:
    """Play what is not in the folder yet, and return all differences."""
    for name in FILES:
        if not (folder / name / "summary.json").exists():
            play(name, folder / name)
    return {
        "pairs": {
            pair.key: pair.measure(folder / pair.name, folder / pair.other_name)
            for pair in [*PAIRS, *EARLIER]
        },
        "regret": {name: _summary(folder / name, policies) for name, policies in ALONE.items()},
        "spread": {"function": {"Greedy": _spread(regret(folder / "function", "Greedy"))}},
        "until": {name: _until(folder / name) for name in _EARLY},
        "between": {name: _between(folder / name) for name in _EARLY},
        "lifetime": {name: _lifetime(folder / name, policy) for name, policy in STAYS.items()},
        "late rate": {"reward": _late_rate(folder / "reward", "HR-UCB for lifetime")},
    }


# Policies whose regret is quoted by itself, and files of which the regret of early users is.
ALONE = {"sequence": ("LinUCB",)}
_EARLY = ("drifting", "withholding", "independent")
# Policies under which the mean length of a stay is quoted.
STAYS = {"eager": "HR-UCB, lazy", "active": "HR-UCB (K=2), first come"}


def _summary(out: Path, policies: tuple[str, ...]) -> dict:
    return {policy: _over_trials(regret(out, policy)) for policy in policies}


def _over_trials(values: np.ndarray) -> dict:
    return {"mean": float(values.mean()), "se": float(values.std(ddof=1) / len(values) ** 0.5)}


def _lifetime(out: Path, policy: str) -> dict:
    """Return the mean length of a stay."""
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))[policy]["lifetime"]


def _late_rate(out: Path, policy: str) -> dict:
    """Return the regret per thousand users over the last ten thousand of 30 000."""
    return _over_trials((regret(out, policy, 30000) - regret(out, policy, 20000)) / 10)


def _spread(values: np.ndarray) -> dict:
    return {"median": float(np.median(values)), "worst": float(values.max())}


def _until(out: Path) -> dict:
    """Return the mean regret of the first users."""
    return {
        policy: {user: float(regret(out, policy, user).mean()) for user in (2500, 5000)}
        for policy in ("HR-UCB", "Greedy")
    }


def _between(out: Path) -> dict:
    """Return the mean regret of users 5 001 to 10 000."""
    return {
        policy: float((regret(out, policy, 10000) - regret(out, policy, 5000)).mean())
        for policy in ("HR-UCB", "Greedy")
    }
