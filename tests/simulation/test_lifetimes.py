"""Stays are geometric, however long, and the regret is the expected part of what they lost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.serving import MOST_ROUNDS

# Stays are played for longer than they are compiled for.
pytestmark = pytest.mark.optimised

USERS, TRIALS = 100, 20
# A statistic further from its mean than this has a probability of 6e-5, and the seeds are fixed.
ERRORS = 4.0


def one_action(h: float) -> hrprob.Problem:
    """A problem whose every user has one and the same context, and expected lifetime ``h``."""
    mean, variance = 0.5, 2.5
    level = mean + math.sqrt(variance) * stats.norm.ppf(1 / h)
    return hrprob.Problem(
        theta=[mean],
        phi=[variance - 2.0],
        contexts=hrprob.Finite([[[1.0]]]),
        satisfaction=hrprob.FixedLevels(level),
    )


def stays(h: float, seeds: range, users: int = USERS) -> np.ndarray:
    problem = one_action(h)
    results = [
        hrprob.simulate(problem, hrprob.Oracle(), users=users, trials=TRIALS, seed=seed) for seed in seeds
    ]
    return np.concatenate([result.lifetime.values.ravel() for result in results])


@pytest.mark.parametrize("h", [pytest.param(1.05, marks=pytest.mark.slow), 3.0, 40.0])
def test_mean_is_h(h: float) -> None:
    lifetimes = stays(h, range(10))
    # Geometric with p = 1/h: the variance is (1 − p)/p² = h(h − 1).
    error = math.sqrt(h * (h - 1) / lifetimes.size)
    assert abs(lifetimes.mean() - h) < ERRORS * error


@pytest.mark.parametrize("h", [1.5, 3.0, 20.0])
def test_stays_have_a_geometric_distribution(h: float) -> None:
    lifetimes = stays(h, range(10, 20))
    law = stats.geom(1 / h)
    # Lengths up to the last that still has 20 stays to be expected, and all beyond as one.
    last = int(np.max(np.flatnonzero(lifetimes.size * law.pmf(np.arange(200)) > 20)))
    seen = np.bincount(np.minimum(lifetimes, last + 1).astype(int), minlength=last + 2)[1:]
    expected = lifetimes.size * np.append(law.pmf(np.arange(1, last + 1)), law.sf(last))
    assert seen.size == expected.size
    assert stats.chisquare(seen, expected).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("h", [1e5, 1e12])
def test_no_stay_is_cut_off(h: float) -> None:
    lifetimes = stays(h, range(20, 21), users=15)
    n = lifetimes.size
    assert np.all(lifetimes == np.floor(lifetimes))
    # Both are all but exponential: the sample mean has error h/√n, and so has the median, whose
    # density there is 1/(2h).
    assert abs(lifetimes.mean() - h) < ERRORS * h / math.sqrt(n)
    assert abs(np.median(lifetimes) - h * math.log(2)) < ERRORS * h / math.sqrt(n)
    # The rounds that are played out and the rest that is drawn at once join without a seam.
    longer = np.exp(-MOST_ROUNDS / h)
    spread = math.sqrt(longer * (1 - longer) / n)
    assert abs(np.mean(lifetimes > MOST_ROUNDS) - longer) <= ERRORS * spread
    rest = lifetimes[lifetimes > MOST_ROUNDS] - MOST_ROUNDS
    assert rest.min() >= 1
    assert abs(rest.mean() - h) < ERRORS * h / math.sqrt(rest.size)


def test_eager_with_one_action_is_lazy() -> None:
    problem = one_action(5.0)
    lazy = hrprob.simulate(problem, hrprob.Oracle(), users=USERS, trials=TRIALS)
    eager = hrprob.simulate(problem, hrprob.Random(eager=True), users=USERS, trials=TRIALS)
    np.testing.assert_array_equal(lazy.lifetime, eager.lifetime)
    assert np.all(eager.regret == 0)
    assert np.all(lazy.regret == 0)


def test_an_infinite_level_ends_every_stay_at_once() -> None:
    problem = one_action(5.0).replace(satisfaction=hrprob.InfiniteLevels())
    result = hrprob.simulate(problem, hrprob.Oracle(), users=USERS, trials=TRIALS)
    assert np.all(result.lifetime == 1)
    assert np.all(result.mean_lifetime == 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        hrprob.HRUCB(radius="constant", xi=100.0, eager=True, warmup=2),
        hrprob.Random(eager=True),
        pytest.param(hrprob.HRUCB(radius="constant", xi=100.0), marks=pytest.mark.slow),
        pytest.param(hrprob.Random(), marks=pytest.mark.slow),
        pytest.param(hrprob.LinUCB(alpha=100.0, eager=True), marks=pytest.mark.slow),
    ],
    ids=lambda policy: f"{policy.kind} {'eager' if policy.eager else 'lazy'}",
)
def test_regret_is_what_was_lost(policy: hrprob.Policy) -> None:
    """A user's regret is h* minus the lifetime, in expectation, given all that came before."""
    users, trials, seed = 1000, 20, 4
    problem = hrprob.Problem(theta=[0.8, 0.5], phi=[0.5, -0.6], contexts=hrprob.Sphere(5))
    result = hrprob.simulate(problem, policy, users=users, trials=trials, seed=seed, keep="all").isel(
        policy=0
    )
    with double_precision():
        keys = trial_keys(seed, np.arange(trials))
        arrived = arrivals(problem, keys, np.arange(1, users + 1, dtype=np.uint32))
    best = np.asarray(arrived.best).T
    cost = np.diff(result.regret.values, axis=1, prepend=0.0)
    assert cost.min() >= 0
    # Differences of a martingale are uncorrelated, so their mean has error sd/√n.
    surplus = cost - (best - result.lifetime.values)
    error = surplus.std() / math.sqrt(surplus.size)
    assert abs(surplus.mean()) < ERRORS * error
    # What was lost is more than the error of this test, so that leaving it out would show.
    assert cost.mean() > ERRORS * error


