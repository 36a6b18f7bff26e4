"""What a policy assumes about a problem, and whether it can act on these assumptions.

A policy that learns may assume another noise, objective or distribution of satisfaction levels than
the problem has, so that the cost of a wrong assumption can be measured.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe
from hrprob.noise import Noise
from hrprob.problem import Problem
from hrprob.problem.levels import Satisfaction
from hrprob.problem.objectives import Objective

__all__ = ["ASSUMED", "Assumptions", "check_finite_values", "check_levels"]

ASSUMED = ("noise", "objective", "satisfaction")
"""The parts of a problem that a policy may assume to be different."""


class Assumptions(TypedDict):
    """What a policy assumes, by part."""

    noise: Noise
    objective: Objective
    satisfaction: Satisfaction


def check_levels(problem: Problem, assumed: Satisfaction, *, given: object, range_matters: bool) -> None:
    """Raise if satisfaction levels are assumed seen that are not, or if the assumption has no effect.

    Parameters
    ----------
    problem : Problem
        The problem that is played.
    assumed : levels
        The levels that the policy assumes.
    given : object
        The parameter ``satisfaction`` as it was given, for the message.
    range_matters : bool
        Whether the policy uses the range of the levels, not only the level of the user served.
    """
    if not assumed.seen:
        return
    if not problem.satisfaction.seen:
        remedy = 'it sees no level; assume "hidden" or "redrawn" levels'
        raise InvalidInput("satisfaction", "must not be seen", given, remedy)
    if not range_matters and describe(assumed) != describe(problem.satisfaction):
        remedy = 'β is seen on arrival, so no choice would change; assume "hidden" or "redrawn" levels'
        must = "must not be seen unless it is the problem's own"
        raise InvalidInput("satisfaction", must, describe(assumed), remedy)


def check_finite_values(
    problem: Problem, levels: Satisfaction, noise: Noise, *, fields: list[str], levels_given: bool
) -> None:
    """Raise unless some action can have a finite value under the assumed levels and noise.

    Parameters
    ----------
    problem : Problem
        The problem that is played.
    levels, noise : levels, Noise
        The policy's assumptions.
    fields : list of str
        The parameters by which the user gave a noise, the most specific first; empty if none did.
    levels_given : bool
        Whether the user gave ``satisfaction``.
    """
    if getattr(levels, "needs_tail", False) and noise.tail is None:
        remedy = "lifetimes averaged over normal levels depend on it; give the noise a `tail`, or assume bounded levels"
        must = "must go with a noise of known tail where normal levels are hidden"
        raise InvalidInput([*fields, "satisfaction"][0], must, noise.kind, remedy)
    # Lifetimes are shortest with the lowest mean and the largest variance that the bounds allow.
    mean, variance = -problem.bounds.theta, problem.link(problem.bounds.phi)
    try:
        levels.check_finite(noise, np.array([mean]), np.array([variance]))
    except InvalidInput as error:
        remedy = (
            "no action within `bounds` would have a finite value that can be computed, and all would tie; "
        )
        if levels_given or not fields:
            remedy += "assume narrower or higher levels, or `redrawn` ones"
            raise InvalidInput(f"satisfaction.{error.field}", error.must, error.got, remedy) from None
        remedy += "assume a noise with a heavier lower tail"
        must = "must leave some action's average over hidden levels finite"
        raise InvalidInput(fields[0], must, noise.kind, remedy) from None
