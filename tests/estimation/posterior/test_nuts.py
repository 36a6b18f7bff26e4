"""The reference sampler: starts, models, the edge of the ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob.estimation.posterior import nuts
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import draw_many, export, fit_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior, rounds

from .reference import PHI, THETA, gathered

# ‖φ‖ = 1.98, of at most 2.
EDGE = 1.98 * np.array([0.5, 0.2, 0.8, 0.9]) / np.linalg.norm([0.5, 0.2, 0.8, 0.9])


@pytest.mark.slow
def test_chains_move_from_however_few_draws_they_start(target, data):
    engine = make_engine({"kind": "nuts", "chains": 2, "warmup": 150, "draws": 300})
    cold = fit_engine(engine, target, data, jax.random.key(0))
    every = np.asarray(cold.z).reshape(-1, target.size)
    starts = {"all": cold, "one": every[:1], "equal": every[[0] * 50], "as many as dimensions": every[:8]}
    for name, start in starts.items():
        warm = np.asarray(fit_engine(engine, target, data, jax.random.key(1), start).z)
        # The standard deviation of 300 draws, half of them as good as independent, is off by 6 %.
        ratio = warm.std(axis=1) / every.std(axis=0)
        assert np.all((ratio > 0.6) & (ratio < 1.6)), name


@pytest.mark.slow
@pytest.mark.parametrize("phi", [PHI, EDGE], ids=["paper", "edge"])
@pytest.mark.parametrize(
    "model",
    [
        "gaussian",
        *(
            pytest.param(model, marks=pytest.mark.study)
            for model in ("student-t", "truncated-normal", "mixture")
        ),
    ],
)
def test_nuts_is_sound_with_every_model_and_near_the_edge_of_the_ball(model, phi):
    import arviz_stats

    engine, data = make_engine("nuts"), gathered(60, seed=1, phi=phi)
    target = Target(make_model(model), make_prior("uniform"), Setting(4))
    if target.model.data is not Stays:
        x = np.repeat(data.x, data.rounds.astype(int), axis=0)
        noise = target.model.outcome(jnp.zeros(()), jnp.ones(())).sample(jax.random.key(0), (len(x),))
        data = rounds(x, x @ THETA + np.sqrt(x @ phi + 2) * np.asarray(noise))
    belief = fit_engine(engine, target, data, jax.random.key(0))
    tree = export(draw_many(engine, target, belief, data, jax.random.key(1)))
    assert nuts.divergences(belief) == 0
    assert max(float(v.max()) for v in arviz_stats.rhat(tree).data_vars.values()) < 1.01
    assert min(float(v.min()) for v in arviz_stats.ess(tree, method="bulk").data_vars.values()) > 2000
