r"""The oracle that does not see β: the limit of a CMDP whose context leaves β out.

It selects :math:`\arg\max_x \mathbb{E}_\beta[h_\beta(\theta_*^\top x, f(\phi_*^\top x))]`. A CMDP that keeps one
action for a whole stay estimates departures/rounds, which tends to :math:`1/\mathbb{E}_\beta[h_\beta]` of
the action: within a cell of one context set, this oracle is what it learns.
"""

from __future__ import annotations

from typing import Self

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe, with_fields
from hrprob.policies.base import register
from hrprob.policies.oracle import Oracle
from hrprob.problem import HiddenLevels, Problem
from hrprob.problem.levels.distribution import LevelDistribution

__all__ = ["AverageOracle"]


@register("average-oracle")
class AverageOracle(Oracle):
    """Select the action of largest true value on average over β, the limit of CMDP without β.

    Examples
    --------
    >>> AverageOracle().kind, AverageOracle.is_oracle
    ('average-oracle', True)
    """

    def bind(self, problem: Problem, users: int) -> Self:
        """Return the policy with θ* and φ*, and with levels that are not seen."""
        bound = super().bind(problem, users)
        if not problem.satisfaction.seen:
            return bound
        if not isinstance(problem.satisfaction, LevelDistribution):
            remedy = "values are averaged over it; take `oracle` where β is the same for all users"
            raise InvalidInput(
                "satisfaction", "must be a distribution", describe(problem.satisfaction), remedy
            )
        hidden = HiddenLevels(problem.satisfaction)
        return with_fields(bound, known=with_fields(bound.known, satisfaction=hidden))
