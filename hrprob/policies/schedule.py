"""When a policy does what is too costly for every user: at numbers of users that grow geometrically.

The schedule depends on the number of users alone, so it is the same in all trials of a batch.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["refit_times"]


def refit_times(users: int, factor: float, warmup: int = 0) -> np.ndarray:
    """Return whether a costly step is due after n users have left, for every n from 0 to ``users``.

    Parameters
    ----------
    users : int
        The number of users, including the warm-up.
    factor : float
        The step is due whenever the number of users has grown by this factor.
    warmup : int
        The step is also due after every warm-up user.

    Examples
    --------
    >>> np.flatnonzero(refit_times(40, 1.5)).tolist()
    [1, 2, 3, 5, 8, 12, 18, 27]
    """
    due = np.zeros(users + 1, dtype=bool)
    due[: warmup + 1] = warmup > 0
    count = 1
    while count <= users:
        due[count] = True
        count = max(count + 1, math.ceil(count * factor))
    return due
