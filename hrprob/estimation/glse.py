r"""The generalised least squares estimators, exact and without a pass over the past.

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

The residuals ε̂ = r − Xθ̂ are those of the **newest** θ̂ for every sample of the past.
They need not be formed one by one: with an affine link f(z) = M_f z + offset,

.. math::
    X^\top(\hat\varepsilon\circ\hat\varepsilon) = a - 2A_2\hat\theta + A_3[\hat\theta, \hat\theta],
    \qquad
    \hat\varphi = V^{-1}\,\frac{X^\top(\hat\varepsilon\circ\hat\varepsilon) - \text{offset}\cdot s}{M_f},

so sums of fixed size hold all that n samples have to say. A context that was played
for several rounds enters once, with its number of rounds, Σr and Σr².

Despite the name, θ̂ is plain ridge regression: no sample is weighted by its variance.

References
----------
.. [1] P.-C. Hsieh, X. Liu, A. Bhattacharya, P. R. Kumar, "Stay With Me: Lifetime
   Maximization Through Heteroscedastic Linear Bandits With Reneging", ICML 2019.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.precision import float64
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.numerics.products import contract
from hrprob.problem.links import Affine

__all__ = [
    "GLSE",
    "Ellipsoid",
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

# f(z) = z + 2, the link of the paper's simulation.
_LINK = Affine(slope=1.0, offset=2.0)

# A batch is added in chunks of this many products x⊗x (16 MB of float64) at most.
_CHUNK_ENTRIES = 2**21
_CHUNK_ROWS = 4096


class Statistics(NamedTuple):
    """All that the estimators need to know of the samples."""

    count: jax.Array  # type: ignore[assignment]  # (), number of samples; hides tuple.count
    gram: jax.Array  # (d, d), Σ xxᵀ
    sum_x: jax.Array  # (d,), Σ x
    sum_rx: jax.Array  # (d,), Σ r x
    sum_rrx: jax.Array  # (d,), Σ r² x
    sum_rxx: jax.Array  # (d, d), Σ r xxᵀ
    sum_xxx: jax.Array  # (d, d, d), Σ x⊗x⊗x


class Estimates(NamedTuple):
    """The estimators and the inverse of V that they came from."""

    theta: jax.Array  # (d,)
    phi: jax.Array  # (d,)
    inverse: jax.Array  # (d, d), V⁻¹


class Ellipsoid(NamedTuple):
    """The set of all v with ‖v − center‖ ≤ radius in the norm of ``shape``."""

    center: np.ndarray  # (d,)
    shape: np.ndarray  # (d, d), positive definite
    radius: float

    def contains(self, v: ArrayLike) -> np.ndarray | bool:
        """Say whether the set holds ``v``, a vector or an array of them along the last axis.

        Examples
        --------
        >>> Ellipsoid(np.zeros(2), np.diag([1.0, 4.0]), 1.0).contains([[0.9, 0.0], [0.0, 0.9]]).tolist()
        [True, False]
        """
        away = np.asarray(v, dtype=np.float64) - self.center
        inside = np.sqrt(np.sum(away @ self.shape * away, axis=-1)) <= self.radius
        return bool(inside) if inside.ndim == 0 else inside


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
    """Add one context that was played for some rounds.

    Parameters
    ----------
    statistics : Statistics
        What is known so far.
    x : array_like, shape (d,)
        The context.
    rounds, total, squares : array_like, scalar
        The number of outcomes, their sum and the sum of their squares. All three are 0
        for a context that was not played, and nothing changes.

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
    """Add a batch of samples, in chunks so that memory stays bounded whatever n is.

    Parameters
    ----------
    statistics : Statistics
        What is known so far.
    contexts : array_like, shape (n, d)
        One context a row.
    outcomes : array_like, shape (n,)
        The outcome of each.

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
    """Return the statistics of both sets of samples together.

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
    r"""Return :math:`(V + m\,xx^\top)^{-1}` from :math:`V^{-1}`, m being ``rounds``.

    Examples
    --------
    >>> sherman_morrison([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], rounds=3).tolist()
    [[0.25, 0.0], [0.0, 1.0]]
    """
    inverse, x = jnp.asarray(inverse, dtype=float), jnp.asarray(x, dtype=float)
    along = contract(inverse, x)
    return inverse - (rounds / (1.0 + rounds * contract(x, along))) * (along[:, None] * along)


