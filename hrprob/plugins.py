"""Tools for kinds of one's own: checks of parameters, random numbers, products that vectorise.

A third-party policy, noise, model, prior, posterior engine or diagnostic is one file. It imports its base class
and ``register`` from the package of its family, and from here what hrprob's own kinds use:

=================================  ==================================================================
``check_number``, ``check_count``,  check a parameter; the error names field, value and remedy
``check_choice``, ``InvalidInput``
``set_frozen``                     set a field of a record within its own ``__post_init__``
``Source``, ``Purpose``            the random numbers of some users in some trials
``contract``, ``quadratic_form``   products over the last axis, written out so that they vectorise
=================================  ==================================================================

Examples
--------
>>> check_number("share", 0.1, low=0, high=1, remedy="it is a probability")
0.1
"""

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number, check_vector
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen, with_fields
from hrprob.numerics.products import contract, quadratic_form

__all__ = [
    "InvalidInput",
    "Purpose",
    "Source",
    "check_choice",
    "check_count",
    "check_number",
    "check_vector",
    "contract",
    "quadratic_form",
    "set_frozen",
    "with_fields",
]
