"""The ledger of a Bayesian policy: rows of data for its model, user by user.

Every user has the same number of rows in one long table, so that a row's place depends on
the user's number alone and all trials of a batch write to the same place. A lazy policy
serves one action per user and needs one row. An eager one needs one row per action that
the user is served; rounds of an action without a free row are not in the sample set.
Which rounds these are depends on earlier choices, never on the outcome itself, and so causes
no bias. The same holds for outcomes beyond the sixteenth of a row, where a
model needs single outcomes. :func:`room` returns how many more outcomes fit.

Warm-up users are served many actions: they have a small table of their own, with one row per
warm-up user and action, of the same length (:func:`warm_room`).
"""

from __future__ import annotations

import functools
from typing import Generic, NamedTuple, cast

import jax
import jax.numpy as jnp

from hrprob._core.types import PyTree
from hrprob.numerics.buffers import write_rows
from hrprob.observations import D, Data, Rounds, Stays
from hrprob.policies.base import Seen

__all__ = ["EAGER_SLOTS", "Ledger", "close", "empty", "note", "open_parts", "room", "row_of", "warm_room"]

EAGER_SLOTS = 8
"""Rows per user of an eager policy, one per action served."""

# Outcomes per row, where a model needs single outcomes.
OUTCOMES = 16


class Ledger(NamedTuple, Generic[D]):
    """Data of one kind, Stays or Rounds, in three tables."""

    rows: D  # (users · slots,) users who have left
    warm: D  # (warm-up users · actions,)
    open: D  # (slots,) the current user
    actions: jax.Array  # (slots,) int32, the action of each open row, −1 where it is free


def empty(kind: type[D], *, rows: int, warm: int, slots: int, dimension: int) -> Ledger[D]:
    """Return an empty ledger for data of this ``kind``."""
    table = functools.partial(_blank, kind, d=dimension)
    return Ledger(table(rows), table(warm), table(slots), _free(slots))


def note(ledger: Ledger[D], seen: Seen, warm_row: jax.Array) -> Ledger[D]:
    """Return the ledger with what was seen added to ``warm_row`` or, if that is negative, to an open row."""
    same = _rows_of(ledger, seen.context)
    free = jnp.argmax(ledger.actions < 0)
    slot = jnp.where(jnp.any(same), jnp.argmax(same), free)
    room = jnp.any(same) | (ledger.actions[free] < 0)
    slot = jnp.where(room & (warm_row < 0), slot, -1)
    here = jnp.arange(ledger.actions.shape[0]) == slot
    return ledger._replace(
        warm=_add(ledger.warm, warm_row, seen),
        open=_add(ledger.open, slot, seen),
        actions=jnp.where(here, jnp.asarray(seen.action, jnp.int32), ledger.actions),
    )


def close(ledger: Ledger[D], user: jax.Array) -> Ledger[D]:
    """Return the ledger with the open rows moved to the place of ``user``, counted from 0.

    A warm-up user has a negative number and no open rows: empty rows are written to the place of
    the first user, who overwrites them.
    """
    slots = ledger.actions.shape[0]
    place = jnp.maximum(user, 0) * slots
    rows = jax.tree.map(lambda column, new: write_rows(column, new, place), ledger.rows, ledger.open)
    return ledger._replace(rows=rows, open=jax.tree.map(jnp.zeros_like, ledger.open), actions=_free(slots))


def room(ledger: Ledger[D], context: jax.Array) -> jax.Array:
    """Return for how many more outcomes of this context the current user has room."""
    mine = _rows_of(ledger, context)
    if isinstance(ledger.open, Stays):
        return jnp.where(jnp.any(mine | (ledger.actions < 0)), jnp.inf, 0.0)
    written = jnp.sum(ledger.open.weight, axis=-1)
    of_mine = jnp.max(jnp.where(mine, OUTCOMES - written, 0.0))
    of_free = jnp.where(jnp.any(ledger.actions < 0), 1.0 * OUTCOMES, 0.0)
    return jnp.where(jnp.any(mine), of_mine, of_free)


def warm_room(ledger: Ledger[D], context: jax.Array, first: jax.Array, actions: int) -> jax.Array:
    """Return for how many more outcomes of this context a warm-up user, with rows from ``first`` on, has room.

    Actions with the same context are not distinguished: the one with least room counts for all of them.
    """
    if isinstance(ledger.warm, Stays) or not ledger.warm.x.shape[0]:
        return jnp.asarray(jnp.inf)
    number = jnp.arange(ledger.warm.x.shape[0]) - first
    mine = (number >= 0) & (number < actions) & jnp.all(ledger.warm.x == context, axis=-1)
    return OUTCOMES - jnp.max(jnp.where(mine, jnp.sum(ledger.warm.weight, axis=-1), 0.0))


def open_parts(state: PyTree) -> list[tuple[Data, jax.Array]]:
    """Return the part of every ledger in a state that belongs to the current user alone: the open rows."""
    found = jax.tree.leaves(state, is_leaf=lambda part: isinstance(part, Ledger))
    return [(part.open, part.actions) for part in found if isinstance(part, Ledger)]


def _rows_of(ledger: Ledger[D], context: jax.Array) -> jax.Array:
    return jnp.all(ledger.open.x == context, axis=-1) & (ledger.actions >= 0)


def row_of(kind: type[D], seen: Seen) -> D:
    """Return what was seen as one row of data, without an axis of rows."""
    row = _add(_blank(kind, 1, seen.context.shape[0]), jnp.zeros((), jnp.int32), seen)
    return jax.tree.map(lambda column: column[0], row)


def _free(slots: int) -> jax.Array:
    return jnp.full(slots, -1, jnp.int32)


def _blank(kind: type[D], rows: int, d: int) -> D:
    x, column = jnp.zeros((rows, d)), jnp.zeros(rows)
    if kind is Stays:
        return cast(D, Stays(x, column, column, column))
    singles = jnp.zeros((rows, OUTCOMES))
    return cast(D, Rounds(x, singles, singles))


def _add(data: D, row: jax.Array, seen: Seen) -> D:
    """Return a small table with what was seen added to ``row``; none where it is negative."""
    # A comparison is faster than a scatter: tables are small, and all trials are updated together.
    here = (jnp.arange(data.x.shape[0]) == row)[:, None]
    x = jnp.where(here, seen.context, data.x)
    if isinstance(data, Stays):
        counts = jnp.where(here[:, 0], 1.0, 0.0)
        sums = (seen.sampled, seen.total, seen.squares)
        return type(data)(x, *(old + counts * new for old, new in zip(data[1:], sums, strict=True)))
    # The index of each place of the row among the new outcomes.
    number = jnp.arange(OUTCOMES) - jnp.sum(data.weight, axis=-1, keepdims=True).astype(jnp.int32)
    most = seen.outcomes.shape[0]
    new = here & (number >= 0) & (number < jnp.minimum(seen.sampled, most))
    outcome = seen.outcomes[jnp.clip(number, 0, most - 1)]
    return type(data)(x, jnp.where(new, outcome, data.r), jnp.where(new, 1.0, data.weight))
