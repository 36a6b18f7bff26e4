"""What all reference policies share: the stays so far, h, and the largest value over a rectangle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special


class Stay(NamedTuple):
    """A user's stay under one action."""

    contexts: np.ndarray  # (actions, d)
    beta: float
    action: int
    outcomes: np.ndarray  # (rounds,)

    @property
    def x(self) -> np.ndarray:
        return self.contexts[self.action]


class Reference:
    """The base of all: the policy's parameters, the problem, T, and the stays so far."""

    def __init__(self, policy: Any, problem: Any, users: int) -> None:
        self.policy, self.problem, self.users = policy, problem, users
        self.stays: list[Stay] = []

    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        raise NotImplementedError

    def value(self, u: Any, w: Any, beta: float) -> np.ndarray:
        return np.exp(-special.log_ndtr((beta - u) / np.sqrt(w)))

    def variance(self, v: Any) -> Any:
        return self.problem.link.slope * v + self.problem.link.offset


def largest(reference: Reference, contexts: np.ndarray, beta: float, u: Any, w: Any) -> np.ndarray:
    """Return the largest value over the rectangle, by a grid on the edge of largest mean."""
    bounds, length = reference.problem.bounds, np.linalg.norm(contexts, axis=1)
    low = np.maximum(reference.variance(-bounds.phi * length), reference.policy.variance_floor)
    high = np.maximum(reference.variance(bounds.phi * length), reference.policy.variance_floor)
    top = np.clip(u[0] + u[1], -bounds.theta * length, bounds.theta * length)
    ends = np.clip(w[0] - w[1], low, high), np.clip(w[0] + w[1], low, high)
    edge = np.linspace(*ends, 33)
    return np.max(reference.value(top, edge, beta), axis=0)