@float64
def estimate(statistics: Statistics, inverse: ArrayLike, link: Affine) -> Estimates:
    """Return the estimators, given V⁻¹.

    Parameters
    ----------
    statistics : Statistics
        The samples.
    inverse : array_like, shape (d, d)
        V⁻¹, as :func:`sherman_morrison` keeps it or as :func:`solve` finds it.
    link : Affine
        f.

    Examples
    --------
    >>> seen = add_samples(empty(1), [[1.0], [1.0]], [1.0, 3.0])
    >>> theta, phi, _ = estimate(seen, [[0.5]], Affine(slope=1.0, offset=0.5))
    >>> float(theta[0]), float(phi[0])
    (2.0, 0.5)
    """
    inverse = jnp.asarray(inverse, dtype=float)
    theta = contract(inverse, statistics.sum_rx)
    target = (squared_residuals(statistics, theta) - link.offset * statistics.sum_x) / link.slope
    return Estimates(theta, contract(inverse, target), inverse)


def squared_residuals(statistics: Statistics, theta: jax.Array) -> jax.Array:
    """Return Xᵀ(ε̂∘ε̂), the residuals being those of ``theta`` for every sample."""
    # A₃[θ̂, θ̂] − 2A₂θ̂ = (A₃θ̂ − 2A₂)θ̂
    bent = contract(statistics.sum_xxx, theta) - 2.0 * statistics.sum_rxx
    return statistics.sum_rrx + contract(bent, theta)


@float64
def solve(statistics: Statistics, ridge: ArrayLike, link: Affine) -> Estimates:
    """Return the estimators, V being factorised afresh.

    Parameters
    ----------
    statistics : Statistics
        The samples.
    ridge : array_like, scalar
        λ, above 0.
    link : Affine
        f.

    Examples
    --------
    >>> seen = add_samples(empty(1), [[1.0]], [2.0])
    >>> solve(seen, 1.0, Affine(1.0, 2.0)).theta.round(12).tolist()
    [1.0]
    """
    d = statistics.sum_x.shape[-1]
    factor = jax.scipy.linalg.cho_factor(statistics.gram + ridge * jnp.eye(d), lower=True)
    inverse = jax.scipy.linalg.cho_solve(factor, jnp.eye(d))
    return estimate(statistics, (inverse + inverse.T) / 2.0, link)


def products(x: jax.Array) -> jax.Array:
    """Return all products x_j x_k with j ≤ k of vectors (..., d): (..., d(d+1)/2), by rows of the upper triangle.

    Examples
    --------
    >>> products(jnp.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    """
    return jnp.concatenate([x[..., j : j + 1] * x[..., j:] for j in range(x.shape[-1])], axis=-1)


