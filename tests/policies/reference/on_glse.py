"""Reference policies on the GLSE."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from tests.policies.reference.base import Reference, largest


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
        cross = math.sqrt(2 * d * top * math.log((2 * d if corrected else d) / third))
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
