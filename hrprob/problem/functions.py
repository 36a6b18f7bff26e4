"""Contexts and levels from somebody's function: imported, tried on first users, called for all."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source

__all__ = ["FIRST_USERS", "call", "import_function", "name_of", "try_function", "who"]

# The users whom a function is tried for: many early ones, and some far apart.
FIRST_USERS = np.array([*range(1, 65), *(2**k for k in range(7, 13))], dtype=np.uint32)


def import_function(function: Any) -> Callable[..., Any]:
    """Return a function, or the one that ``"module:name"`` names."""
    if callable(function):
        return function
    remedy = 'give a function(key, user), or "module:name"; `hrprob run --import` finds modules beside you'
    module, colon, name = function.partition(":") if isinstance(function, str) else ("", "", "")
    if not (module and colon and name):
        raise InvalidInput("function", "must be a function", function, remedy)
    try:
        found = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        # Whatever somebody's module does when it is imported, it is theirs that must be mended.
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInput("function", "must be found", function, reason) from None
    if not callable(found):
        raise InvalidInput("function", "must be a function", function, remedy)
    return found


def who(user: int) -> str:
    """Return a user's number in words."""
    return f"warm-up user {user - WARMUP_USERS}" if user >= WARMUP_USERS else f"user {user}"


def name_of(function: Any) -> str:
    """Return a function as ``"module:name"``."""
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def try_function(function: Callable[..., Any], remedy: str) -> np.ndarray:
    """Return what a function gives to each of the users it is tried for."""

    def one(key: jax.Array, user: jax.Array) -> jax.Array:
        return jnp.asarray(function(key, user), dtype=float)

    with double_precision():
        try:
            return np.asarray(
                jax.vmap(one)(jax.random.split(jax.random.key(0), len(FIRST_USERS)), jnp.asarray(FIRST_USERS))
            )
        except (Exception, SystemExit) as error:
            # Whatever somebody's function does, it is theirs that must be mended.
            reason = f"{type(error).__name__}: {error}"
            raise InvalidInput("function", "must work for a first user", reason, remedy) from None


def call(function: Callable[..., Any], source: Source, purpose: Purpose) -> jax.Array:
    """Return what a function gives to each user of each trial, (users, trials, ...)."""
    warmup = jnp.uint32(WARMUP_USERS)

    def one(user: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        number = jnp.where(user >= warmup, user - warmup, user)
        given = function(Source((first, second), user).key(purpose), number)
        return jnp.asarray(given, dtype=float)

    over_trials = jax.vmap(one, (None, 0, 0))
    return jax.vmap(over_trials, (0, None, None))(source.users, *source.keys)
