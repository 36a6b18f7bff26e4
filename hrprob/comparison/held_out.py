r"""Problems on which no policy was chosen: independent draws from a stated distribution.

A policy that is best on the problems it was chosen on need not be best elsewhere. These problems are drawn after the choice,
from a distribution that was written down before any of them was played:

=================  =============================================================================================
d, actions         (4, 4), (4, 20) or (8, 8), each with probability 1/3: sizes of the suite, so that programs are shared
θ*                 direction uniform on the sphere, norm uniform on [0.2, 0.9]
φ*                 direction uniform on the sphere, norm uniform on [0.1, 1.5]
link, bounds       f(z) = z + 2, ‖θ‖ ≤ 1, ‖φ‖ ≤ 2
contexts           with probability 1/4 each: new for every user, on the sphere or in the ball; one set for all users, or one
                   of ten sets per user, each set uniform in the ball
satisfaction       uniform on [l, l + w], l uniform on [−1, 0.5], w uniform on [0, 1.5]
noise              normal with probability 3/4, otherwise Student-t with 5 degrees of freedom
=================  =============================================================================================

The ranges keep expected lifetimes below about 300 rounds, so that no single user decides a regret. Problem i of a seed is the same
however many are drawn.
"""

from __future__ import annotations

import numpy as np

from hrprob._core.errors import check_count
from hrprob._core.random_numbers import check_run
from hrprob.noise import Normal, StudentT
from hrprob.numerics.directions import unit_vectors
from hrprob.problem import Affine, Bounds, Problem
from hrprob.problem.contexts import Ball, Contexts, Finite, Sphere
from hrprob.problem.levels import UniformLevels

__all__ = ["SIZES", "TRIALS", "USERS", "held_out_problems", "random_problem"]

SIZES = ((4, 4), (4, 20), (8, 8))
"""The dimensions and numbers of actions that are drawn from."""

USERS, TRIALS = 5000, 20
"""How large a run on each of the problems is by default."""


def held_out_problems(count: int, seed: int = 0) -> dict[str, Problem]:
    """Return ``count`` problems drawn from the distribution, by name.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the draws; the users that a run meets depend on the run's own seed.

    Examples
    --------
    >>> few, more = held_out_problems(1), held_out_problems(2)
    >>> list(more), repr(few["random-01"]) == repr(more["random-01"])
    (['random-01', 'random-02'], True)
    """
    count = check_count("held_out", count, remedy="it is a number of problems")
    check_run(USERS, TRIALS, seed)
    return {f"random-{number:02d}": random_problem(number, seed) for number in range(1, count + 1)}


def random_problem(number: int, seed: int = 0) -> Problem:
    """Return one problem drawn from the distribution.

    Examples
    --------
    >>> problem = random_problem(1)
    >>> (problem.dimension, problem.contexts.actions) in SIZES
    True
    """
    rng = np.random.Generator(np.random.PCG64([seed, number]))
    dimension, actions = SIZES[rng.integers(len(SIZES))]
    theta, phi = (rng.uniform(*norms) * unit_vectors(rng, (dimension,)) for norms in ((0.2, 0.9), (0.1, 1.5)))
    kind = rng.integers(4)
    contexts: Contexts
    if kind < 2:
        contexts = (Sphere(actions), Ball(actions))[kind]
    else:
        shape = ((1, 10)[kind - 2], actions, dimension)
        radius = rng.uniform(size=shape[:-1]) ** (1.0 / dimension)
        contexts = Finite(radius[..., None] * unit_vectors(rng, shape))
    low = rng.uniform(-1.0, 0.5)
    levels = UniformLevels(low, low + rng.uniform(0.0, 1.5))
    noise = Normal() if rng.uniform() < 0.75 else StudentT(5.0)
    return Problem(
        theta=theta,
        phi=phi,
        link=Affine(1.0, 2.0),
        noise=noise,
        contexts=contexts,
        satisfaction=levels,
        bounds=Bounds(1.0, 2.0),
    )
