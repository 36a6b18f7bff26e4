"""What the report says, of tables that are given."""

from types import SimpleNamespace

import pytest

import hrprob
from hrprob.diagnostics import estimates, figures, page, reneging, sbc
from hrprob.io.page import Report

from .toy import PROBLEM, TARGET, toy


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
    assert "empty where the noise has no known fourth moment" in table
    title = figures.plot_estimates(compared).legends[0].get_title().get_text()
    assert ("no known fourth moment" in title) is (empty > 0)


@pytest.mark.parametrize("users", [(4, 8), (3, 4, 5, 6, 7, 8)])
def test_predictions_are_said_to_be_made_when_they_were(users):
    data, posteriors = toy(sets=20, users=users)
    predicted = reneging.predict(PROBLEM, TARGET, data, posteriors)
    said = written(
        page._reneging,
        predicted={"over the prior": predicted},
        reliability={"over the prior": reneging.reliability(predicted)},
        scores={"over the prior": reneging.scores(predicted)},
    )
    assert f"over the prior after {'4 and 8' if len(users) == 2 else '3, 4, 5, … and 8'} of them" in said


@pytest.mark.parametrize(
    ("other", "words"), [(8, "every engine (after 8 users)"), (5, "smc after 8 users, nuts after 5")]
)
def test_engines_are_said_to_be_ranked_after_their_own_users(other, words):
    ranks = {
        engine: sbc.ranks(PROBLEM, TARGET, *toy(sets=20, users=users))
        for engine, users in (("smc", (4, 8)), ("nuts", (other,)))
    }
    done = SimpleNamespace(study=SimpleNamespace(engine=SimpleNamespace(kind="smc")), ranks=ranks)
    assert words in page._caption("ranks", done)
    assert "engine in use after 8 users" in page._caption("sbc", done)
