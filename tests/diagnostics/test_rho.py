"""Verdicts on the printed sets, and the contributions to their width."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.diagnostics import printed_sets
from hrprob.diagnostics.contributions import contributions
from hrprob.diagnostics.designs import designs
from hrprob.diagnostics.printed_sets import compare_sets
from hrprob.diagnostics.rho import RhoResult, rho_verdicts


@pytest.fixture(scope="module")
def compared():
    problem = hrprob.Problem()
    design = designs(problem, 100)["fixed"]
    return problem, compare_sets(design, most=100, replications=40, fits=20, seed=1)


@pytest.mark.slow
def test_contributions_multiply_to_the_gap(compared):
    problem, found = compared
    parts = contributions(found, problem)
    product = parts["union"] * parts["scale"] * parts["product"] * parts["rest"] * parts["simultaneity"]
    np.testing.assert_allclose(product, parts.total)
    np.testing.assert_allclose(parts.share_of_product, 0.95, atol=0.01)
    words = rho_verdicts(RhoResult({"fixed": found}, {"fixed": parts}, {}))
    assert [verdict.good for verdict in words] == [True, None]
    assert "union over n" in words[-1].words
    # Without a sub-Gaussian scale of the noise, a reader is told that nothing is proved.
    unproved = RhoResult({"fixed": found.assign_attrs(noise_scale=np.inf)}, {"fixed": parts}, {})
    assert "no version of the sets is proved" in rho_verdicts(unproved)[0].words
    assert found.reached.values.tolist() == [40, 40, 40]
    assert np.all((found.quantile_se > 0) & (found.quantile_se < found["quantile"]))


@pytest.mark.slow
def test_a_set_that_covers_as_often_as_it_says_is_not_blamed(compared):
    problem, found = compared
    parts = {"fixed": contributions(found, problem)}
    for covered, good in ((0.875, True), (0.7, False)):
        # 35 and 28 of 40: as few have a probability of 0.37 and of 1e-4 where it should be 0.9.
        altered = found.assign(coverage_simultaneous=xarray.full_like(found.coverage_simultaneous, covered))
        assert rho_verdicts(RhoResult({"fixed": altered}, parts, {}))[0].good is good


@pytest.mark.slow
def test_contributions_have_the_ridge_of_the_sets():
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.4])
    design = designs(problem, 10)["fixed"]
    found = compare_sets(design, most=10, replications=4, fits=1, ridge=3.0)
    of = found.sel(parameter="phi")
    gap = of.radius.sel(version="paper") / of["quantile"]
    np.testing.assert_allclose(contributions(found, problem).total, gap, rtol=1e-12)
    plain = float(printed_sets.printed_sets(problem, 1.0, None)["paper"].rho_simultaneous(10, 0.1))
    overridden = contributions(found, problem, ridge=1.0).total
    np.testing.assert_allclose(overridden, plain / of["quantile"], rtol=1e-12)
    assert not np.allclose(overridden, gap, rtol=1e-3)
