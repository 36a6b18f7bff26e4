"""From rounds to a posterior: tables, draws, summaries, predictions, trees and files."""

import dataclasses
from pathlib import Path

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import xarray
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.records import with_fields
from hrprob.fitting import figures, predictive
from hrprob.fitting.gather import gather
from hrprob.fitting.summary import as_text, to_plain
from hrprob.fitting.table import Table, as_table, read_table, write_table
from hrprob.fitting.tree import MOST_ENTRIES
from hrprob.models import Model, base, make_prior, priors, register
from hrprob.noise import StudentT, TruncatedNormal

ROUNDS = 60
THETA, PHI = np.array([0.6, 0.3]), np.array([1.2, -1.0])


def some_rounds(n=ROUNDS, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n // 2, 2))
    x = np.repeat(x / np.linalg.norm(x, axis=1, keepdims=True), 2, axis=0)
    r = x @ THETA + np.sqrt(x @ PHI + 2) * rng.normal(size=n)
    return Table(x, r, user=np.repeat(np.arange(n // 2), 2), beta=np.full(n, -0.5))


@pytest.fixture(scope="module")
def table():
    return some_rounds()


@pytest.fixture(scope="module")
def posterior(table):
    return hrprob.fit(table, "laplace", seed=3)


@pytest.fixture
def registered():
    """Take the models that a test registers out again."""
    before = dict(base.MODELS._classes)
    yield
    base.MODELS._classes.clear()
    base.MODELS._classes.update(before)


def test_a_table_is_the_same_whatever_it_comes_as(table, tmp_path):
    write_table(table, tmp_path / "rounds.csv")
    columns = {"x1": table.x[:, 0], "x2": table.x[:, 1], "r": table.r, "user": table.user, "beta": table.beta}
    dataset = xarray.Dataset(
        {"x": (("round", "feature"), table.x), "r": ("round", table.r), "beta": ("round", table.beta)},
        coords={"user": ("round", table.user)},
    )
    forms = [
        table,
        (table.x, table.r, table.user, table.beta),
        {"x": table.x, "r": table.r, "user": table.user.astype(float), "beta": -0.5},
        columns,
        dict(reversed(columns.items())),
        xarray.Dataset({name: ("round", column) for name, column in columns.items()}),
        dataset,
        dataset.drop_vars("x").assign({n: ("round", columns[n]) for n in ("x1", "x2")}).to_dataframe(),
        tmp_path / "rounds.csv",
        str(tmp_path / "rounds.csv"),
    ]
    for form in forms:
        made = as_table(form)
        np.testing.assert_array_equal(made.x, table.x)
        np.testing.assert_array_equal(made.r, table.r)
        assert made.user.astype(int).tolist() == table.user.tolist()
        np.testing.assert_array_equal(made.beta, table.beta)


@pytest.mark.parametrize(
    ("data", "field", "words"),
    [
        (([[0.5]], [1.0, 2.0]), "x, r", "shapes"),
        (([[0.5], [np.nan]], [1.0, 2.0]), "x1", "row 2"),
        (([[0.5], [0.5]], [1.0, np.inf]), "r", "row 2"),
        (([[0.5], [0.5]], [1.0, -1e160]), "r", "row 2"),
        (([[0.5], [0.5]], [1e154, 1e154]), "r", "row 2"),
        (([[0.5], [1.1]], [1.0, 2.0]), "x", "row 2"),
        (([["a"]], [1.0]), "x", "numbers"),
        ((np.zeros((0, 2)), []), "r", "nothing to fit"),
        (([[0.5]], [1.0], [1, 2]), "user", "one label"),
        (([[0.5]], [1.0], None, [np.nan]), "beta", "row 1"),
        (([[0.5]], [1.0], None, ["low"]), "beta", "one level"),
        (([[0.5]], [1.0], None, [0.5, 0.5]), "beta", "one level"),
        (([[0.5]], [1.0], None, np.array([1j])), "beta", "numbers only"),
        ((np.array([[0.5j]]), [1.0]), "x", "numbers only"),
        (([[0.5]], np.ma.masked_array([1.0], [True])), "r", "masked"),
        ({"x": [[0.5]], "r": np.ma.masked_array([1.0], [True])}, "r", "masked"),
        ({"x": [[0.1, 0.2], [0.3]], "r": [1.0, 2.0]}, "x", "rows of one length"),
        (([[0.5], [0.5]], [1.0, 2.0], ["a", None]), "user", "row 2"),
        (([[0.5], [0.5]], [1.0, 2.0], [np.nan, "a"]), "user", "row 1"),
        (([[0.5], [0.5]], [1.0, 2.0], [1.0, np.nan]), "user", "row 2"),
        (([[0.5], [0.5]], [1.0, 2.0], ["a", " "]), "user", "row 2"),
        ({"x1": [0.5], "r": [1.0], "y": [1.0]}, "data", "drop or rename"),
        ({"x1": [0.5], "x3": [0.5], "r": [1.0]}, "data", "column"),
        ({"x1": [0.5], "x2": [0.5, 0.5], "r": [1.0]}, "x1, ..., xd", "one entry"),
        ({"x": [[0.5]], "x1": [0.5], "r": [1.0]}, "data", "x1"),
        ({"x1": [0.5]}, "data", "column r"),
        (17, "data", "CSV"),
    ],
)
def test_tables_that_are_none_are_refused(data, field, words):
    with pytest.raises(InvalidInput, match=words) as complaint:
        hrprob.fit(data, "laplace")
    assert complaint.value.field == field


@pytest.mark.parametrize("label", [np.inf, 1e300, -1e19])
def test_labels_that_are_no_whole_numbers_are_text(label):
    assert as_table(([[0.5], [0.5]], [1.0, 2.0], [label, 1.0])).user.tolist() == [str(label), "1.0"]


@pytest.mark.slow
def test_gathered_rounds_are_those_that_were_played():
    problem = hrprob.Problem(theta=[0.9, 0.3], phi=[-1.0, -1.0], satisfaction=hrprob.UniformLevels(-3.0, 0.5))
    table = gather(problem, hrprob.Random(), users=80, seed=4, most_rounds=40)
    played = hrprob.simulate(problem, hrprob.Random(), users=80, trials=1, seed=4).isel(policy=0, trial=0)
    _, first, length = np.unique(table.user, return_index=True, return_counts=True)
    np.testing.assert_array_equal(length, np.minimum(played.lifetime.values, 40))
    assert length.max() == 40  # longer than what is drawn in bulk
    last = first + length - 1
    cut = played.lifetime.values > 40
    below = table.r < table.beta
    # A user leaves at the first outcome below the level, and not before.
    np.testing.assert_array_equal(np.flatnonzero(below), last[~cut])
    np.testing.assert_allclose(np.linalg.norm(table.x, axis=1), 1.0)
    noise = (table.r - table.x @ problem.theta) / np.sqrt(table.x @ problem.phi + 2)
    # By Wald's identities Σe and Σ(e² − 1) over stays have mean 0, and variance n and 2n for n rounds.
    assert abs(noise.sum()) < 4 * np.sqrt(len(noise))
    assert abs((noise**2 - 1).sum()) < 4 * np.sqrt(2 * len(noise))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"policy": "greedy"}, "policy"),
        ({"policy": hrprob.Greedy}, "policy"),
        ({"policy": hrprob.HRUCB(eager=True)}, "policy.eager"),
        ({"policy": hrprob.HRUCB(warmup=5)}, "policy.warmup"),
        ({"policy": hrprob.Random(), "most_rounds": 0}, "most_rounds"),
        ({"link": hrprob.Affine()}, "link"),
        ({"bounds": hrprob.Bounds()}, "bounds"),
    ],
)
def test_what_cannot_be_played_is_refused(options, field):
    with pytest.raises(InvalidInput) as complaint:
        hrprob.fit(hrprob.Problem(), "laplace", **options)
    assert complaint.value.field == field


