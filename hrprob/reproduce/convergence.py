r"""Remark 2 of the paper, which says that :math:`\hat\phi_n` converges more slowly than :math:`\hat\theta_n`.

Theorem 1 and Lemma 1 bound :math:`\lVert\hat\phi_n - \phi_*\rVert_V` by ρ_n and :math:`\lVert\hat\theta_n -
\theta_*\rVert_V` by α⁽¹⁾_n, and ρ_n grows faster. Whether the errors do is another question. Both are measured here on
samples whose contexts are independent of the noise, and described by the slope of ln(error) on ln n; the slopes of
the two bounds are computed at the same n. The remark holds if the difference of the errors' slopes, φ̂ minus θ̂, lies
above half the difference that the bounds have, and fails if it lies below.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.compiled import program
from hrprob._core.formatting import format_number
from hrprob._core.precision import double_precision
from hrprob.comparison.estimates import estimate, trials_needed, verdict_above
from hrprob.estimation import glse
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.numerics.directions import unit_vectors
from hrprob.problem import Problem
from hrprob.problem.links import AffineLink
from hrprob.problem.links.base import as_affine
from hrprob.reproduce.claims import Claim

__all__ = ["Errors", "measure_errors", "remark_2"]

_SIZES = (250, 2000, 16000)
_REPLICATIONS = 800
# Replications that are computed together.
_TOGETHER = 40
_DELTA, _RIDGE = 0.1, 1.0


class Errors(NamedTuple):
    """Errors of both estimators in the norm of V, over replications and sample sizes."""

    sizes: np.ndarray  # (sizes,)
    theta: np.ndarray  # (replications, sizes)
    phi: np.ndarray  # (replications, sizes)


def measure_errors(
    problem: Problem, sizes: tuple[int, ...] = _SIZES, replications: int = _REPLICATIONS, seed: int = 0
) -> Errors:
    """Return the errors of the GLSE on contexts on the unit sphere and normal noise, at growing n."""
    errors, link = [], as_affine(problem.link)
    with double_precision():
        for first in range(0, replications, _TOGETHER):
            rngs = [np.random.default_rng([seed, number]) for number in range(first, first + _TOGETHER)]
            samples = [_sample(problem, rng, sizes[-1]) for rng in rngs]
            sample = [jnp.asarray(np.stack(part)) for part in zip(*samples, strict=True)]
            errors.append(_errors(problem.theta, problem.phi, link, *sample, sizes=sizes))
    theta, phi = np.concatenate(errors, axis=1)[:, :replications]
    return Errors(np.array(sizes), theta, phi)


def _sample(problem: Problem, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts (n, d) on the unit sphere and their outcomes (n,)."""
    x = unit_vectors(rng, (n, problem.dimension))
    sd = np.sqrt(np.maximum(np.asarray(problem.link(x @ np.asarray(problem.phi))), 0.0))
    return x, x @ np.asarray(problem.theta) + sd * rng.standard_normal(n)


@program(static=("sizes",))
def _errors(
    theta: jax.Array,
    phi: jax.Array,
    link: AffineLink,
    contexts: jax.Array,
    outcomes: jax.Array,
    *,
    sizes: tuple[int, ...],
) -> jax.Array:
    """Return the errors of θ̂ and φ̂, of shape (2, replications, sizes)."""

    def of_one(x: jax.Array, r: jax.Array) -> jax.Array:
        statistics, errors, start = glse.empty(x.shape[1]), [], 0
        for size in sizes:
            statistics = glse.add_samples(statistics, x[start:size], r[start:size])
            estimates, start = glse.solve(statistics, _RIDGE, link), size
            v = statistics.gram + _RIDGE * jnp.eye(x.shape[1])
            away = jnp.stack([estimates.theta - theta, estimates.phi - phi])
            errors.append(jnp.sqrt(jnp.einsum("ki,ij,kj->k", away, v, away)))
        return jnp.stack(errors, axis=-1)

    return jnp.moveaxis(jax.vmap(of_one)(contexts, outcomes), 0, 1)


def remark_2(problem: Problem, errors: Errors | None = None) -> Claim:
    """Decide Remark 2 on the problem's θ*, φ* and link."""
    measured = measure_errors(problem) if errors is None else errors
    slopes = [_slopes(measured.sizes, values) for values in (measured.theta, measured.phi)]
    sets = ConfidenceSets(
        variance_max=float(problem.link(problem.bounds.phi)),
        dimension=problem.dimension,
        ridge=_RIDGE,
        slope=as_affine(problem.link).slope,
        bound=problem.bounds.phi,
    )
    n = measured.sizes.astype(float)
    bounds = [
        float(_slopes(measured.sizes, np.asarray(radius, dtype=float)[None])[0])
        for radius in (sets.alpha1(n, _DELTA), sets.rho_simultaneous(n, _DELTA))
    ]
    difference, least = estimate(slopes[1] - slopes[0]), (bounds[1] - bounds[0]) / 2
    verdict = verdict_above(difference, least)
    replications, last = len(measured.theta), measured.sizes[-1]
    words = (
        f"in the norm of V, from n = {measured.sizes[0]} to {last}, the error of θ̂ grows like n to the power of "
        f"{_exponent(slopes[0])} and that of φ̂ like n to the power of {_exponent(slopes[1])}: φ̂ minus θ̂ "
        f"{difference.against(0, least)}, where the bounds differ by {bounds[1] - bounds[0]:.3f} "
        f"(half of it, {least:.3f}, decides); the errors at n = {last} are {measured.theta[:, -1].mean():.2f} and "
        f"{measured.phi[:, -1].mean():.2f}. Both are flat: the slower rate is the bound's, φ̂ has the larger constant"
        if verdict == "fails"
        else f"slopes of ln(error) on ln n: θ̂ {_exponent(slopes[0])}, φ̂ {_exponent(slopes[1])}; φ̂ minus θ̂ "
        f"{difference.against(0, least)}, where the bounds differ by {bounds[1] - bounds[0]:.3f}"
    )
    if verdict == "undecided":
        words += f"; it would take about {format_number(trials_needed(difference, replications, least), 0)} replications"
    setting = f"contexts independent of the noise, {replications} replications"
    return Claim(
        "Remark 2: the estimate of phi converges more slowly than that of theta", setting, verdict, words
    )


def _exponent(slopes: np.ndarray) -> str:
    return estimate(slopes).against(0)


def _slopes(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the slope of ln(value) on ln(size) of each row."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.asarray((np.log(values) * x).sum(axis=1) / (x * x).sum())
