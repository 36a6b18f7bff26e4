"""Data that are fitted as something else than they are."""

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics import make_study
from hrprob.diagnostics.mismatch import add_user_effect
from hrprob.observations import Stays
from hrprob.simulation.data_sets import DataSets
from hrprob.simulation.truths import Truths


def test_what_is_fitted_differs_and_the_problem_does_not():
    problem = hrprob.Problem()
    written = {"link": {"offset": 3.0}, "model": "student-t", "prior": "gaussian", "contexts": 0.5}
    study = make_study(problem, fit_as=written)
    assert float(study.target.setting.link.offset) == 3.0
    assert float(study.truth_target.setting.link.offset) == 2.0
    assert (study.target.model.kind, study.target.prior.kind) == ("student-t", "gaussian")
    assert study.mismatch.contexts == 0.5
    assert "offset = 3.0" in study.fitted_as
    assert make_study(problem).fitted_as == ""


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"linc": {}}, "fit_as"),
        ({"link": 3.0}, "`fit_as.link` must be a table"),
        ({"link": {"ofset": 3.0}}, "fit_as.link"),
        ({"contexts": 2.0}, "fit_as.contexts"),
        ({"user_effect": -0.1}, "fit_as.user_effect"),
        (3.0, "`fit_as` must be a table"),
    ],
)
def test_what_cannot_be_fitted_is_refused(written, message):
    with pytest.raises(hrprob.InvalidInput, match=message):
        make_study(hrprob.Problem(), fit_as=written)


def test_rounds_of_a_user_share_an_effect_and_stays_end_below_the_level():
    problem, rng = hrprob.Problem(), np.random.default_rng(0)
    sets, users, recorded = 40, 50, 16
    x = rng.normal(size=(sets, users, 4))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    zero = np.zeros((sets, users))
    truths = Truths(np.tile(problem.theta, (sets, 1)), np.tile(problem.phi, (sets, 1)))
    before = DataSets(
        truths,
        Stays(x, zero, zero, zero),
        np.full((sets, users), -1.0),
        zero,
        np.zeros((sets, users, recorded)),
        np.zeros((sets, 0, 4)),
        np.zeros((sets, 0)),
    )
    assert add_user_effect(problem, before, 0.0, 1) is before
    data = add_user_effect(problem, before, 0.4, 1)
    mean, sd = x @ problem.theta, np.sqrt(x @ problem.phi + 2.0)
    e = (data.outcomes - mean[..., None]) / sd[..., None]
    # 2000 users: the correlation of two rounds has a standard error of about 0.02, the variance one of 0.02.
    assert abs(np.mean(e[..., 0] * e[..., 1]) - 0.4) < 0.08
    assert abs(e[..., 0].var() - 1.0) < 0.12
    length = data.stays.rounds.astype(int)
    last = np.take_along_axis(data.outcomes, length[..., None] - 1, axis=-1)[..., 0]
    assert np.all((last < -1.0) | (length == recorded))
    assert np.all((data.played > recorded) == ((length == recorded) & (last >= -1.0)))
