"""The largest value among several means and variances: one evaluation where h suffices, else all of them."""

from typing import Any

import numpy as np
import pytest

import hrprob
from hrprob.problem.objectives import MeanVariance

NOISES = [hrprob.Normal(), hrprob.StudentT(5.0), hrprob.Mixture(), hrprob.TruncatedNormal(3.0, 0.05)]
LEVELS = hrprob.UniformLevels(-1.0, 1.0)
RULES: dict[str, dict[str, Any]] = {
    "seen": {"satisfaction": LEVELS},
    "hidden": {"satisfaction": hrprob.HiddenLevels(LEVELS)},
    "redrawn": {"satisfaction": hrprob.RedrawnLevels(LEVELS)},
    "mean and variance": {"satisfaction": LEVELS, "objective": MeanVariance(aversion=0.2)},
}


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.kind)
@pytest.mark.parametrize("rules", RULES)
def test_it_is_the_largest_of_all_values(noise: Any, rules: str) -> None:
    known = hrprob.Problem(noise=noise, **RULES[rules]).known(users=10)
    rng = np.random.default_rng(3)
    u, w = rng.uniform(-1.0, 1.0, size=(7, 5)), rng.uniform(0.5, 4.0, size=(7, 5))
    beta = 0.3 if known.satisfaction.seen else np.nan
    values = np.asarray(known.value(u, w, beta))
    np.testing.assert_allclose(known.largest_value(u, w, beta), values.max(axis=0), rtol=1e-12)


def test_limits() -> None:
    known = hrprob.Problem().known(users=10)
    u, w = np.array([[0.2, 0.3], [0.2, -0.3]]), np.array([[0.0, 1.0], [1.0, 2.0]])
    for beta in (0.2, np.inf, -np.inf):
        np.testing.assert_array_equal(
            known.largest_value(u, w, beta), np.asarray(known.value(u, w, beta)).max(axis=0)
        )
