"""What forgetting gains where the truth drifts, and what it costs where it does not."""

from pathlib import Path

import numpy as np
from scipy.stats import t as student

import hrprob
from hrprob.io import config

FILE = Path(__file__).parents[2] / "experiments" / "drift" / "rotating.toml"
DRIFTS = {
    "turns once in 20 000 users": hrprob.Rotating(20000.0),
    "jumps every 5 000 users": hrprob.Abrupt(5000.0),
    "wanders, a new direction every 5 000 users": hrprob.Wandering(5000.0),
    "stays": None,
}
WAYS = ("discount", "window")


def ratio(forgetting, remembering):
    """Return the ratio of two means over the same trials with its 95 % interval, by the delta method on logarithms."""
    quotient = forgetting.mean() / remembering.mean()
    relative = forgetting / forgetting.mean() - remembering / remembering.mean()
    half = student.ppf(0.975, len(relative) - 1) * relative.std(ddof=1) / np.sqrt(len(relative))
    return {"mean": quotient, "low": quotient * np.exp(-half), "high": quotient * np.exp(half)}


def difference(forgetting, remembering):
    """Return the paired difference of the means with its 95 % interval."""
    pairs = forgetting - remembering
    half = student.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / np.sqrt(len(pairs))
    return {"mean": pairs.mean(), "low": pairs.mean() - half, "high": pairs.mean() + half}


def forgetting(folder) -> dict:
    """Return regrets, paired differences and ratios, by drift, policy and way of forgetting."""
    experiment, values = config.read(FILE), {}
    for words, drift in DRIFTS.items():
        problem = experiment.problem.replace(drift=drift)
        result = hrprob.simulate(
            problem,
            experiment.policies,
            users=experiment.users,
            trials=experiment.trials,
            seed=experiment.seed,
        )
        last = {
            str(name): result.regret.sel(policy=name).isel(user=-1).values for name in result.policy.values
        }
        values[words] = {
            base: {
                "remembering": {
                    "mean": last[base].mean(),
                    "se": last[base].std(ddof=1) / np.sqrt(len(last[base])),
                }
            }
            | {
                way: {
                    "mean": last[f"{base}, {way}"].mean(),
                    "se": last[f"{base}, {way}"].std(ddof=1) / np.sqrt(len(last[base])),
                    "difference": difference(last[f"{base}, {way}"], last[base]),
                    "ratio": ratio(last[f"{base}, {way}"], last[base]),
                }
                for way in WAYS
            }
            for base in ("greedy", "hr-ucb-weighted")
        }
    return values
