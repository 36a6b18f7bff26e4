"""A link that is not affine: what rests on the GLSE is left out with a reason, or refused."""

import numpy as np
import pytest

from hrprob._core.errors import InvalidInput
from hrprob.diagnostics import glse_by_data_set, printed_sets, reneging
from hrprob.diagnostics.estimates import Estimates
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.mismatch import make_mismatch
from hrprob.diagnostics.progress import Steps
from hrprob.diagnostics.reliability import reliability
from hrprob.diagnostics.reneging import Reneging, RenegingResult
from hrprob.diagnostics.rho import Rho
from hrprob.diagnostics.study import QUICK, make_study
from hrprob.io.page import Report
from hrprob.models import make_model, make_prior
from tests.diagnostics.toy import predictions
from tests.problem.links.test_not_affine import PROBLEM, Exponential

WHY = "the link 'exponential' is not affine"


def test_the_glse_and_the_printed_sets_are_refused():
    with pytest.raises(InvalidInput, match="`link` must be affine, got 'exponential'"):
        glse_by_data_set(None, Exponential())
    with pytest.raises(InvalidInput, match="`link` must be affine, got 'exponential'"):
        printed_sets.printed_sets(PROBLEM, 1.0, None)


@pytest.mark.parametrize("diagnostic", [Rho(), Estimates()])
def test_what_compares_with_them_is_left_out_with_the_reason(diagnostic):
    inputs = SharedInputs(make_study(PROBLEM), QUICK, Steps())
    assert diagnostic.own_steps(inputs) == 0
    result = diagnostic.compute(inputs)
    (verdict,) = diagnostic.verdicts(result)
    assert verdict.good is None
    assert not verdict.counts
    assert WHY in verdict.words
    page = Report("", "")
    diagnostic.write_section(page, result)
    assert "is not affine" in page.render()
    assert diagnostic.figures(result) == []
    assert not any(diagnostic.to_plain(result).values())
    assert diagnostic.to_datasets(result) == {}


def test_reneging_is_then_predicted_by_the_posterior_alone():
    table = predictions(sets=20, users=5).sel(predictor=["posterior"])
    result = RenegingResult(
        *({"over the prior": one} for one in (table, reliability(table), reneging.scores(table))), WHY
    )
    missing, *others = Reneging().verdicts(result)
    assert "GLSE and σ_max: left out, the link" in missing.words
    assert len(others) == 1
    page = Report("", "")
    Reneging().write_section(page, result)
    assert "GLSE" not in page.render().split("Did users leave")[1]
    assert list(Reneging().to_plain(result)["reneging"]["over the prior"]) == ["posterior"]


def test_an_affine_link_can_be_fitted_instead_if_it_is_written_whole():
    model, prior = make_model("gaussian"), make_prior("uniform")
    made = make_mismatch(PROBLEM, model, prior, {"contexts": 0.5})
    assert made.target.setting.link == Exponential()
    made = make_mismatch(PROBLEM, model, prior, {"link": {"slope": 1.0, "offset": 2.0}})
    assert np.isclose(float(made.target.setting.link.offset), 2.0)
    with pytest.raises(InvalidInput, match=r"`fit_as\.link` must have slope and offset"):
        make_mismatch(PROBLEM, model, prior, {"link": {"offset": 3.0}})
