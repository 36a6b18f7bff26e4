"""A model of users who differ: its likelihood against dense normal distributions, calibration, and new users."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.models import Setting, UserEffect, make_prior, rounds, stays
from hrprob.models.user_effect import Effects, log_density_of_user
from hrprob.problem import LogLink
from tests.quoted.user_effect import LEAST_P, user_effect

# Users 7 and 9 have one context each, user 8 has two.
X = np.array([[0.6, 0.0], [0.6, 0.0], [0.0, 0.8], [0.3, 0.3], [-0.5, 0.2], [-0.5, 0.2], [-0.5, 0.2]])
R = np.array([0.7, 1.9, -0.2, 0.4, -1.1, 0.3, -0.6])
USER = np.array([7, 7, 8, 8, 9, 9, 9])


def plain(e, correlation, log_sd):
    """ln p of a user's standardised residuals, by a dense covariance and Simpson's rule over the log variance."""
    m, grid = len(e), np.linspace(-8 * log_sd, 8 * log_sd, 801) if log_sd > 0.0 else np.zeros(1)
    within = (1 - correlation) * np.exp(grid - log_sd**2 / 2)
    covariance = within[:, None, None] * np.eye(m) + correlation
    quadratic = np.einsum(
        "i,gi->g", e, np.linalg.solve(covariance, np.broadcast_to(e, (len(grid), m))[..., None])[..., 0]
    )
    value = -0.5 * (m * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + quadratic)
    if log_sd == 0.0:
        return value[0]
    value += stats.norm.logpdf(grid, 0.0, log_sd)
    return np.log(integrate.simpson(np.exp(value - value.max()), x=grid)) + value.max()


of_user = jax.jit(log_density_of_user)


@pytest.mark.parametrize(("correlation", "log_sd"), [(0.4, 0.5), (0.9, 0.8), (0.0, 0.3), (0.3, 0.0)])
def test_the_density_of_a_user_is_that_of_the_rounds_with_effects_integrated_out(correlation, log_sd):
    rng = np.random.default_rng(0)
    with double_precision():
        for m in (1, 4, 40):
            e = rng.normal(size=m) + rng.normal()
            got = of_user(float(m), e.sum(), e @ e, Effects(correlation, log_sd))
            assert float(got) == pytest.approx(plain(e, correlation, log_sd), abs=2e-6)


def test_densities_far_out_are_small_numbers():
    with_slope = jax.jit(jax.value_and_grad(log_density_of_user, argnums=2))
    with double_precision():
        for correlation, log_sd in ((0.5, 60.0), (1.0, 0.5), (1.0 - 1e-16, 80.0)):
            effects = Effects(jnp.asarray(correlation), jnp.asarray(log_sd))
            for m, total, squares in ((1.0, 0.4, 0.16), (5.0, 0.3, 4.0)):
                value, slope = with_slope(m, total, squares, effects)
                assert float(value) < 200.0
                assert np.isfinite(value)
                assert np.isfinite(slope)


def test_stays_rounds_and_new_users_have_one_likelihood():
    setting, prior = Setting(2, LogLink(2.0)), make_prior("uniform")
    model = UserEffect(correlation=0.4, log_sd=0.5)
    theta, phi = jnp.asarray([0.3, -0.2]), jnp.asarray([0.5, -0.4])
    with double_precision():
        u, w = (np.asarray(part) for part in setting.moments(theta, phi, jnp.asarray(X)))
        e = (R - u) / np.sqrt(w)
        wanted = sum(plain(e[user == USER], 0.4, 0.5) for user in (7, 8, 9)) - 0.5 * np.log(w).sum()

        def density(data):
            trace = jax.tree.map(jnp.asarray, data)
            by_row = hrprob.models.make_model(model)
            from numpyro.infer.util import log_density

            @jax.jit
            def likelihood(trace, theta, phi):
                both = {"theta": theta, "phi": phi}
                joint = log_density(by_row.conditioned, (trace, setting, prior), {}, both)[0]
                return joint - prior.theta(setting).log_prob(theta) - prior.phi(setting).log_prob(phi)

            return float(likelihood(trace, theta, phi))

        number = np.array([0, 0, 1, 1, 2, 2, 2])
        by_round = rounds(X, R, {"user": number})
        assert density(by_round) == pytest.approx(wanted, abs=1e-5)
        # One context per user: sums of stays say the same, by the program and by the likelihood.
        lone = USER != 8
        sums = stays(X[lone], R[lone], USER[lone])
        again = rounds(X[lone], R[lone], {"user": np.array([0, 0, 1, 1, 1])})
        assert density(sums) == pytest.approx(density(again), abs=1e-8)
        likelihood = model.log_likelihood(theta, phi, jax.tree.map(jnp.asarray, sums), setting)
        assert float(likelihood.sum()) == pytest.approx(density(sums), abs=1e-8)
        # A round given the others of its user: a difference of two joint densities, and its distribution function.
        data = jax.tree.map(jnp.asarray, by_round)
        given, below = jax.jit(lambda data, u, w: model.given_others(data, u, w, {}))(data, u, w)
        mine, others = e[4:], e[5:]
        alone = plain(mine, 0.4, 0.5) - plain(others, 0.4, 0.5) - 0.5 * np.log(w[4])
        assert float(given[4]) == pytest.approx(alone, abs=1e-5)
        grid = np.linspace(-12.0, e[4], 200)
        curve = [np.exp(plain(np.r_[x, others], 0.4, 0.5) - plain(others, 0.4, 0.5)) for x in grid]
        assert float(below[4]) == pytest.approx(integrate.simpson(curve, x=grid), abs=1e-4)


def test_what_an_engine_or_a_policy_cannot_take_is_refused():
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.4], contexts=hrprob.Ball(actions=3))
    fixed = {"kind": "user-effect", "correlation": 0.4, "log_sd": 0.0}
    for options, words in (
        ({"model": "user-effect"}, "must be a number in a policy"),
        ({"model": fixed, "eager": True}, "one action per user"),
        ({"model": fixed, "warmup": 2}, "one action per user"),
    ):
        with pytest.raises(InvalidInput, match=words):
            hrprob.Thompson(**options).bind(problem, 10)
    with pytest.raises(InvalidInput, match="column of users"):
        hrprob.fit((X, R), "laplace", model=fixed)
    with pytest.raises(InvalidInput, match=r"engine.*must be one that runs programs"):
        hrprob.fit((X, R, USER), "laplace", model=fixed)
    with pytest.raises(InvalidInput, match="more unknowns than θ and φ: user_correlation, user_log_sd"):
        hrprob.fit((X, R, USER), "laplace", model="user-effect")


@pytest.mark.slow
def test_thompson_serves_with_a_model_of_users():
    problem = hrprob.Problem(
        theta=[0.6, 0.3],
        phi=[0.5, 0.4],
        contexts=hrprob.Ball(actions=3),
        satisfaction=hrprob.UniformLevels(-1, 0.5),
    )
    policy = hrprob.Thompson(model={"kind": "user-effect", "correlation": 0.3, "log_sd": 0.0})
    result = hrprob.simulate(problem, {"effects": policy, "random": hrprob.Random()}, users=120, trials=4)
    last = result.regret.isel(user=-1).mean("trial")
    assert float(last.sel(policy="effects")) < float(last.sel(policy="random"))


@pytest.mark.slow
def test_fit_predict_and_check_with_users_who_differ(tmp_path):
    rng = np.random.default_rng(2)
    users, m = 60, 4
    x = np.repeat(rng.uniform(-0.7, 0.7, size=(users, 1)), m, axis=0)
    a, b = np.repeat(rng.normal(size=users), m), np.repeat(0.6 * rng.normal(size=users), m)
    e = np.sqrt(0.5) * a + np.sqrt(0.5 * np.exp(b - 0.18)) * rng.normal(size=users * m)
    table = (x, 0.5 * x[:, 0] + np.sqrt(np.exp(x[:, 0])) * e, np.repeat(np.arange(users), m))
    engine = {"kind": "nuts", "chains": 2, "warmup": 300, "draws": 600}
    posterior = hrprob.fit(table, engine, model="user-effect", link="log")
    rho, omega = (posterior.sites[name] for name in ("user_correlation", "user_log_sd"))
    # Three posterior standard deviations about 0.5 and 0.6.
    assert abs(rho.mean() - 0.5) < 3 * rho.std()
    assert abs(omega.mean() - 0.6) < 3 * omega.std()
    said = posterior.predict([[0.3]], beta=0.0, outcome=True)
    u, w = (part.reshape(-1) for part in posterior.moments([[0.3]]))
    np.testing.assert_allclose(said.variance.sel(statistic="mean"), w.mean(), rtol=1e-6)
    # The probability of the first round, with the effect integrated out by simulation: 1200 draws, se < 0.01.
    log_variance = omega.reshape(-1) * rng.normal(size=omega.size) - 0.5 * omega.reshape(-1) ** 2
    spread = np.sqrt(w * (rho.reshape(-1) + (1 - rho.reshape(-1)) * np.exp(log_variance)))
    probability = stats.norm.cdf((0.0 - u) / spread).mean()
    assert float(said.reneging_probability.sel(statistic="mean")[0]) == pytest.approx(probability, abs=0.03)
    low, high = (float(said.outcome.sel(statistic=end)[0]) for end in ("low", "high"))
    assert high - low == pytest.approx(2 * 1.645 * np.sqrt(w.mean()), rel=0.25)
    checked = posterior.check(checks=["predictions", "users", "draws"])
    assert checked.answer.answer != "no"
    posterior.save(tmp_path / "users.nc")
    again = hrprob.Posterior.load(tmp_path / "users.nc")
    assert again.target.model.kind == "user-effect"
    np.testing.assert_array_equal(again.sites["user_log_sd"], omega)


@pytest.mark.study
def test_ranks_are_uniform_and_new_users_are_covered():
    found = user_effect()
    assert found["least_adjusted"] > LEAST_P
    assert 88.0 <= found["coverage"]["mean"] <= 92.0
