"""What is played: link, noise, contexts, satisfaction, objective, and the truth."""

from hrprob.noise import NORMAL, Mixture, Noise, Normal, StudentT, TruncatedNormal
from hrprob.problem.contexts import Ball, Contexts, Finite, Sphere
from hrprob.problem.files import read_context_sets
from hrprob.problem.hidden import Hidden, Redrawn
from hrprob.problem.link import Affine
from hrprob.problem.objective import Lifetime, MeanVariance, Objective, Reward, Threshold
from hrprob.problem.problem import Bounds, Known, Problem
from hrprob.problem.satisfaction import (
    EmpiricalLevels,
    Fixed,
    Infinite,
    NormalLevels,
    Satisfaction,
    SeenLevels,
    Uniform,
)
from hrprob.problem.sequences import (
    ContextFunction,
    ContextSequence,
    Drifting,
    LevelFunction,
    LevelSequence,
    Withholding,
)

__all__ = [
    "NORMAL",
    "Affine",
    "Ball",
    "Bounds",
    "ContextFunction",
    "ContextSequence",
    "Contexts",
    "Drifting",
    "EmpiricalLevels",
    "Finite",
    "Fixed",
    "Hidden",
    "Infinite",
    "Known",
    "LevelFunction",
    "LevelSequence",
    "Lifetime",
    "MeanVariance",
    "Mixture",
    "Noise",
    "Normal",
    "NormalLevels",
    "Objective",
    "Problem",
    "Redrawn",
    "Reward",
    "Satisfaction",
    "SeenLevels",
    "Sphere",
    "StudentT",
    "Threshold",
    "TruncatedNormal",
    "Uniform",
    "Withholding",
    "read_context_sets",
]
