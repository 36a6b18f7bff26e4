"""Contexts from a function of one's own, ``function(key, user)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob.problem.contexts.base import check_actions, check_contexts, register, too_long
from hrprob.problem.functions import (
    TRIED_USERS,
    call_function,
    import_function,
    name_of,
    try_function,
    user_in_words,
)

__all__ = ["ContextFunction"]


@register("function", static=("function", "actions"))
class ContextFunction:
    """The contexts that a function returns for each user.

    Parameters
    ----------
    function : callable or str
        ``function(key, user)`` returns contexts (actions, d) of norm at most 1. It is a pure
        function in JAX's sense, of a key of its own for each user and trial and of the user's
        number. In a configuration file, ``"module:name"``.
    actions : int
        How many actions a user has.

    Examples
    --------
    >>> def turning(key, user):
    ...     angle = 0.01 * user + jnp.arange(3.0)
    ...     return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    >>> ContextFunction(turning, actions=3).check_dimension(2)
    """

    kind: ClassVar[str]
    function: Callable[..., ArrayLike]
    actions: int

    def __post_init__(self) -> None:
        set_frozen(self, function=import_function(self.function), actions=check_actions(self.actions))

    def described(self) -> dict[str, object]:
        """Return the contexts as plain data: the function by its name."""
        return {"function": name_of(self.function), "actions": self.actions}

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the users for whom it is tried have contexts of this dimension and of norm at most 1."""
        remedy = "it is called as function(key, user) and must return one context per action"
        try:
            contexts = try_function(self.function, remedy)
        except InvalidInput as complaint:
            raise complaint.within("contexts") from None
        if contexts.shape[1:] != (self.actions, dimension):
            must = f"must return an array {(self.actions, dimension)}"
            raise InvalidInput("contexts.function", must, contexts.shape[1:], remedy)
        try:
            self.check_arrived(TRIED_USERS, contexts[..., None])
        except InvalidInput as complaint:
            raise complaint.within("contexts") from None

    def check_arrived(self, users: np.ndarray, contexts: np.ndarray) -> None:
        """Raise unless the contexts (users, actions, d, trials) of these users are finite and of norm at most 1."""
        unfit = np.any(too_long(contexts), axis=(1, 2))
        if not np.any(unfit):
            return
        first = int(np.argmax(unfit))
        try:
            check_contexts("function", np.moveaxis(contexts[first], -1, 0), "user")
        except InvalidInput as complaint:
            remedy = f"so it is for {user_in_words(users[first])}; the theory bounds every context by 1"
            raise InvalidInput("function", complaint.must, complaint.got, remedy) from None

    def draw(self, source: Source, dimension: int) -> jax.Array:
        """Return the contexts (users, trials, actions, d)."""
        return call_function(self.function, source, Purpose.CONTEXTS)

    def place(self, drawn: jax.Array) -> jax.Array:
        """Return the contexts with the trials on the last axis."""
        return jnp.moveaxis(drawn, 1, -1)
