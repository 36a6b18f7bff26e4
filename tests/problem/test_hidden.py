"""Levels that nobody sees: averages over them against brute force, and the cases without an average."""

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import optimize

import hrprob
from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.noise import NORMAL, FromDistribution, Noise

NOISES = [
    NORMAL,
    hrprob.StudentT(df=4.0),
    hrprob.Mixture(weight=0.2, gap=2.0, ratio=0.5),
    hrprob.TruncatedNormal(width=6.0),
]
LEVELS = [0.3, -0.7, 0.3, 0.05]


def h(noise: Noise, u: float, w: float, beta: np.ndarray) -> np.ndarray:
    return np.asarray(lifetime.h(u, w, beta, noise))


def panels(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre with 40 nodes on each of many panels: brute force."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(low, high, count + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """25 digits here, without touching what other tests are computed with."""
    with mpmath.workdps(25):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.kind)
@pytest.mark.parametrize(("u", "w"), [(0.2, 2.0), (-0.9, 0.7), (0.9, 0.15)])
def test_uniform_levels_against_brute_force(noise: Noise, u: float, w: float) -> None:
    low, high = -1.0, 1.0
    beta, weights = panels(low, high, 200)
    hidden = hrprob.HiddenLevels(hrprob.UniformLevels(low, high)).rounds(u, w, math.nan, noise)
    assert float(hidden) == pytest.approx(np.sum(weights * h(noise, u, w, beta)) / 2, rel=1e-8)
    probability = np.sum(weights * np.asarray(lifetime.reneging_probability(u, w, beta, noise))) / 2
    redrawn = hrprob.RedrawnLevels(hrprob.UniformLevels(low, high)).rounds(u, w, math.nan, noise)
    assert float(redrawn) == pytest.approx(1 / probability, rel=1e-8)


SHARP = [
    *NOISES,
    hrprob.Mixture(weight=0.3, gap=1.6, ratio=0.1),
    hrprob.TruncatedNormal(width=1.0),
    hrprob.TruncatedNormal(width=2.0, edge=0.05),
    hrprob.TruncatedNormal(width=0.5, edge=1.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("noise", SHARP, ids=lambda noise: f"{noise.kind}-{noise!r}"[:60])
@pytest.mark.parametrize(("u", "w"), [(0.53, 0.002), (-0.5, 0.1), (-0.98, 1e-4), (1.5, 0.03)])
def test_uniform_levels_where_lifetimes_are_steep(noise: Noise, u: float, w: float) -> None:
    """Panels of the noise's own scale, ended where it has a corner."""
    deviation, corners = math.sqrt(w), [0.0]
    if isinstance(noise, hrprob.TruncatedNormal):
        corners = [-noise.width / float(noise.shape.deviation), noise.width / float(noise.shape.deviation)]
    fine = [
        u + deviation * (c + s * z) for c in corners for z in np.linspace(-12, 12, 97) for s in (0.05, 1, 4)
    ]
    edges = np.unique(np.clip([*np.linspace(-1.0, 1.0, 101), *fine], -1.0, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    beta, weights = (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel() / 2
    probability = np.sum(weights * np.asarray(lifetime.reneging_probability(u, w, beta, noise)))
    uniform = hrprob.UniformLevels(-1.0, 1.0)
    redrawn = hrprob.RedrawnLevels(uniform).reneging_probability(u, w, math.nan, noise)
    assert float(redrawn) == pytest.approx(probability, rel=1e-9, abs=1e-300)
    wanted = np.sum(weights * h(noise, u, w, beta))
    hidden = float(hrprob.HiddenLevels(uniform).rounds(u, w, math.nan, noise))
    assert hidden == (pytest.approx(wanted, rel=1e-8) if np.isfinite(wanted) else math.inf)


@pytest.mark.parametrize("noise", [hrprob.Mixture(0.01, 0.0, 5.0), hrprob.Mixture(1e-6, 0.0, 10.0)], ids=repr)
def test_uniform_levels_where_a_rare_component_takes_over(noise: Noise) -> None:
    """In 25 digits, over pieces a deviation of the narrow component wide."""
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
def test_without_variance_a_round_is_the_last_where_the_level_is_above(noise: Noise) -> None:
    u = np.array([-2.0, 0.53, 2.0])
    probability = hrprob.RedrawnLevels(hrprob.UniformLevels(-1.0, 1.0)).reneging_probability(
        u, 0.0, math.nan, noise
    )
    np.testing.assert_allclose(probability, [1.0, 0.235, 0.0], rtol=1e-14)
    kept = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)).rounds(u, 0.0, math.nan, noise)
    np.testing.assert_allclose(kept, [1.0, math.inf, math.inf], rtol=1e-11)


def test_a_narrow_range_of_levels_is_nearly_one_level() -> None:
    for noise in SHARP:
        for width in (1e-3, 1e-6, 1e-9, 1e-12):
            probability = hrprob.RedrawnLevels(hrprob.UniformLevels(-0.5, width - 0.5)).reneging_probability(
                0.4, 1.0, math.nan, noise
            )
            middle = lifetime.reneging_probability(0.4, 1.0, width / 2 - 0.5, noise)
            # The rest of the midpoint rule is of the order of the width squared.
            assert float(probability) == pytest.approx(float(middle), rel=1e-8 + width**2)


def test_a_narrow_range_of_kept_levels_is_nearly_one_level() -> None:
    """On either side of where two levels stand for all, far below too; each against 40 nodes over the range."""
    for u, w in ((0.4, 1.0), (3.0, 0.25), (-2.0, 1.5)):
        for width in (1e-12, 1e-6, 1e-3, 0.003, 0.006, 0.019, 0.021, 0.05, 0.3):
            beta, weights = panels(-0.5, width - 0.5, 1)
            wanted = np.sum(weights * h(NORMAL, u, w, beta)) / np.sum(weights)
            got = hrprob.HiddenLevels(hrprob.UniformLevels(-0.5, width - 0.5)).rounds(u, w, math.nan, NORMAL)
            assert float(got) == pytest.approx(wanted, rel=1e-9)


def test_far_in_the_tail_the_digits_are_kept() -> None:
    """∫Φ over [−30, −29] in 25 digits."""
    wanted = mpmath.quad(mpmath.ncdf, [-30, -29.5, -29.2, -29.1, -29])
    got = hrprob.RedrawnLevels(hrprob.UniformLevels(-30.0, -29.0)).reneging_probability(
        0.0, 1.0, math.nan, NORMAL
    )
    assert float(got) == pytest.approx(float(wanted), rel=1e-11)


def test_uniform_levels_where_the_variance_is_at_its_floor() -> None:
    """At w = 0.01 the longest stays, of 1e88 rounds, come from a thousandth of the levels."""
    beta, weights = panels(-1.0, 1.0, 2000)
    wanted = np.sum(weights * h(NORMAL, 1.0, 0.01, beta)) / 2
    got = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)).rounds(1.0, 0.01, math.nan, NORMAL)
    assert float(got) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "deviation", "u", "w"),
    [
        (0.0, 0.5, 0.3, 2.0),
        (-0.5, 0.7, 0.6, 0.7),
        (0.0, 0.95, 0.5, 1.0),
        (0.2, 0.98, 0.7, 1.0),
        (-1.0, 0.1, 0.9, 0.1),
        # Close to where there is no average: by 1.5 % of the variance, and of long stays.
        (0.0, 0.5, 0.5, 0.25 / 0.985),
        (0.0, 0.5, 0.02, 0.25 / 0.9899),
        (0.0, 0.5, 1.9, 0.25 / 0.9),
        (0.0, 0.5, 1.9, 0.25 / 0.95),
    ],
)
def test_normal_levels_against_brute_force(mean: float, deviation: float, u: float, w: float) -> None:
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
    [hrprob.Mixture(weight=0.3, gap=1.6, ratio=0.2), hrprob.StudentT(5.0)],
    ids=lambda noise: noise.kind,
)
def test_redrawn_normal_levels_where_the_step_is_steep(noise: Noise, w: float) -> None:
    """Panels over the levels of the width of the narrow component."""
    levels = hrprob.NormalLevels(0.1, 0.5)
    t, weights = panels(-9.0, 9.0, 4000)
    weights = weights * np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
    wanted = np.sum(weights * np.asarray(lifetime.reneging_probability(0.4, w, 0.1 + 0.5 * t, noise)))
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
def test_normal_levels_where_the_tail_has_more_than_one_law(noise: Noise, share: float) -> None:
    w = 1.5
    levels = hrprob.NormalLevels(0.1, math.sqrt(share * w) * float(noise.tail))
    for u in (-0.5, 1.5):
        check_against_trapezoids(levels, u, w, noise)


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.5, 1.5, 5.0])
@pytest.mark.parametrize("df", [2.1, 5.0, 100.0, 400.0])
def test_normal_levels_far_wider_than_student_t_outcomes(df: float, deviation: float) -> None:
    """With many degrees of freedom the long stays are a bump of their own, far below."""
    for u in (-8.0, -2.4, 1.5):
        check_against_trapezoids(hrprob.NormalLevels(0.1, deviation), u, 1.5, hrprob.StudentT(df))


