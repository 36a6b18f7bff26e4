"""What `hrprob.fit` takes, and the draws of each engine."""

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.records import with_fields
from hrprob.estimation.posterior.inference import Draws
from hrprob.fitting.conditioning import model_data
from hrprob.models import priors
from hrprob.noise import StudentT, TruncatedNormal
from tests.fitting.example import ROUNDS


def test_all_bits_of_a_seed_count(table, monkeypatch):
    keys = []

    def stop(*args):
        keys.append(jax.random.key_data(args[3]).tolist())
        raise InvalidInput("it", "must stop here", None, "the key is known")

    monkeypatch.setattr("hrprob.fitting.fit.sample_refined", stop)
    for seed in (5, 2**32 + 5):
        with pytest.raises(InvalidInput, match="must stop here"):
            hrprob.fit(table, "laplace", seed=seed)
    assert keys == [[0, 5], [1, 5]]


@pytest.mark.slow
def test_a_problem_says_what_is_fitted(monkeypatch):
    class Enough(Exception):
        pass

    seen = {}

    def stop(*args):
        seen["args"] = args
        raise Enough

    monkeypatch.setattr("hrprob.fitting.fit.sample_refined", stop)
    problem = hrprob.Problem(
        theta=[0.6, 0.3],
        phi=[0.5, -0.4],
        noise=StudentT(df=7.0),
        link=hrprob.Affine(2.0, 8.0),
        bounds=hrprob.Bounds(1.5, 3.0),
    )
    with pytest.raises(Enough):
        hrprob.fit(problem, "laplace", policy=hrprob.Random(), users=5)
    target = seen["args"][1]
    assert target.model.df == 7.0
    assert (target.setting.link, target.setting.bounds) == (problem.link, problem.bounds)
    sharp = problem.replace(noise=TruncatedNormal(width=2.0))
    with pytest.raises(Enough):
        hrprob.fit(sharp, "laplace", policy=hrprob.Random(), users=5)
    assert (seen["args"][1].model.width, seen["args"][1].model.edge) == (2.0, 0.05)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"engine": "gibbs"}, "engine"),
        ({"seed": -1}, "seed"),
        ({"draws": 0}, "draws"),
        ({"engine": "laplace", "draws": 99}, "draws"),
        ({"engine": "laplace", "draws": 10**12}, "draws"),
        ({"engine": {"kind": "nuts", "draws": 10**12}}, "engine.draws"),
        ({"model": "cauchy"}, "model"),
        ({"model": priors.Uniform()}, "model"),
        ({"prior": hrprob.models.Gaussian()}, "prior"),
        ({"link": 2.0}, "link"),
        ({"link": {"slope": 1.0, "offset": 2.0}}, "link.kind"),
        ({"bounds": (1, 2)}, "bounds"),
        ({"most_rounds": 10}, "most_rounds"),
        ({"prior": "flat"}, "prior"),
        ({"policy": hrprob.Random()}, "policy"),
        ({"users": 5}, "users"),
        ({"bounds": hrprob.Bounds(1.0, 3.0)}, "link.offset"),
    ],
)
def test_invalid_options_are_refused(table, options, field):
    with pytest.raises(InvalidInput) as complaint:
        hrprob.fit(table, **options)
    assert complaint.value.field == field


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["laplace", "smc"])
def test_units_of_outcomes_do_not_matter(engine, table):
    unit = 2.0**-20
    options = {"link": hrprob.Affine(unit**2, 2.0 * unit**2), "bounds": hrprob.Bounds(unit, 2.0)}
    whole = hrprob.fit(table, engine)
    small = hrprob.fit((table.x, unit * table.r, table.user), engine, **options)
    for one, other in ((small.theta / unit, whole.theta), (small.phi, whole.phi)):
        if engine == "laplace":
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
        # What weights add up to enters the keys of smc. Its means have errors of up to 0.013, so that 0.1 is
        # five of the difference's.
        np.testing.assert_allclose(one.mean(axis=(0, 1)), other.mean(axis=(0, 1)), atol=0.1)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_draws(table, posterior):
    again, other = hrprob.fit(table, "laplace", seed=3), hrprob.fit(table, "laplace", seed=4)
    np.testing.assert_array_equal(again.theta, posterior.theta)
    assert not np.array_equal(other.theta, posterior.theta)
    assert hrprob.fit(table, "laplace", draws=100).phi.shape == (1, 100, 2)


def test_draws_that_are_not_finite_are_refused(table, posterior, monkeypatch):
    for wrong in ({"theta": posterior.theta * np.nan}, {"statistics": {"lp": np.full((1, 4000), np.nan)}}):
        parts = {name: getattr(posterior, name) for name in ("theta", "phi", "log_ratio", "statistics")}
        drawn = Draws(**parts | wrong, z=np.zeros((1, 4000, 4)))
        monkeypatch.setattr("hrprob.fitting.fit.sample_refined", lambda *args, drawn=drawn: drawn)
        with pytest.raises(InvalidInput, match="finite numbers"):
            hrprob.fit(table, "laplace")


@pytest.mark.slow
def test_nuts_reports_its_statistics(table):
    posterior = hrprob.fit(table, "nuts", draws=1001)
    assert posterior.theta.shape == (4, 251, 2)
    stats_of = posterior.to_datatree()["sample_stats"]
    assert set(stats_of.data_vars) == {
        "lp",
        "log_ratio",
        "diverging",
        "n_steps",
        "tree_depth",
        "acceptance_rate",
        "step_size",
        "energy",
    }
    assert stats_of["diverging"].dtype == bool
    assert posterior.divergences == 0
    # A tree of depth k has between 2^(k−1) and 2^k − 1 steps.
    steps, depth = stats_of["n_steps"].values, stats_of["tree_depth"].values
    assert np.all((2.0 ** (depth - 1) <= steps) & (steps < 2.0**depth))
    # The energy is −ln p and the kinetic part, χ²(4)/2 on average 2.
    kinetic = (stats_of["energy"] + stats_of["lp"]).values
    assert kinetic.mean() == pytest.approx(2.0, abs=0.4)


@pytest.mark.slow
def test_independent_fits_of_smc_are_chains(table):
    posterior = hrprob.fit(table, "smc")
    assert posterior.phi.shape == (4, 1000, 2)
    assert list(posterior.summary().data_vars) == ["mean", "sd", "low", "high", "mcse", "rhat"]
    assert not np.array_equal(posterior.phi[0], posterior.phi[1])
    other = hrprob.fit(table, "smc", seed=1)
    assert not np.array_equal(other.phi, posterior.phi)
    # Each mean is known to √(1/1024 + 1/4000) ≈ 0.035 standard deviations: five of these apart at most.
    apart = np.abs(other.summary()["mean"] - posterior.summary()["mean"]) / posterior.summary().sd
    assert float(apart.max()) < 5 * 0.035 * np.sqrt(2)


def test_data_of_normal_outcomes_are_summed_by_stay(table, posterior):
    assert model_data(posterior.target, table).rounds.tolist() == [2.0] * (ROUNDS // 2)
    student = with_fields(posterior.target, model=hrprob.models.make_model("student-t"))
    assert model_data(student, table).r.shape == (ROUNDS, 1)
