"""A third-party engine, outcome model and prior: fitted, configured, and played with."""

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import hrprob
from hrprob import models
from hrprob._core.errors import InvalidInput
from hrprob.estimation.posterior.engines import ENGINES, register
from hrprob.io.config import from_data
from hrprob.models import MODELS, PRIORS

PROBLEM = {
    "theta": [0.6, 0.3],
    "phi": [0.8, -0.5],
    "satisfaction": {"kind": "uniform", "low": -2.0, "high": 0.0},
}
# Refinement has the same functions in a fit as in a policy, and a fit stands beside every play with this.
QUICK = {"kind": "laplace", "points": 0}


def some_rounds(n=30):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, x @ [0.6, 0.3] + np.sqrt(x @ [0.8, -0.5] + 2.0) * rng.normal(size=n)


def played(**options):
    """Run Thompson sampling from a configuration with these options of the policy."""
    policy = {"kind": "thompson", "name": "own"} | options
    experiment = from_data({"problem": PROBLEM, "run": {"users": 12, "trials": 2}, "policy": [policy]})
    run = hrprob.simulate(experiment.problem, experiment.policies, users=12, trials=2)
    assert dict(run.sizes)["user"] == 12
    assert np.all(run.lifetime.values >= 1)
    return experiment.policies["own"]


@pytest.mark.slow
def test_a_batch_engine_is_fitted_and_summarised(plugin, tmp_path):
    plugin("engine", ENGINES)
    posterior = hrprob.fit(some_rounds(), "resampled-prior")
    assert posterior.theta.shape == (1, 2000, 2)
    assert {"mcse", "ess_bulk"} <= set(posterior.summary().data_vars)
    assert posterior.pareto_k is None
    assert np.all(np.isfinite(posterior.statistics["lp"]))
    reference = hrprob.fit(some_rounds(), "laplace").summary()
    # 2000 draws are worth about a thousand: five errors of 1/√1000, and 0.1 for the normal approximation.
    apart = np.abs(posterior.summary()["mean"] - reference["mean"]) / reference.sd
    assert float(apart.max()) < 5 / np.sqrt(1000) + 0.1
    posterior.save(tmp_path / "own.nc", pointwise=False)
    assert hrprob.Posterior.load(tmp_path / "own.nc").engine == posterior.engine


@pytest.mark.slow
def test_a_streaming_engine_is_fitted_and_reweighted(plugin):
    plugin("engine", ENGINES)
    posterior = hrprob.fit(some_rounds(), {"kind": "wide-laplace", "factor": 1.5})
    reference = hrprob.fit(some_rounds(), {"kind": "laplace", "points": 0})
    z = [found.target.position(found.theta, found.phi).reshape(-1, 4) for found in (posterior, reference)]
    # Standard deviations of 4000 draws are known to 1/√8000.
    np.testing.assert_allclose(z[0].std(axis=0) / z[1].std(axis=0), 1.5, rtol=5 * np.sqrt(2 / 8000))
    assert posterior.reweight().trusted


@pytest.mark.slow
@pytest.mark.parametrize("engine", [{"kind": "resampled-prior", "points": 2000}, "wide-laplace"])
def test_thompson_plays_with_the_engine(plugin, engine):
    plugin("engine", ENGINES)
    assert played(engine=engine).engine.kind in ("resampled-prior", "wide-laplace")


def test_an_engine_of_neither_sort_is_refused():
    with pytest.raises(
        InvalidInput,
        match=r"`engine` must have .*, got 'Bare': all engines do; inherit from their base class",
    ):
        register("bare")(type("Bare", (), {}))
    assert "bare" not in ENGINES.kinds()


def test_an_engine_that_runs_no_programs_takes_no_further_sites(plugin, monkeypatch):
    plugin("engine", ENGINES)
    monkeypatch.setattr(MODELS, "_classes", dict(MODELS.kinds()))

    @models.register("shifted")
    class Shifted(models.StudentT):
        """Student-t outcomes with a further latent site."""

        def program(self, data, setting, prior):
            numpyro.sample("shift", dist.Normal(0.0, 1.0))
            super().program(data, setting, prior)

    with pytest.raises(InvalidInput, match="must be one that runs programs, got 'resampled-prior'"):
        hrprob.fit(some_rounds(), "resampled-prior", model="shifted")
    with pytest.raises(InvalidInput, match="must be one that runs programs, got 'resampled-prior'"):
        hrprob.simulate(hrprob.Problem(), hrprob.Thompson(engine="resampled-prior", model="shifted"), users=2)


@pytest.mark.slow
def test_a_model_is_fitted_and_played(plugin):
    plugin("model", MODELS)
    table = {"kind": "contaminated", "share": 0.2}
    posterior = hrprob.fit(some_rounds(), "laplace", model=table)
    assert posterior.target.model.share == 0.2
    assert posterior.reweight().effective > 1000
    chosen = played(model=table, engine=QUICK)
    assert chosen.model == posterior.target.model
    assert float(chosen.model.noise.cdf(0.0)) == pytest.approx(0.5)


@pytest.mark.slow
def test_a_prior_is_fitted_and_played(plugin):
    plugin("prior", PRIORS)
    posterior = hrprob.fit(some_rounds(), "laplace", prior={"kind": "small-effects", "share": 0.1})
    usual = hrprob.fit(some_rounds(), "laplace")
    assert np.linalg.norm(posterior.theta, axis=-1).mean() < np.linalg.norm(usual.theta, axis=-1).mean()
    assert np.linalg.norm(posterior.phi, axis=-1).max() <= 1.0 + 1e-9
    assert played(prior="small-effects", engine=QUICK).prior.share == 0.2
