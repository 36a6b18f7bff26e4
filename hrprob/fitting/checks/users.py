r"""Whether rounds of one user resemble each other more than the model says.

A user effect makes a residual e predictable from the user's earlier ones. The weight of a residual is
c/(1 + ρ₀(k − 1)), c being the sum of the k − 1 earlier ones (the best predictor at an intraclass correlation ρ₀); it
depends on the past alone, so that the test is not misled by users who leave because of their outcomes, as an average
over users is. The same is done with |e|, for users whose variances differ.

Both tests are one-sided. Users who differ make the correlation positive; where the truth has smaller norms than the prior expects, predictions
adapt too far to what a user did before, which makes it slightly negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import stats

from hrprob._core.formatting import format_number, signed
from hrprob.fitting.checks.base import NO_PREDICTIONS, Check, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.martingales import SKEWNESS_OF_SIZE, spread, upper_p
from hrprob.numerics.power import detectable_difference

__all__ = ["WithinUsers", "WithinUsersResult", "dependence"]

# Correlation within a user that does not matter, and the one that the weights are best for.
_MARGIN, _LIKELY = 0.1, 0.2


class WithinUsersResult(NamedTuple):
    """Correlations within users, of residuals and of their sizes: estimate, standard error, p-value."""

    correlation: tuple[float, float, float] | None
    sizes: tuple[float, float, float]
    missing: Evidence | None  # what is said where there are none
    level: float


@register("users")
class WithinUsers(Check[WithinUsersResult]):
    """Prequential residuals against earlier ones of the same user."""

    title = "Dependence within a user"
    order = 1.5  # before the checks that fail because of it
    remedy = "the model user-effect, or features that describe users"

    def compute(self, inputs: CheckInputs) -> WithinUsersResult:
        """Return the correlations."""
        made, users, none = inputs.prequential, inputs.users, (math.nan,) * 3
        if made is None or inputs.unpredicted:
            return WithinUsersResult(None, none, inputs.unpredicted, inputs.level)
        if users is None:
            missing = Evidence("the table has no column of users", decided_by="a column of users")
            return WithinUsersResult(None, none, missing, inputs.level)
        if np.all(np.bincount(users) == 1):
            missing = Evidence(
                "no user has more than one round", decided_by="further rounds of the same users"
            )
            return WithinUsersResult(None, none, missing, inputs.level)
        residual, users = made.residual[made.usable], users[made.usable]
        if np.all(np.bincount(users) <= 1):
            return WithinUsersResult(
                None, none, Evidence("no user has two rounds that can be predicted"), inputs.level
            )
        sizes = dependence(spread(residual)[0], users, SKEWNESS_OF_SIZE)
        return WithinUsersResult(dependence(residual, users), sizes, None, inputs.level)

    def evidence(self, result: WithinUsersResult) -> Evidence:
        """Return whether rounds of a user depend on each other."""
        if result.correlation is None:
            return result.missing or NO_PREDICTIONS
        (of_mean, se, p), (of_size, se_of_size, p_of_size) = result.correlation, result.sizes
        bound = stats.norm.ppf(0.95) * se
        # Each of two one-sided tests at half of the level.
        seen = detectable_difference(se, math.inf, result.level)
        return Evidence(
            f"correlation of a user's rounds {signed(of_mean, 2)} ± {format_number(se, 2)}, of their sizes "
            f"{signed(of_size, 2)} ± {format_number(se_of_size, 2)}",
            f"detects a correlation of {format_number(seen, 2)}",
            min(1.0, 2.0 * min(p, p_of_size)),
            abs(of_mean) + bound <= _MARGIN,
            resolution=seen / _MARGIN,
        )

    def to_plain(self, result: WithinUsersResult) -> Mapping[str, object]:
        """Return the correlations."""
        if result.correlation is None:
            return {}
        names = ("estimate", "se", "p_value")
        return {
            "correlation": dict(zip(names, result.correlation, strict=True)),
            "sizes": dict(zip(names, result.sizes, strict=True)),
        }


def dependence(residual: np.ndarray, users: np.ndarray, skewness: float = 0.0) -> tuple[float, float, float]:
    """Return the correlation of residuals within users, its standard error, and the p-value that it is not above 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users = np.repeat(np.arange(100), 4)
    >>> e = np.sqrt(0.4) * rng.normal(size=100)[users] + np.sqrt(0.6) * rng.normal(size=400)
    >>> estimate, se, p = dependence(e, users)
    >>> abs(estimate - 0.4) < 3 * se, p < 1e-4
    (True, True)
    """
    earlier, number = np.zeros(residual.size), np.zeros(residual.size)
    total: dict[int, float] = {}
    count: dict[int, int] = {}
    for i, (user, e) in enumerate(zip(users.tolist(), residual.tolist(), strict=True)):
        earlier[i], number[i] = total.get(user, 0.0), count.get(user, 0)
        # One outlier shall not decide about all later rounds of a user.
        total[user] = earlier[i] + max(-4.0, min(4.0, e))
        count[user] = int(number[i]) + 1
    shrunk = 1.0 / (1.0 + _LIKELY * np.maximum(number - 1.0, 0.0))
    weight = earlier * shrunk
    pairs, found = float(np.sum(number * shrunk)), float(np.sum(residual * weight))
    size = math.sqrt(float(np.sum(weight**2)))
    return found / pairs, size / pairs, upper_p(found / size, weight, skewness)
