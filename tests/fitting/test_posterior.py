"""Predictions of a posterior are those of its draws."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.records import with_fields


def test_predictions_are_those_of_the_draws(posterior):
    x, beta = np.array([[0.6, 0.0], [0.0, -1.0]]), np.array([-0.5, 0.3])
    said = posterior.predict(x, beta=beta, prob=0.5)
    u = np.einsum("cdj,mj->cdm", posterior.theta, x).reshape(-1, 2)
    w = np.einsum("cdj,mj->cdm", posterior.phi, x).reshape(-1, 2) + 2
    probability = stats.norm.cdf((beta - u) / np.sqrt(w))
    for name, values in (("mean", u), ("variance", w), ("reneging_probability", probability)):
        wanted = np.stack([values.mean(0), *np.quantile(values, [0.5, 0.25, 0.75], axis=0)], axis=-1)
        np.testing.assert_allclose(said[name].values, wanted, rtol=1e-9)
    # Its mean may be infinite, so none is given. Quantiles differ by how two of 4000 draws are averaged.
    assert np.isnan(said.lifetime.sel(statistic="mean")).all()
    wanted = np.quantile(1 / probability, [0.5, 0.25, 0.75], axis=0).T
    np.testing.assert_allclose(said.lifetime.values[:, 1:], wanted, rtol=1e-5)
    assert set(posterior.predict(x[0]).data_vars) == {"mean", "variance"}
    for wrong in ({"x": [[1.0]]}, {"x": [[1.0, 1.0]]}, {"x": x, "beta": [0.1]}, {"x": x, "prob": 0}):
        with pytest.raises(InvalidInput):
            posterior.predict(**wrong)


def test_lifetimes_are_infinite_where_nobody_leaves(posterior):
    narrow = with_fields(posterior.target, model=hrprob.models.make_model("truncated-normal"))
    bounded = dataclasses.replace(posterior, target=narrow)
    x = np.array([[0.6, 0.0], [0.0, 0.6], [0.6, 0.0]])
    # Nobody leaves at a level that no outcome falls below, some draws say so of the second, all leave at ∞.
    said = bounded.predict(x, beta=[-50.0, -6.5, np.inf])
    assert np.isnan(said.lifetime.sel(statistic="mean")).all()
    ends = said.lifetime.sel(statistic=["median", "low", "high"]).values
    assert ends[0].tolist() == [np.inf] * 3
    assert np.isfinite(ends[1, 1])
    assert ends[1, 2] == np.inf
    assert ends[2].tolist() == [1.0] * 3
    assert posterior.predict(x[:1], beta=-1e4).lifetime.values[0, 1:].tolist() == [np.inf] * 3
