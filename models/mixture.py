r"""Outcomes from two normal components: skewed, or with two peaks.

The standardised noise is N(m₁, s₁²) with chance p and N(m₂, s₂²) else, where

.. math:: m_1 = -(1-p)\Delta,\quad m_2 = p\Delta,\quad s_1 = \rho s_2,\quad
    p s_1^2 + (1-p) s_2^2 = 1 - p(1-p)\Delta^2,

so that its mean is 0 and its variance 1 whatever p, Δ and ρ.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from hrprob.errors import InvalidInput, check_number
from hrprob.models.base import Model, register
from hrprob.record import settle

__all__ = ["Mixture"]


@register("mixture")
class Mixture(Model):
    """Two normal components, standardised.

    Parameters
    ----------
    weight : float
        p, the chance of the lower component, in (0, 1).
    gap : float
        Δ ≥ 0, from the lower mean to the upper, in standard deviations of the whole.
    ratio : float
        ρ, the lower component's standard deviation over the upper's.

    Examples
    --------
    >>> float(Mixture().outcome(jnp.asarray(0.3), jnp.asarray(2.0)).variance.round(6))
    2.0
    """

    weight: Any = 0.3
    gap: Any = 1.6
    ratio: Any = 1.0

    def __post_init__(self) -> None:
        settle(
            self,
            weight=check_number(
                "weight",
                self.weight,
                low=0,
                high=1,
                open_low=True,
                open_high=True,
                remedy="it is the chance of a component",
            ),
            gap=check_number("gap", self.gap, low=0, remedy="it is a distance"),
            ratio=check_number(
                "ratio", self.ratio, low=0, open_low=True, remedy="it is a ratio of deviations"
            ),
        )
        most = (self.weight * (1.0 - self.weight)) ** -0.5
        if self.gap >= most:
            remedy = "at that gap the two means alone make a variance of 1"
            raise InvalidInput("gap", f"must be below {most:.4g}", self.gap, remedy)

    def components(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return (m₁, m₂) and (s₁, s₂)."""
        p, gap = self.weight, self.gap
        within = 1.0 - p * (1.0 - p) * gap**2
        upper = jnp.sqrt(within / (p * self.ratio**2 + 1.0 - p))
        return (-(1.0 - p) * gap, p * gap), (self.ratio * upper, upper)

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return the mixture of mean u and variance w."""
        means, deviations = (jnp.stack([jnp.asarray(a), jnp.asarray(b)]) for a, b in self.components())
        u, w = jnp.broadcast_arrays(u, w)
        scale = jnp.sqrt(w)[..., None]
        parts = dist.Normal(u[..., None] + scale * means, scale * deviations)
        chances = jnp.stack([jnp.asarray(self.weight), jnp.asarray(1.0 - self.weight)])
        return dist.MixtureSameFamily(dist.Categorical(probs=chances), parts)
