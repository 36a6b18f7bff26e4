"""What the promise of the likelihood-ratio set costs: regret and growth, in the paper's setting and on `one-set`."""

from pathlib import Path

import hrprob
from hrprob.comparison.estimates import ratio_of_means
from hrprob.comparison.growth import sublinear
from hrprob.io import config

SUITE = Path(__file__).parents[2] / "experiments" / "suite"

POLICIES = {
    "likelihood-ratio": hrprob.HRUCBExact(radius="likelihood-ratio"),
    "likelihood-ratio-0.4": hrprob.HRUCBExact(radius="likelihood-ratio", scale=0.4),
    "calibrated": hrprob.HRUCB(radius="calibrated"),
    "released": hrprob.HRUCB(),
    "thompson": hrprob.Thompson(),
    "greedy": hrprob.Greedy(),
    "random": hrprob.Random(),
}
SIZES = {"paper": (29_001, 20), "one-set": (10_000, 40)}


def problems() -> dict:
    """Return the paper's setting and the suite's problem with one fixed set of contexts."""
    data = config.read_data(SUITE / "one-set.toml") | {"policy": [{"kind": "random"}]}
    return {"paper": hrprob.Problem(), "one-set": config.from_data(data, SUITE).problem}


def validity(folder=None) -> dict:
    """Return last regrets, ratios to the likelihood-ratio set, and whether its regret is sublinear, by problem."""
    return {name: summary(play(name, problem, POLICIES)) for name, problem in problems().items()}


def play(name: str, problem, policies: dict):
    """Return the regrets of policies, every fiftieth user."""
    users, trials = SIZES[name]
    return hrprob.simulate(problem, policies, users=users, trials=trials, seed=0, keep=50).regret


def summary(run) -> dict:
    """Return what is recorded of the regrets (policy, trial, user) on one problem."""
    last = {str(policy): run.sel(policy=policy).isel(user=-1).values for policy in run.policy.values}
    found: dict = {
        "users": int(run.user[-1]),
        "trials": run.sizes["trial"],
        "regret": {},
        "ratio": {},
        "sublinear": {},
    }
    for policy, values in last.items():
        found["regret"][policy] = {
            "mean": float(values.mean()),
            "se": float(values.std(ddof=1) / len(values) ** 0.5),
        }
        ratio = ratio_of_means(values, last["likelihood-ratio"])
        found["ratio"][policy] = {"mean": ratio.mean, "low": ratio.low, "high": ratio.high}
        growth = sublinear(run.user.values, run.sel(policy=policy).values, run.sel(policy="random").values)
        found["sublinear"][policy] = growth.verdict
    return found
