"""``hrprob sweep``: what it prints, what it leaves, what it refuses."""

import json

import xarray

from tests.cli.example import FEW, SMALL, only_progress

SECOND = '[[policy]]\nkind = "random"\nname = "second"\nwarmup = 1\n'
SWEEP = '\n[sweep]\n"problem.satisfaction.low" = [-1.0, 0.0]\n'


def write(tmp_path, text):
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    return "small.toml"


def test_a_sweep_is_played_and_compared(call, tmp_path):
    status, out, err = call("sweep", write(tmp_path, SMALL + SECOND + SWEEP), *FEW)
    assert (status, only_progress(err)) == (0, True)
    lines = out.splitlines()
    assert lines[0].split() == ["problem.satisfaction.low", "Zufall", "±", "oracle", "second"]
    assert lines[1].startswith("−1.0")
    assert lines[-1] == "results in results/sweep/small"
    folder = tmp_path / "results" / "sweep" / "small"
    with xarray.open_zarr(folder / "results.zarr", consolidated=False, chunks=None) as data:
        assert data.final_regret.sizes == {"problem.satisfaction.low": 2, "policy": 3, "trial": 2}
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert facts["configuration"]["run"] == {"users": 40, "trials": 2, "seed": 5}
    assert sorted(facts["files"]) == sorted(path.name for path in folder.iterdir())
    status, out, err = call("compare", folder, "--out", "compared")
    assert (status, err) == (0, "")
    assert "small: problem.satisfaction.low = 0.0" in out
    status, _, err = call("compare", folder, "--until", "0.05")
    assert (status, "only the result of one `hrprob run` can be continued" in err) == (2, True)


def test_what_is_refused(call, tmp_path):
    file = write(tmp_path, SMALL + SWEEP)
    status, _, err = call("run", file)
    assert (status, "`hrprob sweep` plays" in err) == (2, True)
    status, _, err = call("sweep", file, "--scheduler", "here")
    assert (status, "`--scheduler` must be a place" in err) == (2, True)
    status, _, err = call("sweep", write(tmp_path, SMALL))
    assert (status, "`sweep` must be given, got nothing: add a table [sweep]" in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
