"""The contexts of a user: one vector of norm at most 1 per action, seen on arrival.

============  ==========================================================
kind          the contexts of a user are
============  ==========================================================
sphere        uniform on the unit sphere, as in the released program
ball          uniform in the unit ball, as in the text of the paper
finite        one of finitely many sets, drawn uniformly
sequence      those of a list or a file, in its order
function      those that a function of one's own returns
drifting      on the sphere, about a direction that turns
withholding   on the sphere, without some coordinates for a while
============  ==========================================================

A kind of contexts makes them in two steps: ``draw`` takes the random numbers from a
:class:`~hrprob._core.random_numbers.Source`, ``place`` turns them into contexts. The steps are compiled separately,
because a compiler that sees both computes every random number again for each of its uses.

Contexts have the shape (users, actions, d, trials).
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
