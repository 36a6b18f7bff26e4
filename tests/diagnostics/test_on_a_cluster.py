"""A diagnosis on the processes of a cluster, compared to the bit with one in this process."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.diagnostics import experiment as diagnosing
from hrprob.diagnostics import runner
from hrprob.diagnostics.base import make_diagnostics
from hrprob.diagnostics.study import Sizes
from hrprob.io.config import Experiment

SIZES = Sizes(
    sets=20,
    users=(5,),
    draws=20,
    every_engine=False,
    other_users=5,
    replications=20,
    fits=2,
    rounds=16,
    design_users=10,
    truth_sets=20,
    truth_users=(5,),
    refit=1.5,
)


def arrays_of(folder):
    """Return all arrays of a diagnosis by name."""
    with xarray.open_datatree(folder / "diagnostics.nc", engine="h5netcdf") as tree:
        return {
            f"{node.path}:{name}": np.asarray(values.values)
            for node in tree.subtree
            for name, values in node.to_dataset().variables.items()
        }


@pytest.mark.slow
@pytest.mark.optimised
def test_a_diagnosis_on_a_cluster_has_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(diagnosing, "QUICK", SIZES)
    monkeypatch.setattr(
        runner, "make_diagnostics", lambda written: make_diagnostics(("calibration", "truth"))
    )
    monkeypatch.setattr("hrprob.plot.save", lambda figure, folder, name: None)
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.4], contexts=hrprob.Ball(actions=5))
    experiment = Experiment(problem, {"random": hrprob.Random()}, 20, 2, seed=1)
    for name, place in (("here", None), ("there", "local:1")):
        diagnosing.diagnose_experiment(
            experiment, tmp_path / name, policy="random", quick=True, scheduler=place
        )
    here, there = arrays_of(tmp_path / "here"), arrays_of(tmp_path / "there")
    assert here.keys() == there.keys()
    assert len(here) > 10
    for name, array in here.items():
        assert array.tobytes() == there[name].tobytes(), name