def check_against_trapezoids(levels: hrprob.NormalLevels, u: float, w: float, noise: Noise) -> None:
    """The trapezoidal rule is exact for a smooth function that falls to 0 on both sides."""
    t, step = np.linspace(-80.0, 14.0, 1_000_001, retstep=True)
    log_probability = np.asarray(noise.log_cdf((levels.mean + levels.deviation * t - u) / math.sqrt(w)))
    wanted = np.sum(np.exp(-0.5 * t * t - log_probability)) * step / math.sqrt(2 * math.pi)
    got = hrprob.HiddenLevels(levels).rounds(u, w, math.nan, noise)
    assert float(got) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.slow
def test_normal_levels_where_hardly_anybody_leaves() -> None:
    redrawn = hrprob.RedrawnLevels(hrprob.NormalLevels(-20.0, 1.0)).rounds(1.0, 0.5, math.nan, NORMAL)
    closed = NORMAL.reciprocal_cdf(-21.0 / math.sqrt(1.5))
    assert float(redrawn) == pytest.approx(float(closed), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES[1:], ids=lambda noise: noise.kind)
def test_normal_levels_under_other_noises(noise: Noise) -> None:
    levels, u, w = hrprob.NormalLevels(0.1, 0.3), 0.4, 1.5
    hidden = hrprob.HiddenLevels(levels)
    if noise.kind == "truncated-normal":
        # A normal level can be below all outcomes: nobody can promise an average.
        assert np.isinf(hidden.rounds(u, w, math.nan, noise))
        return
    t, weights = panels(-30.0, 9.0, 400)
    density = np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
    wanted = np.sum(weights * density * h(noise, u, w, levels.mean + levels.deviation * t))
    assert float(hidden.rounds(u, w, math.nan, noise)) == pytest.approx(wanted, rel=1e-8)


