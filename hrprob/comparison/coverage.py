"""How often the confidence sets of an optimistic policy contain the truth while it plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.precision import double_precision
from hrprob._core.types import PyTree
from hrprob.estimation.weighted import Estimates
from hrprob.numerics.products import contract
from hrprob.policies.base import Policy
from hrprob.policies.radii.base import Radii
from hrprob.problem import Problem
from hrprob.simulation.play import look_at_states

__all__ = ["coverage"]


def coverage(
    problem: Problem, policy: Policy, *, users: Sequence[int], trials: int = 400, seed: int = 0
) -> xarray.Dataset:
    """Measure how often the sets of a policy contain θ* and φ*, after some users of its own runs.

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
        Over parameter (θ, φ) and user: ``coverage``, the share of trials in which the set contained the
        truth after that user; ``always``, the share in which it did so after that user and all earlier
        ones that were asked for; ``radius``, the mean radius. The standard error of a share p is
        √(p(1 − p)/trials).

    Examples
    --------
    >>> import hrprob
    >>> wide = hrprob.HRUCB(radius="constant", xi=1e6)  # slow
    >>> coverage(hrprob.Problem(), wide, users=[5, 10], trials=4).coverage.sel(parameter="phi").values.tolist()
    [1.0, 1.0]
    """
    marks = sorted({check_count("users", user, remedy="users are numbered from 1") for user in users})
    if not marks:
        raise InvalidInput("users", "must not be empty", list(users), "say after which users to look")
    check_count("trials", trials, remedy="a share needs trials")
    if not hasattr(policy, "confidence_sets"):
        raise InvalidInput("policy", "must have confidence sets", policy.kind, "for example hr-ucb")
    problem.check_still("sets are about one truth")
    with double_precision():
        errors, radii = look_at_states(
            problem,
            policy,
            lambda bound, state: _errors(cast(_WithSets, bound), state, problem.theta, problem.phi),
            marks,
            trials,
            seed,
        )
    inside = errors <= radii
    axes = ("parameter", "user")
    return xarray.Dataset(
        {
            "coverage": (axes, inside.mean(axis=-1).T),
            "always": (axes, np.logical_and.accumulate(inside, axis=0).mean(axis=-1).T),
            "radius": (axes, radii.mean(axis=-1).T),
        },
        coords={"parameter": ["theta", "phi"], "user": marks},
        attrs={"trials": trials, "seed": seed},
    )


class _WithSets(Protocol):
    def confidence_sets(self, state: PyTree) -> tuple[Estimates, Radii]: ...


@jax.jit
def _errors(
    policy: _WithSets, state: PyTree, theta: np.ndarray, phi: np.ndarray
) -> tuple[jax.Array, jax.Array]:
    """Return the errors of θ̂ and φ̂ in the norms of their sets, and the radii; (2, trials) each."""

    def one(state: PyTree) -> tuple[jax.Array, jax.Array]:
        shapes, radii = policy.confidence_sets(state)
        errors = []
        for belief, truth in zip(shapes, (theta, phi), strict=True):
            away = belief.mean - truth
            errors.append(jnp.sqrt(contract(jnp.linalg.solve(belief.covariance, away), away)))
        return jnp.stack(errors), jnp.stack([jnp.asarray(radius, dtype=float) for radius in radii])

    return jax.vmap(one, -1, -1)(state)
