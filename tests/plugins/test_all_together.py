"""Six plug-ins in one configuration, through the command line: run, fit and diagnose."""

import json
import os
import shutil
import subprocess
import sys
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


# Commands one after another in a process of their own: what is imported and compiled for one serves the next.
COMMANDS = """
import json, sys
from hrprob.cli import main
sys.exit(max(main(command) for command in json.loads(sys.argv[1])))
"""


def call(folder: Path, *commands: list[str]) -> None:
    """Run commands where the plug-ins and the configuration are, which are put into a folder."""
    imports = []
    for name in NAMES:
        shutil.copy(HERE / f"{name}.py", folder / f"own_{name}.py")
        imports += ["--import", f"own_{name}"]
    (folder / "own.toml").write_text(CONFIGURATION, encoding="utf-8")
    path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps([[*command, *imports] for command in commands])],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run and a fit."""
    folder = tmp_path_factory.mktemp("plugins")
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(-0.7, 0.7, size=(30, 2)), rng.normal(size=30)])
    np.savetxt(folder / "rounds.csv", rows, delimiter=",", header="x1,x2,r", comments="")
    engine = '{ kind = "resampled-prior", points = 2000 }'
    options = ["--engine", engine, "--model", "contaminated", "--prior", "small-effects"]
    call(folder, ["run", "own.toml", "--out", "run"], ["fit", "rounds.csv", *options, "--out", "fit"])
    return folder


@pytest.mark.slow
def test_a_run_takes_all_of_them(folder: Path) -> None:
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert set(summary) == {"own", "thompson"}


@pytest.mark.slow
def test_a_fit_takes_engine_model_and_prior(folder: Path) -> None:
    assert (folder / "fit" / "posterior.nc").exists()


@pytest.mark.study
def test_a_diagnosis_takes_all_of_them(tmp_path: Path) -> None:
    call(tmp_path, ["diagnose", "own.toml", "--quick", "--out", "diagnose"])
    folder = tmp_path / "diagnose"
    numbers = json.loads((folder / "calibration.json").read_text())
    assert 0.0 <= numbers["phi_at_bound"] <= 1.0
    assert (folder / "phi-at-bound.png").exists()
    assert "Estimates at the bound" in (folder / "report.html").read_text(encoding="utf-8")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["engine"]["kind"] == "wide-laplace"
