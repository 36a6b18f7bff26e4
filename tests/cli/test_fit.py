"""``hrprob fit``: what it prints, what it leaves, and what it says of files that cannot be used."""

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import hrprob
from hrprob.fitting.table import Table, write_table
from hrprob.fitting.tree import MOST_ENTRIES
from hrprob.models import base
from tests.cli.example import only_progress
from tests.helpers import without_loading

GOOD = "x1,x2,r,user,beta\n0.6,0.0,0.4,ann,-0.5\n0.6,0.0,-1.2,ann,-0.5\n0.0,1.0,0.3,bob,inf\n"
# Goes quickly, and is compiled once for all tests that fit 60 stays in two dimensions and take 500 draws.
STAYS, DRAWS = 60, 500
QUICK = ("--engine", '{kind = "laplace", points = 0}')

OWN = '''
import jax.numpy as jnp
import numpyro.distributions as dist
from hrprob.models import Model, register

@register("double-exponential")
class DoubleExponential(Model):
    """Double exponential outcomes."""

    def outcome(self, u, w):
        return dist.Laplace(u, jnp.sqrt(w / 2))
'''


@pytest.fixture
def call(call):
    """Call ``hrprob fit`` in this process."""
    # The quick check has tests of its own.
    return lambda *arguments: call("fit", *arguments, "--no-check")


@pytest.fixture
def undrawn(monkeypatch):
    """Leave figures undrawn where another test of this file has them drawn."""
    monkeypatch.setattr("hrprob.plot.save", lambda figure, folder, name: None)


@pytest.fixture
def good(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(STAYS, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    r = x @ [0.6, 0.3] + np.sqrt(x @ [1.2, -1.0] + 2) * rng.normal(size=STAYS)
    path = tmp_path / "rounds.csv"
    write_table(Table(x, r, user=np.arange(STAYS), beta=-0.5), path)
    return path


@pytest.mark.slow
def test_a_fit_prints_a_table_and_leaves_its_results(call, good, tmp_path):
    status, out, err = call(good, *QUICK, "--prob", 0.8, "--draws", DRAWS, "--seed", 4, "--out", "a/fit")
    assert (status, only_progress(err)) == (0, True)
    lines = out.splitlines()
    assert lines[0].split() == ["parameter", "mean", "sd", "10%", "90%", "mcse"]
    assert [line.split()[0] for line in lines[1:5]] == ["theta[x1]", "theta[x2]", "phi[x1]", "phi[x2]"]
    assert lines[5].startswith("Pareto k̂ ")
    assert lines[-1] == "results in a/fit"
    folder = tmp_path / "a" / "fit"
    names = {"posterior.nc", "summary.json", "manifest.json"}
    names |= {f"{name}.{kind}" for name in ("coefficients", "outcomes") for kind in ("png", "svg")}
    assert {path.name for path in folder.iterdir()} == names
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert set(facts["files"]) == names
    assert facts["configuration"]["engine"] == {"kind": "laplace", "points": 0, "few": 1024}
    assert facts["configuration"]["data"]["rounds"] == 60
    assert facts["seed"] == 4
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    posterior = hrprob.Posterior.load(folder / "posterior.nc")
    assert posterior.theta.shape == (1, 500, 2)
    low = summary["parameters"]["phi[x1]"]["low"]
    assert low == pytest.approx(np.quantile(posterior.phi[..., 0], 0.1))
    assert summary["concerns"] == posterior.concerns()
    # A second fit replaces the first; files that hrprob did not write stay.
    (folder / "note.txt").write_text("mine")
    status, out, _ = call(good, *QUICK, "--out", "a/fit", "--draws", DRAWS, "--quiet")
    assert (status, out) == (0, "")
    assert {path.name for path in folder.iterdir()} == names | {"note.txt"}
    assert hrprob.Posterior.load(folder / "posterior.nc").seed == 0
    # And without --out it goes into a folder named like the file.
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    status, out, _ = call(good, *QUICK, "--draws", DRAWS)
    assert status == 0
    assert out.splitlines()[-1] == "results in results/fit/rounds"
    assert {path.name for path in Path("results/fit/rounds").iterdir()} == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("x2", "x3"), "must have a column x2, got 'x1, x3, r, user, beta'"),
        (GOOD.replace(",r,", ",y,"), "or `--outcome` names another"),
        (GOOD.replace("0.4", "1_0"), "`column r` must be a number, got '1_0': line 2 of"),
        (GOOD.replace("0.4", "０.4"), "`column r` must be a number, got '０.4': line 2 of"),
        ("x1;r\n0,5;1.2\n", "`column x1` must be a number, got '0,5': line 2 of"),
        ("x1,x2,user\n0.1,0.2,a\n", "must have a column r"),
        ("r\n0.1\n", "must have contexts"),
        ("x,r\n0.1,0.2\n", "must have a column x1, ..., xd for each entry of a context, got 'x'"),
        (GOOD.replace("x2", "x1"), "must have every column once, got 'x1'"),
        (GOOD.replace("-1.2", "low"), "`column r` must be a number, got 'low': line 3 of"),
        (GOOD.replace("-1.2", ""), "`column r` must be a number, got '': line 3 of"),
        (GOOD.replace("-1.2", "1e160"), "squares that add up to a finite number, got 1e+160: line 3 of"),
        (GOOD.replace("-1.2", "nan"), "`column r` must be a finite number, got 'nan': line 3 of"),
        (
            GOOD.replace("0.6,0.0,-1.2", "inf,0.0,-1.2"),
            "`column x1` must be a finite number, got 'inf': line 3 of",
        ),
        (GOOD.replace("inf", "nan"), "`column beta` must be a number, or inf, got 'nan': line 4 of"),
        (GOOD.replace("bob", ""), "`column user` must be a label, got '': line 4 of"),
        (GOOD.replace("0.0,1.0", "0.5,1.0"), "`x` must have norms of at most 1, got 1.11803: line 4 of"),
        (GOOD.replace("-0.5\n", "-0.5,1\n", 1), "`row` must have 5 cells, got 6: line 2 of"),
        ("", "must have a line of column names, got 'an empty file'"),
        ("x1,x2,r\n", "must have at least one round"),
        ('x1,r\n"0.1,0.2\n', "must be a CSV file that can be read"),
    ],
)
def test_files_that_cannot_be_used(call, tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    status, out, err = call(path, "--out", "result")
    assert (status, out) == (2, "")
    assert words in err
    assert without_loading(err).count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.csv"]


def test_unreadable_files_are_refused(call, tmp_path):
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "zeros.csv").write_bytes(b"x1,r\n0.1,\x00\n")
    (tmp_path / "folder.csv").mkdir()
    for name, words in (
        ("missing.csv", "No such file"),
        ("folder.csv", "directory"),
        ("binary.csv", "UTF-8"),
        ("zeros.csv", "line 2"),
    ):
        status, out, err = call(tmp_path / name, "--out", "result")
        assert (status, out) == (2, "")
        assert words in err
        assert without_loading(err).count("\n") == 1
    assert not (tmp_path / "result").exists()


