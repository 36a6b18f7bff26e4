r"""What :func:`hrprob.fit` chooses from the data where it is asked to: link, bounds, and the prior of intercepts.

A normal model with mean θᵀx and variance f(φᵀx) is fitted by maximum likelihood (weighted least squares for θ, Fisher scoring
for φ, in turns), the intercepts among the entries where there are any. With b̂ the slopes of θ or φ and C their covariance,

.. math:: \text{bound} = 2\,\big(\lVert\hat b\rVert + 3\sqrt{\operatorname{tr} C}\big),

rounded up to two digits: far enough that a posterior which agrees with the data does not touch it, and no farther, as a ball
that is too large makes large slopes likely a priori. For φ it lies between 1 and 10; under an affine link it is offset/slope,
the most that leaves variances positive.

========================  ======================================================================
intercept of the mean     N(mean of outcomes, (2.5 · their standard deviation)²)
intercept of φᵀx          N(f⁻¹(s²), (2.5 · (f⁻¹(e·s²) − f⁻¹(s²)))²), s² the residual variance
========================  ======================================================================

Under the log link the second is N(ln s², 2.5²) on the log variance: one standard deviation is a factor of 12 in the variance.
The data are used twice, once for the place of these priors and once for the posterior; they are wide enough that this does not
matter where there are more rounds than slopes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob.fitting.table import Table
from hrprob.models.priors import Prior, WithIntercept
from hrprob.problem import Bounds, LogLink
from hrprob.problem.links.base import Link, is_affine, is_positive

__all__ = ["Estimates", "bounds_from", "estimate", "intercepts_in_words", "link_from", "prior_with_intercept"]

_STEPS = 30
# Prior precision of φ's slopes while they are estimated: data that a line fits exactly have none of their own.
_RIDGE = 0.01
# Bounds of φ are chosen between these; e^±10 are factors of 22 000 in the variance.
_LEAST_PHI, _MOST_PHI = 1.0, 10.0
_WIDE = 2.5


class Estimates(NamedTuple):
    """Maximum likelihood estimates under normal outcomes, with the covariance of each."""

    theta: np.ndarray  # (d,)
    theta_covariance: np.ndarray  # (d, d)
    phi: np.ndarray  # (d,)
    phi_covariance: np.ndarray  # (d, d)


def estimate(table: Table, link: Link) -> Estimates:
    """Return the maximum likelihood estimates of θ and φ, φ's slopes with a weak prior N(0, 10²).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1.0, 1.0, size=(4000, 1))
    >>> r = 3.0 + 2.0 * x[:, 0] + np.exp(0.5 * (1.0 + x[:, 0])) * rng.normal(size=4000)
    >>> found = estimate(Table(x, r).with_intercept(), LogLink())
    >>> found.theta.round(1).tolist(), bool(np.all(np.abs(found.phi - 1.0) < 0.15))
    ([3.0, 2.0], True)
    """
    x, r = table.x, table.r
    d = x.shape[1]
    theta = np.linalg.lstsq(x, r, rcond=1e-8)[0]
    least = max(1e-6 * float(np.var(r)), 1e-12 * float(np.max(r * r)), 1e-300)
    spread = max(float(np.mean((r - x @ theta) ** 2)), least)
    phi = np.zeros(d)
    ridge = np.full(d, _RIDGE)
    if table.intercept:
        phi[0], ridge[0] = float(link.inverse(spread)), 1e-9
    information = np.diag(ridge)
    for _ in range(_STEPS):
        z = x @ phi
        w = np.maximum(np.asarray(link(z)), least)
        theta = np.linalg.lstsq(x / np.sqrt(w)[:, None], r / np.sqrt(w), rcond=1e-8)[0]
        by_z = (np.asarray(link(z + 1e-4)) - np.asarray(link(z - 1e-4))) / (2e-4 * w)
        score = 0.5 * by_z * ((r - x @ theta) ** 2 / w - 1.0)
        information = 0.5 * (x * by_z[:, None] ** 2).T @ x + np.diag(ridge)
        step = np.linalg.solve(information, x.T @ score - ridge * phi)
        # A step that changes some φᵀx by more than 1 is shortened: far from the optimum scoring overshoots.
        step *= min(1.0, 1.0 / max(float(np.max(np.abs(x @ step))), 1e-12))
        phi = phi + step
        if np.max(np.abs(step)) < 1e-8:
            break
    w = np.maximum(np.asarray(link(x @ phi)), least)
    covariance = np.linalg.pinv((x / w[:, None]).T @ x, rcond=1e-10)
    return Estimates(theta, covariance, phi, np.linalg.inv(information))


def link_from(table: Table) -> LogLink:
    """Return the log link whose scale is the variance of residuals of least squares, to two digits.

    Examples
    --------
    >>> link_from(Table([[0.5], [1.0], [-0.5]], [10.0, 20.0, -7.0]))
    LogLink(scale=3.8)
    """
    theta = np.linalg.lstsq(table.x, table.r, rcond=1e-8)[0]
    freedom = max(len(table) - table.dimension, 1)
    variance = float(np.sum((table.r - table.x @ theta) ** 2)) / freedom
    # Data that a plane fits exactly have no variance to go by.
    least = max(1e-6 * float(np.var(table.r)), 1e-6 * float(np.mean(table.r**2)))
    return LogLink(float(f"{max(variance, least) or 1.0:.2g}"))


def bounds_from(table: Table, link: Link) -> Bounds:
    """Return the bounds that the module's rule gives for these rounds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1.0, 1.0, size=(1000, 1))
    >>> bounds_from(Table(x, 40.0 * x[:, 0] + rng.normal(size=1000)), LogLink())
    Bounds(theta=81.0, phi=1.0)
    """
    found, first = estimate(table, link), int(table.intercept)

    def bound(vector: np.ndarray, covariance: np.ndarray) -> float:
        spread = math.sqrt(float(np.trace(covariance[first:, first:])))
        return _up(2.0 * (float(np.linalg.norm(vector[first:])) + 3.0 * spread))

    theta = bound(found.theta, found.theta_covariance)
    if is_affine(link):
        return Bounds(theta, link.offset / link.slope)
    return Bounds(theta, min(max(bound(found.phi, found.phi_covariance), _LEAST_PHI), _MOST_PHI))


def prior_with_intercept(table: Table, link: Link, slopes: Prior) -> WithIntercept:
    """Return the prior of slopes with intercepts as the module's table has them.

    Raises
    ------
    InvalidInput
        If the link may be negative: an intercept without a bound would make variances negative.

    Examples
    --------
    >>> from hrprob.models import make_prior
    >>> table = Table([[0.5], [1.0], [-0.5]], [10.0, 20.0, -7.0]).with_intercept()
    >>> prior_with_intercept(table, LogLink(), make_prior("uniform")).phi_sd
    2.5
    """
    if not is_positive(link):
        remedy = 'an intercept has no bound; take link = "log" or "softplus", or leave the intercept out'
        raise InvalidInput("link", "must be positive everywhere with an intercept", link.kind, remedy)
    if isinstance(slopes, WithIntercept):
        return slopes  # written out by the user
    found = link_from(table).scale
    place, above = float(link.inverse(found)), float(link.inverse(math.e * found))
    sd = float(np.std(table.r)) or abs(float(np.mean(table.r))) or 1.0
    return WithIntercept(
        slopes,
        theta_location=_short(float(np.mean(table.r))),
        theta_sd=_short(_WIDE * sd),
        phi_location=_short(place),
        phi_sd=_short(_WIDE * (above - place)),
    )


def intercepts_in_words(prior: WithIntercept) -> list[str]:
    """Return the priors of the intercepts, as lines of text.

    Examples
    --------
    >>> intercepts_in_words(WithIntercept(theta_location=50.0, theta_sd=300.0))
    ['intercepts, outside the bounds: theta[intercept] ~ N(50, 300²), phi[intercept] ~ N(0, 2.5²) a priori']
    """
    of_mean = f"theta[intercept] ~ N({prior.theta_location:g}, {prior.theta_sd:g}²)"
    of_variance = f"phi[intercept] ~ N({prior.phi_location:g}, {prior.phi_sd:g}²)"
    return [f"intercepts, outside the bounds: {of_mean}, {of_variance} a priori"]


def _short(number: float) -> float:
    return float(f"{number:.3g}")


def _up(number: float) -> float:
    """Return the number rounded up to two digits."""
    if not number > 0.0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.ceil(number / unit - 1e-9) * unit:.3g}")
