"""A table of rounds in the form that a model is conditioned on: stays where their sums suffice, else single rounds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.sites import check_names, extra_sites
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.table import Table
from hrprob.models import Stays, rounds, stays
from hrprob.observations import Data

__all__ = ["model_columns", "model_data", "number_users"]


def model_data(target: Target, table: Table) -> Data:
    """Return the rounds of a table as the target's model takes them, or raise where its program cannot."""
    single = rounds(table.x, table.r, model_columns(target, table))
    with double_precision():
        by_round = jax.tree.map(jnp.asarray, single)
        check_names(target, by_round)
        if target.model.data is not Stays:
            return single
        sums = stays(table.x, table.r, table.user)
        # Rounds of a user who has several contexts are not independent of each other under a model of users.
        if single.columns and len(sums.x) > len(np.unique(table.user)):
            return single
        by_stay = jax.tree.map(jnp.asarray, sums)
        # A site with one value per row shall have one per round.
        return single if extra_sites(target, by_round) != extra_sites(target, by_stay) else sums


def model_columns(target: Target, table: Table) -> dict[str, np.ndarray]:
    """Return the columns of a table that the model's program uses beside contexts and outcomes, or raise.

    Users are numbers from 0, in the order of arrival.
    """
    made: dict[str, np.ndarray] = {}
    for name in target.model.columns:
        column = table.further.get(name) if name not in ("user", "beta") else getattr(table, name)
        if column is None:
            parameter = {"user": "user", "beta": "level"}.get(name)
            remedy = (
                f"`{parameter}` names the column" if parameter else "the table needs a column of this name"
            )
            must = f"must have a column of {name}s for the model {target.model.kind!r}"
            raise InvalidInput("data", must, "none", remedy)
        made[name] = number_users(column) if name == "user" else np.asarray(column)
    return made


def number_users(labels: np.ndarray) -> np.ndarray:
    """Return the number of each round's user (n,), from 0 in the order of arrival.

    Examples
    --------
    >>> number_users(np.array(["b", "a", "b"])).tolist()
    [0, 1, 0]
    """
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number.reshape(-1)]
