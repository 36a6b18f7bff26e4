"""``hrprob diagnose``: the files that it writes, and input that it refuses."""

import json
import subprocess
import sys
import time

import pytest
import xarray

from hrprob.cli import main
from hrprob.models import base, priors
from tests.helpers import without_loading

CONFIGURATION = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, -0.9]
contexts = { kind = "ball", actions = 3 }

[run]
seed = 3

[[policy]]
kind = "thompson"

[[policy]]
kind = "hr-ucb"
name = "eager"
eager = true
"""


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "small.toml"
    place.write_text(CONFIGURATION)
    return place


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--policy", "nobody"], "--policy"),
        (["--engine", "gibbs"], "--engine"),
        (["--engine", "{kind = "], "--engine"),
        (["--engine", '{kind = "smc"}\nx = 3'], "--engine"),
        (["--engine", '{kind = "nuts", chains = 0}'], "--engine.chains"),
        (["--engine", '{kind = "nuts", draws = 19}'], "--engine.draws"),
        (["--engine", '{kind = "nuts", draws = 99, chains = 1}'], "--engine.draws"),
        (["--seed", "-1"], "--seed"),
        (["--fit-as", "student-t"], "--fit-as"),
        (["--fit-as", "{linc = 3}"], "--fit-as"),
        (["--fit-as", "{link = {ofset = 3.0}}"], "--fit-as.link"),
        (["--fit-as", "{bounds = {phi = 5.0}}"], "--fit-as.link.offset"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(file, tmp_path, capsys, options, named):
    assert main(["diagnose", str(file), "--out", str(tmp_path / "out"), *options]) == 2
    said = capsys.readouterr().err
    assert f"`{named}`" in said
    assert without_loading(said).count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.toml"]


def test_a_policy_that_cannot_gather_is_named_as_it_was_asked_for(file, tmp_path, capsys):
    assert main(["diagnose", str(file), "--out", str(tmp_path / "out"), "--policy", "eager"]) == 2
    said = capsys.readouterr().err
    assert "`--policy` must keep its action for a whole stay, got 'eager': data sets have one row" in said


def test_nothing_is_printed_before_out_is_checked(file, capsys):
    assert main(["diagnose", str(file), "--out", str(file), "--quick"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "`--out` must be a folder" in said.err


@pytest.mark.study
def test_a_diagnosis_ends_on_a_signal(file, tmp_path):
    command = [sys.executable, "-m", "hrprob.cli", "diagnose", str(file), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.readline()  # a step has ended, the next ones take long
        time.sleep(1.0)
        running.terminate()
        told = time.perf_counter()
        _, said = running.communicate(timeout=60)
    # A figure that is being written is finished.
    assert time.perf_counter() - told < 10
    assert running.returncode == 143
    assert "nothing half-written is left" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.toml"]


@pytest.mark.study
def test_a_quick_diagnosis_leaves_all_that_it_promises(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["diagnose", str(file), "--out", str(out), "--quick"]) == 0
    assert "report in" in capsys.readouterr().out
    report = (out / "report.html").read_text()
    assert report.index("Verdicts") < report.index("intervals for σ²(x) cover") < report.index("<table>")
    assert "http" not in report.replace("http://www.w3.org", "")
    data = json.loads((out / "calibration.json").read_text())
    assert set(data["sigma2_coverage"][0]) == {"n", "level", "coverage", "se"}
    assert {"quantity", "p_value", "pass"} <= set(data["sbc"][0])
    wanted = {
        "n",
        "design",
        "rho_paper",
        "rho_corrected",
        "quantile",
        "quantile_simultaneous",
        "posterior_radius",
        "coverage_paper",
        "factor",
    }
    assert wanted <= set(data["rho"][0])
    assert {row["design"] for row in data["rho"]} == {"fixed", "hr-ucb", "thompson"}
    assert {"reneging", "verdicts"} <= set(data)
    with xarray.open_datatree(out / "diagnostics.nc", engine="h5netcdf") as tree:
        assert {"health", "calibration", "sbc", "rho", "reneging", "outcomes", "estimates"} <= set(
            tree.children
        )
    for figure in (
        "sets",
        "contributions",
        "coverage",
        "pit",
        "sbc",
        "ranks",
        "trace",
        "rank",
        "reneging",
        "loo",
    ):
        assert (out / f"{figure}.png").stat().st_size > 5000
        assert (out / f"{figure}.svg").exists()


OWN = '''
import jax.numpy as jnp
import numpyro.distributions as dist
from hrprob.models import Model, priors, register

@register("double-exponential")
class DoubleExponential(Model):
    """Double exponential outcomes."""

    def outcome(self, u, w):
        return dist.Laplace(u, jnp.sqrt(w / 2))

@priors.register("narrow")
class Narrow(priors.Uniform):
    """Uniform, with norms of four fifths of the bounds at most."""

    def theta(self, setting):
        return priors.UniformBall(0.8 * setting.bounds.theta, setting.dimension)

    def phi(self, setting):
        return priors.UniformBall(0.8 * setting.bounds.phi, setting.dimension)
'''


@pytest.mark.study
def test_a_model_and_a_prior_of_ones_own_are_diagnosed(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(base.MODELS, "_classes", dict(base.MODELS._classes))
    monkeypatch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
    (tmp_path / "mine.py").write_text(OWN)
    own = 'kind = "thompson"\nmodel = "double-exponential"\nprior = "narrow"'
    file.write_text(CONFIGURATION.replace('kind = "thompson"', own))
    try:
        assert main(["diagnose", str(file), "--import", "mine", "--out", "out", "--quick"]) == 0
    finally:
        sys.modules.pop("mine", None)
    data = json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert {"sigma2_coverage", "sbc", "rho", "reneging", "verdicts"} <= set(data)
    report = (tmp_path / "out" / "report.html").read_text()
    assert "double-exponential outcomes, narrow prior" in report
