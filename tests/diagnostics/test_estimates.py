"""GLSE and posterior mean side by side."""

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics import estimates
from hrprob.io.page import Report

from .toy import PROBLEM, toy


def test_efficiency_is_a_ratio_of_squared_errors():
    data, posteriors = toy()
    table = estimates.compare_estimates(PROBLEM, data, posteriors)
    assert table.estimate.dims == ("users", "estimator", "data_set", "parameter", "feature")
    result = estimates.efficiency(table)
    away = table.estimate.values - table.truth.values
    squares = (away**2).sum(axis=-1).mean(axis=2)
    np.testing.assert_allclose(
        result.efficiency.transpose("users", "parameter").values, squares[:, 1] / squares[:, 0]
    )
    # The draws have the right spread: errors are as large as said, 400 of them.
    ratio = result.error_ratio.sel(estimator="posterior").values
    np.testing.assert_allclose(ratio, 1.0, atol=4 / np.sqrt(2 * 400))
    assert estimates.estimates_verdict("over the prior", result).good is None


@pytest.mark.parametrize(
    "noise",
    [hrprob.Mixture(weight=0.3, ratio=0.5), hrprob.TruncatedNormal(width=1.5), hrprob.StudentT(df=9.0)],
)
def test_fourth_moments_are_those_of_draws(noise):
    z = np.random.default_rng(1).uniform(size=200_000)
    at = np.linspace(-40, 40, 400_001)
    draws = np.interp(z, np.asarray(noise.cdf(at)), at)
    # The eighth moment of t with 9 degrees of freedom is barely finite: its mean scatters by a tenth at most.
    assert noise.fourth_moment == pytest.approx(np.mean(draws**4), rel=0.1)


def test_where_the_noise_has_no_fourth_moment_there_is_no_error_for_phi():
    assert hrprob.StudentT(df=4.0).fourth_moment is None
    data, posteriors = toy()
    table = estimates.compare_estimates(PROBLEM.replace(noise=hrprob.StudentT(df=3.0)), data, posteriors)
    errors = table.se.sel(estimator="GLSE")
    assert np.all(np.isnan(errors.sel(parameter="phi")))
    assert np.all(np.isfinite(errors.sel(parameter="theta")))
    words = estimates.estimates_verdict("over the prior", estimates.efficiency(table)).words
    assert "nan" not in words
    heavy = estimates.compare_estimates(PROBLEM.replace(noise=hrprob.StudentT(df=5.0)), data, posteriors)
    normal = estimates.compare_estimates(PROBLEM, data, posteriors)
    ratio = (heavy.se / normal.se).sel(estimator="GLSE", parameter="phi")
    np.testing.assert_allclose(ratio, 2.0)  # √((9 − 1)/(3 − 1))


@pytest.mark.parametrize(("df", "empty"), [(4.0, 2), (5.0, 0)])
def test_standard_errors_that_do_not_exist_are_left_out_and_that_is_said(df, empty):
    data, posteriors = toy(sets=20)
    problem = PROBLEM.replace(noise=hrprob.StudentT(df=df))
    compared = {"over the prior": estimates.compare_estimates(problem, data, posteriors)}
    table = {truths: estimates.efficiency(one) for truths, one in compared.items()}
    page = Report("", "")
    estimates.Estimates().write_section(page, estimates.EstimatesResult(compared, table))
    written = page.render()
    assert "nan" not in written
    assert written.count("<td></td>") == empty  # φ, after four users and after eight
    assert "empty where the noise has no known fourth moment" in written
    title = estimates.plot_estimates(compared["over the prior"]).legends[0].get_title().get_text()
    assert ("no known fourth moment" in title) is (empty > 0)
