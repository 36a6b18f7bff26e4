"""Six plug-ins in one configuration, through the command line: run, fit and diagnose."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = ("policy", "noise", "engine", "model", "prior", "diagnostic")
CONFIGURATION = """
[problem]
theta = [0.4, 0.1]
phi = [0.3, 0.2]
noise = "logistic"
contexts = { kind = "ball", actions = 3 }
[run]
users = 40
trials = 2
[[policy]]
kind = "mean-or-random"
[[policy]]
kind = "thompson"
engine = { kind = "wide-laplace", factor = 1.2 }
model = "logistic-outcomes"
prior = "small-effects"
"""


@pytest.mark.study
def test_run_fit_and_diagnose_take_all_of_them(tmp_path: Path) -> None:
    imports = []
    for name in NAMES:
        shutil.copy(HERE / f"{name}.py", tmp_path / f"own_{name}.py")
        imports += ["--import", f"own_{name}"]
    (tmp_path / "own.toml").write_text(CONFIGURATION, encoding="utf-8")

    def hrprob(*arguments: object) -> None:
        command = [sys.executable, "-m", "hrprob.cli", *map(str, arguments), *imports]
        path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    hrprob("run", "own.toml", "--out", "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert set(summary) == {"mean-or-random", "thompson"}

    rounds = Path(__file__).parents[2] / "experiments" / "data" / "rounds.csv"
    options = ("--engine", "resampled-prior", "--model", "contaminated", "--prior", "small-effects")
    hrprob("fit", rounds, *options, "--out", "fit")
    assert (tmp_path / "fit" / "posterior.nc").exists()

    hrprob("diagnose", "own.toml", "--quick", "--out", "diagnose")
    numbers = json.loads((tmp_path / "diagnose" / "calibration.json").read_text())
    assert 0.0 <= numbers["phi_at_bound"] <= 1.0
    assert (tmp_path / "diagnose" / "phi-at-bound.png").exists()
    assert "Estimates at the bound" in (tmp_path / "diagnose" / "report.html").read_text(encoding="utf-8")
    manifest = json.loads((tmp_path / "diagnose" / "manifest.json").read_text())
    assert manifest["engine"]["kind"] == "wide-laplace"
