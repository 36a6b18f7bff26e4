"""NUTS of other libraries on the same density, where they are installed; devices by name."""

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.devices import find_device
from hrprob._core.errors import InvalidInput
from hrprob.estimation.posterior import samplers
from hrprob.estimation.posterior.engines import make_engine

X = np.array([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5], [-0.3, 0.4], [0.2, -0.7]] * 6)
R = X @ [0.5, -0.3] + np.exp(0.5 * X @ [0.4, 0.2]) * np.random.default_rng(0).normal(size=30)


@pytest.fixture(scope="module")
def reference():
    return hrprob.fit(
        (X, R), {"kind": "nuts", "chains": 2, "warmup": 300, "draws": 500}, link="log"
    ).summary()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the libraries themselves
@pytest.mark.parametrize("sampler", ["blackjax", "nutpie"])
def test_other_samplers_have_the_same_posterior(sampler, reference):
    pytest.importorskip(sampler)
    engine = {"kind": "nuts", "chains": 2, "warmup": 300, "draws": 500, "sampler": sampler}
    posterior = hrprob.fit((X, R), engine, link="log")
    summary = posterior.summary()
    # Two means of at least 400 effective draws each: four standard errors.
    assert summary.ess_bulk.min() > 400
    assert np.all(np.abs(summary["mean"] - reference["mean"]) < 0.29 * reference.sd)
    assert np.all(np.abs(summary.sd / reference.sd - 1) < 0.2)
    assert posterior.divergences < 20
    assert {"lp", "n_steps", "energy"} <= set(posterior.statistics)


def test_a_sampler_that_is_not_installed_is_named(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(samplers.importlib, "import_module", missing)
    with pytest.raises(
        InvalidInput, match=r"must be installed, got 'nutpie': pip install 'hrprob\[samplers\]'"
    ):
        samplers.installed("nutpie")
    with pytest.raises(InvalidInput, match="sampler"):
        make_engine({"kind": "nuts", "sampler": "stan"})


def test_devices_are_found_by_name():
    assert find_device("cpu") == jax.devices("cpu")[0]
    with pytest.raises(InvalidInput, match="must be a device of JAX"):
        find_device("abacus")
    with pytest.raises(InvalidInput, match="must be a device of JAX"):
        find_device("cpu:99")
