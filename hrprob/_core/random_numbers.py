"""Random numbers that belong to a trial, a user and a purpose, and to nothing else.

Every policy must meet the same users, and trial i must be the same however many
trials run beside it, in whatever blocks, on however many cores. So a number is
not the next one of a stream but a function of its address: the trial's key, the
user's number, the purpose (:class:`Purpose`) and a running index. The function is
Threefry-2x32 with 20 rounds [1]_, the generator behind ``jax.random``.

It is written out here because one fused, vectorised expression over users, actions
and trials costs a third of what ``jax.random`` does on a CPU, where drawing contexts
is half of a simulation.

References
----------
.. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers:
   as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import enum
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hrprob._core.errors import check_count
from hrprob._core.precision import double_precision

__all__ = [
    "LARGEST_SEED",
    "MOST_TRIALS",
    "MOST_USERS",
    "WARMUP_USERS",
    "Addresses",
    "Purpose",
    "Source",
    "check_run",
    "coarse_normals",
    "key_of",
    "key_of_data",
    "normals",
    "threefry",
    "trial_keys",
    "widened",
]

# A user's number is one word of the counter, and so is a trial's. Warm-up users have numbers from here on,
# distinct from those of the users who are part of the regret.
WARMUP_USERS = 2**31
MOST_USERS = WARMUP_USERS - 1
MOST_TRIALS = 2**32 - 2
# TOML's own range of whole numbers; a seed beyond it has no key.
LARGEST_SEED = 2**63 - 1

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_INDEX_BITS = 28


class Purpose(enum.IntEnum):
    """What a random number is for; with the index it makes the first word of the counter."""

    CONTEXTS = 0
    RADII = 1
    SATISFACTION = 2
    NOISE = 3
    NOISE_AUXILIARY = 4
    REMAINDER = 5
    WARMUP = 6
    POLICY = 7
    FIT = 8
    REPLICATES = 9
    PRIOR = 10
    PRIOR_OUTCOMES = 11
    DRIFT = 12


class Source(NamedTuple):
    """The random numbers of some users in some trials.

    ``keys`` has the trials on its last axis, ``users`` the numbers of the users on its
    first; what is drawn has shape (users, ..., trials). Without users and trials (inside
    ``vmap`` over both) it has just the shape that was asked for.
    """

    keys: tuple[jax.Array, jax.Array]  # two words, each (trials,) or ()
    users: jax.Array  # (users,) or ()

    def words(
        self, purpose: Purpose, shape: tuple[int, ...] = (), start: jax.Array | int = 0
    ) -> tuple[jax.Array, jax.Array]:
        """Return two random 32-bit words for every index of ``shape``, the first index being ``start``."""
        index = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape) + jnp.asarray(start, jnp.uint32)
        first = index + jnp.uint32(int(purpose) << _INDEX_BITS)
        first = first[..., None] if self.keys[0].ndim else first
        second = self.users.astype(jnp.uint32)
        second = second.reshape(second.shape + (1,) * first.ndim)
        return threefry(self.keys, (first, second))

    def uniform(self, purpose: Purpose, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return float64 numbers uniform on (0, 1), never 0 or 1, on a grid of step 2⁻⁵¹."""
        return _in_one_to_two(*self.words(purpose, shape, start)) - 1.0

    def normal(self, purpose: Purpose, shape: tuple[int, ...] = (), start: jax.Array | int = 0) -> jax.Array:
        """Return float64 standard normal numbers; the tail reaches to 8.1 standard deviations."""
        return normals(*self.words(purpose, shape, start))

    def coarse_normal(
        self, purpose: Purpose, shape: tuple[int, ...] = (), start: jax.Array | int = 0
    ) -> jax.Array:
        """Return standard normal numbers made in single precision, as float64.

        Half the cost of :meth:`normal`. Good for directions, not for tails: it ends at 5.1
        standard deviations.
        """
        word, _ = self.words(purpose, shape, start)
        return widened(coarse_normals(word))

    def key(self, purpose: Purpose, index: int = 0) -> jax.Array:
        """Return a key for ``jax.random`` (inside ``vmap`` over users and trials only)."""
        return jax.random.wrap_key_data(jnp.stack(self.words(purpose, (), index)))


def check_run(users: int, trials: int, seed: int) -> None:
    """Raise unless this many users and trials can be numbered, and the seed has a key."""
    remedy = "at least one user must arrive, and they are numbered in 31 bits"
    check_count("users", users, high=MOST_USERS, remedy=remedy)
    remedy = "at least one trial must be played, and they are numbered in 32 bits"
    check_count("trials", trials, high=MOST_TRIALS, remedy=remedy)
    remedy = "any whole number of at most 63 bits will do"
    check_count("seed", seed, low=0, high=LARGEST_SEED, remedy=remedy)


