"""How often likelihood-ratio sets ever miss the truth: all n from 10 to 10 000 at once, by design, outcome and predictive."""

import time

import numpy as np

import hrprob
from hrprob.estimation.likelihood_ratio.paths import log_ratio_paths
from hrprob.models import Setting, model_for_noise
from hrprob.simulation.data_sets import Truths, gather_blocks

FIRST, LAST = 10, 10_000
DELTAS = (0.1, 0.05)
DESIGNS = {
    "fixed": hrprob.Random(),
    "greedy": hrprob.Greedy(),
    "hr-ucb": hrprob.HRUCB(),
    "thompson": hrprob.Thompson(engine={"kind": "laplace", "points": 0}, refit=1.3),
}
NOISES = {
    "normal": hrprob.Normal(),
    "student-t": hrprob.StudentT(5.0),
    "mixture": hrprob.Mixture(),
    "truncated-normal": hrprob.TruncatedNormal(3.0, 0.05),
}
LAPLACE = {"kind": "laplace", "engine": {"kind": "laplace", "points": 0}, "draws": 64, "refit": 1.5}
# Rows that the predictive `laplace` follows at most: a fit costs as much as all earlier rows.
LAPLACE_ROWS = 1024
# Most rounds of a stay that enter, a stopping rule; more users than LAST rounds take on any of these designs.
CAP, USERS = 16, 8192


def missed(noise: str, design: str, sets: int, seed: int = 7) -> dict:
    """Return how often each predictive's set ever missed the truth, with sizes."""
    problem = hrprob.Problem(noise=NOISES[noise])
    model, setting = model_for_noise(problem.noise), Setting(problem.dimension)
    truths = Truths(np.tile(problem.theta, (sets, 1)), np.tile(problem.phi, (sets, 1)))
    options = {"users": USERS, "seed": seed, "cap": CAP, "enough": LAST, "singles": noise != "normal"}
    ever: dict[str, list] = {"glse": [], "laplace": []}
    reached: dict[str, list] = {"glse": [], "laplace": []}
    for block in gather_blocks(problem, DESIGNS[design], truths, **options):
        data = block.of_kind(model.data)
        for name, predictive, rows in (("glse", "glse", None), ("laplace", LAPLACE, LAPLACE_ROWS)):
            some = type(data)(*(np.asarray(leaf)[:, :rows] for leaf in data))
            paths = log_ratio_paths(predictive, some, model, setting, *block.truths)
            ever[name].append(np.stack([paths.ever_missed(delta, FIRST, LAST) for delta in DELTAS]))
            reached[name].append(np.minimum(paths.rounds[:, -1], LAST))
    found = {}
    for name in ever:
        share, rounds = np.concatenate(ever[name], axis=1).mean(axis=1), np.concatenate(reached[name])
        allowed = [delta + 2 * (delta * (1 - delta) / sets) ** 0.5 for delta in DELTAS]
        found[name] = {
            "missed": share.tolist(),
            "within": [bool(a <= b) for a, b in zip(share, allowed, strict=True)],
            "rounds": {"least": float(rounds.min()), "mean": float(rounds.mean())},
        }
    return found


def anytime(
    folder=None, sets: int = 1024
) -> dict:  # whole blocks of `gather_blocks`, so that all have one shape
    """Return the shares of data sets in which the truth was ever missed, by outcome, design and predictive."""
    found: dict = {"sets": sets, "deltas": DELTAS, "first": FIRST, "last": LAST}
    for noise in NOISES:
        found[noise] = {}
        for design in DESIGNS:
            begin = time.process_time()
            found[noise][design] = missed(noise, design, sets)
            print(noise, design, found[noise][design], f"{time.process_time() - begin:.0f} CPU s", flush=True)
    return found
