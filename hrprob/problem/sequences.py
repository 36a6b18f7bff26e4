"""Arrivals that are not i.i.d.: the regret bound makes no such assumption.

=============  ============================================================================
kind           contexts, or levels, of user t
=============  ============================================================================
sequence       those of a file or an array, in its order; after the last it begins again
function       what somebody's function says
drifting       contexts about a direction that turns as time goes on
withholding    contexts that tell nothing of some coordinates for a while
=============  ============================================================================

The first two are for contexts and for levels. In a configuration file a function is
``"module:name"``. Users are numbered from 1, warm-up users apart from them from 0.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hrprob.errors import InvalidInput, check_count, check_number, check_vector
from hrprob.precision import double_precision
from hrprob.problem.contexts import check_actions, check_contexts, too_long, unit
from hrprob.problem.files import check_digest, read_contexts, read_levels
from hrprob.problem.satisfaction import SeenLevels
from hrprob.record import record, settle
from hrprob.source import WARMUP_USERS, Purpose, Source

__all__ = [
    "ContextFunction",
    "ContextSequence",
    "Drifting",
    "LevelFunction",
    "LevelSequence",
    "Withholding",
]

# The users whom a function is tried for: many early ones, and some far apart.
_TRIED = np.array([*range(1, 65), *(2**k for k in range(7, 13))], dtype=np.uint32)

# With a stronger pull all contexts are one to six digits.
_MOST_PULL = 1e6

# Longer sequences are described by their shape: a manifest is to be read.
_MOST_DESCRIBED = 1000


def _place(users: jax.Array, length: int) -> jax.Array:
    """Return where in a sequence each user stands; warm-up users stand there too, from its beginning."""
    first = jnp.uint32(WARMUP_USERS)
    number = jnp.where(users >= first, users - first, users - jnp.uint32(1))
    return (number % jnp.uint32(length)).astype(jnp.int32)


@record(static=("sha256", "path"))
class ContextSequence:
    """The contexts of one user after another.

    Parameters
    ----------
    users : array_like, shape (users, actions, d), or path
        The contexts, or a CSV file with the columns user, action, x1, ..., xd, users and
        actions numbered from 1. All trials meet the same; noise and levels differ.
    sha256 : str, optional
        What the file's digest must be, where it must be this file.

    Examples
    --------
    >>> ContextSequence([[[0.9, 0.0], [0.0, 0.9]], [[0.5, 0.5], [0.1, 0.2]]]).actions
    2
    """

    kind: ClassVar[str] = "sequence"
    users: Any
    sha256: Any = None
    path: str | None = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path, digest = _origin(self.users, self.sha256)
        users = self.users if path is None else read_contexts("users", path, "user")
        settle(self, users=check_contexts("users", users, "user"), sha256=digest, path=path)

    def described(self) -> dict[str, Any]:
        """Return it as plain data: the file it came from, if it came from one."""
        return _described("users", self.users, self.path, self.sha256)

    @property
    def actions(self) -> int:
        """How many actions every user has."""
        return int(self.users.shape[1])

    @property
    def sets(self) -> Any:
        """All contexts there are."""
        return self.users

    def check_dimension(self, dimension: int) -> None:
        """Raise unless the contexts have this dimension."""
        if self.users.shape[2] != dimension:
            remedy = "each row has one column x1, ..., xd for each entry of `theta`"
            must = f"must hold vectors of {dimension} entries, as many as `theta`"
            raise InvalidInput("contexts.users", must, self.users.shape[2], remedy)

    def begins_again(self, users: int) -> str | None:
        """Say so if there are fewer than so many users; None if there are enough."""
        return _repeated("contexts.users", self.users, self.path, users)

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return where each user stands, and the contexts."""
        place = _place(source.users, self.users.shape[0])[:, None]
        return jnp.broadcast_to(place, (*source.users.shape, *source.keys[0].shape)), jnp.asarray(self.users)

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the contexts that stand there."""
        which, users = drawn
        return jnp.moveaxis(users[which], 1, -1)


@record(static=("function", "actions"))
class ContextFunction:
    """The contexts that a function gives to each user.

    Parameters
    ----------
    function : callable or str
        ``function(key, user)`` returns contexts (actions, d) of norm at most 1: a pure function
        in JAX's sense, of a key that is the user's and the trial's own and of the user's number.
        In a configuration file, ``"module:name"``.
    actions : int
        How many actions a user has.

    Examples
    --------
    >>> def turning(key, user):
    ...     angle = 0.01 * user + jnp.arange(3.0)
    ...     return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    >>> ContextFunction(turning, actions=3).check_dimension(2)
    """

    kind: ClassVar[str] = "function"
    function: Any
    actions: int

    def __post_init__(self) -> None:
        settle(self, function=_function(self.function), actions=check_actions(self.actions))

    def described(self) -> dict[str, Any]:
        """Return it as plain data: the function by its name."""
        return {"function": _name(self.function), "actions": self.actions}

    def check_dimension(self, dimension: int) -> None:
        """Raise unless some users, the first among them, have contexts of this dimension, of norm at most 1."""
        remedy = "it is called as function(key, user) and must return one context an action"
        try:
            contexts = _try(self.function, remedy)
        except InvalidInput as complaint:
            raise complaint.within("contexts") from None
        if contexts.shape[1:] != (self.actions, dimension):
            must = f"must return an array {(self.actions, dimension)}"
            raise InvalidInput("contexts.function", must, contexts.shape[1:], remedy)
        try:
            self.check_arrived(_TRIED, contexts[..., None])
        except InvalidInput as complaint:
            raise complaint.within("contexts") from None

    def check_arrived(self, users: np.ndarray, contexts: np.ndarray) -> None:
        """Raise unless these users' contexts (users, actions, d, trials) are finite and of norm at most 1."""
        unfit = np.any(too_long(contexts), axis=(1, 2))
        if not np.any(unfit):
            return
        first = int(np.argmax(unfit))
        try:
            check_contexts("function", np.moveaxis(contexts[first], -1, 0), "user")
        except InvalidInput as complaint:
            remedy = f"so it is for {_who(users[first])}; the theory bounds every context by 1"
            raise InvalidInput("function", complaint.must, complaint.got, remedy) from None

    def draw(self, source: Source, dimension: int) -> jax.Array:
        """Return the contexts (users, trials, actions, d)."""
        return _call(self.function, source, Purpose.CONTEXTS)

    def place(self, drawn: jax.Array) -> jax.Array:
        """Return them with the trials last."""
        return jnp.moveaxis(drawn, 1, -1)


