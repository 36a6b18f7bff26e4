"""Uniform levels: draws, and both averages over them against brute force."""

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import numpyro.distributions as dist
import pytest

import hrprob
from hrprob import lifetime
from hrprob._core.precision import double_precision
from hrprob.noise import NORMAL, FromDistribution, Noise
from tests.problem.levels.brute_force import NOISES, SHARP, h, panels, probability


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """25 digits here, without touching what other tests are computed with."""
    with mpmath.workdps(25):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.kind)
@pytest.mark.parametrize(("u", "w"), [(0.2, 2.0), (-0.9, 0.7), (0.9, 0.15)])
def test_averages_equal_brute_force(noise: Noise, u: float, w: float) -> None:
    low, high = -1.0, 1.0
    beta, weights = panels(low, high, 200)
    hidden = hrprob.HiddenLevels(hrprob.UniformLevels(low, high)).rounds(u, w, math.nan, noise)
    assert float(hidden) == pytest.approx(np.sum(weights * h(noise, u, w, beta)) / 2, rel=1e-8)
    leaving = np.sum(weights * probability(noise, u, w, beta)) / 2
    redrawn = hrprob.RedrawnLevels(hrprob.UniformLevels(low, high)).rounds(u, w, math.nan, noise)
    assert float(redrawn) == pytest.approx(1 / leaving, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("noise", SHARP, ids=lambda noise: f"{noise.kind}-{noise!r}"[:60])
@pytest.mark.parametrize(("u", "w"), [(0.53, 0.002), (-0.5, 0.1), (-0.98, 1e-4), (1.5, 0.03)])
def test_averages_where_lifetimes_are_steep(noise: Noise, u: float, w: float) -> None:
    """Panels of the noise's own scale, ended where it has a corner."""
    sd, corners = math.sqrt(w), [0.0]
    if isinstance(noise, hrprob.TruncatedNormal):
        corners = [-noise.width / float(noise.shape.sd), noise.width / float(noise.shape.sd)]
    fine = [u + sd * (c + s * z) for c in corners for z in np.linspace(-12, 12, 97) for s in (0.05, 1, 4)]
    edges = np.unique(np.clip([*np.linspace(-1.0, 1.0, 101), *fine], -1.0, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    beta, weights = (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel() / 2
    leaving = np.sum(weights * probability(noise, u, w, beta))
    uniform = hrprob.UniformLevels(-1.0, 1.0)
    redrawn = hrprob.RedrawnLevels(uniform).reneging_probability(u, w, math.nan, noise)
    assert float(redrawn) == pytest.approx(leaving, rel=1e-9, abs=1e-300)
    wanted = np.sum(weights * h(noise, u, w, beta))
    hidden = float(hrprob.HiddenLevels(uniform).rounds(u, w, math.nan, noise))
    assert hidden == (pytest.approx(wanted, rel=1e-8) if np.isfinite(wanted) else math.inf)


@pytest.mark.parametrize("noise", [hrprob.Mixture(0.01, 0.0, 5.0), hrprob.Mixture(1e-6, 0.0, 10.0)], ids=repr)
def test_mean_lifetime_where_a_rare_component_takes_over(noise: Noise) -> None:
    """In 25 digits, over pieces as wide as a standard deviation of the narrow component."""
    p, s = mpmath.mpf(noise.weight), mpmath.mpf(noise.ratio)
    narrow = 1 / mpmath.sqrt(p * s * s + 1 - p)
    u, root = mpmath.mpf(1), mpmath.sqrt(mpmath.mpf(0.1))

    def stay(level: mpmath.mpf) -> mpmath.mpf:
        z = (level - u) / (root * narrow)
        return 1 / (p * mpmath.ncdf(z / s) + (1 - p) * mpmath.ncdf(z))

    wanted = mpmath.quad(stay, mpmath.linspace(-1, 1, 9)) / 2
    got = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)).rounds(1.0, 0.1, math.nan, noise)
    assert float(got) == pytest.approx(float(wanted), rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("noise", SHARP, ids=lambda noise: f"{noise.kind}-{noise!r}"[:60])
def test_without_variance_users_leave_exactly_if_their_level_is_above_the_mean(noise: Noise) -> None:
    uniform = hrprob.UniformLevels(-1.0, 1.0)
    redrawn, hidden = hrprob.RedrawnLevels(uniform), hrprob.HiddenLevels(uniform)
    for u, leaving, kept in ((-2.0, 1.0, 1.0), (0.53, 0.235, math.inf), (2.0, 0.0, math.inf)):
        got = redrawn.reneging_probability(u, 0.0, math.nan, noise)
        np.testing.assert_allclose(got, leaving, rtol=1e-14)
        np.testing.assert_allclose(hidden.rounds(u, 0.0, math.nan, noise), kept, rtol=1e-11)


def test_mean_probability_over_a_narrow_range_is_that_of_one_level() -> None:
    for noise in SHARP:
        for width in (1e-3, 1e-6, 1e-9, 1e-12):
            leaving = hrprob.RedrawnLevels(hrprob.UniformLevels(-0.5, width - 0.5)).reneging_probability(
                0.4, 1.0, math.nan, noise
            )
            middle = lifetime.reneging_probability(0.4, 1.0, width / 2 - 0.5, noise)
            # The rest of the midpoint rule is of the order of the width squared.
            assert float(leaving) == pytest.approx(float(middle), rel=1e-8 + width**2)


def test_mean_lifetime_over_a_narrow_range_is_that_of_one_level() -> None:
    """On both sides of the switch of formula, also far below; compared with 40 nodes over the range."""
    for u, w in ((0.4, 1.0), (3.0, 0.25), (-2.0, 1.5)):
        for width in (1e-12, 1e-6, 1e-3, 0.003, 0.006, 0.019, 0.021, 0.05, 0.3):
            beta, weights = panels(-0.5, width - 0.5, 1)
            wanted = np.sum(weights * h(NORMAL, u, w, beta)) / np.sum(weights)
            got = hrprob.HiddenLevels(hrprob.UniformLevels(-0.5, width - 0.5)).rounds(u, w, math.nan, NORMAL)
            assert float(got) == pytest.approx(wanted, rel=1e-9)


def test_mean_probability_far_in_the_tail_is_accurate() -> None:
    """∫Φ over [−30, −29] in 25 digits."""
    wanted = mpmath.quad(mpmath.ncdf, [-30, -29.5, -29.2, -29.1, -29])
    got = hrprob.RedrawnLevels(hrprob.UniformLevels(-30.0, -29.0)).reneging_probability(
        0.0, 1.0, math.nan, NORMAL
    )
    assert float(got) == pytest.approx(float(wanted), rel=1e-11)


def test_mean_lifetime_where_the_variance_is_at_its_floor() -> None:
    """At w = 0.01 the longest stays, of 1e88 rounds, come from a thousandth of the levels."""
    beta, weights = panels(-1.0, 1.0, 2000)
    wanted = np.sum(weights * h(NORMAL, 1.0, 0.01, beta)) / 2
    got = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)).rounds(1.0, 0.01, math.nan, NORMAL)
    assert float(got) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.slow
def test_mean_lifetime_has_derivatives() -> None:
    nodes = hrprob.UniformLevels(-1.0, 1.0).nodes()
    with double_precision():
        by_u = jax.grad(lambda u, nodes: lifetime.mean_h(u, jnp.asarray(2.0), nodes, NORMAL))
        slope = jax.jit(by_u)(jnp.asarray(0.3), nodes)
        hidden = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0))
        by_both = jax.grad(lambda u, w: hidden.rounds(u, w, math.nan, NORMAL), (0, 1))
        both = jax.jit(by_both)(jnp.asarray(0.3), jnp.asarray(2.0))
    beta, weights = panels(-1.0, 1.0, 5)
    wanted = [np.sum(weights * part) / 2 for part in lifetime.h_gradient(0.3, 2.0, beta)]
    assert float(slope) == pytest.approx(wanted[0], rel=1e-9)
    np.testing.assert_allclose(both, wanted, rtol=1e-9)


@pytest.mark.parametrize(("u", "w"), [(-0.5, 0.25), (0.2, 0.4), (0.0, 1.0)])
def test_averages_with_bounded_outcomes(u, w):
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
