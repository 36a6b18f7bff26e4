r"""Contexts of a person and an action together: user ⊕ action.

hrprob's contexts are one vector per action. A table has features of people and, beside them, what each could
receive. The context of person i under action a is

.. math:: x_{i,a} = \frac{1}{c}\,(z_i \oplus w_a), \qquad\text{or with products}\qquad
    x_{i,a} = \frac{1}{c}\,(z_i \oplus w_a \oplus z_i \otimes w_a),

z the features of the person, each centred, divided by its standard deviation and clipped to ± ``clip``; w those of the
action; c the largest norm of all, so that norms are at most 1. Without products an action adds the same to everybody's
mean; with them its effect depends on the person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number

__all__ = ["JoinedContexts", "join_contexts"]


@dataclass(frozen=True, eq=False)
class JoinedContexts:
    """Contexts of people under every action.

    Attributes
    ----------
    contexts : ndarray
        One context for each of n people and k actions, of shape (n, k, d) and norm at most 1.
    features : tuple of str
        The name of each entry of a context.
    scale : float
        c, by which all entries were divided.
    """

    contexts: np.ndarray
    features: tuple[str, ...]
    scale: float

    def served(self, actions: ArrayLike) -> np.ndarray:
        """Return the contexts (users, d) of the actions that people received, numbers from 0.

        Examples
        --------
        >>> joined = join_contexts([[0.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]])
        >>> joined.served([0, 1]).round(3).tolist()
        [[-0.707, 0.707, 0.0], [0.707, 0.0, 0.707]]
        """
        users, number = self.contexts.shape[:2]
        chosen = np.asarray(actions)
        if chosen.shape != (users,) or not np.issubdtype(chosen.dtype, np.integer):
            must = f"must be {users} whole numbers, one per user"
            raise InvalidInput("actions", must, _shape(chosen), "give the number of the action of each row")
        if chosen.min() < 0 or chosen.max() >= number:
            worst = int(chosen.min() if chosen.min() < 0 else chosen.max())
            raise InvalidInput(
                "actions", f"must lie between 0 and {number - 1}", worst, "actions count from 0"
            )
        rows: np.ndarray = self.contexts[np.arange(users), chosen]
        return rows


def join_contexts(
    users: ArrayLike, actions: ArrayLike, *, products: bool = False, clip: float = 3.0
) -> JoinedContexts:
    """Return the contexts user ⊕ action of people and actions.

    Parameters
    ----------
    users : array_like or data frame
        Numeric features of people, one row for each person. Each is centred, divided by its standard deviation and clipped.
    actions : array_like or data frame
        Features of actions, one row for each, taken as they are; the unit matrix says only which action it is.
    products : bool
        Append the products of every feature of a person with every feature of an action, so that an action
        can be good for some and bad for others.
    clip : float
        How many standard deviations from its mean a feature of a person may be; what lies farther is moved there,
        so that one outlier does not shrink all contexts.

    Examples
    --------
    >>> joined = join_contexts([[30.0, 1.0], [50.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], products=True)
    >>> joined.contexts.shape, joined.features
    ((2, 2, 8), ('u1', 'u2', 'a1', 'a2', 'u1·a1', 'u1·a2', 'u2·a1', 'u2·a2'))
    """
    check_number("clip", clip, low=0, open_low=True, remedy="it is a number of standard deviations")
    z, w = _standardised(_matrix("users", users), clip), _matrix("actions", actions)
    names = (_names(users, z.shape[1], "u"), _names(actions, w.shape[1], "a"))
    people, choices = len(z), len(w)
    parts = [
        np.broadcast_to(z[:, None], (people, choices, z.shape[1])),
        np.broadcast_to(w, (people, *w.shape)),
    ]
    if products:
        names = (*names, [f"{one}·{two}" for one in names[0] for two in names[1]])  # type: ignore[assignment]
        parts.append((z[:, None, :, None] * w[None, :, None, :]).reshape(people, choices, -1))
    contexts = np.concatenate(parts, axis=2)
    scale = float(np.linalg.norm(contexts, axis=2).max())
    if scale == 0.0:
        raise InvalidInput(
            "actions", "must differ from 0 in some feature", "zeros", "a context of 0 tells nothing"
        )
    return JoinedContexts(contexts / scale, tuple(name for group in names for name in group), scale)


def _matrix(field: str, given: object) -> np.ndarray:
    """Return features as an array of two axes, or raise."""
    remedy = "give one row per entry and one numeric column per feature; leave out or fill in what is missing"
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(field, "must be numbers", type(given).__name__, remedy) from None
    if array.ndim != 2 or not array.size:
        raise InvalidInput(field, "must be a table of two axes", _shape(array), remedy)
    if not np.all(np.isfinite(array)):
        row = int(np.argmin(np.all(np.isfinite(array), axis=1))) + 1
        raise InvalidInput(field, "must be finite", f"NaN or infinity in row {row}", remedy)
    return array


def _standardised(features: np.ndarray, clip: float) -> np.ndarray:
    spread = features.std(axis=0)
    # A feature that is the same for everybody tells nothing, and stays 0.
    centred = (features - features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.clip(centred, -clip, clip)


def _names(given: object, number: int, letter: str) -> Sequence[str]:
    columns = getattr(given, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    return [f"{letter}{i + 1}" for i in range(number)]


def _shape(array: np.ndarray) -> str:
    return f"shape {array.shape}"
