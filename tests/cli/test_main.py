"""Parser, exit codes and signals: how the command line ends."""

import os
import re
import subprocess
import sys
import time

import jax
import pytest

import hrprob
from hrprob import cli
from hrprob.cli.main import COMMANDS
from hrprob.cli.shared import own_kinds
from hrprob.estimation.posterior.engines import ENGINES
from hrprob.models import MODELS, PRIORS
from tests.cli.example import ROOT, SMALL, start
from tests.helpers import without_loading


@pytest.mark.parametrize(
    ("folder", "registry"),
    [("estimation/posterior", ENGINES), ("models", MODELS), ("models/priors", PRIORS)],
)
def test_help_lists_the_kinds_that_are_registered(folder, registry):
    assert own_kinds(folder) == ", ".join(registry.kinds())


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_does_not_wait_for_anything_heavy(argument):
    before = os.times()
    done = start(argument)
    after = os.times()
    assert done.returncode == 0
    assert "hrprob" in done.stdout
    # CPU time of the process, which other processes on the machine hardly change: 0.06 s; JAX alone takes 0.7 s.
    spent = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    assert spent < 0.5


def test_nothing_heavy_is_imported_to_parse():
    check = "import sys; from hrprob.cli.main import make_parser; make_parser(); print([m for m in ('jax', 'numpy', 'matplotlib') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]"


def test_without_a_command_they_are_listed(capsys):
    assert cli.main([]) == 2
    assert "reproduce" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["fly"], ["run"], ["run", "x", "--users", "many"]])
def test_arguments_that_do_not_parse_have_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: hrprob" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu", "x.toml"], "did you mean `run`?"),
        (["run", "x.toml", "--trails", "3"], "did you mean `--trials`?"),
        (["run", "x.toml", "--sed=3"], "did you mean `--seed`?"),
        (["diagnose", "x.toml", "--engin=smc", "--quik"], "did you mean `--quick`?"),
        (["reproduce", "--panel", "indx"], "did you mean `index`?"),
        (
            ["fit", "x.csv", "--context", "a", "b"],
            "unrecognized arguments: b; a list has commas and no spaces: --context a,b",
        ),
    ],
)
def test_the_nearest_command_or_option_is_named(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"{words}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_states_where_its_results_go_and_prints_json(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    if command != "init":
        assert "--json" in said
    if command not in ("init", "describe", "policies"):
        # These two write nothing unless they are told where.
        default = "nothing is written" if command in ("evaluate", "repeat") else "results/"
        assert re.search(rf"--out DIR [^;]*; by default {default}", said)


def test_unusable_input_is_one_line_and_exit_code_2(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(SMALL.replace("users = 1500", "users = 0"), encoding="utf-8")
    done = start("run", str(path), "--out", str(tmp_path / "a" / "result"))
    assert done.returncode == 2
    assert without_loading(done.stderr).startswith(
        "hrprob: error: `run.users` must be a whole number of at least 1, got 0: "
    )
    assert without_loading(done.stderr).count("\n") == 1
    assert done.stdout == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.toml"]


def test_a_module_that_exits_is_named(call, small, tmp_path):
    (tmp_path / "that_exits.py").write_text("import sys\n\nsys.exit(0)\n")
    status, out, err = call("run", small, "--out", "r", "--import", "that_exits")
    assert (status, out) == (2, "")
    assert "`--import` must be a module that can be imported, got 'that_exits': SystemExit: 0" in err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (MemoryError("Unable to allocate 1 TiB"), 1, "too little memory, try fewer trials or --keep 1000"),
        (jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory"), 1, "too little memory"),
    ],
)
def test_a_run_that_fails_leaves_the_folder_as_it_was(
    call, small, tmp_path, monkeypatch, error, status, words
):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("hrprob.io.run.simulate", fail)
    ended, out, err = call("run", small, "--out", "a/b/results")
    assert (ended, out) == (status, "")
    assert words in err
    assert without_loading(err).count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


def test_a_closed_pipe_is_no_error():
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


def test_sigterm_leaves_nothing_half_written(tmp_path):
    place = tmp_path / "long.toml"
    place.write_text(SMALL.replace("users = 1500\ntrials = 3", "users = 1000000\ntrials = 100"))
    command = [sys.executable, "-m", "hrprob.cli", "run", str(place), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        # Its hidden folder is there as soon as it starts to work.
        for _ in range(600):
            if len(list(tmp_path.iterdir())) > 1:
                break
            time.sleep(0.1)
        running.terminate()
        said = running.communicate(timeout=120)[1]
    assert running.returncode == 143
    assert "nothing half-written is left" in said
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "hrprob", "--version"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"hrprob {hrprob.__version__}\n")
