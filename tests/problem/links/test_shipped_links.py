"""The links that are shipped: inverses, bounds, who takes them and who refuses them with a reason."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.diagnostics.mismatch import make_mismatch
from hrprob.estimation.likelihood_ratio.likelihood_ratio_set import LikelihoodRatioSet
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import sample_posterior
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior, stays
from hrprob.problem.links import LINKS
from hrprob.problem.links.base import is_affine, is_positive

POSITIVE = {"log": hrprob.LogLink(scale=1.5), "softplus": hrprob.SoftplusLink(scale=1.5)}


@pytest.mark.parametrize("link", [hrprob.Affine(0.5, 3.0), *POSITIVE.values()], ids=lambda link: link.kind)
def test_the_inverse_gives_back_what_the_link_was_given(link):
    z = np.linspace(-5.0, 5.0, 21)
    np.testing.assert_allclose(link.inverse(link(z)), z, atol=1e-9)
    assert link.inverse(link(1.3)) == pytest.approx(1.3)
    with double_precision():
        compiled = jax.jit(lambda link, z: link(z))(link, jnp.asarray(z))
        np.testing.assert_allclose(compiled, link(z), rtol=1e-12)
        np.testing.assert_allclose(link.inverse(compiled), z, atol=1e-9)


def test_values_of_the_links():
    np.testing.assert_allclose(POSITIVE["log"](np.array([0.0, 1.0])), [1.5, 1.5 * np.e])
    np.testing.assert_allclose(POSITIVE["softplus"](np.array([0.0, 40.0])), [1.5 * np.log(2.0), 60.0])


@pytest.mark.parametrize("link", POSITIVE.values(), ids=lambda link: link.kind)
def test_bounds_and_scales_that_cannot_be_computed_with(link):
    assert is_positive(link)
    assert not is_affine(link)
    link.check_bound(20.0)
    with pytest.raises(InvalidInput, match=r"bounds.phi.*at most 20"):
        link.check_bound(20.5)
    with pytest.raises(InvalidInput, match="scale"):
        type(link)(scale=0.0)


@pytest.mark.parametrize("link", POSITIVE.values(), ids=lambda link: link.kind)
def test_what_is_defined_for_affine_links_refuses_others(link):
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.4], link=link, contexts=hrprob.Ball(actions=3))
    with pytest.raises(InvalidInput, match=f"'{link.kind}' of the problem is not affine"):
        hrprob.HRUCB().bind(problem, 10)
    x, r = [[0.6, 0.0], [0.0, 0.8], [0.5, 0.5]], [0.7, -0.2, 0.4]
    with pytest.raises(InvalidInput, match="affine"):
        hrprob.GLSE(link=link).fit(x, r)
    with pytest.raises(InvalidInput, match="affine"):
        LikelihoodRatioSet(link=link).fit(x, r)


def test_diagnoses_may_fit_another_link():
    model, prior = make_model("gaussian"), make_prior("uniform")
    written = {"link": {"kind": "log", "scale": 2.0}}
    made = make_mismatch(hrprob.Problem(), model, prior, written)
    assert made.target.setting.link == hrprob.LogLink(2.0)
    with pytest.raises(InvalidInput, match=r"fit_as\.link\.offset"):
        make_mismatch(hrprob.Problem(), model, prior, {"link": {"kind": "log", "offset": 2.0}})


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(POSITIVE))
def test_problems_with_such_a_link_are_played(kind):
    problem = hrprob.Problem(
        theta=[0.6, 0.3],
        phi=[1.5, -0.4],
        link=POSITIVE[kind],
        contexts=hrprob.Ball(actions=3),
        satisfaction=hrprob.UniformLevels(-1.0, 0.5),
    )
    policies = {"oracle": hrprob.Oracle(), "random": hrprob.Random()}
    if kind == "log":
        policies["thompson"] = hrprob.Thompson()
    last = hrprob.simulate(problem, policies, users=120, trials=4).regret.isel(user=-1).mean("trial")
    assert float(last.sel(policy="oracle")) == pytest.approx(0.0, abs=1e-9)
    if kind == "log":
        assert float(last.sel(policy="thompson")) < float(last.sel(policy="random"))


def some_rounds():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(12, 2)), 2, axis=0)
    x /= np.linalg.norm(x, axis=1, keepdims=True) * 1.1
    return x, x @ [0.9, -0.4] + np.sqrt(1.5 * np.exp(x @ [1.0, 1.0])) * rng.normal(size=24)


def in_ball(rng, n, radius):
    way = rng.normal(size=(n, 2))
    return radius * way / np.linalg.norm(way, axis=1, keepdims=True) * np.sqrt(rng.uniform(size=(n, 1)))


CASES = [
    pytest.param(kind, engine, marks=[] if (kind, engine) == ("log", "laplace") else [pytest.mark.study])
    for kind in POSITIVE
    for engine in ("laplace", "smc", "svi", "nuts")
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "engine"), CASES)
def test_engines_fit_posteriors_under_such_a_link(kind, engine):
    """Against 400000 weighted draws from the prior: both means are known to 0.03 standard deviations."""
    link, (x, r) = POSITIVE[kind], some_rounds()
    assert LINKS.make(kind).kind == kind
    rng = np.random.default_rng(1)
    both = np.concatenate([in_ball(rng, 400_000, 1.5), in_ball(rng, 400_000, 3.0)], axis=1)
    value = np.zeros(len(both))
    for context, outcome in zip(x, r, strict=True):
        w = link(both[:, 2:] @ context)
        value -= 0.5 * ((outcome - both[:, :2] @ context) ** 2 / w + np.log(w))
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    mean = weight @ both
    sd = np.sqrt(weight @ (both - mean) ** 2)
    setting = Setting(2, link, hrprob.Bounds(theta=1.5, phi=3.0))
    target = Target(make_model("gaussian"), make_prior("uniform"), setting)
    data = stays(x, r, np.repeat(np.arange(12), 2))
    draws = sample_posterior(make_engine(engine), target, data, jax.random.key(0), 2000)
    got = np.concatenate([draws.theta, draws.phi], axis=-1).reshape(-1, 4)
    assert np.all(np.abs(got.mean(axis=0) - mean) < (0.2 + 0.17) * sd)
    assert np.all(np.abs(got.std(axis=0) / sd - 1) < 0.25)
