"""What checks share: the posterior, prequential predictions, leave-one-out predictions; each computed once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob.estimation.posterior.sites import check_program
from hrprob.fitting.checks.base import NO_PREDICTIONS, Evidence
from hrprob.fitting.checks.leaving_out import LeftOut, leave_out
from hrprob.fitting.checks.prequential import Prequential, prequential
from hrprob.fitting.conditioning import model_data, number_users
from hrprob.fitting.table import Table

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["CheckInputs"]

_LEAST_PREDICTED = 10


class CheckInputs:
    """The posterior that is checked, and what several checks need.

    Parameters
    ----------
    posterior : Posterior
        Draws, model and data.
    level : float
        The level that a single check is tested at in the worst case, for statements of power.
    """

    def __init__(self, posterior: Posterior, level: float) -> None:
        self.posterior, self.level = posterior, level

    @property
    def table(self) -> Table:
        """The rounds."""
        return self.posterior.table

    @functools.cached_property
    def users(self) -> np.ndarray | None:
        """The number of each round's user (n,), from 0 in the order of arrival; None without labels."""
        return None if self.table.user is None else number_users(self.table.user)

    @functools.cached_property
    def prequential(self) -> Prequential | None:
        """Predictions of every round from those before; None where the model has no likelihood of θ and φ alone."""
        from hrprob.estimation.posterior.laplace import Laplace

        target = self.posterior.target
        if target.model.columns:
            return None  # its rounds are not independent given θ and φ
        try:
            check_program(Laplace(), target, model_data(target, self.table))
        except InvalidInput:
            return None
        return prequential(target, self.table)

    @functools.cached_property
    def unpredicted(self) -> Evidence | None:
        """What is said where rounds cannot be predicted from those before them, or too few of them."""
        if self.prequential is None:
            return NO_PREDICTIONS
        rounds, usable = len(self.table), int(self.prequential.usable.sum())
        if usable >= _LEAST_PREDICTED:
            return None
        return Evidence(f"only {usable} of {rounds} rounds can be predicted from those before")

    @functools.cached_property
    def left_out(self) -> LeftOut:
        """Predictions of every round from all others, and of every user from all others."""
        return leave_out(self.posterior, self.users, self.prequential is not None)