def test_all_bits_of_a_seed_count(table, monkeypatch):
    keys = []

    def stop(*args):
        keys.append(jax.random.key_data(args[3]).tolist())
        raise InvalidInput("it", "must stop here", None, "the key is known")

    monkeypatch.setattr("hrprob.fitting.fit.sample_posterior", stop)
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

    monkeypatch.setattr("hrprob.fitting.fit.sample_posterior", stop)
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
        ({"link": "affine"}, "link"),
        ({"link": {"slope": 1.0, "offset": 2.0}}, "link"),
        ({"bounds": (1, 2)}, "bounds"),
        ({"most_rounds": 10}, "most_rounds"),
        ({"prior": "flat"}, "prior"),
        ({"policy": hrprob.Random()}, "policy"),
        ({"users": 5}, "users"),
        ({"bounds": hrprob.Bounds(1.0, 3.0)}, "link.offset"),
    ],
)
def test_options_that_cannot_be_used(table, options, field):
    with pytest.raises(InvalidInput) as complaint:
        hrprob.fit(table, **options)
    assert complaint.value.field == field


class Shy(priors.Uniform):
    """A prior of one's own: φ is uniform, and θ near 0."""

    def theta(self, setting):
        return priors.NormalBall(setting.bounds.theta, 0.1, setting.dimension)

    def log_tilt(self, theta, phi, setting):
        return -0.5 * jnp.sum(theta**2, axis=-1) / (0.1 * setting.bounds.theta) ** 2


class Wide(priors.Uniform):
    """A prior beyond the bounds."""

    def phi(self, setting):
        return priors.UniformBall(2.0 * setting.bounds.phi, setting.dimension)


