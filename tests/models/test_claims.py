"""What models and priors say of themselves holds for subclasses that change nothing, and for no others."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob.estimation.posterior import smc_integrated
from hrprob.estimation.posterior.target import Target
from hrprob.models import Gaussian, Setting, priors
from hrprob.models.base import normal_given_phi

SETTING = Setting(dimension=2)


class SameModel(Gaussian):
    pass


class HeavierModel(Gaussian):
    def row_log_likelihood(self, data: object, u: jax.Array, w: jax.Array) -> jax.Array:
        return -jnp.abs(u) / w


class SamePrior(priors.Uniform):
    pass


class TiltedPrior(priors.Uniform):
    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        return jnp.sum(theta, axis=-1)


class RestatedPrior(TiltedPrior):
    def theta_precision(self, setting: Setting) -> float:
        return 2.0


def test_a_model_keeps_its_claim_until_its_likelihood_changes() -> None:
    assert normal_given_phi(Gaussian())
    assert normal_given_phi(SameModel())
    assert not normal_given_phi(HeavierModel())


def test_a_prior_keeps_its_claims_until_its_density_changes() -> None:
    assert priors.is_uniform(SamePrior())
    assert not priors.is_uniform(TiltedPrior())
    assert priors.theta_precision(SamePrior(), SETTING) == 0.0
    assert priors.theta_precision(TiltedPrior(), SETTING) is None
    assert priors.theta_precision(RestatedPrior(), SETTING) == 2.0


def test_theta_is_integrated_out_only_where_both_say_that_it_can_be() -> None:
    served = {
        (model, prior): smc_integrated.serves(Target(model(), prior(), SETTING))
        for model in (SameModel, HeavierModel)
        for prior in (SamePrior, TiltedPrior)
    }
    assert [pair for pair, serves in served.items() if serves] == [(SameModel, SamePrior)]