class GLSE:
    r"""Estimate the mean and the variance of an outcome, both linear in its context.

    Parameters
    ----------
    ridge : float
        λ, above 0.
    link : Affine
        f, from φᵀx to the variance.
    variance_floor : float
        Least variance that :meth:`predict` returns: f(φ̂ᵀx) itself may be negative.

    Attributes
    ----------
    theta_, phi_ : ndarray, shape (d,)
        The estimates.
    statistics_ : Statistics
        All that is kept of the samples.
    n_samples_, n_features_in_ : int
        How many samples were seen, and their dimension.
    largest_norm_ : float
        The largest ‖x‖ seen; the confidence sets need it to be at most 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> r = X @ [0.6, 0.3] + np.sqrt(X @ [0.5, 0.9] + 2.0) * rng.normal(size=20000)
    >>> model = GLSE(ridge=1.0).fit(X, r)
    >>> model.theta_.round(1).tolist(), model.phi_.round(1).tolist()
    ([0.6, 0.3], [0.5, 0.9])
    >>> mean, variance = model.predict([[1.0, 0.0]])
    >>> for_theta, for_phi = model.confidence_ellipsoids(delta=0.1)
    >>> for_theta.contains([0.6, 0.3])
    True
    """

    theta_: np.ndarray
    phi_: np.ndarray
    statistics_: Statistics
    n_samples_: int
    n_features_in_: int
    largest_norm_: float

    def __init__(self, ridge: float = 1.0, link: Affine = _LINK, variance_floor: float = 0.01) -> None:
        self.ridge = ridge
        self.link = link
        self.variance_floor = variance_floor
        self._check_params()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name."""
        return {"ridge": self.ridge, "link": self.link, "variance_floor": self.variance_floor}

    def set_params(self, **params: Any) -> GLSE:
        """Set parameters by name; they take effect at the next fit."""
        for name, value in params.items():
            if name not in self.get_params():
                raise InvalidInput(name, "must name a parameter of GLSE", value, "see `get_params`")
        # All or nothing: what cannot be used is refused before anything has changed.
        GLSE(**(self.get_params() | params))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, r: Any) -> GLSE:
        """Estimate from contexts ``X`` (n, d) and outcomes ``r`` (n,), all else forgotten."""
        contexts, outcomes = _check_samples(X, r)
        self.n_features_in_, self.n_samples_, self.largest_norm_ = contexts.shape[1], 0, 0.0
        self.statistics_ = empty(contexts.shape[1])
        return self._learn(contexts, outcomes)

    def partial_fit(self, X: Any, r: Any) -> GLSE:
        """Estimate from all samples so far and these."""
        if not self._is_fitted():
            return self.fit(X, r)
        return self._learn(*_check_samples(X, r, self.n_features_in_))

    def predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean θ̂ᵀx and the variance f(φ̂ᵀx), clipped at the floor, of each row."""
        self._check_fitted()
        contexts = _check_contexts(X, self.n_features_in_)
        variance = np.maximum(self.link(contexts @ self.phi_), self.variance_floor)
        return contexts @ self.theta_, variance

    def confidence_ellipsoids(
        self,
        delta: float = 0.1,
        variance_max: float | None = None,
        bound: float | None = None,
        version: str = "paper",
        c1: float = 1.0,
        c2: float = 1.0,
    ) -> tuple[Ellipsoid, Ellipsoid]:
        r"""Return the confidence sets for θ* and for φ*.

        The first has radius :math:`\alpha^{(1)}_n(\delta)` and misses with probability δ at
        most; the second has :math:`\rho_n(\delta/n^2)` and 2δ. Both hold for all n at
        once.

        Parameters
        ----------
        delta : float
            δ, in (0, 1).
        variance_max : float, optional
            :math:`\sigma^2_{\max}`; f(``bound``) unless given.
        bound : float, optional
            L, the bound of ‖φ*‖; unless given the largest for which f ≥ 0, offset/slope.
        version : {"paper", "corrected"}
            See :class:`~hrprob.estimation.confidence.ConfidenceSets`.
        c1, c2 : float
            Constants of :math:`\alpha^{(2)}`, for which the theory gives no values.
        """
        self._check_fitted()
        if self.largest_norm_ > 1.0 + 1e-9:
            raise InvalidInput(
                "X",
                "must have rows of norm at most 1",
                self.largest_norm_,
                "the sets are proved for such contexts only; divide X by its largest norm before `fit`",
            )
        bound = self.link.offset / self.link.slope if bound is None else bound
        sets = ConfidenceSets(
            variance_max=self.link(bound) if variance_max is None else variance_max,
            dimension=self.n_features_in_,
            ridge=self.ridge,
            slope=self.link.slope,
            bound=bound,
            c1=c1,
            c2=c2,
            version=version,
        )
        shape = np.asarray(self.statistics_.gram) + self.ridge * np.eye(self.n_features_in_)
        n = self.n_samples_
        return (
            Ellipsoid(self.theta_, shape, float(sets.alpha1(n, delta))),
            Ellipsoid(self.phi_, shape, float(sets.rho_simultaneous(n, delta))),
        )

    def _learn(self, contexts: np.ndarray, outcomes: np.ndarray) -> GLSE:
        self.statistics_ = _add_samples_compiled(self.statistics_, contexts, outcomes)
        estimates = solve(self.statistics_, self.ridge, self.link)
        self.theta_, self.phi_ = np.asarray(estimates.theta), np.asarray(estimates.phi)
        self.n_samples_ += len(outcomes)
        self.largest_norm_ = max(self.largest_norm_, float(np.linalg.norm(contexts, axis=1).max()))
        return self

    def _check_params(self) -> None:
        check_number("ridge", self.ridge, low=0, open_low=True, remedy="without a ridge V may be singular")
        check_number(
            "variance_floor", self.variance_floor, low=0, open_low=True, remedy="a variance is above zero"
        )
        if not isinstance(self.link, Affine):
            raise InvalidInput("link", "must be an Affine link", self.link, "the estimator needs its inverse")

    def _is_fitted(self) -> bool:
        return hasattr(self, "statistics_")

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise InvalidInput("GLSE", "must be fitted", "no samples", "call `fit` or `partial_fit` first")


_add_samples_compiled = float64(jax.jit(add_samples))


def _check_contexts(X: Any, dimension: int | None = None) -> np.ndarray:
    contexts = _check_array("X", X, 2, "one row a sample, one column a feature")
    if dimension is not None and contexts.shape[1] != dimension:
        raise InvalidInput(
            "X", f"must have {dimension} columns", contexts.shape, "it had as many when the model was fitted"
        )
    return contexts


def _check_samples(X: Any, r: Any, dimension: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    contexts = _check_contexts(X, dimension)
    outcomes = _check_array("r", r, 1, "one outcome a row of X")
    if len(outcomes) != len(contexts):
        raise InvalidInput("r", f"must have {len(contexts)} entries", len(outcomes), "one outcome a row of X")
    return contexts, outcomes


def _check_array(field: str, value: Any, order: int, remedy: str) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(field, "must hold numbers only", value, remedy) from None
    if array.ndim != order or array.size == 0:
        must = f"must be an array of {order} {'axis' if order == 1 else 'axes'}, not empty"
        raise InvalidInput(field, must, array.shape, remedy)
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInput(
            field,
            "must hold finite numbers only",
            array[where],
            f"entry {list(where)}; drop or impute such rows",
        )
    return array
