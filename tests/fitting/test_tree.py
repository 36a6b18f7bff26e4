"""Prior and posterior predictive draws in a tree."""

import arviz_stats
import numpy as np
import pytest
import xarray
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.fitting.tree import MOST_ENTRIES
from tests.fitting.example import ROUNDS


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["laplace", "smc"])
def test_new_outcomes_have_noise_of_their_own(engine):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    posterior = hrprob.fit((x, rng.normal(size=12)), engine=engine, seed=1)
    tree = posterior.to_datatree()
    without = posterior.to_datatree(prior=False)
    assert set(tree.children) - set(without.children) == {"prior", "prior_predictive", "log_prior"}
    # Posterior predictive draws do not depend on it.
    assert without["posterior_predictive"].equals(tree["posterior_predictive"])
    for group in ("prior", "posterior"):
        drawn = (tree[group]["theta"], tree[group]["phi"], tree[f"{group}_predictive"]["r"])
        for theta, phi, r in zip(*(np.asarray(of_chains) for of_chains in drawn), strict=True):
            noise = (r - theta @ x.T) / np.sqrt(phi @ x.T + 2.0)
            draws = len(noise)
            # A correlation of independent draws has the error 1/sqrt(draws); the largest of 72 in each of up to
            # four chains stays below 4.5 of them.
            both = np.concatenate([theta, phi], axis=1)
            correlations = np.corrcoef(noise, both, rowvar=False)[: len(x), len(x) :]
            assert np.abs(correlations).max() < 4.5 / np.sqrt(draws)
            # The variance of draws squared normals is 2/draws.
            assert np.abs(noise.var(axis=0) - 1).max() < 4.5 * np.sqrt(2 / draws)


# Leaving out one of two rounds of a stay can change much; that is about these data.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_a_tree_has_what_arviz_looks_for(table, posterior):
    tree = posterior.to_datatree()
    sizes = {"chain": 1, "draw": 4000, "round": ROUNDS}
    assert set(tree.children) == {
        "posterior",
        "sample_stats",
        "log_likelihood",
        "posterior_predictive",
        "prior",
        "prior_predictive",
        "log_prior",
        "observed_data",
        "constant_data",
    }
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "feature")
    assert tree["posterior"].feature.values.tolist() == ["x1", "x2"]
    assert set(tree["sample_stats"].data_vars) == {"lp", "log_ratio"}
    assert dict(tree["log_likelihood"].sizes) == dict(tree["posterior_predictive"].sizes) == sizes
    assert set(tree["constant_data"].data_vars) == {"x", "user", "beta"}
    u, w = posterior.moments(table.x)
    wanted = stats.norm.logpdf(table.r, u, np.sqrt(w))
    np.testing.assert_allclose(tree["log_likelihood"]["r"].values, wanted, rtol=1e-9)
    # The prior of θ and φ is uniform: ln p is the likelihood, and −|z|²/2 from the coordinates.
    lp = tree["sample_stats"]["lp"].values
    assert np.corrcoef(lp[0], wanted.sum(axis=-1)[0])[0, 1] > 0.5
    again = tree["posterior_predictive"]["r"].values
    # 4000 draws of each: means within five standard errors of √(E w + V u)/√4000.
    spread = np.sqrt(w.mean((0, 1)) + u.var((0, 1)))
    assert np.all(np.abs(again.mean((0, 1)) - u.mean((0, 1))) < 5 * spread / np.sqrt(4000))
    np.testing.assert_allclose(again.std((0, 1)), spread, rtol=0.08)
    prior = tree["prior"]["phi"].values
    assert stats.kstest((np.linalg.norm(prior[0], axis=-1) / 2) ** 2, "uniform").pvalue > 1e-4
    # The sum of ln p(r | draws) averaged over draws, minus the effect of each round on its own prediction.
    most = float(np.log(np.exp(wanted).mean((0, 1))).sum())
    assert most - 10 < float(arviz_stats.loo(tree).elpd) < most
    small = posterior.to_datatree(pointwise=False)
    assert "log_likelihood" not in small.children
    assert "prior_predictive" not in small.children
    assert all(most > 4000 * ROUNDS for most in MOST_ENTRIES.values())
    with pytest.raises(InvalidInput):
        posterior.to_datatree(pointwise="some")


