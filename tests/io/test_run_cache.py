"""The folder of a job in parts."""

import itertools
import json
import shutil

import pytest
import xarray

from hrprob._core.errors import InvalidInput
from hrprob.io import run_cache
from hrprob.io.manifest import checksum, write_manifest
from hrprob.io.run_cache import load_or_play, staged_with_parts
from tests.io.dying import dying


@pytest.mark.parametrize(
    ("out", "words"), [("", "`out` must name a folder"), (".", "must not be the current folder")]
)
def test_a_job_in_parts_needs_a_named_folder(tmp_path, monkeypatch, out, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=words), staged_with_parts(out, "suite", {}):
        pytest.fail("nothing may run")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def job(monkeypatch, dataset, experiment):
    """Return a function that plays a job of three parts, and the list of parts that were played."""
    played = []

    def play_task(task, **options):
        played.append(task.seed)
        return dataset.assign_attrs(seed=task.seed)

    def write(run, path, encoding=None):
        path.write_text(json.dumps({"seed": run.seed, "fingerprint": run.fingerprint}))

    def read(path):
        return xarray.DataTree(xarray.Dataset(attrs=json.loads(path.read_text())))

    monkeypatch.setattr(run_cache, "play_task", play_task)
    monkeypatch.setattr(run_cache, "write_netcdf", write)
    monkeypatch.setattr(run_cache, "read_netcdf", read)
    monkeypatch.setattr("os.fsync", lambda number: None)

    def play(out, first, scheduler=None, **options):
        parts = {f"part-{seed}": experiment.replace(seed=seed) for seed in range(first, first + 3)}
        with staged_with_parts(out, "suite", parts, **options) as folder:
            runs = [run.seed for run in load_or_play(parts, folder, scheduler=scheduler).values()]
            (folder.result / "report.html").write_text(str(runs))
            write_manifest(folder.result, {"program": "hrprob", "job": "suite", "runs": runs})
        return runs

    return play, played


def runs_of(out):
    """Return the runs of a result after checking that all files belong together."""
    facts = json.loads((out / "manifest.json").read_text())
    for name, expected in facts["sha256"].items():
        assert checksum(out / name) == expected, name
    assert (out / "report.html").read_text() == str(facts["runs"])
    return facts["runs"]


def test_a_job_that_dies_at_any_file_operation(tmp_path, job):
    play, played = job
    earlier = tmp_path / "earlier"
    play(earlier, first=0)
    found = set()
    for moment in itertools.count():
        out = shutil.copytree(earlier, tmp_path / str(moment) / "out")
        played.clear()
        survived = False
        with dying(after=moment):
            play(out, first=2)
            survived = True
        found.add(tuple(runs_of(out)))
        # Part 2 is that of the earlier result. The others are played, side by side: both may have been lost once.
        play(out, first=2, resume=True)
        assert set(played) <= {3, 4}
        assert len(played) <= 4
        assert runs_of(out) == [2, 3, 4]
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        if survived:
            break
    assert found == {(0, 1, 2), (2, 3, 4)}


def test_a_damaged_part_is_played_again(tmp_path, job):
    play, played = job
    play(tmp_path / "out", first=0)
    (tmp_path / "out" / "parts" / "part-1.nc").write_text("damaged")
    played.clear()
    play(tmp_path / "out", first=0)
    assert played == [1]


def test_resume_refuses_other_parts(tmp_path, job):
    play, _ = job
    with dying(after=25):
        play(tmp_path / "out", first=0)
    with pytest.raises(InvalidInput, match=r"`resume` must be of the same.*parts\.part-5 is"):
        play(tmp_path / "out", first=5, resume=True)
    assert play(tmp_path / "out", first=5) == [5, 6, 7]


class Backwards:
    """A scheduler that finishes the last task first."""

    def __init__(self, dataset):
        self._dataset = dataset

    def play(self, tasks, report, store):
        for number in reversed(range(len(tasks))):
            yield number, self._dataset.assign_attrs(seed=tasks[number].seed)


def test_parts_on_a_scheduler(tmp_path, job, dataset):
    play, played = job
    assert play(tmp_path / "out", first=0, scheduler=Backwards(dataset)) == [0, 1, 2]
    # They are stored as those are that were played here.
    assert play(tmp_path / "out", first=0) == runs_of(tmp_path / "out") == [0, 1, 2]
    assert not played
