"""The command line: what it prints, what it leaves, and how it ends."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest
import xarray

import hrprob
from hrprob import cli
from hrprob.cli.jax_setup import cache_folder
from hrprob.io import summary

ROOT = Path(hrprob.__file__).parents[1]

SMALL = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, 0.9]
[run]
users = 1500
trials = 3
seed = 5
[[policy]]
kind = "random"
name = "Zufall ±"
[[policy]]
kind = "oracle"
"""

# What is really played is the same in every test, and so compiled once.
FEW = ("--users", 40, "--trials", 2)

# A policy of somebody else's, with a parameter that has no default.
THIRD_PARTY = '''
from typing import Any
import hrprob
import jax.numpy as jnp

@hrprob.register("always")
class Always(hrprob.Policy):
    """Serve the same action to everybody."""

    action: Any

    def init(self):
        return ()

    def select(self, state, key, contexts, beta):
        return jnp.asarray(self.action, int)

    def update(self, state, seen):
        return state
'''


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Call the command line in this process, in an empty folder, and put JAX's switches back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HRPROB_CACHE", "")
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
    monkeypatch.setattr(sys, "path", list(sys.path))
    double = jax.config.jax_enable_x64

    def call(*arguments):
        status = cli.main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    yield call
    jax.config.update("jax_enable_x64", double)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def start(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "hrprob.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **options)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_does_not_wait_for_anything_heavy(argument):
    times = []
    for _ in range(3):
        before = time.perf_counter()
        done = start(argument)
        times.append(time.perf_counter() - before)
        assert done.returncode == 0
        assert "hrprob" in done.stdout
    # 0.06 s alone on a machine; the best of three, because others may be at work on it.
    assert min(times) < 0.5


def test_nothing_heavy_is_imported_to_parse():
    check = "import sys; from hrprob.cli.main import make_parser; make_parser(); print([m for m in ('jax', 'numpy', 'matplotlib') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["run"], ["run", "x.toml"], ["run", "x", "--users", "many"]]
)
def test_arguments_that_do_not_parse_end_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: hrprob" in capsys.readouterr().err


