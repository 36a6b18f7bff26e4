"""Reference versions of the policies beyond the paper: slow, in plain NumPy and SciPy with float64.

A reference policy stores every stay and recomputes everything from all of them for each decision. Only
random numbers and the schedule of costly steps are shared with hrprob.
"""

from typing import Any

from tests.policies.reference.base import Stay
from tests.policies.reference.kl_ulcb import KLULCB
from tests.policies.reference.on_glse import EpsilonGreedy, ExploreCommit, HRUCBCalibrated, HRUCBExact
from tests.policies.reference.on_weighted import (
    ContextualIDS,
    GreedyFirst,
    HRUCBWeighted,
    VarianceThompson,
    WeightedOFUL,
)
from tests.policies.reference.sampling import EnsembleSampling, HuberUCB

__all__ = ["REFERENCE_POLICIES", "HRUCBCalibrated", "Stay"]

REFERENCE_POLICIES: dict[str, Any] = {
    "contextual-ids": ContextualIDS,
    "ensemble-sampling": EnsembleSampling,
    "epsilon-greedy": EpsilonGreedy,
    "explore-commit": ExploreCommit,
    "greedy-first": GreedyFirst,
    "hr-ucb-exact": HRUCBExact,
    "hr-ucb-weighted": HRUCBWeighted,
    "huber-ucb": HuberUCB,
    "kl-ulcb": KLULCB,
    "variance-thompson": VarianceThompson,
    "weighted-oful": WeightedOFUL,
}
