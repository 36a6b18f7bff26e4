"""Published curves beside ours: whole curves are judged, and each once."""

import numpy as np
import pytest
import xarray
from scipy import stats

from hrprob.reproduce.curves import compare_curves
from hrprob.reproduce.published import published_curves, published_trials


def published(panel, policy):
    return next(curve for curve in published_curves() if (curve.panel, curve.policy) == (panel, policy))


def trials_around(curves, spread=0.05, seed=1):
    """Return a run of 20 trials whose means are these curves exactly."""
    users = published("c", "sigma-max-ucb").users
    factor = np.random.default_rng(seed).standard_normal((20, 1))
    factor = 1 + spread * (factor - factor.mean()) / factor.std()
    return xarray.Dataset(
        {"regret": (("policy", "trial", "user"), np.stack([curve * factor for curve in curves.values()]))},
        coords={"policy": list(curves), "trial": np.arange(20), "user": users},
    )


def test_published_curves_are_whole():
    assert len(published_curves()) == 10
    for curve in published_curves():
        np.testing.assert_array_equal(curve.users, 1 + 1000 * np.arange(30))
        assert np.all(np.diff(curve.regret) >= 0)


def test_the_mean_of_the_published_trials_is_the_published_curve():
    trials, curve = published_trials(), published("d", "cmdp")
    np.testing.assert_array_equal(trials.users, curve.users)
    np.testing.assert_allclose(trials.regret.mean(axis=0), curve.regret, atol=1e-3)
    assert stats.sem(trials.regret[:, -1]) == pytest.approx(92.7, abs=0.05)


def test_a_curve_agrees_with_itself_and_not_with_twice_itself():
    sigma, hr_ucb = published("c", "sigma-max-ucb"), published("c", "hr-ucb-k5")
    run = trials_around({"sigma-max-ucb": 2 * sigma.regret, "hr-ucb-k5": hr_ucb.regret})
    verdicts = {curve.policy: curve.verdict for curve in compare_curves({"c": run})}
    assert verdicts == {"sigma-max-ucb": "fails", "hr-ucb-k5": "holds"}


def test_a_curve_with_a_wide_interval_is_undecided():
    sigma, hr_ucb = published("c", "sigma-max-ucb"), published("c", "hr-ucb-k5")
    run = trials_around({"sigma-max-ucb": sigma.regret, "hr-ucb-k5": hr_ucb.regret}, spread=0.5)
    assert {curve.verdict for curve in compare_curves({"c": run})} == {"undecided"}


def test_a_curve_that_several_panels_show_counts_once():
    shown = {curve.policy: curve.regret for curve in published_curves() if curve.panel in "abc"}
    run = trials_around(shown)
    sets = trials_around({curve.policy: curve.regret for curve in published_curves() if curve.panel == "d"})
    curves = compare_curves({"a": run, "b": run, "b-cmdp": run, "c": run, "d": sets})
    assert len(curves) == 8
    assert sum(len(curve.points) for curve in curves) == 240
    assert [curve.panels for curve in curves if curve.policy == "hr-ucb-k5"] == [["a", "b", "c"], ["d"]]
    assert all(curve.coin_toss == (curve.panels == ["b"] and curve.policy == "cmdp") for curve in curves)


def test_the_cmdp_of_panel_d_is_compared_with_the_published_trials():
    curves = {curve.policy: curve.regret for curve in published_curves() if curve.panel == "d"}
    run = trials_around(curves)
    cmdp = next(curve for curve in compare_curves({"d": run}) if curve.policy == "cmdp")
    ours, theirs = run.regret.sel(policy="cmdp").values[:, -1], published_trials().regret[:, -1]
    test = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert cmdp.unpaired
    assert tuple(cmdp.difference[2:]) == pytest.approx(tuple(test))
