"""Posteriors of many data sets are those of each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.diagnostics.posteriors import checkpoints, draws_of, moments_of, posteriors
from hrprob.estimation.posterior.engines import make_engine
from hrprob.models import Stays

from .toy import PROBLEM, TARGET, toy


@pytest.mark.study
@pytest.mark.parametrize("kind", ["laplace", "svi"])
def test_side_by_side_and_one_by_one_are_the_same(kind):
    engine = make_engine({"kind": kind, "points": 0} if kind == "laplace" else {"kind": kind, "steps": 300})
    data, _ = toy(sets=3)
    early, late = posteriors(engine, TARGET, data.stays, [4, 9], draws=300)
    assert early.phi.shape == late.theta.shape == (3, 300, 2)
    with double_precision():
        one = Stays(*(jnp.asarray(leaf[1, :9]) for leaf in data.stays))
        z = jax.jit(lambda data: draws_of(engine, TARGET, data, jax.random.key(5), 300))(one)
        alone = np.asarray(TARGET.coefficients(z)[1])
    # Independent draws from one normal: means differ by a few errors of √(2/300) standard deviations.
    away = (late.phi[1].mean(axis=0) - alone.mean(axis=0)) / alone.std(axis=0)
    assert np.abs(away).max() < 4.5 * np.sqrt(2 / 300)
    # More users, less spread.
    assert late.phi.std(axis=1).mean() < early.phi.std(axis=1).mean()


def test_moments_are_those_of_the_setting():
    data, found = toy(sets=2)
    u, w = moments_of(TARGET, found[4], data.fresh)
    assert u.shape == w.shape == (2, 199, 5)
    np.testing.assert_allclose(u[1, 7], data.fresh[1] @ found[4].theta[1, 7])
    np.testing.assert_allclose(w[1, 7], PROBLEM.link(data.fresh[1] @ found[4].phi[1, 7]))


def test_checkpoints_begin_at_the_first():
    assert checkpoints(100)[0] == 10
    assert checkpoints(100)[-1] <= 100
    assert checkpoints(12, first=10) == [10, 11]
