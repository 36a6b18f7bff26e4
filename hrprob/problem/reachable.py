"""The means and variances that the actions of a problem can have, to check that their values are finite."""

from __future__ import annotations

import numpy as np

from hrprob.noise import Noise
from hrprob.problem.contexts import Contexts
from hrprob.problem.levels.unseen import lowest_outcome
from hrprob.problem.links import Link

__all__ = ["reachable_outcomes"]

# Angles on each grid over the unit ball, and how many grids, each finer than the one before it: the angle at which
# the lowest outcome is highest is then known to 1e-7.
_ANGLES, _GRIDS = 721, 3
# Means, and variances, that are looked at where θ and φ turn; the ends, which decide, are among them.
_VALUES = 41


def reachable_outcomes(
    contexts: Contexts, theta: np.ndarray, phi: np.ndarray, link: Link, noise: Noise, *, turns: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances (n,): of all contexts if there are finitely many, else on grids over the unit ball.

    ``turns``: θ and φ may have any directions, so every mean may go with every variance.
    """
    sets = getattr(contexts, "sets", None)
    if turns:
        most = 1.0 if sets is None else float(np.linalg.norm(sets, axis=2).max())
        u, v = (np.linspace(-most, most, _VALUES) * float(np.linalg.norm(vector)) for vector in (theta, phi))
        return np.repeat(u, _VALUES), np.tile(_variance(link, v), _VALUES)
    if sets is not None:
        rows = sets.reshape(-1, theta.size)
        return rows @ theta, _variance(link, rows @ phi)
    # θᵀx and φᵀx depend only on the part of x in the plane of θ and φ.
    basis, _ = np.linalg.qr(np.column_stack([phi, theta]))
    grids, (low, high) = [], (0.0, 2.0 * np.pi)
    for _ in range(_GRIDS):
        angle, radius = np.linspace(low, high, _ANGLES)[:, None], np.linspace(0.0, 1.0, 41)
        x = [radius * np.cos(angle), radius * np.sin(angle)][: basis.shape[1]]
        u, v = (sum(a * b for a, b in zip(x, basis.T @ vector, strict=True)) for vector in (theta, phi))
        w = _variance(link, v)
        grids.append((np.ravel(u), np.ravel(w)))
        # The next grid lies between the neighbours of the angle at which the lowest outcome is highest.
        place = int(np.argmax(np.max(lowest_outcome(noise, u, w), axis=1)))
        step = (high - low) / (_ANGLES - 1)
        low, high = angle[place, 0] - step, angle[place, 0] + step
    means, variances = zip(*grids, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _variance(link: Link, v: np.ndarray) -> np.ndarray:
    # A bound that is met exactly can leave a variance of −1e-17.
    return np.maximum(link(v), 0.0)
