"""Levels of every kind: draws, supports, and parameters that cannot be used."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys


def draw(satisfaction: Any, users: int = 2000, trials: int = 5) -> np.ndarray:
    with double_precision():
        source = Source(trial_keys(0, np.arange(trials)), jnp.arange(1, users + 1, dtype=jnp.uint32))
        return np.asarray(satisfaction.draw(source))


def test_uniform_draws_have_their_distribution() -> None:
    sample = draw(hrprob.UniformLevels(-0.5, 2.0))
    assert sample.shape == (2000, 5)
    assert stats.kstest(sample.ravel(), stats.uniform(-0.5, 2.5).cdf).pvalue > 1e-4


def test_constant_levels() -> None:
    assert np.all(draw(hrprob.FixedLevels(0.3)) == 0.3)
    assert np.all(draw(hrprob.InfiniteLevels()) == math.inf)
    assert np.all(draw(hrprob.UniformLevels(0.7, 0.7)) == 0.7)


@pytest.mark.parametrize(
    ("satisfaction", "support"),
    [
        (hrprob.UniformLevels(-1, 2), (-1, 2)),
        (hrprob.FixedLevels(0.5), (0.5, 0.5)),
        (hrprob.InfiniteLevels(), (math.inf, math.inf)),
    ],
)
def test_support(satisfaction: Any, support: tuple[float, float]) -> None:
    assert satisfaction.support == support
