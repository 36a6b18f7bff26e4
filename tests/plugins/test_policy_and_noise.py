"""A third-party policy and noise, named by a configuration: found by ``--import`` and by an entry point."""

import importlib.metadata
import json
import os
import shutil
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from scipy import stats

import hrprob
from hrprob._core import registry
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Source, trial_keys
from hrprob.cli import main
from hrprob.io import config
from hrprob.noise import NOISES
from hrprob.policies import POLICIES
from tests.plugins.example import SMALL

CONFIGURATION = f"""
{SMALL}
[[policy]]
kind = "greedy"
noise = "normal"
"""


@pytest.fixture
def registries(monkeypatch):
    """Remove from the two registries what a test registered."""
    for known in (POLICIES, NOISES):
        known.kinds()
        monkeypatch.setattr(known, "_classes", dict(known._classes))


@pytest.fixture
def modules(registries, tmp_path, monkeypatch):
    """Put the two plug-ins where Python finds them."""
    for name in ("policy", "noise"):
        shutil.copy(Path(__file__).with_name(f"{name}.py"), tmp_path / f"own_{name}.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    file = tmp_path / "own.toml"
    file.write_text(CONFIGURATION, encoding="utf-8")
    yield file
    for name in ("policy", "noise"):
        sys.modules.pop(f"own_{name}", None)


@pytest.fixture
def command(monkeypatch):
    """Call the command line in this process, and restore JAX's settings."""
    monkeypatch.setenv("HRPROB_CACHE", "")
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
    double = jax.config.jax_enable_x64
    yield lambda *arguments: main([str(argument) for argument in arguments])
    jax.config.update("jax_enable_x64", double)


@pytest.mark.slow
def test_a_configuration_runs_with_import(modules, command, capsys, tmp_path):
    imports = ["--import", "own_policy", "--import", "own_noise"]
    assert command("run", modules, "--out", "result", *imports) == 0
    # The run says what greedy assumes, by the plug-in's own kind.
    assert "greedy assumes noise = normal: the problem has logistic" in capsys.readouterr().out
    with xarray.open_dataset(tmp_path / "result" / "results.nc") as dataset:
        assert dataset.policy.values.tolist() == ["own", "greedy"]
        assert dict(dataset.sizes) == {"policy": 2, "trial": 2, "user": 40}
        assert np.all(dataset.regret.values >= 0)
    facts = json.loads((tmp_path / "result" / "manifest.json").read_text(encoding="utf-8"))
    written = config.from_data(facts["configuration"])
    assert written.problem.noise.kind == "logistic"
    assert written.policies["own"].share == 0.25


def test_without_the_import_the_kind_is_not_known(modules, command, capsys):
    assert command("run", modules, "--out", "result") == 2
    message = capsys.readouterr().err
    assert "`problem.noise` must be one of" in message
    assert "got 'logistic'" in message


def test_a_parameter_out_of_range_is_named(modules, command, capsys):
    modules.write_text(CONFIGURATION.replace("share = 0.25", "share = 1.5"), encoding="utf-8")
    imports = ["--import", "own_policy", "--import", "own_noise"]
    assert command("run", modules, "--out", "result", *imports) == 2
    assert '`policy "own".share` must lie in [0, 1], got 1.5: it is a probability' in capsys.readouterr().err


def test_an_entry_point_needs_no_import(modules, monkeypatch):
    groups = {"hrprob.policies": "own_policy", "hrprob.noises": "own_noise"}

    def entry_points(*, group):
        names = [groups[group]] if group in groups else []
        return [importlib.metadata.EntryPoint("own", name, group) for name in names]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    registry._load_entry_points.cache_clear()
    try:
        experiment = config.read(modules)
        assert "mean-or-random" in {entry.kind for entry in POLICIES.describe()}
    finally:
        registry._load_entry_points.cache_clear()
    assert experiment.problem.noise.kind == "logistic"
    assert experiment.policies["own"].kind == "mean-or-random"


@pytest.mark.slow
def test_the_noise_is_that_of_its_name(plugin):
    noise = plugin("noise", NOISES).Logistic()
    exact = stats.logistic(scale=np.sqrt(3) / np.pi)
    z = np.linspace(-30.0, 5.0, 50)
    np.testing.assert_allclose(noise.cdf(z), exact.cdf(z), rtol=1e-12)
    np.testing.assert_allclose(noise.pdf(z), exact.pdf(z), rtol=1e-12)
    # Expected lifetime under one action: 1/Ψ((β − u)/√w).
    assert hrprob.h(0.5, 2.0, -1.0, noise) == pytest.approx(1 / exact.cdf(-1.5 / np.sqrt(2.0)))
    with double_precision():
        source = Source(trial_keys(3, np.arange(2)), jnp.arange(1, 201, dtype=jnp.uint32))
        draws = np.asarray(noise.draw(source, 10)).ravel()
    # The p-value of a right noise is uniform; that of this seed is fixed.
    assert stats.kstest(draws, exact.cdf).pvalue > 0.01
