"""hrprob: lifetime maximisation with heteroscedastic outcomes.

Users leave for good after one outcome below their own satisfaction level; the
variance of outcomes depends on the context. The names below are loaded when first
used, so that ``import hrprob`` itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "hrprob.agent": ["Agent"],
    "hrprob.comparison.paired": ["compare"],
    "hrprob.comparison.sequential": ["decide"],
    "hrprob.errors": ["InvalidInput"],
    "hrprob.estimation.confidence": ["ConfidenceSets", "lipschitz_constants"],
    "hrprob.estimation.glse": ["GLSE"],
    "hrprob.fitting.fit": ["fit"],
    "hrprob.fitting.posterior": ["Posterior"],
    "hrprob.lifetime": ["h"],
    "hrprob.policies": [
        "CMDP",
        "HRUCB",
        "IDS",
        "KLULCB",
        "BayesGreedy",
        "BayesUCB",
        "ContextualIDS",
        "EpsilonGreedy",
        "ExploreCommit",
        "Greedy",
        "GreedyFirst",
        "HRUCBExact",
        "HRUCBWeighted",
        "Learner",
        "LinUCB",
        "Oracle",
        "Policy",
        "Random",
        "Seen",
        "SigmaMaxUCB",
        "Thompson",
        "ThompsonHomoscedastic",
        "ThompsonKnownVariance",
        "VarianceThompson",
        "WeightedOFUL",
        "register",
    ],
    "hrprob.problem": [
        "Affine",
        "Ball",
        "Bounds",
        "ContextFunction",
        "ContextSequence",
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
        "Normal",
        "NormalLevels",
        "Problem",
        "Redrawn",
        "Reward",
        "Sphere",
        "StudentT",
        "Threshold",
        "TruncatedNormal",
        "Uniform",
        "Withholding",
    ],
    "hrprob.simulation.engine": ["simulate"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

# Packages that are asked for by their own names.
_MODULES = ("diagnostics", "models", "noise", "policies", "problem")

__all__ = [*_MODULE_OF, *_MODULES, "__version__"]

if TYPE_CHECKING:
    from hrprob.agent import Agent as Agent
    from hrprob.comparison.paired import compare as compare
    from hrprob.comparison.sequential import decide as decide
    from hrprob.errors import InvalidInput as InvalidInput
    from hrprob.estimation.confidence import ConfidenceSets as ConfidenceSets
    from hrprob.estimation.confidence import lipschitz_constants as lipschitz_constants
    from hrprob.estimation.glse import GLSE as GLSE
    from hrprob.fitting.fit import fit as fit
    from hrprob.fitting.posterior import Posterior as Posterior
    from hrprob.lifetime import h as h
    from hrprob.policies import CMDP as CMDP
    from hrprob.policies import HRUCB as HRUCB
    from hrprob.policies import IDS as IDS
    from hrprob.policies import KLULCB as KLULCB
    from hrprob.policies import BayesGreedy as BayesGreedy
    from hrprob.policies import BayesUCB as BayesUCB
    from hrprob.policies import ContextualIDS as ContextualIDS
    from hrprob.policies import EpsilonGreedy as EpsilonGreedy
    from hrprob.policies import ExploreCommit as ExploreCommit
    from hrprob.policies import Greedy as Greedy
    from hrprob.policies import GreedyFirst as GreedyFirst
    from hrprob.policies import HRUCBExact as HRUCBExact
    from hrprob.policies import HRUCBWeighted as HRUCBWeighted
    from hrprob.policies import Learner as Learner
    from hrprob.policies import LinUCB as LinUCB
    from hrprob.policies import Oracle as Oracle
    from hrprob.policies import Policy as Policy
    from hrprob.policies import Random as Random
    from hrprob.policies import Seen as Seen
    from hrprob.policies import SigmaMaxUCB as SigmaMaxUCB
    from hrprob.policies import Thompson as Thompson
    from hrprob.policies import ThompsonHomoscedastic as ThompsonHomoscedastic
    from hrprob.policies import ThompsonKnownVariance as ThompsonKnownVariance
    from hrprob.policies import VarianceThompson as VarianceThompson
    from hrprob.policies import WeightedOFUL as WeightedOFUL
    from hrprob.policies import register as register
    from hrprob.problem import Affine as Affine
    from hrprob.problem import Ball as Ball
    from hrprob.problem import Bounds as Bounds
    from hrprob.problem import ContextFunction as ContextFunction
    from hrprob.problem import ContextSequence as ContextSequence
    from hrprob.problem import Drifting as Drifting
    from hrprob.problem import EmpiricalLevels as EmpiricalLevels
    from hrprob.problem import Finite as Finite
    from hrprob.problem import Fixed as Fixed
    from hrprob.problem import Hidden as Hidden
    from hrprob.problem import Infinite as Infinite
    from hrprob.problem import Known as Known
    from hrprob.problem import LevelFunction as LevelFunction
    from hrprob.problem import LevelSequence as LevelSequence
    from hrprob.problem import Lifetime as Lifetime
    from hrprob.problem import MeanVariance as MeanVariance
    from hrprob.problem import Mixture as Mixture
    from hrprob.problem import Normal as Normal
    from hrprob.problem import NormalLevels as NormalLevels
    from hrprob.problem import Problem as Problem
    from hrprob.problem import Redrawn as Redrawn
    from hrprob.problem import Reward as Reward
    from hrprob.problem import Sphere as Sphere
    from hrprob.problem import StudentT as StudentT
    from hrprob.problem import Threshold as Threshold
    from hrprob.problem import TruncatedNormal as TruncatedNormal
    from hrprob.problem import Uniform as Uniform
    from hrprob.problem import Withholding as Withholding
    from hrprob.simulation.engine import simulate as simulate


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"hrprob.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hrprob' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
