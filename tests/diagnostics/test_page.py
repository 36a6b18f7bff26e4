"""What the report says, of tables that are given."""

from types import SimpleNamespace

import pytest

import hrprob
from hrprob.diagnostics import estimates, figures, page
from hrprob.report import Report

from .toy import PROBLEM, toy


def written(section, **found):
    """Return what a section writes of these parts of a diagnosis."""
    report = Report("", "")
    section(report, SimpleNamespace(**found))
    return report.render()


@pytest.mark.parametrize(("df", "empty"), [(4.0, 2), (5.0, 0)])
def test_standard_errors_that_do_not_exist_are_left_out_and_that_is_said(df, empty):
    data, posteriors = toy(sets=20)
    compared = estimates.compare_estimates(PROBLEM.replace(noise=hrprob.StudentT(df=df)), data, posteriors)
    table = written(page._estimates, efficiency={"over the prior": estimates.efficiency(compared)})
    assert "nan" not in table
    assert table.count("<td></td>") == empty  # φ, after four users and after eight
    assert "empty where the noise has no fourth moment" in table
    title = figures.plot_estimates(compared).legends[0].get_title().get_text()
    assert ("no fourth moment" in title) is (empty > 0)
