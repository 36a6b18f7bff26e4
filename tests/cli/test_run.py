"""``hrprob run``: what it prints and what it leaves."""

import json
import sys

import pytest
import xarray

from tests.cli.example import FEW, SMALL, only_progress
from tests.helpers import without_loading


def test_a_run_prints_a_table_and_leaves_its_results(call, small, tmp_path):
    status, out, err = call("run", small, "--out", "results/small", *FEW)
    assert (status, only_progress(err)) == (0, True)
    lines = out.splitlines()
    assert lines[0].split() == ["policy", "regret", "at", "40", "mean", "lifetime", "seconds"]
    assert lines[1].startswith("Zufall ±")
    assert lines[2].split()[:4] == ["oracle", "0.0", "±", "0.0"]
    assert len({len(line) for line in lines[:3]}) == 1
    assert lines[-1] == "results in results/small"
    folder = tmp_path / "results" / "small"
    with xarray.open_dataset(folder / "results.nc") as dataset:
        assert dict(dataset.sizes) == {"policy": 2, "trial": 2, "user": 40}
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    # Options override the file; the seed is the file's.
    assert facts["configuration"]["run"] == {"users": 40, "trials": 2, "seed": 5}
    assert sorted(facts["files"]) == sorted(path.name for path in folder.iterdir())
    assert [entry.name for entry in (tmp_path / "results").iterdir()] == ["small"]


