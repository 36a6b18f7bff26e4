"""Fits and diagnoses that die at any file operation: the folder holds the old result or the new one, whole."""

import contextlib
import itertools
import shutil

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics import experiment as diagnosing
from hrprob.diagnostics.runner import Diagnosis
from hrprob.fitting import results
from hrprob.io.config import Experiment
from tests.io.dying import dying
from tests.io.test_death import seed_of_result


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let nothing wait for the disk, and no other program be asked."""
    monkeypatch.setattr("os.fsync", lambda number: None)
    monkeypatch.setattr("hrprob.io.manifest._git_revision", lambda: None)


def die_at_every_operation(tmp_path, play, least, seed_in=lambda facts: facts["seed"]):
    """Replace the result of seed 1 by that of seed 2, dying at each operation; what is found is whole, and both are."""
    earlier = tmp_path / "earlier"
    play(earlier, 1, False)
    seeds = set()
    for moment in itertools.count():
        out = shutil.copytree(earlier, tmp_path / str(moment) / "out")
        survived = False
        with dying(after=moment):
            play(out, 2, False)
            survived = True
        seeds.add(seed_of_result(out, seed_in))
        play(out, 2, True)
        assert seed_of_result(out, seed_in) == 2
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        if survived:
            break
    assert moment > least
    assert seeds == {1, 2}


class Fitted:
    """As much of a posterior as a fit writes."""

    chosen = ()

    def __init__(self, table, seed):
        self.table, self.seed = table, seed

    def save(self, path):
        path.write_text(f"draws of {self.seed}")


def test_a_fit_that_dies_at_any_file_operation(tmp_path, monkeypatch):
    file = tmp_path / "rounds.csv"
    file.write_text("x1,r\n0.5,0.3\n0.2,0.1\n")
    monkeypatch.setattr(results, "_configuration", lambda posterior: {})
    monkeypatch.setattr(results, "to_plain", lambda posterior, prob: {"seed": posterior.seed})
    monkeypatch.setattr(results.figures, "plot_coefficients", lambda posterior, prob: posterior)
    monkeypatch.setattr(results.figures, "plot_outcomes", lambda posterior, prob: posterior)

    def save(figure, folder, name):
        (folder / f"{name}.png").write_text(f"{name} of {figure.seed}")

    monkeypatch.setattr(results.plot, "save", save)

    def play(out, seed, resume):
        results.fit_file(file, out, fit_table=lambda table: Fitted(table, seed))

    die_at_every_operation(tmp_path, play, least=10)


class Number:
    """A job of a diagnosis."""

    size = 1

    def __init__(self, number):
        self.number = number

    def play(self, *, workers=None, report=lambda users: None, store=None):
        return self.number

    def pack(self, result):
        return {"number": np.asarray(result)}

    def unpack(self, arrays):
        return int(arrays["number"])


def test_a_diagnosis_that_dies_at_any_file_operation(tmp_path, monkeypatch):
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.2])

    def diagnose(study, sizes, *, say, progress, finished, runner):
        assert list(runner.run("numbers", [Number(number) for number in range(3)])) == [0, 1, 2]
        return Diagnosis(study, sizes, (), {})

    def write_data(folder, done):
        (folder / "diagnostics.nc").write_text(f"arrays of {done.study.seed}")

    studies = {
        seed: diagnosing.make_study(problem, {"random": hrprob.Random()}, seed=seed) for seed in (1, 2)
    }
    monkeypatch.setattr(diagnosing, "make_study", lambda *given, seed, **options: studies[seed])
    monkeypatch.setattr(diagnosing, "diagnose", diagnose)
    monkeypatch.setattr("hrprob.diagnostics.replications.side_by_side", map)
    monkeypatch.setattr(diagnosing, "write_data", write_data)
    # It would start a process.
    monkeypatch.setattr(diagnosing.plot, "save_in_background", lambda: contextlib.nullcontext(None))

    def play(out, seed, resume):
        experiment = Experiment(problem, {"random": hrprob.Random()}, 10, 2, seed=seed)
        diagnosing.diagnose_experiment(experiment, out, quick=True, resume=resume)

    die_at_every_operation(tmp_path, play, least=15)
