"""Priors: their distributions, and the checks of a prior of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from scipy import stats

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.models import (
    Setting,
    make_prior,
    priors,
)
from hrprob.problem import Affine, Bounds

SETTING = Setting(dimension=3, link=Affine(1.0, 2.0), bounds=Bounds(1.0, 2.0))


@pytest.mark.slow
@pytest.mark.parametrize("d", [3])
def test_draws_from_priors_follow_their_densities(d):
    setting = Setting(dimension=d)
    key = jax.random.key(3)
    with double_precision():
        lengths = jnp.linalg.norm(
            jax.jit(lambda key: make_prior("uniform").phi(setting).sample(key, (5000,)))(key), axis=-1
        )
        assert stats.kstest((np.asarray(lengths) / 2) ** d, "uniform").pvalue > 1e-4
        cut = make_prior({"kind": "gaussian", "phi_share": 0.3})
        draws = np.asarray(jax.jit(lambda key: cut.phi(setting).sample(key, (5000,)))(key))
        free = np.random.default_rng(0).normal(scale=0.6, size=(40000, d))
        kept = free[np.linalg.norm(free, axis=1) <= 2][:5000]
        assert stats.ks_2samp(np.linalg.norm(draws, axis=1), np.linalg.norm(kept, axis=1)).pvalue > 1e-4
        # The tilt is the density relative to the uniform prior: their difference is constant.
        flat = make_prior("uniform")
        theta = flat.theta(setting).sample(key, (5,))
        phi = flat.phi(setting).sample(key, (5,))
        apart = cut.theta(setting).log_prob(theta) + cut.phi(setting).log_prob(phi)
        assert np.ptp(np.asarray(apart - cut.log_tilt(theta, phi, setting))) < 1e-12
        assert np.all(np.isneginf(cut.phi(setting).log_prob(3.0 * jnp.eye(d))))


class Wide(priors.Uniform):
    """A ball beyond the bounds."""

    def phi(self, setting):
        return priors.UniformBall(1.5 * setting.bounds.phi, setting.dimension)


class Flat(priors.Uniform):
    """No ball at all: engines would use the draws as coordinates of one."""

    def theta(self, setting):
        return numpyro.distributions.Normal(0.0, 0.1).expand([setting.dimension]).to_event(1)


class Short(priors.Uniform):
    """A ball in too few dimensions."""

    def theta(self, setting):
        return priors.UniformBall(setting.bounds.theta, setting.dimension - 1)


class TwoFaced(priors.Uniform):
    """A normal distribution for engines that run programs, a uniform one for the others."""

    def theta(self, setting):
        return priors.NormalBall(setting.bounds.theta, 0.2, setting.dimension)


class Summed(TwoFaced):
    """One number for however many θ."""

    def log_tilt(self, theta, phi, setting):
        return -0.5 * jnp.sum(theta**2) / 0.2**2


class Sound(TwoFaced):
    """What the two above should have been."""

    def log_tilt(self, theta, phi, setting):
        return -0.5 * jnp.sum(theta**2, axis=-1) / 0.2**2


class Bare(priors.Uniform):
    """A radius in place of a distribution."""

    def theta(self, setting):
        return setting.bounds.theta


class Long(TwoFaced):
    """A number for each entry of θ."""

    def log_tilt(self, theta, phi, setting):
        return -0.5 * theta**2 / 0.2**2


class Cut(priors.Uniform):
    """Too few numbers."""

    def log_tilt(self, theta, phi, setting):
        return jnp.zeros(2)


class Unset(priors.Uniform):
    """A method that does not take the setting."""

    def log_tilt(self, theta, phi):
        return 0.0


class Silent(priors.Uniform):
    """A method that forgets to return."""

    def log_tilt(self, theta, phi, setting):
        return None


class Worded(priors.Uniform):
    """A parameter that is no number."""

    share = "half"

    def phi(self, setting):
        return priors.NormalBall(setting.bounds.phi, self.share, setting.dimension)


class Misspelt(priors.Uniform):
    """An attribute that does not exist."""

    def theta(self, setting):
        return priors.UniformBall(setting.bound.theta, setting.dimension)


class Particular(priors.Uniform):
    """A complaint of its own."""

    def theta(self, setting):
        raise InvalidInput("prior", "must be asked in two dimensions", setting.dimension, "take two")


class Level(priors.Uniform):
    """One number, the same everywhere."""

    def log_tilt(self, theta, phi, setting):
        return 0.0


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (Bare(), "`theta` on a ball in 3 dimensions, got 'float'"),
        (Long(), r"`log_tilt` of shape \(5,\) for θ and φ of shape \(5, 3\), got \(5, 3\)"),
        (Cut(), r"`log_tilt` of shape \(5,\) .* got \(2,\)"),
        (Unset(), "a `log_tilt` as in .*: TypeError: .* positional arguments"),
        (Silent(), "a `log_tilt` as in .*: (Type|Value)Error: None"),
        (Worded(), "a `phi` as in .*: (Type|Value)Error: .+"),
        (Misspelt(), "a `theta` as in .*: AttributeError: .*'bound'"),
        (Particular(), "must be asked in two dimensions, got 3: take two"),
        (Wide(), r"`phi` on a ball of radius in \(0, 2\], got 3.0: raise `bounds.phi`"),
        (Flat(), "`theta` on a ball in 3 dimensions"),
        (Short(), "`theta` on a ball in 3 dimensions"),
        (TwoFaced(), "a `log_tilt` that agree"),
        (Summed(), "a `log_tilt` that agree"),
    ],
    ids=lambda case: type(case).__name__,
)
def test_a_prior_whose_densities_disagree_is_refused(prior, words):
    with pytest.raises(InvalidInput, match=words) as complaint:
        priors.check_prior(prior, SETTING)
    assert complaint.value.field == "prior"
    assert "\n" not in str(complaint.value)


def test_a_prior_whose_densities_agree_is_accepted():
    for prior in (Sound(), Level(), priors.Uniform(), priors.Gaussian(0.2, 0.3)):
        priors.check_prior(prior, SETTING)
