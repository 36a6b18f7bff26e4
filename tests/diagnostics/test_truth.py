"""The posterior's ellipsoid at a truth, and priors that exclude it."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.diagnostics import make_study
from hrprob.diagnostics.posteriors import Posteriors
from hrprob.diagnostics.truth import coverage_at_truth, ellipsoid_contains, outside_support


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


@pytest.mark.parametrize(("hits", "good"), [(30, True), (25, None), (10, False)])
def test_three_ends_of_a_coverage_at_one_truth(hits, good):
    inside = xarray.DataArray(np.arange(32)[None] < hits, dims=("users", "data_set"), coords={"users": [100]})
    said = coverage_at_truth(inside, "link = { offset = 3.0 }")
    assert said.good is good
    assert ("offset = 3.0" in said.words) == (good is False)
    assert ("would be detected" in said.words) == (good is not False)
