"""How often a set ever misses the truth, over data sets, at all n simultaneously.

The promise is at most δ, for every design. A share p of N data sets has a standard error of √(p(1 − p)/N): misses above
δ + 2 standard errors would contradict it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hrprob
from hrprob.estimation.likelihood_ratio.paths import log_ratio_paths
from hrprob.estimation.likelihood_ratio.predictives import Predictive, make_predictive
from hrprob.models import Setting, Stays, model_for_noise
from tests.quoted.anytime import missed

# Misses before this many rounds are not counted, and neither would they be allowed.
FIRST, LAST = 10, 10_000


def largest_log_ratios(data: Any, model: Any, predictive: Any, theta: Any, phi: Any) -> np.ndarray:
    """Return the largest ln E_n of the truth between FIRST and LAST rounds in each data set (sets,)."""
    truths = (np.tile(truth, (len(data.x), 1)) for truth in (theta, phi))
    paths = log_ratio_paths(predictive, data, model, Setting(len(theta)), *truths)
    counted = (paths.rounds >= FIRST) & (paths.rounds <= LAST)
    return np.max(np.where(counted, paths.log_ratio, -np.inf), axis=1)


def check(ratios: np.ndarray, context: str) -> None:
    for delta in (0.1, 0.05):
        missed, se = np.mean(ratios > np.log(1 / delta)), np.sqrt(delta * (1 - delta) / len(ratios))
        print(f"{context}, δ = {delta}: {len(ratios)} data sets, ever missed {missed:.3f} (se {se:.3f})")
        assert missed <= delta + 2 * se, context


@pytest.mark.parametrize("predictive", ["glse", "weighted"])
def test_a_set_ever_misses_the_truth_as_rarely_as_promised(predictive: str) -> None:
    """A greedy choice of the larger of two squared residuals: a design that depends on the noise."""
    rng, sets, n, d = np.random.default_rng(0), 400, 150, 2
    theta, phi = np.array([0.5, 0.3]), np.array([0.9, -0.6])
    x, r = np.zeros((sets, n, d)), np.zeros((sets, n))
    last = np.zeros(sets, dtype=bool)
    for i in range(n):
        both = rng.normal(size=(sets, 2, d))
        both /= np.linalg.norm(both, axis=-1, keepdims=True)
        x[:, i] = both[np.arange(sets), last.astype(int)]
        w = 2 + x[:, i] @ phi
        noise = np.sqrt(w) * rng.normal(size=sets)
        r[:, i] = x[:, i] @ theta + noise
        last = noise**2 > w
    data = Stays(x, np.ones((sets, n)), r, r**2)  # type: ignore[arg-type]
    ratios = largest_log_ratios(data, model_for_noise(hrprob.Normal()), predictive, theta, phi)
    check(ratios, predictive)
    # Wrong predictives miss as rarely; a wrong model misses nearly always: the test can fail.
    wrong = largest_log_ratios(data, model_for_noise(hrprob.Normal()), predictive, theta, -phi)
    assert np.mean(wrong > np.log(10)) > 0.9


@pytest.mark.slow
def test_many_data_sets_in_one_program_are_those_one_by_one() -> None:
    """By Laplace's approximation, whose fits are scheduled; the sequential engine goes set by set anyway."""
    rng, sets, n = np.random.default_rng(1), 2, 40
    x = rng.normal(size=(sets, n, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    r = x @ [0.5, 0.3] + np.sqrt(2 + x @ [0.9, -0.6]) * rng.normal(size=(sets, n))
    data = Stays(x, np.ones((sets, n)), r, r**2)  # type: ignore[arg-type]
    model, setting = model_for_noise(hrprob.Normal()), Setting(2)
    engine = {"kind": "laplace", "points": 0}
    predictive = make_predictive({"kind": "laplace", "engine": engine, "draws": 16, "refit": 2.0})
    together = np.asarray(predictive.absorb_sets(data, model, setting))
    one_by_one = np.asarray(Predictive.absorb_sets(predictive, data, model, setting))
    assert together.dtype == one_by_one.dtype == np.float64
    # The mode is searched from the last one here and from the prior there: it is accurate to 0.003 sds.
    np.testing.assert_allclose(together, one_by_one, atol=0.02)


@pytest.mark.study
def test_the_recorded_study_of_coverage_holds_on_a_part_of_it() -> None:
    """`python -m tests.quoted refresh anytime` plays all of it."""
    for noise in ("normal", "mixture"):
        found = missed(noise, "greedy", sets=128)
        assert all(all(one["within"]) for one in found.values()), found
