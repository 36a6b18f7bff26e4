"""The policy's closed form contains the exact set: random points and optimisation, in plain NumPy, try to escape it.

The set is that of variances of at least the floor: with less there are pieces near φ = −x, for any x that was served, at
any n (``docs/explanation/likelihood-ratio.md``). The proved ellipsoid is compared with its definition and with the set.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import hrprob
from hrprob._core.precision import double_precision
from hrprob.estimation.likelihood_ratio import likelihood_ratio_set as module
from hrprob.estimation.likelihood_ratio import region
from hrprob.estimation.likelihood_ratio.certificate import certify, expand
from hrprob.models import Stays
from hrprob.problem.links import Affine

FLOOR, OFFSET = 0.01, 2.0


def sample(seed: int, users: int, d: int, adaptive: bool) -> tuple[Stays, np.ndarray]:
    """Return stays of one to four rounds; adaptive ones go to the context with the longer estimated stay."""
    rng = np.random.default_rng(seed)
    theta, phi = np.full(d, 0.8 / np.sqrt(d)), np.linspace(-0.9, 1.0, d) / np.sqrt(d)
    gram, sums, rows = np.eye(d), np.zeros(d), []
    for _ in range(users):
        both = rng.normal(size=(4, d))
        both /= np.linalg.norm(both, axis=1, keepdims=True)
        x = both[np.argmax(both @ np.linalg.solve(gram, sums)) if adaptive else 0]
        m = rng.integers(1, 5)
        r = x @ theta + np.sqrt(x @ phi + OFFSET) * rng.normal(size=m)
        gram, sums = gram + m * np.outer(x, x), sums + r.sum() * x
        rows.append((x, float(m), r.sum(), (r**2).sum()))
    return Stays(*(np.array(column) for column in zip(*rows, strict=True))), np.concatenate([theta, phi])  # type: ignore[arg-type]


class Exact:
    """The exact set in NumPy: ℓ ≥ τ, the balls, and variances of at least the floor."""

    def __init__(self, known: Any) -> None:
        self.x, self.m, self.total, self.squares = (np.asarray(leaf) for leaf in known.data_)
        self.d, self.threshold = self.x.shape[1], known.threshold
        search = known._search
        self.centre, self.excess = search.maximum.v, search.excess
        self.factor = np.linalg.cholesky(np.linalg.inv(search.information())) * np.sqrt(2 * self.excess)

    def likelihood(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        u, w = self.x @ v[: self.d], np.maximum(OFFSET + self.x @ v[self.d :], 1e-9)
        spread = self.squares - 2 * u * self.total + self.m * u * u
        value = -0.5 * np.sum(self.m * np.log(2 * np.pi * w) + spread / w)
        by_v = 0.5 * (spread / w**2 - self.m / w)
        return value, np.concatenate([self.x.T @ ((self.total - self.m * u) / w), self.x.T @ by_v])

    def contains(self, v: np.ndarray) -> bool:
        short = np.linalg.norm(v[: self.d]) <= 1 and np.linalg.norm(v[self.d :]) <= 2
        positive = np.min(OFFSET + self.x @ v[self.d :]) >= FLOOR
        return bool(short and positive and self.likelihood(v)[0] >= self.threshold)

    def pull_in(self, v: np.ndarray) -> np.ndarray:
        """Return the furthest point of the set found on the segment from the centre to v."""
        for share in np.linspace(1.0, 0.0, 60):
            if self.contains(self.centre + share * (v - self.centre)):
                return self.centre + share * (v - self.centre)
        return self.centre

    def furthest(self, function: Any, rng: np.random.Generator) -> float:
        """Return the largest value of a function that is found: random points, then optimisation from the best of them."""
        points = [self.pull_in(self.centre + self.factor @ z) for z in _directions(rng, 2 * self.d, 60)]
        points.sort(key=function, reverse=True)
        best = function(points[0])
        limits = [
            {
                "type": "ineq",
                "fun": lambda z: (
                    (self.likelihood(self.centre + self.factor @ z)[0] - self.threshold) / self.excess
                ),
                "jac": lambda z: (
                    self.factor.T @ self.likelihood(self.centre + self.factor @ z)[1] / self.excess
                ),
            }
        ]
        for start in [*points[:3], self.centre]:
            z = np.linalg.solve(self.factor, start - self.centre)
            end = optimize.minimize(
                lambda z: -function(self.centre + self.factor @ z), z, constraints=limits, method="SLSQP"
            )
            best = max(best, function(self.pull_in(self.centre + self.factor @ end.x)))
        return best


def _directions(rng: np.random.Generator, size: int, count: int) -> np.ndarray:
    lines = rng.normal(size=(count, size))
    return 1.6 * lines / np.linalg.norm(lines, axis=1, keepdims=True)


@pytest.mark.parametrize(("seed", "users", "d", "adaptive"), [(0, 250, 2, False), (1, 400, 2, True)])
def test_nothing_found_escapes_the_closed_form(seed: int, users: int, d: int, adaptive: bool) -> None:
    stays, truth = sample(seed, users, d, adaptive)
    known = hrprob.LikelihoodRatioSet().update(stays)
    exact, rng = Exact(known), np.random.default_rng(seed)
    assert exact.contains(truth)
    contexts = rng.normal(size=(3, d))
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    contexts[0] = np.asarray(stays.x)[-1]
    with double_precision():
        fitted = known._region
        ends = [
            np.asarray(end)
            for end in module._outer(fitted, jnp.asarray(contexts), known.setting_, jnp.asarray(FLOOR))
        ]
        u, w = region.boundary(fitted, jnp.asarray(contexts), known.link, known.bounds, FLOOR)
    assert float(fitted.squared_radius) > 2.0  # the bounds alone would contain anything
    for number, x in enumerate(contexts):
        for side, low in ((1.0, 0), (-1.0, 1)):
            mean = exact.furthest(lambda v, x=x, side=side: -side * float(v[:d] @ x), rng)
            assert side * (-side * mean - ends[low][number]) >= -1e-9
            variance = exact.furthest(lambda v, x=x, side=side: -side * float(v[d:] @ x), rng)
            assert side * (OFFSET - side * variance - ends[2 + low][number]) >= -1e-9
        for beta in (-0.5, 0.7):
            longest = exact.furthest(
                lambda v, x=x, beta=beta: _log_h(v[:d] @ x, OFFSET + v[d:] @ x, beta), rng
            )
            assert longest <= max(
                _log_h(*pair, beta) for pair in zip(u[:, number], w[:, number], strict=True)
            )


def _log_h(u: Any, w: Any, beta: float) -> float:
    from scipy.stats import norm

    return -float(norm.logcdf((beta - float(u)) / np.sqrt(max(float(w), FLOOR))))


def test_the_proof_rests_on_an_identity_and_its_ellipsoid_contains_the_set() -> None:
    """2(ℓ(v̂) − ℓ(v)) to the last digits, and no point of the certified sphere in the set."""
    rng, d, n = np.random.default_rng(0), 2, 6000
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    v = np.array([0.5, 0.3, 0.4, -0.2])
    r = x @ v[:d] + np.sqrt(OFFSET + x @ v[d:]) * rng.normal(size=n)
    stays = Stays(x, np.ones(n), r, r * r)  # type: ignore[arg-type]

    def likelihood(v: np.ndarray) -> float:
        w = OFFSET + x @ v[d:]
        return -0.5 * float(np.sum(np.log(w) + (r - x @ v[:d]) ** 2 / w))

    def information(v: np.ndarray) -> np.ndarray:
        parts = expand(v, stays, Affine(), np.eye(2 * d))
        return parts.scores - 0.5 * parts.curvature

    for _ in range(8):
        v = v + np.linalg.solve(information(v), expand(v, stays, Affine(), np.eye(2 * d)).gradient)
    parts, away = expand(v, stays, Affine(), information(v)), 0.1 * rng.normal(size=2 * d)
    w = OFFSET + x @ v[d:]
    a, y, e = x @ away[:d] / np.sqrt(w), x @ away[d:] / w, (r - x @ v[:d]) / np.sqrt(w)
    exact = -2 * parts.gradient @ away + np.sum((a + e * y) ** 2 / (1 + y) - (y - np.log1p(y)))
    assert exact == pytest.approx(2 * (likelihood(v) - likelihood(v + away)), rel=1e-9)
    cubic = np.einsum("ijk,i,j,k", parts.cubic, away, away, away)
    assert cubic == pytest.approx(np.sum((a + e * y) ** 2 * y - y**3 / 3), rel=1e-9)
    found = certify(v, stays, Affine(), information(v), excess=12.0)
    assert found is not None
    assert 1.0 < found.slack < 1.5
    factor = np.linalg.cholesky(np.linalg.inv(information(v)))
    lines = rng.normal(size=(400, 2 * d))
    sphere = v + found.radius * lines / np.linalg.norm(lines, axis=1, keepdims=True) @ factor.T
    assert max(likelihood(point) for point in sphere) < likelihood(v) - 12.0
    # With few rounds there is no proof, and none is claimed.
    few = Stays(*(leaf[:200] for leaf in stays))
    assert certify(v, few, Affine(), information(v) / 30, excess=12.0) is None


@pytest.fixture(scope="module")
def expanded() -> tuple[region.Region, Any]:
    """The closed form of 250 users, and its set."""
    known = hrprob.LikelihoodRatioSet().update(sample(0, 250, 2, False)[0])
    return known._region, known


def test_ends_are_those_of_a_dense_boundary(
    expanded: tuple[region.Region, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, known = expanded
    contexts = np.random.default_rng(1).uniform(-1.0, 1.0, size=(40, 2))
    few = region.POINTS
    with double_precision():
        arguments = (jnp.asarray(contexts), known.link, known.bounds, FLOOR)
        # Radii at which the ends of the variance are inside the bounds, or at them.
        for radius in (0.2, 1.0, 3.0):
            scaled = fitted._replace(squared_radius=fitted.squared_radius * radius**2)
            ends = region.ends(scaled, *arguments)
            monkeypatch.setattr(region, "POINTS", 2001)
            u, w = region.boundary(scaled, *arguments)
            monkeypatch.setattr(region, "POINTS", few)
            coarse, _ = region.boundary(scaled, *arguments)
            np.testing.assert_allclose(ends.u_high, u.max(axis=0), rtol=1e-5)
            assert np.all(ends.u_high >= coarse.max(axis=0) - 1e-12)
            np.testing.assert_allclose(ends.w_low, w.min(axis=0), rtol=1e-12)
            np.testing.assert_allclose(ends.w_high, w.max(axis=0), rtol=1e-12)


def test_contexts_of_no_length_have_a_known_mean_and_variance(expanded: tuple[region.Region, Any]) -> None:
    fitted, known = expanded
    contexts = jnp.asarray([[0.0, 0.0], [1e-90, 0.0], [0.0, 1e-70]])
    with double_precision():
        ends = region.ends(fitted, contexts, known.link, known.bounds, FLOOR)
        u, w = region.boundary(fitted, contexts, known.link, known.bounds, FLOOR)
    for mean in (*ends[:2], *u):
        np.testing.assert_allclose(mean, 0.0, atol=1e-60)
    for variance in (*ends[2:], *w):
        np.testing.assert_allclose(variance, OFFSET, rtol=1e-12)