def test_empirical_levels_are_averaged_as_they_are() -> None:
    hidden = hrprob.HiddenLevels(hrprob.EmpiricalLevels(LEVELS))
    redrawn = hrprob.RedrawnLevels(hrprob.EmpiricalLevels(LEVELS))
    u, w = 0.2, 1.3
    assert float(hidden.rounds(u, w, math.nan, NORMAL)) == pytest.approx(
        h(NORMAL, u, w, np.array(LEVELS)).mean(), rel=1e-13
    )
    probabilities = np.asarray(lifetime.reneging_probability(u, w, np.array(LEVELS), NORMAL))
    assert float(redrawn.rounds(u, w, math.nan, NORMAL)) == pytest.approx(1 / probabilities.mean(), rel=1e-13)


def test_one_level_is_a_known_level() -> None:
    for kind in (hrprob.HiddenLevels, hrprob.RedrawnLevels):
        for of in (hrprob.UniformLevels(0.3, 0.3), hrprob.EmpiricalLevels([0.3])):
            assert float(kind(of).rounds(0.5, 2.0, math.nan, NORMAL)) == pytest.approx(
                float(lifetime.h(0.5, 2.0, 0.3)), rel=1e-12
            )


def test_a_kept_level_makes_longer_stays_than_a_new_one_every_round() -> None:
    """E[1/p] ≥ 1/E[p]."""
    rng = np.random.default_rng(0)
    u, w = rng.normal(size=50), rng.uniform(0.5, 3.0, size=50)
    kept, new = (
        kind(hrprob.UniformLevels()).rounds(u, w, math.nan, NORMAL)
        for kind in (hrprob.HiddenLevels, hrprob.RedrawnLevels)
    )
    assert np.all(kept > new)


