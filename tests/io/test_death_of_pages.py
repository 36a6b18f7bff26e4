"""Comparisons, suites, reproductions, checks, theories, frontiers and numbers alone that die at any file operation: the old result or the new one, whole."""

import contextlib
import json
import types

import pytest
import xarray

import hrprob
from hrprob.comparison import folders
from hrprob.comparison import play as suite
from hrprob.comparison.frontier import report as inference
from hrprob.comparison.report import ComparisonReport
from hrprob.estimation.posterior.engines import make_engine
from hrprob.fitting.checks import page as checking
from hrprob.fitting.checks.runner import Checked
from hrprob.io import run_cache, staging
from hrprob.io.numbers import numbers_folder
from hrprob.io.verdicts import conclude
from hrprob.models import make_model, make_prior
from hrprob.reproduce import play as reproduction
from hrprob.theory import report as theory
from tests.io.test_death_of_other_jobs import die_at_every_operation


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let nothing wait for the disk, no other program be asked, and figures be drawn in no time."""

    def save(figure, folder, name):
        (folder / f"{name}.png").write_text(name)

    monkeypatch.setattr("os.fsync", lambda number: None)
    monkeypatch.setattr("hrprob.io.manifest._git_revision", lambda: None)
    monkeypatch.setattr("hrprob.plot.save", save)
    monkeypatch.setattr("hrprob.comparison.report._lead", lambda report: "")
    monkeypatch.setattr(ComparisonReport, "answer", conclude([], "more trials", "Who won?"))


@pytest.fixture
def parts(monkeypatch, dataset):
    """Replace the playing of parts, and what takes most of the time of writing them."""

    def write(run, path, encoding=None):
        path.write_text(
            json.dumps({"seed": run.attrs.get("seed"), "fingerprint": run.attrs.get("fingerprint")})
        )

    def read(path):
        return xarray.DataTree(xarray.Dataset(attrs=json.loads(path.read_text())))

    monkeypatch.setattr(run_cache, "play_task", lambda task, **options: dataset.assign_attrs(seed=task.seed))
    monkeypatch.setattr(run_cache, "compile_programs", lambda *given: None)
    monkeypatch.setattr(run_cache, "write_netcdf", write)
    monkeypatch.setattr(run_cache, "read_netcdf", read)
    return write


NOTHING = ComparisonReport({}, {}, [], {}, {})


def test_a_comparison(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "read", lambda folder: [])
    monkeypatch.setattr(folders, "make_report", lambda *given: NOTHING)

    def play(out, seed, resume):
        folders.compare_folders([f"of-{seed}"], out)

    die_at_every_operation(tmp_path, play, 8, lambda facts: int(facts["folders"][0][-1]))


def test_a_suite(tmp_path, monkeypatch, parts, experiment):
    monkeypatch.setattr(suite, "problems", lambda large: {"one": experiment, "two": experiment})
    monkeypatch.setattr(suite, "_compare", lambda run: None)
    monkeypatch.setattr(suite, "make_report", lambda comparisons, data: NOTHING)

    def play(out, seed, resume):
        suite.play_suite(out, seed=seed, resume=resume)

    die_at_every_operation(tmp_path, play, 25, lambda facts: facts["problems"]["two"]["run"]["seed"])


def test_a_reproduction(tmp_path, monkeypatch, parts, experiment):
    monkeypatch.setattr(
        reproduction,
        "_experiments",
        lambda panels, sizes, quick: {"one": experiment.replace(seed=sizes["seed"])},
    )
    monkeypatch.setattr(reproduction, "write_netcdf", parts)
    monkeypatch.setattr(reproduction, "compare_curves", lambda runs: [])
    monkeypatch.setattr(reproduction, "summary", lambda run: run.attrs["seed"])
    monkeypatch.setattr(reproduction, "_draw", lambda *given: {"figure1": None})
    monkeypatch.setattr(reproduction, "write_page", lambda path, *given: path.write_text("page"))
    monkeypatch.setattr("hrprob.plot.save_in_background", lambda: contextlib.nullcontext(hrprob.plot.save))

    def play(out, seed, resume):
        reproduction.reproduce(out, panels=["c"], seed=seed, resume=resume)

    die_at_every_operation(tmp_path, play, 20)


def test_a_check(tmp_path):
    def play(out, seed, resume):
        posterior = types.SimpleNamespace(
            engine=make_engine("laplace"),
            target=types.SimpleNamespace(model=make_model("gaussian"), prior=make_prior("uniform")),
            setting=hrprob.models.Setting(2),
            table=[1],
            seed=seed,
        )
        inputs = types.SimpleNamespace(posterior=posterior, users=None)
        with staging.staged(out, job="check") as folder:
            checking.write_result(folder, Checked(inputs, (), {}, conclude([], "more data")))

    die_at_every_operation(tmp_path, play, 8)


def test_a_theory(tmp_path, monkeypatch):
    def check_theory(sizes, seed, say):
        return types.SimpleNamespace(sizes=sizes, problem=hrprob.Problem(), seed=seed)

    monkeypatch.setattr(theory, "check_theory", check_theory)
    monkeypatch.setattr(theory, "draw_all", lambda done: {"one": None})
    monkeypatch.setattr(
        theory, "save", lambda figure, folder, name: (folder / f"{name}.png").write_text(name)
    )
    monkeypatch.setattr(theory, "to_plain", lambda done: {"seed": done.seed})
    monkeypatch.setattr(theory, "write_page", lambda path, *given: path.write_text("page"))

    def play(out, seed, resume):
        theory.write_theory(out, quick=True, seed=seed)

    die_at_every_operation(tmp_path, play, 8)


def test_a_frontier(tmp_path, monkeypatch, experiment):
    monkeypatch.setattr(inference, "frontier", lambda *given, seed, **options: seed)
    monkeypatch.setattr(inference, "to_plain", lambda seed: {"seed": seed})
    monkeypatch.setattr(
        inference, "_write_page", lambda folder, seed: (folder / "report.html").write_text("page")
    )
    monkeypatch.setattr(inference, "write_netcdf", lambda seed, path: path.write_text(str(seed)))
    monkeypatch.setattr("hrprob.plot.frontier", lambda seed: seed)

    def play(out, seed, resume):
        inference.write_frontier(experiment.replace(seed=seed), out)

    die_at_every_operation(tmp_path, play, 8, lambda facts: facts["configuration"]["run"]["seed"])


def test_numbers(tmp_path):
    """What ``evaluate`` and ``repeat`` write, by the same few lines."""

    def play(out, seed, resume):
        with numbers_folder(out, "evaluate", "evaluation.json", [str(seed)]) as write:
            write({"seed": seed})

    die_at_every_operation(tmp_path, play, 4, lambda facts: int(facts["command"][0]))
