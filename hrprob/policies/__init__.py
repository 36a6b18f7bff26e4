"""What is chosen: one policy per file, one registry.

The names are loaded when first used: the Bayesian policies load NumPyro, the others do not.

Examples
--------
>>> make_policy({"kind": "linucb", "alpha": 0.5}).alpha
0.5
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
