"""All engines against a slow sampler in NumPy that works on raw (θ, φ), and before any data."""

import jax
import numpy as np
import pytest

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.records import with_fields
from hrprob.estimation.posterior import nuts
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.importance import reweight
from hrprob.estimation.posterior.inference import draw_many, export, fit_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior, rounds

from .comparing import by, coefficients, shift_and_ratio
from .reference import metropolis


@pytest.fixture(scope="module")
def slow(data):
    return metropolis(data)


# The slow sampler keeps 90000 draws of 200 chains; two halves of it differ by 0.04 standard deviations
# at most, and 4000 independent draws add 0.016. The rest of a bound is what an engine may be off.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "shift", "ratio"),
    [
        ({"kind": "nuts", "draws": 1000, "warmup": 300, "depth": 6}, 0.1, 0.07),
        pytest.param({"kind": "svi", "steps": 1500}, 0.2, 0.15, marks=pytest.mark.slow),
        ("laplace", 0.15, 0.15),
        pytest.param("smc", 0.2, 0.2, marks=pytest.mark.slow),
    ],
)
def test_engines_agree_with_random_walk_metropolis(engine, shift, ratio, target, data, slow):
    engine = make_engine(engine)
    belief = fit_engine(engine, target, data, jax.random.key(1))
    draws = draw_many(engine, target, belief, data, jax.random.key(2))
    shifts, ratios = shift_and_ratio(coefficients(draws), slow)
    assert shifts.max() < shift
    assert np.abs(ratios - 1).max() < ratio
    again = reweight(draws)
    # Where an engine has no density of its own, weights say nothing about it.
    assert again.trusted is (True if engine.kind in ("laplace", "svi") else None)
    tree = export(draws)
    assert tree["posterior"]["phi"].shape == draws.phi.shape
    if engine.kind == "nuts":
        assert nuts.divergences(belief) == 0
        assert {"diverging", "energy", "n_steps", "tree_depth", "acceptance_rate", "step_size", "lp"} <= set(
            tree["sample_stats"].data_vars
        )
    if engine.kind in ("laplace", "svi"):
        # Draws from a normal are put right by their weights.
        apart, _ = shift_and_ratio(np.concatenate(again.mean())[None], slow)
        assert apart.max() < 0.12
        assert np.ptp(draws.log_ratio) > 0


NO_ROWS = Stays(np.zeros((0, 4)), *(np.zeros(0) for _ in range(3)))


@pytest.mark.study
@pytest.mark.parametrize(
    ("kind", "model"),
    [(kind, model) for kind in ("nuts", "svi", "laplace", "smc") for model in ("gaussian", "student-t")],
)
def test_given_no_rows_every_engine_has_the_prior(kind, model, target):
    target = with_fields(target, model=make_model(model))
    data = NO_ROWS if target.model.data is Stays else rounds(np.zeros((0, 4)), [])
    draws = by(kind, target, data)
    # An entry of a vector uniform on a ball of radius R has mean 0 and standard deviation R/√(d + 2). 1024 particles know
    # the mean to 0.03 standard deviations and the standard deviation to a fiftieth: five such.
    # Two rows have these moments.
    wanted = np.repeat([1.0, 2.0], 4) / np.sqrt(6) * [[1.0], [-1.0]]
    apart, ratio = shift_and_ratio(coefficients(draws), wanted)
    assert apart.max() < 0.15
    np.testing.assert_allclose(ratio, 1.0, atol=0.1)


@pytest.mark.slow
def test_before_any_data_every_engine_has_the_prior():
    prior = make_prior({"kind": "gaussian", "theta_share": 0.1, "phi_share": 0.1})
    normal = Target(make_model("gaussian"), prior, Setting(4))
    keys = jax.random.split(jax.random.key(1), 4000)
    with double_precision():
        for kind in ("laplace", "smc", "svi", "nuts"):
            engine = make_engine(kind)
            belief = engine.init(normal)
            z = jax.jit(jax.vmap(lambda key, e=engine, b=belief: e.draw(normal, b, key)))(keys)
            # 256 particles and 512 draws of nuts know a standard deviation to 0.044; of four entries, three such.
            for value, deviation in zip(normal.coefficients(z), (0.1, 0.2), strict=True):
                np.testing.assert_allclose(np.std(value, axis=0), deviation, rtol=0.13)
                np.testing.assert_allclose(np.mean(value, axis=0), 0.0, atol=0.2 * deviation)


def test_under_the_uniform_prior_a_belief_starts_standard_normal(target):
    with double_precision():
        for kind in ("laplace", "svi"):
            first = make_engine(kind).init(target)
            np.testing.assert_array_equal(first.mean, 0.0)
            np.testing.assert_array_equal(first.factor, np.eye(8))
        place = jax.random.split(jax.random.key(0))[0]
        np.testing.assert_array_equal(make_engine("smc").init(target).z, jax.random.normal(place, (256, 4)))
        wanted = jax.random.normal(jax.random.key(0), (512, 8))
        np.testing.assert_array_equal(make_engine("nuts").init(target), wanted)


@pytest.mark.parametrize(
    ("engine", "field"),
    [
        ("gibbs", "engine"),
        ({"kind": "nuts", "chains": 0}, "engine.chains"),
        ({"kind": "svi", "lr": 1}, "engine.lr"),
    ],
)
def test_invalid_parameters_are_refused(engine, field):
    with pytest.raises(InvalidInput) as complaint:
        make_engine(engine)
    assert complaint.value.field == field
