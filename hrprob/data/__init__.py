"""Real data as problems: tables, contexts of users and actions, and the problem that a fit describes.

A table of people and of what they received becomes a problem in three steps, each a function:

=====================================  ==========================================================================
:func:`load_actg175`, …                the table
:func:`join_contexts`                  one context per person and action, of norm at most 1
:func:`fitted_problem`                 a :class:`~hrprob.problem.problem.Problem` with the mean and variance of a fit
=====================================  ==========================================================================

Examples
--------
>>> import numpy as np
>>> import hrprob
>>> patients = load_actg175()
>>> contexts = join_contexts(patients[["cd40", "age"]], np.eye(4))
>>> gain = (patients.cd420 - patients.cd40) / patients.cd40.std()
>>> posterior = hrprob.fit((contexts.served(patients.arms), gain), "laplace")  # slow
>>> fitted_problem(posterior, contexts).dimension
6
"""

from hrprob._core.lazy_names import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
