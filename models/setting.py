"""What every outcome model is given: the dimension, the link to the variance, the bounds of the norms."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob._core.errors import check_count
from hrprob._core.records import record, set_frozen
from hrprob.numerics.products import contract
from hrprob.problem.bounds import Bounds
from hrprob.problem.known import Known
from hrprob.problem.links import Affine, Link
from hrprob.problem.problem import Problem

__all__ = ["Setting"]

# Where ‖φ‖ equals its bound, f(φᵀx) may be 0 for some x. As a share of f(0), the smallest variance scales with
# the units of outcomes.
_LEAST_SHARE = 5e-11


@record(static=("dimension",))
class Setting:
    """Dimension, link and bounds of an outcome model.

    Parameters
    ----------
    dimension : int
        d, the length of a context.
    link : Link
        f, from φᵀx to the variance.
    bounds : Bounds
        ‖θ‖ ≤ ``bounds.theta`` and ‖φ‖ ≤ ``bounds.phi``, with f ≥ 0 within them.

    Examples
    --------
    >>> u, w = Setting(dimension=2).moments(jnp.ones(2), jnp.ones(2), jnp.asarray([[0.5, 0.0]]))
    >>> u.tolist(), w.tolist()
    ([0.5], [2.5])
    """

    dimension: int
    link: Link = Affine()
    bounds: Bounds = Bounds()

    def __post_init__(self) -> None:
        remedy = "it is the length of a context"
        set_frozen(self, dimension=check_count("dimension", self.dimension, remedy=remedy))
        self.link.check_bound(self.bounds.phi)

    @classmethod
    def of(cls, known: Problem | Known) -> Setting:
        """Return the setting of a problem, or of a policy's view of it."""
        made: Setting = object.__new__(cls)
        set_frozen(made, dimension=known.dimension, link=known.link, bounds=known.bounds)
        return made

    def moments(self, theta: jax.Array, phi: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return mean θᵀx and variance f(φᵀx) of each row of x (n, d)."""
        return contract(x, theta), self.variance(contract(x, phi))

    def variance(self, v: jax.Array) -> jax.Array:
        """Return f(v), but at least a tiny positive variance."""
        return jnp.maximum(self.link(v), _LEAST_SHARE * self.link(0.0))
