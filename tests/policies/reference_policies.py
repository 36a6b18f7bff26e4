"""Reference versions of the policies beyond the paper: slow, in plain NumPy and SciPy with float64.

A reference policy stores every stay and recomputes everything from all of them for each decision. Only
random numbers and the schedule of costly steps are shared with hrprob.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import optimize, special, stats

from hrprob.policies.schedule import refit_times

__all__ = ["REFERENCE_POLICIES", "Stay"]


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


# On the GLSE.


class OnGLSE(Reference):
    def estimates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        d = self.problem.dimension
        X = np.array([stay.x for stay in self.stays for _ in stay.outcomes]).reshape(-1, d)
        r = np.array([outcome for stay in self.stays for outcome in stay.outcomes])
        V = X.T @ X + self.policy.ridge * np.eye(d)
        theta = np.linalg.solve(V, X.T @ r)
        link = self.problem.link
        phi = np.linalg.solve(V, X.T @ (((r - X @ theta) ** 2 - link.offset) / link.slope))
        return theta, phi, V

    def plug_in(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        theta, phi, V = self.estimates()
        return contexts @ theta, np.maximum(self.variance(contexts @ phi), self.policy.variance_floor), V

    def greedy(self, contexts: np.ndarray, beta: float) -> np.ndarray:
        u, w, _ = self.plug_in(contexts)
        return self.value(u, w, beta)


def largest(reference: Reference, contexts: np.ndarray, beta: float, u: Any, w: Any) -> np.ndarray:
    """Return the largest value over the rectangle, by a grid on the edge of largest mean."""
    bounds, length = reference.problem.bounds, np.linalg.norm(contexts, axis=1)
    low = np.maximum(reference.variance(-bounds.phi * length), reference.policy.variance_floor)
    high = np.maximum(reference.variance(bounds.phi * length), reference.policy.variance_floor)
    top = np.clip(u[0] + u[1], -bounds.theta * length, bounds.theta * length)
    ends = np.clip(w[0] - w[1], low, high), np.clip(w[0] + w[1], low, high)
    edge = np.linspace(*ends, 33)
    return np.max(reference.value(top, edge, beta), axis=0)


class HRUCBExact(OnGLSE):
    def radii(self, V: np.ndarray) -> tuple[float, float]:
        policy, problem = self.policy, self.problem
        if policy.radius == "constant":
            return policy.xi, policy.xi
        d, lam, delta = problem.dimension, policy.ridge, policy.delta
        L, R, M = problem.bounds.phi, problem.bounds.theta, problem.link.slope
        top = self.variance(L)
        n = max(sum(len(stay.outcomes) for stay in self.stays), 1)
        corrected = policy.radius == "corrected"

        def alpha(delta: float) -> float:
            scale = math.sqrt(top) if corrected else top
            return scale * math.sqrt(d * math.log((n + lam) / (delta * lam))) + math.sqrt(lam) * (
                R if corrected else 1.0
            )

        third = delta / n**2 / 3
        second = math.sqrt(2 * d * top**2 * (math.log(1 / third) ** 2 + 1))
        cross = math.sqrt(2 * d * top * math.log(d / third))
        rho = (alpha(third) * (alpha(third) + 2 * cross) + second) / M
        return alpha(delta), rho + (L if corrected else L**2) * math.sqrt(lam)

    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        u, w, V = self.plug_in(contexts)
        r_theta, r_phi = self.radii(V)
        norm = np.sqrt(np.sum(contexts * np.linalg.solve(V, contexts.T).T, axis=1))
        half = self.problem.link.slope * r_phi * norm
        return largest(self, contexts, beta, (u, r_theta * norm), (w, half))


class HRUCBCalibrated(HRUCBExact):
    """The radii of a bootstrap whose noise is stored per stay. Up to 20 users quantiles are due after each."""

    replicates, seed = 100, 0x626F6F74

    def radii(self, V: np.ndarray) -> tuple[float, float]:
        policy, problem, link = self.policy, self.problem, self.problem.link
        if not self.stays:
            root = math.sqrt(policy.ridge)
            return root * problem.bounds.theta, root * problem.bounds.phi
        every, self.stays = self.stays, []
        x, rounds, totals, squares, assumed = [], [], [], [], []
        for number, stay in enumerate(every, start=1):
            _, phi, _ = self.estimates()
            w = max(self.variance(stay.x @ phi), policy.variance_floor)
            key = jax.random.fold_in(jax.random.key(self.seed), np.uint32(number))
            first, second = np.asarray(jax.random.normal(key, (2, self.replicates)))
            m = len(stay.outcomes)
            rest = np.zeros(self.replicates)
            if m > 1:
                part = 2 / (9 * (m - 1))
                rest = (m - 1) * np.maximum(1 - part + second * math.sqrt(part), 0) ** 3
            x.append(stay.x)
            rounds.append(m)
            totals.append(math.sqrt(m * w) * first)
            squares.append(w * (first**2 + rest))
            assumed.append((w - link.offset) / link.slope)
            self.stays.append(stay)
        theta, phi, V = self.estimates()
        X, m = np.array(x), np.array(rounds)
        errors = []
        for total, square in zip(np.array(totals).T, np.array(squares).T, strict=True):
            noise = np.linalg.solve(V, X.T @ total)
            u = X @ noise
            residuals = square - 2 * u * total + m * u**2
            drawn = np.linalg.solve(V, X.T @ ((residuals - link.offset * m) / link.slope))
            truth = np.linalg.solve(V, X.T @ (m * np.array(assumed)))
            shrunk = [policy.ridge * np.linalg.solve(V, b) for b in (theta, phi)]
            both = noise - shrunk[0], drawn - truth - shrunk[1]
            errors.append([math.sqrt(e @ V @ e) for e in both])
        place = min(math.ceil((1 - policy.delta) * (self.replicates + 1)) - 1, self.replicates - 1)
        return tuple(np.sort(np.array(errors), axis=0)[place])


class EpsilonGreedy(OnGLSE):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        t = len(self.stays) + 1
        probability = min(self.policy.epsilon * t**-self.policy.decay, 1.0)
        number = float(jax.random.uniform(key))
        if number < probability:
            return 1.0 * (np.arange(len(contexts)) == int(len(contexts) * number / probability))
        return self.greedy(contexts, beta)


class ExploreCommit(OnGLSE):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        explore = self.policy.explore
        explore = math.ceil(self.users ** (2 / 3)) if explore is None else int(explore)
        if len(self.stays) < explore:
            return 1.0 * (np.arange(len(contexts)) == int(jax.random.randint(key, (), 0, len(contexts))))
        every, self.stays = self.stays, self.stays[:explore]
        index = self.greedy(contexts, beta)
        self.stays = every
        return index


# On the weighted estimator.


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


class KLULCB(Reference):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        k = len(self.stays) + 1
        budget = math.log(k) + self.policy.constant * math.log(math.log(max(k, 3)))
        bounds = []
        for arm in range(len(contexts)):
            mine = [outcome for stay in self.stays if stay.action == arm for outcome in stay.outcomes]
            bounds.append(_upper(np.mean(np.array(mine) >= beta), budget / len(mine)) if mine else 2.0)
        return np.array(bounds)


def _upper(p: float, most: float) -> float:
    def excess(q: float) -> float:
        return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)) - most

    if excess(p) >= 0:
        return p
    return 1.0 if p == 1 else optimize.brentq(excess, p, 1 - 1e-15, xtol=1e-14)


REFERENCE_POLICIES: dict[str, Any] = {
    "contextual-ids": ContextualIDS,
    "epsilon-greedy": EpsilonGreedy,
    "explore-commit": ExploreCommit,
    "greedy-first": GreedyFirst,
    "hr-ucb-exact": HRUCBExact,
    "hr-ucb-weighted": HRUCBWeighted,
    "kl-ulcb": KLULCB,
    "variance-thompson": VarianceThompson,
    "weighted-oful": WeightedOFUL,
}
