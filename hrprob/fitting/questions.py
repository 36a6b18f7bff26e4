"""What later questions to a posterior are about: contexts in the units of the data, and satisfaction levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput
from hrprob.fitting.table import Table
from hrprob.models import Model

__all__ = ["check_contexts", "check_levels", "lifetime_of", "new_columns"]


def lifetime_of(probability: np.ndarray) -> np.ndarray:
    """Return the statistics (m, 4) of h = 1/p from those of p: h is decreasing, so low and high change places.

    Quantiles of the draws of h themselves would interpolate between infinite values.
    """
    _, median, low, high = probability.T
    with np.errstate(divide="ignore", over="ignore"):
        ends = 1.0 / np.stack([median, high, low], axis=-1)
    return np.insert(ends, 0, np.nan, axis=-1)


def check_contexts(x: ArrayLike, table: Table) -> np.ndarray:
    """Return contexts in their own units as a model of this table sees them."""
    dimension = table.dimension - int(table.intercept)
    try:
        contexts = np.atleast_2d(np.asarray(x, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInput("x", "must hold numbers only", x, "one row per context") from None
    if contexts.ndim != 2 or contexts.shape[1] != dimension or not len(contexts):
        raise InvalidInput("x", f"must have shape (m, {dimension})", contexts.shape, "one row per context")
    if table.scale is not None:
        contexts = table.scaling.apply(contexts)
        length = float(np.linalg.norm(contexts, axis=1).max())
        if length > 1.0 + 1e-4:
            remedy = "the fit saw none beyond its scale; fit data that reach as far"
            must = "must have norms of at most 1 after division by the scale of the fit"
            raise InvalidInput("x", must, round(length, 4), remedy)
    # The same checks as for contexts that were played.
    checked = Table(contexts, np.zeros(len(contexts)))
    return np.asarray((checked.with_intercept() if table.intercept else checked).x)


def check_levels(beta: ArrayLike, contexts: int) -> np.ndarray:
    """Return one level for each of some contexts, or raise."""
    levels = Table(np.zeros((contexts, 1)), np.zeros(contexts), beta=beta).beta
    return np.asarray(levels)


def new_columns(model: Model, contexts: int, beta: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return the columns that a model's program needs at new contexts; a model of users needs none of new users."""
    needed = () if hasattr(model, "given_others") else model.columns
    for name in needed:
        if name != "beta" or beta is None:
            remedy = "its program has no value of it at new contexts; predict from the draws in `flat()`"
            raise InvalidInput("model", f"must do without the column {name}", model.kind, remedy)
    return {name: np.broadcast_to(np.asarray(beta), (contexts,)) for name in needed}
