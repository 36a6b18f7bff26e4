"""The contexts that a user arrives with: one vector of norm at most 1 an action.

A kind of contexts says how many actions there are and makes them in two steps:
``draw`` takes the random numbers from a :class:`~hrprob._core.random_numbers.Source`,
``place`` turns them into contexts. The steps are compiled apart, because a compiler
that sees both computes every random number anew for each of its uses.

Shapes are (users, actions, d, trials).
"""

from hrprob.problem.contexts.ball import Ball
from hrprob.problem.contexts.base import CONTEXTS, Contexts, check_contexts, register
from hrprob.problem.contexts.drifting import Drifting
from hrprob.problem.contexts.finite import Finite
from hrprob.problem.contexts.function import ContextFunction
from hrprob.problem.contexts.sequence import ContextSequence
from hrprob.problem.contexts.sphere import Sphere
from hrprob.problem.contexts.withholding import Withholding

__all__ = [
    "CONTEXTS",
    "Ball",
    "ContextFunction",
    "ContextSequence",
    "Contexts",
    "Drifting",
    "Finite",
    "Sphere",
    "Withholding",
    "check_contexts",
    "register",
]
