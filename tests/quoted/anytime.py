"""How often likelihood-ratio sets ever miss the truth: all n from 10 to 10 000 at once, by design, outcome and predictive.

A whole refresh takes about two CPU hours. ``python -m tests.quoted.anytime NOISE/DESIGN/PREDICTIVE …`` plays single cases and records
each as it ends (two predictives, ``glse+laplace``, share the data sets); `python -m tests.quoted texts` then rewrites the table. A case
takes a CPU minute, with ``laplace`` and outcomes that are not normal three or four: these then enter round by round, because stays as
rows are padded to the longest. There the predictive is fitted less often and has fewer draws; how often is in the record.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import hrprob
from hrprob.estimation.likelihood_ratio.paths import Paths, log_ratio_paths
from hrprob.models import Setting, Stays, model_for_noise
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Rounds
from hrprob.simulation.data_sets import Truths, gather, gather_blocks

FIRST, LAST = 10, 10_000
DELTAS = (0.1, 0.05)
DESIGNS = {
    "fixed": hrprob.Random(),
    "greedy": hrprob.Greedy(),
    "hr-ucb": hrprob.HRUCB(),
    "thompson": hrprob.Thompson(engine={"kind": "laplace", "points": 0}, refit=1.3),
}
# The default predictive, which policies use, is played for the outcomes that they are for.
PREDICTIVES = {"normal": ("weighted", "glse", "laplace")}
NOISES = {
    "normal": hrprob.Normal(),
    "student-t": hrprob.StudentT(5.0),
    "mixture": hrprob.Mixture(),
    "truncated-normal": hrprob.TruncatedNormal(3.0, 0.05),
}
LAPLACE = {"kind": "laplace", "engine": {"kind": "laplace", "points": 0}}
# The promise does not depend on how well the predictive approximates the posterior.
STAYS, ROUNDS = {"draws": 64, "refit": 1.5}, {"draws": 16, "refit": 3.0}
RECORD = Path(__file__).parents[2] / "experiments" / "reference" / "quoted" / "anytime.json"
# Most rounds of a stay that enter, a stopping rule; more users than LAST rounds take on any of these designs.
CAP, USERS = 16, 8192


def settings(predictive: str, noise: str) -> dict:
    """Return what is not at its default in a predictive for these outcomes."""
    if predictive != "laplace":
        return {}
    return STAYS if noise == "normal" else ROUNDS


def missed(noise: str, design: str, predictives=("glse", "laplace"), sets: int = 1024, seed: int = 7) -> dict:
    """Return how often each predictive's set ever missed the truth, with the sizes that were played."""
    problem = hrprob.Problem(noise=NOISES[noise])
    model, setting = model_for_noise(problem.noise), Setting(problem.dimension)
    truths = Truths(np.tile(problem.theta, (sets, 1)), np.tile(problem.phi, (sets, 1)))
    options = {"users": USERS, "seed": seed, "cap": CAP, "enough": LAST, "singles": noise != "normal"}
    found: dict[str, list] = {name: [] for name in predictives}
    for block in gather_blocks(problem, DESIGNS[design], truths, **options):
        data = block.of_kind(model.data)
        for name in predictives:
            some, predictive = (
                (first_rounds(data), LAPLACE | settings(name, noise)) if name == "laplace" else (data, name)
            )
            found[name].append(log_ratio_paths(predictive, some, model, setting, *block.truths))
    return {name: _summary(paths) | settings(name, noise) for name, paths in found.items()}


def first_rounds(data: Stays | Rounds) -> Stays | Rounds:
    """Return the first LAST rounds of several data sets: single outcomes one per row, stays up to the row that completes them.

    Stays are cut to a multiple of 256 rows, so that blocks share a program; rows beyond LAST rounds are not looked at.
    """
    if isinstance(data, Stays):
        most = int((np.cumsum(data.rounds, axis=1) < LAST).sum(axis=1).max()) + 1
        return Stays(*(np.asarray(leaf)[:, : capacity_for(most)] for leaf in data))
    there = np.asarray(data.weight) > 0
    x = [np.repeat(own, some.sum(axis=1), axis=0)[:LAST] for own, some in zip(data.x, there, strict=True)]
    r = np.stack([own[some][:LAST] for own, some in zip(data.r, there, strict=True)])
    return Rounds(np.stack(x), r[..., None], np.ones((*r.shape, 1)))


