r"""What is maximised.

A round earns g in expectation, whatever β is. One action for a whole stay earns g in each of its rounds:

.. math:: v = g \cdot \mathbb{E}[\text{rounds}] = g/p,

with p the probability that a round is the last.

===============  ====================  =====================================================
kind             g                     what v is
===============  ====================  =====================================================
lifetime         1                     the expected lifetime h, the paper's objective
reward           u                     the total reward ĥ = u·h (concluding remarks)
mean-variance    u − ρ·w               the total reward minus ρ per unit of variance
threshold        P(r > level)          the number of rounds with an outcome above a level
===============  ====================  =====================================================

With β = ∞ a user stays for one round, and v = g: the ordinary contextual bandit and its
risk-averse [1]_ and thresholding [2]_ variants. The regret is v* − v, in the units of v.

References
----------
.. [1] A. Sani, A. Lazaric, R. Munos, "Risk-aversion in multi-armed bandits", NeurIPS 2012.
.. [2] A. Locatelli, M. Gutzeit, A. Carpentier, "An optimal algorithm for the thresholding
   bandit problem", ICML 2016.
"""

from hrprob.problem.objectives.base import OBJECTIVES, Objective, register, total
from hrprob.problem.objectives.lifetime import Lifetime
from hrprob.problem.objectives.mean_variance import MeanVariance
from hrprob.problem.objectives.reward import Reward
from hrprob.problem.objectives.threshold import Threshold

__all__ = ["OBJECTIVES", "Lifetime", "MeanVariance", "Objective", "Reward", "Threshold", "register", "total"]
