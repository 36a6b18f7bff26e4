"""Points of a sweep are played as they are labelled, or refused before anything is played."""

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io.config import Experiment
from hrprob.sweeps.design import make_design
from hrprob.sweeps.fields import experiments_at
from hrprob.sweeps.play import read_sweep, run_sweep
from tests.sweeps.example import POLICIES, PROBLEM, SIZES, Elsewhere


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"problem.link.offset": [2.5, 4.0], "problem.link": ["affine"]},
            r"`sweep\.problem\.link\.offset` must not lie inside another swept field.*problem\.link has it",
        ),
        (
            {"problem.theta": [[0.6, 0.3], [0.5, 0.4]], "problem.theta[1]": [0.1, 0.2]},
            r"`sweep\.problem\.theta\[1\]` must not lie inside",
        ),
        (
            {"problem.theta[1]": [0.1, 0.2], "problem.theta[01]": [0.3, 0.4]},
            r"`sweep\.problem\.theta\[01\]` must be swept once.*problem\.theta\[1\] is the same field",
        ),
    ],
)
def test_a_field_is_swept_once(fields, words):
    experiment = Experiment(PROBLEM, POLICIES)
    with pytest.raises(InvalidInput, match=words):
        experiments_at(experiment, make_design(fields))


def test_neighbours_are_swept_together():
    fields = {"problem.theta[1]": [0.1], "problem.theta[2]": [0.2], "policy.oracle.warmup": [1]}
    (point,) = experiments_at(Experiment(PROBLEM, POLICIES), make_design(fields))
    assert point.problem.theta.tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([2.0, 2], "2.0 and 2 are one value"),
        ([{"kind": "affine", "offset": 2}, {"kind": "affine", "offset": 2.0}], "are one value"),
        ([2.0, 3.0, 2.0], "2.0 is there twice"),
        ({"low": -1.7e308, "high": 1.7e308, "points": 3, "whole": True}, "whose length is a number"),
    ],
)
def test_values_that_cannot_be_told_apart(values, words):
    with pytest.raises(InvalidInput, match=words):
        make_design({"problem.link": values})


def test_large_whole_numbers_differ():
    assert len(make_design({"run.seed": [2**53, 2**53 + 1]}).points) == 2


def test_a_point_that_does_not_fit_into_memory_is_named_beforehand(tmp_path):
    fields = {"problem.contexts.actions": [5, 10**9]}
    nothing = Elsewhere(lambda task: pytest.fail("a point was played"))
    with pytest.raises(
        InvalidInput, match=r"must need no more memory.*at the point problem\.contexts\.actions = 10{9} "
    ):
        hrprob.sweep(PROBLEM, POLICIES, fields, out=tmp_path / "out", scheduler="local:1", **SIZES)
    with pytest.raises(InvalidInput, match=r"at the point problem\.contexts\.actions = 10{9} "):
        hrprob.sweep(PROBLEM, POLICIES, fields, **SIZES)
    assert list(tmp_path.iterdir()) == []
    # Elsewhere there may be more of it.
    with pytest.raises(pytest.fail.Exception):
        hrprob.sweep(PROBLEM, POLICIES, fields, scheduler=nothing, **SIZES)


CONFIGURATION = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, 0.9]
[run]
users = 20
trials = 2
[[policy]]
kind = "random"
[sweep]
"problem.contexts" = [{ kind = "finite", sets = "a.csv" }, "sphere"]
"""
SETS = "context,action,x1,x2\n1,1,0.5,0\n1,2,0,0.5\n"


@pytest.fixture
def with_file(tmp_path):
    """Return a configuration in a folder of its own, whose points name a file beside it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text(SETS, encoding="utf-8")
    (folder / "sweep.toml").write_text(CONFIGURATION, encoding="utf-8")
    return folder / "sweep.toml"


def test_paths_in_values_are_relative_to_the_configuration(with_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment, design = read_sweep(with_file)
    assert experiments_at(experiment, design)[0].problem.contexts.sets.max() == 0.5


def test_a_file_that_changed_is_noticed(with_file, tmp_path, monkeypatch):
    monkeypatch.setattr("hrprob.sweeps.play.plot.save", lambda figure, folder, name: None)

    def begin(breaks_after=None, **options):
        place = Elsewhere(lambda task: task.play(), breaks_after)
        run_sweep(*read_sweep(with_file), tmp_path / "out", scheduler=place, **options)

    def change(scale):
        (with_file.parent / "a.csv").write_text(SETS.replace("0.5", scale), encoding="utf-8")

    words = r"`resume` must be of the same .*played\.problem\.contexts = .*a\.csv"
    with pytest.raises(KeyboardInterrupt):
        begin(breaks_after=1)
    change("0.25")
    with pytest.raises(InvalidInput, match=words):
        begin(resume=True)
    change("0.5")
    begin(resume=True)
    # Also of a result that is finished.
    change("0.25")
    with pytest.raises(InvalidInput, match=words):
        begin(resume=True)