def test_a_prior_beyond_the_bounds_is_refused(table, monkeypatch):
    monkeypatch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
    prior = priors.register("wide")(type("Wide", (Wide,), {"__doc__": Wide.__doc__}))()
    for engine in ("laplace", "nuts", "svi", "smc"):
        with pytest.raises(InvalidInput, match="`phi` on a ball of radius in") as complaint:
            hrprob.fit(table, engine, prior=prior)
        assert complaint.value.field == "prior"


def test_a_prior_that_is_no_record_is_refused(table):
    with pytest.raises(InvalidInput, match=r"priors\.register\('a-name'\) above the class Shy") as complaint:
        hrprob.fit(table, "laplace", prior=Shy())
    assert complaint.value.field == "prior"


def test_a_prior_of_ones_own_is_found_by_its_name(posterior, tmp_path, monkeypatch):
    path = tmp_path / "posterior.nc"
    with monkeypatch.context() as patch:
        patch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
        prior = priors.register("shy")(type("Shy", (Shy,), {"__doc__": Shy.__doc__}))()
        assert make_prior("shy") == prior
        with pytest.raises(InvalidInput, match="it belongs to Shy"):
            priors.register("shy")(priors.Gaussian)
        target = dataclasses.replace(posterior.target, prior=prior)
        dataclasses.replace(posterior, target=target).save(path, pointwise=False)
        assert hrprob.Posterior.load(path).target.prior == prior
    with pytest.raises(InvalidInput, match="import the module that registers it") as complaint:
        hrprob.Posterior.load(path)
    assert complaint.value.field == "prior.kind"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["laplace", pytest.param("svi", marks=pytest.mark.study)])
def test_a_prior_of_ones_own_is_fitted(engine, table, monkeypatch):
    monkeypatch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))
    priors.register("shy")(type("Shy", (Shy,), {"__doc__": Shy.__doc__}))
    # So wide a normal density is flat over the ball to 1e-9.
    same = {"kind": "gaussian", "theta_share": 0.1, "phi_share": 3e4}
    own, known = (hrprob.fit(table, engine, prior=prior) for prior in ("shy", same))
    np.testing.assert_allclose(own.theta, known.theta, rtol=0, atol=1e-5)
    np.testing.assert_allclose(own.phi, known.phi, rtol=0, atol=1e-5)


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
    lines = as_text(summary).splitlines()
    assert lines[0].split() == ["parameter", "mean", "sd", "10%", "90%", "mcse"]
    assert len({len(line) for line in lines}) == 1
    with pytest.raises(InvalidInput):
        posterior.summary(prob=1.0)


