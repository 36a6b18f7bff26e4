"""What does inference cost? Regret of policies against how well their data support intervals of θ and φ.

=================  =====================================================================
``dials``          policies that explore more and more: Thompson's spread, HR-UCB's radius
``intervals``      three kinds of intervals from the rounds of one run
``play``           play policies, and look at the intervals after the last user
``summary``        regret, coverage and width per policy, with intervals and verdicts
``report``         write a folder with figure, page and numbers (``hrprob frontier``)
=================  =====================================================================
"""
