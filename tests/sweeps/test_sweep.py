"""Sweeps: the same bits as single runs, whatever played them and however often they were interrupted."""

import itertools
import json
import shutil

import numpy as np
import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison.runs import pool, read
from hrprob.io.config import Experiment
from hrprob.simulation.tasks import play_task
from hrprob.sweeps import play
from hrprob.sweeps.design import make_design
from hrprob.sweeps.play import run_sweep
from tests.io.dying import dying
from tests.io.test_death import seed_of_result
from tests.sweeps.example import FIELDS, POLICIES, PROBLEM, SIZES, Elsewhere


@pytest.fixture(scope="module")
def result():
    return hrprob.sweep(PROBLEM, POLICIES, FIELDS, **SIZES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep") / "out"
    hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=out, **SIZES)
    return out


@pytest.fixture
def stored(result, monkeypatch):
    """Return what plays a task by looking it up: what is tested is where results go, not how they come about."""
    monkeypatch.setattr(play.plot, "plot_sweep", lambda data: None)
    monkeypatch.setattr(play.plot, "save", lambda figure, folder, name: (folder / name).write_text(name))
    monkeypatch.setattr("hrprob.io.manifest._git_revision", lambda: None)

    def look_up(task):
        point = {
            "problem.satisfaction.low": task.problem.satisfaction.low,
            "problem.link.offset": task.problem.link.offset,
        }
        return result.sel(point).drop_vars([*point, "final_regret"])

    return look_up


