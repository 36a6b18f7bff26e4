"""hrprob: lifetime maximisation with heteroscedastic outcomes.

Users leave for good after one outcome below their own satisfaction level; the
variance of outcomes depends on the context. The public names stand in ``__init__.pyi`` and are
loaded when first used, so that ``import hrprob`` itself costs nothing.
"""

from hrprob._core.lazy_names import names_of_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
__all__ = [*__all__, "__version__"]