@record(static=("actions",))
class Drifting:
    r"""Contexts on the unit sphere about a direction that turns.

    User t has contexts :math:`x \propto g + \text{pull} \cdot m_t`, g a standard normal vector and
    :math:`m_t` the unit vector at the angle 2π(t − 1)/period in the plane of the first two coordinates.

    Parameters
    ----------
    actions : int
        How many actions a user has.
    pull : float
        How close to the direction the contexts are, at most 1e6; with 0 they are uniform.
    period : float
        After how many users, at least 1, it is back where it was.
    """

    kind: ClassVar[str] = "drifting"
    actions: int = 20
    pull: Any = 2.0
    period: Any = 10000.0

    def __post_init__(self) -> None:
        pull, period = "0 is no pull at all", "it counts the users of one turn; with 1 it stands still"
        settle(
            self,
            actions=check_actions(self.actions),
            pull=check_number("pull", self.pull, low=0, high=_MOST_PULL, remedy=pull),
            period=check_number("period", self.period, low=1, remedy=period),
        )

    def check_dimension(self, dimension: int) -> None:
        """Raise unless there is a plane to turn in."""
        if dimension < 2:
            must = "must not drift in one dimension"
            raise InvalidInput("contexts.kind", must, self.kind, "it turns in the plane of two coordinates")

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return Gaussian vectors, and the angle of each user."""
        angle = _place(source.users, WARMUP_USERS).astype(float) * (2.0 * math.pi / self.period)
        return source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension)), angle

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the vectors, pulled towards the direction and divided by their norms."""
        vectors, angle = drawn
        direction = jnp.zeros((angle.shape[0], vectors.shape[2]))
        direction = direction.at[:, 0].set(jnp.cos(angle)).at[:, 1].set(jnp.sin(angle))
        return unit(vectors + self.pull * direction[:, None, :, None])


