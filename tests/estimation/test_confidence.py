"""The radii compared with their printed formulas."""

import math
from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.estimation.confidence import ConfidenceSets

SETTINGS = {
    "variance_max": 3.3,
    "dimension": 5,
    "ridge": 0.7,
    "slope": 1.6,
    "bound": 1.4,
    "c1": 2.5,
    "c2": 0.6,
    "c3": 3.0,
    "c4": 0.4,
}


PAPER = ConfidenceSets(**SETTINGS)


CORRECTED = ConfidenceSets(**SETTINGS, version="corrected")


def printed(confidence, n, delta, corrected=False):
    """The formulas in plain Python: (α¹, α², α³, ρ) at n and δ."""
    s2, d, lam = confidence.variance_max, confidence.dimension, confidence.ridge
    front = math.sqrt(s2) if corrected else s2

    def alphas(delta):
        a1 = front * math.sqrt(d * math.log((n + lam) / (delta * lam))) + math.sqrt(lam)
        a2 = math.sqrt(2 * d * s2**2 * ((math.log(confidence.c1 / delta) / confidence.c2) ** 2 + 1))
        a3 = math.sqrt(2 * d * s2 * math.log((2 * d if corrected else d) / delta))
        return a1, a2, a3

    b1, b2, b3 = alphas(delta / 3)
    bias = confidence.bound if corrected else confidence.bound**2
    rho = (b1 * (b1 + 2 * b3) + b2) / confidence.slope + bias * math.sqrt(lam)
    return *alphas(delta), rho


@pytest.mark.parametrize(("confidence", "corrected"), [(PAPER, False), (CORRECTED, True)])
@pytest.mark.parametrize(("n", "delta"), [(1, 0.9), (37, 0.1), (150_000, 1e-12)])
def test_radii_are_the_printed_ones(confidence, corrected, n, delta):
    a1, a2, a3, rho = printed(confidence, n, delta, corrected)
    assert float(confidence.alpha1(n, delta)) == pytest.approx(a1, rel=1e-14)
    assert float(confidence.alpha2(delta)) == pytest.approx(a2, rel=1e-14)
    assert float(confidence.alpha3(delta)) == pytest.approx(a3, rel=1e-14)
    assert float(confidence.rho(n, delta)) == pytest.approx(rho, rel=1e-14)
    at_all_n = printed(confidence, n, delta / n**2, corrected)[3]
    assert float(confidence.rho_simultaneous(n, delta)) == pytest.approx(at_all_n, rel=1e-14)
    assert float(confidence.xi(n, delta)) == pytest.approx(3.0 * a1 + 0.4 * at_all_n, rel=1e-14)


@pytest.mark.parametrize(("confidence", "corrected"), [(PAPER, False), (CORRECTED, True)])
def test_regret_bound_is_theorem_3(confidence, corrected):
    users, growth, delta = 3000, 4, 0.2
    xi = float(confidence.xi(growth * users, delta / 3))
    counted = growth * users if corrected else users
    unit = confidence.ridge * confidence.dimension
    expected = math.sqrt(8 * xi**2 * users * confidence.dimension * math.log((counted + unit) / unit))
    expected *= confidence.ridge**-0.5 if corrected else 1.0
    with (
        nullcontext() if corrected else pytest.warns(UserWarning, match="`ridge` is 0.7, below 1: Theorem 3")
    ):
        assert float(confidence.regret_bound(users, delta, growth)) == pytest.approx(expected, rel=1e-14)


def test_known_values():
    confidence = ConfidenceSets(variance_max=4.0, dimension=4, ridge=1.0, bound=2.0)
    radii = confidence.rho_simultaneous(np.array([1e2, 1e3, 1e4, 1e5]), 0.1)
    assert radii.round().tolist() == [2765.0, 3789.0, 4811.0, 5831.0]
    released = ConfidenceSets(variance_max=math.sqrt(0.25 + 0.04 + 0.64 + 0.81) + 2.0, dimension=4)
    assert float(released.alpha1(150_000, 0.1)) == pytest.approx(26.03, abs=0.005)


