"""A truth that drifts: θ* and φ* of the moment, from user to user.

============  ==========================================================================
kind          what the truth does
============  ==========================================================================
(none)        it stays; a problem has no drift by default
rotating      turns at a constant rate, back where it began after a period
abrupt        stays for some users, then jumps to a random direction
wandering     goes from one random direction to the next, without a jump
============  ==========================================================================

Norms never change, so the bounds that policies know hold throughout. Regret is measured against the oracle of the moment: who knows
the truth that the user meets. The truth of a user does not depend on any choice, so all policies meet the same.

A kind of one's own is a class with ``check``, ``draw`` and ``truth`` (:class:`Drift`), under ``@register("kind")``.
"""

from hrprob.problem.drift.abrupt import Abrupt
from hrprob.problem.drift.base import DRIFTS, Drift, register
from hrprob.problem.drift.rotating import Rotating
from hrprob.problem.drift.wandering import Wandering

__all__ = ["DRIFTS", "Abrupt", "Drift", "Rotating", "Wandering", "register"]
