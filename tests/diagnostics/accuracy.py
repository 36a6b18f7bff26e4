"""How far laplace, smc and svi are from nuts on data that Thompson sampling gathered: the table behind the targets.

``python -m tests.diagnostics.accuracy`` prints it for 10, 30, 100, 1000 and 10000 users.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

import hrprob
from hrprob.diagnostics.posteriors import draws_of
from hrprob.diagnostics.replicate import Truths, gather
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior
from hrprob.precision import double_precision

DRAWS = 4000
SETS = 5
PROBLEM = hrprob.Problem()
TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting.of(PROBLEM))


def gathered(users, sets=SETS, seed=0):
    truths = Truths(np.tile(PROBLEM.theta, (sets, 1)), np.tile(PROBLEM.phi, (sets, 1)))
    return gather(PROBLEM, hrprob.Thompson(), truths, users=users, seed=seed, cap=math.inf).stays


@jax.jit
def _draws(engine, data, key):
    z = draws_of(engine, TARGET, data, key, DRAWS)
    return jnp.concatenate(TARGET.coefficients(z), axis=-1)


def draws(engine, stays, number, users):
    with double_precision():
        data = Stays(*(jnp.asarray(leaf[number, :users]) for leaf in stays))
        return np.asarray(_draws(make_engine(engine), data, jax.random.key(number)))


def compare(engine, stays, users, reference):
    """Shift in standard deviations of the reference and ratio of deviations, (sets, 2d) each."""
    found = [draws(engine, stays, number, users) for number in range(len(reference))]
    shift = [np.abs(a.mean(0) - b.mean(0)) / b.std(0) for a, b in zip(found, reference, strict=True)]
    ratio = [a.std(0) / b.std(0) for a, b in zip(found, reference, strict=True)]
    return np.array(shift), np.array(ratio)


def main(sizes=(10, 30, 100, 1000, 10000)):
    stays = gathered(max(sizes))
    print("users  engine   largest shift θ  φ     mean shift θ  φ      ratios of deviations θ        φ")
    for users in sizes:
        reference = [draws("nuts", stays, number, users) for number in range(SETS)]
        for engine in ("laplace", "smc", "svi"):
            shift, ratio = compare(engine, stays, users, reference)
            d = shift.shape[1] // 2
            parts = (shift[:, :d], shift[:, d:])
            ends = [f"{part.min():.2f}–{part.max():.2f}" for part in (ratio[:, :d], ratio[:, d:])]
            print(
                f"{users:6d} {engine:8s} {parts[0].max():.3f} {parts[1].max():.3f}   "
                f"{parts[0].mean():.3f} {parts[1].mean():.3f}   {ends[0]}  {ends[1]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
