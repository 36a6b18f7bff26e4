"""How often the confidence sets of an optimistic policy hold the truth while it plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.numerics.products import contract
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.arrivals import checked_arrivals
from hrprob.simulation.engine import advance, begin, check_warm_up, warm_up

__all__ = ["coverage"]


def coverage(
    problem: Problem, policy: Policy, *, users: Sequence[int], trials: int = 400, seed: int = 0
) -> xarray.Dataset:
    """Measure how often the sets of a policy hold θ* and φ*, at some users of its own runs.

    Parameters
    ----------
    problem : Problem
        What is played.
    policy : Policy
        One with sets: hr-ucb, hr-ucb-exact or hr-ucb-weighted, with any radius.
    users : sequence of int
        After which users to look.
    trials, seed : int
        How many trials, and the seed of everything random.

    Returns
    -------
    xarray.Dataset
        Over parameter (θ, φ) and user: ``held``, the share of trials in which the set held the truth
        then; ``always``, in which it did at that user and at all looked at before; ``radius``, its
        mean. The standard error of a share p is √(p(1 − p)/trials).

    Examples
    --------
    >>> import hrprob
    >>> wide = hrprob.HRUCB(radius="constant", xi=1e6)
    >>> coverage(hrprob.Problem(), wide, users=[5, 10], trials=4).held.sel(parameter="phi").values.tolist()
    [1.0, 1.0]
    """
    marks = sorted({check_count("users", user, remedy="users are numbered from 1") for user in users})
    if not marks:
        raise InvalidInput("users", "must not be empty", list(users), "say after which users to look")
    check_count("trials", trials, remedy="a share needs trials")
    if not hasattr(policy, "confidence_sets"):
        raise InvalidInput("policy", "must have confidence sets", policy.kind, "for example hr-ucb")
    with double_precision():
        inside, radii = _look(problem, policy, marks, trials, seed)
    axes = ("parameter", "user")
    return xarray.Dataset(
        {
            "held": (axes, inside.mean(axis=-1).T),
            "always": (axes, np.logical_and.accumulate(inside, axis=0).mean(axis=-1).T),
            "radius": (axes, radii.mean(axis=-1).T),
        },
        coords={"parameter": ["theta", "phi"], "user": marks},
        attrs={"trials": trials, "seed": seed},
    )


def _look(
    problem: Problem, policy: Policy, marks: list[int], trials: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each set held the truth, and its radius; (marks, 2, trials) each."""
    bound, keys = policy.bind(problem, marks[-1]), trial_keys(seed, np.arange(trials))
    carry = begin(bound, keys)
    if bound.warmup:
        check_warm_up(problem, keys, bound.warmup)
        carry = warm_up(problem, bound, keys, carry)
    held, sizes = [], []
    for first, last in zip([0, *marks[:-1]], marks, strict=True):
        arrived = checked_arrivals(problem, keys, np.arange(first + 1, last + 1, dtype=np.uint32))
        carry, _ = advance(problem.rules, bound, keys, carry, arrived)
        errors, radii = _errors(bound, carry.learning.state, problem.theta, problem.phi)
        held.append(np.asarray(errors <= radii))
        sizes.append(np.asarray(radii))
    return np.array(held), np.array(sizes)


@jax.jit
def _errors(policy: Any, state: Any, theta: Any, phi: Any) -> tuple[jax.Array, jax.Array]:
    """Return how far θ̂ and φ̂ are off in the norms of their sets, and the radii; (2, trials) each."""

    def one(state: Any) -> tuple[jax.Array, jax.Array]:
        shapes, radii = policy.confidence_sets(state)
        errors = []
        for belief, truth in zip(shapes, (theta, phi), strict=True):
            away = belief.mean - truth
            errors.append(jnp.sqrt(contract(jnp.linalg.solve(belief.covariance, away), away)))
        return jnp.stack(errors), jnp.stack([jnp.asarray(radius, dtype=float) for radius in radii])

    return jax.vmap(one, -1, -1)(state)
