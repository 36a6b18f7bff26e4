"""Arrivals by user-defined functions: levels with a season, and a catalogue that is renewed."""

import math

import jax
import jax.numpy as jnp

__all__ = ["catalogue", "level"]

ACTIONS, DIMENSION = 20, 4
SEASON = 1000
RENEWED = 500


def level(key: jax.Array, user: jax.Array) -> jax.Array:
    """Return β, uniform in a band of width 1 that rises and falls once in ``SEASON`` users.

    Examples
    --------
    >>> -1.0 <= float(level(jax.random.key(0), jnp.asarray(750))) <= 0.0
    True
    """
    centre = 0.5 * jnp.sin(2.0 * math.pi * user / SEASON)
    return centre + jax.random.uniform(key, minval=-0.5, maxval=0.5)


def catalogue(key: jax.Array, user: jax.Array) -> jax.Array:
    """Return contexts on the unit sphere that ``RENEWED`` consecutive users share, the same in all trials.

    Examples
    --------
    >>> first, last, new = (catalogue(jax.random.key(0), user) for user in (500, 999, 1000))
    >>> bool((first == last).all()), bool((last == new).all())
    (True, False)
    """
    edition = jax.random.fold_in(jax.random.key(1), user // RENEWED)
    vectors = jax.random.normal(edition, (ACTIONS, DIMENSION))
    return vectors / jnp.linalg.norm(vectors, axis=1, keepdims=True)
