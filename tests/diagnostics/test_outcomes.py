"""Models compared and residuals checked, on trees whose likelihoods are known."""

import warnings

import numpy as np
import pytest
import xarray
from arviz_base import from_dict
from scipy import stats

from hrprob.diagnostics import model_comparison, outcomes
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem import Affine, Bounds

SETTING = Setting(2)
TARGET = Target(make_model("gaussian"), make_prior("uniform"), SETTING)


def tree(r, x, log_density, seed=0, draws=300):
    """Draws close to a truth, with the log density of each outcome under them."""
    rng = np.random.default_rng(seed)
    theta = np.array([0.5, 0.2]) + 0.02 * rng.normal(size=(2, draws, 2))
    phi = np.array([0.6, -0.4]) + 0.02 * rng.normal(size=(2, draws, 2))
    mean, deviation = theta @ x.T, np.sqrt(phi @ x.T + 2.0)
    groups = {
        "posterior": {"theta": theta, "phi": phi},
        "log_likelihood": {"r": log_density((r - mean) / deviation) - np.log(deviation)},
        "posterior_predictive": {"r": mean + deviation * rng.normal(size=mean.shape)},
        "observed_data": {"r": r},
        "constant_data": {"x": x},
    }
    names = {"theta": ["feature"], "phi": ["feature"], "r": ["round"], "x": ["round", "feature"]}
    return from_dict(groups, dims=names)


def outcomes_of(noise, rounds=1200, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rounds, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x @ [0.5, 0.2] + np.sqrt(x @ [0.6, -0.4] + 2.0) * noise(rng, rounds), x


def student(rng, rounds):
    return rng.standard_t(4, size=rounds) * np.sqrt(0.5)


def normal(rng, rounds):
    return rng.normal(size=rounds)


def t_density(e):
    return stats.t.logpdf(e / np.sqrt(0.5), 4) - np.log(np.sqrt(0.5))


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "fits"), [(normal, True), (student, False)])
def test_heavy_tails_are_detected_by_every_check(noise, fits):
    r, x = outcomes_of(noise)
    trees = {"gaussian": tree(r, x, stats.norm.logpdf), "student-t": tree(r, x, t_density)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of shapes k̂, which the table has
        table = model_comparison.compare_models(trees, "gaussian")
        _, p_value = outcomes.loo_pit(trees["gaussian"], TARGET)
    checks = outcomes.residual_checks(trees["gaussian"], SETTING)
    assert outcomes.model_verdict(table).good is fits
    pit, shape = outcomes.residual_verdicts("gaussian", checks, p_value)
    assert pit.good is fits
    assert shape.good is fits
    assert fits or "excess kurtosis" in shape.words.split(";")[-1]


@pytest.mark.slow
def test_differences_are_paired():
    r, x = outcomes_of(normal)
    same = tree(r, x, stats.norm.logpdf)
    table = model_comparison.compare_models({"one": same, "two": same}, "one")
    assert float(table.ahead.sel(model="two")) == 0.0
    assert float(table.ahead_se.sel(model="two")) == 0.0
    assert float(table.elpd.sel(model="one")) == pytest.approx(
        np.asarray(same["log_likelihood"]["r"]).mean(axis=(0, 1)).sum(), rel=0.01
    )


def test_residuals_are_standardised():
    r, x = outcomes_of(normal, rounds=50)
    checks = outcomes.residual_checks(tree(r, x, stats.norm.logpdf), SETTING, draws=7)
    assert checks.observed.shape == (3, 7)
    e = (r - x @ [0.5, 0.2]) / np.sqrt(x @ [0.6, -0.4] + 2.0)
    # Draws lie within a few hundredths of the truth, and so do their statistics.
    np.testing.assert_allclose(
        checks.observed.mean("draw"), [stats.skew(e), stats.kurtosis(e), np.abs(e).max()], atol=0.15
    )


def test_residuals_are_the_same_in_small_units():
    r, x = outcomes_of(normal, rounds=20)
    whole = tree(r, x, stats.norm.logpdf)
    unit = 2.0**-20
    small = whole.copy()
    for group, name in (("posterior", "theta"), ("posterior_predictive", "r"), ("observed_data", "r")):
        small[group][name] = whole[group][name] * unit
    setting = Setting(2, Affine(unit**2, 2.0 * unit**2), Bounds(unit, 2.0))
    checks = [outcomes.residual_checks(*given) for given in ((whole, SETTING), (small, setting))]
    xarray.testing.assert_allclose(*checks, rtol=1e-12)


def test_an_outcome_beyond_every_simulated_one_has_a_pit_above_0():
    # Shares of simulated outcomes would be exactly 0 there, and no uniform number is.
    r, x = outcomes_of(normal, rounds=100)
    r[0] = x[0] @ [0.5, 0.2] - 3.6 * np.sqrt(x[0] @ [0.6, -0.4] + 2.0)
    pit, p_value = outcomes.loo_pit(tree(r, x, stats.norm.logpdf), TARGET)
    assert 1e-5 < pit[0] < 1e-3
    assert p_value > 0.01


def compared(elpd, reference="gaussian", bad_k=0.0):
    models = ["gaussian", "student-t", "skew"]
    elpd = np.array(elpd)
    ahead = elpd - elpd[models.index(reference)]
    return xarray.Dataset(
        {
            "elpd": ("model", elpd),
            "ahead": ("model", ahead),
            "ahead_se": ("model", np.ones(3)),
            "bad_k": ("model", np.array([bad_k, 0.0, 0.0])),
        },
        coords={"model": models},
        attrs={"reference": reference, "rounds": 100},
    )


def test_models_are_compared_where_all_predictions_are_finite():
    assert outcomes.model_verdict(compared([-100.0, -101.0, -102.0])).good is True
    assert outcomes.model_verdict(compared([-100.0, -80.0, -102.0])).good is False
    # Ahead, but not by the ln(2/0.01) = 5.3 that would be significant.
    little = outcomes.model_verdict(compared([-100.0, -96.0, -102.0]))
    assert little.good is None
    assert "a little better" in little.words
    assert "a lead of 5.3 would be significant" in little.words
    # Behind, but so uncertainly that a lead that matters (3 in 100 rounds) is not excluded.
    far = compared([-100.0, -101.0, -102.0]).assign(ahead_se=("model", np.full(3, 3.0)))
    assert outcomes.model_verdict(far).good is None
    assert "and 3.0 would matter" in outcomes.model_verdict(far).words


def test_unreliable_weights_are_reported():
    said = outcomes.model_verdict(compared([-100.0, -101.0, -102.0], bad_k=0.03))
    assert said.good is None
    assert "unreliable (k̂ above 0.7) for 3.0 % of rounds" in said.words


@pytest.mark.filterwarnings("ignore:invalid value")  # of ∞ − ∞
@pytest.mark.parametrize("odd", [np.nan, -np.inf])
def test_a_model_without_a_density_is_named(odd):
    said = outcomes.model_verdict(compared([-100.0, odd, -102.0]))
    assert said.good is None
    assert "by student-t outcomes could not be compared" in said.words
    # It does not hide what another shows.
    shown = outcomes.model_verdict(compared([-100.0, odd, -20.0]))
    assert shown.good is False
    assert "by student-t outcomes could not be compared" in shown.words
    both = outcomes.model_verdict(compared([-100.0, odd, odd])).words
    assert "student-t and skew outcomes" in both
    reference = outcomes.model_verdict(compared([odd, -101.0, -102.0]))
    assert reference.good is None
    assert "by gaussian outcomes could not be compared" in reference.words
    assert "nan" not in said.words + shown.words + both + reference.words
