"""Reference policies on the weighted estimator."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import optimize, special, stats

from hrprob.policies.schedule import refit_times
from tests.policies.reference.base import Reference, Stay, largest


class Beliefs(NamedTuple):
    """Means and covariances of θ and φ."""

    theta: np.ndarray
    theta_cov: np.ndarray
    phi: np.ndarray
    phi_cov: np.ndarray


class Weighted(Reference):
    def __init__(self, policy: Any, problem: Any, users: int) -> None:
        super().__init__(policy, problem, users)
        d = problem.dimension
        self.precisions = [(d + 2) / R**2 * np.eye(d) for R in (problem.bounds.theta, problem.bounds.phi)]
        none = np.zeros(d)
        first = Beliefs(none, np.linalg.inv(self.precisions[0]), none, np.linalg.inv(self.precisions[1]))
        self.path, self.weights = [first], []  # the beliefs before each stay, and its weighting variances

    def beliefs(self, stays: int | None = None) -> Beliefs:
        """Return the beliefs after ``stays`` stays, all by default, each weighted by the beliefs at its beginning."""
        while len(self.path) <= len(self.stays):
            self.weights.append(self.weighting(self.path[-1], self.stays[len(self.path) - 1].x))
            self.path.append(self.fitted(len(self.path)))
        return self.path[len(self.stays) if stays is None else stays]

    def fitted(self, stays: int) -> Beliefs:
        link = self.problem.link
        seen = [(stay, *weights) for stay, weights in zip(self.stays[:stays], self.weights, strict=True)]
        by_theta = sum(len(s.outcomes) / w * np.outer(s.x, s.x) for s, w, _ in seen)
        theta_cov = np.linalg.inv(self.precisions[0] + by_theta)
        theta = theta_cov @ sum(s.outcomes.sum() / w * s.x for s, w, _ in seen)
        by_phi = sum(len(s.outcomes) * link.slope**2 / (2 * w**2) * np.outer(s.x, s.x) for s, _, w in seen)
        phi_cov = np.linalg.inv(self.precisions[1] + by_phi)
        pull = sum(
            link.slope * np.sum((s.outcomes - s.x @ theta) ** 2 - link.offset) / (2 * w**2) * s.x
            for s, _, w in seen
        )
        return Beliefs(theta, theta_cov, phi_cov @ pull, phi_cov)

    def weighting(self, now: Beliefs, x: np.ndarray) -> tuple[float, float]:
        _, w, _, spread = (entry[0] for entry in self.moments(now, x[None]))
        return w + spread, w + spread

    def moments(self, now: Beliefs, contexts: np.ndarray) -> tuple[np.ndarray, ...]:
        length, bounds = np.linalg.norm(contexts, axis=1), self.problem.bounds

        def cut(mean: np.ndarray, cov: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            scale = np.sqrt(np.sum(contexts @ cov * contexts, axis=1))
            ends = (-most - contexts @ mean) / scale, (most - contexts @ mean) / scale
            truncated = stats.truncnorm(*ends, loc=contexts @ mean, scale=scale)
            return truncated.mean(), truncated.std()

        u, u_spread = cut(now.theta, now.theta_cov, bounds.theta * length)
        v, v_spread = cut(now.phi, now.phi_cov, bounds.phi * length)
        w = np.maximum(self.variance(v), self.policy.variance_floor)
        return u, w, u_spread, self.problem.link.slope * v_spread

    def optimistic(self, contexts: np.ndarray, beta: float, r_theta: float, r_phi: float) -> np.ndarray:
        u, w, u_spread, w_spread = self.moments(self.beliefs(), contexts)
        return largest(self, contexts, beta, (u, r_theta * u_spread), (w, r_phi * w_spread))

    def radii(self) -> tuple[float, float]:
        d, delta, bounds = self.problem.dimension, self.policy.delta, self.problem.bounds
        if self.policy.radius == "constant":
            return self.policy.xi, self.policy.xi
        if self.policy.radius == "calibrated":
            radius = math.sqrt(stats.chi2.isf(delta, d))
            return radius, radius
        now = self.beliefs()

        def bound(cov: np.ndarray, radius: float) -> float:
            gain = d * math.log(radius**2 / (d + 2)) - np.linalg.slogdet(cov)[1]
            return math.sqrt(2 * math.log(1 / delta) + gain) + math.sqrt(d + 2)

        return bound(now.theta_cov, bounds.theta), bound(now.phi_cov, bounds.phi)


class HRUCBWeighted(Weighted):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        return self.optimistic(contexts, beta, *self.radii())


class GreedyFirst(Weighted):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        return self.optimistic(contexts, beta, *(self.radii() if self.exploring() else (0.0, 0.0)))

    def exploring(self) -> bool:
        d = self.problem.dimension
        due = [t for t in np.flatnonzero(refit_times(self.users, 1.05)) if t >= 8 * d]
        for t in due:
            if t > len(self.stays):
                return False
            served = sum(np.outer(stay.x, stay.x) for stay in self.stays[:t])
            offered = sum(stay.contexts.T @ stay.contexts / len(stay.contexts) for stay in self.stays[:t])
            if np.linalg.eigvalsh(served)[0] < 0.25 * 0.5 * np.linalg.eigvalsh(offered)[0]:
                return True
        return False


class OFUL(Weighted):
    def settings(self) -> tuple[float, float, float]:
        """α², γ² and R."""
        largest = self.variance(self.problem.bounds.phi)
        R = math.sqrt(2 * largest * math.log(2 * 10 * self.users / self.policy.delta))
        return largest / self.users, R / math.sqrt(self.problem.dimension), R

    def weighting(self, now: Beliefs, x: np.ndarray) -> tuple[float, float]:
        variance, for_phi = super().weighting(now, x)
        least, share, _ = self.settings()
        return max(variance, least, share * math.sqrt(x @ now.theta_cov @ x)), for_phi

    def beta(self) -> float:
        d, delta = self.problem.dimension, self.policy.delta
        if self.policy.radius == "belief":
            return 1.0
        if self.policy.radius == "constant":
            return self.policy.xi
        if self.policy.radius == "calibrated":
            return math.sqrt(stats.chi2.isf(delta, d))
        least, share, R = self.settings()
        lam = (d + 2) / self.problem.bounds.theta**2
        n = max(sum(len(stay.outcomes) for stay in self.stays), 1)
        span = max(math.log(share / math.sqrt(least)), 0.0)
        ell = math.log(32 * (span + 1) * n**2 / delta)
        return (
            12 * math.sqrt(d * math.log(1 + n / (least * d * lam)) * ell)
            + 30 * ell * R / share
            + math.sqrt(lam) * self.problem.bounds.theta
        )

    def index_value(self, u: np.ndarray, w: np.ndarray, beta: float) -> np.ndarray:
        return u if self.policy.index == "mean" else self.value(u, w, beta)


class WeightedOFUL(OFUL):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        now = self.beliefs()
        u, w, _, _ = self.moments(now, contexts)
        norm = np.sqrt(np.sum(contexts @ now.theta_cov * contexts, axis=1))
        return self.index_value(u + self.beta() * norm, w, beta)


class VarianceThompson(OFUL):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        now = self.beliefs()
        noise = np.asarray(jax.random.normal(key, now.theta.shape))
        theta = now.theta + self.beta() * np.linalg.cholesky(now.theta_cov) @ noise
        return self.index_value(contexts @ theta, self.moments(now, contexts)[1], beta)


class ContextualIDS(Weighted):
    def __init__(self, policy: Any, problem: Any, users: int) -> None:
        super().__init__(policy, problem, users)
        self.recorded: list[tuple[float, float]] = []  # expected regret and information gain of each stay

    def record(self, number: int) -> tuple[float, float]:
        before, stay = self.beliefs(number), self.stays[number]
        gain = self.gains(before, stay.contexts, stay.beta)[stay.action]
        return self.expected_regret(before, stay, number), gain

    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        now = self.beliefs()
        while len(self.recorded) < len(self.stays):
            self.recorded.append(self.record(len(self.recorded)))
        regret, gain = 0.0, 0.0
        for n, (lost, gained) in enumerate(self.recorded, start=1):
            regret, gain = regret + 5 / (n + 4) * (lost - regret), gain + 5 / (n + 4) * (gained - gain)
        u, w, _, _ = self.moments(now, contexts)
        price = regret / (2 * gain) if gain > 0 else 0.0
        return np.minimum(self.value(u, w, beta), 1e6) + price * self.gains(now, contexts, beta)

    def gains(self, now: Beliefs, contexts: np.ndarray, beta: float) -> np.ndarray:
        u, w, s_u, s_w = self.moments(now, contexts)
        m = np.minimum(self.value(u, w, beta), 1e6)
        return 0.5 * np.log(1 + m * s_u**2 / w) + 0.5 * np.log(1 + m * s_w**2 / (2 * w**2))

    def expected_regret(self, now: Beliefs, stay: Stay, number: int) -> float:
        d, points = self.problem.dimension, self.policy.points
        g = optimize.brentq(lambda g: g ** (2 * d + 1) - g - 1, 1.0, 2.0, xtol=1e-15)
        numbers = number * points + np.arange(points)
        normal = special.ndtri(np.mod(0.5 + numbers[:, None] * g ** -np.arange(1.0, 2 * d + 1), 1.0))
        u, w, _, _ = self.moments(now, stay.contexts)
        length, bounds = np.linalg.norm(stay.contexts, axis=1), self.problem.bounds
        lost = []
        for row in normal:
            du = stay.contexts @ (np.linalg.cholesky(now.theta_cov) @ row[:d])
            dw = self.problem.link.slope * stay.contexts @ (np.linalg.cholesky(now.phi_cov) @ row[d:])
            low = np.maximum(self.variance(-bounds.phi * length), self.policy.variance_floor)
            drawn_u = np.clip(u + du, -bounds.theta * length, bounds.theta * length)
            drawn_w = np.clip(w * np.exp(dw / w), low, self.variance(bounds.phi * length))
            values = np.minimum(self.value(drawn_u, drawn_w, stay.beta), 1e6)
            lost.append(values.max() - values[stay.action])
        return float(np.mean(lost))