@pytest.mark.slow
def test_intercepts_and_bounds_from_the_data(call, good, tmp_path, undrawn):
    options = ("--standardise", "--intercept", "--bounds", "auto")
    status, out, err = call(good, *QUICK, *options, "--draws", DRAWS, "--out", "fit")
    assert (status, only_progress(err)) == (0, True)
    assert "theta[intercept]" in out
    assert "contexts were centred and divided by" in out
    assert "chosen from the data: twice the estimate plus six standard errors" in out
    posterior = hrprob.Posterior.load(tmp_path / "fit" / "posterior.nc")
    assert posterior.setting.link.kind == "log"
    assert posterior.table.intercept


def test_links_and_bounds_that_do_not_go_together(call, good):
    for options, words in (
        (("--link", "log", "--link-offset", 2), "`--link-offset` must not be given with --link"),
        (("--bounds", "auto", "--bound-phi", 2), "`--bound-phi` must not be given with --bounds auto"),
        (("--link", "lgo"), "did you mean `log`?"),
        (("--link", "log", "--bound-phi", 30), "`--bound-phi` must be at most 20"),
        (("--intercept", "--link", "affine"), "positive everywhere with an intercept"),
        (("--device", "abacus"), "must be a device of JAX"),
    ):
        status, _, err = call(good, *QUICK, *options)
        assert status != 0
        assert words in err


