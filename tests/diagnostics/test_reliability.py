"""Bins and tests of predicted probabilities."""

import numpy as np
import pytest
import xarray

from hrprob.diagnostics.reliability import reliability

from .toy import predictions


def test_right_probabilities_are_called_right():
    # Two tests: were they independent, p < 0.5 would have probability 0.44; were they one, 0.25. The error over 40 is 0.079.
    p = np.array([float(reliability(predictions(seed=seed)).p_value[0]) for seed in range(40)])
    assert p.min() > 1e-3
    assert 0.25 - 3 * 0.079 < np.mean(p < 0.5) < 0.44 + 3 * 0.079


@pytest.mark.parametrize("sets", [32, 200])
def test_right_probabilities_are_called_right_where_few_users_leave(sets):
    # Half of the probabilities are below 0.08, a tenth below 0.0004: the lowest bins see nobody leave. A test that
    # errs in one case of 20 does so in 15 of 300, and in more than 15 + 4 * 3.8 with probability 1e-4 at most.
    rng = np.random.default_rng(sets)
    strange = 0
    for _ in range(300):
        probability = 0.8 * rng.beta(0.3, 1.0, size=(1, sets, 25))
        left = rng.uniform(size=probability.shape[1:]) < probability[0]
        axes = ("predictor", "data_set", "user")
        table = xarray.Dataset(
            {"probability": (axes, probability), "left": (axes[1:], left)}, {"predictor": ["said"]}
        )
        strange += float(reliability(table).p_value[0]) < 0.05
    assert strange <= 15 + 4 * 3.8