@pytest.mark.slow
def test_derivatives_pass_through_the_average() -> None:
    nodes = hrprob.UniformLevels(-1.0, 1.0).nodes()
    with double_precision():
        slope = jax.grad(lambda u: lifetime.mean_h(u, jnp.asarray(2.0), nodes, NORMAL))(jnp.asarray(0.3))
        hidden = hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0))
        both = jax.grad(lambda u, w: hidden.rounds(u, w, math.nan, NORMAL), (0, 1))(
            jnp.asarray(0.3), jnp.asarray(2.0)
        )
    beta, weights = panels(-1.0, 1.0, 5)
    wanted = [np.sum(weights * part) / 2 for part in lifetime.h_gradient(0.3, 2.0, beta)]
    assert float(slope) == pytest.approx(wanted[0], rel=1e-9)
    np.testing.assert_allclose(both, wanted, rtol=1e-9)


def complaint(**changes: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        hrprob.Problem(**changes)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.slow
def test_normal_levels_too_wide_to_have_an_average_are_refused() -> None:
    """The least variance of an outcome is f(−‖φ*‖) = 2 − √1.74 = 0.681, its root 0.825."""
    hrprob.Problem(satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.82)))
    error = complaint(satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.83)))
    assert error.field == "satisfaction.of.deviation"
    assert "infinite" in str(error)
    assert "0.825" in str(error)
    # So close to the limit, at 0.9999 of the variance, the average has no 8 digits.
    error = complaint(satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.825)))
    assert error.field == "satisfaction.of.deviation"
    assert "not computed to 8 digits" in str(error)
    # What is drawn anew every round, or seen, always has one.
    hrprob.Problem(satisfaction=hrprob.RedrawnLevels(hrprob.NormalLevels(0.0, 3.0)))
    hrprob.Problem(satisfaction=hrprob.NormalLevels(0.0, 3.0))
    # So has a noise with a heavier tail than the levels'.
    hrprob.Problem(noise=hrprob.StudentT(), satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 3.0)))


@pytest.mark.slow
def test_the_limit_is_where_the_average_becomes_infinite() -> None:
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


def test_sets_of_contexts_decide_by_their_own_least_variance() -> None:
    sets = [[[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0]]]
    # f(φ*ᵀx) is 2.25 and 2.1 here.
    wide = hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 1.4))
    hrprob.Problem(contexts=hrprob.Finite(sets), satisfaction=wide)
    assert "1.449" in str(
        complaint(
            contexts=hrprob.Finite(sets), satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 1.45))
        )
    )


def test_levels_below_all_outcomes_are_refused() -> None:
    narrow = hrprob.TruncatedNormal(width=1.0)
    hrprob.Problem(noise=narrow, satisfaction=hrprob.HiddenLevels(hrprob.UniformLevels(-1.0, 1.0)))
    error = complaint(noise=narrow, satisfaction=hrprob.HiddenLevels(hrprob.UniformLevels(-3.0, 1.0)))
    assert error.field == "satisfaction.of"
    assert "never leave" in str(error)
    assert "infinite" in str(error)
    hrprob.Problem(noise=narrow, satisfaction=hrprob.RedrawnLevels(hrprob.UniformLevels(-3.0, 1.0)))
    error = complaint(noise=narrow, satisfaction=hrprob.RedrawnLevels(hrprob.UniformLevels(-9.0, -8.0)))
    assert error.field == "satisfaction.of"
    assert "nobody would ever leave" in str(error)


