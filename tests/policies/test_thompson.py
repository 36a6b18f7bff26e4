"""The Bayesian policies: what they keep, when they fit, and what they cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob.errors import InvalidInput
from hrprob.policies import Seen, make
from hrprob.policies.bayes import refit_times
from hrprob.precision import double_precision

BAYESIAN = ["thompson", "thompson-known-variance", "thompson-homoscedastic", "bayes-greedy", "bayes-ucb"]


def seen(user, row, action=0, **changes):
    context = jnp.asarray([1.0, 0.0, 0.0, 0.0]) * 0.5
    values = {
        "user": jnp.asarray(float(user)),
        "contexts": jnp.zeros((20, 4)),
        "action": jnp.asarray(action),
        "context": context,
        "beta": jnp.zeros(()),
        "played": jnp.asarray(3.0),
        "left": jnp.asarray(True),
        "taken": jnp.asarray(2.0),
        "total": jnp.asarray(float(row)),
        "squares": jnp.asarray(float(row * row) + 1.0),
    }
    return Seen(**{name: values[name] for name in Seen._fields} | changes)


def test_fits_are_due_whenever_the_users_have_grown_enough():
    due = np.flatnonzero(refit_times(30000, 1.05))
    assert due[:20].tolist() == list(range(1, 21))
    assert np.all(due[1:] <= np.maximum(1.05 * due[:-1], due[:-1]) + 1)
    assert len(due) < 200
    # Warm-up users are fitted at every round: they are few, and their number of rounds is not known.
    assert np.flatnonzero(refit_times(10, 2.0, warmup=3)).tolist() == [0, 1, 2, 3, 4, 8]


def test_stays_are_kept_where_they_belong():
    policy = make("thompson", {"engine": "svi", "warmup": 2})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=40)
        state = bound.init()
        for user, action in ((1, 3), (1, 3), (1, 5), (2, 3)):
            state = bound.update(state, seen(user, 1, action, taken=jnp.ones(())))
        state = bound.update(state, seen(3, 7))
        state = bound.update(state, seen(4, 8))
    stays, warm = jax.tree.map(np.asarray, (state.stays, state.warm))
    assert warm.rounds[[3, 5, 23]].tolist() == [2.0, 1.0, 1.0]
    assert warm.rounds.sum() == 4.0
    assert stays.rounds[:3].tolist() == [2.0, 2.0, 0.0]
    assert stays.total[:2].tolist() == [7.0, 8.0]


def test_an_engine_outside_the_program_is_fitted_between_stretches():
    policy = make("thompson", {"engine": {"kind": "svi", "steps": 30}, "refit": 2.0})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=20)
        assert bound.stretch_ends(20) == [1, 2, 4, 8, 16]
        trials = 2
        state = jax.vmap(bound.init, axis_size=trials, out_axes=-1)()
        step = jax.vmap(lambda state, total: bound.update(state, seen(1, 1, total=total)), (-1, 0), -1)
        state = step(state, jnp.asarray([1.0, -1.0]))
        fitted = bound.fit_outside(state, 1, jax.random.split(jax.random.key(0), trials))
        assert jax.tree.map(jnp.shape, fitted) == jax.tree.map(jnp.shape, state)
        means = np.asarray(fitted.belief.mean)
        assert not np.allclose(means[:, 0], means[:, 1])
    assert make("thompson", {}).bind(hrprob.Problem(), users=20).stretch_ends(20) == []


@pytest.mark.parametrize("kind", ["thompson-known-variance", "thompson-homoscedastic"])
def test_closed_forms_are_those_of_all_rounds_at_once(kind):
    rng = np.random.default_rng(0)
    x, m, total = rng.normal(size=(6, 4)) / 4, rng.integers(1, 4, 6).astype(float), rng.normal(size=6)
    with double_precision():
        bound = make(kind, {}).bind(hrprob.Problem(), users=10)
        state = bound.init()
        for row in range(6):
            each = {
                "context": jnp.asarray(x[row]),
                "taken": jnp.asarray(m[row]),
                "total": jnp.asarray(total[row]),
            }
            state = bound.update(state, seen(row + 1, 0, **each))
    known = kind == "thompson-known-variance"
    w = x @ np.array([0.5, 0.2, 0.8, 0.9]) + 2 if known else np.ones(6)
    precision = (6.0 if known else 1.0) * np.eye(4) + (x.T * (m / w)) @ x
    np.testing.assert_allclose(state.covariance, np.linalg.inv(precision), rtol=1e-9)
    np.testing.assert_allclose(state.sum_rx, x.T @ (total / w), rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "parameters", "field"),
    [
        ("thompson", {"scale": -1.0}, "scale"),
        ("thompson", {"engine": "emcee"}, "engine"),
        ("thompson", {"refit": 0.5}, "refit"),
        ("thompson", {"model": {"kind": "student-t", "df": 1.0}}, "model.df"),
        ("bayes-ucb", {"level": 1.0}, "level"),
        ("bayes-greedy", {"draws": 0}, "draws"),
    ],
)
def test_what_cannot_be_is_refused(kind, parameters, field):
    with pytest.raises(InvalidInput) as complaint:
        make(kind, parameters)
    assert complaint.value.field == field


@pytest.mark.parametrize("parameters", [{"model": "student-t"}, {"eager": True}])
def test_what_a_policy_cannot_learn_from_is_refused(parameters):
    policy = make("thompson", parameters)
    with pytest.raises(InvalidInput):
        policy.bind(hrprob.Problem(), users=10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAYESIAN)
def test_every_bayesian_policy_learns(kind):
    policies = {"policy": make(kind, {"warmup": 1}), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=300, trials=4, seed=0)
    last = result.regret.sel(user=300).mean("trial")
    # A random choice costs about 1 a user.
    assert float(last.sel(policy="policy")) < 0.5 * float(last.sel(policy="random"))


@pytest.mark.slow
def test_laplace_and_smc_cost_the_same():
    policies = {engine: hrprob.Thompson(engine=engine) for engine in ("laplace", "smc")}
    result = hrprob.simulate(hrprob.Problem(), policies, users=1500, trials=16, seed=1)
    last = result.regret.sel(user=1500)
    difference = last.sel(policy="laplace") - last.sel(policy="smc")
    assert abs(float(difference.mean())) < 3 * float(difference.std()) / np.sqrt(15)
