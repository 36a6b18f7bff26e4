"""The radii against their printed formulas, and the constants of h against plain grids."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.estimation.confidence import ConfidenceSets, lipschitz_constants
from hrprob.lifetime import h, h_gradient
from hrprob.noise import TruncatedNormal
from hrprob.problem.links import Affine

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


def printed(sets, n, delta, corrected=False):
    """The formulas once more, in plain Python: (α¹, α², α³, ρ) at n and δ."""
    s2, d, lam = sets.variance_max, sets.dimension, sets.ridge
    front = math.sqrt(s2) if corrected else s2

    def alphas(delta):
        a1 = front * math.sqrt(d * math.log((n + lam) / (delta * lam))) + math.sqrt(lam)
        a2 = math.sqrt(2 * d * s2**2 * ((math.log(sets.c1 / delta) / sets.c2) ** 2 + 1))
        a3 = math.sqrt(2 * d * s2 * math.log(d / delta))
        return a1, a2, a3

    b1, b2, b3 = alphas(delta / 3)
    bias = sets.bound if corrected else sets.bound**2
    rho = (b1 * (b1 + 2 * b3) + b2) / sets.slope + bias * math.sqrt(lam)
    return *alphas(delta), rho


@pytest.mark.parametrize(("sets", "corrected"), [(PAPER, False), (CORRECTED, True)])
@pytest.mark.parametrize(("n", "delta"), [(1, 0.9), (37, 0.1), (150_000, 1e-12)])
def test_radii_are_the_printed_ones(sets, corrected, n, delta):
    a1, a2, a3, rho = printed(sets, n, delta, corrected)
    assert float(sets.alpha1(n, delta)) == pytest.approx(a1, rel=1e-14)
    assert float(sets.alpha2(delta)) == pytest.approx(a2, rel=1e-14)
    assert float(sets.alpha3(delta)) == pytest.approx(a3, rel=1e-14)
    assert float(sets.rho(n, delta)) == pytest.approx(rho, rel=1e-14)
    at_all_n = printed(sets, n, delta / n**2, corrected)[3]
    assert float(sets.rho_simultaneous(n, delta)) == pytest.approx(at_all_n, rel=1e-14)
    assert float(sets.xi(n, delta)) == pytest.approx(3.0 * a1 + 0.4 * at_all_n, rel=1e-14)


@pytest.mark.parametrize(("sets", "corrected"), [(PAPER, False), (CORRECTED, True)])
def test_regret_bound_is_theorem_3(sets, corrected):
    users, growth, delta = 3000, 4, 0.2
    xi = float(sets.xi(growth * users, delta / 3))
    counted = growth * users if corrected else users
    unit = sets.ridge * sets.dimension
    expected = math.sqrt(8 * xi**2 * users * sets.dimension * math.log((counted + unit) / unit))
    assert float(sets.regret_bound(users, delta, growth)) == pytest.approx(expected, rel=1e-14)


def test_known_values():
    sets = ConfidenceSets(variance_max=4.0, dimension=4, ridge=1.0, bound=2.0)
    radii = sets.rho_simultaneous(np.array([1e2, 1e3, 1e4, 1e5]), 0.1)
    assert radii.round().tolist() == [2765.0, 3789.0, 4811.0, 5831.0]
    released = ConfidenceSets(variance_max=math.sqrt(0.25 + 0.04 + 0.64 + 0.81) + 2.0, dimension=4)
    assert float(released.alpha1(150_000, 0.1)) == pytest.approx(26.03, abs=0.005)


@given(st.floats(0.01, 10.0), st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_the_correction_narrows_exactly_where_the_print_is_too_wide(variance_max, n, delta):
    as_printed = ConfidenceSets(variance_max=variance_max, dimension=3)
    mended = ConfidenceSets(variance_max=variance_max, dimension=3, version="corrected")
    difference = float(as_printed.alpha1(n, delta) - mended.alpha1(n, delta))
    assert np.sign(round(difference, 12)) == np.sign(round(variance_max - math.sqrt(variance_max), 12))


@given(st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_more_samples_or_less_risk_need_more_room(n, delta):
    for sets in (PAPER, CORRECTED):
        assert sets.xi(n + 1, delta) > sets.xi(n, delta)
        assert sets.xi(n, delta / 2) > sets.xi(n, delta)


def test_everything_can_be_traced():
    n = np.array([1.0, 10.0, 1e5])
    with double_precision():
        compiled = jax.jit(lambda sets, n, delta: (sets.xi(n, delta), sets.regret_bound(n, delta, 5)))
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
    def width(sets):
        traces.append(sets.version)
        return sets.xi(100, 0.1)

    with double_precision():
        for ridge in (0.5, 1.0, 2.0):
            sets = ConfidenceSets(variance_max=4.0, dimension=4, ridge=ridge)
            assert float(width(sets)) == pytest.approx(float(sets.xi(100, 0.1)), rel=1e-14)
        width(ConfidenceSets(variance_max=4.0, dimension=4, version="corrected"))
    assert traces == ["paper", "corrected"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variance_max": 0.0}, "`variance_max` must be above 0, got 0.0"),
        ({"ridge": -1.0}, "`ridge` must be above 0"),
        ({"bound": math.nan}, "`bound` must be at least 0, got nan"),
        ({"dimension": 2.5}, "`dimension` must be a whole number"),
        ({"version": "printed"}, "`version` must be one of 'paper', 'corrected'"),
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


LINK = Affine(slope=1.5, offset=2.0)

# The first has every supremum on an edge; in the second |∂h/∂w| and the Hessian peak inside, since
# with β above u both go to 0 as w does.
DOMAINS = [
    {"beta_low": -1.0, "beta_high": 1.0, "variance_floor": 0.3},
    {"beta_low": 0.4, "beta_high": 1.0, "bound_theta": 0.0, "variance_floor": 0.001},
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_constants_are_those_of_a_plain_grid(domain):
    found = lipschitz_constants(LINK, 1.2, **domain)
    radius = domain.get("bound_theta", 1.0)
    gap = np.linspace(domain["beta_low"] - radius, domain["beta_high"] + radius, 151)[:, None]
    w = np.geomspace(domain["variance_floor"], LINK(1.2), 1201)
    gradient = h_gradient(0.0, w, gap)

    # Second derivatives as differences of the first, which automatic differentiation shares no code with.
    step = 1e-5 * w
    above, below = h_gradient(0.0, w + step, gap), h_gradient(0.0, w - step, gap)
    along_w = [(above.u - below.u) / (2 * step), (above.w - below.w) / (2 * step)]
    uu = (h_gradient(1e-5, w, gap).u - h_gradient(-1e-5, w, gap).u) / 2e-5
    hessian = np.stack([np.stack([uu, along_w[0]], -1), np.stack(along_w, -1)], -1)
    trace, determinant = np.trace(hessian, axis1=-2, axis2=-1), np.linalg.det(hessian)
    norm = np.abs(trace) / 2 + np.sqrt(np.maximum(trace**2 / 4 - determinant, 0.0))

    # Nothing on this grid may be larger. A peak of width 1 in ln w and .1 in β − u is missed by half the
    # square of half a spacing over that width, 5e-4 at most here. Differences are good to 1e-7.
    for value, sizes, slack in (
        (found.q_u, np.abs(gradient.u), 1e-12),
        (found.q_v, np.abs(gradient.w), 1e-12),
        (found.m_h, norm, 1e-6),
    ):
        assert sizes.max() <= value * (1 + slack)
        assert sizes.max() == pytest.approx(value, rel=5e-4)


def test_one_domain_has_its_peak_inside():
    """Without this the test above would never see the refinement at work."""
    found = lipschitz_constants(LINK, 1.2, **DOMAINS[1])
    edges = np.array([0.001, LINK(1.2)])
    assert np.abs(h_gradient(0.0, edges, np.linspace(0.4, 1.0, 201)[:, None]).w).max() < 0.9 * found.q_v
    # At the least β, d/dw of |∂h/∂w| vanishes at the peak: found by a one-dimensional search.
    w = np.geomspace(0.05, 0.3, 100_001)
    assert np.abs(h_gradient(0.0, w, 0.4).w).max() == pytest.approx(found.q_v, rel=1e-11)


def test_constants_follow_from_the_suprema_and_the_domain_is_stated():
    found = lipschitz_constants(LINK, 1.2, beta_low=-0.5, beta_high=2.0, bound_theta=0.8, variance_floor=0.5)
    assert found.c3 == found.q_u + found.m_h
    assert found.c4 == pytest.approx(1.5 * (found.q_v + found.m_h * 1.5 * 1.2), rel=1e-14)
    assert found.domain == ((-0.8, 0.8), (0.5, LINK(1.2)), (-0.5, 2.0))


def test_theorem_2_holds_with_them():
    """h(θ₂, φ₂) − h(θ₁, φ₁) ≤ C₃|Δθᵀx| + C₄|Δφᵀx| for points of the domain."""
    found = lipschitz_constants(LINK, 1.2, beta_low=-1.0, beta_high=1.0, variance_floor=0.3)
    rng = np.random.default_rng(1)
    u, beta = rng.uniform(-1, 1, (2, 5000)), rng.uniform(-1, 1, 5000)
    v = rng.uniform(LINK.inverse(0.3), 1.2, (2, 5000))
    gain = h(u[1], LINK(v[1]), beta) - h(u[0], LINK(v[0]), beta)
    assert np.all(gain <= found.c3 * np.abs(u[1] - u[0]) + found.c4 * np.abs(v[1] - v[0]))


@pytest.mark.slow
def test_domains_without_finite_constants_are_refused():
    with pytest.raises(InvalidInput, match=r"`variance_floor` must lie in \(0, 3.8\], got 0"):
        lipschitz_constants(LINK, 1.2, beta_low=-1.0, beta_high=1.0, variance_floor=0)
    with pytest.raises(InvalidInput, match=r"derivatives of h below 1e308, got 0\.001"):
        lipschitz_constants(LINK, 1.2, beta_low=-1.0, beta_high=1.0, variance_floor=0.001)
    # Behind a wall h is infinite and its derivatives 0: finite suprema of nothing.
    walled, edged = TruncatedNormal(2.5), TruncatedNormal(2.5, edge=0.5)
    for low, noise in ((-1.0, walled), (-3.0, walled), (-30.0, edged)):
        with pytest.raises(InvalidInput, match="derivatives of h below 1e308"):
            lipschitz_constants(LINK, 1.2, beta_low=low, beta_high=1.0, noise=noise)
    assert (
        lipschitz_constants(LINK, 1.2, beta_low=0.0, beta_high=1.0, variance_floor=0.5, noise=walled).c3 > 0
    )
    with pytest.raises(InvalidInput, match="`beta_high` must be at least 1"):
        lipschitz_constants(LINK, 1.2, beta_low=1.0, beta_high=-1.0)


def test_the_bound_of_theta_counts_where_the_slips_are_mended() -> None:
    wide, narrow = (
        ConfidenceSets(4.0, 4, ridge=9.0, bound_theta=bound, version="corrected") for bound in (2.0, 1.0)
    )
    # λ‖θ*‖_{V⁻¹} ≤ √λ·‖θ*‖, and √λ = 3.
    assert float(wide.alpha1(10.0, 0.1) - narrow.alpha1(10.0, 0.1)) == pytest.approx(3.0)
    printed = (ConfidenceSets(4.0, 4, bound_theta=bound).alpha1(10.0, 0.1) for bound in (2.0, 1.0))
    assert float(next(printed)) == float(next(printed))