def files_of(out):
    """Return the content of all files that must be the same whatever ran the sweep."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }


def test_a_point_is_the_run_of_its_configuration(result):
    assert result.regret.dims == (*FIELDS, "policy", "trial", "user")
    problem = hrprob.Problem(
        theta=PROBLEM.theta,
        phi=PROBLEM.phi,
        link=hrprob.Affine(1.0, 3.0),
        satisfaction=hrprob.UniformLevels(0.5, 1.0),
    )
    run = hrprob.simulate(problem, POLICIES, **SIZES)
    point = result.sel({"problem.satisfaction.low": 0.5, "problem.link.offset": 3.0})
    for name in ("regret", "lifetime", "action", "optimal", "best", "mean_best", "mean_lifetime"):
        assert np.array_equal(point[name], run[name]), name
    assert np.array_equal(point.final_regret, run.regret.isel(user=-1))


def test_on_disk_as_in_memory(result, folder):
    xarray.testing.assert_identical(
        xarray.open_zarr(folder / "results.zarr", consolidated=False, chunks=None).load()[list(result)],
        result,
    )
    summary = json.loads((folder / "summary.json").read_text())
    assert summary[1]["values"] == {"problem.satisfaction.low": -1.0, "problem.link.offset": 3.0}
    mean = float(result.final_regret[0, 1, 0].mean())
    assert summary[1]["policies"]["Zufall (±)"]["regret"]["mean"] == mean


def test_another_place_gives_the_same_bytes(tmp_path, folder):
    hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=tmp_path / "out", scheduler=Elsewhere(play_task), **SIZES)
    assert files_of(tmp_path / "out") == files_of(folder)


def test_users_may_be_swept():
    fields = {"run.users": [500, 2500]}
    result = hrprob.sweep(PROBLEM, POLICIES, fields, **SIZES)
    short = hrprob.simulate(PROBLEM, POLICIES, **SIZES | {"users": 500})
    assert np.array_equal(result.regret.sel({"run.users": 500}).isel(user=slice(500)), short.regret)
    assert np.isnan(result.regret.sel({"run.users": 500}).isel(user=slice(500, None))).all()
    assert np.array_equal(result.final_regret.sel({"run.users": 500}), short.regret.isel(user=-1))


def test_drawn_points_lie_along_one_axis():
    fields = {"problem.satisfaction.low": {"low": -1.0, "high": 0.5}}
    result = hrprob.sweep(PROBLEM, POLICIES, fields, method="random", draws=2, **SIZES)
    assert result.regret.dims == ("point", "policy", "trial", "user")
    assert result["problem.satisfaction.low"].dims == ("point",)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"problem.satisfaction.low": [-1.0, 3.0]}, r"problem\.satisfaction.*at the point .*low = 3.0"),
        ({"problem.link.ofset": [1.0]}, "did you mean `offset`"),
        ({"policy.oracle.warmup": [-1]}, "warmup"),
    ],
)
def test_a_point_that_cannot_be_played_is_refused_first(tmp_path, fields, words):
    with pytest.raises(InvalidInput, match=words):
        hrprob.sweep(PROBLEM, POLICIES, fields, out=tmp_path / "out", **SIZES)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_sweep_goes_on(tmp_path, stored, folder):
    out, arguments = tmp_path / "out", (PROBLEM, POLICIES, FIELDS)
    with pytest.raises(KeyboardInterrupt):
        hrprob.sweep(*arguments, out=out, scheduler=Elsewhere(stored, breaks_after=4), **SIZES)
    assert not out.exists()
    second = Elsewhere(stored)
    hrprob.sweep(*arguments, out=out, scheduler=second, resume=True, **SIZES)
    assert len(second.played) == 2
    assert {name for name in files_of(out) if name.startswith("results.zarr")} == {
        name for name in files_of(folder) if name.startswith("results.zarr")
    }
    assert all(files_of(out)[name] == files_of(folder)[name] for name in files_of(out) if "/" in name)


def test_another_configuration_is_refused(tmp_path, stored):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=out, scheduler=Elsewhere(stored, 4), **SIZES)
    with pytest.raises(InvalidInput, match=r"configuration\.run\.seed is 4, was 3"):
        hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=out, resume=True, **SIZES | {"seed": 4})
    fields = FIELDS | {"problem.link.offset": [2.0, 4.0]}
    with pytest.raises(InvalidInput, match=r"sweep\.points\[2\]\[2\] is 4.0, was 3.0"):
        hrprob.sweep(PROBLEM, POLICIES, fields, out=out, resume=True, **SIZES)
    # Also of a result that is finished.
    hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=out, scheduler=Elsewhere(stored), **SIZES)
    with pytest.raises(InvalidInput, match=r"configuration\.run\.seed is 4, was 3"):
        hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=out, resume=True, **SIZES | {"seed": 4})


def test_a_damaged_chunk_is_named_and_made_again(tmp_path, stored, folder):
    out = shutil.copytree(folder, tmp_path / "out")
    chunk = out / "results.zarr" / "regret" / "c" / "2" / "0" / "0" / "0" / "0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"regret/c/2/0/0/0/0 is missing or damaged.*--resume"):
        read(out)
    again = Elsewhere(stored)
    hrprob.sweep(PROBLEM, POLICIES, FIELDS, out=out, scheduler=again, resume=True, **SIZES)
    assert [(task.problem.satisfaction.low, task.problem.link.offset) for task in again.played] == [
        (0.5, 2.0)
    ]
    assert chunk.read_bytes() == (folder / chunk.relative_to(out)).read_bytes()
    assert len(read(out)) == 6


@pytest.fixture
def dies(tmp_path, stored, monkeypatch):
    """Return a function that lets a sweep die after so many file operations, resumes it, and says whether it survived."""
    monkeypatch.setattr("os.fsync", lambda number: None)
    design = make_design({name: values[:1] for name, values in FIELDS.items()})
    experiment = Experiment(PROBLEM, POLICIES, SIZES["users"], SIZES["trials"], SIZES["seed"])

    def begin(out, **options):
        run_sweep(experiment, design, out, scheduler=Elsewhere(stored), **options)

    begin(tmp_path / "whole")
    wanted = files_of(tmp_path / "whole")
    run_sweep(experiment.replace(seed=4), design, tmp_path / "earlier", scheduler=Elsewhere(stored))

    def die(moment, earlier=False):
        out, survived = tmp_path / str(moment) / "out", False
        if earlier:
            shutil.copytree(tmp_path / "earlier", out)
        with dying(after=moment):
            begin(out)
            survived = True
        assert out.exists() or not earlier
        if out.exists():
            # All of it is of one sweep, the earlier or the new one.
            assert seed_of_result(out) in ((3, 4) if earlier else (3,))
            assert earlier or files_of(out) == wanted
        try:
            begin(out, resume=True)
        except InvalidInput:
            # It died before its first chunk: nothing says that the earlier sweep was to be replaced.
            assert earlier
            assert seed_of_result(out) == 4
            begin(out)
        assert files_of(out) == wanted
        assert [path.name for path in out.parent.iterdir()] == ["out"]
        shutil.rmtree(out.parent)
        return survived

    return die


def test_a_sweep_that_dies_at_a_file_operation(dies):
    assert [dies(moment) for moment in (3, 70)] == [False, False]
    assert not dies(70, earlier=True)


@pytest.mark.study
@pytest.mark.parametrize("earlier", [False, True])
def test_a_sweep_that_dies_at_any_file_operation(dies, earlier):
    assert next(moment for moment in itertools.count() if dies(moment, earlier)) > 70


def test_points_are_compared(folder):
    runs = read(folder)
    assert len(runs) == 6
    assert runs[1].name == "out: problem.satisfaction.low = -1.0, problem.link.offset = 3.0"
    assert len(pool(runs)) == 6


def test_policies_are_named_by_their_swept_fields(tmp_path, monkeypatch):
    monkeypatch.setattr(play.plot, "save", lambda figure, folder, name: None)
    fields = {"policy.Zufall (±).warmup": [0, 1]}
    hrprob.sweep(PROBLEM, POLICIES, fields, out=tmp_path / "out", **SIZES)
    (pooled,) = pool(read(tmp_path / "out")).values()
    assert pooled.policy.values.tolist() == [
        "Zufall (±) (warmup = 0)",
        "oracle",
        "Zufall (±) (warmup = 1)",
    ]
