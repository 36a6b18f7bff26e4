"""What is played: link, noise, contexts, satisfaction, objective, and the truth."""

from hrprob.noise import NORMAL, Mixture, Noise, Normal, StudentT, TruncatedNormal
from hrprob.problem.contexts import (
    Ball,
    ContextFunction,
    Contexts,
    ContextSequence,
    Drifting,
    Finite,
    Sphere,
    Withholding,
)
from hrprob.problem.files import read_context_sets
from hrprob.problem.levels import (
    EmpiricalLevels,
    FixedLevels,
    HiddenLevels,
    InfiniteLevels,
    LevelFunction,
    LevelSequence,
    NormalLevels,
    RedrawnLevels,
    Satisfaction,
    SeenLevels,
    UniformLevels,
)
from hrprob.problem.links import Affine, Link
from hrprob.problem.objectives import Lifetime, MeanVariance, Objective, Reward, Threshold
from hrprob.problem.problem import Bounds, Known, Problem

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
    "FixedLevels",
    "HiddenLevels",
    "InfiniteLevels",
    "Known",
    "LevelFunction",
    "LevelSequence",
    "Lifetime",
    "Link",
    "MeanVariance",
    "Mixture",
    "Noise",
    "Normal",
    "NormalLevels",
    "Objective",
    "Problem",
    "RedrawnLevels",
    "Reward",
    "Satisfaction",
    "SeenLevels",
    "Sphere",
    "StudentT",
    "Threshold",
    "TruncatedNormal",
    "UniformLevels",
    "Withholding",
    "read_context_sets",
]
