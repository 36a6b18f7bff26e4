"""Does the theory hold? Every inequality of the paper as a pair of numbers, looked at on replications.

==================  ==============================================================================
``quantities``      what the inequalities compare: terms of Lemma 2, errors, norms, along the users
``inequalities``    one entry per inequality: left side, right side, how often it may fail
``findings``        quantiles of both sides, tightness, failures with intervals, verdicts
``regret``          the proof of Theorem 3 step by step along a run, and the rates of its bound
``play``            gather the data of all designs, evaluate
``report``          write a folder with report and numbers (``hrprob theory``)
``figures``         the figures of the report
``page``            the report's page
==================  ==============================================================================

A further inequality is one entry of :data:`hrprob.theory.inequalities.INEQUALITIES`.

Examples
--------
>>> sorted(one.key for one in INEQUALITIES)[:2]
['lemma-1', 'lemma-1-all-n']
"""

from hrprob.theory.findings import Finding, evaluate
from hrprob.theory.inequalities import INEQUALITIES, Inequality
from hrprob.theory.play import Theory, check_theory
from hrprob.theory.quantities import Quantities, quantities_along
from hrprob.theory.regret import Decomposition, decompose, rates
from hrprob.theory.report import write_theory

__all__ = [
    "INEQUALITIES",
    "Decomposition",
    "Finding",
    "Inequality",
    "Quantities",
    "Theory",
    "check_theory",
    "decompose",
    "evaluate",
    "quantities_along",
    "rates",
    "write_theory",
]