OTHERS = "datum;dosis;alter;ertrag;id\n" + "".join(
    f"1.5.;2,5;40;0,4;a{i}\n2.5.;5;30;-1,2;b{i}\n3.5.;1;50;0,9;b{i}\n" for i in range(STAYS // 3)
)
NAMED = ("--outcome", "ertrag", "--context", "dosis, alter", "--user", "id")


@pytest.mark.slow
def test_other_columns_separators_and_scales(call, tmp_path, undrawn):
    path = tmp_path / "versuch.csv"
    path.write_text(OTHERS)
    status, out, err = call(path, *QUICK, *NAMED, "--scale", "--draws", DRAWS, "--out", "fit")
    assert (status, only_progress(err)) == (0, True)
    assert "theta[dosis]" in out
    assert "contexts were divided by 50.01: theta and phi are those of the divided contexts\n" in out
    assert "columns that were not used: datum\n" in out
    posterior = hrprob.Posterior.load(tmp_path / "fit" / "posterior.nc")
    assert posterior.table.features == ("dosis", "alter")
    assert posterior.table.user.tolist()[:6] == ["a0", "b0", "b0", "a1", "b1", "b1"]
    np.testing.assert_allclose(posterior.table.scale, np.hypot(1, 50))
    contexts = [[2.5, 40], [5, 30], [1, 50]] * (STAYS // 3)
    np.testing.assert_allclose(posterior.table.x * posterior.table.scale, contexts)
    summary = json.loads((tmp_path / "fit" / "summary.json").read_text(encoding="utf-8"))
    assert summary["scale"] == pytest.approx([np.hypot(1, 50)] * 2)
    # A context in its own units gives what the divided one gives.
    mean, _ = posterior.moments([[2.5, 40.0]])
    by_hand = posterior.theta @ (np.array([2.5, 40.0]) / np.hypot(1, 50))
    np.testing.assert_allclose(mean[..., 0], by_hand)
    with pytest.raises(hrprob.InvalidInput, match="after division by the scale of the fit"):
        posterior.predict([[0.0, 51.0]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (NAMED, "let `--scale` divide all contexts"),
        (
            ("--outcome", "ertag", *NAMED[2:]),
            "`--outcome` must be a column of the data, got 'ertag': did you mean",
        ),
        (
            ("--outcome", "ertrag", "--context", "dosis,zeit"),
            "`--context` must be a column of the data, got 'zeit'",
        ),
        (("--outcome", "ertrag"), "must have contexts, as x or as x1, ..., xd"),
        (("--outcome", "ertrag", "--context", "dosis,ertrag"), "must name each column for one thing only"),
    ],
)
def test_columns_that_cannot_be_used(call, tmp_path, arguments, words):
    path = tmp_path / "versuch.csv"
    path.write_text(OTHERS)
    status, out, err = call(path, *arguments)
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engine", "gibbs"], "`--engine` must be one of 'laplace', 'nuts', 'smc', 'svi'"),
        (["--engine", "{kind = nuts}"], "`--engine` must be a name, or a table of TOML"),
        (["--model", '{kind = "student-t"}\ndf = 3'], "a table of TOML, and nothing after it, got"),
        (["--engine", '{kind = "nuts", chains = 0}'], "`--engine.chains`"),
        (
            ["--engine", '{kind = "nuts", chains = 1, warmup = 1, draws = 1}'],
            "`--engine.draws` must be a whole number of at least 100, got 1",
        ),
        *(
            (
                ["--engine", f'{{kind = "{kind}", {name} = 10000000000}}'],
                f"`--engine.{name}` must be a whole number of at most",
            )
            for kind, name in (
                ("smc", "particles"),
                ("smc", "moves"),
                ("smc", "tries"),
                ("laplace", "points"),
                ("laplace", "few"),
                ("svi", "steps"),
                ("svi", "particles"),
                ("nuts", "chains"),
                ("nuts", "warmup"),
                ("nuts", "depth"),
            )
        ),
        (["--model", "cauchy"], "`--model` must be one of"),
        (["--model", '{kind = "student-t", df = 1.0}'], "`--model.df`"),
        (["--prior", "flat"], "`--prior`"),
        (["--link-slope", "-1"], "`--link-slope` must be above 0"),
        (
            ["--prior", '{kind = "gaussian", theta = 2}'],
            "`--prior.theta` must be a known key, got 2: did you mean `theta_share`?\n",
        ),
        (
            ["--prior", '{kind = "uniform", theta = 2}'],
            "`--prior.theta` must be a known key, got 2: the keys here are kind\n",
        ),
        (["--link-offset", "1"], "`--link-offset` must be at least link-slope · bound-phi = 2, got 1.0"),
        (["--bound-phi", "3"], "`--bound-phi` must be at most link-offset / link-slope = 2, got 3.0"),
        (["--bound-phi", "3"], "lower it, or raise `--link-offset`\n"),
        (["--link-slope", "4"], "`--link-slope` must be at most link-offset / bound-phi = 1, got 4.0"),
        (["--link-slope", "2", "--link-offset", "3"], "`--link-offset` must be at least link-slope"),
        (["--bound-theta", "0"], "`--bound-theta`"),
        (["--seed", "-1"], "`--seed`"),
        (["--draws", "0"], "`--draws`"),
        (
            ["--draws", "99", "--engine", "laplace"],
            "`--draws` must be a whole number of at least 100, got 99",
        ),
        (["--draws", "1000000000000"], "`--draws` must be a whole number of at most 1000000"),
        (["--prob", "1"], "`--prob` must lie in (0, 1)"),
        (["--import", "no_such_module"], "`--import`"),
        (["--out", "rounds.csv"], "`--out` must be a folder"),
        (["--out", "."], "`--out` must not be a folder with other things in it"),
        (["--out", ""], "`--out` must name a folder"),
    ],
)
def test_options_that_cannot_be_used(call, good, tmp_path, arguments, words):
    status, out, err = call(good, *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert without_loading(err).count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["rounds.csv"]


def test_too_little_memory_has_a_remedy_that_a_fit_has(call, good, monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setattr("hrprob.fitting.fit.fit", fail)
    status, out, err = call(good)
    assert (status, out) == (1, "")
    assert "too little memory, try fewer --draws or a smaller --engine: Unable to allocate" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outcome", "arguments", "words"),
    [
        ("1e8", [], "give outcomes in units of about their sd"),
        ("1e150", [], "all draws of theta[x1] are the same"),
        ("1", ["--bound-theta", "1e-300"], "all draws of theta[x1] are the same"),
        ("1", ["--bound-theta", "1e200"], "`--bound-theta` must give draws and densities that are finite"),
        (
            "1",
            ["--prior", "{kind = 'gaussian', theta_share = 1e-200}"],
            "`--prior` must give draws and densities that are finite",
        ),
    ],
)
def test_what_is_far_off_scale_is_said(call, tmp_path, outcome, arguments, words):
    (tmp_path / "far.csv").write_text(f"x1,r\n0.5,{outcome}\n0.5,1\n")
    status, out, err = call("far.csv", *QUICK, "--draws", DRAWS, *arguments)
    assert words in (err if status else out)
    assert bool(status) == ("must give" in err)


@pytest.mark.slow
def test_what_is_left_out_of_a_file_is_said(call, good, monkeypatch, undrawn):
    monkeypatch.setattr("hrprob.fitting.tree.MOST_ENTRIES", dict.fromkeys(MOST_ENTRIES, 250 * 60))
    status, out, _ = call(good, *QUICK, "--draws", DRAWS, "--out", "r")
    assert status == 0
    line = "60 rounds are many: posterior.nc has one draw in 2 of log_likelihood, one draw in 2 of posterior_predictive"
    assert any(said.startswith(line) for said in out.splitlines())


@pytest.mark.slow
def test_a_pipe_is_read_once(call, good, tmp_path, undrawn):
    out, into = os.pipe()
    os.write(into, good.read_bytes())
    os.close(into)
    status, _, _ = call(f"/dev/fd/{out}", *QUICK, "--draws", DRAWS, "--out", "r")
    os.close(out)
    assert status == 0
    data = json.loads((tmp_path / "r" / "manifest.json").read_text())["configuration"]["data"]
    assert data["sha256"] == hashlib.sha256(good.read_bytes()).hexdigest()


def test_the_result_of_another_job_is_left_alone(call, good, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"program": "hrprob", "job": "run", "files": []}')
    status, _, err = call(good, "--out", "run")
    assert status == 2
    assert "earlier result of hrprob fit" in err
    assert [entry.name for entry in folder.iterdir()] == ["manifest.json"]


@pytest.mark.slow
def test_a_model_of_ones_own(call, good, tmp_path, undrawn):
    (tmp_path / "mine.py").write_text(OWN)
    try:
        status, out, err = call(
            good, "--import", "mine", "--model", "double-exponential", "--engine", "svi", "--out", "r"
        )
        assert (status, only_progress(err)) == (0, True)
        assert "Pareto" in out
        assert (
            hrprob.Posterior.load(tmp_path / "r" / "posterior.nc").target.model.kind == "double-exponential"
        )
    finally:
        sys.modules.pop("mine", None)
        base.MODELS._classes.pop("double-exponential", None)


@pytest.mark.slow
def test_the_reference_engine_from_the_command_line(call, good, undrawn):
    status, out, err = call(good)
    assert (status, only_progress(err)) == (0, True)
    assert out.splitlines()[0].split()[-3:] == ["ess_bulk", "ess_tail", "rhat"]
    assert "\nR-hat at most 1.0" in out
    assert "no Pareto k̂: nuts is no approximation with a density" in out
    assert "\n0 divergences\n" in out
    assert "!" not in out
