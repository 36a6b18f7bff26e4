"""The satisfaction level β that a user arrives with.

===========  ==========================================================
kind         meaning
===========  ==========================================================
uniform      β uniform on [low, high], as in the paper's simulation
normal       β normal
empirical    β one of some levels, each as likely as it is often there
fixed        every user has the same β
infinite     β = ∞: every user leaves after one round (Remark 7)
===========  ==========================================================

All of these are drawn once for a user, kept, and seen on arrival. :mod:`hrprob.problem.levels.hidden`
has levels that nobody sees, :mod:`hrprob.problem.sequences` those that are no i.i.d. draws.
"""

from hrprob.problem.levels.base import LEVELS, Satisfaction, SeenLevels, register
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
    "LevelFunction",
    "LevelSequence",
    "NormalLevels",
    "RedrawnLevels",
    "Satisfaction",
    "SeenLevels",
    "UniformLevels",
    "register",
]