def _summary(several: list[Paths]) -> dict:
    """Return the shares that were ever missed, whether each is at most nominal + 2 se, and how long the data sets are."""
    ever = np.concatenate(
        [np.stack([paths.ever_missed(delta, FIRST, LAST) for delta in DELTAS]) for paths in several], axis=1
    )
    rounds = np.concatenate([np.minimum(paths.rounds[:, -1], LAST) for paths in several])
    allowed = [delta + 2 * (delta * (1 - delta) / len(rounds)) ** 0.5 for delta in DELTAS]
    return {
        "missed": ever.mean(axis=1).tolist(),
        "within": [bool(share <= most) for share, most in zip(ever.mean(axis=1), allowed, strict=True)],
        "sets": len(rounds),
        "rounds": {"least": float(rounds.min()), "mean": float(rounds.mean())},
    }


def widths(sets: int = 20, replications: int = 400, n: int = 1000) -> dict:
    """Return how wide the set is after n rounds that greedy picked in the paper's setting, and errors at that n."""
    problem = hrprob.Problem()
    truths = Truths(*(np.tile(truth, (replications, 1)) for truth in (problem.theta, problem.phi)))
    data = gather(problem, hrprob.Greedy(), truths, users=640, seed=3, cap=np.inf).stays
    data = Stays(*(np.asarray(leaf) for leaf in data))
    rows = [int(np.searchsorted(np.cumsum(rounds), n)) + 1 for rounds in data.rounds]
    several = [Stays(*(leaf[number, :last] for leaf in data)) for number, last in enumerate(rows)]
    contexts = np.random.default_rng(0).normal(size=(4, problem.dimension))
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    errors, along = zip(*(_glse_errors(stays, problem.phi, contexts) for stays in several), strict=True)
    pointwise = 2.0 * np.quantile(np.abs(along), 0.9, axis=0)
    found: dict = {"n": n, "sets": sets, "pointwise_radius": float(np.quantile(errors, 0.9))}
    for predictive in ("glse", "weighted"):
        radii, shares = [], []
        for stays in several[:sets]:
            known = hrprob.LikelihoodRatioSet(predictive=predictive).update(stays)
            radii.append(known.phi_radius())
            intervals = np.array([known.variance_interval(x) for x in contexts])
            shares.append((intervals[:, 1] - intervals[:, 0]) / pointwise)
        found[predictive] = {
            "radius": _mean_and_se(radii),
            "largest_radius": float(np.max(radii)),
            "variance_interval": _mean_and_se(np.mean(shares, axis=1)),
            "largest_variance_interval": float(np.max(np.mean(shares, axis=0))),
        }
    print(found, flush=True)
    return found


# What is added to or multiplied with standard normal noise: outcomes that the set for normal ones is wrong about.
WRONG = {
    "Student-t, 5 degrees of freedom": lambda rng, size: rng.standard_t(5.0, size) * 0.6**0.5,
    "Student-t, 3 degrees of freedom": lambda rng, size: rng.standard_t(3.0, size) * 3.0**-0.5,
    "means higher by 0.1 sd": lambda rng, size: rng.normal(size=size) + 0.1,
    "means higher by 0.2 sd": lambda rng, size: rng.normal(size=size) + 0.2,
    "variances 1.5 times as large": lambda rng, size: rng.normal(size=size) * 1.5**0.5,
}
# Data sets, those in which θ* and φ* are tested one by one, and at which n.
WRONG_SETS, TESTED_SETS, TESTED_ROUNDS = 256, 32, 10_000


