"""What the promise of the likelihood-ratio set costs: regret and growth, in the paper's setting and on `one-set`.

Beside it, on the same problems, the variants of Thompson sampling. ``python -m tests.quoted.validity`` plays these alone (four CPU
minutes) and records them; `python -m tests.quoted texts` then rewrites the texts.
"""

import json
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
VARIANTS = {
    "thompson": hrprob.Thompson(),
    "feel-good-variance-aware": hrprob.FeelGoodThompson(variance_aware=True),
    "ensemble-sampling": hrprob.EnsembleSampling(),
}
VARIANT_SIZE = 5_000, 20
RECORD = Path(__file__).parents[2] / "experiments" / "reference" / "quoted" / "validity.json"


def problems() -> dict:
    """Return the paper's setting and the suite's problem with one fixed set of contexts."""
    data = config.read_data(SUITE / "one-set.toml") | {"policy": [{"kind": "random"}]}
    return {"paper": hrprob.Problem(), "one-set": config.from_data(data, SUITE).problem}


def validity(folder=None) -> dict:
    """Return last regrets, ratios to the likelihood-ratio set, and whether its regret is sublinear, by problem."""
    found = {name: summary(play(problem, POLICIES, *SIZES[name])) for name, problem in problems().items()}
    return found | {"variants": variants()}


def variants() -> dict:
    """Return the last regrets of the variants of Thompson sampling, and their ratios to Thompson's, by problem."""
    found = {}
    for name, problem in problems().items():
        last = play(problem, VARIANTS, *VARIANT_SIZE).isel(user=-1)
        found[name] = {"users": VARIANT_SIZE[0], "trials": VARIANT_SIZE[1], "regret": {}, "ratio": {}}
        for policy in VARIANTS:
            values = last.sel(policy=policy).values
            ratio = ratio_of_means(values, last.sel(policy="thompson").values)
            found[name]["regret"][policy] = mean_and_se(values)
            found[name]["ratio"][policy] = {"mean": ratio.mean, "low": ratio.low, "high": ratio.high}
        print(name, found[name], flush=True)
    return found


def play(problem, policies: dict, users: int, trials: int):
    """Return the regrets of policies, every fiftieth user."""
    return hrprob.simulate(problem, policies, users=users, trials=trials, seed=0, keep=50).regret


def summary(run) -> dict:
    """Return what is recorded of the regrets (policy, trial, user) on one problem."""
    last = {str(policy): run.sel(policy=policy).isel(user=-1).values for policy in run.policy.values}
    found: dict = {
        "users": int(run.user[-1]),
        "trials": run.sizes["trial"],
        "regret": {},
        "ratio": {},
        "to_calibrated": {},
        "sublinear": {},
    }
    for policy, values in last.items():
        found["regret"][policy] = mean_and_se(values)
        for field, reference in (("ratio", "likelihood-ratio"), ("to_calibrated", "calibrated")):
            ratio = ratio_of_means(values, last[reference])
            found[field][policy] = {"mean": ratio.mean, "low": ratio.low, "high": ratio.high}
        growth = sublinear(run.user.values, run.sel(policy=policy).values, run.sel(policy="random").values)
        found["sublinear"][policy] = growth.verdict
    return found


def mean_and_se(values) -> dict:
    """Return the mean over trials and its standard error."""
    return {"mean": float(values.mean()), "se": float(values.std(ddof=1) / len(values) ** 0.5)}


def record_variants() -> None:
    """Play the variants of Thompson sampling and put them into the record."""
    from tests.quoted.sources import rounded

    content = json.loads(RECORD.read_text(encoding="utf-8"))
    content["values"]["variants"] = rounded(variants())
    RECORD.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record_variants()
