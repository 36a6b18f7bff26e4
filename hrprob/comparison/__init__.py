"""Who won? Runs that met the same users, compared with each other, paired by trial.

================  =====================================================================
``paired``        compare the policies of one result: differences, tests, standings
``records``       what a comparison consists of: standings, pairs, a headline, tables
``headline``      who won, in a sentence with three ends
``sequential``    add trials until the leader differs significantly, at a stated error
``estimates``     means, ratios and differences over trials with intervals
``growth``        is a regret linear or sublinear? Tests with three ends
``suite``         ranks over several problems, ratios to the best policy with intervals
``held_out``      random problems from a stated distribution, on which nothing was chosen
``runs``          results on disk, and which of them can be paired
``repeat``        play a run again from its manifest, and compare (``hrprob repeat``)
``folders``       compare result folders (``hrprob compare``)
``play``          play the suite (``hrprob suite``)
``tables``        a comparison as tables and in words
``figures``       which policies the figures of a comparison show
``report``        tables, figures and page in one folder
``frontier``      regret against coverage of intervals from the same data (``hrprob frontier``)
``coverage``      how often a policy's confidence sets contain the truth
================  =====================================================================
"""
