"""From rounds to a posterior: data of one's own, fitted, summed up, kept.

==============  ==========================================================
``table``       the rounds: contexts, outcomes, whose they are
``gather``      rounds of a problem that a policy plays
``fit``         the way in
``posterior``   what comes out: draws, summaries, predictions
``predictive``  what the draws say of outcomes, through the model's program
``tree``        the same as an ArviZ tree, and as a file
``figures``     coefficients, and outcomes against the data
``results``     a result folder, as ``hrprob fit`` writes it
==============  ==========================================================
"""
