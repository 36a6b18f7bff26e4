"""NumPyro functions of somebody else as models, with columns of the table."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import log_density

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.fitting.conditioning import model_data
from hrprob.fitting.table import Table, as_table
from hrprob.models import Setting, base, from_numpyro, make_prior, pad


def by_site(mean, variance, site, beta, r=None, tilt=2.0):
    """Outcomes shifted by a site's effect."""
    effect = numpyro.sample("effect", dist.Normal(0.0, 1.0))
    numpyro.sample("r", dist.Laplace(mean + effect * site + 0.0 * beta * tilt, jnp.sqrt(variance / 2)), obs=r)


def of_users(x, theta, phi, user, users, r=None):
    with numpyro.plate("users", users):
        level = numpyro.sample("level", dist.Normal(0.0, 0.5))
    numpyro.sample("r", dist.Normal(x @ theta + level[user], jnp.exp(0.5 * x @ phi)), obs=r)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(base.MODELS, "_classes", dict(base.MODELS._classes))


ROUNDS = {
    "x1": [0.6, 0.0, 0.5, -0.3, 0.2],
    "x2": [0.0, 0.8, 0.5, 0.4, -0.1],
    "r": [0.7, -0.2, 0.4, 1.9, 0.3],
    "user": ["a", "b", "a", "c", "b"],
    "beta": [0.0, 0.1, 0.0, -0.5, 0.1],
    "site": [0.0, 1.0, 1.0, 0.0, 1.0],
}


def test_a_function_has_the_density_that_it_has_elsewhere():
    model = from_numpyro(by_site)
    assert (model.kind, model.columns) == ("by-site", ("site", "beta"))
    columns = hrprob.fitting.columns.Columns(further=model.further_columns)
    table = as_table(ROUNDS, columns)
    assert table.unused == ()
    setting, prior = Setting(2), make_prior("uniform")
    target = hrprob.estimation.posterior.target.Target(model, prior, setting)
    values = {"theta": jnp.asarray([0.3, -0.2]), "phi": jnp.asarray([0.5, 0.9]), "effect": jnp.asarray(0.7)}
    with double_precision():
        data = jax.tree.map(jnp.asarray, model_data(target, table))
        here = log_density(model.conditioned, (data, setting, prior), {}, values)[0]
        wide = log_density(model.conditioned, (pad(data, 16), setting, prior), {}, values)[0]
        u, w = setting.moments(values["theta"], values["phi"], data.x)
        arguments = (u, w, table.further["site"], table.beta, table.r)
        there = log_density(by_site, arguments, {}, {"effect": values["effect"]})[0]
        before = prior.theta(setting).log_prob(values["theta"]) + prior.phi(setting).log_prob(values["phi"])
    assert float(here) == pytest.approx(float(there + before), rel=1e-10)
    # Empty rows, by which data are padded, do not count.
    assert float(wide) == pytest.approx(float(here), rel=1e-10)


@pytest.mark.slow
def test_functions_are_fitted_with_the_columns_that_they_name():
    engine = {"kind": "svi", "steps": 40}
    model = from_numpyro(of_users, users=3)
    posterior = hrprob.fit(ROUNDS, engine, model=model, draws=100)
    assert posterior.sites["level"].shape == (1, 100, 3)
    np.testing.assert_array_equal(posterior.columns["user"], [0, 1, 0, 2, 1])
    assert posterior.to_datatree()["log_likelihood"]["r"].shape == (1, 100, 5)
    with pytest.raises(InvalidInput, match="must do without the column user"):
        posterior.predict([[0.1, 0.2]], beta=0.0)
    with pytest.raises(InvalidInput, match="column of users"):
        hrprob.fit({name: ROUNDS[name] for name in ("x1", "x2", "r")}, engine, model=model)
    with pytest.raises(InvalidInput, match="site"):
        hrprob.fit({name: ROUNDS[name] for name in ("x1", "r", "beta")}, engine, model=from_numpyro(by_site))


def test_what_is_no_such_function_is_refused():
    with pytest.raises(InvalidInput, match="must be a function"):
        from_numpyro("by_site")
    with pytest.raises(InvalidInput, match="named arguments"):
        from_numpyro(lambda *args: None, kind="stars")
    with pytest.raises(InvalidInput, match="must be an argument of the function"):
        from_numpyro(by_site, userz=3)
    with pytest.raises(InvalidInput, match="must need contexts and outcomes only"):
        hrprob.Thompson(model=from_numpyro(of_users, users=3), engine="svi").bind(hrprob.Problem(), 10)


def test_further_columns_are_kept_and_checked():
    table = Table([[0.5], [0.1]], [1.0, 2.0], further={"site": [1, 0]})
    assert table.further["site"].tolist() == [1.0, 0.0]
    with pytest.raises(InvalidInput, match="site"):
        Table([[0.5], [0.1]], [1.0, 2.0], further={"site": [1, float("nan")]})
