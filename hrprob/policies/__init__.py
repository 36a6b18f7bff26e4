"""What is chosen: one policy a file, one registry."""

from hrprob.policies.base import Learner, Policy, Seen
from hrprob.policies.bayes import BayesLearner
from hrprob.policies.bayes_index import BayesGreedy, BayesUCB
from hrprob.policies.cmdp import CMDP
from hrprob.policies.greedy import Greedy
from hrprob.policies.hr_ucb import HRUCB
from hrprob.policies.linucb import LinUCB
from hrprob.policies.oracle import Oracle
from hrprob.policies.random import Random
from hrprob.policies.registry import describe, kinds, make, register
from hrprob.policies.sigma_max import SigmaMaxUCB
from hrprob.policies.thompson import Thompson
from hrprob.policies.thompson_conjugate import ThompsonHomoscedastic, ThompsonKnownVariance

__all__ = [
    "CMDP",
    "HRUCB",
    "BayesGreedy",
    "BayesLearner",
    "BayesUCB",
    "Greedy",
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
    "describe",
    "kinds",
    "make",
    "register",
]