def test_chains_are_compared_where_there_are_chains(posterior):
    rng = np.random.default_rng(0)
    theta, phi = 0.2 * rng.normal(size=(4, 500, 2)), 0.2 * rng.normal(size=(4, 500, 2))
    apart = phi + np.array([0.3, 0.0, 0.0, 0.0])[:, None, None]
    bad = np.zeros((4, 500), dtype=bool)
    bad[0, :3] = True
    sound = dataclasses.replace(
        posterior, theta=theta, phi=phi, log_ratio=np.zeros((4, 500)), engine=make("nuts")
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
    clouds = dataclasses.replace(sound, phi=apart, engine=make("smc"))
    error = apart.mean(axis=1).std(axis=0, ddof=1)[0] / 2
    assert float(clouds.summary().mcse.sel(parameter="phi[x1]")) == pytest.approx(error)
    assert any("particles" in concern for concern in clouds.concerns())


def make(kind):
    from hrprob.estimation.posterior.engines import make_engine

    return make_engine(kind)


def test_what_a_bound_or_an_approximation_hides_is_said(posterior):
    pressed = dataclasses.replace(
        posterior, theta=posterior.theta / np.linalg.norm(posterior.theta, axis=-1, keepdims=True)
    )
    assert any("bounds.theta" in concern for concern in pressed.concerns())
    assert not any("cut to" in concern for concern in pressed.concerns())
    # The chains of smc are clouds.
    clouds = {name: getattr(pressed, name).reshape(4, 1000, 2) for name in ("theta", "phi")}
    cut = dataclasses.replace(pressed, **clouds, log_ratio=np.zeros((4, 1000)), engine=make("smc"))
    assert any("cut to" in concern for concern in cut.concerns())
    # Weights that move the mean although none of them is large.
    shifted = dataclasses.replace(posterior, log_ratio=6.0 * posterior.theta[..., 0])
    assert shifted.pareto_k < 0.7
    assert any("theta[x1] off by" in concern for concern in shifted.concerns())
    heavy = np.log(1e-6 + stats.pareto(0.5).rvs(4000, random_state=0))[None]
    assert any("Pareto" in concern for concern in dataclasses.replace(posterior, log_ratio=heavy).concerns())
    for wrong in (1e4 * posterior.theta[..., 0], np.full((1, 4000), np.nan)):
        apart = dataclasses.replace(posterior, log_ratio=wrong)
        assert any("Pareto k̂ is inf" in concern for concern in apart.concerns())
    # A handful of draws weigh more than the rest, and hardly anything together.
    far = 1e-3 * posterior.theta[..., 0]
    far[0, :8] = np.linspace(0.5, 2.5, 8)
    concerns = dataclasses.replace(posterior, log_ratio=far).concerns()
    assert any(
        "far out" in concern and "take nuts where such tails matter" in concern for concern in concerns
    )
    # Weights without a tail, by which few draws are left.
    few = np.where(np.arange(4000) < 250, 10.0, 0.0) + 1e-3 * posterior.theta[..., 0]
    concerns = dataclasses.replace(posterior, log_ratio=few).concerns()
    assert any("4000 draws are worth 250" in concern for concern in concerns)
    # Chains that never moved have no R-hat, which is no good sign.
    stuck = dataclasses.replace(cut, theta=np.full((4, 1000, 2), 0.5))
    assert any("R-hat of theta[x1] is nan" in concern for concern in stuck.concerns())


def test_draws_that_are_no_numbers_are_refused(table, posterior, monkeypatch):
    from hrprob.estimation.posterior.inference import Draws

    for wrong in ({"theta": posterior.theta * np.nan}, {"statistics": {"lp": np.full((1, 4000), np.nan)}}):
        parts = {name: getattr(posterior, name) for name in ("theta", "phi", "log_ratio", "statistics")}
        drawn = Draws(**parts | wrong, z=np.zeros((1, 4000, 4)))
        monkeypatch.setattr("hrprob.fitting.fit.sample_posterior", lambda *args, drawn=drawn: drawn)
        with pytest.raises(InvalidInput, match="finite numbers"):
            hrprob.fit(table, "laplace")


def test_predictions_are_those_of_the_draws(posterior):
    x, beta = np.array([[0.6, 0.0], [0.0, -1.0]]), np.array([-0.5, 0.3])
    said = posterior.predict(x, beta=beta, prob=0.5)
    u = np.einsum("cdj,mj->cdm", posterior.theta, x).reshape(-1, 2)
    w = np.einsum("cdj,mj->cdm", posterior.phi, x).reshape(-1, 2) + 2
    probability = stats.norm.cdf((beta - u) / np.sqrt(w))
    for name, values in (("mean", u), ("variance", w), ("reneging_probability", probability)):
        wanted = np.stack([values.mean(0), *np.quantile(values, [0.5, 0.25, 0.75], axis=0)], axis=-1)
        np.testing.assert_allclose(said[name].values, wanted, rtol=1e-9)
    # Its mean may be infinite, so none is given. Quantiles differ by how two of 4000 draws are averaged.
    assert np.isnan(said.lifetime.sel(statistic="mean")).all()
    wanted = np.quantile(1 / probability, [0.5, 0.25, 0.75], axis=0).T
    np.testing.assert_allclose(said.lifetime.values[:, 1:], wanted, rtol=1e-5)
    assert set(posterior.predict(x[0]).data_vars) == {"mean", "variance"}
    for wrong in ({"x": [[1.0]]}, {"x": [[1.0, 1.0]]}, {"x": x, "beta": [0.1]}, {"x": x, "prob": 0}):
        with pytest.raises(InvalidInput):
            posterior.predict(**wrong)


def test_lifetimes_without_end_are_infinite(posterior):
    narrow = with_fields(posterior.target, model=hrprob.models.make_model("truncated-normal"))
    bounded = dataclasses.replace(posterior, target=narrow)
    x = np.array([[0.6, 0.0], [0.0, 0.6], [0.6, 0.0]])
    # Nobody leaves at a level that no outcome falls below, some draws say so of the second, all leave at ∞.
    said = bounded.predict(x, beta=[-50.0, -6.5, np.inf])
    assert np.isnan(said.lifetime.sel(statistic="mean")).all()
    ends = said.lifetime.sel(statistic=["median", "low", "high"]).values
    assert ends[0].tolist() == [np.inf] * 3
    assert np.isfinite(ends[1, 1])
    assert ends[1, 2] == np.inf
    assert ends[2].tolist() == [1.0] * 3
    assert posterior.predict(x[:1], beta=-1e4).lifetime.values[0, 1:].tolist() == [np.inf] * 3


# Leaving out one of two rounds of a stay can change much; that is about these data.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")
def test_a_tree_has_what_arviz_looks_for(table, posterior):
    tree = posterior.to_datatree()
    sizes = {"chain": 1, "draw": 4000, "round": ROUNDS}
    assert set(tree.children) == {
        "posterior",
        "sample_stats",
        "log_likelihood",
        "posterior_predictive",
        "prior",
        "prior_predictive",
        "observed_data",
        "constant_data",
    }
    assert tree["posterior"]["theta"].dims == ("chain", "draw", "feature")
    assert tree["posterior"].feature.values.tolist() == ["x1", "x2"]
    assert set(tree["sample_stats"].data_vars) == {"lp", "log_ratio"}
    assert dict(tree["log_likelihood"].sizes) == dict(tree["posterior_predictive"].sizes) == sizes
    assert set(tree["constant_data"].data_vars) == {"x", "user", "beta"}
    u, w = posterior.moments(table.x)
    wanted = stats.norm.logpdf(table.r, u, np.sqrt(w))
    np.testing.assert_allclose(tree["log_likelihood"]["r"].values, wanted, rtol=1e-9)
    # The prior of θ and φ is uniform: ln p is the likelihood, and −|z|²/2 from the coordinates.
    lp = tree["sample_stats"]["lp"].values
    assert np.corrcoef(lp[0], wanted.sum(axis=-1)[0])[0, 1] > 0.5
    again = tree["posterior_predictive"]["r"].values
    # 4000 draws of each: means within five standard errors of √(E w + V u)/√4000.
    spread = np.sqrt(w.mean((0, 1)) + u.var((0, 1)))
    assert np.all(np.abs(again.mean((0, 1)) - u.mean((0, 1))) < 5 * spread / np.sqrt(4000))
    np.testing.assert_allclose(again.std((0, 1)), spread, rtol=0.08)
    prior = tree["prior"]["phi"].values
    assert stats.kstest((np.linalg.norm(prior[0], axis=-1) / 2) ** 2, "uniform").pvalue > 1e-4
    # The sum of ln p(r | draws) averaged over draws, less what each round told of itself.
    most = float(np.log(np.exp(wanted).mean((0, 1))).sum())
    assert most - 10 < float(arviz_stats.loo(tree).elpd) < most
    small = posterior.to_datatree(pointwise=False)
    assert "log_likelihood" not in small.children
    assert "prior_predictive" not in small.children
    assert all(most > 4000 * ROUNDS for most in MOST_ENTRIES.values())
    with pytest.raises(InvalidInput):
        posterior.to_datatree(pointwise="some")


@pytest.mark.slow
def test_many_rounds_leave_every_kth_draw(posterior, monkeypatch):
    whole = posterior.to_datatree()
    limits = {"log_likelihood": 2000 * ROUNDS, "posterior_predictive": 900 * ROUNDS, "prior_predictive": 1}
    monkeypatch.setattr("hrprob.fitting.tree.MOST_ENTRIES", limits)
    tree = posterior.to_datatree()
    assert set(tree.children) == set(whole.children)
    assert {name: tree[name].attrs["thinning"] for name in limits} == dict(
        zip(limits, (2, 5, 1000), strict=True)
    )
    some = tree["log_likelihood"]["r"]
    assert some.draw.values.tolist() == list(range(0, 4000, 2))
    np.testing.assert_allclose(some, whole["log_likelihood"]["r"].sel(draw=some.draw), rtol=1e-12)
    assert tree["posterior_predictive"]["r"].shape == (1, 800, ROUNDS)
    assert tree["posterior_predictive"].draw.values[-1] == 3995
    assert tree["prior_predictive"]["r"].shape == (1, 1, ROUNDS)
    assert tree["posterior"].sizes["draw"] == 4000
    assert posterior.to_datatree(pointwise=True)["log_likelihood"].sizes["draw"] == 4000


@pytest.mark.slow
def test_arviz_draws_from_the_tree(posterior, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    import arviz_plots
    from matplotlib import pyplot

    tree = posterior.to_datatree()
    arviz_plots.plot_forest(tree, var_names=["theta", "phi"], backend="matplotlib")
    arviz_plots.plot_ppc_dist(tree, num_samples=20, backend="matplotlib")
    pyplot.close("all")


def test_a_file_gives_back_what_was_written(posterior, tmp_path):
    path = tmp_path / "posterior.nc"
    posterior.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]
    again = hrprob.Posterior.load(path)
    for name in ("theta", "phi", "log_ratio"):
        np.testing.assert_array_equal(getattr(again, name), getattr(posterior, name))
    np.testing.assert_array_equal(again.statistics["lp"], posterior.statistics["lp"])
    for name in ("x", "r", "user", "beta"):
        np.testing.assert_array_equal(getattr(again.table, name), getattr(posterior.table, name))
    assert (again.engine, again.target, again.seed) == (posterior.engine, posterior.target, posterior.seed)
    xarray.testing.assert_identical(again.summary(), posterior.summary())
    said = [p.predict([[0.6, 0.0]], beta=0.1) for p in (again, posterior)]
    xarray.testing.assert_identical(*said)


def test_a_file_is_written_whole_or_not_at_all(posterior, tmp_path, monkeypatch):
    path = tmp_path / "posterior.nc"
    path.write_text("what was there")

    def fail(tree, place, **options):
        place.write_text("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xarray.DataTree, "to_netcdf", fail)
    with pytest.raises(OSError, match="No space"):
        posterior.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]
    assert path.read_text() == "what was there"
    with pytest.raises(InvalidInput, match="written"):
        posterior.save(tmp_path / "no" / "such" / "folder.nc")
    with pytest.raises(InvalidInput, match="name a file in it"):
        posterior.save(tmp_path, pointwise=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["posterior.nc"]


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "text.nc").write_text("no netCDF")
    xarray.Dataset({"a": ("b", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in ("text.nc", "other.nc", "missing.nc"):
        with pytest.raises(InvalidInput, match=r"Posterior\.save"):
            hrprob.Posterior.load(tmp_path / name)


def test_figures_have_what_they_say(posterior):
    forest = figures.plot_coefficients(posterior, prob=0.8)
    assert [len(axes.get_yticklabels()) for axes in forest.axes] == [2, 2]
    upper, lower = figures.plot_outcomes(posterior, prob=0.8).axes
    # 60 rounds make 7 groups, whose points are inside or out.
    for axes in (upper, lower):
        assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() in ("o", "X")) == 7
    means = np.concatenate([line.get_ydata() for line in upper.lines if line.get_marker() in ("o", "X")])
    assert means.mean() == pytest.approx(posterior.table.r.mean(), abs=0.05)


class DoubleExponential(Model):
    """A model of one's own, in four lines."""

    def outcome(self, u, w):
        return dist.Laplace(u, jnp.sqrt(w / 2))


class OpenT(Model):
    """Student-t outcomes whose degrees of freedom are open, with sites that come before and after φ and θ."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        df = 2.0 + numpyro.sample("df", dist.Gamma(2.0, 0.1))
        numpyro.sample("aside", dist.Dirichlet(jnp.ones(3)))
        numpyro.sample("zest", dist.Normal(3.0, 0.5))
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            one = dist.StudentT(df, u[:, None], jnp.sqrt(w * (df - 2.0) / df)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class WithError(Model):
    """A value for each round."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            error = numpyro.sample("error", dist.Normal(0.0, 0.1))
            one = dist.Normal((u + error)[:, None], jnp.sqrt(w)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class Groups(Model):
    """Rounds in groups whose effects may all be nothing: the density grows without bound as their spread goes to 0."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        with numpyro.plate("group", 8):
            effect = numpyro.sample("effect", dist.Normal(0.0, spread))
        rows = data.x.shape[0]
        with numpyro.plate("row", rows):
            one = dist.Normal((u + effect[jnp.arange(rows) % 8])[:, None], jnp.sqrt(w)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class Nowhere(Model):
    """A program without a density: the variance has lost its offset."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        with numpyro.plate("row", data.x.shape[0]):
            deviation = jnp.sqrt(data.x @ phi - 2.0)
            numpyro.sample("r", dist.Normal((data.x @ theta)[:, None], deviation[:, None]).to_event(1))


class Coin(OpenT):
    """A latent whole number."""

    def program(self, data, setting, prior):
        numpyro.sample("coin", dist.Bernoulli(0.5))
        super().program(data, setting, prior)


class Headless(OpenT):
    """A program without φ."""

    def program(self, data, setting, prior):
        theta = numpyro.sample("theta", prior.theta(setting))
        with numpyro.plate("row", data.x.shape[0]):
            numpyro.sample("r", dist.Normal((data.x @ theta)[:, None], 1.0).to_event(1))


class Program(Model):
    """Normal outcomes, as a program and nothing else."""

    site = "r"

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            one = dist.Normal(u[:, None], jnp.sqrt(w)[:, None])
            numpyro.sample(self.site, one.mask(data.weight > 0).to_event(1))


class Observed(DoubleExponential):
    """What is observed is normal, whatever `outcome` says."""

    def observe(self, data, u, w):
        one = dist.Normal(u[:, None], jnp.sqrt(w)[:, None])
        numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class TwoFaced(DoubleExponential):
    """A program that is not what `outcome` says."""

    def program(self, data, setting, prior):
        theta, phi = priors.sample(prior, setting)
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            numpyro.sample("r", dist.Normal(u[:, None], jnp.sqrt(w)[:, None]).to_event(1))


class Columns(Program):
    """Sites called as columns of a table are."""

    def program(self, data, setting, prior):
        numpyro.sample("beta", dist.Normal(0.0, 1.0))
        numpyro.sample("user", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
        numpyro.sample("x", dist.Normal(0.0, 1.0))
        super().program(data, setting, prior)


class Axis(Program):
    """A site called as an axis is."""

    def program(self, data, setting, prior):
        numpyro.sample("draw", dist.Normal(0.0, 1.0))
        super().program(data, setting, prior)


class Elsewhere(Program):
    """Outcomes under another name."""

    site = "y"

    def observed(self, data):
        return {"y": data.r}


def own(model, **options):
    # A class of its own each time: a record is made of it, and a kind belongs to one class.
    return register(f"own-{model.__name__}")(
        type(model.__name__, (model,), {"__doc__": model.__doc__}, **options)
    )()


@pytest.mark.study
@pytest.mark.parametrize(
    "engine", [{"kind": "svi", "steps": 1500}, {"kind": "nuts", "warmup": 300, "draws": 500}]
)
def test_open_sites_are_fitted_along(table, engine, registered, tmp_path):
    posterior = hrprob.fit(table, engine, model=own(OpenT))
    assert list(posterior.sites) == ["aside", "df", "zest"]
    names = posterior.summary().parameter.values.tolist()
    assert names[4:] == ["aside[0]", "aside[1]", "aside[2]", "df", "zest"]
    # What the data say nothing of has its prior: N(3, 0.5), and uniform on the simplex.
    assert posterior.sites["zest"].mean() == pytest.approx(3.0, abs=0.06)
    assert posterior.sites["zest"].std() == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(posterior.sites["aside"].sum(axis=-1), 1.0)
    np.testing.assert_allclose(posterior.sites["aside"].mean(axis=(0, 1)), 1 / 3, atol=0.05)
    assert np.all(posterior.sites["df"] > 0)
    tree = posterior.to_datatree()
    u, w = posterior.moments(table.x)
    df = 2 + posterior.sites["df"][..., None]
    wanted = stats.t.logpdf(table.r, df, u, np.sqrt(w * (df - 2) / df))
    np.testing.assert_allclose(tree["log_likelihood"]["r"].values, wanted, rtol=1e-8)
    assert set(tree["prior"].data_vars) == {"theta", "phi", "aside", "df", "zest"}
    probability = stats.t.cdf(0.2, df, u[..., :1], np.sqrt(w[..., :1] * (df - 2) / df))
    said = posterior.predict(table.x[:1], beta=0.2)
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(
        probability.mean(), rel=1e-6
    )
    posterior.save(tmp_path / "open.nc")
    again = hrprob.Posterior.load(tmp_path / "open.nc")
    np.testing.assert_array_equal(again.sites["aside"], posterior.sites["aside"])
    assert len(figures.plot_coefficients(posterior).axes) == 5
    assert again.reweight().sites["df"].shape == (posterior.theta[..., 0].size,)
    base.MODELS._classes.pop("own-OpenT")
    with pytest.raises(InvalidInput, match="import the module"):
        hrprob.Posterior.load(tmp_path / "open.nc")


@pytest.mark.slow
def test_programs_that_an_engine_cannot_take(table, registered):
    for model, engine, words in (
        (OpenT, "laplace", "take nuts or svi"),
        (OpenT, "smc", "take nuts or svi"),
        (Coin, "nuts", "whole numbers"),
        (Headless, "svi", "`theta` and `phi`"),
        (Nowhere, {"kind": "svi", "steps": 4}, "no finite density"),
        (TwoFaced, "laplace", "row_log_likelihood"),
        (Observed, "laplace", "row_log_likelihood"),
        (Program, "laplace", r"write `outcome\(self, u, w\)`"),
        (Program, "smc", r"write `outcome\(self, u, w\)`"),
        (Axis, "svi", "must have sites of other names, got 'draw'"),
        (Elsewhere, "svi", r"must observe `r`, got \['y'\]"),
    ):
        with pytest.raises(InvalidInput, match=words):
            hrprob.fit(table, engine, model=own(model))
    with pytest.raises(InvalidInput, match="register"):
        hrprob.fit(table, "nuts", model=OpenT())


@pytest.mark.slow
def test_sites_may_be_called_as_columns_are(registered, tmp_path):
    table = some_rounds(10)
    posterior = hrprob.fit(table, {"kind": "svi", "steps": 4}, model=own(Columns), draws=100)
    tree = posterior.to_datatree()
    assert tree["posterior"]["user"].shape == tree["prior"]["user"].shape == (1, 100, 3)
    posterior.save(tmp_path / "columns.nc")
    again = hrprob.Posterior.load(tmp_path / "columns.nc")
    np.testing.assert_array_equal(again.table.beta, table.beta)
    for name, values in posterior.sites.items():
        np.testing.assert_array_equal(again.sites[name], values)


@pytest.mark.slow
@pytest.mark.parametrize("model", [Program, Observed])
def test_what_a_program_says_is_fitted(model, table, registered):
    engine = {"kind": "svi", "steps": 1500}
    posterior = hrprob.fit(table, engine, model=own(model))
    u, w = posterior.moments(table.x)
    # ln p is the likelihood of normal outcomes and −|z|²/2, which d numbers on each ball give back.
    likelihood = stats.norm.logpdf(table.r, u, np.sqrt(w)).sum(axis=-1)
    z = posterior.target.position(posterior.theta, posterior.phi)
    apart = posterior.statistics["lp"] - likelihood + 0.5 * np.sum(np.asarray(z) ** 2, axis=-1)
    assert np.ptp(apart) < 1e-3
    assert posterior.reweight().trusted
    said = posterior.predict(table.x[:1], beta=0.2)
    probability = stats.norm.cdf((0.2 - u[..., 0]) / np.sqrt(w[..., 0])).mean()
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(probability, rel=1e-6)
    assert "log_likelihood" in posterior.to_datatree().children


@pytest.mark.slow
def test_a_model_of_ones_own_is_fitted_by_all_who_can(table, registered):
    model = own(DoubleExponential)
    by_nuts, by_svi, by_smc, by_laplace = (
        hrprob.fit(table, engine, model=model) for engine in ("nuts", "svi", "smc", "laplace")
    )
    assert by_nuts.concerns() == []
    summary = by_nuts.summary()
    # Two means of 4000 draws differ by 0.03 standard deviations; the rest is the guide's own error.
    for other in (by_svi, by_smc):
        assert np.all(np.abs(other.summary()["mean"] - summary["mean"]) < 0.2 * summary.sd)
    weights = by_laplace.reweight()
    assert weights.trusted
    # The density has a kink, so that Laplace's curvature is wrong; its weights put it right.
    assert np.all(np.abs(np.concatenate(weights.mean()) - summary["mean"]) < 0.3 * summary.sd)
    noise = stats.laplace(scale=np.sqrt(0.5))
    u, w = by_nuts.moments([[0.6, 0.0]])
    probability = noise.cdf((0.1 - u) / np.sqrt(w))
    said = by_nuts.predict([[0.6, 0.0]], beta=0.1)
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(
        probability.mean(), rel=1e-6
    )


@pytest.mark.study
def test_groups_that_do_not_differ_leave_theta_and_phi_their_spread(table, registered):
    model = own(Groups)
    by_svi, by_nuts = (hrprob.fit(table, engine, model=model).summary() for engine in ("svi", "nuts"))
    for name in ("theta[x1]", "theta[x2]", "phi[x1]", "phi[x2]"):
        one, other = by_svi.sel(parameter=name), by_nuts.sel(parameter=name)
        assert abs(float(one["mean"] - other["mean"])) < 0.2 * float(other.sd)
        assert float(one.sd / other.sd) == pytest.approx(1.0, abs=0.15)


@pytest.mark.study
@pytest.mark.slow
def test_a_value_for_each_round(registered):
    table = some_rounds(20)
    posterior = hrprob.fit(table, {"kind": "nuts", "warmup": 200, "draws": 250}, model=own(WithError))
    assert posterior.sites["error"].shape == (4, 250, 20)
    assert posterior.to_datatree()["log_likelihood"]["r"].shape == (4, 250, 20)
    assert set(posterior.predict([[1.0, 0.0]]).data_vars) == {"mean", "variance"}
    with pytest.raises(InvalidInput, match="new round"):
        posterior.predict([[1.0, 0.0]], beta=0.0)


@pytest.mark.slow
def test_nuts_says_how_it_fared(table):
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
def test_clouds_of_smc_are_chains(table):
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
    from hrprob.fitting.fit import _data

    assert _data(posterior.target, table).rounds.tolist() == [2.0] * (ROUNDS // 2)
    student = with_fields(posterior.target, model=hrprob.models.make_model("student-t"))
    assert _data(student, table).r.shape == (ROUNDS, 1)


def test_draws_of_the_prior_come_by_site(posterior):
    values = predictive.prior(posterior.target, posterior.table.x, jax.random.key(0), 50)
    assert {name: value.shape for name, value in values.items()} == {"theta": (50, 2), "phi": (50, 2)}


def test_a_csv_file_is_read_with_its_line_numbers(tmp_path):
    path = tmp_path / "rounds.csv"
    path.write_text("\ufeffx1, x2 ,r,beta\n0.1,0.2,0.5,inf\n\n0.3,0.4,-1e-3,2\n", encoding="utf-8")
    table = read_table(path)
    assert table.x.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert table.beta.tolist() == [np.inf, 2.0]
    path.write_text("x1,r\n0.1,0.2\n\n0.3,?\n")
    with pytest.raises(InvalidInput, match="`r` must be a number, got '\\?': line 4 of"):
        read_table(path)


def test_the_example_is_what_hrprob_plays():
    path = Path(hrprob.__file__).parent / "experiments" / "data" / "rounds.csv"
    written, played = read_table(path), gather(hrprob.Problem(), hrprob.Random(), users=60, seed=0)
    np.testing.assert_allclose(written.x, played.x, atol=6e-7)
    np.testing.assert_allclose(written.r, played.r, atol=6e-7)
    assert written.user.astype(int).tolist() == played.user.tolist()