def test_an_input_that_cannot_be_used_is_one_line_and_2(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(SMALL.replace("users = 1500", "users = 0"), encoding="utf-8")
    done = start("run", str(path), "--out", str(tmp_path / "a" / "result"))
    assert done.returncode == 2
    assert done.stderr.startswith("hrprob: error: `run.users` must be a whole number of at least 1, got 0: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.toml"]


def test_a_run_prints_a_table_and_leaves_its_results(call, small, tmp_path):
    status, out, err = call("run", small, "--out", "results/small", *FEW)
    assert (status, err) == (0, "")
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
    # The command line has the last word; the seed is the file's.
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
    assert (status, err) == (0, "")
    assert f"\nG assumes {words}\n" in out


@pytest.mark.slow
def test_a_run_says_why_its_results_are_not_finite(call, small):
    endless = """noise = { kind = "truncated-normal", width = 1.0 }
satisfaction = { kind = "uniform", low = -3.0, high = 1.0 }
"""
    small.write_text(SMALL.replace("[run]", endless + "[run]"), encoding="utf-8")
    # Warnings are errors here: the figures are drawn without one.
    status, out, err = call("run", small, "--out", "r", *FEW)
    assert (status, err) == (0, "")
    assert out.count("\nnot finite: some user's level is below all outcomes of some action") == 1


@pytest.mark.parametrize("name", ["regret", "lifetime"])
def test_one_mean_that_is_not_finite_is_enough(name):
    fine = {"mean": 1.0, "se": None}
    entry = {"regret": {"40": fine}, "lifetime": fine}
    assert not summary._has_infinite_mean({"a": entry}, 40)
    none = {"mean": None, "se": None}
    bad = entry | {name: {"40": none} if name == "regret" else none}
    assert summary._has_infinite_mean({"a": entry, "b": bad}, 40)


@pytest.mark.slow
def test_a_run_says_that_a_short_file_begins_again(call, small, tmp_path):
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
    assert err.count("\n") == 1
    assert "`problem.satisfaction.function`" in err
    assert "user 70" in err
    assert not (tmp_path / "r").exists()


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
def test_options_that_cannot_be_used(call, small, tmp_path, arguments, field):
    status, out, err = call("run", small, "--out", "results", *arguments)
    assert (status, out) == (2, "")
    assert field in err
    assert err.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


def test_a_module_that_exits_is_named(call, small, tmp_path):
    (tmp_path / "that_exits.py").write_text("import sys\n\nsys.exit(0)\n")
    status, out, err = call("run", small, "--out", "r", "--import", "that_exits")
    assert (status, out) == (2, "")
    assert "`--import` must be a module that can be imported, got 'that_exits': SystemExit: 0" in err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("keep", ["0", "-1", "some", "1.5"])
def test_keep_is_auto_all_or_a_number(call, small, keep, capsys):
    with pytest.raises(SystemExit) as ended:
        call("run", small, "--out", "r", f"--keep={keep}")
    assert ended.value.code == 2
    assert 'must be "auto", "all" or a whole number' in capsys.readouterr().err


def test_a_policy_of_somebody_elses(call, small, tmp_path):
    (tmp_path / "somebodys.py").write_text(THIRD_PARTY)
    imported = ["--import", "somebodys"]
    try:
        status, out, _ = call("policies", *imported)
        assert status == 0
        assert "always\n    Serve the same action to everybody.\n" in out
        assert "    action (required)\n" in out

        small.write_text(SMALL + '[[policy]]\nkind = "always"\n', encoding="utf-8")
        status, _, err = call("run", small, "--out", "r", *imported)
        assert status == 2
        assert '`policy "always".action` must be given, got nothing' in err

        small.write_text(SMALL + '[[policy]]\nkind = "always"\naction = 2\n', encoding="utf-8")
        status, _, _ = call("run", small, "--out", "r", *FEW, *imported)
        assert status == 0
        with xarray.open_dataset(tmp_path / "r" / "results.nc") as dataset:
            assert (dataset.action.sel(policy="always") == 2).all()
    finally:
        sys.modules.pop("somebodys", None)

        hrprob.policies.POLICIES._classes.pop("always", None)


def test_policies_are_described_in_words_and_in_json(call):
    status, out, _ = call("policies")
    assert status == 0
    assert 'radius = "released"' in out
    assert "growth (optional)" in out
    status, out, _ = call("policies", "--json")
    assert status == 0
    entries = {entry["kind"]: entry for entry in json.loads(out)}
    assert set(entries) >= {"hr-ucb", "linucb", "sigma-max-ucb", "greedy", "random", "oracle"}
    assert all(set(entry) == {"kind", "description", "parameters"} for entry in entries.values())
    assert entries["hr-ucb"]["parameters"]["delta"] == 0.1
    assert entries["linucb"]["parameters"]["growth"] is None


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (MemoryError("Unable to allocate 1 TiB"), 1, "too little memory, try fewer trials or --keep 1000"),
        (jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory"), 1, "too little memory"),
    ],
)
def test_a_run_that_fails_leaves_what_was_there(call, small, tmp_path, monkeypatch, error, status, words):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("hrprob.io.run.simulate", fail)
    ended, out, err = call("run", small, "--out", "a/b/results")
    assert (ended, out) == (status, "")
    assert words in err
    assert err.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


def test_a_reader_who_leaves_early_is_no_error():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    listing = subprocess.Popen(
        [sys.executable, "-m", "hrprob.cli", "policies"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    listing.stdout.close()
    with listing.stderr as stream:
        assert stream.read() == b""
    assert listing.wait() == 0


def test_the_cache_goes_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HRPROB_CACHE", str(tmp_path / "told"))
    assert cache_folder().parent == tmp_path / "told"
    monkeypatch.setenv("HRPROB_CACHE", "")
    assert cache_folder() is None
    monkeypatch.delenv("HRPROB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().parent == tmp_path / "xdg" / "hrprob"
    (tmp_path / "file").touch()
    monkeypatch.setenv("HRPROB_CACHE", str(tmp_path / "file"))
    assert cache_folder() is None


def test_told_to_end_it_leaves_nothing_half_written(tmp_path):
    place = tmp_path / "long.toml"
    place.write_text(SMALL.replace("users = 1500\ntrials = 3", "users = 1000000\ntrials = 100"))
    command = [sys.executable, "-m", "hrprob.cli", "run", str(place), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        # Its folder is there as soon as it works.
        for _ in range(600):
            if len(list(tmp_path.iterdir())) > 1:
                break
            time.sleep(0.1)
        running.terminate()
        said = running.communicate(timeout=120)[1]
    assert running.returncode == 143
    assert "nothing half-written is left" in said
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]
