"""The object :class:`LikelihoodRatioSet`: add data, ask what is in the set, project it, test hypotheses."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number, check_vector
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.types import Integer, Number, PyTree
from hrprob.estimation.estimator import Ellipsoid
from hrprob.estimation.likelihood_ratio import projections, region
from hrprob.estimation.likelihood_ratio.certificate import certify
from hrprob.estimation.likelihood_ratio.hypotheses import Hypothesis, Tested
from hrprob.estimation.likelihood_ratio.predictives import make_predictive, sums_of
from hrprob.estimation.likelihood_ratio.projections import Interval
from hrprob.estimation.likelihood_ratio.search import Search
from hrprob.noise import NORMAL
from hrprob.numerics.row_sums import capacity_for
from hrprob.observations import Data, Stays, check_rounds, pad, rounds, stays
from hrprob.problem.bounds import Bounds
from hrprob.problem.links import Affine
from hrprob.problem.links.base import as_affine

if TYPE_CHECKING:
    from hrprob.models import Model
    from hrprob.models.setting import Setting

__all__ = ["BoundingEllipsoid", "LikelihoodRatioSet", "OuterIntervals"]

# The ellipsoid is larger by this factor than the one that touches the set at the furthest point found.
_MARGIN = 1.02


class BoundingEllipsoid(NamedTuple):
    """An ellipsoid around the set of (θ, φ)."""

    ellipsoid: Ellipsoid  # in 2d dimensions, around the maximum of the likelihood, in the norm of −∇²ℓ there
    slack: float  # its radius over √(2(ℓ_max − τ)), which is the set's where the likelihood is quadratic


class OuterIntervals(NamedTuple):
    """Intervals of mean and variance from the closed form of the set, one per context."""

    mean: np.ndarray  # (n, 2)
    variance: np.ndarray  # (n, 2)


class LikelihoodRatioSet:
    r"""A confidence set for (θ*, φ*) that holds for all n simultaneously, however contexts are picked.

    With probability at least 1 − δ the truth lies in the set after every row at once
    (:mod:`hrprob.estimation.likelihood_ratio` says why, what is assumed and what fails if it is wrong).

    Parameters
    ----------
    delta : float, default 0.1
        δ, the probability that the set ever misses the truth.
    predictive : str, table or Predictive, default "weighted"
        What predicts each row from the earlier ones: "glse", "weighted", "laplace", "smc".
    model : str, table or Model, default "gaussian"
        The distribution of outcomes given θ and φ.
    link : Affine
        f, from φᵀx to the variance.
    bounds : Bounds
        Bounds of ‖θ*‖ and ‖φ*‖.

    Attributes
    ----------
    data_ : Stays or Rounds
        All rows so far, in their order.
    log_q_ : ndarray, shape (rows,)
        ln q of each row.
    n_samples_ : int
        Rounds so far.

    Examples
    --------
    >>> import hrprob
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> r = X @ [0.6, 0.3] + np.sqrt(X @ [0.5, 0.9] + 2.0) * rng.normal(size=2000)
    >>> known = LikelihoodRatioSet(delta=0.1).fit(X, r)
    >>> known.contains([0.6, 0.3], [0.5, 0.9]), known.contains([0.6, 0.3], [-0.5, 0.9])
    (True, False)
    >>> low, high = known.variance_interval([1.0, 0.0])
    >>> low < 2.5 < high
    True
    >>> known.test(hrprob.Homoscedastic()).p_value < 1e-6
    True
    """

    data_: Data
    log_q_: np.ndarray
    n_samples_: int

    @nearest_keywords
    def __init__(
        self,
        delta: float = 0.1,
        predictive: object = "weighted",
        model: object = "gaussian",
        link: Affine | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        from hrprob.models import make_model

        remedy = "it is the probability that the set ever misses the truth"
        self.delta = check_number("delta", delta, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
        self.predictive, self.model = make_predictive(predictive), make_model(model)
        self.link, self.bounds = link or Affine(), bounds or Bounds()
        self._state: PyTree = None

    def fit(self, X: ArrayLike, r: ArrayLike, user: ArrayLike | None = None) -> LikelihoodRatioSet:
        """Start again from contexts ``X`` (n, d) and outcomes ``r`` (n,), in the order in which they were seen.

        ``user`` labels the rounds of one stay, which must follow one another under one context; one predictive serves them
        all. Without labels every round has its own. Models other than the normal one see single rounds; ``user-effect``, whose users'
        rounds depend on each other, needs the labels, and one context per user.
        """
        self._state = None
        return self.partial_fit(X, r, user)

    def partial_fit(self, X: ArrayLike, r: ArrayLike, user: ArrayLike | None = None) -> LikelihoodRatioSet:
        """Add rounds that were seen after all earlier ones."""
        contexts, outcomes = check_rounds(X, r)
        if self.model.data is not Stays:
            return self.update(rounds(contexts, outcomes))
        users_differ = "user" in self.model.columns
        if user is not None:
            _check_contiguous(contexts, np.asarray(user))
        elif users_differ:
            remedy = "rounds of one user depend on each other; label them"
            raise InvalidInput("user", f"must be given with the model {self.model.kind!r}", None, remedy)
        data = stays(contexts, outcomes, user)
        if users_differ and len(data.rounds) > len(np.unique(np.asarray(user))):
            remedy = "rows would not be independent; no set is offered for them"
            raise InvalidInput("user", "must label users with one context each", "several contexts", remedy)
        return self.update(data)

    def add_stay(self, x: ArrayLike, rounds: float, total: float, squares: float) -> LikelihoodRatioSet:
        """Add one stay under context ``x`` (d,): its number of rounds, Σr and Σr² (models for which these suffice)."""
        if self.model.data is not Stays:
            remedy = "its likelihood needs every outcome; use `partial_fit`"
            raise InvalidInput("model", "must have sums over a stay that suffice", self.model.kind, remedy)
        row = (
            np.atleast_2d(np.asarray(x, float)),
            *(np.atleast_1d(float(v)) for v in (rounds, total, squares)),
        )
        return self.update(Stays(*row))  # type: ignore[arg-type]

    def update(self, data: Data) -> LikelihoodRatioSet:
        """Add rows, Stays or Rounds of :mod:`hrprob.models`, in the order in which they were seen."""
        from hrprob.models import Setting

        data = jax.tree.map(np.asarray, data)
        if self._state is None:
            self.setting_ = Setting(data.x.shape[1], self.link, self.bounds)
            with double_precision():
                self._state = self.predictive.init(self.model, self.setting_)
            self.data_ = jax.tree.map(lambda leaf: leaf[:0], data)
            self.log_q_ = np.zeros(0)
        if data.x.shape[1] != self.setting_.dimension:
            remedy = "all rows have as many entries as the first ones had"
            raise InvalidInput("X", f"must have {self.setting_.dimension} columns", data.x.shape, remedy)
        self._state, log_q = self.predictive.absorb(self._state, self.data_, data, self.model, self.setting_)
        self.data_ = jax.tree.map(lambda old, new: np.concatenate([old, new]), self.data_, data)
        self.log_q_ = np.concatenate([self.log_q_, np.asarray(log_q)])
        with double_precision():
            self.n_samples_ = int(np.sum(np.asarray(sums_of(self.data_).rounds)))
        self.__dict__.pop("_search", None)
        return self

    @property
    def threshold(self) -> float:
        """τ = Σ ln q − ln(1/δ): the least log likelihood in the set."""
        self._check_fitted()
        return float(np.sum(self.log_q_)) + math.log(self.delta)

    def log_ratios(self, theta: ArrayLike, phi: ArrayLike) -> np.ndarray:
        """Return ln E_n of (θ, φ) after every row (rows,): what the set is made of.

        (θ, φ) has been in the set all along if no entry exceeds ln(1/δ).
        """
        self._check_fitted()
        v = self._pair(theta, phi)
        with double_precision():
            each = _each_row(jnp.asarray(v), pad(self.data_), self.model, self.setting_)
        return np.cumsum(self.log_q_ - np.asarray(each)[: len(self.log_q_)])

    def contains(self, theta: ArrayLike, phi: ArrayLike) -> bool:
        """Return whether (θ, φ) lies in the set now: exactly, by its likelihood and its norms."""
        v, d = self._pair(theta, phi), self.setting_.dimension
        short = np.linalg.norm(v[:d]) <= self.bounds.theta and np.linalg.norm(v[d:]) <= self.bounds.phi
        return bool(short and self.log_ratios(theta, phi)[-1] <= -math.log(self.delta))

    def ellipsoid(self) -> BoundingEllipsoid:
        """Return an ellipsoid around the set, as far as a search with many starting points can tell.

        Its slack is the factor by which it exceeds the radius of a quadratic likelihood, and is 2 % more than was
        found to be needed.
        """
        return BoundingEllipsoid(*projections.bounding_ellipsoid(self._search, _MARGIN))

    def certified_ellipsoid(self) -> BoundingEllipsoid | None:
        """Return an ellipsoid that provably contains the piece of the set around the maximum; None where the proof fails.

        It needs thousands of rounds (:mod:`hrprob.estimation.likelihood_ratio.certificate`); normal outcomes only.
        """
        self._check_normal("for the proof", "use `ellipsoid`, which searches")
        search, shape = self._search, self._search.information()
        found = certify(search.maximum.v, sums_of(self.data_), self.link, shape, search.excess)
        if found is None:
            return None
        return BoundingEllipsoid(Ellipsoid(search.maximum.v, shape, found.radius), found.slack)

    def phi_radius(self, ridge: float = 1.0) -> float:
        """Return the largest ‖φ − φ̂‖ in the norm of V, φ̂ being the GLSE's: what ρ_n bounds.

        It is that over the piece of the set around the maximum of the likelihood, as far as searches find it.
        """
        return projections.phi_radius(self._search, sums_of(self.data_), ridge)

    def mean_interval(self, x: ArrayLike) -> Interval:
        """Return the least and the largest θᵀx over the piece of the set around its maximum, as far as searches find it."""
        return projections.interval(self._search, projections.mean, self._context(x), 0.0, NORMAL)

    def variance_interval(self, x: ArrayLike) -> Interval:
        """Return the least and the largest f(φᵀx) over the piece of the set around its maximum, as far as searches find it."""
        return projections.interval(self._search, projections.variance, self._context(x), 0.0, NORMAL)

    def reneging_interval(self, x: ArrayLike, beta: float) -> Interval:
        """Return the least and the largest probability that an outcome falls below ``beta``.

        They are those over the piece of the set around its maximum, as far as searches find it.
        """
        beta = check_number("beta", beta, remedy="it is a satisfaction level")
        found = projections.interval(
            self._search, projections.log_reneging, self._context(x), beta, self.model.noise
        )
        return Interval(math.exp(found.low), math.exp(found.high))

    def lifetime_interval(self, x: ArrayLike, beta: float) -> Interval:
        """Return the least and the largest expected lifetime h over the piece of the set around its maximum, as far as searches find it."""
        low, high = self.reneging_interval(x, beta)
        return Interval(1.0 / high, math.inf if low == 0.0 else 1.0 / low)

    def outer_intervals(self, X: ArrayLike, variance_floor: float = 0.0) -> OuterIntervals:
        """Return intervals of mean and variance of contexts ``X`` (n, d) from the closed form of the set.

        They take a thousandth of the time of the searches and are somewhat wider; with few rounds they are those of the
        bounds. That they are wide enough is tested, not proved (:mod:`hrprob.estimation.likelihood_ratio.region`); normal
        outcomes only.
        """
        self._check_normal("for the closed form", "use `mean_interval` and `variance_interval`")
        contexts = np.atleast_2d(np.asarray(X, dtype=np.float64))
        with double_precision():
            found = _outer(self._region, jnp.asarray(contexts), self.setting_, variance_floor)
        low_u, high_u, low_w, high_w = (np.asarray(end) for end in found)
        return OuterIntervals(np.stack([low_u, high_u], axis=-1), np.stack([low_w, high_w], axis=-1))

    def test(self, hypothesis: Hypothesis) -> Tested:
        """Return the e-value and the anytime p-value of a hypothesis about (θ, φ).

        The p-value holds at all n simultaneously: look as often as you like, stop when you like. The largest
        likelihood under the hypothesis is searched for, from the maximum of the likelihood without it and from a few points
        spread over the set. With a few dozen rounds there may be several maxima; where the largest is missed, the e-value
        is too large.

        Examples
        --------
        >>> import hrprob
        >>> X, r = [[1.0], [0.5]] * 50, np.sqrt(2.0) * np.random.default_rng(0).normal(size=100)
        >>> LikelihoodRatioSet().fit(X, r).test(hrprob.Stated(phi=[0.0])).p_value > 0.05
        True
        """
        search, d = self._search, self.setting_.dimension
        family = hypothesis.family(self.setting_, np.asarray(self.data_.x))
        inequality = hypothesis.inequality(self.setting_, self.model.noise)
        best = search.maximise(family, inequality, starts=[search.maximum.v, *search.scattered()])
        log_e = float(np.sum(self.log_q_)) - best.value
        e_value = math.exp(min(log_e, 700.0))
        return Tested(e_value, log_e, min(1.0, math.exp(min(-log_e, 0.0))), best.v[:d], best.v[d:])

    @functools.cached_property
    def _search(self) -> Search:
        self._check_fitted()
        return Search(self.data_, self.model, self.setting_, self.threshold)

    @property
    def _region(self) -> region.Region:
        self._check_fitted()
        wide = pad(self.data_, capacity_for(len(self.log_q_)))
        return _fitted(wide, len(self.log_q_), float(np.sum(self.log_q_)), self.delta, self.setting_)

    def _pair(self, theta: ArrayLike, phi: ArrayLike) -> np.ndarray:
        self._check_fitted()
        d = self.setting_.dimension
        values = (("theta", theta), ("phi", phi))
        return np.concatenate(
            [check_vector(name, value, dimension=d, remedy="one entry per feature") for name, value in values]
        )

    def _context(self, x: ArrayLike) -> np.ndarray:
        self._check_fitted()
        return check_vector("x", x, dimension=self.setting_.dimension, remedy="it is a context")

    def _check_normal(self, purpose: str, remedy: str) -> None:
        from hrprob.models.base import normal_given_phi

        if not normal_given_phi(self.model):
            raise InvalidInput("model", f"must be normal {purpose}", self.model.kind, remedy)

    def _check_fitted(self) -> None:
        if self._state is None:
            must = "must have data"
            raise InvalidInput("LikelihoodRatioSet", must, "no rounds", "call `fit` or `partial_fit` first")


def _check_contiguous(contexts: np.ndarray, user: np.ndarray) -> None:
    """Raise unless the rounds of each user and context follow one another."""
    if user.shape != contexts.shape[:1]:
        return  # `stays` reports it
    changes = np.any(contexts[1:] != contexts[:-1], axis=1) | (user[1:] != user[:-1])
    first = np.concatenate([[0], 1 + np.flatnonzero(changes)])
    _, numbers = np.unique(user, return_inverse=True)
    runs = np.column_stack([numbers.reshape(-1), contexts])[first]
    if len(np.unique(runs, axis=0)) < len(runs):
        remedy = "a predictive may not look ahead; leave `user` out, and every round is predicted by itself"
        raise InvalidInput("user", "must label rounds that follow one another", "users in turn", remedy)


@jax.jit
def _each_row(v: jax.Array, data: Data, model: Model, setting: Setting) -> jax.Array:
    d = setting.dimension
    each: jax.Array = model.log_likelihood(v[:d], v[d:], data, setting)
    return each


@jax.jit
def _fit(data: Data, rows: Integer, log_q: Number, delta: Number, setting: Setting) -> region.Region:
    first = region.empty(setting.dimension, setting.bounds)
    stays = jax.tree.map(jnp.asarray, sums_of(data))
    return region.fit([(stays, rows)], log_q, delta, first, as_affine(setting.link), setting.bounds)


def _fitted(data: Data, rows: int, log_q: float, delta: float, setting: Setting) -> region.Region:
    with double_precision():
        fitted: region.Region = _fit(data, rows, log_q, delta, setting)
        return fitted


@jax.jit
def _outer(fitted: region.Region, contexts: jax.Array, setting: Setting, floor: Number) -> region.Ends:
    # A tiny floor keeps the cube root finite where the variance may be 0.
    least = jnp.maximum(floor, 1e-9 * setting.link(0.0))
    return region.ends(fitted, contexts, as_affine(setting.link), setting.bounds, least)