def key_of(seed: int, purpose: Purpose | None = None) -> jax.Array:
    """Return the key of a seed, all 63 bits of it: in single precision JAX uses the lower 32 only.

    The key of a purpose differs from every key that the seed's own key can be split into.

    Examples
    --------
    >>> [jax.random.key_data(key_of(seed)).tolist() for seed in (5, 2**32 + 5)]
    [[0, 5], [1, 5]]
    """
    with double_precision():
        root = jax.random.key(seed)
        # `split(k)[i]` is `fold_in(k, i)`: a purpose has a number beyond those of any split.
        return root if purpose is None else jax.random.fold_in(root, (1 + purpose) << _INDEX_BITS)


def key_of_data(words: jax.Array, values: jax.Array) -> jax.Array:
    """Return the key of two words (2,) and of some numbers (k,): where states have no key of their trial, their data differ.

    Examples
    --------
    >>> words = jnp.zeros(2, jnp.uint32)
    >>> keys = [key_of_data(words, jnp.asarray([seen, 0.5])) for seen in (0.1, 0.2)]
    >>> bool(keys[0] == keys[1])
    False
    """
    bits = lax.bitcast_convert_type(values.astype(jnp.float32), jnp.uint32)
    mixed = bits[0]
    for place in range(1, values.shape[0]):
        mixed = mixed ^ bits[place]
    return jax.random.fold_in(jax.random.wrap_key_data(words), mixed)


def trial_keys(seed: int, trials: np.ndarray) -> tuple[jax.Array, jax.Array]:
    """Return the two key words of each trial, a function of the seed and its number alone."""
    # In NumPy, for which nothing is compiled. The words of a seed's key are its upper and lower 32 bits.
    high, low = (np.array([word], np.uint32) for word in divmod(seed, 2**32))
    # The second counter word keeps these apart from every user's numbers under the same root.
    number = np.asarray(trials).astype(np.uint32)
    one, two = threefry((high, low), (number, np.full_like(number, 0xFFFFFFFF)))  # type: ignore[arg-type]
    return jax.device_put(one), jax.device_put(two)


def threefry(
    key: tuple[jax.Array, jax.Array], counter: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """Return Threefry-2x32 (20 rounds) of ``counter`` under ``key``; all are uint32 and broadcast."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY))
    left, right = counter[0] + schedule[0], counter[1] + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            left = left + right
            right = (right << rotation) | (right >> (32 - rotation))
            right = right ^ left
        left = left + schedule[(group + 1) % 3]
        right = right + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return left, right


class Addresses(NamedTuple):
    """The addresses of many numbers of each user, with all axes after the users in one: of :meth:`Source.words`.

    The trials are a short axis: vectors of a processor would be cut at its end, and what is left is computed one by one,
    which takes longer than the rest.
    """

    keys: tuple[np.ndarray, np.ndarray]  # two words, each (shape · trials,)
    first: np.ndarray  # (shape · trials,) the first word of the counter: purpose and index

    @classmethod
    def of(cls, keys: tuple[jax.Array, jax.Array], purpose: Purpose, shape: tuple[int, ...]) -> Addresses:
        """Return the addresses of a purpose for every index of ``shape``."""
        trials, size = keys[0].shape[0], math.prod(shape)
        one, two = (np.tile(np.asarray(word), size) for word in keys)
        index = np.repeat(np.arange(size, dtype=np.uint32), trials)
        return cls((one, two), index + np.uint32(int(purpose) << _INDEX_BITS))

    def words(self, users: np.ndarray) -> tuple[jax.Array, jax.Array]:
        """Return two random words at every address, each (users, shape · trials)."""
        return threefry(self.keys, (self.first, users[:, None]))  # type: ignore[arg-type]


def normals(high: jax.Array, low: jax.Array) -> jax.Array:
    """Return the standard normal numbers that :meth:`Source.normal` makes of two words each."""
    return math.sqrt(2.0) * lax.erf_inv(2.0 * _in_one_to_two(high, low) - 3.0)


def widened(values: jax.Array) -> jax.Array:
    """Return standard normal numbers in double precision from the inverse error function in single."""
    return values.astype(jnp.float64) * math.sqrt(2.0)


def coarse_normals(word: jax.Array) -> jax.Array:
    """Return what :func:`widened` makes :meth:`Source.coarse_normal` of, from the first words."""
    # The lowest bit is set: the numbers lie symmetrically about 1.5 and never reach 1.
    one_to_two = lax.bitcast_convert_type((word >> 9) | jnp.uint32(0x3F800001), jnp.float32)
    return lax.erf_inv(2 * one_to_two - 3)


def _in_one_to_two(high: jax.Array, low: jax.Array) -> jax.Array:
    # As in coarse_normals, the lowest bit is set so that neither end is reached.
    word = (high.astype(jnp.uint64) << 32) | low.astype(jnp.uint64)
    return lax.bitcast_convert_type((word >> 12) | jnp.uint64(0x3FF0000000000001), jnp.float64)
