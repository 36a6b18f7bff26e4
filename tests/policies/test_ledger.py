"""What a Bayesian policy records: stays, single outcomes, warm-up users, eager rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.numerics.buffers import write_rows
from hrprob.policies import ledger
from hrprob.simulation.arrivals import arrivals
from hrprob.simulation.programs import advance, begin
from tests.helpers import make
from tests.policies.stays import seen


@jax.jit
def update(policy, state, one):
    return policy.update(state, one)


@jax.jit
def depart(policy, state, user):
    return policy.depart(state, user)


close = jax.jit(ledger.close)


def serve(policy, state, *all_seen):
    """Let one user be seen, and leave."""
    for one in all_seen:
        state = update(policy, state, one)
    return depart(policy, state, all_seen[-1].user)


def test_stays_are_recorded_in_their_rows():
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


def test_single_outcomes_are_recorded_where_a_model_needs_them():
    policy = make("thompson", {"engine": "laplace", "model": "student-t", "warmup": 1})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=40)
        single = {"sampled": jnp.ones(()), "outcomes": jnp.asarray([2.5])}
        none = {"sampled": jnp.zeros(()), "outcomes": jnp.asarray([9.0])}
        state = bound.init()
        for what in (single, none, single):
            state = update(bound, state, seen(1, 1, 3, **what))
        state = state._replace(ledger=close(state.ledger, jnp.asarray(-1)))
        state = update(bound, state, seen(2, 7))
        long = seen(3, 8, sampled=jnp.asarray(40.0))
        state = state._replace(ledger=close(state.ledger, jnp.asarray(0)))
        state = update(bound, state, long)
        state = state._replace(ledger=close(state.ledger, jnp.asarray(1)))
    rounds, warm = jax.tree.map(np.asarray, (state.ledger.rows, state.ledger.warm))
    assert warm.r[3, :3].tolist() == [2.5, 2.5, 0.0]
    assert warm.weight.sum() == 2.0
    assert rounds.r[0, :3].tolist() == [7.0, 7.0, 0.0]
    assert rounds.weight.sum(axis=1)[:3].tolist() == [2.0, 16.0, 0.0]


def test_warm_up_rounds_are_in_the_sample_set_while_the_ledger_has_room():
    """Two warm-up users, served three actions of which two have the same context."""
    policy = make("thompson", {"engine": "svi", "model": "student-t", "warmup": 2, "growth": 50})
    contexts = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.5]])
    problem = hrprob.Problem(theta=[0.5, 0.2], phi=[0.3, -0.2], contexts=hrprob.Ball(actions=3))
    sampled = np.zeros((2, 3))
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
                state, one = play(state, sampled.sum(), 1.0 * user, action, contexts[action])
                sampled[user - 1, action] += one
    warm = np.asarray(state.ledger.warm.weight).sum(axis=1)
    np.testing.assert_array_equal(warm[:6].reshape(2, 3), sampled)
    # Sixteen places for each action; with a full row beside it the second action's context counts as full.
    assert sampled.tolist() == [[16.0, 0.0, 16.0]] * 2


def test_an_eager_policy_has_a_row_for_each_action():
    policy = make("thompson", {"engine": "svi", "eager": True})
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=40)
        state = bound.init()
        sampled, quota = [], jax.jit(bound.quota)
        for action in (3, 5, 3, 7, 1, 9, 9, 0, 2, 4, 6, 3):
            x = jnp.asarray([0.05 * action, 0.1, 0.0, 0.0])
            room = float(quota(state, jnp.zeros(()), jnp.ones(()), x))
            sampled.append(min(room, 1.0))
            one = {"sampled": jnp.asarray(sampled[-1]), "total": jnp.asarray(2.0 * sampled[-1]), "context": x}
            state = update(bound, state, seen(1, 2, action, **one))
        state = depart(bound, state, jnp.ones(()))
        state = serve(bound, state, seen(2, 4, 0, sampled=jnp.ones(())))
    # Eight actions have a row; for the ninth, 6, there is none left, and its round is not in the sample set.
    assert sampled == [1.0] * 10 + [0.0, 1.0]
    assert state.ledger.rows.rounds[:10].tolist() == [3.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    assert state.ledger.rows.total[:9].tolist() == [6.0, 2.0, 2.0, 2.0, 4.0, 2.0, 2.0, 2.0, 4.0]
    assert state.ledger.actions.tolist() == [-1] * 8


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gaussian", pytest.param("student-t", marks=pytest.mark.study)])
def test_a_round_is_in_the_sample_set_where_the_ledger_has_room(model):
    """Stays are long here: lazy and eager, the rounds in the sample set are those in the ledger."""
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
def test_growth_limits_the_recorded_rounds():
    problem = hrprob.Problem(satisfaction=hrprob.FixedLevels(-1.0))
    policy = make("thompson", {"engine": {"kind": "svi", "steps": 5}, "growth": 2.5})
    with double_precision():
        bound, keys = policy.bind(problem, users=12), trial_keys(0, np.arange(3))
        arrived = arrivals(problem, keys, np.arange(1, 13, dtype=np.uint32))
        carry, (served, *_) = advance(problem.rules, bound, keys, begin(bound, keys), arrived)
    written, lifetime = np.asarray(carry.learning.state.ledger.rows.rounds), np.asarray(served.lifetime)
    wanted = np.zeros((12, 3))
    for t in range(12):
        # A round enters the sample set while it has fewer than Γ(t) = K·t.
        wanted[t] = np.clip(np.ceil(2.5 * (t + 1) - wanted.sum(axis=0)), 0, lifetime[t])
    np.testing.assert_array_equal(written[:12], wanted)
    assert np.any(wanted < lifetime)
    assert np.any(wanted == 0) or np.any((wanted > 1) & (wanted < lifetime))


def test_nothing_moves_in_a_scan():
    def step(buffers, place):
        return jax.vmap(lambda b: write_rows(b, jnp.ones((1, 2)), place), in_axes=-1, out_axes=-1)(
            buffers
        ), None

    program = jax.jit(lambda b: jax.lax.scan(step, b, jnp.arange(8))[0])
    text = program.lower(jnp.zeros((8, 2, 3))).as_text()
    assert "dynamic_update_slice" in text
    assert "scatter" not in text
