"""What is said of chains, good and bad."""

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics import health, verdicts
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Setting, make_model, make_prior


def chains(drift=0.0, diverging=0, slow_energy=False, rare_tails=False, draws=400):
    """A posterior by nuts whose chains were made up."""
    rng = np.random.default_rng(0)
    theta, phi = 0.2 * rng.normal(size=(2, 4, draws, 2))
    phi = phi + drift * np.arange(4)[:, None, None]
    if rare_tails:  # seen once in a while, and then for long
        phi = phi * np.where(np.arange(draws) % 200 < 30, 4.0, 0.5)[:, None]
    energy = rng.normal(size=(4, draws))
    if slow_energy:
        energy = np.cumsum(0.05 * energy, axis=1)
    flags = np.zeros((4, draws), dtype=bool)
    flags[0, :diverging] = True
    return Posterior(
        theta=theta,
        phi=phi,
        sites={},
        statistics={"diverging": flags, "energy": energy, "lp": energy},
        log_ratio=np.zeros((4, draws)),
        table=Table([[0.5, 0.5]], [0.1]),
        target=Target(make_model("gaussian"), make_prior("uniform"), Setting(2)),
        engine=make_engine("nuts"),
        seed=0,
    )


def verdict_on(posterior):
    table = health.sampler_health({"nuts": posterior})
    return verdicts.on_health("nuts", table, health.health_concerns(posterior))


def test_good_chains_are_sound():
    verdict = verdict_on(chains())
    assert verdict.good
    assert "no divergence" in verdict.words


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ({"drift": 0.2}, "R-hat"),
        ({"diverging": 3}, "diverged"),
        ({"slow_energy": True}, "missing information"),
        ({"draws": 40}, " (bulk) and "),
        ({"rare_tails": True}, " (tail), below 400"),
    ],
)
def test_bad_chains_are_not(fault, word):
    verdict = verdict_on(chains(**fault))
    assert verdict.good is False
    assert word in verdict.words


def test_energy_is_that_of_the_textbook():
    posterior = chains(slow_energy=True)
    energy = np.asarray(posterior.statistics["energy"])
    plain = np.square(np.diff(energy, axis=1)).mean(axis=1) / energy.var(axis=1)
    found = float(health.sampler_health({"nuts": posterior}).bfmi[0])
    # ArviZ divides by n or by n − 1.
    assert found == pytest.approx(plain.min(), rel=0.01)


@pytest.mark.study
def test_a_sound_approximation_is_not_blamed():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    r = x @ [0.5, 0.2] + np.sqrt(x @ [1.2, -1.0] + 2) * rng.normal(size=60)
    sound = hrprob.fit((x, r), engine="laplace")
    table = health.sampler_health({"laplace": sound})
    assert 0 < float(table.effective[0]) <= 4000
    assert np.isnan(table.rhat).all()
    assert verdicts.on_health("laplace", table, health.health_concerns(sound)).good is not False
