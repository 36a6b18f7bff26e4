"""What is played: a :class:`Problem` and its parts.

=================  =====================================================================
where              what
=================  =====================================================================
``links/``         f, from φᵀx to the variance of an outcome
``contexts/``      the contexts of each user, one per action
``levels/``        the satisfaction level β of each user
``drift/``         how the truth moves from user to user, if it does
``objectives/``    what is maximised
``bounds``         the norms of θ* and φ* that policies may rely on
``problem``        all of these together with the truth θ*, φ*
``known``          the part of a problem that a policy may know
``stay_rules``     the part that decides how long a stay is, its value and its cost
=================  =====================================================================

The noise has a package of its own, :mod:`hrprob.noise`. ``files``, ``functions`` and ``sequences`` serve contexts and
levels of one's own.

Examples
--------
>>> problem = Problem(theta=[0.6, 0.3], phi=[0.5, -0.9], contexts=Ball(actions=5))
>>> problem.dimension, problem.contexts.actions
(2, 5)
"""

from hrprob.noise import NORMAL, Mixture, Noise, Normal, Residuals, StudentT, TruncatedNormal
from hrprob.problem.bounds import Bounds
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
from hrprob.problem.drift import Abrupt, Drift, Rotating, Wandering
from hrprob.problem.files import read_context_sets
from hrprob.problem.known import Known
from hrprob.problem.levels import (
    EmpiricalLevels,
    FixedLevels,
    HiddenLevels,
    InfiniteLevels,
    LevelDistribution,
    LevelFunction,
    LevelSequence,
    NormalLevels,
    RedrawnLevels,
    Satisfaction,
    SeenLevels,
    UniformLevels,
)
from hrprob.problem.links import Affine, Link, LogLink, SoftplusLink
from hrprob.problem.objectives import Lifetime, MeanVariance, Objective, Reward, Threshold
from hrprob.problem.problem import Problem
from hrprob.problem.stay_rules import StayRules

__all__ = [
    "NORMAL",
    "Abrupt",
    "Affine",
    "Ball",
    "Bounds",
    "ContextFunction",
    "ContextSequence",
    "Contexts",
    "Drift",
    "Drifting",
    "EmpiricalLevels",
    "Finite",
    "FixedLevels",
    "HiddenLevels",
    "InfiniteLevels",
    "Known",
    "LevelDistribution",
    "LevelFunction",
    "LevelSequence",
    "Lifetime",
    "Link",
    "LogLink",
    "MeanVariance",
    "Mixture",
    "Noise",
    "Normal",
    "NormalLevels",
    "Objective",
    "Problem",
    "RedrawnLevels",
    "Residuals",
    "Reward",
    "Rotating",
    "Satisfaction",
    "SeenLevels",
    "SoftplusLink",
    "Sphere",
    "StayRules",
    "StudentT",
    "Threshold",
    "TruncatedNormal",
    "UniformLevels",
    "Wandering",
    "Withholding",
    "read_context_sets",
]
