"""What a run leaves: the files, and that they are there whole or not at all."""

import json
import math
import os

import numpy as np
import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io import manifest, run_cache
from hrprob.io.config import Experiment, from_data
from hrprob.io.run import write_results
from hrprob.io.staging import staged
from hrprob.io.summary import summary

USERS, TRIALS = 2500, 4


@pytest.fixture(scope="module")
def experiment():
    policies = {"Zufall (±)": hrprob.Random(), "oracle": hrprob.Oracle()}
    return Experiment(hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9]), policies, USERS, TRIALS, seed=3)


@pytest.fixture(scope="module")
def dataset(experiment):
    return hrprob.simulate(experiment.problem, experiment.policies, users=USERS, trials=TRIALS, seed=3)


@pytest.fixture(scope="module")
def facts(experiment, dataset):
    return manifest.run_manifest(
        experiment, dataset, keep="auto", command=["hrprob", "run"], wall_seconds=1.5, cpu_seconds=2.0
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, dataset, facts):
    place = tmp_path_factory.mktemp("out") / "deep" / "result"
    with staged(place) as staging:
        write_results(staging, dataset, facts)
    return place


def load(path):
    def refuse(token):
        raise AssertionError(f"{token} is no JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def stage(place, then):
    """Write a file, and let something happen before it is in place."""
    with staged(place) as staging:
        (staging / "new.svg").touch()
        then()


def earlier_result(place, *others):
    place.mkdir()
    (place / "old.svg").touch()
    for name in others:
        (place / name).write_text("mine")
    files = ["manifest.json", "old.svg"]
    (place / "manifest.json").write_text(json.dumps({"program": "hrprob", "job": "run", "files": files}))


def test_all_files_are_there_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "lifetime.png",
        "lifetime.svg",
        "manifest.json",
        "regret.png",
        "regret.svg",
        "results.nc",
        "summary.json",
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["result"]
    # As any folder made under this umask, not as a private temporary one.
    beside = folder.parent / "beside"
    beside.mkdir()
    assert folder.stat().st_mode == beside.stat().st_mode
    beside.rmdir()


def test_the_dataset_comes_back_as_it_was(folder, dataset):
    with xarray.open_dataset(folder / "results.nc") as stored:
        xarray.testing.assert_identical(stored.load(), dataset)
        assert stored.regret.dtype == np.float64
        assert list(stored.policy.values) == ["Zufall (±)", "oracle"]
        assert stored.regret.encoding["zlib"]


def test_a_large_configuration_fits_into_the_file(tmp_path, dataset, facts):
    # HDF5 keeps at most 64 KiB of an attribute beside its object; context sets are longer than that.
    long = dataset.assign_attrs(problem="x" * 200_000)
    write_results(tmp_path, long, facts)
    with xarray.open_dataset(tmp_path / "results.nc") as stored:
        assert stored.attrs["problem"] == long.attrs["problem"]


def test_the_summary_is_what_the_dataset_says(folder, dataset):
    summary = load(folder / "summary.json")
    assert list(summary) == ["Zufall (±)", "oracle"]
    entry = summary["Zufall (±)"]
    assert list(entry) == ["regret", "lifetime", "seconds"]
    assert list(entry["regret"]) == ["1", "1001", "2001", "2500"]
    regret = dataset.regret.sel(policy="Zufall (±)", user=1001).values
    assert entry["regret"]["1001"]["mean"] == pytest.approx(sum(regret) / TRIALS, rel=1e-14)
    deviation = math.sqrt(sum((regret - sum(regret) / TRIALS) ** 2) / (TRIALS - 1))
    assert entry["regret"]["1001"]["se"] == pytest.approx(deviation / math.sqrt(TRIALS), rel=1e-12)
    # All users are kept, so the mean lifetime can be had from them too.
    lifetimes = dataset.lifetime.sel(policy="Zufall (±)").values.mean(axis=1)
    assert entry["lifetime"]["mean"] == pytest.approx(lifetimes.mean(), rel=1e-12)
    assert entry["seconds"] > 0


def test_a_summary_has_null_where_there_is_no_number(dataset):
    one = dataset.isel(trial=[0])
    assert summary(one)["oracle"]["regret"]["2500"] == {"mean": 0.0, "se": None}
    endless = dataset.assign(regret=dataset.regret + math.inf)
    assert summary(endless)["oracle"]["regret"]["1"] == {"mean": None, "se": None}


def test_the_manifest_says_how_to_repeat_the_run(folder, experiment):
    facts = load(folder / "manifest.json")
    assert repr(from_data(facts["configuration"])) == repr(experiment)
    assert facts["seed"] == 3
    assert facts["versions"]["hrprob"] == hrprob.__version__
    assert set(facts["versions"]) == {"python", "hrprob", "jax", "jaxlib", "numpy", "numpyro", "xarray"}
    assert facts["thinning"] == {"keep": "auto", "step": 1, "users": USERS, "rule": "every user"}
    assert (facts["wall_seconds"], facts["cpu_seconds"]) == (1.5, 2.0)
    assert facts["command"] == ["hrprob", "run"]


def test_without_a_repository_there_is_no_revision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert manifest._git_revision() is None
    monkeypatch.setenv("PATH", "")
    assert manifest._git_revision() is None


def test_the_same_result_gives_the_same_files(folder, tmp_path, dataset, facts):
    write_results(tmp_path, dataset, facts)
    for name in ("summary.json", "manifest.json", "regret.png", "regret.svg", "lifetime.png", "lifetime.svg"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_an_earlier_result_is_replaced_and_other_files_in_it_are_kept(tmp_path):
    place = tmp_path / "result"
    earlier_result(place, "notes.txt")
    with staged(place) as staging:
        (staging / "new.svg").touch()
        # Until all is done, whoever looks finds the earlier result.
        assert (place / "old.svg").exists()
    assert sorted(path.name for path in place.iterdir()) == ["new.svg", "notes.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_an_empty_folder_and_a_link_to_one_are_taken(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with staged(tmp_path / "link") as staging:
        (staging / "new.svg").touch()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "new.svg").exists()


@pytest.mark.parametrize(
    "content",
    [
        None,
        "{}",
        '["program"]',
        '{"program": "other"}',
        '{"program": "hrprob", "job": "reproduce"}',
        "no JSON",
    ],
)
def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path, content):
    place = tmp_path / "website"
    place.mkdir()
    (place / "index.html").touch()
    if content is not None:
        (place / "manifest.json").write_text(content)
    before = sorted(place.iterdir())
    with (
        pytest.raises(InvalidInput, match="`--out` must not be a folder with other things"),
        staged(place),
    ):
        pytest.fail("nothing may run")
    assert sorted(place.iterdir()) == before
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_work_that_fails_leaves_everything_as_it_was(tmp_path, error):
    def fail():
        raise error

    place = tmp_path / "result"
    earlier_result(place)
    for out in (place, tmp_path / "a" / "b" / "c"):
        with pytest.raises(error):
            stage(out, then=fail)
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert sorted(path.name for path in place.iterdir()) == ["manifest.json", "old.svg"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_found_out_before_any_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput, match="can be written"), staged(tmp_path / "result"):
        pytest.fail("nothing may run")


@pytest.mark.parametrize("out", ["/proc/result", "file/below", "x" * 300])
def test_a_place_that_cannot_be_is_found_out_before_any_work(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="can be written"), staged(out):
        pytest.fail("nothing may run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("out", "words"), [("", "must name a folder"), (".", "must not be the current folder")]
)
def test_the_current_folder_is_not_renamed_away(tmp_path, monkeypatch, out, words):
    (tmp_path / "empty").mkdir()
    earlier_result(tmp_path / "earlier")
    for place in ("empty", "earlier"):
        monkeypatch.chdir(tmp_path / place)
        with pytest.raises(InvalidInput, match=words), staged(out):
            pytest.fail("nothing may run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["earlier", "empty"]


def test_a_job_in_parts_needs_a_folder_with_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="`--out` must name a folder"):
        run_cache.prepare_folder("", "suite", [])
    assert list(tmp_path.iterdir()) == []
    assert run_cache.prepare_folder(".", "suite", []).samefile(tmp_path)


def test_a_result_that_cannot_be_moved_is_not_lost(tmp_path):
    place = tmp_path / "result"

    def fill():
        place.mkdir()
        (place / "theirs").touch()

    with pytest.raises(OSError, match="the result stays in"):
        stage(place, then=fill)
    (staging,) = tmp_path.glob(".result.*")
    assert (staging / "new.svg").exists()
    assert (place / "theirs").exists()
