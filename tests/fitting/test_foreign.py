"""Draws of another program, read back."""

import numpy as np
import pytest
from arviz_base import from_dict

import hrprob
from hrprob._core.errors import InvalidInput

X = np.array([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5], [-0.3, 0.4]] * 10)
R = X @ [0.5, -0.3] + np.exp(0.5 * X @ [0.4, 0.2]) * np.random.default_rng(0).normal(size=40)


def draws():
    rng, shape = np.random.default_rng(1), (4, 100, 2)
    return {
        "b": [0.5, -0.3] + 0.1 * rng.normal(size=shape),
        "g": [0.4, 0.2] + 0.1 * rng.normal(size=shape),
        "other": rng.normal(size=shape[:2]),
    }


NAMES = {"theta": "b", "phi": "g"}


def test_trees_files_and_dictionaries_are_read(tmp_path):
    made = draws()
    stats = {"diverging": np.zeros((4, 100), bool), "lp": np.zeros((4, 100))}
    tree = from_dict({"posterior": made, "sample_stats": stats})
    tree.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for given in (made, tree, tmp_path / "other.nc"):
        posterior = hrprob.read_posterior(given, (X, R), link="log", names=NAMES)
        np.testing.assert_allclose(posterior.theta, made["b"])
        assert posterior.sites == {}
        assert posterior.engine.kind == "foreign"
    assert posterior.divergences == 0
    # Bounds that nobody gave are wide enough for all draws.
    assert np.linalg.norm(posterior.phi, axis=-1).max() < posterior.setting.bounds.phi
    assert posterior.summary().rhat.max() < 1.1
    said = posterior.predict([[0.6, 0.0]], beta=0.0)
    assert said.variance.sel(statistic="mean").item() == pytest.approx(
        np.exp(0.6 * made["g"][..., 0]).mean(), rel=1e-6
    )


@pytest.mark.slow
def test_draws_from_elsewhere_are_checked_and_saved(tmp_path):
    posterior = hrprob.read_posterior(draws(), (X, R), link="log", names=NAMES)
    checked = posterior.check(checks=["draws", "updating"])
    assert {one.name: one.verdict for one in checked.verdicts}["updating"] == "undecided"
    posterior.save(tmp_path / "again.nc", pointwise=False)
    assert hrprob.Posterior.load(tmp_path / "again.nc").engine.kind == "foreign"


def test_what_is_no_posterior_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"must have draws of theta.*the tree has b, g, other"):
        hrprob.read_posterior(draws(), (X, R), link="log")
    with pytest.raises(InvalidInput, match=r"shape \(chain, draw, 2\)"):
        hrprob.read_posterior(draws() | {"b": np.zeros((4, 100, 1))}, (X, R), link="log", names=NAMES)
    with pytest.raises(InvalidInput, match="group `posterior`"):
        hrprob.read_posterior(7, (X, R), link="log")
    bad = draws()
    bad["b"][0, 0, 0] = np.nan
    with pytest.raises(InvalidInput, match="finite draws of theta"):
        hrprob.read_posterior(bad, (X, R), link="log", names=NAMES)
