"""A truth per trial: θ* and φ* that differ between the trials of one block.

The problem then has θ* and φ* as arrays with the trials on the last axis. A policy whose
``bind`` looks at the truth is bound to the problem of each trial, and those of its numbers that
differ get a trial axis too. With one truth for all trials nothing of this enters a program.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.records import record, with_fields
from hrprob._core.types import PyTree
from hrprob.policies.base import Policy
from hrprob.problem import Problem

__all__ = ["SHARED", "OwnNumbers", "Truths", "bind_to_each", "with_own_numbers", "with_truths"]


class Truths(NamedTuple):
    """What is true in each trial."""

    theta: np.ndarray  # (trials, d)
    phi: np.ndarray  # (trials, d)


@record(static=("places",))
class OwnNumbers:
    """The numbers of a policy that differ between trials, and their places among the policy's leaves."""

    leaves: tuple[jax.Array, ...] = ()  # each (..., trials)
    places: tuple[int, ...] = ()


SHARED = OwnNumbers()
"""All trials share every number of the policy."""


def with_truths(problem: Problem, truths: Truths) -> Problem:
    """Return the problem with θ* and φ* of shape (d, trials); only arrivals can be made from it."""
    return with_fields(problem, theta=jnp.asarray(truths.theta.T), phi=jnp.asarray(truths.phi.T))


def bind_to_each(policy: Policy, problem: Problem, truths: Truths, users: int) -> tuple[Policy, OwnNumbers]:
    """Return the policy bound to the problem of the first trial, and what is different in the others."""

    def bound(trial: int) -> Policy:
        with_truth = with_fields(problem, theta=truths.theta[trial], phi=truths.phi[trial])
        return policy.bind(with_truth, users)

    first, trials = bound(0), len(truths.theta)
    places = _differing(first, bound(trials - 1))
    if not places:
        return first, SHARED
    each = [jax.tree.leaves(bound(trial)) for trial in range(trials)]
    leaves = (jnp.stack([jnp.asarray(own[place]) for own in each], -1) for place in places)
    return first, OwnNumbers(tuple(leaves), tuple(places))


def _differing(one: PyTree, other: PyTree) -> list[int]:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return [place for place, (a, b) in enumerate(pairs) if not np.array_equal(np.asarray(a), np.asarray(b))]


def with_own_numbers(policy: Policy, own: OwnNumbers) -> Policy:
    """Return the policy with the numbers of one trial, whose trial axis is gone (inside ``vmap``)."""
    if not own.places:
        return policy
    leaves, structure = jax.tree.flatten(policy)
    for place, leaf in zip(own.places, own.leaves, strict=True):
        leaves[place] = leaf
    bound: Policy = jax.tree.unflatten(structure, leaves)
    return bound
