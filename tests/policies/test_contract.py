"""The contract of every registered policy, hrprob's own or a third party's."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob.policies import POLICIES, Policy, Seen
from hrprob.policies.bayes import BayesLearner
from hrprob.policies.learners import GLSEState, RidgeState, WeightedState

ACTIONS, DIMENSION, USERS, TRIALS = 4, 3, 12, 3
SETS = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5, ACTIONS, DIMENSION))
PROBLEM = hrprob.Problem(
    theta=[0.6, -0.3, 0.2], phi=[0.5, 0.2, -0.8], contexts=hrprob.Finite(SETS), link=hrprob.Affine(0.8, 2.0)
)
KINDS = POLICIES.kinds()
# A policy that is defined for some problems only has one of these.
OWN = {"kl-ulcb": PROBLEM.replace(contexts=hrprob.Finite(SETS[:1]), satisfaction=hrprob.FixedLevels(0.2))}
# Posteriors take long to compute without compilation; without refinement points the rest of the code is the same.
QUICKER = {"engine": {"kind": "laplace", "points": 0}}
QUICK = {kind: QUICKER for kind, cls in KINDS.items() if issubclass(cls, BayesLearner)}


class Users(NamedTuple):
    """The contexts, level and outcomes of users, with the users on the first axis."""

    key: jax.Array
    contexts: np.ndarray
    beta: np.ndarray
    outcomes: np.ndarray  # three rounds per user


def draw_users(seed: int) -> Users:
    rng = np.random.default_rng(seed)
    return Users(
        jax.random.split(jax.random.key(seed), USERS),
        SETS[rng.integers(len(SETS), size=USERS)],
        rng.uniform(-1, 1, size=USERS),
        rng.normal(size=(USERS, 3)),
    )


def step(policy: Policy, state: Any, user: jax.Array, served: Users) -> tuple[Any, jax.Array]:
    """Serve one user for three rounds."""
    action = policy.select(state, served.key, served.contexts, served.beta)
    seen = Seen(
        user=user,
        contexts=served.contexts,
        action=action,
        context=served.contexts[action],
        beta=served.beta,
        played=jnp.asarray(3.0),
        left=jnp.asarray(True),
        sampled=jnp.asarray(3.0),
        total=served.outcomes.sum(),
        squares=(served.outcomes**2).sum(),
        outcomes=served.outcomes,
    )
    return policy.depart(policy.update(state, seen), user), action


@jax.jit
def run(policy: Policy, users: Users) -> tuple[Any, jax.Array]:
    """Serve all users in one scan; return the state after each of them, and the actions."""

    def serve(state: Any, now: Any) -> tuple[Any, tuple[Any, jax.Array]]:
        state, action = step(policy, state, *now)
        return state, (state, action)

    numbers = jnp.arange(1.0, len(users.beta) + 1)
    served: tuple[Any, jax.Array] = jax.lax.scan(serve, policy.init(), (numbers, users))[1]
    return served


def loop(policy: Policy, users: Users, first: int) -> tuple[Any, list[int]]:
    """Serve the first users in a plain loop without compilation."""
    state, actions = jax.tree.map(jnp.asarray, policy.init()), []
    with jax.disable_jit():
        for user in range(first):
            now = jax.tree.map(lambda leaf, user=user: jnp.asarray(leaf[user]), users)
            state, action = step(policy, state, jnp.asarray(user + 1.0), now)
            actions.append(action)
    return state, actions


def each_kind(*, slow: Collection[str] = (), study: Collection[str] = ()) -> pytest.MarkDecorator:
    """Run a test for every kind; policies with a posterior are slow, and marks for other kinds are given."""

    def marks(kind: str) -> list[pytest.MarkDecorator]:
        if kind in study:
            return [pytest.mark.study]
        return [pytest.mark.slow] if kind in slow or kind in QUICK else []

    cases = [pytest.param(kind, marks=marks(kind), id=kind) for kind in KINDS]
    return pytest.mark.parametrize("policy", cases, indirect=True)


THOMPSON = {"feel-good-thompson", "thompson", "thompson-homoscedastic", "thompson-known-variance"}
INDICES = {"bayes-greedy", "bayes-ucb", "ids"}


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> Any:
    with double_precision():
        made = KINDS[request.param](**QUICK.get(request.param, {}))
        yield made.bind(OWN.get(request.param, PROBLEM), USERS)


@pytest.mark.slow
@each_kind(study={*INDICES, *THOMPSON, "contextual-ids"})
def test_compiled_equals_interpreted(policy: Policy) -> None:
    users, first = draw_users(1), 2 if policy.kind in QUICK else 4
    states, compiled_actions = run(policy, users)
    state, actions = loop(policy, users, first)
    assert compiled_actions[:first].tolist() == [int(action) for action in actions]
    # The compiler may order sums differently.
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one[first - 1], other, atol=1e-11), states, state
    )


@pytest.mark.slow
@each_kind(study={*INDICES, "feel-good-thompson"})
def test_batched_equals_one_by_one(policy: Policy) -> None:
    several = [draw_users(seed) for seed in range(TRIALS)]
    batched = jax.tree.map(lambda *leaves: jnp.stack(leaves), *several)
    states, actions = jax.jit(jax.vmap(run, (None, 0)))(policy, batched)
    for trial, alone in enumerate(several):
        state, chosen = run(policy, alone)
        assert actions[trial].tolist() == chosen.tolist()
        jax.tree.map(
            lambda one, other, trial=trial: np.testing.assert_allclose(one[trial], other, atol=1e-11),
            states,
            state,
        )


@each_kind()
def test_action_is_an_integer_in_range(policy: Policy) -> None:
    _, actions = run(policy, draw_users(2))
    assert jnp.issubdtype(actions.dtype, jnp.integer)
    assert actions.shape == (USERS,)
    assert actions.min() >= 0
    assert actions.max() < ACTIONS


@each_kind()
def test_state_keeps_its_structure(policy: Policy) -> None:
    def leaf_forms(state: Any) -> Any:
        return jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.asarray(leaf).dtype), state)

    before = policy.init()
    after, _ = jax.eval_shape(
        step, policy, before, jnp.asarray(1.0), jax.tree.map(lambda x: x[0], draw_users(0))
    )
    assert jax.tree.structure(before) == jax.tree.structure(after)
    assert leaf_forms(before) == jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), after)
    for leaf in jax.tree.leaves(before):
        assert jnp.asarray(leaf).dtype != jnp.float32


@each_kind(slow={"contextual-ids"})
def test_learns_nothing_from_rounds_outside_the_sample_set(policy: Policy) -> None:
    """A round that does not enter the sample set leaves the statistics unchanged."""

    def learned(state: Any) -> Any:
        return getattr(state, "learned", state)

    if not isinstance(learned(policy.init()), GLSEState | RidgeState | WeightedState):
        pytest.skip("has no statistics of a sample set")
    now = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), draw_users(0))
    state, action = jax.jit(step)(policy, policy.init(), jnp.asarray(1.0), now)
    nothing = Seen(
        user=jnp.asarray(2.0),
        contexts=now.contexts,
        action=action,
        context=now.contexts[action],
        beta=now.beta,
        played=jnp.asarray(7.0),
        left=jnp.asarray(True),
        sampled=jnp.zeros(()),
        total=jnp.zeros(()),
        squares=jnp.zeros(()),
        outcomes=now.outcomes,
    )
    before, after = learned(state), learned(jax.jit(policy.update)(state, nothing))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-14), before, after)


@each_kind()
def test_quota(policy: Policy) -> None:
    sample_size, user = jnp.asarray(7.0), jnp.asarray(3.0)
    growth = getattr(policy, "growth", np.inf)
    context = jnp.asarray(SETS[0, 0])
    assert float(policy.quota(policy.init(), sample_size, user, context)) == growth * 3 - 7
