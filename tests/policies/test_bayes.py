"""Bayesian policies: when they fit, what they believe, and what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.records import record
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.inference import fit_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Model, Setting, Stays, base, make_model, make_prior, priors, register
from hrprob.models.ball import to_ball
from hrprob.policies.bayes import refit_times
from tests.helpers import make
from tests.policies.stays import seen, some_stays


def test_fits_are_due_whenever_the_users_have_grown_enough():
    due = np.flatnonzero(refit_times(30000, 1.05))
    assert due[:20].tolist() == list(range(1, 21))
    assert np.all(due[1:] <= np.maximum(1.05 * due[:-1], due[:-1]) + 1)
    assert len(due) < 200
    # Warm-up users are fitted at every round: they are few, and their number of rounds is not known.
    assert np.flatnonzero(refit_times(10, 2.0, warmup=3)).tolist() == [0, 1, 2, 3, 4, 8]


def serve(policy, state, *all_seen):
    """Let one user be seen, and leave."""
    for one in all_seen:
        state = policy.update(state, one)
    return policy.depart(state, all_seen[-1].user)


@pytest.mark.slow
def test_an_engine_outside_the_program_is_fitted_between_chunks():
    policy = make("thompson", {"engine": {"kind": "svi", "steps": 30}, "refit": 2.0})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=20)
        assert bound.pauses(20) == [1, 2, 4, 8, 16]
        trials = 2
        state = jax.vmap(bound.init, axis_size=trials, out_axes=-1)()
        step = jax.vmap(lambda state, total: serve(bound, state, seen(1, 1, total=total)), (-1, 0), -1)
        state = jax.jit(step)(state, jnp.asarray([1.0, -1.0]))
        fitted = bound.fit_outside(state, 1, jax.random.split(jax.random.key(0), trials))
        assert jax.tree.map(jnp.shape, fitted) == jax.tree.map(jnp.shape, state)
        means = np.asarray(fitted.belief.mean)
        assert not np.allclose(means[:, 0], means[:, 1])
    assert make("thompson", {}).bind(hrprob.Problem(), users=20).pauses(20) == []


SMALL = hrprob.Problem(theta=[0.5, 0.2], phi=[0.9, -1.2], contexts=hrprob.Ball(actions=4))
PRIOR = {"kind": "gaussian", "theta_share": 0.2, "phi_share": 0.4}


def test_under_a_gaussian_prior_particles_weigh_what_they_should():
    """smc in a policy: Gaussian θ of precision 1/0.2², integrated out by hand for each particle."""
    x, m, total, squares = some_stays()
    policy = make("thompson", {"engine": {"kind": "smc", "particles": 16}, "prior": PRIOR})
    with double_precision():
        bound = policy.bind(SMALL, users=10)
        state, update = bound.init(), jax.jit(bound.update)
        for row in range(6):
            what = {"context": x[row], "sampled": m[row], "total": total[row], "squares": squares[row]}
            state = update(state, seen(row + 1, 0, **what))
        phi = np.asarray(to_ball(state.belief.z, 2.0))
    w = phi @ x.T + 2
    value = np.empty(16)
    for particle in range(16):
        weight = m / w[particle]
        precision = np.eye(2) / 0.2**2 + (x.T * weight) @ x
        sums = x.T @ (total / w[particle])
        explained = sums @ np.linalg.solve(precision, sums) - np.linalg.slogdet(precision)[1]
        value[particle] = -0.5 * (m @ np.log(w[particle]) + np.sum(squares / w[particle]) - explained)
    assert np.ptp(np.asarray(state.belief.log_weight) - value) < 1e-9
    assert np.ptp(value) > 0.1


@pytest.mark.study
def test_under_a_gaussian_prior_the_belief_is_that_of_a_fit():
    """Three users; what the policy believes then is what the engine finds in the same rows."""
    engine = {"kind": "laplace", "points": 0}
    policy = make("thompson", {"engine": engine, "prior": PRIOR, "refit": 1.0})
    problem = hrprob.Problem(theta=[0.5], phi=[0.3], contexts=hrprob.Ball(actions=2))
    x, m, total, squares = [0.9, -0.5, 0.7], [3.0, 1.0, 2.0], [4.0, -0.2, 1.0], [7.0, 0.04, 2.5]
    with double_precision():
        bound = policy.bind(problem, users=3)
        state = bound.init()
        depart = jax.jit(bound.depart)
        for row in range(3):
            values = {"context": [x[row]], "sampled": m[row], "total": total[row], "squares": squares[row]}
            state = bound.update(state, seen(row + 1, 0, **{k: jnp.asarray(v) for k, v in values.items()}))
            state = depart(state, jnp.asarray(row + 1.0))
        rows = Stays(np.array(x)[:, None], *(np.array(column) for column in (m, total, squares)))
        alone, flat = (
            fit_engine(
                make_engine(engine),
                Target(make_model("gaussian"), make_prior(chosen), Setting(1)),
                rows,
                None,
            )
            for chosen in (PRIOR, "uniform")
        )
    # The searches start elsewhere and end within 0.003 standard deviations of the mode; here a standard deviation is about 0.2.
    np.testing.assert_allclose(state.belief.mean, alone.mean, atol=1e-3)
    np.testing.assert_allclose(state.belief.factor, alone.factor, atol=1e-3)
    assert np.abs(np.asarray(alone.mean - flat.mean)).max() > 0.1


class Plain(priors.Uniform):
    """A prior that is no record: JAX does not know a subclass by its parent."""


@pytest.mark.parametrize(
    ("kind", "parameters", "field"),
    [
        ("thompson", {"scale": -1.0}, "scale"),
        ("thompson", {"engine": "emcee"}, "engine"),
        ("thompson", {"refit": 0.5}, "refit"),
        ("thompson", {"model": {"kind": "student-t", "df": 1.0}}, "model.df"),
        ("thompson", {"prior": Plain()}, "prior"),
        ("bayes-ucb", {"level": 1.0}, "level"),
        ("bayes-greedy", {"draws": 0}, "draws"),
    ],
)
def test_invalid_parameters_are_refused(kind, parameters, field):
    with pytest.raises(InvalidInput) as complaint:
        make(kind, parameters)
    assert complaint.value.field == f"policy.{field}"


class Open(Model):
    """A program that leaves more open than θ and φ."""

    def outcome(self, u, w):
        return dist.Normal(u, jnp.sqrt(w))

    def observe(self, data, u, w):
        level = numpyro.sample("level", dist.Normal(0.0, 1.0).expand([data.x.shape[0]]))
        numpyro.sample("r", dist.Normal((u + level)[:, None], 1.0).mask(data.weight > 0).to_event(1))


class Other(Open):
    """A program that is not what `outcome` says."""

    def observe(self, data, u, w):
        one = dist.Laplace(u[:, None], jnp.sqrt(w / 2)[:, None])
        numpyro.sample("r", one.mask(data.weight > 0).to_event(1))


class Program(Model):
    """A program and nothing else."""

    def program(self, data, setting, prior):
        priors.sample(prior, setting)


@pytest.mark.parametrize(
    ("model", "engine", "words"),
    [
        (Open, "laplace", "level; take nuts or svi"),
        (Open, "smc", "level; take nuts or svi"),
        (Other, "laplace", "`row_log_likelihood` alone"),
        (Program, "laplace", r"write `outcome\(self, u, w\)`"),
        (Program, "svi", r"write `outcome\(self, u, w\)`"),
    ],
)
def test_a_policy_plays_no_model_that_its_engine_cannot_see(model, engine, words):
    made = type(model.__name__, (model,), {"__doc__": model.__doc__})
    before = dict(base.MODELS._classes)
    try:
        policy = make("thompson", {"engine": engine, "model": register("own-model")(made)()})
        with pytest.raises(InvalidInput, match=words):
            policy.bind(hrprob.Problem(), users=5)
        with pytest.raises(InvalidInput) as complaint:
            hrprob.simulate(hrprob.Problem(), {"plain": hrprob.Random(), "mine": policy}, users=5, trials=1)
        assert complaint.value.field.startswith('policy "mine".')
    finally:
        base.MODELS._classes.clear()
        base.MODELS._classes.update(before)


@record()
class Beyond(priors.Uniform):
    """A prior beyond the bounds."""

    def theta(self, setting):
        return priors.UniformBall(2.0 * setting.bounds.theta, setting.dimension)


@pytest.mark.parametrize("engine", ["laplace", "svi"])
def test_a_policy_plays_no_prior_beyond_the_bounds(engine):
    with pytest.raises(InvalidInput, match="`theta` on a ball of radius in"):
        make("thompson", {"engine": engine, "prior": Beyond()}).bind(hrprob.Problem(), users=5)


@pytest.mark.parametrize(("engine", "learns"), [("laplace", False), ("smc", True)])
def test_only_smc_learns_within_a_stay(engine, learns):
    with double_precision():
        bound = make("thompson", {"engine": engine, "eager": True, "refit": 1.0}).bind(hrprob.Problem(), 5)
        first = bound.init()
        after = bound.update(first, seen(1, 2, sampled=jnp.ones(())))
    same = [np.array_equal(a, b) for a, b in zip(first.belief, after.belief, strict=True)]
    assert all(same) != learns
