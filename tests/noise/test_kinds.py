"""Every noise but the normal against mpmath, down to probabilities of 1e-300 or to the end of its support."""

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
from hrprob.noise import NORMAL, FromDistribution, Mixture, Normal, StudentT, TruncatedNormal
from tests.noise.exact import NOISES, computed, error, exact

# Accuracy to the last digits is that of optimised code.
pytestmark = pytest.mark.optimised

CASES = pytest.mark.parametrize("case", NOISES)


@pytest.fixture(autouse=True)
def digits():
    """40 digits here, without touching what other tests are computed with."""
    with mpmath.workdps(40):
        yield


@CASES
def test_values_and_slopes_are_accurate_in_the_tails(case):
    noise, points = NOISES[case]
    names = ("cdf", "log_cdf", "inverse", "pdf", "log_pdf", "cdf'", "log_cdf'", "inverse'")
    for place, z in enumerate(points):
        below, density = exact(noise, z)
        hazard = density / below
        wanted = (below, mpmath.log(below), 1 / below, density, mpmath.log(density))
        for name, row, right in zip(
            names, computed(noise, points), (*wanted, density, hazard, -hazard / below), strict=False
        ):
            # Probabilities are exponentials of logarithms of up to 700, each accurate to 1e-16; close to a hard cut,
            # the distance from it is a difference that loses digits.
            assert error(row[place], right) < 2e-12, (name, z)


UPPER = {case: noise for case, (noise, _) in NOISES.items()} | {
    "normal": NORMAL,
    "symmetric distribution": FromDistribution(dist.Logistic(0.0, 3**0.5 / np.pi)),
}


def exactly_above(noise, z):
    if isinstance(noise, Normal):
        return mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2
    if isinstance(noise, FromDistribution):
        return 1 / (1 + mpmath.exp(mpmath.mpf(z) / mpmath.mpf(float(noise.distribution.scale))))
    if isinstance(noise, Mixture):
        # Its mirror image is a mixture too.
        mirrored = Mixture(1 - noise.weight, noise.gap, 1 / noise.ratio)
        return exact(mirrored, -z)[0]
    return exact(noise, -z)[0]


@jax.jit
def upper(noise, z):
    return noise.survival(z), jax.vmap(jax.grad(noise.survival))(z), noise.pdf(z)


@pytest.mark.parametrize("case", UPPER)
def test_survival_is_accurate_in_the_upper_tail(case):
    noise, points = UPPER[case], [-3.0, 0.0, 0.5, 1.7, 5.0, 8.0, 8.4, 12.0, 30.0]
    with double_precision():
        above, slope, density = map(np.asarray, upper(noise, jnp.asarray(points)))
    for z, value in zip(points, above, strict=True):
        wanted = exactly_above(noise, z)
        if wanted < 1e-300:
            assert value == pytest.approx(float(wanted), abs=1e-300)
        else:
            assert error(value, wanted) < 1e-12, z
    np.testing.assert_allclose(slope, -density, rtol=1e-11, atol=1e-305)


@CASES
def test_second_derivatives(case):
    """Against differences of the first ones, whose own error is that of a step of 1e-5."""
    noise, points = NOISES[case]
    z, step = np.array([point for point in points if -1.6 < point < 4]), 1e-5
    difference = (computed(noise, z + step)[7] - computed(noise, z - step)[7]) / (2 * step)
    np.testing.assert_allclose(computed(noise, z)[8], difference, rtol=1e-4, atol=1e-5)


@CASES
def test_limits(case):
    cdf, log, inverse, *_, slope, _ = computed(NOISES[case][0], [-np.inf, np.inf, np.nan])
    assert cdf[:2].tolist() == [0.0, 1.0]
    assert log[:2].tolist() == [-np.inf, 0.0]
    assert inverse[:2].tolist() == [np.inf, 1.0]
    assert slope[:2].tolist() == [0.0, 0.0]
    assert np.all(np.isnan([cdf[2], log[2], inverse[2]]))


@CASES
def test_mean_0_and_variance_1(case):
    noise = NOISES[case][0]
    # In θ with z = tan θ the whole line is a finite interval; the t's variance converges slowly there.
    places = (np.arange(400_000) + 0.5) / 400_000 * np.pi - np.pi / 2
    z, weight = np.tan(places), np.pi / 400_000 / np.cos(places) ** 2
    mass = noise.pdf(z) * weight
    loose = case == "t, nearly no variance"
    assert mass.sum() == pytest.approx(1.0, abs=1e-5)
    assert (mass * z).sum() == pytest.approx(0.0, abs=1e-8)
    assert (mass * z * z).sum() == pytest.approx(1.0, abs=0.6 if loose else 1e-4)


