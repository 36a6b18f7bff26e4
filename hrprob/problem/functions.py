"""Contexts and levels from a function of one's own: importing it, trying it, calling it for every user.

The function is called as ``function(key, user)``, with a JAX key of its own for each user and trial and the user's
number, and must be pure in JAX's sense. It is tried when a problem is made, so that a mistake is reported at once;
what it returns in a run is checked as users arrive (``check_arrived``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source
from hrprob._core.trust import check_trusted

__all__ = [
    "TRIED_USERS",
    "call_function",
    "import_function",
    "name_of",
    "try_function",
    "user_in_words",
]

# A function is tried for these users: many early ones, and some far apart.
TRIED_USERS = np.array([*range(1, 65), *(2**k for k in range(7, 13))], dtype=np.uint32)


def import_function(function: object) -> Callable[..., ArrayLike]:
    """Return a function, or the one that ``"module:name"`` names."""
    if callable(function):
        return function
    remedy = 'give a function(key, user), or "module:name"; `hrprob run --import` finds modules in the current folder'
    module, colon, name = function.partition(":") if isinstance(function, str) else ("", "", "")
    if not (isinstance(function, str) and module and colon and name):
        raise InvalidInput("function", "must be a function", function, remedy)
    check_trusted("function", function)
    try:
        imported = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        # Whatever goes wrong while the module is imported must be fixed in that module.
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput("function", "must be found", function, reason) from None
    if not callable(imported):
        raise InvalidInput("function", "must be a function", function, remedy)
    return imported


def user_in_words(user: int) -> str:
    """Return a user's number in words.

    Examples
    --------
    >>> user_in_words(7), user_in_words(WARMUP_USERS + 1)
    ('user 7', 'warm-up user 1')
    """
    return f"warm-up user {user - WARMUP_USERS}" if user >= WARMUP_USERS else f"user {user}"


def name_of(function: object) -> str:
    """Return the name of a function in the form ``"module:name"``."""
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def try_function(function: Callable[..., ArrayLike], remedy: str) -> np.ndarray:
    """Return what a function returns for each of ``TRIED_USERS``, or raise if it fails."""

    def one(key: jax.Array, user: jax.Array) -> jax.Array:
        return jnp.asarray(function(key, user), dtype=float)

    with double_precision():
        keys = jax.random.split(jax.random.key(0), len(TRIED_USERS))
        try:
            return np.asarray(jax.vmap(one)(keys, jnp.asarray(TRIED_USERS)))
        except (Exception, SystemExit) as error:
            # Whatever goes wrong inside the function must be fixed in that function.
            reason = f"{type(error).__name__}: {error}"
            raise InvalidInput("function", "must work for a first user", reason, remedy) from None


def call_function(function: Callable[..., ArrayLike], source: Source, purpose: Purpose) -> jax.Array:
    """Return what a function returns for each user of each trial, (users, trials, ...)."""
    warmup = jnp.uint32(WARMUP_USERS)

    def one(user: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        number = jnp.where(user >= warmup, user - warmup, user)
        returned = function(Source((first, second), user).key(purpose), number)
        return jnp.asarray(returned, dtype=float)

    over_trials = jax.vmap(one, (None, 0, 0))
    return jax.vmap(over_trials, (0, None, None))(source.users, *source.keys)
