"""Ensemble sampling and adaptive Huber regression, from all stays for each decision."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.random_numbers import key_of_data
from hrprob.policies.ensemble_sampling import _FIRST_KEY
from tests.policies.reference.on_weighted import Beliefs, HRUCBWeighted, Weighted

# Single outcomes of a stay that a policy is told.
TOLD = 16


class EnsembleSampling(Weighted):
    def index(self, contexts: np.ndarray, beta: float, key: Any) -> np.ndarray:
        now, (by_theta, by_phi) = self.beliefs(), self.perturbations()
        by_member, by_sign = jax.random.split(key)
        member = int(jax.random.randint(by_member, (), 0, self.members))
        step = self.policy.scale * (1.0 if bool(jax.random.bernoulli(by_sign)) else -1.0)
        theta = now.theta + step * now.theta_cov @ by_theta[member]
        phi = now.phi + step * now.phi_cov @ by_phi[member]
        length, bounds = np.linalg.norm(contexts, axis=1), self.problem.bounds
        u = np.clip(contexts @ theta, -bounds.theta * length, bounds.theta * length)
        v = np.clip(contexts @ phi, -bounds.phi * length, bounds.phi * length)
        return self.value(u, np.maximum(self.variance(v), self.policy.variance_floor), beta)

    @property
    def members(self) -> int:
        return self.policy.members or max(2, math.ceil(self.problem.dimension * math.log(self.users)))

    def perturbations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return those of θ and φ, (members, d) each, from the first stay on."""
        d, m, slope = self.problem.dimension, self.members, self.problem.link.slope
        theta, phi, words = np.zeros((m, d)), np.zeros((m, d)), jnp.asarray(_FIRST_KEY, jnp.uint32)
        for number, (stay, (for_theta, for_phi)) in enumerate(zip(self.stays, self.weights, strict=True)):
            seen = jnp.asarray([stay.outcomes.sum(), (stay.outcomes**2).sum()])
            of_stay, of_prior, after = jax.random.split(key_of_data(words, seen), 3)
            if number == 0:
                prior = np.asarray(jax.random.normal(of_prior, (2, m, d)))
                theta, phi = (
                    np.linalg.cholesky(self.precisions[part]) @ prior[part][..., None] for part in (0, 1)
                )
                theta, phi = theta[..., 0], phi[..., 0]
            noise, rounds = np.asarray(jax.random.normal(of_stay, (2, m))), len(stay.outcomes)
            theta = theta + np.outer(noise[0], math.sqrt(rounds / for_theta) * stay.x)
            phi = phi + np.outer(noise[1], math.sqrt(rounds * slope**2 / (2 * for_phi**2)) * stay.x)
            words = jax.random.key_data(after)
        return theta, phi


class HuberUCB(HRUCBWeighted):
    def fitted(self, stays: int) -> Beliefs:
        """Return the beliefs after one more stay: one step with clipped residuals for θ, one for φ."""
        now, stay, link = self.path[stays - 1], self.stays[stays - 1], self.problem.link
        w, x, r = self.weights[stays - 1][0], stay.x, stay.outcomes[:TOLD]
        n = sum(len(one.outcomes[:TOLD]) for one in self.stays[:stays])
        epsilon = self.policy.moments_of_squares

        def clipped(residuals: np.ndarray, leverage: float, factor: float = 1.0) -> float:
            most = self.policy.threshold * factor * math.sqrt((1 + leverage) / leverage)
            return float(np.sum(np.sign(residuals) * np.minimum(np.abs(residuals), most)))

        theta_cov = np.linalg.inv(np.linalg.inv(now.theta_cov) + len(r) / w * np.outer(x, x))
        pull = clipped((r - x @ now.theta) / math.sqrt(w), x @ now.theta_cov @ x / w)
        theta = now.theta + pull / math.sqrt(w) * theta_cov @ x

        per_round = link.slope**2 / (2 * w**2)
        phi_cov = np.linalg.inv(np.linalg.inv(now.phi_cov) + len(r) * per_round * np.outer(x, x))
        off = ((r - x @ theta) ** 2 - self.variance(x @ now.phi)) / (math.sqrt(2) * w)
        growing = n ** ((1 - epsilon) / (2 * (1 + epsilon)))
        pull = clipped(off, per_round * x @ now.phi_cov @ x, growing)
        return Beliefs(theta, theta_cov, now.phi + pull * math.sqrt(per_round) * phi_cov @ x, phi_cov)
