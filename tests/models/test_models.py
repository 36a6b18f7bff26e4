"""Every model: standardised, drawable, conditionable; the normal one from stays and from rounds."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import Predictive
from numpyro.infer.util import log_density
from scipy import integrate, stats

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.models import (
    MODELS as ALL_MODELS,
)
from hrprob.models import (
    Gaussian,
    Model,
    Setting,
    base,
    make_model,
    make_prior,
    pad,
    priors,
    register,
    rounds,
    stays,
)
from hrprob.models.gaussian import NormalStay
from hrprob.observations import Rounds
from hrprob.problem import Affine, Bounds

MODELS = {
    "gaussian": [{}],
    "student-t": [{}, {"df": 3.0}],
    "truncated-normal": [{}, {"width": 1.0}, {"width": 2.0, "edge": 0.01}],
    "mixture": [{}, {"weight": 0.5, "gap": 1.9}, {"weight": 0.2, "gap": 1.0, "ratio": 0.4}],
    "user-effect": [{"correlation": 0.6, "log_sd": 0.0}, {"correlation": 0.3, "log_sd": 0.5}],
}
# Without a distribution of outcomes given θ and φ alone.
OPEN = {"student-t-unknown"}
CASES = [{"kind": kind} | parameters for kind, several in MODELS.items() for parameters in several]
HARDEST = [{"kind": kind} | several[-1] for kind, several in MODELS.items()]
SETTING = Setting(dimension=3, link=Affine(1.0, 2.0), bounds=Bounds(1.0, 2.0))


def some_rounds(seed=0, n=12, d=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    user = np.sort(rng.integers(0, n // 2, n))
    return x[user], rng.normal(size=n), user


@jax.jit
def joint_density(model, data, prior, values):
    return log_density(model.conditioned, (data, SETTING, prior), {}, values)[0]


@jax.jit
def log_likelihood(model, theta, phi, data):
    return model.log_likelihood(theta, phi, data, SETTING)


@jax.jit
def prior_density(prior, theta, phi):
    return prior.theta(SETTING).log_prob(theta) + prior.phi(SETTING).log_prob(phi)


@jax.jit
def density_and_variance(model, u, w, r):
    outcome = model.outcome(u, w)
    return jnp.exp(outcome.log_prob(r)), outcome.variance


def test_every_model_is_tested():
    assert set(MODELS) | OPEN == set(ALL_MODELS.kinds())


@pytest.mark.parametrize("case", CASES)
def test_an_outcome_has_the_mean_and_the_variance_asked_for(case):
    u, w = 0.3, 2.5
    with double_precision():
        grid = np.linspace(u - 60, u + 60, 240_001)
        density, variance = map(np.asarray, density_and_variance(make_model(case), u, w, grid))

        def moment(order):
            return integrate.trapezoid(density * (grid - u) ** order, grid)

        # With 3 degrees of freedom, 60 standard deviations out, the tail still holds a few per cent of Σr².
        loose = case.get("df") == 3.0
        assert moment(0) == pytest.approx(1.0, abs=1e-4 if loose else 1e-6)
        assert moment(1) == pytest.approx(0.0, abs=1e-6)
        assert moment(2) == pytest.approx(w, rel=0.05 if loose else 1e-3)
        assert float(variance) == pytest.approx(w, rel=1e-9)


@pytest.mark.parametrize("case", HARDEST)
def test_draws_follow_the_density(case):
    with double_precision():
        outcome = make_model(case).outcome(jnp.asarray(0.0), jnp.asarray(1.0))
        draws = np.asarray(jax.jit(lambda key: outcome.sample(key, (4000,)))(jax.random.key(1)))
        grid = np.linspace(-40, 40, 160_001)
        density = np.asarray(density_and_variance(make_model(case), 0.0, 1.0, grid)[0])
        cdf = np.cumsum(density) * (grid[1] - grid[0])
        # A Kolmogorov-Smirnov test at a level of 1e-4, with a fixed seed.
        assert stats.kstest(draws, lambda r: np.interp(r, grid, cdf)).pvalue > 1e-4


@pytest.mark.parametrize("prior", ["uniform", "gaussian"])
@pytest.mark.parametrize("case", HARDEST)
def test_the_program_has_the_density_of_prior_times_likelihood(case, prior):
    model, prior = make_model(case), make_prior(prior)
    x, r, _ = some_rounds()
    with double_precision():
        data = rounds(x, r)
        theta, phi = jnp.asarray([0.3, -0.2, 0.1]), jnp.asarray([0.5, 0.9, -1.0])
        values = {"theta": theta, "phi": phi}
        joint = joint_density(model, data, prior, values)
        likelihood = log_likelihood(model, theta, phi, data).sum()
        before = prior_density(prior, theta, phi)
        assert float(joint) == pytest.approx(float(likelihood + before), rel=1e-12)


@pytest.mark.parametrize("case", HARDEST)
def test_padding_does_not_change_the_density(case):
    model, prior = make_model(case), make_prior("uniform")
    x, r, user = some_rounds(n=10)
    values = {"theta": jnp.asarray([0.3, -0.2, 0.1]), "phi": jnp.asarray([0.5, 0.9, -1.0])}
    with double_precision():
        tables = [rounds(x, r)] + ([stays(x, r, user)] if isinstance(model, Gaussian) else [])
        for data in tables:
            padded = pad(data, 32)
            plain = joint_density(model, data, prior, values)
            with_pad = joint_density(model, padded, prior, values)
            assert float(with_pad) == pytest.approx(float(plain), rel=1e-12)
            slope = jax.grad(lambda v, p=padded: model.log_likelihood(v, values["phi"], p, SETTING).sum())
            assert np.all(np.isfinite(jax.jit(slope)(values["theta"])))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param({"kind": kind}, marks=[pytest.mark.slow] * (kind == "student-t"))
        for kind in [*MODELS, *OPEN]
    ],
)
def test_the_prior_predictive_can_be_drawn(case):
    model = make_model(case)
    x, r, _ = some_rounds()
    with double_precision():
        draws = Predictive(model.program, num_samples=400)
        draw = jax.jit(lambda key: draws(key, rounds(x, r), SETTING, make_prior("uniform")))(
            jax.random.key(0)
        )
        assert draw["r"].shape == (400, 12, 1)
        assert float(jnp.linalg.norm(draw["theta"], axis=-1).max()) <= 1.0
        # E r = 0 and V r = E(θᵀx)² + E f(φᵀx) = 1/(d+2) + 2 = 2.2 under the uniform prior. The standard
        # error of the mean of 4800 outcomes that share 400 draws of θ and φ is below 0.04.
        assert abs(float(draw["r"].mean())) < 0.16
        assert float(draw["r"].var()) == pytest.approx(2.2, rel=0.15)


def test_a_stay_has_the_likelihood_of_its_rounds():
    x, r, user = some_rounds(n=40)
    model, theta, phi = Gaussian(), jnp.asarray([0.3, -0.2, 0.1]), jnp.asarray([0.5, 0.9, -1.0])
    with double_precision():
        by_stay, by_round, alone = (
            log_likelihood(model, theta, phi, data).sum()
            for data in (stays(x, r, user), rounds(x, r), stays(x, r))
        )
    assert float(by_stay) == pytest.approx(float(by_round), rel=1e-12)
    assert float(alone) == pytest.approx(float(by_round), rel=1e-12)


@pytest.mark.slow
def test_stays_are_drawn_as_the_sums_of_their_rounds():
    u, w, m = 0.4, 2.0, 5.0
    with double_precision():
        sample = jax.jit(lambda m: NormalStay(jnp.asarray(u), w, m).sample(jax.random.key(0), (20000,)))
        draw, lone = np.asarray(sample(m)), np.asarray(sample(1.0))
    total, squares = draw.T
    # Four standard errors of 20000 draws: sd(Σr) = √10, sd(Σr²) = √(m(2w² + 4wu²)) = 6.8.
    assert total.mean() == pytest.approx(m * u, abs=0.09)
    assert total.var() == pytest.approx(m * w, rel=0.04)
    assert squares.mean() == pytest.approx(m * (w + u * u), abs=0.2)
    assert squares.var() == pytest.approx(m * (2 * w * w + 4 * w * u * u), rel=0.1)
    np.testing.assert_allclose(lone[:, 1], lone[:, 0] ** 2)


def test_a_model_written_in_a_few_lines_works():
    class Twice(Model):
        kind = "twice"

        def outcome(self, u, w):
            return numpyro.distributions.Laplace(u, jnp.sqrt(w / 2))

    x, r, _ = some_rounds()
    with double_precision():
        values = {"theta": jnp.zeros(3), "phi": jnp.zeros(3)}
        twice = make_model(Twice())
        arguments = rounds(x, r), SETTING, make_prior("uniform")
        joint = jax.jit(lambda values: log_density(twice.conditioned, arguments, {}, values)[0])(values)
    assert np.isfinite(joint)


def test_several_rounds_of_one_context_in_a_row():
    x, r, _ = some_rounds(n=6)
    model, theta, phi = make_model("student-t"), jnp.zeros(3), jnp.asarray([0.5, 0.9, -1.0])
    with double_precision():
        row = Rounds(x[:1], jnp.asarray(r[None, :]), jnp.asarray([[1, 1, 1, 1, 0, 0.0]]))
        apart = rounds(np.repeat(x[:1], 4, axis=0), r[:4])
        together = log_likelihood(model, theta, phi, row)
        assert together.shape == (1,)
        assert float(together[0]) == pytest.approx(float(log_likelihood(model, theta, phi, apart).sum()))


@pytest.mark.parametrize(
    ("make", "wanted", "field"),
    [
        (make_model, "cauchy", "model"),
        (make_model, {"kind": "student-t", "df": 2.0}, "model.df"),
        (make_model, {"kind": "student-t", "nu": 2.0}, "model.nu"),
        (make_model, {"kind": "mixture", "gap": 3.0}, "model.gap"),
        (make_model, {"kind": "truncated-normal", "edge": 0.0}, "model.edge"),
        (make_model, priors.Uniform(), "model"),
        (make_model, Gaussian, "model"),
        (make_prior, "flat", "prior"),
        (make_prior, priors.Uniform, "prior"),
        (make_prior, Gaussian(), "prior"),
        (make_prior, {"kind": "gaussian", "share": 1.0}, "prior.share"),
        (make_prior, {"kind": "gaussian", "phi_share": -1.0}, "prior.phi_share"),
    ],
)
def test_invalid_parameters_are_refused(make, wanted, field):
    with pytest.raises(InvalidInput) as complaint:
        make(wanted)
    assert complaint.value.field == field
    assert "\n" not in str(complaint.value)


def test_parameters_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(base.MODELS, "_classes", dict(base.MODELS._classes))

    @register("shaped")
    class Shaped(Model):
        """Outcomes of some shape."""

        shape: float

    assert make_model({"kind": "shaped", "shape": 2.0}).shape == 2.0
    with pytest.raises(InvalidInput, match=r"`model.shape` must be given"):
        make_model("shaped")


def test_an_outcome_that_the_likelihood_ignores_is_refused():
    class Wider(Gaussian):
        """Twice the variance, but only in `outcome`."""

        def outcome(self, u, w):
            return dist.Normal(u, jnp.sqrt(2.0 * w))

    with pytest.raises(InvalidInput, match="must override `observe` with `outcome`"):
        register("wider")(Wider)
