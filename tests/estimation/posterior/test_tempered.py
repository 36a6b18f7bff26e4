"""A power of the likelihood: the target, and the engines that follow it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.records import with_fields
from hrprob.estimation.posterior import smc_integrated
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior, pad, rounds, stays

SETTING = Setting(dimension=2)
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.7, 0.7, size=(12, 2))
R = RNG.normal(size=12)
USERS = np.repeat(np.arange(6), 2)
TEMPER = 0.4


def tempered(model: str) -> tuple[Target, Target]:
    """Return a target, and the same with a power of the likelihood."""
    plain = Target(make_model(model), make_prior("gaussian"), SETTING)
    return plain, with_fields(plain, temper=TEMPER)


@pytest.mark.parametrize("model", ["gaussian", "student-t"])
def test_only_the_likelihood_is_tempered(model: str) -> None:
    plain, target = tempered(model)
    with double_precision():
        z = jnp.asarray(RNG.normal(size=4))
        data = jax.tree.map(jnp.asarray, rounds(X, R))
        none = jax.tree.map(lambda leaf: leaf[:0], data)
        log_density = jax.jit(lambda target, data: target.log_density(z, data))
        prior = log_density(plain, none)
        wanted = prior + TEMPER * (log_density(plain, data) - prior)
        np.testing.assert_allclose(log_density(target, data), wanted, rtol=1e-12)
        coefficients = [part[None] for part in jax.jit(target.coefficients)(z)]
        of_row = jax.jit(lambda row: target.row_at_many(row, *coefficients)[0])
        of_rows = [of_row(jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], data)) for i in range(len(R))]
        np.testing.assert_allclose(prior + np.sum(of_rows), wanted, rtol=1e-12)


def scaled() -> tuple[Stays, Stays]:
    """Return stays, and stays whose likelihood is theirs to the power: fewer rounds with the same means."""
    once_more = np.repeat(X[::2], 2, axis=0)
    seen = jax.tree.map(jnp.asarray, stays(once_more, R, user=USERS))
    return seen, Stays(seen.x, *(TEMPER * leaf for leaf in seen[1:]))


@pytest.mark.slow
def test_laplace_fits_the_tempered_posterior() -> None:
    plain, target = tempered("gaussian")
    engine = Laplace(points=0)
    with double_precision():
        seen, fewer = scaled()
        rows = seen.x.shape[0]
        fit = jax.jit(lambda target, data: engine.fit(target, [(pad(data, 64), rows)], engine.init(target)))
        for one, other in zip(fit(target, seen), fit(plain, fewer), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8)


def test_particles_have_tempered_weights() -> None:
    plain, target = tempered("gaussian")
    with double_precision():
        seen, fewer = scaled()
        z, given = jax.jit(lambda key: smc_integrated.start(target, key, 3))(jax.random.key(0))
        rows = seen.x.shape[0]
        posterior = jax.jit(lambda target, data: smc_integrated.posterior(target, [(data, rows)], z))
        absorb = jax.jit(lambda target, stay: smc_integrated.absorb(target, z, given, stay))
        whole, alone = posterior(target, seen), posterior(plain, fewer)
        jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-10), whole, alone)
        stay, less = (jax.tree.map(lambda leaf: leaf[0], data) for data in (seen, fewer))
        jax.tree.map(
            lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-10),
            absorb(target, stay),
            absorb(plain, less),
        )


def test_a_policy_tempers_its_posterior() -> None:
    with double_precision():
        bound = hrprob.Thompson(temper=TEMPER).bind(hrprob.Problem(), 10)
        assert bound.target.temper == TEMPER
        assert hrprob.Thompson().bind(hrprob.Problem(), 10).target.temper is None
