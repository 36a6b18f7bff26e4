"""Policies where the right action is known: a single action, and a policy that knows the truth."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.estimation import glse, weighted
from hrprob.simulation.arrivals import arrivals
from tests.helpers import make
from tests.policies.problems import ONE_SET, PROBLEM
from tests.policies.reference import REFERENCE_POLICIES

KINDS = [
    *REFERENCE_POLICIES,
    pytest.param("ids", marks=pytest.mark.study),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_single_action_has_no_regret(kind: str) -> None:
    problem = ONE_SET.replace(contexts=hrprob.Finite([[[0.4, 0.1, 0.3, -0.2]]]))
    run = hrprob.simulate(problem, make(kind, {}), users=12, trials=2)
    assert np.all(run.regret == 0)
    assert np.all(run.action == 0)


def state_at_the_truth(policy: Any, problem: hrprob.Problem) -> Any:
    """Return a state whose estimates are θ* and φ*, with almost no uncertainty."""
    d, certain = problem.dimension, 1e-20 * jnp.eye(problem.dimension)
    state = policy.init()

    theta, phi = jnp.asarray(problem.theta), jnp.asarray(problem.phi)
    if hasattr(state, "bayes"):
        every = [jnp.broadcast_to(vector, (policy.draws, d)) for vector in (theta, phi)]
        return state._replace(theta=every[0], phi=every[1])

    def known(part: Any) -> Any:
        if isinstance(part, weighted.Estimates):
            return weighted.Estimates(weighted.Belief(theta, certain), weighted.Belief(phi, certain))
        return glse.Estimates(theta, phi, certain) if isinstance(part, glse.Estimates) else part

    estimates = (weighted.Estimates, glse.Estimates)
    return jax.tree.map(known, state, is_leaf=lambda part: isinstance(part, estimates))


WITHOUT_EXPLORATION = {
    "hr-ucb-exact": {},
    "hr-ucb-weighted": {},
    "contextual-ids": {},
    "greedy-first": {},
    "epsilon-greedy": {"epsilon": 0.0},
    "explore-commit": {"explore": 0},
    "weighted-oful": {"index": "lifetime"},
    "variance-thompson": {"index": "lifetime"},
    "ensemble-sampling": {},
    "huber-ucb": {},
}


@pytest.mark.parametrize("kind", [*WITHOUT_EXPLORATION, pytest.param("ids", marks=pytest.mark.study)])
def test_estimates_at_the_truth_select_the_best_action(kind: str) -> None:
    oracle = hrprob.Oracle()
    with double_precision():
        policy = make(kind, WITHOUT_EXPLORATION.get(kind, {})).bind(PROBLEM, 100)
        best = oracle.bind(PROBLEM, 100)
        state = state_at_the_truth(policy, PROBLEM)
        keys = trial_keys(0, np.arange(1))
        arrived = arrivals(PROBLEM, keys, np.arange(1, 41, dtype=np.uint32))
        select, select_best = jax.jit(policy.select), jax.jit(best.select)
        for place in range(40):
            contexts, beta = arrived.contexts[place, :, :, 0], arrived.beta[place, 0]
            chosen = select(state, jax.random.key(place), contexts, beta)
            assert int(chosen) == int(select_best((), jax.random.key(0), contexts, beta))
