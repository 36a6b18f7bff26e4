"""Files, options and environments that nobody should have, and some have: one line, or a result, never a traceback."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.example import FEW, ROOT, SMALL, only_progress
from tests.helpers import without_loading

NO_PROGRESS = (*map(str, FEW), "--quiet")


def run(*arguments, closed=(), **environment):
    """Run the command line as a process of its own; return its exit code and what it said on stderr."""
    surroundings = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS",)}
    surroundings |= {"PYTHONPATH": str(ROOT), "HRPROB_CACHE": "", **environment}
    command = [sys.executable, "-m", "hrprob.cli", *arguments]
    if closed:
        command = ["sh", "-c", 'exec "$@" ' + closed, "sh", *command]
    done = subprocess.run(command, capture_output=True, env=surroundings, check=False)
    return done.returncode, done.stderr.decode(errors="replace"), done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[problem]\n" + "a." * 3000 + "b = 1\n", "must not be nested so deeply"),
        ("[problem]\nx = " + "[" * 3000 + "]" * 3000 + "\n", "nested too deeply"),
        (SMALL + '"\\u001b[31mred" = 1\n', r".\x1b[31mred` must be a known key"),
        ("#" * 10_000_001, "`FILE` must have at most 10000000 bytes, got 10000001"),
    ],
)
def test_configurations_that_are_refused_with_one_line(call, tmp_path, text, words):
    path = tmp_path / "hostile.toml"
    path.write_text(text, encoding="utf-8")
    status, out, err = call("run", path)
    assert (status, out) == (2, "")
    assert words in err
    assert without_loading(err).count("\n") == 1
    assert "\x1b" not in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["hostile.toml"]


def test_a_byte_order_mark_does_no_harm(call, tmp_path):
    path = tmp_path / "marked.toml"
    path.write_text(SMALL, encoding="utf-8-sig")
    status, _, err = call("run", path, *FEW)
    assert (status, only_progress(err)) == (0, True)


@pytest.mark.parametrize("kind", ["empirical", "sequence"])
def test_a_path_of_levels_that_is_too_long(call, small, kind):
    levels = f'satisfaction = {{ kind = "{kind}", levels = "{"a" * 5000}" }}\n[run]'
    small.write_text(SMALL.replace("[run]", levels), encoding="utf-8")
    status, _, err = call("run", small)
    assert status == 2
    assert "`problem.satisfaction.levels` must be a file that can be read" in err


@pytest.mark.parametrize("cell", ["1_0", "１"])
def test_numbers_that_only_python_reads(call, small, tmp_path, cell):
    (tmp_path / "beta.csv").write_text(f"beta\n0.5\n{cell}\n", encoding="utf-8")
    levels = 'satisfaction = { kind = "empirical", levels = "beta.csv" }\n[run]'
    small.write_text(SMALL.replace("[run]", levels), encoding="utf-8")
    status, _, err = call("run", small)
    assert status == 2
    assert "line 3 of" in err


@pytest.mark.parametrize("keep", ["9223372036854775808", "１", "9" * 5000])
def test_numbers_of_users_that_are_none(call, small, keep, capsys):
    with pytest.raises(SystemExit) as ended:
        call("run", small, f"--keep={keep}")
    assert ended.value.code == 2
    assert "--keep" in capsys.readouterr().err


@pytest.mark.slow
def test_a_path_that_is_not_text_loses_nothing(small, tmp_path):
    out = os.path.join(os.fsencode(tmp_path), b"r\xff")
    status, err, _ = run("run", str(small), "--out", out, *NO_PROGRESS, MPLBACKEND="nonsense")
    assert (status, err) == (0, "")
    with open(os.path.join(out, b"manifest.json"), encoding="utf-8") as stream:
        assert os.fsencode(json.load(stream)["command"][4]) == out


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"JAX_ENABLE_X64": "banana"}, "`JAX_ENABLE_X64` must be a setting that JAX can read, got 'banana'"),
        ({"JAX_PLATFORMS": "xyz"}, "`JAX_PLATFORMS` must name platforms that JAX finds here, got 'xyz'"),
        (
            {"XLA_FLAGS": "--no-such-flag=1"},
            "`XLA_FLAGS` must be flags that XLA knows, got '--no-such-flag=1'",
        ),
    ],
)
def test_environments_that_jax_refuses(small, environment, words):
    status, err, _ = run("run", str(small), *NO_PROGRESS, **environment)
    assert status == 2
    assert words in err
    assert without_loading(err).count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_encoding_has_help(encoding):
    status, err, out = run("fit", "--help", PYTHONIOENCODING=encoding)
    assert (status, err) == (0, "")
    assert b"--bound-theta" in out


def test_stdout_may_be_closed():
    status, err, _ = run("policies", closed=">&-")
    assert (status, err) == (0, "")
    status, _, _ = run("policies", "nobody", closed=">&- 2>&-")
    assert status == 2
