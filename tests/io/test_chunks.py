"""A run that was stopped goes on from its finished chunks, to the same bits."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io import chunks
from hrprob.io.chunks import ChunkFolder
from hrprob.io.config import Experiment
from hrprob.io.run import run_experiment

PROBLEM = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9], contexts=hrprob.Sphere(actions=3))
POLICIES = {"hr": hrprob.HRUCB(warmup=2), "random": hrprob.Random()}
# Chunks of 16 users, blocks of two trials: 4 chunks of users, the last one shorter, in 2 blocks.
SIZES = {"users": 50, "trials": 4, "seed": 3}
ALL = 2 * 50 * 4


class Stopped(Exception):
    pass


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr("hrprob.simulation.schedule.MOST_CONTEXT_NUMBERS", 1)
    monkeypatch.setattr("hrprob.simulation.engine.MOST_TRIALS_IN_BLOCK", 2)


def play(store=None, stop_after=None):
    played = []

    def progress(count):
        played.append(count)
        if stop_after is not None and len(played) > stop_after:
            raise Stopped

    return hrprob.simulate(
        PROBLEM, POLICIES, **SIZES, keep=3, workers=1, store=store, progress=progress
    ), sum(played)


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hrprob.simulation.schedule.MOST_CONTEXT_NUMBERS", 1)
        patch.setattr("hrprob.simulation.engine.MOST_TRIALS_IN_BLOCK", 2)
        return play()[0]


def assert_same(one, other):
    xarray.testing.assert_identical(one.drop_vars("seconds"), other.drop_vars("seconds"))
    assert np.isfinite(one.seconds).all()


def test_a_run_goes_on_from_every_moment(tmp_path, whole):
    for moment in range(0, 16, 3):
        folder = tmp_path / str(moment)
        with pytest.raises(Stopped):
            play(ChunkFolder(folder, "mark", every=0), stop_after=moment)
        again, played = play(ChunkFolder(folder, "mark", every=0))
        assert_same(again, whole)
        # Two policies report each chunk; the chunk during which it stopped is played again.
        assert played == ALL if moment < 2 else played < ALL
    # What is finished is not played again.
    again, played = play(ChunkFolder(folder, "mark", every=0))
    assert played == 0
    assert_same(again, whole)


def test_chunks_of_another_run_and_damaged_ones_are_played_again(tmp_path, whole):
    play(ChunkFolder(tmp_path, "mark", every=0))
    again, played = play(ChunkFolder(tmp_path, "other", every=1e9))
    assert played == ALL
    file = tmp_path / "block-000001" / "records-000001.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    again, played = play(ChunkFolder(tmp_path, "mark", every=0))
    assert played == ALL / 2
    assert_same(again, whole)


def test_short_runs_write_no_chunks(tmp_path):
    play(ChunkFolder(tmp_path / "none", "mark"))
    assert not (tmp_path / "none").exists()


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """Return an experiment and the folder where a run of it was stopped, after three of its chunks."""
    experiment = Experiment(PROBLEM, POLICIES, **SIZES)
    monkeypatch.setattr(chunks, "EVERY", 0.0)
    monkeypatch.setattr("hrprob.io.run.draw_run", lambda dataset, folder: None)
    save, saved = ChunkFolder.save, []

    def save_some(self, *arguments):
        saved.append(arguments)
        if len(saved) > 3:
            raise KeyboardInterrupt
        save(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ChunkFolder, "save", save_some)
        with pytest.raises(KeyboardInterrupt) as error:
            run_experiment(experiment, tmp_path / "out", keep=3)
    assert "--resume" in error.value.__notes__[0]
    assert [path.name for path in tmp_path.iterdir()] == [".out.unfinished"]
    return experiment, tmp_path / "out"


def test_a_stopped_run_goes_on_and_leaves_the_result_alone(stopped, whole):
    experiment, out = stopped
    assert_same(run_experiment(experiment, out, keep=3, resume=True), whole)
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("changes", "keep", "words"),
    [
        ({"users": 60}, 3, r"configuration\.run\.users is 60, was 50"),
        ({"policies": {"hr": hrprob.HRUCB(warmup=2)}}, 3, r"configuration\.policy is .*, was "),
        ({}, 5, "keep is 5, was 3"),
    ],
)
def test_another_run_does_not_go_on_from_there(stopped, changes, keep, words):
    experiment, out = stopped
    with pytest.raises(InvalidInput, match=f"`resume` must be of the same configuration.*{words}"):
        run_experiment(experiment.replace(**changes), out, keep=keep, resume=True)
    # It can still be resumed.
    assert (out.parent / ".out.unfinished" / "plan.json").exists()


def test_without_resume_a_run_begins_anew(stopped, monkeypatch):
    experiment, out = stopped
    loaded = []
    monkeypatch.setattr(ChunkFolder, "load", lambda self, block: loaded.append(list(self._folder.iterdir())))
    run_experiment(experiment, out, keep=3)
    assert [path.name for path in loaded[0]] == ["plan.json"]
    assert [path.name for path in out.parent.iterdir()] == ["out"]
