"""The words that annotations share.

======================  ====================================================================================
word                    what it stands for
======================  ====================================================================================
:class:`jax.Array`      an array of a compiled program, or a key
:class:`numpy.ndarray`  an array outside of one
``ArrayLike``           what :mod:`jax.numpy` takes as an array (:mod:`jax.typing`), or NumPy (:mod:`numpy.typing`)
``Number``              a real number: a plain one, or an array, as in a program while it is traced
``Integer``             the same for whole numbers
``Array``               an array, of NumPy or of JAX
``Numbers``             a number or such an array
``Numeric``             one of the types of numbers and arrays, the same for argument and result
``State``               the state of one policy, estimator or engine, whose class is generic over it
``Learned``             the state of the estimator that another class stands on
``Result``              what a check or a diagnostic computes, whose class is generic over it
``PyTree``              any pytree of arrays: where JAX maps over the leaves, or the structure is a caller's own
``AsWritten``           a field of a record that a user may write in several forms, of which the record makes one;
                        ``Annotated[AsWritten, "str | Engine"]`` names the forms, which the signature then shows
``Decoded``             plain data as a document has them (TOML, JSON), before they are checked
======================  ====================================================================================

The last three are ``Any`` to a type checker, each for its own reason. ``Any`` itself stands only in the modules that
``pyproject.toml`` lists with their reasons, and a test checks the list. A value that is only handed on, shown or checked is
an ``object``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jax
    import numpy as np
    from typing_extensions import TypeVar

    # With a default, a class need not name its state: `Policy` alone is a policy with a state of any structure.
    State = TypeVar("State", default=Any)
    Learned = TypeVar("Learned", contravariant=True, default=Any)
    Result = TypeVar("Result", default=Any)
else:
    from typing import TypeVar

    State = TypeVar("State")
    Learned = TypeVar("Learned", contravariant=True)
    Result = TypeVar("Result")

__all__ = [
    "Array",
    "AsWritten",
    "Decoded",
    "Integer",
    "Learned",
    "Number",
    "Numbers",
    "Numeric",
    "PyTree",
    "Result",
    "State",
]

Number: TypeAlias = "float | jax.Array"
Integer: TypeAlias = "int | jax.Array"
Array: TypeAlias = "np.ndarray | jax.Array"
Numbers: TypeAlias = "float | np.ndarray | jax.Array"
Numeric = TypeVar("Numeric", float, "np.ndarray", "jax.Array")
PyTree: TypeAlias = Any
AsWritten: TypeAlias = Any
Decoded: TypeAlias = Any
