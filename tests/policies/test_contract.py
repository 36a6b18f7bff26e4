"""What every registered policy must do, whoever wrote it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.policies import POLICIES, Policy, Seen
from hrprob.policies.bayes import BayesLearner
from hrprob.policies.learners import GLSEState, RidgeState, WeightedState
from hrprob.simulation.programs import advance
from tests.helpers import make

ACTIONS, DIMENSION, USERS, TRIALS = 4, 3, 12, 3
SETS = np.random.default_rng(0).uniform(-0.5, 0.5, size=(5, ACTIONS, DIMENSION))
PROBLEM = hrprob.Problem(
    theta=[0.6, -0.3, 0.2], phi=[0.5, 0.2, -0.8], contexts=hrprob.Finite(SETS), link=hrprob.Affine(0.8, 2.0)
)
KINDS = POLICIES.kinds()
# A policy that is defined on some problems only has one of these.
OWN = {"kl-ulcb": PROBLEM.replace(contexts=hrprob.Finite(SETS[:1]), satisfaction=hrprob.FixedLevels(0.2))}
# Posteriors take long to interpret: a search without the points that refine it is the same code otherwise.
QUICKER = {"engine": {"kind": "laplace", "points": 0}}
QUICK = {kind: QUICKER for kind, cls in KINDS.items() if issubclass(cls, BayesLearner)}


class Given(NamedTuple):
    """What a user brings and what comes of it, the user on the first axis."""

    key: jax.Array
    contexts: np.ndarray
    beta: np.ndarray
    outcomes: np.ndarray  # three rounds each


def given(seed: int, users: int = USERS) -> Given:
    rng = np.random.default_rng(seed)
    return Given(
        jax.random.split(jax.random.key(seed), users),
        SETS[rng.integers(len(SETS), size=users)],
        rng.uniform(-1, 1, size=users),
        rng.normal(size=(users, 3)),
    )


def step(policy: Policy, state: Any, user: jax.Array, given: Given) -> tuple[Any, jax.Array]:
    """Serve one user for three rounds."""
    action = policy.select(state, given.key, given.contexts, given.beta)
    seen = Seen(
        user=user,
        contexts=given.contexts,
        action=action,
        context=given.contexts[action],
        beta=given.beta,
        played=jnp.asarray(3.0),
        left=jnp.asarray(True),
        sampled=jnp.asarray(3.0),
        total=given.outcomes.sum(),
        squares=(given.outcomes**2).sum(),
        outcomes=given.outcomes,
    )
    return policy.depart(policy.update(state, seen), user), action


def run(policy: Policy, given: Given) -> tuple[Any, jax.Array]:
    """Serve all users in one scan."""
    users = jnp.arange(1.0, len(given.beta) + 1)
    return jax.lax.scan(lambda state, now: step(policy, state, *now), policy.init(), (users, given))


def loop(policy: Policy, given: Given) -> tuple[Any, list[int]]:
    """The same as a plain loop, nothing compiled."""
    state, actions = jax.tree.map(jnp.asarray, policy.init()), []
    with jax.disable_jit():
        for user in range(len(given.beta)):
            now = jax.tree.map(lambda leaf, user=user: jnp.asarray(leaf[user]), given)
            state, action = step(policy, state, jnp.asarray(user + 1.0), now)
            actions.append(action)
    return state, actions


@pytest.fixture(
    params=[pytest.param(kind, marks=[pytest.mark.slow] if kind in QUICK else []) for kind in KINDS]
)
def policy(request: pytest.FixtureRequest) -> Any:
    with double_precision():
        made = KINDS[request.param](**QUICK.get(request.param, {}))
        yield made.bind(OWN.get(request.param, PROBLEM), USERS)


@pytest.mark.slow
def test_compiled_is_as_interpreted(policy: Policy) -> None:
    users = given(1, users=2 if policy.kind in QUICK else 4)
    compiled_state, compiled_actions = jax.jit(run)(policy, users)
    state, actions = loop(policy, users)
    assert compiled_actions.tolist() == [int(action) for action in actions]
    # The compiler may order sums differently.
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-11), compiled_state, state)


@pytest.mark.slow
def test_batched_is_as_one_by_one(policy: Policy) -> None:
    several = [given(seed) for seed in range(TRIALS)]
    batched = jax.tree.map(lambda *leaves: jnp.stack(leaves), *several)
    states, actions = jax.jit(jax.vmap(run, (None, 0)))(policy, batched)
    compiled = jax.jit(run)
    for trial, alone in enumerate(several):
        state, chosen = compiled(policy, alone)
        assert actions[trial].tolist() == chosen.tolist()
        jax.tree.map(
            lambda one, other, trial=trial: np.testing.assert_allclose(one[trial], other, atol=1e-11),
            states,
            state,
        )


def test_action_is_a_whole_number_in_range(policy: Policy) -> None:
    _, actions = jax.jit(run)(policy, given(2))
    assert jnp.issubdtype(actions.dtype, jnp.integer)
    assert actions.shape == (USERS,)
    assert actions.min() >= 0
    assert actions.max() < ACTIONS


def test_state_keeps_its_form(policy: Policy) -> None:
    def form(state: Any) -> Any:
        return jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.asarray(leaf).dtype), state)

    before = policy.init()
    after, _ = jax.eval_shape(step, policy, before, jnp.asarray(1.0), jax.tree.map(lambda x: x[0], given(0)))
    assert jax.tree.structure(before) == jax.tree.structure(after)
    assert form(before) == jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), after)
    for leaf in jax.tree.leaves(before):
        assert jnp.asarray(leaf).dtype != jnp.float32


def test_learns_nothing_from_rounds_not_taken(policy: Policy) -> None:
    """A round that the sample set does not take leaves the statistics as they were."""

    def learned(state: Any) -> Any:
        return getattr(state, "learned", state)

    if not isinstance(learned(policy.init()), GLSEState | RidgeState | WeightedState):
        pytest.skip("keeps no statistics of a sample set")
    now = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), given(0))
    state, action = step(policy, policy.init(), jnp.asarray(1.0), now)
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
    before, after = learned(state), learned(policy.update(state, nothing))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-14), before, after)


def test_quota(policy: Policy) -> None:
    taken, user = jnp.asarray(7.0), jnp.asarray(3.0)
    growth = getattr(policy, "growth", np.inf)
    context = jnp.asarray(SETS[0, 0])
    assert float(policy.quota(policy.init(), taken, user, context)) == growth * 3 - 7


# Parameters.


def parameters(kind: str) -> dict[str, Any]:
    return next(entry["parameters"] for entry in POLICIES.describe() if entry["kind"] == kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_a_default(kind: str) -> None:
    assert parameters(kind)
    for name, default in parameters(kind).items():
        assert default is not dataclasses.MISSING, name
    policy = make(kind, {})
    assert policy.kind == kind
    assert make(kind, parameters(kind)) == policy


def documented(cls: type) -> set[str]:
    """Return the names in the section Parameters of a numpydoc docstring."""
    text = inspect.cleandoc(cls.__doc__ or "")
    sections = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    headed = dict(zip(sections[1::2], sections[2::2], strict=True))
    lines = re.findall(r"^(\S.*)$", headed.get("Parameters", ""), flags=re.MULTILINE)
    return {name.strip() for line in lines for name in line.split(" : ")[0].split(",")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_documented(kind: str) -> None:
    named = set().union(*(documented(cls) for cls in KINDS[kind].__mro__ if issubclass(cls, Policy)))
    assert set(parameters(kind)) <= named


@pytest.mark.parametrize("kind", KINDS)
def test_description_is_one_sentence(kind: str) -> None:
    description = next(entry["description"] for entry in POLICIES.describe() if entry["kind"] == kind)
    assert description.endswith(".")
    assert len(description) > 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "wrong",
    [{"warmup": -1}, {"warmup": 1.5}, {"eager": "yes"}, {"eager": 1}, {"no_such_thing": 1}],
    ids=str,
)
def test_wrong_parameters_of_all(kind: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        make(kind, wrong)


WRONG = {
    "hr-ucb": [
        {"growth": 0.5},
        {"growth": "5"},
        {"growth": None},
        {"ridge": 0},
        {"ridge": float("nan")},
        {"delta": 0},
        {"delta": 1},
        {"radius": "wide"},
        {"radius": "constant"},
        {"xi": 3.0},
        {"radius": "constant", "xi": -1.0},
        {"variance_max": 0},
        {"variance_floor": 0},
        {"c1": 0},
        {"c2": -1},
        {"c3": "guessed"},
        {"c4": -0.1},
    ],
    "hr-ucb-exact": [{"radius": "narrow"}, {"delta": 1.5}, {"radius": "constant"}, {"xi": 1.0}],
    "hr-ucb-weighted": [
        {"radius": "paper"},
        {"delta": 0},
        {"radius": "constant"},
        {"xi": 1.0},
        {"variance_floor": 0},
        {"growth": 0.5},
        {"samples": "informative", "growth": 5},
    ],
    "contextual-ids": [{"points": 0}, {"points": 1.5}, {"variance_floor": -1}],
    "ids": [{"draws": 1}, {"information": "all"}, {"mix": 1}, {"engine": "svi"}],
    "greedy-first": [{"radius": "released"}, {"delta": 1}, {"radius": "constant"}],
    "epsilon-greedy": [{"epsilon": -0.1}, {"decay": 1.5}, {"decay": "slow"}, {"ridge": 0}],
    "explore-commit": [{"explore": -1}, {"explore": 2.5}, {"ridge": 0}],
    "weighted-oful": [
        {"index": "median"},
        {"radius": "paper"},
        {"radius": "belief"},
        {"delta": 0},
        {"xi": 1.0},
    ],
    "variance-thompson": [{"index": "variance"}, {"radius": "narrow"}, {"radius": "constant"}, {"delta": 2}],
    "kl-ulcb": [{"constant": -1}, {"constant": "3"}],
    "greedy": [{"growth": 0}, {"ridge": 0}, {"variance_floor": -1}],
    "linucb": [{"alpha": -1}, {"alpha": "1"}, {"ridge": -1}, {"growth": True}],
    "sigma-max-ucb": [
        {"ridge": 0},
        {"divide_by": "zero"},
        {"radius": "narrow"},
        {"delta": 2},
        {"xi": 1.0},
        {"variance_max": -4},
        {"variance_floor": 0},
    ],
    "cmdp": [
        {"partition": "squares"},
        {"cells": 0},
        {"cells": 2.5},
        {"tries": "days"},
        {"with_beta": 1},
        {"with_beta": True, "partition": "sets"},
        {"discount": 1},
        {"discount": 0},
    ],
    "oracle": [],
    "random": [],
    "bayes-greedy": [{"engine": "mcmc"}, {"model": "cauchy"}, {"prior": "flat"}, {"refit": 0}, {"draws": 0}],
    "bayes-ucb": [{"level": 0}, {"level": 1}, {"draws": 1.5}],
    "thompson": [{"scale": -1}, {"engine": None}],
    "thompson-known-variance": [{"scale": -1}, {"growth": 0}],
    "thompson-homoscedastic": [{"scale": "1"}, {"shape": 0}, {"ridge": 0}],
}


def test_wrong_parameters_are_listed_for_every_kind() -> None:
    assert {kind for kind, cls in KINDS.items() if cls.__module__.startswith("hrprob.")} <= set(WRONG)


@pytest.mark.parametrize(
    ("kind", "wrong"), [(kind, wrong) for kind, several in WRONG.items() for wrong in several], ids=str
)
def test_wrong_parameters(kind: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        KINDS[kind](**wrong)
    message = str(caught.value)
    # What it must be, what was got, and what would do.
    assert re.fullmatch(r"`\w+` must .+, got .+: .+", message)
    assert caught.value.field in wrong or caught.value.field == "xi"


def test_an_unknown_kind() -> None:
    with pytest.raises(InvalidInput, match=r"`policy.kind` must be one of .*'hr-ucb'.*did you mean `hr-ucb`"):
        make("hr-cub", {})


# Programs: numbers are arguments of a program, options are part of it.

TINY = hrprob.Problem(theta=[0.5], phi=[0.5], contexts=hrprob.Finite([[[0.5], [0.4]]]))
# Whatever kind of number it is: an int, a NumPy scalar, none where there is a default.
PROGRAMS = {
    "hr-ucb": [
        [
            {"growth": 2},
            {"growth": 3.5, "ridge": 0.5, "warmup": 2, "variance_floor": 0.1},
            {"delta": 0.3, "variance_max": 3, "c1": 2, "c3": 0.5},
            {"radius": "constant", "xi": 7},
            {"radius": "constant", "xi": np.float64(7.5)},
        ],
        [
            {"radius": "paper"},
            {"radius": "paper", "growth": 5, "delta": 0.3, "c1": 2, "c2": 3, "c3": 0, "c4": 0.1},
            {"radius": "paper", "delta": np.float64(0.2), "variance_max": 4, "ridge": 2},
        ],
        [{"eager": True}, {"eager": True, "growth": 1}],
    ],
    "hr-ucb-exact": [
        [{}, {"radius": "constant", "xi": 2}, {"growth": 3, "delta": 0.2, "ridge": 2}],
        [{"radius": "calibrated"}, {"radius": "calibrated", "delta": 0.3, "ridge": 2, "growth": 2}],
    ],
    "hr-ucb-weighted": [
        [{}, {"delta": 0.3}, {"radius": "constant", "xi": 0}, {"growth": 5, "variance_floor": 0.1}],
        [{"radius": "theory"}, {"radius": "theory", "delta": 0.3}],
    ],
    "contextual-ids": [[{}, {"growth": 5, "variance_floor": 0.1}], [{"points": 3}]],
    "greedy-first": [[{}, {"delta": 0.3}, {"radius": "constant", "xi": 2}]],
    "epsilon-greedy": [[{}, {"epsilon": 0, "decay": 1}, {"epsilon": 3, "ridge": 2}]],
    "explore-commit": [[{}, {"explore": 1}, {"explore": 0, "ridge": 2}]],
    "weighted-oful": [
        [{"radius": "calibrated"}, {"radius": "constant", "xi": 2}],
        [{}, {"delta": 0.3}],
        [{"index": "lifetime"}],
    ],
    "variance-thompson": [[{}, {"radius": "calibrated", "delta": 0.2}, {"radius": "constant", "xi": 0.5}]],
    "greedy": [
        [{}, {"growth": 5}, {"ridge": 3, "variance_floor": 0.5}],
        [{"warmup": 1}, {"warmup": 1, "ridge": 3}],
    ],
    "linucb": [[{}, {"alpha": 0}, {"alpha": 2, "growth": 5, "ridge": 0}]],
    "sigma-max-ucb": [
        [
            {},
            {"divide_by": "variance"},
            {"variance_max": 3},
            {"radius": "constant", "xi": 2, "variance_max": np.float64(3.5)},
        ]
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROGRAMS)
def test_numbers_share_a_program_and_options_do_not(kind: str) -> None:
    advance.clear_cache()
    other = TINY.replace(
        theta=[0.1],
        link=hrprob.Affine(0.5, 3),
        satisfaction=hrprob.UniformLevels(-2, 0),
        contexts=hrprob.Ball(TINY.contexts.actions),
    )
    for programs, variants in enumerate(PROGRAMS[kind], start=1):
        for seed, variant in enumerate(variants):
            hrprob.simulate(TINY, make(kind, variant), users=2, trials=1, seed=seed)
        hrprob.simulate(other, make(kind, variants[0]), users=2, trials=1)
        assert advance._cache_size() == programs
