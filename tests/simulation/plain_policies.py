"""The policies of the plain loop: an index for every action, given the past. Ties go to the first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.simulation.plain_values import believed, value_of, values_and_costs, variance_at

if TYPE_CHECKING:
    from tests.simulation.plain_draws import Past, User

__all__ = ["PLAIN", "estimates", "sample_sums"]


def sample_sums(past: Past, d: int, ridge: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, r and V = XᵀX + λI."""
    X = np.array([sample.user.contexts[sample.action] for sample in past.samples]).reshape(-1, d)
    r = np.array([sample.outcome for sample in past.samples])
    return X, r, X.T @ X + ridge * np.eye(d)


def _norms(V: np.ndarray, contexts: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(contexts * np.linalg.solve(V, contexts.T).T, axis=1))


def estimates(policy: Any, problem: Any, past: Past) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return θ̂, φ̂ and V, the residuals being those of the newest θ̂."""
    X, r, V = sample_sums(past, problem.dimension, policy.ridge)
    theta = np.linalg.solve(V, X.T @ r)
    residuals = r - X @ theta
    phi = np.linalg.solve(V, X.T @ ((residuals**2 - problem.link.offset) / problem.link.slope))
    return theta, phi, V


def _plug_in(policy: Any, problem: Any, past: Past, user: User) -> tuple[np.ndarray, np.ndarray]:
    """Return the value at the GLSE, and V."""
    theta, phi, V = estimates(policy, problem, past)
    variance = np.maximum(variance_at(problem, phi, user.contexts), policy.variance_floor)
    return value_of(believed(policy, problem), user.contexts @ theta, variance, user.beta), V


def _greedy(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    return _plug_in(policy, problem, past, user)[0]


def _hr_ucb(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    h, V = _plug_in(policy, problem, past, user)
    return h + _xi(policy, problem, users, len(past.samples)) * _norms(V, user.contexts)


def _linucb(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    X, r, V = sample_sums(past, problem.dimension, max(policy.ridge, 1e-6))
    return user.contexts @ np.linalg.solve(V, X.T @ r) + policy.alpha * _norms(V, user.contexts)


def _sigma_max_ucb(
    bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int
) -> np.ndarray:
    X, r, V = sample_sums(past, problem.dimension, policy.ridge)
    largest = _variance_max(policy, problem)
    variance = largest if policy.divide_by == "sigma" else largest**2
    u = user.contexts @ np.linalg.solve(V, X.T @ r)
    h = value_of(believed(policy, problem), u, variance, user.beta)
    return h + _xi(policy, problem, users, len(past.samples)) * _norms(V, user.contexts)


def _oracle(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    return values_and_costs(problem, user)[0]


def _random(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    return 1.0 * (np.arange(len(user.contexts)) == user.choice(i, policy.eager))


def _cmdp(bound: Any, policy: Any, problem: Any, users: int, past: Past, user: User, i: int) -> np.ndarray:
    def cell(user: User) -> int:
        if policy.partition == "arbitrary":
            return int(abs(user.contexts[0, 0]) * 2**20 % 1 * policy.cells)
        point = user.contexts.reshape(-1)
        point = np.append(point, user.beta) if policy.with_beta else point
        return int(np.argmin(np.linalg.norm(bound.placed.centres - point, axis=1)))

    here = cell(user)
    rounds, departures = np.zeros((2, len(user.contexts)))
    for round in past.rounds:
        if cell(round.user) == here:
            rounds[round.action] += 1
            departures[round.action] += round.left
    t = 1 + sum(round.left for round in past.rounds)
    tries = rounds if policy.tries == "rounds" else departures
    unknown = tries < math.sqrt(t)
    if unknown.any():
        return np.where(unknown, user.lottery(i, policy.eager), -1)
    # Policy iteration on (there, gone): serving a for ever is worth V = 1 + γ(1 − p̂_a)V.
    stay, served = 1 - departures / rounds, 0
    while True:
        Q = 1 + policy.discount * stay / (1 - policy.discount * stay[served])
        if Q[served] == Q.max():
            return Q
        served = int(np.argmax(Q))


PLAIN = {
    "cmdp": _cmdp,
    "greedy": _greedy,
    "hr-ucb": _hr_ucb,
    "linucb": _linucb,
    "oracle": _oracle,
    "random": _random,
    "sigma-max-ucb": _sigma_max_ucb,
}


def _variance_max(policy: Any, problem: Any) -> float:
    if policy.variance_max is not None:
        return policy.variance_max
    return problem.link.slope * problem.bounds.phi + problem.link.offset


def _xi(policy: Any, problem: Any, users: int, samples: int) -> float:
    """ξ_t(δ) as Section 4.2 has it, with the errors of the print corrected under "corrected", for normal noise."""
    if policy.radius == "constant":
        return policy.xi
    d, lam, var, delta = problem.dimension, policy.ridge, _variance_max(policy, problem), policy.delta
    M_f, L = problem.link.slope, problem.bounds.phi
    mended = policy.radius == "corrected"

    def alpha_1(n: float, delta: float) -> float:
        scale = math.sqrt(var) if mended else var
        return scale * math.sqrt(d * math.log((n + lam) / (delta * lam))) + math.sqrt(lam)

    def alpha_2(delta: float) -> float:
        return math.sqrt(2 * d * var**2 * ((math.log(policy.c1 / delta) / policy.c2) ** 2 + 1))

    def alpha_3(delta: float) -> float:
        return math.sqrt(2 * d * var * math.log((2 * d if mended else d) / delta))

    def rho(n: float, delta: float) -> float:
        first = alpha_1(n, delta / 3)
        inner = first * (first + 2 * alpha_3(delta / 3)) + alpha_2(delta / 3)
        return inner / M_f + (L if mended else L**2) * math.sqrt(lam)

    if policy.radius == "released":
        return alpha_1(policy.growth * users, delta)
    n = max(samples, 1)
    return policy.c3 * alpha_1(n, delta) + policy.c4 * rho(n, delta / n**2)
