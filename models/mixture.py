r"""Outcomes from two normal components: skewed, or with two peaks.

The standardised components are those of :class:`hrprob.noise.Mixture`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from hrprob import noise as noises
from hrprob._core.records import set_frozen, set_later
from hrprob.models.base import Model, register

__all__ = ["Mixture"]


@register("mixture")
class Mixture(Model):
    """Two normal components, standardised.

    Parameters
    ----------
    weight : float
        p, the probability of the lower component, in (0, 1).
    gap : float
        Δ ≥ 0, from the lower mean to the upper, in standard deviations of the whole.
    ratio : float
        ρ, the lower component's standard deviation over the upper's.

    Examples
    --------
    >>> float(Mixture().outcome(jnp.asarray(0.3), jnp.asarray(2.0)).variance.round(6))
    2.0
    """

    weight: float = 0.3
    gap: float = 1.6
    ratio: float = 1.0

    noise: noises.Mixture = set_later()

    def __post_init__(self) -> None:
        standard = noises.Mixture(self.weight, self.gap, self.ratio)
        set_frozen(self, weight=standard.weight, gap=standard.gap, ratio=standard.ratio, noise=standard)

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return the mixture of mean u and variance w."""
        means, sds = (jnp.stack([jnp.asarray(a), jnp.asarray(b)]) for a, b in self.noise.components())
        u, w = jnp.broadcast_arrays(u, w)
        scale = jnp.sqrt(w)[..., None]
        parts = dist.Normal(u[..., None] + scale * means, scale * sds)
        probabilities = jnp.stack([jnp.asarray(self.weight), jnp.asarray(1.0 - self.weight)])
        return dist.MixtureSameFamily(dist.Categorical(probs=probabilities), parts)
