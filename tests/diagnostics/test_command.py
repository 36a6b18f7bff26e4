"""The command: what it writes, and what it refuses."""

import dataclasses
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.cli import main
from hrprob.diagnostics import page, study
from hrprob.diagnostics.study import study_of
from hrprob.models import base, priors

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
        (["--engine", "gibbs"], "engine"),
        (["--engine", "{kind = "], "--engine"),
        (["--engine", '{kind = "smc"}\nx = 3'], "--engine"),
        (["--engine", '{kind = "nuts", chains = 0}'], "engine.chains"),
        (["--engine", '{kind = "nuts", draws = 19}'], "engine.draws"),
        (["--engine", '{kind = "nuts", draws = 99, chains = 1}'], "engine.draws"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(file, tmp_path, capsys, options, named):
    assert main(["diagnose", str(file), "--out", str(tmp_path / "out"), *options]) == 2
    said = capsys.readouterr().err
    assert f"`{named}`" in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.toml"]


def test_a_policy_that_cannot_gather_is_named_as_it_was_asked_for(file, tmp_path, capsys):
    assert main(["diagnose", str(file), "--out", str(tmp_path / "out"), "--policy", "eager"]) == 2
    said = capsys.readouterr().err
    assert (
        "`--policy` must keep its action for a whole stay, got 'eager': data sets have one row a user" in said
    )


def test_nothing_is_said_before_it_is_known_where_to_write(file, capsys):
    assert main(["diagnose", str(file), "--out", str(file), "--quick"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "`--out` must be a folder" in said.err


def test_who_gathers_and_whose_posterior():
    problem, policies = hrprob.Problem(), {"a": hrprob.Greedy(), "b": hrprob.Thompson(engine="smc")}
    asked = study_of(problem, policies)
    assert (asked.policy.kind, asked.engine.kind) == ("thompson", "smc")
    asked = study_of(problem, policies, policy="a", engine="nuts")
    assert (asked.policy.kind, asked.engine.kind) == ("greedy", "nuts")
    # Data are gathered with an engine that lives in a compiled run; the one asked for is fitted to them.
    asked = study_of(problem, {"c": hrprob.Thompson(engine="nuts")})
    assert (asked.policy.engine.kind, asked.engine.kind) == ("laplace", "nuts")
    asked = study_of(problem, {"d": hrprob.Thompson(model="student-t")}, engine="smc")
    assert (asked.target.model.kind, asked.engine.kind) == ("student-t", "smc")


def test_a_part_that_fails_stops_the_others():
    begun = []

    class Broken(Exception):
        pass

    def failing():
        raise Broken
        yield {}

    def long(steps):
        for number in range(1000):
            with steps.step(str(number)):
                begun.append(number)
                time.sleep(0.01)
        yield {}

    steps = study._Steps(lambda line: None, False, study_of(hrprob.Problem()), study.QUICK)
    with steps, pytest.raises(Broken):
        list(study._side_by_side([failing(), long(steps)], steps))
    assert len(begun) < 500


def test_a_step_that_fails_is_told_while_others_go_on():
    go_on = threading.Event()

    def part(steps):
        def failing():
            with steps.step("sampler"):
                raise ArithmeticError

        with ThreadPoolExecutor(1) as pool:
            sampling = pool.submit(failing)
            with steps.step("long"):
                go_on.wait(20)
            yield {"sampled": sampling.result()}

    steps = study._Steps(lambda line: None, False, study_of(hrprob.Problem()), study.QUICK)
    with steps, pytest.raises(ArithmeticError):
        list(study._side_by_side([part(steps)], steps))
    assert not go_on.is_set()
    go_on.set()


def test_steps_say_how_far_they_are(capsys):
    said = []
    with study._Steps(said.append, True, study_of(hrprob.Problem()), study.QUICK) as steps:
        with steps.step("data sets", 40) as served:
            served(10)
            assert steps._bar.n == 0.25
            served(50)  # the last block may be filled up
            assert steps._bar.n == 1.0
        with steps.step("fits"):
            pass
        assert steps._bar.n == 2.0
    assert [line.split("] ")[1] for line in said] == ["data sets", "fits"]
    assert "data sets" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("users", (), "must be numbers of users that rise"),
        ("users", (100, 10), "must be numbers of users that rise"),
        ("truth_users", (10, 10), "must be numbers of users that rise"),
        ("other_users", 101, "at most 100"),
        ("points", 0, "at least 1"),
        ("draws", 5, "at least 20"),
        ("fits", 0, "at least 1"),
        ("rounds", 5, "at least 10"),
        ("sampler_draws", 3, "at least 50"),
        ("models", ("gaussian", "nope"), "must be one of"),
        ("models", ("gaussian",), "two or more"),
        ("refit", 0.5, "at least 1"),
        ("sets", 10, "at least 20"),
    ],
)
def test_sizes_that_cannot_be_are_refused(field, value, words):
    with pytest.raises(InvalidInput) as caught:
        study.Sizes(**{field: value})
    assert caught.value.field == field
    assert words in str(caught.value)


@pytest.mark.study
def test_a_diagnosis_that_is_told_to_end_does_so(file, tmp_path):
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
@pytest.mark.parametrize("engine", ["nuts", "svi"])
def test_a_sampler_is_looked_at_on_some_of_the_data_sets(engine):
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.9], contexts=hrprob.Ball(actions=3))
    small = dataclasses.replace(study.QUICK, sets=24, sampler_sets=20, users=(10, 12), draws=99)
    done = study.diagnose(study_of(problem, engine=engine), small)
    assert done.places.sizes["data_set"] == 20
    assert done.judged[engine].attrs["data_sets"] == 20


@pytest.mark.study
def test_nothing_to_predict_where_everybody_leaves():
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.9], satisfaction=hrprob.InfiniteLevels())
    done = study.diagnose(study_of(problem), dataclasses.replace(study.QUICK, sets=20, truth_sets=20))
    found = [verdict for verdict in done.verdicts if verdict.part == "reneging"]
    assert [verdict.good for verdict in found] == [None, None]
    assert "nothing to predict" in found[0].words
    assert "reneging" not in dict(page.draw(done._asdict()))


@pytest.mark.study
def test_a_design_without_rounds_is_left_out_and_said():
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.9], contexts=hrprob.Ball(actions=3))
    sparing = {"HR-UCB": hrprob.HRUCB(growth=1)}  # nine rounds of nine users, where ten are wanted
    small = dataclasses.replace(study.QUICK, sets=20, truth_sets=20, design_users=9)
    done = study.diagnose(study_of(problem, sparing), small)
    assert list(done.sets) == list(done.owed) == ["fixed", "thompson"]
    left_out = [verdict for verdict in done.verdicts if "left out" in verdict.words]
    assert [(verdict.part, verdict.good) for verdict in left_out] == [("rho", None)]
    assert "hr-ucb design: left out, `users` must be enough" in left_out[0].words


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
    for figure in ("sets", "coverage", "pit", "sbc", "ranks", "trace", "rank", "reneging", "loo"):
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
