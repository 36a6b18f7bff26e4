"""Verdicts on good and bad chains, and figures of chains."""

import numpy as np
import pytest
from arviz_base import from_dict

import hrprob
from hrprob.diagnostics import health
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Setting, make_model, make_prior

from .toy import chains_of


def chains(drift=0.0, diverging=0, slow_energy=False, rare_tails=False, repeats=1, draws=400):
    """A posterior by nuts whose chains were made up."""
    rng = np.random.default_rng(0)
    theta, phi = 0.2 * rng.normal(size=(2, 4, draws, 2))
    phi = phi + drift * np.arange(4)[:, None, None]
    # A chain that moves only now and then has few effective draws.
    phi = phi[:, np.arange(draws) // repeats * repeats]
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
    return health.health_verdict("nuts", table, health.health_concerns(posterior))


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
        ({"repeats": 12}, " (bulk) and "),
        ({"rare_tails": True}, " (tail), below 320"),
    ],
)
def test_bad_chains_are_not_called_sound(fault, word):
    verdict = verdict_on(chains(**fault))
    assert verdict.good is False
    assert word in verdict.words


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        # The R-hat of 40 sound draws per chain is above 1.01 by chance alone.
        ({"draws": 40}, "R-hat"),
        # About a sixth of the draws are effective: a sampler of usual speed that drew few.
        ({"repeats": 6, "draws": 300}, "effective sample size"),
    ],
)
def test_chains_that_are_only_short_are_undecided(fault, word):
    verdict = verdict_on(chains(**fault))
    assert verdict.good is None
    assert word in verdict.words
    assert "without --quick" in verdict.words


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
    assert health.health_verdict("laplace", table, health.health_concerns(sound)).good is not False


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_arviz_draws_the_chains():
    tree = chains_of(2)
    for plot in (health.plot_trace, health.plot_rank, health.plot_energy):
        assert any(axes.has_data() for axes in plot(tree).axes)


def test_of_many_features_those_whose_chains_agree_least_are_drawn():
    figure = health.plot_trace(chains_of(32, x3=1.0, x17=2.0, x18=1.0, x32=3.0))
    named = {axes.get_title().split()[-1] for axes in figure.axes}
    assert named == {"x3", "x17", "x18", "x32"}


def test_one_chain_without_energy_has_neither_figure():
    one = from_dict(
        {"posterior": {"theta": np.zeros((1, 100, 2))}, "sample_stats": {"lp": np.zeros((1, 100))}}
    )
    assert health.plot_rank(one) is None
    assert health.plot_energy(one) is None


@pytest.mark.parametrize(("draws", "kept"), [(1000, 500), (150, 150)])
def test_draws_are_thinned_to_their_effective_number_before_ranking(draws, kept):
    # Every value twice: half as many draws as they seem, of which at least a hundred per chain are kept.
    values = np.random.default_rng(3).normal(size=(4, draws // 2, 2)).repeat(2, axis=1)
    tree = health._thinned(from_dict({"posterior": {"theta": values, "phi": values}}))
    assert tree["posterior"].sizes["draw"] == pytest.approx(kept, rel=0.35)


def test_thinning_does_not_hide_that_chains_disagree():
    values = np.random.default_rng(4).normal(size=(4, 1000, 2))
    values[3] += 0.5  # R-hat is 1.03
    tree = health._thinned(from_dict({"posterior": {"theta": values, "phi": values}}))
    assert tree["posterior"].sizes["draw"] == 1000