@pytest.mark.slow
def test_no_eager_stay_is_cut_off() -> None:
    h = 1e6
    problem = one_action(h)
    result = hrprob.simulate(problem, hrprob.Random(eager=True), users=20, trials=TRIALS, seed=2)
    lifetimes = result.lifetime.values
    assert abs(lifetimes.mean() - h) < ERRORS * h / math.sqrt(lifetimes.size)
    assert np.all(result.regret == 0)


@pytest.mark.slow
def test_rest_of_an_eager_stay_costs_what_it_should() -> None:
    """Two actions of 2e5 and 4e5 rounds, chosen by a coin every round until the rest is drawn at once."""
    level, deviation = -1.0, math.sqrt(0.1)
    means = level - deviation * stats.norm.ppf([1 / 2e5, 1 / 4e5])
    scale = 1.1 * means.max()
    problem = hrprob.Problem(
        theta=[scale],
        phi=[0.0],
        link=hrprob.Affine(1.0, 0.1),
        bounds=hrprob.Bounds(scale, 0.1),
        contexts=hrprob.Finite((means / scale)[None, :, None]),
        satisfaction=hrprob.FixedLevels(level),
    )
    result = hrprob.simulate(problem, hrprob.Random(eager=True), users=40, trials=20, seed=1, keep="all")
    cost = np.diff(result.regret.values, axis=-1, prepend=0.0)
    surplus = cost - (4e5 - result.lifetime.values)
    assert abs(surplus.mean()) < ERRORS * surplus.std() / math.sqrt(surplus.size)
    # A coin throughout: p = (1/2e5 + 1/4e5)/2, then one of the two for the rest.
    p, left = 1.5 / 4e5, math.exp(-MOST_ROUNDS * 1.5 / 4e5)
    expected = (1 - left) / p + left * 3e5
    lifetimes = result.lifetime.values
    assert abs(lifetimes.mean() - expected) < ERRORS * lifetimes.std() / math.sqrt(lifetimes.size)


@pytest.mark.slow
def test_a_variance_of_zero_and_a_level_at_the_mean():
    """An outcome that is exactly β is not below it: the user stays for ever, and no number is NaN."""
    problem = hrprob.Problem(
        theta=[0.0, 0.0],
        phi=[2.0, 0.0],
        contexts=hrprob.Finite([[[-1.0, 0.0], [-1.0, 0.0]]]),
        satisfaction=hrprob.FixedLevels(0.0),
    )
    result = hrprob.simulate(problem, hrprob.Random(), users=2, trials=1)
    assert np.all(np.isinf(result.lifetime))
    assert np.all(result.regret == 0)


@pytest.mark.slow
def test_the_oracle_has_no_regret_where_rounding_makes_a_variance_negative():
    phi = np.array([0.3, 0.5, 0.7])
    phi *= 2.0 / np.linalg.norm(phi)
    problem = hrprob.Problem(
        theta=[0.1, 0.2, 0.3], phi=phi, contexts=hrprob.Finite([[-phi / 2.0, [0.9, 0.0, 0.0], phi / 2.0]])
    )
    result = hrprob.simulate(problem, hrprob.Oracle(), users=20, trials=2)
    assert np.all(result.regret == 0)
