"""A damaged result is named, never averaged; code that a folder names waits for a word."""

import json
import shutil
import sys

import h5py
import numpy as np
import pytest
import xarray

import hrprob
from hrprob import cli
from hrprob._core.errors import InvalidInput
from hrprob.comparison.repeat import repeat
from hrprob.comparison.runs import read
from hrprob.io.config import Experiment
from hrprob.io.netcdf import write_netcdf
from hrprob.io.run import run_experiment

PROBLEM = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9], contexts=hrprob.Sphere(actions=3))
EXPERIMENT = Experiment(PROBLEM, {"one": hrprob.Random(), "oracle": hrprob.Oracle()}, 20, 2, seed=3)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hrprob.plot.save", lambda figure, folder, name: None)
        data = run_experiment(EXPERIMENT, out)
    return out, data


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original[0], tmp_path / "run")


def test_a_flipped_bit_is_named(folder, capsys):
    file = folder / "results.nc"
    whole = file.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 20).astype(int):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        file.write_bytes(damaged)
        with pytest.raises(InvalidInput, match=r"results\.nc differs from its checksum"):
            read(folder)
    file.write_bytes(whole[:-1])
    assert cli.main(["compare", str(folder)]) == 2
    assert "results.nc differs from its checksum" in capsys.readouterr().err


def test_without_a_manifest_damage_is_named_or_changes_nothing(folder):
    """Bits flipped all over the file: what is read is what was written, or nothing is."""
    (folder / "manifest.json").unlink()
    file = folder / "results.nc"
    [wanted] = read(folder)
    whole = file.read_bytes()
    refused = 0
    for place in np.linspace(0, len(whole) - 1, 60).astype(int):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        file.write_bytes(damaged)
        try:
            [run] = read(folder)
        except InvalidInput:
            refused += 1
        else:
            xarray.testing.assert_identical(run.data, wanted.data)
    assert refused > 10


def variables(name):
    return lambda data: data.drop_vars(name)


DAMAGES = {
    "no regret": (variables("regret"), "it has no variable `regret`"),
    "no best": (variables("mean_best"), "it has no variable `mean_best`"),
    "no axis": (variables("user"), "it has no axis `user`"),
    "other axes": (lambda data: data.assign(regret=data.regret.T), "`regret` is not of numbers over"),
    "texts": (lambda data: data.assign(best=data.best.astype(str)), "`best` is not of numbers"),
    "twice": (lambda data: data.assign_coords(policy=["one", "one"]), "`policy` has an entry twice"),
    "no trials": (lambda data: data.isel(trial=[]), "its axis `trial` is empty"),
    "backwards": (lambda data: data.isel(user=slice(None, None, -1)), "`user` does not count up"),
    "no numbers": (lambda data: data.assign(regret=data.regret * np.nan), "has entries that are no numbers"),
    "one missing": (
        lambda data: data.assign(regret=data.regret.where(data.user != 5)),
        "`regret` has entries that are no numbers",
    ),
    "no seed": (lambda data: data.drop_attrs().assign_attrs(users=20), "it has no whole number `seed`"),
    "other users": (lambda data: data.assign_attrs(users=30), "it has 30 users, and the last is 20"),
    "no JSON": (lambda data: data.assign_attrs(problem="{"), "`problem` cannot be read"),
    "deep JSON": (lambda data: data.assign_attrs(policies="[" * 100_000), "`policies` cannot be read"),
    "a list": (lambda data: data.assign_attrs(policies="[]"), "`policies` is no table"),
    "unknown": (lambda data: data.assign_attrs(policies='{"one": {}}'), "not describe the policy 'oracle'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_result_is_checked_as_a_whole(original, tmp_path, damage):
    change, words = DAMAGES[damage]
    write_netcdf(change(original[1]), tmp_path / "results.nc")
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path)


def test_a_file_without_what_hdf5_needs(folder):
    (folder / "manifest.json").unlink()
    with h5py.File(folder / "results.nc", "a") as file:
        del file["user"]
    with pytest.raises(InvalidInput, match="`DIR` must hold"):
        read(folder)


@pytest.mark.parametrize("content", ["{", "[]", "null", "[" * 100_000, '{"versions": 3}', '{"sha256": []}'])
def test_a_damaged_manifest_is_named(folder, content):
    (folder / "manifest.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"`DIR` must have a manifest\.json"):
        read(folder)


def test_files_of_two_runs_are_not_one_result(folder, original):
    """What a run leaves that dies between the renames of its files."""
    write_netcdf(original[1].assign_attrs(seed=4), folder / "results.nc")
    with pytest.raises(InvalidInput, match="differs from its checksum"):
        read(folder)


def test_a_run_is_repeated_to_the_last_bit(folder, capsys):
    assert cli.main(["repeat", str(folder)]) == 0
    assert capsys.readouterr().out == "the same, to the last bit\n"
    assert repeat(folder).result.sizes["user"] == 20


def test_what_was_compared_is_written_where_it_is_asked_for(folder, tmp_path, capsys):
    out = tmp_path / "repeated"
    assert cli.main(["repeat", str(folder / "manifest.json"), "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["out"] == str(out)
    assert printed["result"] == json.loads((out / "repetition.json").read_text(encoding="utf-8"))
    assert printed["result"]["agrees"]
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["job"] == "repeat"


def change_manifest(folder, **changes):
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (folder / "manifest.json").write_text(json.dumps(facts | changes), encoding="utf-8")


def test_another_result_is_not_repeated(folder, original, capsys):
    whole = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change_manifest(folder, sha256={})
    data = original[1]
    write_netcdf(data.assign(regret=data.regret * (1 + 1e-9)), folder / "results.nc")
    assert cli.main(["repeat", str(folder)]) == 2
    assert " of 80 entries differ, relatively by 1e-09 at most" in capsys.readouterr().err
    assert cli.main(["repeat", str(folder), "--out", str(folder.with_name("again"))]) == 2
    assert not folder.with_name("again").exists()
    # On other versions, so small a difference counts as none.
    change_manifest(folder, versions={"jax": "0.0.1"})
    repetition = repeat(folder)
    assert repetition.agrees
    assert any("jax is" in line and "was '0.0.1'" in line for line in repetition.in_words())
    assert not repeat(folder, tolerance=1e-12).agrees
    # Nor on another processor.
    change_manifest(folder, versions=whole["versions"], platform={"processor": "Abacus 1"})
    repetition = repeat(folder)
    assert repetition.agrees
    assert any("processor is" in line and "was 'Abacus 1'" in line for line in repetition.in_words())


def test_what_is_no_run_is_not_repeated(folder):
    change_manifest(folder, job="reproduce")
    with pytest.raises(InvalidInput, match="only the result of `hrprob run`"):
        repeat(folder)


def test_code_that_a_folder_names_waits_for_a_word(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "foreign_code.py").write_text("raise RuntimeError('I was run')\n")
    monkeypatch.syspath_prepend(tmp_path)
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    facts["configuration"]["problem"]["satisfaction"] = {"kind": "function", "function": "foreign_code:level"}
    change_manifest(folder, configuration=facts["configuration"])
    for command in (["repeat"], ["compare", "--until", "0.05"]):
        assert cli.main([*command, str(folder)]) == 2
        said = capsys.readouterr().err
        assert "must be trusted to be run, got 'foreign_code:level'" in said
        assert "--trust" in said
    assert "foreign_code" not in sys.modules
    assert cli.main(["repeat", str(folder), "--trust"]) == 2
    assert "I was run" in capsys.readouterr().err
