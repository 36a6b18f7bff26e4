"""NumPyro distributions as noise: moments, supports, and what they cannot do."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.noise import FromDistribution
from tests.noise.exact import computed


@pytest.fixture(autouse=True)
def digits():
    """40 digits here, without touching what other tests are computed with."""
    with mpmath.workdps(40):
        yield


@jax.jit
def _draw(noise, source):
    return noise.draw(source, 10), noise.draw(source, 4, 6)


def test_a_distribution_serves_as_noise():
    with double_precision():
        noise = FromDistribution(dist.Laplace(0.0, 0.5**0.5))
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, 1001, dtype=jnp.uint32))
        draws = np.asarray(_draw(noise, source)[0])
    z, wanted = [-3.0, -0.5, 1.0], stats.laplace(scale=0.5**0.5)
    cdf, _, inverse, pdf, *_ = computed(noise, z)
    np.testing.assert_allclose(cdf, wanted.cdf(z), rtol=1e-12)
    np.testing.assert_allclose(pdf, wanted.pdf(z), rtol=1e-12)
    np.testing.assert_allclose(inverse, 1 / wanted.cdf(z), rtol=1e-12)
    assert stats.kstest(draws.ravel(), wanted.cdf).pvalue > 1e-4


def test_survival_of_a_distribution_that_may_be_skewed_is_1_minus_cdf():
    with double_precision():
        scale = 6**0.5 / np.pi
        noise = FromDistribution(dist.Gumbel(-np.euler_gamma * scale, scale))
        z = np.array([-1.0, 2.0, 30.0])
        assert not noise.symmetric
        np.testing.assert_array_equal(noise.survival(z), 1.0 - np.asarray(noise.cdf(z)))


class Bare(dist.Distribution):
    """A distribution of which nothing is known, its moments included."""


def test_a_distribution_without_cdf_is_refused():
    with double_precision():
        noise = FromDistribution(Bare())
        with pytest.raises(InvalidInput, match="`cdf`"):
            noise.reciprocal_cdf(0.0)


def affine(distribution, location, scale):
    """Return an affine transform with no stated domain, so that the support states nothing."""
    return dist.TransformedDistribution(distribution, dist.transforms.AffineTransform(location, scale))


@pytest.mark.parametrize(
    ("distribution", "words"),
    [
        (dist.Gumbel(0.0, 6**0.5 / np.pi), "must have mean 0, got 0.45"),
        (dist.Laplace(0.0, 0.7), "must have variance 1, got 0.9"),
        (dist.Uniform(-1.0, 1.0), "must have variance 1, got 0.3333"),
        (affine(dist.Laplace(0.0, 1.0), 0.5, 2.0), "must have mean 0, got 0.5"),
        (affine(dist.Exponential(1.0), -2.0, 2.0), "must have variance 1, got 4.0"),
        (dist.Cauchy(0.0, 1.0), "must have mean 0, got nan"),
        (dist.StudentT(2.0), "must have variance 1, got inf"),
    ],
)
def test_a_distribution_of_other_moments_is_refused(distribution, words):
    with pytest.raises(InvalidInput, match=words):
        FromDistribution(distribution)


def test_unknown_moments_are_not_checked():
    # Moments through a nonlinear transform are not known.
    bent = dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.SoftplusTransform())
    assert FromDistribution(bent).lowest == 0.0
    # Single precision is accurate enough, and traced moments cannot be checked.
    FromDistribution(dist.Laplace(0.0, np.float32(0.5**0.5)))
    made = jax.jit(lambda scale: FromDistribution(dist.Laplace(0.0, scale)).cdf(0.0))
    assert float(made(3.0)) == 0.5


@pytest.mark.parametrize(
    ("distribution", "lowest"),
    [
        (dist.Laplace(0.0, 0.5**0.5), -np.inf),
        (dist.Uniform(-(3**0.5), 3**0.5), -(3**0.5)),
        (Bare(), -np.inf),
        (affine(dist.Uniform(0.0, 1.0), -(3**0.5), 12**0.5), -(3**0.5)),
        (affine(dist.Uniform(0.0, 1.0), 3**0.5, -(12**0.5)), -(3**0.5)),
        (affine(dist.Exponential(1.0), -1.0, 1.0), -1.0),
        (affine(dist.Exponential(1.0), 1.0, -1.0), -np.inf),
        (affine(dist.Laplace(0.0, 1.0), 0.0, 0.5**0.5), -np.inf),
        # exp(e)/√(e² − e) minus its mean, e normal: LogNormal is itself transformed.
        (
            affine(dist.LogNormal(0.0, 1.0), -((np.e - 1) ** -0.5), (np.e**2 - np.e) ** -0.5),
            -((np.e - 1) ** -0.5),
        ),
        (affine(dist.Exponential(1.0), -1.0, 1.0).expand([1]), -1.0),
        (
            dist.MixtureSameFamily(
                dist.Categorical(np.full(2, 0.5)),
                affine(dist.Uniform(np.zeros(2), 1.0), np.array([0.0, -2.0]), 1.0),
            ),
            -2.0,
        ),
        (
            dist.MixtureGeneral(
                dist.Categorical(np.full(2, 0.5)),
                [affine(dist.Uniform(0.0, 1.0), -3.0, 1.0), affine(dist.Uniform(0.0, 1.0), 0.0, 1.0)],
            ),
            -3.0,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_lowest_draw_is_the_end_of_the_support(distribution, lowest):
    noise = FromDistribution(distribution)
    assert noise.lowest == pytest.approx(lowest, rel=1e-6)
    within_jit = jax.jit(lambda noise: jnp.asarray(noise.lowest))
    assert float(within_jit(noise)) == pytest.approx(lowest, rel=1e-6)


BOUNDED = {
    "exponential": (affine(dist.Exponential(1.0), -1.0, 1.0), stats.expon(loc=-1.0)),
    "mirrored exponential": (affine(dist.Exponential(1.0), 1.0, -1.0), None),
    "uniform": (dist.Uniform(-(3**0.5), 3**0.5), stats.uniform(-(3**0.5), 12**0.5)),
    "gamma": (affine(dist.Gamma(4.0, 2.0), -2.0, 1.0), stats.gamma(4.0, loc=-2.0, scale=0.5)),
    "beta": (
        affine(dist.Beta(2.0, 2.0), -(5**0.5), 2 * 5**0.5),
        stats.beta(2, 2, loc=-(5**0.5), scale=2 * 5**0.5),
    ),
    "weibull": (
        affine(
            dist.Weibull(1.0, 2.0),
            -stats.weibull_min(2).mean() / stats.weibull_min(2).std(),
            1 / stats.weibull_min(2).std(),
        ),
        stats.weibull_min(
            2,
            loc=-stats.weibull_min(2).mean() / stats.weibull_min(2).std(),
            scale=1 / stats.weibull_min(2).std(),
        ),
    ),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_outside_the_support_probabilities_are_0_or_1(name):
    noise, plain = FromDistribution(BOUNDED[name][0]), BOUNDED[name][1]
    z = np.array([-9.0, -2.5, -1.2, -0.3, 0.4, 1.5, 9.0])
    wanted = plain.cdf(z) if plain is not None else 1.0 - stats.expon(loc=-1.0).cdf(-z)
    with double_precision():
        np.testing.assert_allclose(noise.cdf(z), wanted, rtol=1e-6, atol=1e-12)
        density = np.asarray(noise.pdf(z))
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(noise.reciprocal_cdf(z), 1.0 / wanted, rtol=1e-6)
    assert np.all(density[(wanted == 0.0) | (wanted == 1.0)] == 0.0)
    if plain is not None:
        np.testing.assert_allclose(density, plain.pdf(z), rtol=1e-5, atol=1e-12)


class NeedsMore(dist.Distribution):
    """A distribution that NumPyro leaves to another package."""

    def icdf(self, value):
        raise ImportError("please install more")


def test_a_distribution_that_needs_another_package_is_named():
    with double_precision():
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, 3, dtype=jnp.uint32))
        with pytest.raises(
            InvalidInput, match=r"`icdf` can be computed here, got 'NeedsMore'.*please install more"
        ):
            FromDistribution(NeedsMore()).draw(source, 2)
