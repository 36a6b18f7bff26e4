# ruff: noqa: I001  (the names stand by question, sorted within each group)

__version__: str

# Packages with more names.
from . import data as data
from . import diagnostics as diagnostics
from . import models as models
from . import noise as noise
from . import plot as plot
from . import plugins as plugins
from . import policies as policies
from . import problem as problem
from . import theory as theory

# What is raised for an input that cannot be used.
from ._core.errors import InvalidInput as InvalidInput

# What is played: the problem and what policies know of it.
from .problem import Affine as Affine
from .problem import Bounds as Bounds
from .problem import Known as Known
from .problem import LogLink as LogLink
from .problem import Problem as Problem
from .problem import SoftplusLink as SoftplusLink

# What is played: noises.
from .problem import Mixture as Mixture
from .problem import Normal as Normal
from .problem import Residuals as Residuals
from .problem import StudentT as StudentT
from .problem import TruncatedNormal as TruncatedNormal

# What is played: contexts.
from .problem import Ball as Ball
from .problem import ContextFunction as ContextFunction
from .problem import ContextSequence as ContextSequence
from .problem import Drifting as Drifting
from .problem import Finite as Finite
from .problem import Sphere as Sphere
from .problem import Withholding as Withholding

# What is played: satisfaction levels.
from .problem import EmpiricalLevels as EmpiricalLevels
from .problem import FixedLevels as FixedLevels
from .problem import HiddenLevels as HiddenLevels
from .problem import InfiniteLevels as InfiniteLevels
from .problem import LevelFunction as LevelFunction
from .problem import LevelSequence as LevelSequence
from .problem import NormalLevels as NormalLevels
from .problem import RedrawnLevels as RedrawnLevels
from .problem import UniformLevels as UniformLevels

# What is played: drift of the truth.
from .problem import Abrupt as Abrupt
from .problem import Rotating as Rotating
from .problem import Wandering as Wandering

# What is played: objectives.
from .problem import Lifetime as Lifetime
from .problem import MeanVariance as MeanVariance
from .problem import Reward as Reward
from .problem import Threshold as Threshold

# What is an action worth?
from .lifetime import h as h

# What is believed?
from .estimation.confidence import ConfidenceSets as ConfidenceSets
from .estimation.lipschitz import lipschitz_constants as lipschitz_constants
from .estimation.estimator import GLSE as GLSE
from .estimation.likelihood_ratio.hypotheses import Homoscedastic as Homoscedastic
from .estimation.likelihood_ratio.hypotheses import NotLonger as NotLonger
from .estimation.likelihood_ratio.hypotheses import Stated as Stated
from .estimation.likelihood_ratio.likelihood_ratio_set import LikelihoodRatioSet as LikelihoodRatioSet

# What is chosen?
from .policies import CMDP as CMDP
from .policies import HRUCB as HRUCB
from .policies import IDS as IDS
from .policies import KLULCB as KLULCB
from .policies import AverageOracle as AverageOracle
from .policies import BayesGreedy as BayesGreedy
from .policies import BayesUCB as BayesUCB
from .policies import ContextualIDS as ContextualIDS
from .policies import EnsembleSampling as EnsembleSampling
from .policies import EpsilonGreedy as EpsilonGreedy
from .policies import ExploreCommit as ExploreCommit
from .policies import FeelGoodThompson as FeelGoodThompson
from .policies import Greedy as Greedy
from .policies import GreedyFirst as GreedyFirst
from .policies import HRUCBExact as HRUCBExact
from .policies import HRUCBWeighted as HRUCBWeighted
from .policies import HuberUCB as HuberUCB
from .policies import Learner as Learner
from .policies import LinUCB as LinUCB
from .policies import MeanOracle as MeanOracle
from .policies import Oracle as Oracle
from .policies import Policy as Policy
from .policies import Random as Random
from .policies import Seen as Seen
from .policies import SigmaMaxUCB as SigmaMaxUCB
from .policies import Thompson as Thompson
from .policies import ThompsonHomoscedastic as ThompsonHomoscedastic
from .policies import ThompsonKnownVariance as ThompsonKnownVariance
from .policies import VarianceThompson as VarianceThompson
from .policies import WeightedOFUL as WeightedOFUL
from .policies import register as register

# What happens?
from .simulation.engine import simulate as simulate
from .io.summary import summarise as summarise
from .sweeps.play import sweep as sweep

# What do your data say?
from .fitting.fit import fit as fit
from .fitting.foreign import read_posterior as read_posterior
from .fitting.posterior import Posterior as Posterior

# Who won?
from .comparison.frontier.play import frontier as frontier
from .comparison.paired import compare as compare
from .comparison.repeat import repeat as repeat
from .comparison.sequential import decide as decide

# Who is served?
from .live.agent import Agent as Agent
from .live.stays import Decision as Decision
from .live.evaluation.evaluate import evaluate as evaluate
from .live.evaluation.logged import LoggedStays as LoggedStays
