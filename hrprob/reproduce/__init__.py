"""Does the paper hold? Its figures played again, compared with the published curves and the claims.

==================  ================================================================
``play``            play all parts, draw, decide and write (``hrprob reproduce``)
``parts``           the runs that the figures consist of
``published``       the published curves
``curves``          which curves agree with the published ones
``first_user``      how probable the published values at user 1 are
``claims``          which claims hold, fail or are undecided
``convergence``     Remark 2: the speed of both estimators
``cmdp_counts``     how often a CMDP knew its actions
``figure_1``        Figure 1: heteroscedastic outcomes, risk at one level
``regret_figures``  Figure 2, and the index of HR-UCB with each ξ
``page``            the report
==================  ================================================================
"""
