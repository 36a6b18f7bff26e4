"""Priors of one's own: which are refused, and how they are fitted and found again."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.models import make_prior, priors


class Shy(priors.Uniform):
    """A prior of one's own: φ is uniform, and θ near 0."""

    def theta(self, setting):
        return priors.NormalBall(setting.bounds.theta, 0.1, setting.dimension)

    def log_tilt(self, theta, phi, setting):
        return -0.5 * jnp.sum(theta**2, axis=-1) / (0.1 * setting.bounds.theta) ** 2


class Wide(priors.Uniform):
    """A prior beyond the bounds."""

    def phi(self, setting):
        return priors.UniformBall(2.0 * setting.bounds.phi, setting.dimension)


def test_a_prior_beyond_the_bounds_is_refused(table, monkeypatch):
    monkeypatch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
    prior = priors.register("wide")(type("Wide", (Wide,), {"__doc__": Wide.__doc__}))()
    for engine in ("laplace", "nuts", "svi", "smc"):
        with pytest.raises(InvalidInput, match="`phi` on a ball of radius in") as complaint:
            hrprob.fit(table, engine, prior=prior)
        assert complaint.value.field == "prior"


def test_a_prior_that_is_no_record_is_refused(table):
    with pytest.raises(InvalidInput, match=r"priors\.register\('a-name'\) above the class Shy") as complaint:
        hrprob.fit(table, "laplace", prior=Shy())
    assert complaint.value.field == "prior"


def test_a_prior_of_ones_own_is_found_by_its_name(posterior, tmp_path, monkeypatch):
    path = tmp_path / "posterior.nc"
    with monkeypatch.context() as patch:
        patch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
        prior = priors.register("shy")(type("Shy", (Shy,), {"__doc__": Shy.__doc__}))()
        assert make_prior("shy") == prior
        with pytest.raises(InvalidInput, match="it belongs to Shy"):
            priors.register("shy")(priors.Gaussian)
        target = dataclasses.replace(posterior.target, prior=prior)
        dataclasses.replace(posterior, target=target).save(path, pointwise=False)
        assert hrprob.Posterior.load(path).target.prior == prior
    with pytest.raises(InvalidInput, match="import the module that registers it") as complaint:
        hrprob.Posterior.load(path)
    assert complaint.value.field == "prior.kind"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["laplace", pytest.param("svi", marks=pytest.mark.study)])
def test_a_prior_of_ones_own_is_fitted(engine, table, monkeypatch):
    monkeypatch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
    priors.register("shy")(type("Shy", (Shy,), {"__doc__": Shy.__doc__}))
    # So wide a normal density is flat over the ball to 1e-9.
    same = {"kind": "gaussian", "theta_share": 0.1, "phi_share": 3e4}
    own, known = (hrprob.fit(table, engine, prior=prior) for prior in ("shy", same))
    np.testing.assert_allclose(own.theta, known.theta, rtol=0, atol=1e-5)
    np.testing.assert_allclose(own.phi, known.phi, rtol=0, atol=1e-5)
