"""Does the paper hold? Its figures played again, compared with the published curves and the claims.

==================  ================================================================
``play``            play all parts, draw, decide and write (``hrprob reproduce``)
``parts``           the runs that the figures consist of
``published``       the published curves
``verdicts``        which curves agree, which claims hold
``figure_1``        Figure 1: heteroscedastic outcomes, risk at one level
``regret_figures``  Figure 2, and the index of HR-UCB with each ξ
``page``            the report
==================  ================================================================
"""
