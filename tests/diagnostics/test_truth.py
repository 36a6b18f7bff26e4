"""The posterior's ellipsoid at a truth, and priors that exclude it."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.diagnostics import make_study
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.diagnostics.truth import (
    AtTruth,
    AtTruthResult,
    coverage_at_truth,
    ellipsoid_contains,
    errors_at_truth,
    outside_support,
    squared_error,
)


def test_the_ellipsoid_contains_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    sets, draws, d = 400, 300, 2
    truth = rng.normal(size=(sets, 2 * d))
    centre = truth + rng.normal(size=truth.shape)
    both = centre[:, None] + rng.normal(size=(sets, draws, 2 * d))
    inside = ellipsoid_contains(Posteriors(both[..., :d], both[..., d:]), truth)
    # 90 % of 400, less a little for the covariance estimated from 300 draws; four standard errors are 6 points.
    assert 0.83 < inside.mean() < 0.96


def test_a_prior_that_excludes_the_truth_is_named():
    problem = hrprob.Problem()
    assert outside_support(problem, make_study(problem).target) == []
    narrow = make_study(problem, fit_as={"bounds": {"phi": 0.5}})
    assert outside_support(problem, narrow.target) == ["‖φ*‖ = 1.32, and the prior ends at 0.5"]


def test_a_prior_that_excludes_the_truth_fails_although_its_posterior_is_never_far_off():
    """‖φ‖ ≤ 0.5 where ‖φ*‖ = 1.9."""
    problem = hrprob.Problem(phi=[0.95, 0.95, 0.95, 0.95])
    narrow = make_study(problem, fit_as={"bounds": {"phi": 0.5}})
    always = xarray.DataArray(np.ones((1, 32), bool), dims=("users", "data_set"), coords={"users": [100]})
    result = AtTruthResult(always, always * 0.5, outside_support(problem, narrow.target), narrow.fitted_as)
    said = AtTruth().verdicts(result)
    assert [one.good for one in said] == [False, True, True]
    assert "‖φ*‖ = 1.9, and the prior ends at 0.5" in said[0].words


@pytest.mark.parametrize(("scale", "good"), [(1.0, True), (1.3, None), (2.0, False)])
def test_three_ends_of_errors_at_one_truth(scale, good):
    rng = np.random.default_rng(1)
    both = rng.normal(size=(32, 300, 8))
    truth = scale * rng.normal(size=(32, 8))
    distance = squared_error(Posteriors(both[..., :4], both[..., 4:]), truth)
    table = xarray.DataArray(distance[None], dims=("users", "data_set"), coords={"users": [100]})
    said = errors_at_truth(table, "contexts = 0.5")
    assert said.good is good
    assert ("contexts = 0.5" in said.words) == (good is False)


@pytest.mark.parametrize(("hits", "good"), [(30, True), (25, None), (10, False)])
def test_three_ends_of_a_coverage_at_one_truth(hits, good):
    inside = xarray.DataArray(np.arange(32)[None] < hits, dims=("users", "data_set"), coords={"users": [100]})
    said = coverage_at_truth(inside, "link = { offset = 3.0 }")
    assert said.good is good
    assert ("offset = 3.0" in said.words) == (good is False)
    assert ("would be detected" in said.words) == (good is not False)
