"""What is chosen: one policy a file, one registry."""

from hrprob.policies.base import Learner, Policy, Seen
from hrprob.policies.bayes import BayesLearner
from hrprob.policies.bayes_index import BayesGreedy, BayesUCB
from hrprob.policies.cmdp import CMDP
from hrprob.policies.contextual_ids import ContextualIDS
from hrprob.policies.epsilon_greedy import EpsilonGreedy
from hrprob.policies.exact_optimism import HRUCBExact
from hrprob.policies.explore_commit import ExploreCommit
from hrprob.policies.greedy import Greedy
from hrprob.policies.greedy_first import GreedyFirst
from hrprob.policies.hr_ucb import HRUCB
from hrprob.policies.ids import IDS
from hrprob.policies.kl_ulcb import KLULCB
from hrprob.policies.linucb import LinUCB
from hrprob.policies.oracle import Oracle
from hrprob.policies.random import Random
from hrprob.policies.registry import describe, kinds, make, register
from hrprob.policies.sigma_max import SigmaMaxUCB
from hrprob.policies.thompson import Thompson
from hrprob.policies.thompson_conjugate import ThompsonHomoscedastic, ThompsonKnownVariance
from hrprob.policies.variance_thompson import VarianceThompson
from hrprob.policies.weighted import HRUCBWeighted
from hrprob.policies.weighted_oful import WeightedOFUL

DEFAULT = ContextualIDS
"""What to take where nothing speaks for another policy."""

__all__ = [
    "CMDP",
    "DEFAULT",
    "HRUCB",
    "IDS",
    "KLULCB",
    "BayesGreedy",
    "BayesLearner",
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
    "describe",
    "kinds",
    "make",
    "register",
]
