"""Users of a small problem with given parts, for the tests of arrivals of one's own."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.simulation.arrivals import Arrivals, arrivals

THETA, PHI = [0.6, 0.5, 0.5, 0.3], [0.5, 0.2, 0.8, 0.9]

SETS = np.random.default_rng(0).uniform(-0.4, 0.4, size=(3, 2, 4))


def arrive(users: Any, trials: int = 3, **parts: Any) -> Arrivals:
    problem = hrprob.Problem(theta=THETA, phi=PHI, **parts)
    with double_precision():
        made = arrivals(problem, trial_keys(1, np.arange(trials)), np.asarray(users, dtype=np.uint32))
        return jax.tree.map(np.asarray, made)


def complaint(make: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        make()
    return caught.value
