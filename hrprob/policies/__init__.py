"""What is chosen: one policy per file, one registry.

The names are loaded when first used: the Bayesian policies load NumPyro, the others do not.

Examples
--------
>>> make_policy({"kind": "linucb", "alpha": 0.5}).alpha
0.5
"""

from hrprob._core.lazy_names import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
