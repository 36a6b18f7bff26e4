"""Random directions."""

from __future__ import annotations

import numpy as np

__all__ = ["unit_vectors"]


def unit_vectors(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return vectors of norm 1 along the last axis, uniform on the sphere.

    Examples
    --------
    >>> x = unit_vectors(np.random.default_rng(0), (5, 3))
    >>> np.linalg.norm(x, axis=-1).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    vectors = rng.standard_normal(shape)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
