"""Can this posterior be trusted on these data? Checks of model and draws, one per file.

=================  =====================================================================
``draws``          draws compared with an importance sample; R-hat, effective sample size
``predictions``    LOO-PIT of rounds and of users, tested with allowance for dependence
``users``          dependence within a user
``mean``           prequential residuals along features, squares, products
``variance``       their sizes, likewise
``specification``  offset and bounds, estimated beside θ and φ
``shape``          skewness, tails, the largest outcome
``stays``          departures, and stays replayed with the stopping rule
``sensitivity``    power scaling of prior and likelihood, draws at the bounds
``updating``       posterior SBC: further users served under draws, refitted, ranked
=================  =====================================================================

What they are built from:

=================  =====================================================================
``base``           what a check is, and how to add one
``inputs``         what checks share
``prequential``    every outcome predicted from those before it
``leaving_out``    every round from all others, every user from all others
``predicting``     predictions of chunks of rounds, by one compiled program
``martingales``    tests of prequential residuals
``runner``         all checks, Holm's procedure, the answer
``ranking``        models ranked by their predictions
``page``           the folder; ``drawing``: figures of several checks
=================  =====================================================================
"""
