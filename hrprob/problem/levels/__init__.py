"""The satisfaction level β of a user: an outcome below it is the last.

===========  ==========================================================
kind         meaning
===========  ==========================================================
uniform      β uniform on [low, high], as in the paper's simulation
normal       β normal
empirical    β drawn uniformly from a list
fixed        every user has the same β
infinite     β = ∞: every user leaves after one round (Remark 7)
sequence     β of each user from a list or a file
function     β of each user from a function of one's own
hidden       β drawn once per user and kept; policies do not see it
redrawn      β drawn independently in every round; policies do not see it
===========  ==========================================================

All but the last two are drawn once per user, kept, and seen on arrival. ``hidden`` and ``redrawn`` take one of the
first three as their distribution (:mod:`hrprob.problem.levels.distribution`).
"""

from hrprob.problem.levels.base import LEVELS, Satisfaction, SeenLevels, register
from hrprob.problem.levels.distribution import LevelDistribution
from hrprob.problem.levels.empirical import EmpiricalLevels
from hrprob.problem.levels.fixed import FixedLevels
from hrprob.problem.levels.function import LevelFunction
from hrprob.problem.levels.hidden import HiddenLevels
from hrprob.problem.levels.infinite import InfiniteLevels
from hrprob.problem.levels.normal import NormalLevels
from hrprob.problem.levels.redrawn import RedrawnLevels
from hrprob.problem.levels.sequence import LevelSequence
from hrprob.problem.levels.uniform import UniformLevels

__all__ = [
    "LEVELS",
    "EmpiricalLevels",
    "FixedLevels",
    "HiddenLevels",
    "InfiniteLevels",
    "LevelDistribution",
    "LevelFunction",
    "LevelSequence",
    "NormalLevels",
    "RedrawnLevels",
    "Satisfaction",
    "SeenLevels",
    "UniformLevels",
    "register",
]
