"""Six plug-ins in one configuration, through the command line: run, fit and diagnose."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.plugins.example import SMALL

HERE = Path(__file__).parent
NAMES = ("policy", "noise", "engine", "model", "prior", "diagnostic")
CONFIGURATION = f"""
{SMALL}
[[policy]]
kind = "thompson"
engine = {{ kind = "wide-laplace", factor = 1.2 }}
model = "logistic-outcomes"
prior = "small-effects"
"""


@pytest.fixture
def hrprob(tmp_path: Path) -> Callable[..., None]:
    """Return the command line, run where the plug-ins and the configuration are."""
    imports = []
    for name in NAMES:
        shutil.copy(HERE / f"{name}.py", tmp_path / f"own_{name}.py")
        imports += ["--import", f"own_{name}"]
    (tmp_path / "own.toml").write_text(CONFIGURATION, encoding="utf-8")
    path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])

    def call(*arguments: object) -> None:
        command = [sys.executable, "-m", "hrprob.cli", *map(str, arguments), *imports]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    return call


@pytest.mark.slow
def test_a_run_takes_all_of_them(hrprob: Callable[..., None], tmp_path: Path) -> None:
    hrprob("run", "own.toml", "--out", "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert set(summary) == {"own", "thompson"}


@pytest.mark.slow
def test_a_fit_takes_engine_model_and_prior(hrprob: Callable[..., None], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(-0.7, 0.7, size=(30, 2)), rng.normal(size=30)])
    np.savetxt(tmp_path / "rounds.csv", rows, delimiter=",", header="x1,x2,r", comments="")
    engine = '{ kind = "resampled-prior", points = 2000 }'
    options = ("--engine", engine, "--model", "contaminated", "--prior", "small-effects")
    hrprob("fit", "rounds.csv", *options, "--out", "fit")
    assert (tmp_path / "fit" / "posterior.nc").exists()


@pytest.mark.study
def test_a_diagnosis_takes_all_of_them(hrprob: Callable[..., None], tmp_path: Path) -> None:
    hrprob("diagnose", "own.toml", "--quick", "--out", "diagnose")
    folder = tmp_path / "diagnose"
    numbers = json.loads((folder / "calibration.json").read_text())
    assert 0.0 <= numbers["phi_at_bound"] <= 1.0
    assert (folder / "phi-at-bound.png").exists()
    assert "Estimates at the bound" in (folder / "report.html").read_text(encoding="utf-8")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["engine"]["kind"] == "wide-laplace"
