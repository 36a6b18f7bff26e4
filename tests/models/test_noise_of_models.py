"""Every model and its noise are one distribution."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from hrprob._core.precision import double_precision
from hrprob.models import MODELS as ALL_MODELS
from hrprob.models import Model, make_model

MODELS = [
    {"kind": "gaussian"},
    {"kind": "student-t", "df": 3.5},
    {"kind": "truncated-normal", "width": 1.5},
    {"kind": "mixture", "weight": 0.2, "gap": 2.0, "ratio": 0.5},
    {"kind": "user-effect", "correlation": 0.3, "log_sd": 0.5},
]
# Its noise depends on what is unknown.
OPEN = {"student-t-unknown"}


def test_every_model_is_tested():
    assert {model["kind"] for model in MODELS} | OPEN == set(ALL_MODELS.kinds())


@pytest.mark.parametrize("table", MODELS, ids=lambda table: table["kind"])
def test_a_model_and_its_noise_are_one_distribution(table):
    model, z, u, w = make_model(table), np.array([-2.0, -0.3, 1.0]), 0.4, 2.5
    with double_precision():
        density = jax.jit(lambda model, r: model.outcome(jnp.asarray(u), jnp.asarray(w)).log_prob(r))
        got = np.exp(np.asarray(density(model, jnp.asarray(u + w**0.5 * z)))) * w**0.5
        of_noise = jax.jit(lambda noise, z: noise.pdf(z))(model.noise, z)
    np.testing.assert_allclose(of_noise, got, rtol=1e-12)


def test_a_model_of_a_few_lines_has_a_noise():
    class Twice(Model):
        kind = "twice"

        def outcome(self, u, w):
            return dist.Laplace(u, jnp.sqrt(w / 2))

    wanted = stats.laplace(scale=0.5**0.5)
    assert float(Twice().noise.cdf(-1.5)) == pytest.approx(wanted.cdf(-1.5), rel=1e-14)