def test_levels_are_refused_up_to_the_highest_bound_of_any_action() -> None:
    """Where u − c√w is largest over the ball, by golden section; a grid of 721 angles misses it by 6e-6."""
    theta, phi, noise = np.array([0.9, 0.2]), np.array([0.3, -1.3]), hrprob.TruncatedNormal(2.0)

    def bound(angle: float) -> float:
        x = np.array([math.cos(angle), math.sin(angle)])
        return float(theta @ x + float(noise.lowest) * math.sqrt(phi @ x + 2.0))

    angles = np.linspace(0.0, 2 * math.pi, 721)
    near = angles[np.argmax([bound(angle) for angle in angles])]
    found = optimize.minimize_scalar(
        lambda angle: -bound(angle), bracket=(near - 0.01, near + 0.01), tol=1e-9
    )
    highest = -found.fun
    assert highest == pytest.approx(-1.63490560, abs=1e-8)

    def problem(low: float) -> hrprob.Problem:
        levels = hrprob.HiddenLevels(hrprob.UniformLevels(low, 1.0))
        return hrprob.Problem(theta=theta, phi=phi, noise=noise, contexts=hrprob.Ball(2), satisfaction=levels)

    problem(highest + 1e-12)
    for low in (highest - 1e-12, highest - 3e-6):
        with pytest.raises(InvalidInput, match="never leave"):
            problem(low)


def test_a_noise_of_unknown_tail_cannot_promise_an_average() -> None:
    import numpyro.distributions as dist

    with double_precision():
        noise = FromDistribution(dist.Laplace(0.0, 0.5**0.5))
    hrprob.Problem(noise=noise, satisfaction=hrprob.HiddenLevels(hrprob.UniformLevels()))
    assert "tail" in str(complaint(noise=noise, satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels())))


@pytest.mark.parametrize("kind", [hrprob.HiddenLevels, hrprob.RedrawnLevels])
@pytest.mark.parametrize(
    "of",
    [
        hrprob.FixedLevels(0.3),
        hrprob.InfiniteLevels(),
        hrprob.UniformLevels,
        3,
        hrprob.EmpiricalLevels(np.arange(1001.0)),
    ],
)
def test_only_distributions_can_be_hidden(kind: type, of: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        kind(of)
    assert caught.value.field == "of"


@pytest.mark.study
def test_normal_levels_can_be_hidden_under_a_mixture() -> None:
    problem = hrprob.Problem(
        phi=(0.2, 0.1, 0.1, 0.1),
        noise=hrprob.Mixture(),
        satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.3)),
    )
    result = hrprob.simulate(problem, hrprob.Greedy(), users=3, trials=2)
    assert np.all(np.isfinite(result.regret))


def test_a_policy_that_believes_in_an_unknown_tail_is_refused() -> None:
    import numpyro.distributions as dist

    with double_precision():
        laplace = FromDistribution(dist.Laplace(0.0, 0.5**0.5))
    normal = hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.3))
    cases = {
        "noise": (hrprob.Problem(satisfaction=normal), hrprob.Greedy(noise=laplace)),
        "satisfaction": (
            hrprob.Problem(noise=laplace, satisfaction=hrprob.HiddenLevels()),
            hrprob.Greedy(satisfaction=normal),
        ),
    }
    for field, (problem, policy) in cases.items():
        with pytest.raises(
            InvalidInput, match=r"known tail.*'distribution'.*give the noise a `tail`"
        ) as caught:
            policy.bind(problem, 10)
        assert caught.value.field == field
    bounded = hrprob.Problem(satisfaction=hrprob.HiddenLevels())
    hrprob.Greedy(noise=laplace).bind(bounded, 10)
