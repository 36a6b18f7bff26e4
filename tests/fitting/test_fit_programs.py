"""Outcome models of one's own, fitted by every engine that can."""

import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.fitting import figures
from hrprob.models import base
from tests.fitting.example import some_rounds
from tests.fitting.own_programs import (
    Axis,
    Coin,
    Columns,
    DoubleExponential,
    Elsewhere,
    Groups,
    Headless,
    Nowhere,
    Observed,
    OpenT,
    Program,
    TwoFaced,
    WithError,
    own,
)


@pytest.mark.study
@pytest.mark.parametrize(
    "engine", [{"kind": "svi", "steps": 1500}, {"kind": "nuts", "warmup": 300, "draws": 500}]
)
def test_open_sites_are_fitted_along(table, engine, registered, tmp_path):
    posterior = hrprob.fit(table, engine, model=own(OpenT))
    assert list(posterior.sites) == ["aside", "df", "zest"]
    names = posterior.summary().parameter.values.tolist()
    assert names[4:] == ["aside[0]", "aside[1]", "aside[2]", "df", "zest"]
    # What the data say nothing of has its prior: N(3, 0.5), and uniform on the simplex.
    assert posterior.sites["zest"].mean() == pytest.approx(3.0, abs=0.06)
    assert posterior.sites["zest"].std() == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(posterior.sites["aside"].sum(axis=-1), 1.0)
    np.testing.assert_allclose(posterior.sites["aside"].mean(axis=(0, 1)), 1 / 3, atol=0.05)
    assert np.all(posterior.sites["df"] > 0)
    tree = posterior.to_datatree()
    u, w = posterior.moments(table.x)
    df = 2 + posterior.sites["df"][..., None]
    wanted = stats.t.logpdf(table.r, df, u, np.sqrt(w * (df - 2) / df))
    np.testing.assert_allclose(tree["log_likelihood"]["r"].values, wanted, rtol=1e-8)
    assert set(tree["prior"].data_vars) == {"theta", "phi", "aside", "df", "zest"}
    probability = stats.t.cdf(0.2, df, u[..., :1], np.sqrt(w[..., :1] * (df - 2) / df))
    said = posterior.predict(table.x[:1], beta=0.2)
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(
        probability.mean(), rel=1e-6
    )
    posterior.save(tmp_path / "open.nc")
    again = hrprob.Posterior.load(tmp_path / "open.nc")
    np.testing.assert_array_equal(again.sites["aside"], posterior.sites["aside"])
    assert len(figures.plot_coefficients(posterior).axes) == 5
    assert again.reweight().sites["df"].shape == (posterior.theta[..., 0].size,)
    base.MODELS._classes.pop("own-OpenT")
    with pytest.raises(InvalidInput, match="import the module"):
        hrprob.Posterior.load(tmp_path / "open.nc")


@pytest.mark.slow
def test_programs_that_an_engine_cannot_take(table, registered):
    for model, engine, words in (
        (OpenT, "laplace", "take nuts or svi"),
        (OpenT, "smc", "take nuts or svi"),
        (Coin, "nuts", "whole numbers"),
        (Headless, "svi", "`theta` and `phi`"),
        (Nowhere, {"kind": "svi", "steps": 4}, "no finite density"),
        (TwoFaced, "laplace", "row_log_likelihood"),
        (Observed, "laplace", "row_log_likelihood"),
        (Program, "laplace", r"write `outcome\(self, u, w\)`"),
        (Program, "smc", r"write `outcome\(self, u, w\)`"),
        (Axis, "svi", "must have sites of other names, got 'draw'"),
        (Elsewhere, "svi", r"must observe `r`, got \['y'\]"),
    ):
        with pytest.raises(InvalidInput, match=words):
            hrprob.fit(table, engine, model=own(model))
    with pytest.raises(InvalidInput, match="register"):
        hrprob.fit(table, "nuts", model=OpenT())


