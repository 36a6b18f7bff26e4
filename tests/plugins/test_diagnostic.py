"""A third-party diagnostic: in the report, the figures, the verdicts and the files, without any other edit."""

import dataclasses
import json

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.diagnostics import DIAGNOSTICS, QUICK, diagnose, make_study, write_report
from hrprob.diagnostics.base import make_diagnostics

SMALL = dataclasses.replace(QUICK, truth_sets=20, truth_users=(5, 10), draws=20)


@pytest.mark.slow
def test_a_diagnostic_of_ones_own_is_reported_like_the_others(plugin, tmp_path):
    module = plugin("diagnostic", DIAGNOSTICS)
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.8, -0.5], contexts=hrprob.Ball(actions=3))
    said, finished = [], []
    done = diagnose(
        make_study(problem, {"random": hrprob.Random()}, policy="random"),
        SMALL,
        diagnostics=["phi-at-bound"],
        say=said.append,
        finished=lambda diagnostic, result: finished.append(diagnostic.kind),
    )
    assert finished == ["phi-at-bound"]
    assert len(said) == 2  # data sets and posteriors at the truth, and no other
    result = done.result_of(module.PhiAtBound)
    assert result.norm.shape == (20,)
    write_report(done, tmp_path / "out")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"phi-at-bound.png", "phi-at-bound.svg"} <= files
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Estimates at the bound</h2>" in page
    assert "‖φ̂‖ is at the bound in" in page
    plain = json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert plain["phi_at_bound"] == result.share
    assert [verdict["part"] for verdict in plain["verdicts"]] == ["phi-at-bound"]
    with xarray.open_datatree(tmp_path / "out" / "diagnostics.nc", engine="h5netcdf") as tree:
        np.testing.assert_array_equal(tree["phi_at_bound"].norm, result.norm)


def test_a_diagnostic_of_ones_own_comes_after_hrprobs(plugin):
    own = [one.kind for one in make_diagnostics()]
    plugin("diagnostic", DIAGNOSTICS)
    assert [one.kind for one in make_diagnostics()] == [*own, "phi-at-bound"]
