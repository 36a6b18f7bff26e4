"""What is played: link, noise, contexts, satisfaction, objective, and the truth."""

from hrprob.noise import NORMAL, Noise, Normal
from hrprob.problem.contexts import Ball, Contexts, Finite, Sphere, read_context_sets
from hrprob.problem.link import Affine
from hrprob.problem.objective import Lifetime, Objective
from hrprob.problem.problem import Bounds, Known, Problem
from hrprob.problem.satisfaction import Fixed, Infinite, Satisfaction, Uniform

__all__ = [
    "NORMAL",
    "Affine",
    "Ball",
    "Bounds",
    "Contexts",
    "Finite",
    "Fixed",
    "Infinite",
    "Known",
    "Lifetime",
    "Noise",
    "Normal",
    "Objective",
    "Problem",
    "Satisfaction",
    "Sphere",
    "Uniform",
    "read_context_sets",
]
