"""Every action of a compiled run is the best one by the slow plain-NumPy version of the policy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import Purpose, Source, trial_keys
from hrprob.simulation.arrivals import arrivals
from tests.helpers import make
from tests.policies import reference as references
from tests.policies.problems import ONE_SET, PROBLEM

# The machine code that users run is what is compared.
pytestmark = pytest.mark.optimised

USERS, TRIALS, SEED = 26, 2, 3


ALL = {"growth": 1000.0}


VARIANTS: dict[str, tuple[str, dict[str, Any], hrprob.Problem]] = {
    "exact, constant": ("hr-ucb-exact", ALL | {"radius": "constant", "xi": 1.5}, PROBLEM),
    "exact, paper": ("hr-ucb-exact", ALL | {"radius": "paper"}, PROBLEM),
    "exact, corrected": ("hr-ucb-exact", ALL | {"radius": "corrected", "ridge": 0.5}, PROBLEM),
    "weighted": ("hr-ucb-weighted", {}, PROBLEM),
    "weighted, theory": ("hr-ucb-weighted", {"radius": "theory", "delta": 0.2}, PROBLEM),
    "weighted, greedy": ("hr-ucb-weighted", {"radius": "constant", "xi": 0.0}, PROBLEM),
    "contextual-ids": ("contextual-ids", {"points": 4}, PROBLEM),
    "contextual-ids, one set": ("contextual-ids", {}, ONE_SET),
    "greedy-first": ("greedy-first", {}, ONE_SET),
    "epsilon-greedy": ("epsilon-greedy", {}, PROBLEM),
    "explore-commit": ("explore-commit", {"explore": 10}, PROBLEM),
    "explore-commit, by T": ("explore-commit", {}, PROBLEM),
    "weighted-oful": ("weighted-oful", {}, PROBLEM),
    "weighted-oful, lifetime": ("weighted-oful", {"index": "lifetime", "radius": "calibrated"}, PROBLEM),
    "variance-thompson": ("variance-thompson", {}, PROBLEM),
    "variance-thompson, lifetime": ("variance-thompson", {"index": "lifetime"}, PROBLEM),
    "ensemble-sampling": ("ensemble-sampling", {}, PROBLEM),
    "ensemble-sampling, small": ("ensemble-sampling", {"members": 3, "scale": 0.5}, ONE_SET),
    # A threshold at which residuals are clipped from the first user on.
    "huber-ucb": ("huber-ucb", {"threshold": 0.3}, PROBLEM),
    "huber-ucb, one set": (
        "huber-ucb",
        {"moments_of_squares": 1.0, "radius": "constant", "xi": 1.0},
        ONE_SET,
    ),
    "kl-ulcb": ("kl-ulcb", {"eager": False}, ONE_SET),
}


def check_against_reference(reference: type, policy: Any, problem: hrprob.Problem, users: int) -> None:
    """Check that every action of a compiled run has the largest index of the reference, given the same past."""
    run = hrprob.simulate(problem, {"it": policy}, users=users, trials=TRIALS, seed=SEED, keep="all")
    with double_precision():
        keys = trial_keys(SEED, np.arange(TRIALS))
        numbers = np.arange(1, users + 1, dtype=np.uint32)
        arrived = arrivals(problem, keys, numbers)
        noise = np.asarray(problem.noise.draw(Source(keys, jnp.asarray(numbers)), 512))
        for trial in range(TRIALS):
            slow = reference(policy, problem, users)
            for place in range(users):
                contexts = np.asarray(arrived.contexts[place, :, :, trial])
                beta = float(arrived.beta[place, trial])
                action = int(run.action.values[0, trial, place])
                own = Source((keys[0][trial], keys[1][trial]), jnp.uint32(numbers[place]))
                index = slow.index(contexts, beta, own.key(Purpose.POLICY))
                # Indices closer than this are ties that rounding may decide either way.
                close = 1e-8 * max(1.0, abs(float(index.max())))
                assert index[action] >= index.max() - close, (trial, place, action, index)
                outcomes = arrived.mean[place, action, trial] + (
                    arrived.sd[place, action, trial] * noise[place, :, trial]
                )
                length = int(run.lifetime.values[0, trial, place])
                assert length == int(np.argmax(np.asarray(outcomes) < beta)) + 1
                slow.stays.append(references.Stay(contexts, beta, action, np.asarray(outcomes)[:length]))


# One variant per kind is slow, the others are studies.
FIRST = list({kind: variant for variant, (kind, _, _) in reversed(VARIANTS.items())}.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, marks=[] if variant in FIRST else [pytest.mark.study], id=variant)
        for variant in VARIANTS
    ],
)
def test_compiled_equals_reference(variant: str) -> None:
    kind, parameters, problem = VARIANTS[variant]
    users = 44 if kind == "greedy-first" else USERS
    check_against_reference(references.REFERENCE_POLICIES[kind], make(kind, parameters), problem, users)


@pytest.mark.slow
def test_calibrated_equals_reference() -> None:
    """Up to 20 users the quantiles are recomputed after each of them."""
    policy = make("hr-ucb-exact", ALL | {"radius": "calibrated"})
    check_against_reference(references.HRUCBCalibrated, policy, PROBLEM, 18)


def test_every_kind_here_has_a_reference() -> None:
    assert set(references.REFERENCE_POLICIES) == {kind for kind, _, _ in VARIANTS.values()}