@pytest.mark.slow
def test_many_rounds_leave_every_kth_draw(posterior, monkeypatch):
    whole = posterior.to_datatree()
    limits = {"log_likelihood": 2000 * ROUNDS, "posterior_predictive": 900 * ROUNDS, "prior_predictive": 1}
    monkeypatch.setattr("hrprob.fitting.tree.MOST_ENTRIES", limits)
    tree = posterior.to_datatree()
    assert set(tree.children) == set(whole.children)
    assert {name: tree[name].attrs["thinning"] for name in limits} == dict(
        zip(limits, (2, 5, 1000), strict=True)
    )
    some = tree["log_likelihood"]["r"]
    assert some.draw.values.tolist() == list(range(0, 4000, 2))
    np.testing.assert_allclose(some, whole["log_likelihood"]["r"].sel(draw=some.draw), rtol=1e-12)
    assert tree["posterior_predictive"]["r"].shape == (1, 800, ROUNDS)
    assert tree["posterior_predictive"].draw.values[-1] == 3995
    assert tree["prior_predictive"]["r"].shape == (1, 1, ROUNDS)
    assert tree["posterior"].sizes["draw"] == 4000
    assert posterior.to_datatree(pointwise=True)["log_likelihood"].sizes["draw"] == 4000


@pytest.mark.slow
def test_arviz_draws_from_the_tree(posterior, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    import arviz_plots
    from matplotlib import pyplot

    tree = posterior.to_datatree()
    arviz_plots.plot_forest(tree, var_names=["theta", "phi"], backend="matplotlib")
    arviz_plots.plot_ppc_dist(tree, num_samples=20, backend="matplotlib")
    pyplot.close("all")


def test_a_file_gives_back_what_was_written(posterior, tmp_path):
    path = tmp_path / "posterior.nc"
    posterior.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]
    again = hrprob.Posterior.load(path)
    for name in ("theta", "phi", "log_ratio"):
        np.testing.assert_array_equal(getattr(again, name), getattr(posterior, name))
    np.testing.assert_array_equal(again.statistics["lp"], posterior.statistics["lp"])
    for name in ("x", "r", "user", "beta"):
        np.testing.assert_array_equal(getattr(again.table, name), getattr(posterior.table, name))
    assert (again.engine, again.target, again.seed) == (posterior.engine, posterior.target, posterior.seed)
    xarray.testing.assert_identical(again.summary(), posterior.summary())
    said = [p.predict([[0.6, 0.0]], beta=0.1) for p in (again, posterior)]
    xarray.testing.assert_identical(*said)


def test_a_file_is_written_whole_or_not_at_all(posterior, tmp_path, monkeypatch):
    path = tmp_path / "posterior.nc"
    path.write_text("what was there")

    def fail(tree, place, encoding):
        place.write_text("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hrprob.fitting.tree.write_netcdf", fail)
    with pytest.raises(OSError, match="No space"):
        posterior.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]
    assert path.read_text() == "what was there"
    with pytest.raises(InvalidInput, match="written"):
        posterior.save(tmp_path / "no" / "such" / "folder.nc")
    with pytest.raises(InvalidInput, match="name a file in it"):
        posterior.save(tmp_path, pointwise=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "text.nc").write_text("no netCDF")
    xarray.Dataset({"a": ("b", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in ("text.nc", "other.nc", "missing.nc"):
        with pytest.raises(InvalidInput, match=r"Posterior\.save"):
            hrprob.Posterior.load(tmp_path / name)