@given(st.floats(0.01, 10.0), st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_corrected_is_narrower_exactly_where_the_print_is_too_wide(variance_max, n, delta):
    as_printed = ConfidenceSets(variance_max=variance_max, dimension=3)
    corrected = ConfidenceSets(variance_max=variance_max, dimension=3, version="corrected")
    difference = float(as_printed.alpha1(n, delta) - corrected.alpha1(n, delta))
    assert np.sign(round(difference, 12)) == np.sign(round(variance_max - math.sqrt(variance_max), 12))


@given(st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_radii_grow_with_the_sample_size_and_with_confidence(n, delta):
    for confidence in (PAPER, CORRECTED):
        assert confidence.xi(n + 1, delta) > confidence.xi(n, delta)
        assert confidence.xi(n, delta / 2) > confidence.xi(n, delta)


def test_everything_can_be_traced():
    n = np.array([1.0, 10.0, 1e5])
    with double_precision():
        compiled = jax.jit(
            lambda confidence, n, delta: (confidence.xi(n, delta), confidence.regret_bound(n, delta, 5))
        )
        xi, bound = compiled(CORRECTED, jnp.asarray(n), 0.1)
        mapped = jax.vmap(lambda n: CORRECTED.xi(n, 0.1))(jnp.asarray(n))
        inside = jax.jit(lambda y: y + CORRECTED.xi(10, 0.1))(0.0)
    looped = [float(CORRECTED.xi(one, 0.1)) for one in n]
    np.testing.assert_allclose(xi, looped, rtol=1e-14)
    np.testing.assert_allclose(mapped, looped, rtol=1e-14)
    np.testing.assert_allclose(bound, CORRECTED.regret_bound(n, 0.1, 5), rtol=1e-14)
    assert float(inside) == pytest.approx(looped[1], rel=1e-14)


def test_numbers_may_change_without_a_new_compilation():
    traces = []

    @jax.jit
    def width(confidence):
        traces.append(confidence.version)
        return confidence.xi(100, 0.1)

    with double_precision():
        for ridge in (0.5, 1.0, 2.0):
            confidence = ConfidenceSets(variance_max=4.0, dimension=4, ridge=ridge)
            assert float(width(confidence)) == pytest.approx(float(confidence.xi(100, 0.1)), rel=1e-14)
        width(ConfidenceSets(variance_max=4.0, dimension=4, version="corrected"))
    assert traces == ["paper", "corrected"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variance_max": 0.0}, "`variance_max` must be above 0, got 0.0"),
        ({"ridge": -1.0}, "`ridge` must be above 0"),
        ({"bound": math.nan}, "`bound` must be at least 0, got nan"),
        ({"noise_scale": 0.9}, "`noise_scale` must be at least 1, got 0.9"),
        ({"dimension": 2.5}, "`dimension` must be a whole number"),
        ({"version": "printed"}, "`version` must be one of 'paper', 'corrected', 'explicit'"),
    ],
)
def test_unusable_settings_are_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        ConfidenceSets(**{**SETTINGS, **change})


@pytest.mark.parametrize("delta", [0.0, 1.0, 1.2, -0.1, math.nan])
def test_delta_must_be_a_probability(delta):
    for call in (
        lambda: PAPER.alpha1(10, delta),
        lambda: PAPER.alpha2(delta),
        lambda: PAPER.rho(10, delta),
        lambda: PAPER.xi(10, delta),
        lambda: PAPER.regret_bound(10, delta, 5),
    ):
        with pytest.raises(InvalidInput, match=r"`delta` must lie in \(0, 1\)"):
            call()


def test_counts_must_be_at_least_one():
    with pytest.raises(InvalidInput, match="`n` must be at least 1, got 0"):
        PAPER.xi(0, 0.1)
    with pytest.raises(InvalidInput, match="`users`"):
        PAPER.regret_bound(0, 0.1, 5)
    with pytest.raises(InvalidInput, match="`growth`"):
        PAPER.regret_bound(100, 0.1, 0.5)


def test_the_corrected_version_uses_the_bound_of_theta() -> None:
    wide, narrow = (
        ConfidenceSets(4.0, 4, ridge=9.0, bound_theta=bound, version="corrected") for bound in (2.0, 1.0)
    )
    # λ‖θ*‖_{V⁻¹} ≤ √λ·‖θ*‖, and √λ = 3.
    assert float(wide.alpha1(10.0, 0.1) - narrow.alpha1(10.0, 0.1)) == pytest.approx(3.0)
    printed = (ConfidenceSets(4.0, 4, bound_theta=bound).alpha1(10.0, 0.1) for bound in (2.0, 1.0))
    assert float(next(printed)) == float(next(printed))


def test_the_noise_scale_enters_where_the_scale_of_the_noise_stands():
    kappa, n, delta = 1.4, 50, 0.1
    wide = ConfidenceSets(**SETTINGS, version="corrected", noise_scale=kappa)
    bias = math.sqrt(SETTINGS["ridge"])
    assert float(wide.alpha1(n, delta)) - bias == pytest.approx(
        kappa * (float(CORRECTED.alpha1(n, delta)) - bias), rel=1e-14
    )
    assert float(wide.alpha3(delta)) == pytest.approx(kappa * float(CORRECTED.alpha3(delta)), rel=1e-14)
    # The print is about normal noise only.
    as_printed = ConfidenceSets(**SETTINGS, noise_scale=kappa)
    assert float(as_printed.rho(n, delta)) == float(PAPER.rho(n, delta))


def test_noise_without_a_scale_is_refused_by_the_sets_that_need_one():
    for version in ("corrected", "explicit"):
        with pytest.raises(
            InvalidInput, match=r"`noise_scale` must be finite, got inf: this noise has no sub-Gaussian"
        ):
            ConfidenceSets(**SETTINGS, version=version, noise_scale=math.inf)
    ConfidenceSets(**SETTINGS, noise_scale=math.inf)


def test_one_dimension_needs_twice_the_logarithm_of_delta():
    """[2], Theorem 1 and Lemma 10: R²(d ln(1 + n/dλ) + 2 ln(1/δ)) bounds the squared error without its bias."""
    for d in (1, 2, 5):
        confidence = ConfidenceSets(4.0, d, version="corrected")
        for n, delta in ((1, 0.5), (10, 1e-3), (10**5, 0.1)):
            proved = 2.0 * math.sqrt(d * math.log(1 + n / d) + 2 * math.log(1 / delta)) + 1.0
            assert float(confidence.alpha1(n, delta)) >= proved * (1 - 1e-12)
    assert float(ConfidenceSets(4.0, 1).alpha1(1, 1e-6)) - 1 == pytest.approx(
        4 * math.sqrt(math.log(2e6)), rel=1e-12
    )


@pytest.mark.parametrize(("kappa", "v", "c"), [(1.0, 2.0, 2.0), (1.3, 16 * 1.3**4, 2 * 1.3**2)])
def test_explicit_alpha2_is_the_smaller_of_a_basis_and_a_net(kappa, v, c):
    for d, delta in ((1, 0.1), (4, 0.1), (4, 1e-9), (60, 0.01)):
        confidence = ConfidenceSets(3.0, d, version="explicit", noise_scale=kappa)

        def tail(x):
            return 3.0 * (math.sqrt(2 * v * x) + c * x)

        basis = math.sqrt(d) * tail(math.log(2 * d / delta))
        nets = [
            tail(d * math.log(1 + 2 / r) + math.log(1 / delta)) / (1 - r) for r in np.arange(0.05, 0.75, 0.05)
        ]
        assert float(confidence.alpha2(delta)) == pytest.approx(min(basis, *nets), rel=1e-13)


def test_squared_noise_is_sub_gamma():
    """ln E exp(s(e² − 1)) ≤ vs²/2(1 − cs) and the same for −s, by quadrature, for the noises that κ covers."""
    z = np.linspace(-12.0, 12.0, 400_001)
    for noise in (hrprob.Normal(), hrprob.TruncatedNormal(1.5), hrprob.Mixture(), hrprob.Mixture(0.1, 2.5)):
        kappa = noise.sub_gaussian_scale
        v, c = (2.0, 2.0) if kappa == 1.0 else (16 * kappa**4, 2 * kappa**2)
        mass = np.asarray(noise.pdf(z)) * (z[1] - z[0])
        for s in np.linspace(0.02, 0.9, 12) / c:
            for sign in (1.0, -1.0):
                cumulant = math.log(np.sum(mass * np.exp(sign * s * (z**2 - 1))))
                assert cumulant <= v * s**2 / 2 / (1 - c * s) + 1e-6


def test_expected_regret_bound_is_theorem_3_at_one_over_t():
    users = 2000
    confidence = ConfidenceSets(4.0, 4, version="corrected")
    bound = float(confidence.expected_regret_bound(users, 5, largest=7.0))
    assert bound == pytest.approx(float(confidence.regret_bound(users, 1 / users, 5)) + 7.0, rel=1e-14)
