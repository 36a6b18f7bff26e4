"""A table of rounds in the form that a model is conditioned on: stays where their sums suffice, else single rounds."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.sites import check_names, extra_sites
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.table import Table
from hrprob.models import Stays, rounds, stays
from hrprob.observations import Data

__all__ = ["model_data"]


def model_data(target: Target, table: Table) -> Data:
    """Return the rounds of a table as the target's model takes them, or raise where its program cannot."""
    single = rounds(table.x, table.r)
    with double_precision():
        by_round = jax.tree.map(jnp.asarray, single)
        check_names(target, by_round)
        if target.model.data is not Stays:
            return single
        sums = stays(table.x, table.r, table.user)
        by_stay = jax.tree.map(jnp.asarray, sums)
        # A site with one value per row shall have one per round.
        return single if extra_sites(target, by_round) != extra_sites(target, by_stay) else sums
