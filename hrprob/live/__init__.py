"""Serving real users: a policy as an object that takes one outcome after another.

================  ====================================================================
``agent``         many users at once, each by a name, or one at a time
``serving``       the mechanism: arrivals, outcomes, departures, whole calls
``decisions``     the compiled programs
``stays``         users who are present, and what is said of a decision
``settings``      what an agent is made of, as plain data and back
``saving``        the whole agent in a file
``decision_log``  every call as a line, before it returns
``replay``        the calls of a log, made again and compared
``evaluation``    what a log says about another policy
``environment``   users who may leave, as an environment of Gymnasium
================  ====================================================================
"""
