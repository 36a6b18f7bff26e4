"""Every noise but the normal against mpmath, down to probabilities of 1e-300 or to the end of its support."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.models import MODELS as ALL_MODELS
from hrprob.models import Model, make_model
from hrprob.noise import NORMAL, FromDistribution, Mixture, Noise, Normal, StudentT, TruncatedNormal

NOISES: dict[str, tuple[Noise, list[float]]] = {
    "t": (StudentT(df=5.0), [-1e50, -1e9, -50.0, -4.0, -1.0, 0.7, 6.0]),
    "t, nearly no variance": (StudentT(df=2.05), [-1e100, -30.0, -1.0, 0.2, 3.0]),
    "t, nearly normal": (StudentT(df=1000.0), [-50.0, -20.0, -5.0, -0.5, 0.1, 4.0]),
    "truncated": (TruncatedNormal(width=2.0), [-2.2735, -2.27, -2.0, -1.0, -0.1, 0.5, 2.2]),
    "truncated, nearly uniform": (TruncatedNormal(width=0.1), [-1.732, -1.7, -0.9, 0.0, 1.5]),
    "truncated, nearly normal": (TruncatedNormal(width=9.0), [-8.9999, -8.7, -6.0, -1.0, 0.3, 5.0]),
    "with an edge": (TruncatedNormal(width=3.0, edge=0.05), [-4.5, -3.2, -3.04, -3.0, -1.0, 0.4, 3.3]),
    "with a soft edge": (TruncatedNormal(width=0.5, edge=1.0), [-20.0, -3.0, -0.5, 0.1, 2.0]),
    "two peaks": (Mixture(weight=0.5, gap=1.9), [-11.0, -3.0, -1.0, 0.0, 0.8, 3.0]),
    "skewed": (Mixture(weight=0.1, gap=2.5, ratio=0.4), [-12.0, -5.0, -2.3, 0.0, 1.0, 4.0]),
    "spread": (Mixture(weight=0.3, gap=0.0, ratio=4.0), [-60.0, -9.0, -1.0, 0.1, 2.0]),
}
CASES = pytest.mark.parametrize("case", NOISES)


@pytest.fixture(autouse=True)
def digits():
    """40 digits here, without touching what other tests are computed with."""
    with mpmath.workdps(40):
        yield


def exact(noise, z):
    """Ψ(z) and ψ(z) to 40 digits, by other formulas than those of hrprob."""
    return {StudentT: _exact_t, TruncatedNormal: _exact_truncated, Mixture: _exact_mixture}[type(noise)](
        noise, mpmath.mpf(float(z))
    )


def _exact_t(noise, z):
    nu = mpmath.mpf(noise.df)
    scale = mpmath.sqrt((nu - 2) / nu)
    t = z / scale
    below = mpmath.betainc(nu / 2, mpmath.mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2
    norm = mpmath.gamma((nu + 1) / 2) / mpmath.gamma(nu / 2) / mpmath.sqrt(nu * mpmath.pi)
    return (below if t < 0 else 1 - below), norm * (1 + t * t / nu) ** (-(nu + 1) / 2) / scale


@functools.cache
def _moments_of_truncated(b, edge):
    density = functools.partial(_raw_truncated, b, edge)
    ends = [-b - 12 * edge / mpmath.sqrt(1 + edge**2), -b, 0] if edge else [-b, 0]
    mass = 2 * mpmath.quad(density, ends)
    return mass, mpmath.sqrt(2 * mpmath.quad(lambda e: e * e * density(e), ends) / mass)


def _raw_truncated(b, edge, e):
    over = max(abs(e) - b, 0)
    if over and not edge:
        return mpmath.mpf(0)
    return mpmath.exp(-e * e / 2 - ((over / edge) ** 2 / 2 if edge else 0))


def _exact_truncated(noise, z):
    b, edge = mpmath.mpf(noise.width), mpmath.mpf(noise.edge)
    mass, deviation = _moments_of_truncated(b, edge)
    density = functools.partial(_raw_truncated, b, edge)
    e = z * deviation
    if e > 0:
        below, above = _exact_truncated(noise, -z)
        return 1 - below, above
    # Beyond the cut a piece of a normal density, whose mass 40 digits hold; quadrature within.
    q = edge / mpmath.sqrt(1 + edge**2)
    piece = mpmath.sqrt(2 * mpmath.pi) * q * mpmath.exp(-(1 - q * q) * b * b / 2)
    below = piece * mpmath.ncdf((min(e, -b) + (1 - q * q) * b) / q) if edge else mpmath.mpf(0)
    below += mpmath.quad(density, [-b, (e - b) / 2, e]) if e > -b else 0
    return below / mass, density(e) * deviation / mass


def _exact_mixture(noise, z):
    p, gap, ratio = (mpmath.mpf(value) for value in (noise.weight, noise.gap, noise.ratio))
    upper = mpmath.sqrt((1 - p * (1 - p) * gap**2) / (p * ratio**2 + 1 - p))
    parts = [(p, -(1 - p) * gap, ratio * upper), (1 - p, p * gap, upper)]
    below = sum(w * mpmath.erfc(-(z - m) / s / mpmath.sqrt(2)) / 2 for w, m, s in parts)
    density = sum(w * mpmath.npdf(z, m, s) for w, m, s in parts)
    return below, density


def error(value, wanted):
    return float(abs(mpmath.mpf(float(value)) / wanted - 1))


@jax.jit
def everything(noise, z):
    """Values and derivatives, one program a kind."""
    slopes = [jax.vmap(jax.grad(f))(z) for f in (noise.cdf, noise.log_cdf, noise.reciprocal_cdf)]
    second = jax.vmap(jax.grad(jax.grad(noise.reciprocal_cdf)))(z)
    values = noise.cdf(z), noise.log_cdf(z), noise.reciprocal_cdf(z), noise.pdf(z), noise.log_pdf(z)
    return *values, *slopes, second


def computed(noise, points):
    with double_precision():
        padded = np.append(points, np.zeros(8 - len(points)))
        return [np.asarray(row)[: len(points)] for row in everything(noise, jnp.asarray(padded))]


@CASES
def test_values_and_slopes_are_right_in_the_tails(case):
    noise, points = NOISES[case]
    names = ("cdf", "log_cdf", "inverse", "pdf", "log_pdf", "cdf'", "log_cdf'", "inverse'")
    for place, z in enumerate(points):
        below, density = exact(noise, z)
        hazard = density / below
        wanted = (below, mpmath.log(below), 1 / below, density, mpmath.log(density))
        for name, row, right in zip(
            names, computed(noise, points), (*wanted, density, hazard, -hazard / below), strict=False
        ):
            # Probabilities are exponentials of logarithms of up to 700, each right to 1e-16; close to a wall,
            # the distance from it is what rounding leaves of a difference.
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


@pytest.mark.parametrize("case", UPPER)
def test_what_lies_above_keeps_its_digits(case):
    noise, points = UPPER[case], [-3.0, 0.0, 0.5, 1.7, 5.0, 8.0, 8.4, 12.0, 30.0]
    with double_precision():
        above = np.asarray(noise.survival(np.array(points)))
        slope = np.asarray(jax.vmap(jax.grad(noise.survival))(jnp.asarray(points)))
    for z, value in zip(points, above, strict=True):
        wanted = exactly_above(noise, z)
        if wanted < 1e-300:
            assert value == pytest.approx(float(wanted), abs=1e-300)
        else:
            assert error(value, wanted) < 1e-12, z
    np.testing.assert_allclose(slope, -np.asarray(noise.pdf(points)), rtol=1e-11, atol=1e-305)


def test_above_a_distribution_that_may_be_skewed_is_the_rest():
    with double_precision():
        scale = 6**0.5 / np.pi
        noise = FromDistribution(dist.Gumbel(-np.euler_gamma * scale, scale))
        z = np.array([-1.0, 2.0, 30.0])
        assert not noise.symmetric
        np.testing.assert_array_equal(noise.survival(z), 1.0 - np.asarray(noise.cdf(z)))


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
def test_draws_have_the_law(case):
    noise, n = NOISES[case][0], 20_000
    with double_precision():
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, n // 20 + 1, dtype=jnp.uint32))
        draws, later = (np.asarray(part) for part in _draw(noise, source))
    assert draws.shape == (n // 20, 10, 2)
    assert draws.dtype == np.float64
    # A Kolmogorov-Smirnov test at a level of 1e-4, with a fixed seed.
    assert stats.kstest(draws.ravel(), noise.cdf).pvalue > 1e-4
    # A round's noise is its own, wherever the drawing began.
    np.testing.assert_array_equal(later, draws[:, 6:])


def test_nobody_leaves_below_the_support():
    noise = TruncatedNormal(width=2.0)
    end = -2.0 / float(noise.shape.deviation)
    assert noise.cdf(end - 1e-6) == 0.0
    assert noise.log_cdf(end - 1e-6) == -np.inf
    assert noise.reciprocal_cdf(end - 1e-6) == np.inf
    assert np.isfinite(noise.reciprocal_cdf(end + 1e-6))
    assert noise.pdf([end - 1e-6, -end + 1e-6]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("noise", "like"),
    [(TruncatedNormal(width=30.0), NORMAL), (StudentT(df=1e9), NORMAL), (Mixture(gap=0.0), NORMAL)],
    ids=lambda noise: noise.kind,
)
def test_the_normal_is_a_limit_of_all(noise, like):
    z = np.linspace(-8.0, 8.0, 33)
    # The t with 1e9 degrees differs from the normal by z⁴/4e9 of a tail.
    np.testing.assert_allclose(noise.reciprocal_cdf(z), like.reciprocal_cdf(z), rtol=2e-6)


@pytest.mark.parametrize("noise", [Mixture(), Mixture(ratio=3.0), Mixture(ratio=0.2)])
def test_the_wider_component_is_the_tail(noise):
    with double_precision():
        wider = max(map(float, noise.components()[1]))
        traced = jax.jit(lambda noise: noise.tail)(noise)
    assert np.asarray(noise.components()).dtype == np.float64
    assert float(noise.tail) == pytest.approx(wider, rel=1e-15)
    assert float(traced) == pytest.approx(wider, rel=1e-15)


def test_quantile_undoes_cdf():
    # The wall is at a probability of 0.023, from which what lies beyond must differ by more than rounding.
    probability = np.array([1e-6, 1e-4, 0.3, 0.5, 0.8, 1 - 1e-6])
    for width, edge in ((2.0, 0.0), (3.0, 0.05), (0.5, 1.0)):
        noise = TruncatedNormal(width, edge)
        np.testing.assert_allclose(noise.cdf(noise.quantile(probability)), probability, rtol=1e-9)


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
        draws = noise.draw(source, 4)
    given = (noise.cdf(z), noise.log_cdf(z), noise.reciprocal_cdf(z), noise.pdf(z), noise.overshoot(z))
    for numbers in (*given, noise.survival(z), draws, noise.tail, noise.fourth_moment):
        assert not np.any(np.isnan(np.asarray(numbers, dtype=float)))


def test_parameters_are_arguments_of_a_compiled_program():
    with double_precision():
        lifetime = jax.jit(lambda noise, z: noise.reciprocal_cdf(z))
        for noise in (StudentT(df=3.0), StudentT(df=7.0)):
            assert float(lifetime(noise, -2.0)) == pytest.approx(float(noise.reciprocal_cdf(-2.0)), rel=1e-13)
        assert lifetime._cache_size() == 1


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


class Bare(dist.Distribution):
    """A distribution of which nothing is known, its moments included."""


def test_a_distribution_without_cdf_is_refused():
    with double_precision():
        noise = FromDistribution(Bare())
        with pytest.raises(InvalidInput, match="`cdf`"):
            noise.reciprocal_cdf(0.0)


def affine(distribution, location, scale):
    """Transformed without a word about its domain, so that its support says nothing."""
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


def test_moments_that_are_not_known_are_not_checked():
    # A distribution through a bent transform has none.
    bent = dist.TransformedDistribution(dist.Normal(0.0, 1.0), dist.transforms.SoftplusTransform())
    assert FromDistribution(bent).lowest == 0.0
    # Single precision is near enough, and what is traced cannot be looked at.
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
        # exp(e)/√(e² − e) less its mean, e normal: LogNormal is itself transformed.
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
def test_outside_its_support_a_distribution_is_certain(name):
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


@pytest.mark.parametrize(("u", "w"), [(-0.5, 0.25), (0.2, 0.4), (0.0, 1.0)])
def test_averages_over_levels_where_outcomes_end(u, w):
    # Ψ is (z + √3)/√12 between ±√3, so both averages are elementary.
    noise, root = FromDistribution(dist.Uniform(-(3**0.5), 3**0.5)), 3**0.5 * w**0.5
    low, high = max(-1.0, u - root), min(1.0, u + root)
    above = max(0.0, 1.0 - max(high, -1.0))
    part = ((high - u + root) ** 2 - (low - u + root) ** 2) / (4 * root)
    redrawn = hrprob.RedrawnLevels(hrprob.UniformLevels(-1.0, 1.0)).rounds(u, w, np.nan, noise)
    assert float(redrawn) == pytest.approx(2.0 / (part + above), rel=1e-8)
    if u - root < -1.0:
        hidden = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)).rounds(u, w, np.nan, noise)
        stays = 2 * root * np.log((high - u + root) / (low - u + root))
        assert float(hidden) == pytest.approx((stays + above) / 2.0, rel=1e-8)


class NeedsMore(dist.Distribution):
    """A distribution that NumPyro leaves to another package."""

    def icdf(self, value):
        raise ImportError("please install more")


def test_a_distribution_that_needs_another_package_is_one_line():
    with double_precision():
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, 3, dtype=jnp.uint32))
        with pytest.raises(
            InvalidInput, match=r"`icdf` can be computed here, got 'NeedsMore'.*please install more"
        ):
            FromDistribution(NeedsMore()).draw(source, 2)


@pytest.mark.parametrize(
    "distribution",
    [dist.Uniform(-(3**0.5), 3**0.5), affine(dist.Uniform(0.0, 1.0), -(3**0.5), 12**0.5)],
    ids=lambda distribution: type(distribution).__name__,
)
def test_levels_below_all_outcomes_of_a_distribution_are_refused(distribution):
    noise = FromDistribution(distribution)
    with pytest.raises(InvalidInput, match="some users would never leave"):
        hrprob.Problem(noise=noise, satisfaction=hrprob.HiddenLevels(hrprob.UniformLevels(-3.0, 1.0)))
    hrprob.Problem(noise=noise, satisfaction=hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)))


def test_the_normal_has_a_log_density():
    np.testing.assert_allclose(np.exp(Normal().log_pdf([-3.0, 0.0])), NORMAL.pdf([-3.0, 0.0]), rtol=1e-15)


MODELS = [
    {"kind": "gaussian"},
    {"kind": "student-t", "df": 3.5},
    {"kind": "truncated-normal", "width": 1.5},
    {"kind": "mixture", "weight": 0.2, "gap": 2.0, "ratio": 0.5},
]


def test_every_model_is_here():
    assert {model["kind"] for model in MODELS} == set(ALL_MODELS.kinds())


@pytest.mark.parametrize("table", MODELS, ids=lambda table: table["kind"])
def test_a_model_and_its_noise_are_one_distribution(table):
    model, z, u, w = make_model(table), np.array([-2.0, -0.3, 1.0]), 0.4, 2.5
    with double_precision():
        density = jax.jit(lambda model, r: model.outcome(jnp.asarray(u), jnp.asarray(w)).log_prob(r))
        got = np.exp(np.asarray(density(model, jnp.asarray(u + w**0.5 * z)))) * w**0.5
    np.testing.assert_allclose(model.noise.pdf(z), got, rtol=1e-12)


def test_a_model_of_a_few_lines_has_a_noise():
    class Twice(Model):
        kind = "twice"

        def outcome(self, u, w):
            return dist.Laplace(u, jnp.sqrt(w / 2))

    wanted = stats.laplace(scale=0.5**0.5)
    assert float(Twice().noise.cdf(-1.5)) == pytest.approx(wanted.cdf(-1.5), rel=1e-14)
