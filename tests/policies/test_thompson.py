"""The Bayesian policies: what they keep, when they fit, and what they cost."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob._core.records import record
from hrprob.estimation.posterior.base import fit
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Model, Setting, Stays, base, make_model, make_prior, priors, register
from hrprob.models.ball import to_ball
from hrprob.policies import Seen, ledger
from hrprob.policies.bayes import refit_times
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin
from tests.helpers import make

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
        "sampled": jnp.asarray(2.0),
        "total": jnp.asarray(float(row)),
        "squares": jnp.asarray(float(row * row) + 1.0),
        "outcomes": jnp.full(16, float(row)),
    }
    return Seen(**{name: values[name] for name in Seen._fields} | changes)


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


def test_stays_are_kept_where_they_belong():
    policy = make("thompson", {"engine": "svi", "warmup": 2})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=40)
        one = {"sampled": jnp.ones(())}
        state = serve(bound, bound.init(), *(seen(1, 1, action, **one) for action in (3, 3, 5)))
        state = serve(bound, state, seen(2, 1, 3, **one))
        state = serve(bound, state, seen(3, 7))
        state = serve(bound, state, seen(4, 8))
    stays, warm = jax.tree.map(np.asarray, (state.ledger.rows, state.ledger.warm))
    assert warm.rounds[[3, 5, 23]].tolist() == [2.0, 1.0, 1.0]
    assert warm.rounds.sum() == 4.0
    assert stays.rounds[:3].tolist() == [2.0, 2.0, 0.0]
    assert stays.total[:2].tolist() == [7.0, 8.0]


def test_single_outcomes_are_kept_where_a_model_needs_them():
    policy = make("thompson", {"engine": "laplace", "model": "student-t", "warmup": 1})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=40)
        single = {"sampled": jnp.ones(()), "outcomes": jnp.asarray([2.5])}
        none = {"sampled": jnp.zeros(()), "outcomes": jnp.asarray([9.0])}
        state = bound.init()
        for what in (single, none, single):
            state = bound.update(state, seen(1, 1, 3, **what))
        state = state._replace(ledger=ledger.close(state.ledger, jnp.asarray(-1)))
        state = bound.update(state, seen(2, 7))
        long = seen(3, 8, sampled=jnp.asarray(40.0))
        state = state._replace(ledger=ledger.close(state.ledger, jnp.asarray(0)))
        state = bound.update(state, long)
        state = state._replace(ledger=ledger.close(state.ledger, jnp.asarray(1)))
    rounds, warm = jax.tree.map(np.asarray, (state.ledger.rows, state.ledger.warm))
    assert warm.r[3, :3].tolist() == [2.5, 2.5, 0.0]
    assert warm.weight.sum() == 2.0
    assert rounds.r[0, :3].tolist() == [7.0, 7.0, 0.0]
    assert rounds.weight.sum(axis=1)[:3].tolist() == [2.0, 16.0, 0.0]


def test_warm_up_rounds_are_taken_as_long_as_they_can_be_written_down():
    """Two warm-up users, served three actions of which two have the same context."""
    policy = make("thompson", {"engine": "svi", "model": "student-t", "warmup": 2, "growth": 50})
    contexts = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.5]])
    problem = hrprob.Problem(theta=[0.5, 0.2], phi=[0.3, -0.2], contexts=hrprob.Ball(actions=3))
    taken = np.zeros((2, 3))
    with double_precision():
        bound = policy.bind(problem, users=5)

        @jax.jit
        def play(state, samples, user, action, context):
            one = jnp.minimum(bound.quota(state, samples, user, context), 1.0)
            changes = {"user": user, "action": action, "context": context, "sampled": one}
            return bound.update(state, seen(1, 1, outcomes=jnp.asarray([2.5]))._replace(**changes)), one

        state = bound.init()
        for user in (1, 2):
            for action in [0] * 20 + [1] * 5 + [2] * 18:
                state, one = play(state, taken.sum(), 1.0 * user, action, contexts[action])
                taken[user - 1, action] += one
    warm = np.asarray(state.ledger.warm.weight).sum(axis=1)
    np.testing.assert_array_equal(warm[:6].reshape(2, 3), taken)
    # Sixteen places for each action; with a full row beside it the second action's context counts as full.
    assert taken.tolist() == [[16.0, 0.0, 16.0]] * 2


def test_an_eager_policy_has_a_row_for_each_action():
    policy = make("thompson", {"engine": "svi", "eager": True})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=40)
        state = bound.init()
        taken = []
        for action in (3, 5, 3, 7, 1, 9, 9, 0, 2, 4, 6, 3):
            x = jnp.asarray([0.05 * action, 0.1, 0.0, 0.0])
            room = float(bound.quota(state, jnp.zeros(()), jnp.ones(()), x))
            taken.append(min(room, 1.0))
            one = {"sampled": jnp.asarray(taken[-1]), "total": jnp.asarray(2.0 * taken[-1]), "context": x}
            state = bound.update(state, seen(1, 2, action, **one))
        state = bound.depart(state, jnp.ones(()))
        state = serve(bound, state, seen(2, 4, 0, sampled=jnp.ones(())))
    # Eight actions have a row; for the ninth, 6, there is none left, and its round is not taken.
    assert taken == [1.0] * 10 + [0.0, 1.0]
    assert state.ledger.rows.rounds[:10].tolist() == [3.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    assert state.ledger.rows.total[:9].tolist() == [6.0, 2.0, 2.0, 2.0, 4.0, 2.0, 2.0, 2.0, 4.0]
    assert state.ledger.actions.tolist() == [-1] * 8


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gaussian", pytest.param("student-t", marks=pytest.mark.study)])
def test_a_round_is_taken_where_it_can_be_written_down(model):
    """Stays are long here: lazy and eager, what counts as taken is what the ledger has."""
    problem = hrprob.Problem(satisfaction=hrprob.FixedLevels(-3.0))
    for eager in (False, True):
        policy = make("thompson", {"engine": {"kind": "svi", "steps": 5}, "model": model, "eager": eager})
        with double_precision():
            bound, keys = policy.bind(problem, users=12), trial_keys(0, np.arange(3))
            arrived = arrivals(problem, keys, np.arange(1, 13, dtype=np.uint32))
            carry, (served, *_) = advance(problem.rules, bound, keys, begin(bound, keys), arrived)
        carry, served = jax.tree.map(np.asarray, (carry, served))
        rows = carry.learning.state.ledger.rows
        written = (rows.rounds if model == "gaussian" else rows.weight.sum(axis=1)).sum(axis=0)
        np.testing.assert_array_equal(written, carry.learning.sample_size)
        if model == "gaussian" and not eager:
            np.testing.assert_array_equal(written, served.lifetime.sum(axis=0))
        else:
            assert np.all(written < served.lifetime.sum(axis=0))


@pytest.mark.slow  # unless the test above has compiled its program
def test_growth_limits_what_is_written_down():
    problem = hrprob.Problem(satisfaction=hrprob.FixedLevels(-1.0))
    policy = make("thompson", {"engine": {"kind": "svi", "steps": 5}, "growth": 2.5})
    with double_precision():
        bound, keys = policy.bind(problem, users=12), trial_keys(0, np.arange(3))
        arrived = arrivals(problem, keys, np.arange(1, 13, dtype=np.uint32))
        carry, (served, *_) = advance(problem.rules, bound, keys, begin(bound, keys), arrived)
    written, lifetime = np.asarray(carry.learning.state.ledger.rows.rounds), np.asarray(served.lifetime)
    wanted = np.zeros((12, 3))
    for t in range(12):
        # A round is taken while there are fewer than Γ(t) = K·t.
        wanted[t] = np.clip(np.ceil(2.5 * (t + 1) - wanted.sum(axis=0)), 0, lifetime[t])
    np.testing.assert_array_equal(written[:12], wanted)
    assert np.any(wanted < lifetime)
    assert np.any(wanted == 0) or np.any((wanted > 1) & (wanted < lifetime))


@pytest.mark.slow
def test_an_engine_outside_the_program_is_fitted_between_stretches():
    policy = make("thompson", {"engine": {"kind": "svi", "steps": 30}, "refit": 2.0})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=20)
        assert bound.pauses(20) == [1, 2, 4, 8, 16]
        trials = 2
        state = jax.vmap(bound.init, axis_size=trials, out_axes=-1)()
        step = jax.vmap(lambda state, total: serve(bound, state, seen(1, 1, total=total)), (-1, 0), -1)
        state = step(state, jnp.asarray([1.0, -1.0]))
        fitted = bound.fit_outside(state, 1, jax.random.split(jax.random.key(0), trials))
        assert jax.tree.map(jnp.shape, fitted) == jax.tree.map(jnp.shape, state)
        means = np.asarray(fitted.belief.mean)
        assert not np.allclose(means[:, 0], means[:, 1])
    assert make("thompson", {}).bind(hrprob.Problem(), users=20).pauses(20) == []


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
                "sampled": jnp.asarray(m[row]),
                "total": jnp.asarray(total[row]),
            }
            state = bound.update(state, seen(row + 1, 0, **each))
    known = kind == "thompson-known-variance"
    w = x @ np.array([0.5, 0.2, 0.8, 0.9]) + 2 if known else np.ones(6)
    precision = (6.0 if known else 1.0) * np.eye(4) + (x.T * (m / w)) @ x
    np.testing.assert_allclose(state.covariance, np.linalg.inv(precision), rtol=1e-9)
    np.testing.assert_allclose(state.sum_rx, x.T @ (total / w), rtol=1e-9)


CONTEXTS = np.array([[0.9, 0.1], [0.2, 0.9], [-0.4, 0.6], [0.5, -0.7]])
SMALL = hrprob.Problem(theta=[0.5, 0.2], phi=[0.9, -1.2], contexts=hrprob.Ball(actions=4))


@jax.jit
def picks(bound, state, keys, beta):
    return jax.vmap(lambda key: bound.select(state, key, jnp.asarray(CONTEXTS), beta))(keys)


def some_stays():
    """Contexts, rounds, Σr and Σr² of six stays."""
    rng = np.random.default_rng(4)
    x, m = rng.normal(size=(6, 2)) / 3, rng.integers(1, 4, 6).astype(float)
    total = m * rng.normal(size=6)
    return x, m, total, total**2 / m + rng.chisquare(3, 6)


def choices(kind, parameters, keys, beta):
    """Let a policy learn from these stays; return what it then serves under each key."""
    bound = make(kind, parameters).bind(SMALL, users=10)
    state, update = bound.init(), jax.jit(bound.update)
    for row, (x, m, total, squares) in enumerate(zip(*some_stays(), strict=True)):
        state = update(state, seen(row + 1, 0, context=x, sampled=m, total=total, squares=squares))
    return picks(bound, state, keys, beta).tolist()


def best(theta, w, beta):
    """The action of the longest expected life under each θ (draws, 2)."""
    return np.argmax(1.0 / stats.norm.cdf((beta - theta @ CONTEXTS.T) / np.sqrt(w)), axis=1).tolist()


def test_thompson_with_known_variance_serves_the_best_action_under_its_draw():
    x, m, total, _ = some_stays()
    w, beta = x @ SMALL.phi + 2, -0.3
    # Under N(0, I/4), whose 4 = d + 2 is taken off again by what is kept: a uniform prior on the ball.
    covariance = np.linalg.inv(4.0 * np.eye(2) + (x.T * (m / w)) @ x)
    mean, factor = covariance @ x.T @ (total / w), np.linalg.cholesky(covariance)
    with double_precision():
        keys = jax.random.split(jax.random.key(0), 40)
        pairs = jax.vmap(jax.random.split)(keys)
        noise = np.asarray(jax.vmap(lambda key: jax.random.normal(key, (32, 2)))(pairs[:, 0]))
        probability = np.asarray(jax.vmap(lambda key: jax.random.uniform(key, (32,)))(pairs[:, 1]))
        for scale in (1.0, 0.4):
            tries = mean + scale * noise @ factor.T
            size = np.sum(tries**2, axis=-1)
            kept = (size <= 1) & (probability < np.exp(2.0 * (size - 1)))
            assert kept.any(axis=1).all()
            theta = tries[np.arange(40), np.argmax(kept, axis=1)]
            wanted = best(theta, CONTEXTS @ SMALL.phi + 2, beta)
            assert choices("thompson-known-variance", {"scale": scale}, keys, beta) == wanted
            assert len(set(wanted)) > 1


@pytest.mark.slow
def test_homoscedastic_thompson_serves_the_best_action_under_its_draw():
    x, m, total, squares = some_stays()
    shape, ridge, beta = 1.5, 0.7, -0.3
    covariance = np.linalg.inv(ridge * np.eye(2) + (x.T * m) @ x)
    mean, factor = covariance @ x.T @ total, np.linalg.cholesky(covariance)
    # Σ(r − θ̂ᵀx)² + λ|θ̂|², stay by stay.
    rest = np.sum(squares - 2 * total * (x @ mean) + m * (x @ mean) ** 2) + ridge * mean @ mean
    with double_precision():
        keys = jax.random.split(jax.random.key(0), 40)
        pairs = jax.vmap(jax.random.split)(keys)
        gamma = jax.vmap(lambda key: jax.random.gamma(key, shape + 0.5 * m.sum()))(pairs[:, 0])
        noise = np.asarray(jax.vmap(lambda key: jax.random.normal(key, (2,)))(pairs[:, 1]))
        variance = (shape * 2.0 + 0.5 * rest) / np.asarray(gamma)[:, None]
        for scale in (1.0, 0.4):
            theta = mean + scale * np.sqrt(variance) * noise @ factor.T
            wanted = best(theta, variance, beta)
            parameters = {"scale": scale, "shape": shape, "ridge": ridge}
            assert choices("thompson-homoscedastic", parameters, keys, beta) == wanted
            assert len(set(wanted)) > 1


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
            fit(
                make_engine(engine),
                Target(make_model("gaussian"), make_prior(chosen), Setting(1)),
                rows,
                None,
            )
            for chosen in (PRIOR, "uniform")
        )
    # The searches start elsewhere and end within 0.003 deviations of the mode; here a deviation is about 0.2.
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
def test_what_cannot_be_is_refused(kind, parameters, field):
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
def test_who_learns_within_a_stay(engine, learns):
    with double_precision():
        bound = make("thompson", {"engine": engine, "eager": True, "refit": 1.0}).bind(hrprob.Problem(), 5)
        first = bound.init()
        after = bound.update(first, seen(1, 2, sampled=jnp.ones(())))
    same = [np.array_equal(a, b) for a, b in zip(first.belief, after.belief, strict=True)]
    assert all(same) != learns


@pytest.mark.study
@pytest.mark.parametrize("engine", ["nuts", "svi"])
def test_engines_from_outside_compile_once(engine):
    """A run that outgrows many powers of two still has one program for its fits."""
    module = importlib.import_module(f"hrprob.estimation.posterior.{engine}")
    small = {"kind": engine} | ({"steps": 200} if engine == "svi" else {"warmup": 50, "draws": 50})
    before = module._run._cache_size()
    policies = {"t": hrprob.Thompson(engine=small), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=200, trials=1, seed=0)
    assert module._run._cache_size() == before + 1
    last = result.regret.sel(user=200, trial=0)
    # A random choice costs about 1 a user.
    assert float(last.sel(policy="t")) < 0.6 * float(last.sel(policy="random"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"eager": True},
        {"model": "student-t"},
        {"model": "student-t", "engine": "smc"},
        pytest.param({"model": "mixture"}, marks=pytest.mark.study),
        pytest.param({"model": "mixture", "engine": "smc", "eager": True}, marks=pytest.mark.study),
        pytest.param({"model": "truncated-normal"}, marks=pytest.mark.study),
    ],
    ids=str,
)
def test_every_way_of_learning_learns(parameters):
    policies = {"t": make("thompson", parameters), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=400, trials=4, seed=0)
    last = result.regret.sel(user=400).mean("trial")
    # Measured: 0.25 to 0.3.
    assert float(last.sel(policy="t")) < 0.45 * float(last.sel(policy="random"))


@pytest.mark.parametrize(
    "kind", ["thompson-known-variance", pytest.param("thompson", marks=pytest.mark.slow)]
)
def test_units_of_outcomes_do_not_matter(kind):
    def play(unit):
        problem = hrprob.Problem(
            theta=[0.6 * unit, 0.3 * unit],
            phi=[0.5, -0.4],
            link=hrprob.Affine(unit**2, 2.0 * unit**2),
            bounds=hrprob.Bounds(unit, 2.0),
            contexts=hrprob.Ball(actions=3),
            satisfaction=hrprob.UniformLevels(-unit, 0.5 * unit),
        )
        return hrprob.simulate(problem, make(kind, {}), users=40, trials=2, seed=1)

    whole, small = play(1.0), play(2.0**-20)
    np.testing.assert_array_equal(small.action, whole.action)
    np.testing.assert_array_equal(small.lifetime, whole.lifetime)
    np.testing.assert_allclose(small.regret, whole.regret, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAYESIAN)
def test_every_bayesian_policy_learns(kind):
    policies = {"policy": make(kind, {"warmup": 1}), "random": hrprob.Random()}
    result = hrprob.simulate(hrprob.Problem(), policies, users=300, trials=4, seed=0)
    last = result.regret.sel(user=300).mean("trial")
    # A random choice costs about 1 a user.
    assert float(last.sel(policy="policy")) < 0.5 * float(last.sel(policy="random"))