@pytest.mark.slow
def test_sites_may_be_called_as_columns_are(registered, tmp_path):
    table = some_rounds(10)
    posterior = hrprob.fit(table, {"kind": "svi", "steps": 4}, model=own(Columns), draws=100)
    tree = posterior.to_datatree()
    assert tree["posterior"]["user"].shape == tree["prior"]["user"].shape == (1, 100, 3)
    posterior.save(tmp_path / "columns.nc")
    again = hrprob.Posterior.load(tmp_path / "columns.nc")
    np.testing.assert_array_equal(again.table.beta, table.beta)
    for name, values in posterior.sites.items():
        np.testing.assert_array_equal(again.sites[name], values)


@pytest.mark.slow
@pytest.mark.parametrize("model", [Program, Observed])
def test_what_a_program_says_is_fitted(model, table, registered):
    engine = {"kind": "svi", "steps": 1500}
    posterior = hrprob.fit(table, engine, model=own(model))
    u, w = posterior.moments(table.x)
    # ln p is the likelihood of normal outcomes and −|z|²/2, which d numbers on each ball give back.
    likelihood = stats.norm.logpdf(table.r, u, np.sqrt(w)).sum(axis=-1)
    z = posterior.target.position(posterior.theta, posterior.phi)
    apart = posterior.statistics["lp"] - likelihood + 0.5 * np.sum(np.asarray(z) ** 2, axis=-1)
    assert np.ptp(apart) < 1e-3
    assert posterior.reweight().trusted
    said = posterior.predict(table.x[:1], beta=0.2)
    probability = stats.norm.cdf((0.2 - u[..., 0]) / np.sqrt(w[..., 0])).mean()
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(probability, rel=1e-6)
    assert "log_likelihood" in posterior.to_datatree().children


@pytest.mark.slow
def test_a_model_of_ones_own_is_fitted_by_every_engine_that_takes_it(table, registered):
    model = own(DoubleExponential)
    by_nuts, by_svi, by_smc, by_laplace = (
        hrprob.fit(table, engine, model=model) for engine in ("nuts", "svi", "smc", "laplace")
    )
    assert by_nuts.concerns() == []
    summary = by_nuts.summary()
    # Two means of 4000 draws differ by 0.03 standard deviations; the rest is the guide's own error.
    for other in (by_svi, by_smc):
        assert np.all(np.abs(other.summary()["mean"] - summary["mean"]) < 0.2 * summary.sd)
    weights = by_laplace.reweight()
    assert weights.trusted
    # The density has a kink, so that Laplace's curvature is wrong; its weights put it right.
    assert np.all(np.abs(np.concatenate(weights.mean()) - summary["mean"]) < 0.3 * summary.sd)
    noise = stats.laplace(scale=np.sqrt(0.5))
    u, w = by_nuts.moments([[0.6, 0.0]])
    probability = noise.cdf((0.1 - u) / np.sqrt(w))
    said = by_nuts.predict([[0.6, 0.0]], beta=0.1)
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(
        probability.mean(), rel=1e-6
    )


@pytest.mark.study
def test_groups_that_do_not_differ_leave_theta_and_phi_their_spread(table, registered):
    model = own(Groups)
    by_svi, by_nuts = (hrprob.fit(table, engine, model=model).summary() for engine in ("svi", "nuts"))
    for name in ("theta[x1]", "theta[x2]", "phi[x1]", "phi[x2]"):
        one, other = by_svi.sel(parameter=name), by_nuts.sel(parameter=name)
        assert abs(float(one["mean"] - other["mean"])) < 0.2 * float(other.sd)
        assert float(one.sd / other.sd) == pytest.approx(1.0, abs=0.15)


@pytest.mark.study
@pytest.mark.slow
def test_a_value_for_each_round(registered):
    table = some_rounds(20)
    posterior = hrprob.fit(table, {"kind": "nuts", "warmup": 200, "draws": 250}, model=own(WithError))
    assert posterior.sites["error"].shape == (4, 250, 20)
    assert posterior.to_datatree()["log_likelihood"]["r"].shape == (4, 250, 20)
    assert set(posterior.predict([[1.0, 0.0]]).data_vars) == {"mean", "variance"}
    with pytest.raises(InvalidInput, match="new round"):
        posterior.predict([[1.0, 0.0]], beta=0.0)