BELIEFS = [
    (
        'satisfaction = "hidden"',
        'satisfaction = { kind = "hidden", of = { kind = "empirical", levels = [0.0] } }',
        "satisfaction = hidden (of = empirical): the problem has hidden (of = uniform)",
    ),
    (
        'satisfaction = "hidden"',
        'satisfaction = { kind = "hidden", of = { kind = "uniform", low = -2.0 } }',
        "satisfaction = hidden (of = uniform (low = -2.0)): the problem has hidden (of = uniform (low = -1.0))",
    ),
    (
        'noise = { kind = "student-t", df = 4.0 }',
        'noise = { kind = "student-t", df = 9.0 }',
        "noise = student-t (df = 9.0): the problem has student-t (df = 4.0)",
    ),
    (
        'noise = { kind = "student-t", df = 4.0 }',
        'noise = "normal"',
        "noise = normal: the problem has student-t",
    ),
    (
        'objective = { kind = "threshold", level = 0.5 }',
        'objective = { kind = "threshold", level = 1.0 }',
        "objective = threshold (level = 1.0): the problem has threshold (level = 0.5)",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("true", "believed", "words"), BELIEFS)
def test_a_run_reports_wrong_beliefs(call, tmp_path, true, believed, words):
    path = tmp_path / "wrong.toml"
    problem = SMALL.partition("[run]")[0] + true
    path.write_text(f'{problem}\n[[policy]]\nkind = "greedy"\nname = "G"\n{believed}\n')
    status, out, err = call("run", path, "--out", "r", "--users", 3, "--trials", 1)
    assert (status, only_progress(err)) == (0, True)
    assert f"\nG assumes {words}\n" in out


@pytest.mark.slow
def test_a_run_says_why_its_results_are_not_finite(call, small):
    endless = """noise = { kind = "truncated-normal", width = 1.0 }
satisfaction = { kind = "uniform", low = -3.0, high = 1.0 }
"""
    small.write_text(SMALL.replace("[run]", endless + "[run]"), encoding="utf-8")
    # Warnings are errors here, so the figures are drawn without one.
    status, out, err = call("run", small, "--out", "r", *FEW)
    assert (status, only_progress(err)) == (0, True)
    assert out.count("\nnot finite: some user's level is below all outcomes of some action") == 1


@pytest.mark.slow
def test_a_run_reports_that_a_short_file_is_repeated(call, small, tmp_path):
    (tmp_path / "beta.csv").write_text("beta\n0.5\n-1\n")
    levels = 'satisfaction = { kind = "sequence", levels = "beta.csv" }\n[run]'
    small.write_text(SMALL.replace("[run]", levels), encoding="utf-8")
    status, out, _ = call("run", small, "--out", "r", *FEW)
    assert status == 0
    assert f"\n2 users in {tmp_path / 'beta.csv'}, repeated\n" in out
    status, out, _ = call("run", small, "--out", "r", "--users", 2, "--trials", 1)
    assert status == 0
    assert "repeated" not in out


def test_a_function_that_fails_late_leaves_nothing(call, small, tmp_path):
    (tmp_path / "somebodys_levels.py").write_text(
        "import jax.numpy as jnp\n\n\ndef level(key, user):\n    return jnp.where(user == 70, jnp.nan, 0.0)\n"
    )
    levels = 'satisfaction = { kind = "function", function = "somebodys_levels:level" }\n[run]'
    small.write_text(SMALL.replace("[run]", levels), encoding="utf-8")
    imported = ["--import", "somebodys_levels"]
    try:
        status, out, err = call("run", small, "--out", "r", "--users", 80, "--trials", 2, *imported)
    finally:
        sys.modules.pop("somebodys_levels", None)
    assert (status, out) == (2, "")
    *progress, complaint = err.splitlines()
    assert only_progress("\n".join(progress))
    assert "`problem.satisfaction.function`" in complaint
    assert "user 70" in err
    assert not (tmp_path / "r").exists()


def test_progress_is_lines_where_stderr_is_no_terminal(call, small):
    status, _, err = call("run", small, *FEW)
    assert status == 0
    compiled = [line for line in err.splitlines() if "users served" not in line]
    assert sorted(compiled) == ["compiling Zufall ± …", "compiling oracle …"]
    assert "\r" not in err


def test_results_go_to_a_folder_named_like_the_file(call, small, tmp_path):
    status, out, _ = call("run", small, *FEW)
    assert status == 0
    assert out.splitlines()[-1] == "results in results/run/small"
    assert (tmp_path / "results" / "run" / "small" / "manifest.json").exists()


def test_a_result_as_json(call, small, tmp_path):
    status, out, _ = call("run", small, *FEW, "--json")
    assert status == 0
    printed = json.loads(out)
    assert printed["out"] == "results/run/small"
    assert printed["notes"] == []
    assert printed["result"] == json.loads((tmp_path / printed["out"] / "summary.json").read_text("utf-8"))


def test_a_quiet_run_that_keeps_few_users(call, small, tmp_path):
    status, out, err = call("run", small, "--out", "r", *FEW, "--seed", 9, "--keep", 10, "--quiet")
    assert (status, out, err) == (0, "", "")
    facts = json.loads((tmp_path / "r" / "manifest.json").read_text(encoding="utf-8"))
    assert facts["configuration"]["run"] == {"users": 40, "trials": 2, "seed": 9}
    assert facts["thinning"]["rule"] == "each 10-th user from the first; 1, 1001, ... and the last"
    with xarray.open_dataset(tmp_path / "r" / "results.nc") as dataset:
        assert dataset.user.values.tolist() == [1, 11, 21, 31, 40]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--users", "0"], "`--users` must be a whole number of at least 1, got 0"),
        (["--trials", "-3"], "`--trials`"),
        (["--seed", "-1"], "`--seed`"),
        (["--seed", "9223372036854775808"], "`--seed` must be a whole number of at most 9223372036854775807"),
        (
            ["--import", "no_such_module"],
            "`--import` must be a module that can be imported, got 'no_such_module'",
        ),
        (["--import", "some/file.py"], "not its file"),
        (["--out", "small.toml"], "`--out` must be a folder, got 'small.toml'"),
        (["--out", "small.toml/below"], "`--out` must be a folder that can be written"),
        (["--out", "."], "`--out` must not be a folder with other things in it"),
    ],
)
def test_unusable_options(call, small, tmp_path, arguments, field):
    status, out, err = call("run", small, "--out", "results", *arguments)
    assert (status, out) == (2, "")
    assert field in err
    assert without_loading(err).count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.parametrize("keep", ["0", "-1", "some", "1.5"])
def test_keep_is_auto_all_or_a_number(call, small, keep, capsys):
    with pytest.raises(SystemExit) as ended:
        call("run", small, "--out", "r", f"--keep={keep}")
    assert ended.value.code == 2
    assert 'must be "auto", "all" or a whole number' in capsys.readouterr().err