@record(static=("actions", "coordinates"))
class Withholding:
    """Contexts on the unit sphere that tell nothing of the last coordinates for a while.

    An adversary who knows what is to be learned shows the first ``users`` users' contexts with
    their last ``coordinates`` entries 0: whatever is served, nothing is learned about them. Then
    contexts are uniform on the whole sphere.

    Parameters
    ----------
    actions : int
        How many actions a user has.
    users : int
        How long it lasts.
    coordinates : int
        How many entries are withheld, fewer than d.
    """

    kind: ClassVar[str] = "withholding"
    actions: int = 20
    users: Any = 5000
    coordinates: int = 2

    def __post_init__(self) -> None:
        settle(
            self,
            actions=check_actions(self.actions),
            users=check_count("users", self.users, low=0, remedy="it counts users from the first"),
            coordinates=check_count("coordinates", self.coordinates, remedy="something must be withheld"),
        )

    def check_dimension(self, dimension: int) -> None:
        """Raise unless some coordinate is left."""
        if self.coordinates >= dimension:
            must = f"must be below {dimension}, the number of entries of `theta`"
            raise InvalidInput(
                "contexts.coordinates", must, self.coordinates, "some coordinate must be left to see"
            )

    def draw(self, source: Source, dimension: int) -> tuple[jax.Array, jax.Array]:
        """Return Gaussian vectors, and whether each user is an early one (warm-up users are)."""
        early = _place(source.users, WARMUP_USERS) < self.users
        return source.coarse_normal(Purpose.CONTEXTS, (self.actions, dimension)), early

    def place(self, drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the vectors without what is withheld, divided by their norms."""
        vectors, early = drawn
        shown = jnp.arange(vectors.shape[2]) < vectors.shape[2] - self.coordinates
        keep = jnp.where(early[:, None], shown, True)
        return unit(vectors * keep[:, None, :, None])


@record(static=("sha256", "path"))
class LevelSequence(SeenLevels):
    """The levels of one user after another.

    Parameters
    ----------
    levels : list of numbers, or path
        The levels, or a CSV file with the one column beta; all trials meet the same.
    sha256 : str, optional
        What the file's digest must be, where it must be this file.
    """

    kind: ClassVar[str] = "sequence"
    levels: Any
    sha256: Any = None
    path: str | None = dataclasses.field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        path, digest = _origin(self.levels, self.sha256)
        levels = self.levels if path is None else read_levels("levels", path)
        remedy = "give one level a user, or the path of a CSV file with the column beta"
        settle(self, levels=check_vector("levels", levels, remedy=remedy), sha256=digest, path=path)

    def described(self) -> dict[str, Any]:
        """Return it as plain data: the file it came from, if it came from one."""
        return _described("levels", self.levels, self.path, self.sha256)

    def begins_again(self, users: int) -> str | None:
        """Say so if there are fewer than so many levels; None if there are enough."""
        return _repeated("satisfaction.levels", self.levels, self.path, users)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest level."""
        return float(self.levels.min()), float(self.levels.max())

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        here = jnp.asarray(self.levels)[_place(source.users, self.levels.shape[0])]
        return jnp.broadcast_to(here[:, None], (*source.users.shape, *source.keys[0].shape))


@record(static=("function",))
class LevelFunction(SeenLevels):
    """The level that a function gives to each user.

    Parameters
    ----------
    function : callable or str
        ``function(key, user)`` returns a level: a pure function in JAX's sense. In a
        configuration file, ``"module:name"``.
    low, high : float, optional
        Between which the levels lie, where that is known.
    """

    kind: ClassVar[str] = "function"
    function: Any
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        settle(self, function=_function(self.function))
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                remedy = "it bounds the levels"
                settle(self, **{name: check_number(name, getattr(self, name), remedy=remedy)})
        low, high = self.support
        if low > high:
            raise InvalidInput("high", f"must be at least `low` = {low:g}", high, "swap the two")
        remedy = "it is called as function(key, user) and must return one level"
        levels = _try(self.function, remedy)
        if levels.ndim != 1:
            raise InvalidInput("function", "must return a number", levels[0], remedy)
        self.check_arrived(_TRIED, levels[:, None])

    def check_arrived(self, users: np.ndarray, levels: np.ndarray) -> None:
        """Raise unless these users' levels (users, trials) are finite and within the bounds."""
        low, high = self.support
        unfit = ~(np.isfinite(levels) & (levels >= low) & (levels <= high))
        if np.any(unfit):
            first = np.unravel_index(np.argmax(unfit), unfit.shape)
            remedy = f"so it is for {_who(users[first[0]])}; mend the function, or move `low` and `high`"
            must = f"must return finite levels within [{low:g}, {high:g}]"
            raise InvalidInput("function", must, levels[first], remedy)

    def described(self) -> dict[str, Any]:
        """Return it as plain data: the function by its name."""
        return {"function": _name(self.function), "low": self.low, "high": self.high}

    @property
    def support(self) -> tuple[float, float]:
        """The bounds, where they are known."""
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    def draw(self, source: Source) -> jax.Array:
        """Return levels of shape (users, trials)."""
        return _call(self.function, source, Purpose.SATISFACTION)


def _origin(data: Any, sha256: Any) -> tuple[str | None, str | None]:
    """Return the path and the digest of a file; of numbers, nothing."""
    if isinstance(data, str | Path):
        return str(data), check_digest(data, sha256)
    if sha256 is not None:
        raise InvalidInput("sha256", "must go with a file", sha256, "numbers have no digest; leave it out")
    return None, None


def _repeated(field: str, array: np.ndarray, path: str | None, users: int) -> str | None:
    count = array.shape[0]
    if count >= users:
        return None
    return f"{count} user{'' if count == 1 else 's'} in {path or field}, repeated"


def _described(field: str, array: np.ndarray, path: str | None, sha256: str | None) -> dict[str, Any]:
    if path is not None:
        return {field: path, "sha256": sha256}
    if array.size <= _MOST_DESCRIBED:
        return {field: array.tolist()}
    return {field: f"{' x '.join(map(str, array.shape))} numbers"}


def _function(function: Any) -> Callable[..., Any]:
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


def _who(user: int) -> str:
    """Return a user's number in words."""
    return f"warm-up user {user - WARMUP_USERS}" if user >= WARMUP_USERS else f"user {user}"


def _name(function: Any) -> str:
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _try(function: Callable[..., Any], remedy: str) -> np.ndarray:
    """Return what a function gives to each of the users it is tried for."""

    def one(key: jax.Array, user: jax.Array) -> jax.Array:
        return jnp.asarray(function(key, user), dtype=float)

    with double_precision():
        try:
            return np.asarray(
                jax.vmap(one)(jax.random.split(jax.random.key(0), len(_TRIED)), jnp.asarray(_TRIED))
            )
        except (Exception, SystemExit) as error:
            # Whatever somebody's function does, it is theirs that must be mended.
            reason = f"{type(error).__name__}: {error}"
            raise InvalidInput("function", "must work for a first user", reason, remedy) from None


def _call(function: Callable[..., Any], source: Source, purpose: Purpose) -> jax.Array:
    """Return what a function gives to each user of each trial, (users, trials, ...)."""
    warmup = jnp.uint32(WARMUP_USERS)

    def one(user: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        number = jnp.where(user >= warmup, user - warmup, user)
        given = function(Source((first, second), user).key(purpose), number)
        return jnp.asarray(given, dtype=float)

    over_trials = jax.vmap(one, (None, 0, 0))
    return jax.vmap(over_trials, (0, None, None))(source.users, *source.keys)
