"""Normal levels: both averages over them against brute force, and where the average is infinite."""

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

import hrprob
from hrprob.noise import NORMAL, Noise
from tests.problem.levels.brute_force import NOISES, h, panels, probability


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """25 digits here, without touching what other tests are computed with."""
    with mpmath.workdps(25):
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "deviation", "u", "w"),
    [
        (0.0, 0.5, 0.3, 2.0),
        (-0.5, 0.7, 0.6, 0.7),
        (0.0, 0.95, 0.5, 1.0),
        (0.2, 0.98, 0.7, 1.0),
        (-1.0, 0.1, 0.9, 0.1),
        # Close to where the average is infinite: by 1.5 % of the variance, and with long stays.
        (0.0, 0.5, 0.5, 0.25 / 0.985),
        (0.0, 0.5, 0.02, 0.25 / 0.9899),
        (0.0, 0.5, 1.9, 0.25 / 0.9),
        (0.0, 0.5, 1.9, 0.25 / 0.95),
    ],
)
def test_averages_equal_brute_force(mean: float, deviation: float, u: float, w: float) -> None:
    """In 25 digits, over pieces that follow the two bumps: the levels' own, and that of long stays."""
    m, s = (mpmath.mpf(mean) - u) / mpmath.sqrt(w), deviation / mpmath.sqrt(w)
    bump, width = m * s / (1 - s * s), 1 / mpmath.sqrt(1 - s * s)
    around = (-14, -9, -6, -4, -2, 0, 2, 4, 6, 9)
    ends = sorted({min(bump, 0) + k * width for k in around} | {-2, 0, 2, 5, 14})
    wanted = mpmath.quad(lambda t: mpmath.npdf(t) / mpmath.ncdf(m + s * t), ends)
    got = hrprob.HiddenLevels(hrprob.NormalLevels(mean, deviation)).rounds(u, w, math.nan, NORMAL)
    assert float(got) == pytest.approx(float(wanted), rel=1e-8)
    # With a new level every round the probability of reneging is in closed form: β − r is normal.
    redrawn = hrprob.RedrawnLevels(hrprob.NormalLevels(mean, deviation)).rounds(u, w, math.nan, NORMAL)
    closed = NORMAL.reciprocal_cdf((mean - u) / math.sqrt(w + deviation**2))
    assert float(redrawn) == pytest.approx(float(closed), rel=1e-8)


@pytest.mark.parametrize("w", [1.5, 0.01, 1e-4])
@pytest.mark.parametrize(
    "noise",
    [
        hrprob.Mixture(weight=0.3, gap=1.6, ratio=0.2),
        pytest.param(hrprob.StudentT(5.0), marks=pytest.mark.slow),
    ],
    ids=lambda noise: noise.kind,
)
def test_mean_probability_where_its_step_is_steep(noise: Noise, w: float) -> None:
    """Panels over the levels of the width of the narrow component."""
    levels = hrprob.NormalLevels(0.1, 0.5)
    t, weights = panels(-9.0, 9.0, 4000)
    weights = weights * np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
    wanted = np.sum(weights * probability(noise, 0.4, w, 0.1 + 0.5 * t))
    got = hrprob.RedrawnLevels(levels).reneging_probability(0.4, w, math.nan, noise)
    assert float(got) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize(
    "noise",
    [
        *(hrprob.Mixture(weight=0.3, gap=1.2, ratio=ratio) for ratio in (0.03, 0.2, 2.0)),
        *(hrprob.TruncatedNormal(width=width, edge=edge) for width, edge in ((1.0, 1.0), (3.0, 0.05))),
    ],
    ids=repr,
)
def test_mean_lifetime_where_the_tail_has_several_laws(noise: Noise, share: float) -> None:
    w = 1.5
    levels = hrprob.NormalLevels(0.1, math.sqrt(share * w) * float(noise.tail))
    for u in (-0.5, 1.5):
        check_against_trapezoids(levels, u, w, noise)


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.5, 1.5, 5.0])
@pytest.mark.parametrize("df", [2.1, 5.0, 100.0, 400.0])
def test_mean_lifetime_of_levels_far_wider_than_student_t_outcomes(df: float, deviation: float) -> None:
    """With many degrees of freedom the long stays are a bump of their own, far below."""
    for u in (-8.0, -2.4, 1.5):
        check_against_trapezoids(hrprob.NormalLevels(0.1, deviation), u, 1.5, hrprob.StudentT(df))


def check_against_trapezoids(levels: hrprob.NormalLevels, u: float, w: float, noise: Noise) -> None:
    """The trapezoidal rule is exact for a smooth function that falls to 0 on both sides.

    Where a truncated density ends the function has a corner, and the rule an error of the step squared.
    """
    smooth = noise.kind != "truncated-normal"
    t, step = np.linspace(-80.0, 14.0, 100_001 if smooth else 1_000_001, retstep=True)
    log_probability = np.asarray(noise.log_cdf((levels.mean + levels.sd * t - u) / math.sqrt(w)))
    wanted = np.sum(np.exp(-0.5 * t * t - log_probability)) * step / math.sqrt(2 * math.pi)
    got = hrprob.HiddenLevels(levels).rounds(u, w, math.nan, noise)
    assert float(got) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.slow
def test_redrawn_lifetime_where_users_rarely_leave() -> None:
    redrawn = hrprob.RedrawnLevels(hrprob.NormalLevels(-20.0, 1.0)).rounds(1.0, 0.5, math.nan, NORMAL)
    closed = NORMAL.reciprocal_cdf(-21.0 / math.sqrt(1.5))
    assert float(redrawn) == pytest.approx(float(closed), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES[1:], ids=lambda noise: noise.kind)
def test_mean_lifetime_under_other_noises(noise: Noise) -> None:
    levels, u, w = hrprob.NormalLevels(0.1, 0.3), 0.4, 1.5
    hidden = hrprob.HiddenLevels(levels)
    if noise.kind == "truncated-normal":
        # A normal level can be below all outcomes, so the average is infinite.
        assert np.isinf(hidden.rounds(u, w, math.nan, noise))
        return
    t, weights = panels(-30.0, 9.0, 400)
    density = np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
    wanted = np.sum(weights * density * h(noise, u, w, levels.mean + levels.sd * t))
    assert float(hidden.rounds(u, w, math.nan, noise)) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.slow
def test_mean_lifetime_becomes_infinite_at_the_stated_limit() -> None:
    near, over = (
        hrprob.HiddenLevels(hrprob.NormalLevels(0.0, s)).rounds(0.1, 1.0, math.nan, NORMAL)
        for s in (0.99, 1.0)
    )
    assert np.isfinite(near)
    assert np.isinf(over)
    mixture = hrprob.Mixture(weight=0.5, gap=0.0, ratio=3.0)
    tail = float(mixture.tail)
    inside, outside = (
        hrprob.HiddenLevels(hrprob.NormalLevels(0.0, s * tail)).rounds(0.1, 1.0, math.nan, mixture)
        for s in (0.99, 1.001)
    )
    assert np.isfinite(inside)
    assert np.isinf(outside)
