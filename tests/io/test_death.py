"""Whatever the moment of death: a result folder holds the old result or the new one, and nothing else."""

import hashlib
import itertools
import json
import shutil

import pytest

from hrprob.io import exchange, run
from tests.io.dying import Died, dying


@pytest.fixture
def quick(monkeypatch, dataset):
    """Replace simulation and figures, which write nothing or take long."""

    def played(problem, policies, *, seed, **options):
        return dataset.assign_attrs(seed=seed)

    def draw(dataset, folder):
        for name in ("regret", "lifetime"):
            (folder / f"{name}.png").write_text(f"{name} of {dataset.attrs['seed']}")

    monkeypatch.setattr("hrprob.io.manifest._git_revision", lambda: None)
    # One file, opened once, as the real one; putting its content together takes most of the time.
    monkeypatch.setattr(run, "write_netcdf", lambda data, path, encoding: path.write_text(str(data.seed)))
    monkeypatch.setattr("os.fsync", lambda number: None)
    monkeypatch.setattr(run, "simulate", played)
    monkeypatch.setattr(run, "draw_run", draw)


def seed_of_result(out, seed_in=lambda facts: facts["seed"]):
    """Return the seed of the result in a folder after checking that all of it belongs together."""
    facts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    present = files - {"manifest.json", "notes.txt", "mine/deep.txt"}
    assert set(facts["sha256"]) == present
    for name, expected in facts["sha256"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == expected, name
    return seed_in(facts)


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_run_that_dies_at_any_file_operation(tmp_path, quick, experiment, monkeypatch, in_one_step):
    if not in_one_step:
        monkeypatch.setattr(exchange, "_exchange_in_one_step", lambda one, other: False)
    seeds = set()
    earlier = tmp_path / "earlier"
    run.run_experiment(experiment.replace(seed=1), earlier)
    (earlier / "notes.txt").write_text("my own")
    (earlier / "mine").mkdir()
    (earlier / "mine" / "deep.txt").write_text("my own")
    for moment in itertools.count():
        out = shutil.copytree(earlier, tmp_path / str(moment) / "out")
        survived = False
        with dying(after=moment):
            run.run_experiment(experiment.replace(seed=2), out)
            survived = True
        if in_one_step or out.exists():
            seeds.add(seed_of_result(out))
            assert (out / "notes.txt").read_text() == (out / "mine" / "deep.txt").read_text() == "my own"
        # A later run clears away what the dead one left.
        run.run_experiment(experiment.replace(seed=3), out)
        assert seed_of_result(out) == 3
        assert (out / "notes.txt").read_text() == (out / "mine" / "deep.txt").read_text() == "my own"
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        if survived:
            break
    assert seeds == {1, 2}
    assert moment > 15


def test_the_first_run_dies(tmp_path, quick, experiment):
    for moment in itertools.count():
        out = tmp_path / str(moment) / "deep" / "out"
        survived = False
        with dying(after=moment):
            run.run_experiment(experiment, out)
            survived = True
        if out.exists():
            assert seed_of_result(out) == experiment.seed
        run.run_experiment(experiment.replace(seed=3), out)
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        if survived:
            break


def test_nothing_happens_after_death(tmp_path):
    reached = []
    with dying(after=1):
        (tmp_path / "one").write_text("1")
        try:
            (tmp_path / "two").write_text("2")
        finally:
            with pytest.raises(Died):
                (tmp_path / "three").mkdir()
            reached.append("the end")
    assert reached == ["the end"]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
