r"""What is assumed and not estimated: the level of the variance, and the balls of θ and φ.

A wrong offset of the link can hide behind a wrong φ wherever contexts are served, and be wrong elsewhere: a policy serves contexts
that point in one direction, in which a longer φ and a larger offset do the same. So the offset is estimated beside φ, by
one step of scoring from the posterior mean,

.. math:: e_i^2 - 1 \approx \frac{\delta}{w_i} + \frac{f'(\phi^\top x_i)}{w_i}\, x_i^\top \eta ,

with :math:`e_i = (r_i - u_i)/\sqrt{w_i}`. Under the model δ = 0; its standard error says which error of the offset would be found.
Without δ the same step estimates φ without its prior, and one of weighted least squares θ: the check fails where either
lies clearly outside its ball, as it does under a prior that excludes the truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from hrprob._core.formatting import format_number, signed
from hrprob._core.precision import double_precision
from hrprob.fitting.checks.base import Check, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.martingales import two_sided_p
from hrprob.models import Setting
from hrprob.numerics.power import detectable_difference
from hrprob.problem.links.base import is_affine

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["Norm", "Specification", "SpecificationResult", "excess_norm", "one_step"]

# Errors that do not matter: of the variance's level as a share of the typical variance, of a bound as a share of it.
_OFFSET_MARGIN, _NORM_MARGIN = 0.25, 0.25
# Skewness of e² − 1 for a normal e.
_SKEWNESS = math.sqrt(8.0)
# Rounds per coefficient that one step of scoring needs.
_LEAST_ROUNDS = 5


class Norm(NamedTuple):
    """The norm of an estimate without its prior, against the radius of its ball."""

    norm: float
    se: float
    radius: float

    @property
    def p_value(self) -> float:
        """One-sided, of a norm of at most the radius."""
        return float(stats.norm.sf((self.norm - self.radius) / self.se))

    @property
    def within(self) -> bool:
        """Whether the 95 % bound of the norm exceeds the radius by no more than the margin."""
        return bool(self.norm + stats.norm.ppf(0.95) * self.se <= (1.0 + _NORM_MARGIN) * self.radius)


class SpecificationResult(NamedTuple):
    """The error of the level of the variance, relative to the typical variance, and norms; None where too few rounds."""

    offset: float
    se: float
    p_value: float
    norms: dict[str, Norm]
    level: float
    missing: Evidence | None = None  # what is said where there is none


@register("specification")
class Specification(Check[SpecificationResult]):
    """The offset of the link and the balls of the prior, estimated beside θ and φ."""

    title = "Offset and bounds"
    order = 3.5
    remedy = "another offset of the link, larger bounds"

    def advice(self, posterior: Posterior) -> str:
        """Return the remedy; a link that is not affine has no offset."""
        return self.remedy if is_affine(posterior.setting.link) else "larger bounds"

    def compute(self, inputs: CheckInputs) -> SpecificationResult:
        """Return the errors."""
        posterior, table = inputs.posterior, inputs.table
        d = posterior.setting.dimension
        missing = None
        if posterior.sites:
            words = "does not exist for this model: it has unknowns beyond θ and φ, which the step does not estimate"
            missing = Evidence(words, decided_by="")
        elif len(table) < _LEAST_ROUNDS * (d + 1):
            missing = Evidence(f"{len(table)} rounds are too few for {d + 1} coefficients")
        if missing:
            return SpecificationResult(math.nan, math.inf, 1.0, {}, inputs.level, missing)
        flat = posterior.flat()
        theta, phi = flat["theta"].mean(axis=0), flat["phi"].mean(axis=0)
        mean, variance, slope = _moments(posterior.setting, theta, phi, table.x)
        size = (table.r - mean) ** 2 / variance - 1.0
        # Of normal outcomes it is 2; the model's own noise may have other tails.
        spread = max(float(np.std(size)), 1e-9)
        by_phi = (slope / variance)[:, None] * table.x
        offset, weights = one_step(np.column_stack([1.0 / variance, by_phi]), size)
        typical = float(np.median(variance))
        se = spread * float(np.linalg.norm(weights[0]))
        first = int(table.intercept)  # the bounds are for the slopes
        eta, phi_weights = one_step(by_phi, size)
        gap, theta_weights = one_step(
            table.x / np.sqrt(variance)[:, None], (table.r - mean) / np.sqrt(variance)
        )
        with double_precision():
            radii = [float(radius) for radius in posterior.target.radii]
        norms = {
            "θ": _norm_of(theta + gap, theta_weights, first, radii[0]),
            "φ": _norm_of(phi + eta, spread * phi_weights, first, radii[1]),
        }
        if table.intercept:
            # The intercept of φ is the level of the variance, and estimated anyway.
            return SpecificationResult(0.0, 0.0, 1.0, norms, inputs.level)
        p = two_sided_p(float(offset[0]) / se, weights[0], _SKEWNESS)
        return SpecificationResult(float(offset[0]) / typical, se / typical, p, norms, inputs.level)

    def evidence(self, result: SpecificationResult) -> Evidence:
        """Return whether the offset is wrong, or a ball too small."""
        if result.missing:
            return result.missing
        tests = 1 + len(result.norms)
        seen = detectable_difference(result.se, math.inf, result.level / tests)
        norms = ", ".join(
            f"‖{name}‖ {format_number(one.norm, 2)} ± {format_number(one.se, 2)} (bound {one.radius:g})"
            for name, one in result.norms.items()
        )
        smallest = min([result.p_value, *(one.p_value for one in result.norms.values())])
        within = abs(result.offset) + stats.norm.ppf(0.95) * result.se <= _OFFSET_MARGIN
        poorly = " as contexts point in few directions," if result.se > 2.0 * _OFFSET_MARGIN else ""
        detectable = (
            f"detects an offset that is wrong by {format_number(100 * seen, 0)} % of the variance;{poorly} a smaller error shows "
            "at contexts unlike those in the table only"
        )
        level = (
            "the level of the variance is estimated, by the intercept of φ"
            if result.se == 0.0
            else f"level of the variance off by {signed(100 * result.offset, 0)} ± {format_number(100 * result.se, 0)} %"
        )
        return Evidence(
            f"{level}; without the prior {norms}",
            detectable,
            min(1.0, tests * smallest),
            bool(within and all(one.within for one in result.norms.values())),
            resolution=seen / _OFFSET_MARGIN,
        )

    def tables(self, result: SpecificationResult) -> list[tuple[list[str], list[list[object]], str]]:
        """Return the norms."""
        if result.missing:
            return []
        rows: list[list[object]] = [
            [f"‖{name}‖", one.norm, one.se, one.radius] for name, one in result.norms.items()
        ]
        return [
            (
                ["without the prior", "norm", "standard error", "bound"],
                rows,
                "One step of scoring from the posterior mean.",
            )
        ]

    def to_plain(self, result: SpecificationResult) -> Mapping[str, object]:
        """Return the errors; nothing where there are too few rounds."""
        if result.missing:
            return {}
        norms = {name: one._asdict() | {"p_value": one.p_value} for name, one in result.norms.items()}
        return {"offset": result.offset, "se": result.se, "p_value": result.p_value, "norms": norms}


def one_step(columns: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least squares coefficients (k,) of columns (n, k), and the weights (k, n) that make them of the response.

    Directions that the columns do not span get no weight.

    Examples
    --------
    >>> estimate, weights = one_step(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 5.0]))
    >>> estimate.round(9).tolist(), (weights @ [2.0, 5.0]).round(9).tolist()
    ([2.0, 3.0], [2.0, 3.0])
    """
    weights = np.linalg.pinv(columns, rcond=1e-6)
    return weights @ response, weights


