"""Who won? Runs that met the same users, compared with each other, paired by trial.

================  =====================================================================
``paired``        compare the policies of one result: differences, tests, standings
``sequential``    add trials until the leader differs significantly, at a stated error
``estimates``     means, ratios and differences over trials with intervals
``growth``        is a regret linear or sublinear? Tests with three ends
``suite``         ranks over several problems
``runs``          results on disk, and which of them can be paired
``folders``       compare result folders (``hrprob compare``)
``play``          play the suite (``hrprob suite``)
``tables``        a comparison as tables and in words
``figures``       a comparison as figures
``report``        tables, figures and page in one folder
``coverage``      how often a policy's confidence sets contain the truth
================  =====================================================================
"""
