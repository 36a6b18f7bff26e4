"""Every engine with every model and prior it can take, against weighted draws from the prior in NumPy."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from hrprob.estimation.posterior.base import BatchEngine, Engine, StreamingEngine
from hrprob.estimation.posterior.engines import ENGINES, make_engine
from hrprob.estimation.posterior.importance import reweight
from hrprob.estimation.posterior.inference import draw_many, export, fit_engine, sample_posterior
from hrprob.estimation.posterior.target import Target
from hrprob.models import MODELS as ALL_MODELS
from hrprob.models import Setting, Stays, make_model, make_prior, rounds, stays
from hrprob.problem import Affine, Bounds

# Another link and other bounds than the paper's.
SETTING = Setting(2, Affine(slope=0.5, offset=1.0), Bounds(theta=1.5, phi=1.9))
# Standard deviations as shares of the bounds; θ's is below that of the uniform prior, φ's above.
PRIORS = {"uniform": None, "gaussian": (0.3, 0.8)}
# Each engine as it is, but for shorter chains.
QUICK = {"nuts": {"warmup": 300, "draws": 500}, "svi": {"steps": 1500}}

CASES = [("gaussian", prior, engine) for prior in PRIORS for engine in ENGINES]
# With unknowns beyond θ and φ, which not every engine takes: tested with the models.
OPEN = {"student-t-unknown"}
# Parameters with which a model has no other unknowns.
KNOWN = {"user-effect": {"correlation": 0.3, "log_sd": 0.0}}
CASES += [
    (model, "uniform", engine)
    for model in ALL_MODELS.kinds()
    if model not in {"gaussian", *OPEN}
    for engine in ENGINES
]


def some_rounds():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(12, 2)), 2, axis=0)
    x /= np.linalg.norm(x, axis=1, keepdims=True) * 1.1
    return x, x @ [0.9, -0.4] + np.sqrt(0.5 * x @ [1.0, 1.0] + 1.0) * rng.normal(size=24)


def standardised(model, e):
    """The log density of the standardised noise, written out for the models' own defaults."""
    if model in ("gaussian", "user-effect"):
        return stats.norm.logpdf(e)
    if model == "student-t":
        return stats.t.logpdf(e, 5.0, scale=np.sqrt(3 / 5))
    if model == "mixture":
        p, gap = 0.3, 1.6
        spread = np.sqrt(1 - p * (1 - p) * gap**2)
        return np.log(
            p * stats.norm.pdf(e, -(1 - p) * gap, spread) + (1 - p) * stats.norm.pdf(e, p * gap, spread)
        )
    assert model == "truncated-normal", "write its density out here"
    raw = lambda v: np.exp(-0.5 * v * v - 0.5 * (np.maximum(np.abs(v) - 3.0, 0.0) / 0.05) ** 2)  # noqa: E731
    grid = np.linspace(-4.0, 4.0, 80001)
    mass = integrate.simpson(raw(grid), x=grid)
    scale = np.sqrt(integrate.simpson(grid**2 * raw(grid), x=grid) / mass)
    v = scale * e
    return -0.5 * v * v - 0.5 * (np.maximum(np.abs(v) - 3.0, 0.0) / 0.05) ** 2 - np.log(mass / scale)


def in_ball(rng, n, radius, share):
    if share is None:
        way = rng.normal(size=(n, 2))
        return radius * way / np.linalg.norm(way, axis=1, keepdims=True) * np.sqrt(rng.uniform(size=(n, 1)))
    free = share * radius * rng.normal(size=(3 * n, 2))
    return free[np.linalg.norm(free, axis=1) <= radius][:n]


@pytest.fixture(scope="module")
def plain():
    """Posterior mean, standard deviation and effective number of draws, from 400000 weighted draws of the prior."""
    found = {}

    def of(model, prior):
        if (model, prior) not in found:
            rng, n = np.random.default_rng(1), 400_000
            shares = PRIORS[prior] or (None, None)
            theta, phi = in_ball(rng, n, 1.5, shares[0]), in_ball(rng, n, 1.9, shares[1])
            x, r = some_rounds()
            value, before = np.zeros(n), np.zeros(n)
            for number, (context, outcome) in enumerate(zip(x, r, strict=True)):
                deviation = np.sqrt(0.5 * phi @ context + 1.0)
                e = (outcome - theta @ context) / deviation
                if model == "user-effect" and number % 2:
                    # The second round of a user, given the first.
                    value += stats.norm.logpdf(e, 0.3 * before, np.sqrt(1 - 0.3**2)) - np.log(deviation)
                else:
                    value += standardised(model, e) - np.log(deviation)
                before = e
            weight = np.exp(value - value.max())
            weight /= weight.sum()
            both = np.concatenate([theta, phi], axis=1)
            mean = weight @ both
            deviation = np.sqrt(weight @ (both - mean) ** 2)
            found[model, prior] = mean, deviation, 1 / np.sum(weight**2)
        return found[model, prior]

    return of


