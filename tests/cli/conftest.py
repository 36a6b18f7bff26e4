"""The command line, called in this process."""

import os
import sys

import jax
import pytest

from hrprob import cli
from tests.cli.example import SMALL


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Call the command line in this process, in an empty folder, and restore JAX's settings."""
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
