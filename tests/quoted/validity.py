"""What the promise of the likelihood-ratio set costs: regret and growth, in the paper's setting and on `one-set`."""

import time
from importlib import resources
from pathlib import Path

import hrprob
from hrprob.comparison.estimates import ratio_of_means
from hrprob.comparison.growth import sublinear
from hrprob.io import config

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


def validity(folder=None) -> dict:
    """Return last regrets, ratios to the likelihood-ratio set, and whether its regret is sublinear, by problem."""
    found: dict = {}
    with resources.as_file(resources.files("hrprob.experiments")) as shipped:
        one_set = config.read(Path(shipped) / "suite" / "one-set.toml").problem
    for name, problem in {"paper": hrprob.Problem(), "one-set": one_set}.items():
        users, trials = SIZES[name]
        begin = time.process_time()
        run = hrprob.simulate(problem, POLICIES, users=users, trials=trials, seed=0, keep=50).regret
        last = {policy: run.sel(policy=policy).isel(user=-1).values for policy in POLICIES}
        found[name] = {"users": users, "trials": trials, "regret": {}, "ratio": {}, "sublinear": {}}
        for policy, values in last.items():
            found[name]["regret"][policy] = {
                "mean": float(values.mean()),
                "se": float(values.std(ddof=1) / trials**0.5),
            }
            ratio = ratio_of_means(values, last["likelihood-ratio"])
            found[name]["ratio"][policy] = {"mean": ratio.mean, "low": ratio.low, "high": ratio.high}
            growth = sublinear(
                run.user.values, run.sel(policy=policy).values, run.sel(policy="random").values
            )
            found[name]["sublinear"][policy] = growth.verdict
        print(name, found[name], f"{time.process_time() - begin:.0f} CPU s", flush=True)
    return found