def misspecified(sets: int = WRONG_SETS, tested: int = TESTED_SETS) -> dict:
    """Return how often sets for normal outcomes miss (θ*, φ*) where outcomes are not such, and which part they exclude.

    Served is, of three contexts on the sphere, the one with the largest θ*ᵀx: contexts as a policy prefers them, not balanced ones.
    """
    problem, found = hrprob.Problem(), {}
    truth, setting = (problem.theta, problem.phi), Setting(problem.dimension)
    for name, noise in WRONG.items():
        rng = np.random.default_rng(11)
        x = rng.normal(size=(sets, LAST, 3, problem.dimension))
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        best = np.argmax(x @ truth[0], axis=-1)[..., None, None]
        x = np.take_along_axis(x, best, axis=2)[:, :, 0]
        r = x @ truth[0] + np.sqrt(2.0 + x @ truth[1]) * noise(rng, x.shape[:2])
        data = Stays(x, np.ones(r.shape), r, r * r)  # type: ignore[arg-type]
        tiled = (np.tile(part, (sets, 1)) for part in truth)
        paths = log_ratio_paths("glse", data, model_for_noise(problem.noise), setting, *tiled)
        part = slice(TESTED_ROUNDS)
        excluded = np.mean([_excluded(x[i, part], r[i, part], truth) for i in range(tested)], axis=0)
        found[name] = {
            "sets": sets,
            "missed": {
                str(n): float(paths.ever_missed(DELTAS[0], FIRST, n).mean()) for n in (100, 1000, LAST)
            },
            "tested": tested,
            "excluded": dict(zip(("theta", "phi"), map(float, excluded), strict=True)),
        }
        print(name, found[name], flush=True)
    return found


def _excluded(x: np.ndarray, r: np.ndarray, truth) -> list[bool]:
    """Return whether the set has no pair with θ*, and none with φ*."""
    known = hrprob.LikelihoodRatioSet(delta=DELTAS[0], predictive="glse").fit(x, r)
    hypotheses = hrprob.Stated(theta=truth[0]), hrprob.Stated(phi=truth[1])
    return [known.test(one).p_value < DELTAS[0] for one in hypotheses]


def _glse_errors(stays: Stays, phi: np.ndarray, contexts: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the error of the GLSE's φ in the norm of V, and its errors along contexts; λ = 1, f(z) = z + 2."""
    x, rounds, total, squares = stays
    V = x.T @ (rounds[:, None] * x) + np.eye(len(phi))
    u = x @ np.linalg.solve(V, x.T @ total)
    residuals = squares - 2 * u * total + rounds * u * u
    away = np.linalg.solve(V, x.T @ (residuals - 2.0 * rounds)) - phi
    return float(np.sqrt(away @ V @ away)), contexts @ away


def _mean_and_se(values) -> dict:
    return {"mean": float(np.mean(values)), "se": float(np.std(values, ddof=1) / len(values) ** 0.5)}


OTHERS = {"widths": widths, "misspecified": misspecified}
# Keys of the record under which there are several cases.
CELLS = {*NOISES, *DESIGNS}


def record_case(case: str) -> None:
    """Play one case, NOISE/DESIGN/PREDICTIVE or several predictives joined by +, and put it into the record.

    ``widths`` and ``misspecified`` are cases too.
    """
    begin = time.process_time()
    if case in OTHERS:
        put({case: OTHERS[case]()})
        print(case, f"{time.process_time() - begin:.0f} CPU s", flush=True)
        return
    noise, design, predictives = case.split("/")
    found = missed(noise, design, predictives.split("+"))
    print(case, found, f"{time.process_time() - begin:.0f} CPU s", flush=True)
    put({noise: {design: found}})


def put(found: dict) -> None:
    """Put values into the record, beside those of other cases."""
    from tests.quoted.sources import rounded

    def into(old: dict, new: dict) -> None:
        for key, value in new.items():
            if key in CELLS and isinstance(value, dict):
                into(old.setdefault(key, {}), value)
            else:
                old[key] = value

    content = json.loads(RECORD.read_text(encoding="utf-8"))
    into(content["values"], rounded(found))
    RECORD.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def anytime(folder=None, sets: int = 1024) -> dict:
    """Return the shares of data sets in which the truth was ever missed, by outcome, design and predictive.

    1024 data sets are whole blocks of `gather_blocks`, so that all have one shape.
    """
    found: dict = {"deltas": DELTAS, "first": FIRST, "last": LAST} | {
        name: one() for name, one in OTHERS.items()
    }
    for noise in NOISES:
        found[noise] = {}
        for design in DESIGNS:
            begin = time.process_time()
            found[noise][design] = missed(noise, design, PREDICTIVES.get(noise, ("glse", "laplace")), sets)
            print(noise, design, found[noise][design], f"{time.process_time() - begin:.0f} CPU s", flush=True)
    return found


if __name__ == "__main__":
    for case in sys.argv[1:]:
        record_case(case)
