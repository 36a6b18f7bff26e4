r"""Likelihood-ratio confidence sets: joint sets for (θ*, φ*) that hold for all n simultaneously, under any design.

Before round i a *predictive* density q_i is fixed; it may depend on everything seen so far. Under the truth

.. math:: E_n = \prod_{i \le n} \frac{q_i(r_i)}{p(r_i \mid x_i, \theta_*, \phi_*)}

is a nonnegative martingale with mean 1, however contexts are picked, and by Ville's inequality it ever exceeds
1/δ with probability at most δ. So with probability 1 − δ, for all n simultaneously, the truth lies in

.. math:: C_n = \Big\{(\theta, \phi) : \sum_{i \le n} \ln p(r_i \mid x_i, \theta, \phi) \ge
    \sum_{i \le n} \ln q_i(r_i) - \ln(1/\delta)\Big\}.

The better the predictive, the smaller the set; no predictive makes it invalid [1]_ [2]_ [3]_ [4]_.

====================================  ===========================================================================
where                                 what
====================================  ===========================================================================
:mod:`.likelihood_ratio_set`          the object :class:`hrprob.LikelihoodRatioSet`
:mod:`.predictives`                   the registry of predictives, and what one is
:mod:`.plug_in`, :mod:`.posterior`    predictives from the GLSE, the weighted estimator, posterior engines
:mod:`.region`                        the set approximated in closed form, for normal outcomes, inside compiled runs
:mod:`.search`                        constrained optimisation over the set: its projections and its ellipsoid
:mod:`.hypotheses`                    hypotheses about (θ, φ), for e-values and p-values
====================================  ===========================================================================

**One predictive per stay.** All rounds of a stay share the context x, and one q, fixed before the stay, serves them all:
Σ ln q over them depends on m, Σr and Σr² alone for normal outcomes. When the user leaves is decided by the outcomes
so far, so m is a stopping time and changes nothing.

**What is assumed.** That outcomes have the model's distribution exactly: mean θ*ᵀx, variance f(φ*ᵀx), its shape, and
independent noise; that ‖θ*‖ and ‖φ*‖ keep their bounds. Contexts, levels and the policy are arbitrary.

**What fails under misspecification.** If outcomes have another distribution, there is no true (θ*, φ*), and the ratio is a martingale no more. Where
the true density is at most e^ε times that of a pair, for every outcome, the pair is ever outside up to round n with probability at most
δe^{εn}, because E_n e^{−εn} is a supermartingale. For a normal model, heavier tails, wrong means and larger variances have no such bound: the
probability of a miss may grow with n, and no δ protects against it (``docs/explanation/inference.md`` has how fast). A variant for sub-Gaussian
noise of unknown shape is open: for means alone one exists (replace the likelihood by the sub-Gaussian bound on the moment generating
function, which is what α⁽¹⁾ does), but for the variance a bound on it, rather than a likelihood, would have to be assumed on both sides.

References
----------
.. [1] I. Waudby-Smith, A. Ramdas, "Confidence sequences for sampling without replacement", arXiv 2006.04347, 2020.
.. [2] N. Emmenegger, M. Mutný, A. Krause, "Likelihood Ratio Confidence Sets for Sequential Decision Making", arXiv 2311.04402, 2023.
.. [3] H. Flynn, D. Reeb, M. Kandemir, J. Peters, "Improved Algorithms for Stochastic Linear Bandits Using Tail Bounds for
   Martingale Mixtures", arXiv 2309.14298, 2023.
.. [4] J. Lee, S.-Y. Yun, K.-S. Jun, "A Unified Confidence Sequence for Generalized Linear Models, with Applications to
   Bandits", arXiv 2407.13977, 2024.
"""
