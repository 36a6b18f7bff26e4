"""How far laplace, smc and svi are from nuts on data that Thompson sampling gathered, and whether nuts is sound.

``python -m tests.diagnostics.accuracy`` prints the tables for 10, 30, 100, 1000 and 10000 users.
"""

import math
from typing import NamedTuple

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np

import hrprob
from hrprob._core.precision import double_precision
from hrprob.diagnostics.posteriors import draws_of
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import export, sample_posterior
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior
from hrprob.simulation.data_sets import gather
from hrprob.simulation.truths import Truths

DRAWS = 4000
SETS = 5
SIZES = (10, 30, 100, 1000, 10000)
PROBLEM = hrprob.Problem()
TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting.of(PROBLEM))


def gathered(users, sets=SETS, seed=0):
    truths = Truths(np.tile(PROBLEM.theta, (sets, 1)), np.tile(PROBLEM.phi, (sets, 1)))
    return gather(PROBLEM, hrprob.Thompson(), truths, users=users, seed=seed, cap=math.inf).stays


@jax.jit
def _draws(engine, data, key):
    z = draws_of(engine, TARGET, data, key, DRAWS)
    return jnp.concatenate(TARGET.coefficients(z), axis=-1)


def data_set(stays, number, users):
    return Stays(*(jnp.asarray(leaf[number, :users]) for leaf in stays))


def draws(engine, stays, number, users):
    """Draws of θ and φ, (draws, 2d)."""
    with double_precision():
        data = data_set(stays, number, users)
        return np.asarray(_draws(make_engine(engine), data, jax.random.key(number)))


class Reference(NamedTuple):
    """Draws of nuts, and its diagnostics."""

    draws: np.ndarray  # (draws, 2d)
    divergences: int
    rhat: float  # the largest of θ and φ
    ess: float  # the least of θ and φ, bulk


def by_nuts(stays, number, users):
    with double_precision():
        data = data_set(stays, number, users)
        found = sample_posterior(make_engine("nuts"), TARGET, data, jax.random.key(number), DRAWS)
    tree = export(found)
    both = np.concatenate([found.theta, found.phi], axis=-1)
    return Reference(
        both.reshape(-1, both.shape[-1]),
        int(found.statistics["diverging"].sum()),
        max(float(values.max()) for values in arviz_stats.rhat(tree).data_vars.values()),
        min(float(values.min()) for values in arviz_stats.ess(tree, method="bulk").data_vars.values()),
    )


def compare(engine, stays, users, references):
    """Shift in standard deviations of the references and ratio of standard deviations, (sets, 2d) each."""
    pairs = [(draws(engine, stays, number, users), one.draws) for number, one in enumerate(references)]
    shift = [np.abs(a.mean(0) - b.mean(0)) / b.std(0) for a, b in pairs]
    ratio = [a.std(0) / b.std(0) for a, b in pairs]
    return np.array(shift), np.array(ratio)


def line(users, engine, shift, ratio):
    """One line of the table."""
    d = shift.shape[1] // 2
    parts = (shift[:, :d], shift[:, d:])
    ends = [f"{part.min():.2f}–{part.max():.2f}" for part in (ratio[:, :d], ratio[:, d:])]
    return (
        f"{users:6d} {engine:8s} {parts[0].max():.3f} {parts[1].max():.3f}   "
        f"{parts[0].mean():.3f} {parts[1].mean():.3f}   {ends[0]}  {ends[1]}"
    )


def health(users, references):
    """One line on nuts."""
    divergences = sum(one.divergences for one in references)
    worst, least = max(one.rhat for one in references), min(one.ess for one in references)
    return f"{users:6d} nuts     {divergences} divergences, R-hat ≤ {worst:.4f}, bulk ESS ≥ {least:.0f}"


def main(sizes=SIZES):
    stays = gathered(max(sizes))
    print("users  engine   largest shift θ  φ     mean shift θ  φ      ratios of sds θ               φ")
    for users in sizes:
        references = [by_nuts(stays, number, users) for number in range(SETS)]
        print(health(users, references), flush=True)
        for engine in ("laplace", "smc", "svi"):
            print(line(users, engine, *compare(engine, stays, users, references)), flush=True)


if __name__ == "__main__":
    main()
