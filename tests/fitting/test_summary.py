"""What is said of draws at the edge of their ball, and of those that do not vary."""

import dataclasses

import arviz_stats
import numpy as np
import pytest
import xarray
from scipy import stats

from hrprob._core.errors import InvalidInput
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.summary import as_table, to_plain
from hrprob.fitting.table import Table
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem import Bounds

# Radii that are no numbers of single precision.
SETTING = Setting(2, bounds=Bounds(1.1, 1.7))


def at_norms(prior, theta, phi, engine="nuts"):
    """A posterior of made-up draws, all of these norms."""
    angle = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, size=(2, 4, 500))
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return Posterior(
        theta=theta * circle[0],
        phi=phi * circle[1],
        sites={},
        statistics={},
        log_ratio=np.zeros((4, 500)),
        table=Table([[0.5, 0.5]], [0.1]),
        target=Target(make_model("gaussian"), prior, SETTING),
        engine=make_engine(engine),
        seed=0,
    )


def test_draws_at_the_edge_of_a_smaller_ball_are_pressed_against_it(half):
    found = at_norms(half, 0.549, 0.849).concerns()
    assert found == [
        "100% of draws have ‖θ‖ within 2 % of its bound 0.55: "
        "if it may be larger, widen the ball of the prior's `theta`",
        "100% of draws have ‖φ‖ within 2 % of its bound 0.85: "
        "if it may be larger, widen the ball of the prior's `phi`",
    ]
    assert at_norms(make_prior("uniform"), 0.549, 0.849).concerns() == []


def test_draws_at_a_bound_ask_for_a_larger_one():
    theta, phi = at_norms(make_prior("uniform"), 1.099, 1.699).concerns()
    assert theta.endswith("within 2 % of its bound 1.1: if it may be larger, raise `bounds.theta`")
    assert phi.endswith(
        'raise `bounds.phi`, with it the offset of the link, or take `link="log"`, which needs none'
    )


def test_draws_projected_onto_the_ball_are_a_concern(half):
    for prior, radius, remedy in (
        (make_prior("uniform"), 1.1, "its bound 1.1: take nuts, or raise `bounds.theta`"),
        (half, 0.55, "its bound 0.55: take nuts, or widen the ball of the prior's `theta`"),
    ):
        found = at_norms(prior, radius, 0.1, engine="smc").concerns()
        assert sum("cut to" in concern and concern.endswith(remedy) for concern in found) == 1


def test_parameters_that_do_not_vary_are_a_concern():
    made = at_norms(make_prior("uniform"), 0.5, 0.5, engine="laplace")
    ratio = np.random.default_rng(1).normal(scale=0.01, size=(1, 500))
    theta, phi = np.full((1, 500, 2), 0.25), made.phi[:1]
    same = dataclasses.replace(made, theta=theta, phi=phi, log_ratio=ratio).concerns()
    assert [concern.partition(":")[0] for concern in same] == ["all draws of theta[x1] are the same"]


def test_a_summary_is_what_the_draws_say(posterior):
    summary = posterior.summary(prob=0.8)
    assert summary.parameter.values.tolist() == ["theta[x1]", "theta[x2]", "phi[x1]", "phi[x2]"]
    draws = posterior.phi[0, :, 1]
    row = summary.sel(parameter="phi[x2]")
    assert float(row["mean"]) == pytest.approx(draws.mean())
    assert float(row.sd) == pytest.approx(draws.std(ddof=1))
    assert float(row.mcse) == pytest.approx(draws.std(ddof=1) / np.sqrt(4000))
    assert [float(row.low), float(row.high)] == pytest.approx(np.quantile(draws, [0.1, 0.9]).tolist())
    assert set(summary.data_vars) == {"mean", "sd", "low", "high", "mcse"}
    assert summary.attrs["pareto_k"] == posterior.reweight().pareto_k < 0.7
    assert posterior.divergences is None
    assert posterior.concerns() == []
    assert to_plain(summary)["phi[x2]"]["mean"] == float(row["mean"])
    lines = str(as_table(summary)).splitlines()
    assert lines[0].split() == ["parameter", "mean", "sd", "10%", "90%", "mcse"]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(InvalidInput):
        posterior.summary(prob=1.0)