def case(model, prior, engine):
    """Every engine on the model that all of them take, and one engine on every other; the rest are studies."""
    first = (model, prior) == ("gaussian", "uniform") or (
        engine == "laplace" and model not in ("mixture", "user-effect")
    )
    first |= (model, engine) == ("student-t", "smc")
    return pytest.param(model, prior, engine, marks=[] if first else [pytest.mark.study])


@pytest.mark.slow
@pytest.mark.parametrize(("model", "prior", "engine"), [case(*each) for each in CASES])
def test_engines_keep_their_contract(model, prior, engine, plain):
    shares = PRIORS[prior]
    table = {"kind": prior} | (dict(zip(("theta_share", "phi_share"), shares, strict=True)) if shares else {})
    target = Target(make_model({"kind": model} | KNOWN.get(model, {})), make_prior(table), SETTING)
    x, r = some_rounds()
    data = stays(x, r, np.repeat(np.arange(12), 2)) if target.model.data is Stays else rounds(x, r)
    chosen = make_engine({"kind": engine} | QUICK.get(engine, {}))
    key = jax.random.key(0)
    draws = sample_posterior(chosen, target, data, key, 2000)

    chains = 4 if engine in ("nuts", "smc") else 1
    assert draws.theta.shape == draws.phi.shape == (chains, 2000 // chains, 2)
    assert draws.z.shape == (chains, 2000 // chains, 4)
    assert np.all(np.linalg.norm(draws.theta, axis=-1) <= 1.5 + 1e-9)
    assert np.all(np.linalg.norm(draws.phi, axis=-1) <= 1.9 + 1e-9)
    assert draws.sites == {}
    assert np.all(np.isfinite(draws.statistics["lp"]))
    assert (np.ptp(draws.log_ratio) > 0) == chosen.has_density

    again = sample_posterior(chosen, target, data, key, 2000)
    np.testing.assert_array_equal(again.phi, draws.phi)
    assert not np.array_equal(sample_posterior(chosen, target, data, jax.random.key(1), 2000).phi, draws.phi)

    mean, deviation, effective = plain(model, prior)
    assert effective > 2000
    got = np.concatenate([draws.theta, draws.phi], axis=-1).reshape(-1, 4)
    # Both means are known to 0.03 standard deviations: four of each, and what an engine may be off.
    own = {"nuts": 0.0, "svi": 0.2, "laplace": 0.15, "smc": 0.1}[engine]
    assert np.all(np.abs(got.mean(axis=0) - mean) < (own + 0.17) * deviation)
    # Where truncated outcomes cut the posterior off, the closest normal is 0.85 as wide; svi finds its width to 0.07.
    cut_off = (model, engine) == ("truncated-normal", "svi")
    wide = 0.3 if cut_off else {"nuts": 0.1}.get(engine, 0.2)
    assert np.all(np.abs(got.std(axis=0) / deviation - 1) < wide)

    tree = export(draws)
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "feature")
    assert {"lp", "log_ratio"} <= set(tree["sample_stats"].data_vars)
    if chosen.has_density:
        weighted = reweight(draws)
        belief = fit_engine(chosen, target, data, key)
        one = draw_many(chosen, target, belief, data, key, 2000 // chains)
        assert one.theta.shape == (1, 2000 // chains, 2)
        if weighted.trusted:
            right = np.concatenate(weighted.mean())
            assert np.all(np.abs(right - mean) < 0.25 * deviation)


@pytest.mark.parametrize("kind", list(ENGINES))
def test_engines_state_what_they_need_and_offer(kind):
    engine = make_engine(kind)
    assert isinstance(engine, StreamingEngine if engine.streaming else BatchEngine)
    assert isinstance(engine, StreamingEngine) != isinstance(engine, BatchEngine)
    assert engine.has_density == (type(engine).log_density is not Engine.log_density)
    # A belief that consists of draws has no density, and is made from outside of compiled programs.
    assert not (engine.makes_draws and (engine.has_density or engine.streaming))
    assert not engine.sequential or engine.streaming
    assert engine.replicates >= 1
    assert engine.refit >= 1.0
    names = {field.name for field in dataclasses.fields(engine)}
    assert {*engine.shorter, engine.raise_for_rhat, engine.raise_for_divergences} - {""} <= names
    assert (engine.total_draws is not None) == (engine.with_draws(100) != engine)


def test_many_data_sets_are_fitted_with_shorter_settings_unless_these_were_set():
    nuts = make_engine({"kind": "nuts", "warmup": 33}).for_many_data_sets()
    assert (nuts.chains, nuts.warmup, nuts.draws, nuts.depth, nuts.accept) == (2, 33, 256, 6, 0.95)
    assert make_engine("svi").for_many_data_sets().steps == 1000
    for kind in ("laplace", "smc"):
        assert make_engine(kind).for_many_data_sets() == make_engine(kind)


def test_final_draws_of_smc_try_harder_to_lie_in_the_ball():
    assert make_engine("smc").for_final_draws().tries == 1000
    assert make_engine({"kind": "smc", "tries": 5000}).for_final_draws().tries == 5000
    assert make_engine("laplace").for_final_draws() == make_engine("laplace")