def _norm_of(estimate: np.ndarray, weights: np.ndarray, first: int, radius: float) -> Norm:
    """Return the norm of the entries of an estimate from ``first`` on, made by weights (d, n) of independent residuals."""
    return excess_norm(estimate[first:], weights[first:] @ weights[first:].T, radius)


def excess_norm(estimate: np.ndarray, covariance: np.ndarray, radius: float) -> Norm:
    """Return the norm of an unbiased estimate (d,), without the bias that its errors give to the norm.

    Examples
    --------
    >>> found = excess_norm(np.array([3.0, 4.0]), 0.25 * np.eye(2), 2.0)
    >>> round(found.norm, 3), found.se, found.p_value < 1e-6
    (4.95, 0.5, True)
    """
    length = float(np.linalg.norm(estimate))
    unbiased = math.sqrt(max(length**2 - float(np.trace(covariance)), 0.0))
    direction = estimate / max(length, 1e-300)
    return Norm(unbiased, math.sqrt(max(float(direction @ covariance @ direction), 1e-300)), radius)


def _moments(
    setting: Setting, theta: np.ndarray, phi: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, variance and derivative of the variance by φᵀx at contexts x (n, d)."""
    with double_precision():
        value, slope = _variance(setting, jnp.asarray(x @ phi))
        return x @ theta, np.maximum(np.asarray(value), 1e-12), np.asarray(slope)


@jax.jit
def _variance(setting: Setting, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.jvp(setting.variance, (v,), (jnp.ones_like(v),))
