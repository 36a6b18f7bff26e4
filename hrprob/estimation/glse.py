r"""The paper's generalised least squares estimators (GLSE), updated exactly from sums of fixed size.

============  =============================  ===============================
symbol        name                           where
============  =============================  ===============================
θ̂, φ̂          ``estimates.theta``, ``.phi``  Section 4.1, the two estimators
V⁻¹           ``estimates.inverse``          V = XᵀX + λI
XᵀX           ``statistics.gram``            without the ridge
Σ r x         ``statistics.sum_rx``          Xᵀr
s = Σ x       ``statistics.sum_x``           the constant part of f⁻¹
a = Σ r² x    ``statistics.sum_rrx``         the squared residuals, expanded
A₂ = Σ r xxᵀ  ``statistics.sum_rxx``         the squared residuals, expanded
A₃ = Σ x⊗x⊗x  ``statistics.sum_xxx``         the squared residuals, expanded
============  =============================  ===============================

The residuals ε̂ = r − Xθ̂ use the **newest** θ̂ for every past sample. They need not be computed
one by one: with an affine link f(z) = M_f z + offset,

.. math::
    X^\top(\hat\varepsilon\circ\hat\varepsilon) = a - 2A_2\hat\theta + A_3[\hat\theta, \hat\theta],
    \qquad
    \hat\varphi = V^{-1}\,\frac{X^\top(\hat\varepsilon\circ\hat\varepsilon) - \text{offset}\cdot s}{M_f},

so these sums are sufficient for any number of samples. A context that was served for several
rounds enters once, with its number of rounds, Σr and Σr².

Despite the name, θ̂ is plain ridge regression: no sample is weighted by its variance
(:mod:`hrprob.estimation.weighted` does that). The estimator object with `fit` and `predict` is
:class:`hrprob.estimation.estimator.GLSE`.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.precision import float64
from hrprob.numerics.products import contract
from hrprob.problem.links import AffineLink

__all__ = [
    "Estimates",
    "Statistics",
    "add",
    "add_samples",
    "empty",
    "estimate",
    "merge",
    "products",
    "sherman_morrison",
    "solve",
    "squared_residuals",
]

# A batch is added in chunks of this many products x⊗x (16 MB of float64) at most.
_CHUNK_ENTRIES = 2**21
_CHUNK_ROWS = 4096


class Statistics(NamedTuple):
    """Sums over the samples from which the estimators are computed."""

    count: jax.Array  # type: ignore[assignment]  # (), number of samples; hides tuple.count
    gram: jax.Array  # (d, d), Σ xxᵀ
    sum_x: jax.Array  # (d,), Σ x
    sum_rx: jax.Array  # (d,), Σ r x
    sum_rrx: jax.Array  # (d,), Σ r² x
    sum_rxx: jax.Array  # (d, d), Σ r xxᵀ
    sum_xxx: jax.Array  # (d, d, d), Σ x⊗x⊗x


class Estimates(NamedTuple):
    """The estimates, and the inverse of V that they were computed with."""

    theta: jax.Array  # (d,)
    phi: jax.Array  # (d,)
    inverse: jax.Array  # (d, d), V⁻¹


def empty(dimension: int) -> Statistics:
    """Return the statistics of no sample.

    Examples
    --------
    >>> empty(3).sum_xxx.shape
    (3, 3, 3)
    """
    shapes: list[tuple[int, ...]] = [(dimension,) * order for order in (0, 2, 1, 1, 1, 2, 3)]
    return Statistics(*(np.zeros(shape) for shape in shapes))  # type: ignore[arg-type]


@float64
def add(
    statistics: Statistics, x: ArrayLike, rounds: ArrayLike, total: ArrayLike, squares: ArrayLike
) -> Statistics:
    """Add one context that was served for a number of rounds.

    Parameters
    ----------
    statistics : Statistics
        The sums so far.
    x : array_like, shape (d,)
        The context.
    rounds, total, squares : array_like, scalar
        The number of outcomes, their sum and the sum of their squares. All three are 0
        for a context that was not served; the sums then stay as they are.

    Examples
    --------
    >>> after = add(empty(2), [1.0, 0.5], rounds=3, total=6.0, squares=14.0)
    >>> float(after.count), after.sum_rx.tolist()
    (3.0, [6.0, 3.0])
    """
    x, rounds, total, squares = (jnp.asarray(value, dtype=float) for value in (x, rounds, total, squares))
    xx = x[:, None] * x
    xxx = xx[:, :, None] * x
    return Statistics(
        count=statistics.count + rounds,
        gram=statistics.gram + rounds * xx,
        sum_x=statistics.sum_x + rounds * x,
        sum_rx=statistics.sum_rx + total * x,
        sum_rrx=statistics.sum_rrx + squares * x,
        sum_rxx=statistics.sum_rxx + total * xx,
        sum_xxx=statistics.sum_xxx + rounds * xxx,
    )


@float64
def add_samples(statistics: Statistics, contexts: ArrayLike, outcomes: ArrayLike) -> Statistics:
    """Add a batch of samples, in chunks so that memory stays bounded for any n.

    Parameters
    ----------
    statistics : Statistics
        The sums so far.
    contexts : array_like, shape (n, d)
        One context per row.
    outcomes : array_like, shape (n,)
        One outcome per context.

    Examples
    --------
    >>> after = add_samples(empty(2), [[1.0, 0.0], [0.0, 1.0]], [2.0, 3.0])
    >>> after.sum_rrx.tolist()
    [4.0, 9.0]
    """
    x, r = jnp.asarray(contexts, dtype=float), jnp.asarray(outcomes, dtype=float)
    n, d = x.shape
    rows = max(1, min(n, _CHUNK_ROWS, _CHUNK_ENTRIES // d**2))
    chunks = -(-n // rows)
    # Rows of zeros fill the last chunk: they add nothing to any sum of products.
    x = jnp.pad(x, ((0, chunks * rows - n), (0, 0))).reshape(chunks, rows, d)
    r = jnp.pad(r, (0, chunks * rows - n)).reshape(chunks, rows)
    start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=float), statistics)
    added: Statistics
    added, _ = jax.lax.scan(_add_chunk, start, (x, r))
    return added._replace(count=start.count + n)


def _add_chunk(sums: Statistics, chunk: tuple[jax.Array, jax.Array]) -> tuple[Statistics, None]:
    x, r = chunk
    rows, d = x.shape
    pairs = (x[:, :, None] * x[:, None, :]).reshape(rows, d * d)
    rx = r[:, None] * x
    added = Statistics(
        count=sums.count,
        gram=sums.gram + x.T @ x,
        sum_x=sums.sum_x + x.sum(axis=0),
        sum_rx=sums.sum_rx + rx.sum(axis=0),
        sum_rrx=sums.sum_rrx + (r[:, None] * rx).sum(axis=0),
        sum_rxx=sums.sum_rxx + rx.T @ x,
        sum_xxx=sums.sum_xxx + (pairs.T @ x).reshape(d, d, d),
    )
    return added, None


@float64
def merge(first: Statistics, second: Statistics) -> Statistics:
    """Return the statistics of two samples pooled.

    Examples
    --------
    >>> one = add_samples(empty(1), [[1.0]], [2.0])
    >>> float(merge(one, one).count)
    2.0
    """
    both: Statistics = jax.tree.map(jnp.add, first, second)
    return both


@float64
def sherman_morrison(inverse: ArrayLike, x: ArrayLike, rounds: ArrayLike) -> jax.Array:
    r"""Return :math:`(V + m\,xx^\top)^{-1}` from :math:`V^{-1}`, where m is ``rounds``.

    Examples
    --------
    >>> sherman_morrison([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], rounds=3).tolist()
    [[0.25, 0.0], [0.0, 1.0]]
    """
    inverse, x = jnp.asarray(inverse, dtype=float), jnp.asarray(x, dtype=float)
    along = contract(inverse, x)
    return inverse - (rounds / (1.0 + rounds * contract(x, along))) * (along[:, None] * along)


@float64
def estimate(statistics: Statistics, inverse: ArrayLike, link: AffineLink) -> Estimates:
    """Return the estimates, given V⁻¹.

    Parameters
    ----------
    statistics : Statistics
        The sums over the samples.
    inverse : array_like, shape (d, d)
        V⁻¹, as updated by :func:`sherman_morrison` or computed by :func:`solve`.
    link : Affine
        f.

    Examples
    --------
    >>> seen = add_samples(empty(1), [[1.0], [1.0]], [1.0, 3.0])
    >>> from hrprob.problem.links import Affine
    >>> theta, phi, _ = estimate(seen, [[0.5]], Affine(slope=1.0, offset=0.5))
    >>> float(theta[0]), float(phi[0])
    (2.0, 0.5)
    """
    inverse = jnp.asarray(inverse, dtype=float)
    theta = contract(inverse, statistics.sum_rx)
    target = (squared_residuals(statistics, theta) - link.offset * statistics.sum_x) / link.slope
    return Estimates(theta, contract(inverse, target), inverse)


def squared_residuals(statistics: Statistics, theta: jax.Array) -> jax.Array:
    """Return Xᵀ(ε̂∘ε̂), with the residuals of ``theta`` for every sample."""
    # A₃[θ̂, θ̂] − 2A₂θ̂ = (A₃θ̂ − 2A₂)θ̂
    inner = contract(statistics.sum_xxx, theta) - 2.0 * statistics.sum_rxx
    return statistics.sum_rrx + contract(inner, theta)


@float64
def solve(statistics: Statistics, ridge: ArrayLike, link: AffineLink) -> Estimates:
    """Return the estimates, with V⁻¹ from a new factorisation.

    Parameters
    ----------
    statistics : Statistics
        The sums over the samples.
    ridge : array_like, scalar
        λ, above 0.
    link : Affine
        f.

    Examples
    --------
    >>> seen = add_samples(empty(1), [[1.0]], [2.0])
    >>> from hrprob.problem.links import Affine
    >>> solve(seen, 1.0, Affine(1.0, 2.0)).theta.round(12).tolist()
    [1.0]
    """
    d = statistics.sum_x.shape[-1]
    factor = jax.scipy.linalg.cho_factor(statistics.gram + ridge * jnp.eye(d), lower=True)
    inverse = jax.scipy.linalg.cho_solve(factor, jnp.eye(d))
    return estimate(statistics, (inverse + inverse.T) / 2.0, link)


def products(x: jax.Array) -> jax.Array:
    """Return the products x_j x_k, j ≤ k, of vectors (..., d): the upper triangle by rows, (..., d(d+1)/2).

    Examples
    --------
    >>> products(jnp.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    """
    return jnp.concatenate([x[..., j : j + 1] * x[..., j:] for j in range(x.shape[-1])], axis=-1)
