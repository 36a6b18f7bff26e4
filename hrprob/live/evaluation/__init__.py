"""What would a policy have achieved? Its expected lifetime, or reward, from rounds that somebody else served.

==============  ==============================================================================
``logged``      the log: stays with the contexts of all actions and the probabilities of those served
``csv_log``     from a CSV file, or from an agent's log of decisions
``targets``     the policy to evaluate: its probabilities for every logged user
``weights``     products of probability ratios, and inverse probabilities of censoring
``estimators``  replay, inverse propensity, self-normalised, doubly robust
``anytime``     an interval that holds at all times
``evaluate``    all of them, with the words "this log cannot tell" where they cannot
==============  ==============================================================================
"""
