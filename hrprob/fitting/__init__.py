"""The posterior of data of one's own: read rounds, fit, summarise, save.

==============  ==========================================================
``table``       a table of rounds: contexts, outcomes, labels of users
``columns``     which columns of data are which
``csv_files``   CSV files with any separator and decimal sign
``scaling``     contexts of any length
``from_data``   link, bounds and priors of intercepts that the data choose
``gather``      rounds of a problem that a policy plays
``fit``         :func:`hrprob.fit`
``foreign``     :func:`hrprob.read_posterior`: draws of another program
``posterior``   its result: draws, summaries, predictions
``questions``   contexts and levels of later questions
``summary``     the table of parameters, and concerns in words
``predictive``  predictive distributions of outcomes, by the model's program
``tree``        the posterior as an ArviZ tree, and as a netCDF file
``figures``     coefficients, and a posterior predictive check
``results``     the result folder and the printout of ``hrprob fit``
==============  ==========================================================
"""
