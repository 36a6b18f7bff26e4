"""Hidden and redrawn levels: their values, and the problems that are refused."""

import math

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import optimize

import hrprob
from hrprob import lifetime
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.noise import NORMAL, FromDistribution
from tests.problem.levels.brute_force import h

LEVELS = [0.3, -0.7, 0.3, 0.05]


def test_empirical_levels_are_averaged_with_equal_weights() -> None:
    hidden = hrprob.HiddenLevels(hrprob.EmpiricalLevels(LEVELS))
    redrawn = hrprob.RedrawnLevels(hrprob.EmpiricalLevels(LEVELS))
    u, w = 0.2, 1.3
    assert float(hidden.rounds(u, w, math.nan, NORMAL)) == pytest.approx(
        h(NORMAL, u, w, np.array(LEVELS)).mean(), rel=1e-13
    )
    probabilities = np.asarray(lifetime.reneging_probability(u, w, np.array(LEVELS), NORMAL))
    assert float(redrawn.rounds(u, w, math.nan, NORMAL)) == pytest.approx(1 / probabilities.mean(), rel=1e-13)


def test_a_distribution_of_one_level_is_a_known_level() -> None:
    for kind in (hrprob.HiddenLevels, hrprob.RedrawnLevels):
        for of in (hrprob.UniformLevels(0.3, 0.3), hrprob.EmpiricalLevels([0.3])):
            assert float(kind(of).rounds(0.5, 2.0, math.nan, NORMAL)) == pytest.approx(
                float(lifetime.h(0.5, 2.0, 0.3)), rel=1e-12
            )


def test_hidden_levels_give_longer_stays_than_redrawn_ones() -> None:
    """E[1/p] ≥ 1/E[p]."""
    rng = np.random.default_rng(0)
    u, w = rng.normal(size=50), rng.uniform(0.5, 3.0, size=50)
    kept, new = (
        kind(hrprob.UniformLevels()).rounds(u, w, math.nan, NORMAL)
        for kind in (hrprob.HiddenLevels, hrprob.RedrawnLevels)
    )
    assert np.all(kept > new)


def complaint(**changes: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        hrprob.Problem(**changes)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.slow
def test_normal_levels_with_an_infinite_average_are_refused() -> None:
    """The least variance of an outcome is f(−‖φ*‖) = 2 − √1.74 = 0.681, its root 0.825."""
    hrprob.Problem(satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.82)))
    error = complaint(satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.83)))
    assert error.field == "satisfaction.of.sd"
    assert "infinite" in str(error)
    assert "0.825" in str(error)
    # So close to the limit, at 0.9999 of the variance, the average is not accurate to 8 digits.
    error = complaint(satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 0.825)))
    assert error.field == "satisfaction.of.sd"
    assert "not computed to 8 digits" in str(error)
    # Redrawn levels and seen levels need no such average.
    hrprob.Problem(satisfaction=hrprob.RedrawnLevels(hrprob.NormalLevels(0.0, 3.0)))
    hrprob.Problem(satisfaction=hrprob.NormalLevels(0.0, 3.0))
    # With a heavier tail of the noise the average is finite.
    hrprob.Problem(noise=hrprob.StudentT(), satisfaction=hrprob.HiddenLevels(hrprob.NormalLevels(0.0, 3.0)))


def test_the_least_variance_is_that_of_the_context_sets() -> None:
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


def test_levels_are_refused_exactly_below_the_highest_lowest_outcome() -> None:
    """Where u − c√w is largest over the ball, by golden section; a grid of 721 angles misses it by 6e-6."""
    theta, phi, noise = np.array([0.9, 0.2]), np.array([0.3, -1.3]), hrprob.TruncatedNormal(2.0)

    def bound(angle: float) -> float:
        x = np.array([math.cos(angle), math.sin(angle)])
        return float(theta @ x + float(noise.lowest) * math.sqrt(phi @ x + 2.0))

    angles = np.linspace(0.0, 2 * math.pi, 721)
    near = angles[np.argmax([bound(angle) for angle in angles])]
    maximum = optimize.minimize_scalar(
        lambda angle: -bound(angle), bracket=(near - 0.01, near + 0.01), tol=1e-9
    )
    highest = -maximum.fun
    assert highest == pytest.approx(-1.63490560, abs=1e-8)

    def problem(low: float) -> hrprob.Problem:
        levels = hrprob.HiddenLevels(hrprob.UniformLevels(low, 1.0))
        return hrprob.Problem(theta=theta, phi=phi, noise=noise, contexts=hrprob.Ball(2), satisfaction=levels)

    problem(highest + 1e-12)
    for low in (highest - 1e-12, highest - 3e-6):
        with pytest.raises(InvalidInput, match="never leave"):
            problem(low)


def affine(distribution, location, scale):
    """Transformed without a word about its domain, so that its support says nothing."""
    return dist.TransformedDistribution(distribution, dist.transforms.AffineTransform(location, scale))


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


def test_hidden_normal_levels_need_a_noise_of_known_tail() -> None:
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


def test_a_policy_that_assumes_a_noise_of_unknown_tail_is_refused() -> None:
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
