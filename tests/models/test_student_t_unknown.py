"""Student-t outcomes of unknown degrees of freedom: density, prior, and who refuses them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.models import Setting, StudentTUnknown, make_prior, rounds

X = np.array([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5], [-0.3, 0.4]])
R = np.array([0.7, -0.2, 4.0, 1.9])


def test_the_variance_is_that_of_the_link_whatever_the_degrees_of_freedom_are():
    setting, prior, model = Setting(2), make_prior("uniform"), StudentTUnknown()
    theta, phi, df = np.array([0.3, -0.2]), np.array([0.5, 0.9]), 3.7
    with double_precision():
        values = {"theta": jnp.asarray(theta), "phi": jnp.asarray(phi), "df": jnp.asarray(df)}
        data = jax.tree.map(jnp.asarray, rounds(X, R))
        joint = log_density(model.conditioned, (data, setting, prior), {}, values)[0]
        before = prior.theta(setting).log_prob(values["theta"]) + prior.phi(setting).log_prob(values["phi"])
        draws = np.asarray(model.df_prior().sample(jax.random.key(0), (2000,)))
    sd = np.sqrt(X @ phi + 2.0)
    likelihood = stats.t.logpdf(R, df, X @ theta, sd * np.sqrt((df - 2) / df)).sum()
    of_df = stats.gamma.logpdf(df - 2, 2.0, scale=10.0)
    assert float(joint) == pytest.approx(float(before) + likelihood + of_df, rel=1e-9)
    assert draws.min() > 2.0
    assert stats.kstest(draws - 2.0, stats.gamma(2.0, scale=10.0).cdf).pvalue > 1e-4


def test_policies_and_engines_without_programs_refuse_it():
    with pytest.raises(InvalidInput, match="known degrees of freedom in a policy"):
        hrprob.Thompson(model="student-t-unknown", engine="svi").bind(hrprob.Problem(), 10)
    with pytest.raises(InvalidInput, match="more unknowns than θ and φ: df"):
        hrprob.fit((X, R), "laplace", model="student-t-unknown")
