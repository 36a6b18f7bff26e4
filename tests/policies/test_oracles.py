"""The oracles to which policies tend: of the best mean, and of the best average over β."""

import json

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison.paired import compare
from hrprob.reproduce.parts import experiment_of

SETS = np.random.default_rng(0).uniform(-0.5, 0.5, (6, 3, 2))
PROBLEM = hrprob.Problem(
    theta=[0.2, 0.1],
    phi=[0.9, -1.2],
    contexts=hrprob.Finite(SETS),
    satisfaction=hrprob.UniformLevels(-1.0, 1.0),
)


@pytest.fixture(scope="module")
def run():
    policies = [
        hrprob.MeanOracle(),
        hrprob.AverageOracle(),
        hrprob.Oracle(),
        hrprob.Random(),
        hrprob.Greedy(),
    ]
    return hrprob.simulate(PROBLEM, policies, users=200, trials=3, keep="all")


def values(levels):
    """Return h of every set and action at these levels, (sets, actions, levels)."""
    u, w = SETS @ [0.2, 0.1], SETS @ [0.9, -1.2] + 2.0
    return 1 / stats.norm.cdf((levels - u[..., None]) / np.sqrt(w)[..., None])


def test_oracles_know_the_truth():
    assert all(kind.knows_truth for kind in (hrprob.MeanOracle, hrprob.AverageOracle))


@pytest.mark.slow
def test_each_oracle_serves_one_action_per_set(run):
    grid = np.linspace(-1, 1, 4001)
    best_mean = (SETS @ [0.2, 0.1]).argmax(axis=1)
    best_average = values(grid).mean(axis=-1).argmax(axis=1)
    # Otherwise the two would be the same here.
    assert np.any(best_mean != best_average)
    for name, best in (("mean-oracle", best_mean), ("average-oracle", best_average)):
        served = run.action.sel(policy=name).values.ravel()
        counts = np.bincount(served, minlength=3) / served.size
        # Sets are drawn uniformly: three standard errors of a share over 600 users are .06.
        np.testing.assert_allclose(counts, np.bincount(best, minlength=3) / 6, atol=0.061)


@pytest.mark.slow
def test_regret_of_the_oracles(run):
    last = run.regret.isel(user=-1).mean("trial")
    assert float(last.sel(policy="oracle")) == 0.0
    # Which of the two costs less depends on the users; both know more than a random choice.
    for name in ("mean-oracle", "average-oracle"):
        assert 0.0 < float(last.sel(policy=name)) < 0.3 * float(last.sel(policy="random"))


@pytest.mark.slow
def test_oracles_are_not_compared(run):
    comparison = compare(run)
    assert set(comparison.oracles) == {"oracle", "mean-oracle", "average-oracle"}
    assert {json.loads(run.attrs["policies"])[pair.policy]["kind"] for pair in comparison.pairs} <= {
        "random",
        "greedy",
    }


def test_an_average_needs_a_distribution():
    problem = PROBLEM.replace(satisfaction=hrprob.FixedLevels(0.2))
    with pytest.raises(InvalidInput, match="distribution"):
        hrprob.AverageOracle().bind(problem, 10)


@pytest.mark.slow
def test_the_best_mean_costs_what_it_should_on_the_sphere_and_nothing_on_the_discrete_sets():
    sphere = experiment_of("released", ["mean-oracle"]).problem
    run = hrprob.simulate(sphere, hrprob.MeanOracle(), users=2000, trials=100, keep=1000)
    rate = run.regret.isel(policy=0, user=-1).values / 2.0
    # 36.9 ± 0.1 per thousand users was measured by independent code.
    assert abs(rate.mean() - 36.9) < 3 * np.hypot(0.1, rate.std(ddof=1) / 10)
    discrete = experiment_of("released-d", ["mean-oracle"]).problem
    run = hrprob.simulate(discrete, hrprob.MeanOracle(), users=2000, trials=2, keep=1000)
    assert np.all(run.regret == 0)
