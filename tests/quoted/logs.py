"""How often intervals from simulated logs cover the truth, by how the log was made."""

import numpy as np
from scipy.stats import beta

import hrprob
from hrprob.live.evaluation.anytime import anytime_interval
from hrprob.live.evaluation.weights import Target, make_weights
from tests.live.evaluation.simulated import Case, draw_log, target, truth

CASES = {
    "lazy logger, good overlap": Case(False, 0.5),
    "eager logger, good overlap": Case(True, 0.6),
    "lazy logger, poor overlap": Case(False, 0.1),
    "eager logger, poor overlap": Case(True, 0.1),
    "lazy logger, stays cut off": Case(False, 0.5, 0.1),
}
METHODS = ("replay", "ips", "self-normalised", "doubly-robust")
HORIZON, USERS, LOGS = 5, 2000, 200
# Thresholds of refusal were chosen on logs of stream 7.
STREAM = 24


def target_on(log):
    """Return the target's probabilities for every user of a log."""
    rows = [target(contexts, level) for contexts, level in zip(log.contexts, log.beta, strict=True)]
    return Target(np.array(rows), keeps=True)


def share(hits):
    """Return a share with its exact 95 % interval (Clopper and Pearson)."""
    count, n = int(np.sum(hits)), len(hits)
    low = float(beta.ppf(0.025, count, n - count + 1)) if count else 0.0
    high = float(beta.ppf(0.975, count + 1, n - count)) if count < n else 1.0
    return {"logs": n, "share": count / n if n else None, "low": low, "high": high}


def coverage_of(case, logs=LOGS, stream=STREAM):
    """Return the shares of ``logs`` intervals that cover, of those that were not refused, by method."""
    value, covered, always = truth(HORIZON), {method: [] for method in METHODS}, []
    for seed in range(logs):
        log = draw_log(np.random.default_rng([seed, stream]), USERS, case)
        found = hrprob.evaluate(log, target, horizon=HORIZON)
        for method in METHODS:
            one = found[method]
            if one.low is not None:
                covered[method].append(one.low <= value <= one.high)
        if case.censored == 0:
            ends = anytime_interval(log, make_weights(log, target_on(log), HORIZON), HORIZON, 0.95)
            always.append(bool(np.all((ends.low <= value) & (value <= ends.high))))
    shares = {method: share(hits) for method, hits in covered.items()}
    return shares | ({"anytime": share(always)} if always else {})


def logs(folder) -> dict:
    """Return the shares of every case."""
    return {name: coverage_of(case) for name, case in CASES.items()}