def test_several_chains_have_r_hat_and_effective_sample_sizes(posterior):
    rng = np.random.default_rng(0)
    theta, phi = 0.2 * rng.normal(size=(4, 500, 2)), 0.2 * rng.normal(size=(4, 500, 2))
    apart = phi + np.array([0.3, 0.0, 0.0, 0.0])[:, None, None]
    bad = np.zeros((4, 500), dtype=bool)
    bad[0, :3] = True
    sound = dataclasses.replace(
        posterior, theta=theta, phi=phi, log_ratio=np.zeros((4, 500)), engine=make_engine("nuts")
    )
    summary = sound.summary()
    assert list(summary.data_vars) == ["mean", "sd", "low", "high", "mcse", "ess_bulk", "ess_tail", "rhat"]
    rhat = arviz_stats.rhat(xarray.Dataset({"v": (("chain", "draw"), phi[..., 1])}))["v"]
    assert float(summary.rhat.sel(parameter="phi[x2]")) == pytest.approx(float(rhat))
    assert "pareto_k" not in summary.attrs
    # There is no density to hold against the posterior: the weights are even, and say nothing.
    even = sound.reweight()
    assert np.isnan(even.pareto_k)
    assert even.trusted is None
    np.testing.assert_allclose(even.weight, 1 / 2000)
    assert sound.concerns() == []
    concerns = dataclasses.replace(sound, phi=apart, statistics={"diverging": bad}).concerns()
    assert all(
        words in concern for words, concern in zip(("3 draws", "R-hat", "effective"), concerns, strict=True)
    )
    alone = dataclasses.replace(sound, theta=theta[:1], phi=phi[:1], log_ratio=np.zeros((1, 500)))
    assert "rhat" not in alone.summary()
    clouds = dataclasses.replace(sound, phi=apart, engine=make_engine("smc"))
    error = apart.mean(axis=1).std(axis=0, ddof=1)[0] / 2
    assert float(clouds.summary().mcse.sel(parameter="phi[x1]")) == pytest.approx(error)
    assert any("particles" in concern for concern in clouds.concerns())


def test_concerns_name_bounds_and_bad_approximations(posterior):
    pressed = dataclasses.replace(
        posterior, theta=posterior.theta / np.linalg.norm(posterior.theta, axis=-1, keepdims=True)
    )
    assert any("bounds.theta" in concern for concern in pressed.concerns())
    assert not any("cut to" in concern for concern in pressed.concerns())
    # The chains of smc are independent fits.
    clouds = {name: getattr(pressed, name).reshape(4, 1000, 2) for name in ("theta", "phi")}
    cut = dataclasses.replace(pressed, **clouds, log_ratio=np.zeros((4, 1000)), engine=make_engine("smc"))
    assert any("cut to" in concern for concern in cut.concerns())
    # Weights that move the mean although none of them is large.
    shifted = dataclasses.replace(posterior, log_ratio=6.0 * posterior.theta[..., 0])
    assert shifted.pareto_k < 0.7
    assert any("theta[x1] off by" in concern for concern in shifted.concerns())
    heavy = np.log(1e-6 + stats.pareto(0.5).rvs(4000, random_state=0))[None]
    assert any(
        "far from" in concern for concern in dataclasses.replace(posterior, log_ratio=heavy).concerns()
    )
    for wrong in (1e4 * posterior.theta[..., 0], np.full((1, 4000), np.nan)):
        apart = dataclasses.replace(posterior, log_ratio=wrong)
        assert any("far from the posterior" in concern for concern in apart.concerns())
    # A handful of draws weigh more than the rest, and hardly anything together.
    far = 1e-3 * posterior.theta[..., 0]
    far[0, :8] = np.linspace(0.5, 2.5, 8)
    concerns = dataclasses.replace(posterior, log_ratio=far).concerns()
    assert any("Pareto k̂" in concern and "take nuts where tails matter" in concern for concern in concerns)
    # Weights without a tail, by which few draws are left.
    few = np.where(np.arange(4000) < 250, 10.0, 0.0) + 1e-3 * posterior.theta[..., 0]
    concerns = dataclasses.replace(posterior, log_ratio=few).concerns()
    assert any("4000 draws are worth 250" in concern for concern in concerns)
    # Chains that never moved have no R-hat, which is no good sign.
    stuck = dataclasses.replace(cut, theta=np.full((4, 1000, 2), 0.5))
    assert any("R-hat of theta[x1] is nan" in concern for concern in stuck.concerns())


def test_outcomes_and_contexts_off_scale_are_named(posterior):
    def said(x, r):
        table = Table(x, r)
        return [
            concern
            for concern in dataclasses.replace(posterior, table=table).concerns()
            if "lie" in concern or "off" in concern
        ]

    x, r = posterior.table.x, posterior.table.r
    assert said(x, r) == []
    assert "half of them lie" in said(x, 500.0 * r)[0]
    assert "within" in said(x, posterior.moments(x)[0].mean(axis=(0, 1)))[0]
    one = r.copy()
    one[6] = 300.0
    assert said(x, one)[0].startswith("the outcome of round 7 lies ")
    assert "contexts are off scale" in said(1e-4 * x, r)[0]


def test_groups_of_refined_draws_are_compared_as_chains_are(posterior):
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(4), 1000)[None]
    draws = {name: 0.2 * rng.normal(size=(1, 4000, 2)) for name in ("theta", "phi")}
    refined = dataclasses.replace(
        posterior, **draws, log_ratio=np.zeros((1, 4000)), statistics={"group": group}
    )
    assert refined.refined
    assert refined.pareto_k is None
    assert "rhat" in refined.summary()
    assert refined.concerns() == []
    apart = draws["phi"] + 0.2 * (group == 3)[..., None]
    concerns = dataclasses.replace(refined, phi=apart).concerns()
    assert any("R-hat" in concern and concern.endswith("take nuts") for concern in concerns)