@jax.jit
def _draw(noise, source):
    return noise.draw(source, 10), noise.draw(source, 4, 6)


@CASES
def test_draws_have_the_distribution(case):
    noise, n = NOISES[case][0], 20_000
    with double_precision():
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, n // 20 + 1, dtype=jnp.uint32))
        draws, later = (np.asarray(part) for part in _draw(noise, source))
    assert draws.shape == (n // 20, 10, 2)
    assert draws.dtype == np.float64
    # A Kolmogorov-Smirnov test at level 1e-4, with a fixed seed.
    assert stats.kstest(draws.ravel(), noise.cdf).pvalue > 1e-4
    # The noise of a round does not depend on the round at which drawing began.
    np.testing.assert_array_equal(later, draws[:, 6:])


@pytest.mark.parametrize(
    ("noise", "like"),
    [(TruncatedNormal(width=30.0), NORMAL), (StudentT(df=1e9), NORMAL), (Mixture(gap=0.0), NORMAL)],
    ids=lambda noise: noise.kind,
)
def test_the_normal_is_a_limit_of_every_noise(noise, like):
    z = np.linspace(-8.0, 8.0, 33)
    # The t with 1e9 degrees differs from the normal by z⁴/4e9 of a tail.
    np.testing.assert_allclose(noise.reciprocal_cdf(z), like.reciprocal_cdf(z), rtol=2e-6)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: StudentT(df=2.0), "df"),
        (lambda: StudentT(df="5"), "df"),
        (lambda: StudentT(df=1e300), "df"),
        (lambda: TruncatedNormal(width=0.0), "width"),
        (lambda: TruncatedNormal(width=1e-160), "width"),
        (lambda: TruncatedNormal(width=1e300), "width"),
        (lambda: TruncatedNormal(edge=-0.1), "edge"),
        (lambda: TruncatedNormal(edge=1e300), "edge"),
        (lambda: Mixture(weight=1.0), "weight"),
        (lambda: Mixture(gap=-1.0), "gap"),
        (lambda: Mixture(ratio=0.0), "ratio"),
        (lambda: Mixture(ratio=1e200), "ratio"),
        (lambda: Mixture(ratio=1e-200), "ratio"),
        (lambda: Mixture(weight=0.5, gap=2.0), "gap"),
    ],
)
def test_bad_parameters_are_named(make, field):
    with pytest.raises(InvalidInput) as complaint:
        make()
    assert complaint.value.field == field


@jax.jit
def numbers_of(noise, z, source):
    """All functions and draws, one program per kind."""
    by_z = (noise.cdf, noise.log_cdf, noise.reciprocal_cdf, noise.pdf, noise.overshoot, noise.survival)
    return *(function(z) for function in by_z), noise.draw(source, 4)


@pytest.mark.parametrize(
    "noise",
    [
        StudentT(df=1e9),
        Mixture(ratio=1e6),
        Mixture(ratio=1e-6),
        TruncatedNormal(1e-6),
        TruncatedNormal(1e6),
        TruncatedNormal(1e-6, 1e6),
        TruncatedNormal(1e6, 1e6),
    ],
    ids=repr,
)
def test_the_most_extreme_parameters_give_numbers(noise):
    z = np.array([-40.0, -8.0, -1.0, 0.0, 0.5, 3.0, 20.0])
    with double_precision():
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, 9, dtype=jnp.uint32))
        given = numbers_of(noise, z, source)
    for numbers in (*given, noise.tail, noise.fourth_moment):
        assert not np.any(np.isnan(np.asarray(numbers, dtype=float)))


def test_parameters_are_arguments_of_a_compiled_program():
    with double_precision():
        lifetime = jax.jit(lambda noise, z: noise.reciprocal_cdf(z))
        for noise in (StudentT(df=3.0), StudentT(df=7.0)):
            assert float(lifetime(noise, -2.0)) == pytest.approx(float(noise.reciprocal_cdf(-2.0)), rel=1e-13)
        assert lifetime._cache_size() == 1
