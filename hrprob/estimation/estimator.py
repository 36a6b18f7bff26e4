"""The estimator object: fit the GLSE to samples, predict, and give its confidence sets.

:class:`GLSE` has the interface of a scikit-learn estimator around the streaming functions of
:mod:`hrprob.estimation.glse`; the radii of its sets are those of
:class:`~hrprob.estimation.confidence.ConfidenceSets`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import float64
from hrprob._core.types import AsWritten
from hrprob.estimation.confidence import ConfidenceSets
from hrprob.estimation.glse import Statistics, add_samples, empty, solve
from hrprob.estimation.projection import project
from hrprob.problem.links import Affine, AffineLink
from hrprob.problem.links.base import is_affine

__all__ = ["GLSE", "Ellipsoid"]

# f(z) = z + 2, the link of the paper's simulation.
_LINK = Affine(slope=1.0, offset=2.0)


class Ellipsoid(NamedTuple):
    """The set of all v with ‖v − center‖ ≤ radius in the norm of ``shape``."""

    center: np.ndarray  # (d,)
    shape: np.ndarray  # (d, d), positive definite
    radius: float

    def contains(self, v: ArrayLike) -> np.ndarray | bool:
        """Return whether ``v`` lies in the set; ``v`` is a vector, or an array of vectors along the last axis.

        Examples
        --------
        >>> Ellipsoid(np.zeros(2), np.diag([1.0, 4.0]), 1.0).contains([[0.9, 0.0], [0.0, 0.9]]).tolist()
        [True, False]
        """
        difference = np.asarray(v, dtype=np.float64) - self.center
        inside = np.sqrt(np.sum(difference @ self.shape * difference, axis=-1)) <= self.radius
        return bool(inside) if inside.ndim == 0 else inside


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
        The sums that represent the samples.
    n_samples_, n_features_in_ : int
        The number of samples and their dimension.
    largest_norm_ : float
        The largest ‖x‖ among the samples; the confidence sets require it to be at most 1.

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

    @nearest_keywords
    def __init__(self, ridge: float = 1.0, link: AffineLink = _LINK, variance_floor: float = 0.01) -> None:
        self.ridge = ridge
        self.link = link
        self.variance_floor = variance_floor
        self._check_params()

    def get_params(self, deep: bool = True) -> dict[str, AsWritten]:
        """Return the constructor's parameters by name."""
        return {"ridge": self.ridge, "link": self.link, "variance_floor": self.variance_floor}

    def set_params(self, **params: AsWritten) -> GLSE:
        """Set parameters by name; they take effect at the next fit."""
        for name, value in params.items():
            if name not in self.get_params():
                raise InvalidInput(name, "must name a parameter of GLSE", value, "see `get_params`")
        # All or nothing: an unusable value is refused before any parameter has changed.
        GLSE(**(self.get_params() | params))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: ArrayLike, r: ArrayLike) -> GLSE:
        """Estimate from contexts ``X`` (n, d) and outcomes ``r`` (n,); earlier samples are discarded."""
        contexts, outcomes = _check_samples(X, r)
        self.n_features_in_, self.n_samples_, self.largest_norm_ = contexts.shape[1], 0, 0.0
        self.statistics_ = empty(contexts.shape[1])
        return self._learn(contexts, outcomes)

    def partial_fit(self, X: ArrayLike, r: ArrayLike) -> GLSE:
        """Estimate from all earlier samples and these together."""
        if not self._is_fitted():
            return self.fit(X, r)
        return self._learn(*_check_samples(X, r, self.n_features_in_))

    def predict(self, X: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean θ̂ᵀx and the variance f(φ̂ᵀx), clipped at the floor, of each row."""
        self._check_fitted()
        contexts = _check_contexts(X, self.n_features_in_)
        variance = np.maximum(self.link(contexts @ self.phi_), self.variance_floor)
        return contexts @ self.theta_, variance

    def project(self, bound_theta: float = 1.0, bound: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        r"""Return θ̂ and φ̂, each projected onto the ball that is known to contain the truth, in the norm of V.

        Theorem 2 of the paper, which Lemma 6 applies to the estimates, needs estimates within these balls. ``theta_``,
        ``phi_`` and what :meth:`predict` returns stay as they are. See :mod:`hrprob.estimation.projection`.

        Parameters
        ----------
        bound_theta : float
            The bound of ‖θ*‖.
        bound : float, optional
            L, the bound of ‖φ*‖; by default offset/slope, the largest bound for which f ≥ 0.

        Examples
        --------
        >>> model = GLSE().fit([[1.0, 0.0], [0.0, 1.0]], [6.0, 0.2])
        >>> model.theta_.round(3).tolist(), model.project()[0].round(3).tolist()
        ([3.0, 0.1], [0.999, 0.033])
        """
        self._check_fitted()
        bounds = {"bound_theta": bound_theta, "bound": self._largest_bound() if bound is None else bound}
        for name, value in bounds.items():
            check_number(name, value, low=0, open_low=True, remedy="it is the radius of a ball")
        inverse = solve(self.statistics_, self.ridge, self.link).inverse
        pairs = zip((self.theta_, self.phi_), bounds.values(), strict=True)
        theta, phi = (np.asarray(project(estimate, inverse, radius)) for estimate, radius in pairs)
        return theta, phi

    def confidence_ellipsoids(
        self,
        delta: float = 0.1,
        variance_max: float | None = None,
        bound: float | None = None,
        version: str = "paper",
        c1: float = 1.0,
        c2: float = 1.0,
        noise_scale: float = 1.0,
    ) -> tuple[Ellipsoid, Ellipsoid]:
        r"""Return the confidence sets for θ* and for φ*.

        The first has radius :math:`\alpha^{(1)}_n(\delta)` and misses θ* with probability at most δ; the second has radius
        :math:`\rho_n(\delta/n^2)` and misses φ* with probability at most 2δ. Both statements hold for all n simultaneously,
        and rest on this: rows of norm at most 1, ‖θ*‖ ≤ 1, ‖φ*‖ ≤ ``bound``, variances of at most
        ``variance_max``, noise of sub-Gaussian scale at most ``noise_scale`` times its standard deviation. For θ* they
        are proved in the versions ``corrected`` and ``explicit``, also for contexts picked by a policy; for φ* in the version
        ``explicit``, for contexts that do not depend on the noise (a fixed design; a policy's choices are not). ``corrected`` and
        ``paper`` need ``c1`` and ``c2`` for φ*, for which no values are proved. As printed they are proved for neither
        (:mod:`hrprob.estimation.versions`).

        Parameters
        ----------
        delta : float
            δ, in (0, 1).
        variance_max : float, optional
            :math:`\sigma^2_{\max}`; f(``bound``) by default.
        bound : float, optional
            L, the bound of ‖φ*‖; by default offset/slope, the largest bound for which f ≥ 0.
        version : {"paper", "corrected", "explicit"}
            See :class:`~hrprob.estimation.confidence.ConfidenceSets`.
        c1, c2 : float
            Constants of :math:`\alpha^{(2)}`, for which the theory gives no values.
        noise_scale : float
            κ, the sub-Gaussian scale of the standardised noise: ``noise.sub_gaussian_scale``.
        """
        self._check_fitted()
        if self.largest_norm_ > 1.0 + 1e-9:
            raise InvalidInput(
                "X",
                "must have rows of norm at most 1",
                self.largest_norm_,
                "the confidence sets are proved for such contexts only; divide X by its largest norm before `fit`",
            )
        bound = self._largest_bound() if bound is None else bound
        confidence = ConfidenceSets(
            variance_max=self.link(bound) if variance_max is None else variance_max,
            dimension=self.n_features_in_,
            ridge=self.ridge,
            slope=self.link.slope,
            bound=bound,
            c1=c1,
            c2=c2,
            version=version,
            noise_scale=noise_scale,
        )
        shape = np.asarray(self.statistics_.gram) + self.ridge * np.eye(self.n_features_in_)
        n = self.n_samples_
        return (
            Ellipsoid(self.theta_, shape, float(confidence.alpha1(n, delta))),
            Ellipsoid(self.phi_, shape, float(confidence.rho_simultaneous(n, delta))),
        )

    def _largest_bound(self) -> float:
        return float(self.link.offset / self.link.slope)

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
        if not is_affine(self.link):
            raise InvalidInput("link", "must be an affine link", self.link, "the estimator needs its inverse")

    def _is_fitted(self) -> bool:
        return hasattr(self, "statistics_")

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise InvalidInput("GLSE", "must be fitted", "no samples", "call `fit` or `partial_fit` first")


_add_samples_compiled = float64(jax.jit(add_samples))


def _check_contexts(X: ArrayLike, dimension: int | None = None) -> np.ndarray:
    contexts = _check_array("X", X, 2, "one row per sample, one column per feature")
    if dimension is not None and contexts.shape[1] != dimension:
        raise InvalidInput(
            "X", f"must have {dimension} columns", contexts.shape, "it had as many when the model was fitted"
        )
    return contexts


def _check_samples(X: ArrayLike, r: ArrayLike, dimension: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    contexts = _check_contexts(X, dimension)
    outcomes = _check_array("r", r, 1, "one outcome per row of X")
    if len(outcomes) != len(contexts):
        raise InvalidInput(
            "r", f"must have {len(contexts)} entries", len(outcomes), "one outcome per row of X"
        )
    return contexts, outcomes


def _check_array(field: str, value: ArrayLike, order: int, remedy: str) -> np.ndarray:
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
