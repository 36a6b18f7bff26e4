r"""Bounded outcomes: a normal distribution truncated at ± ``width`` of its standard deviations.

The truncation depends on θ and φ: with a sharp one the likelihood would be discontinuous in the
parameters, and gradient-based samplers would fail. The density therefore falls to 0 over a thin
edge: :mod:`hrprob.noise.truncated_normal` has the formula.
"""

from __future__ import annotations

from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints

from hrprob import noise as noises
from hrprob._core.errors import check_number
from hrprob._core.records import set_frozen, set_later
from hrprob.models.base import Model, register

__all__ = ["TruncatedNormal"]


@register("truncated-normal")
class TruncatedNormal(Model):
    """Normal outcomes truncated at a number of standard deviations, standardised.

    Parameters
    ----------
    width : float
        b, where the normal distribution is truncated on either side, in its own standard deviations.
    edge : float
        τ, the thickness of the edge, in the same units.

    Examples
    --------
    >>> outcome = TruncatedNormal(width=2.0).outcome(jnp.asarray(0.3), jnp.asarray(2.0))
    >>> float(outcome.variance.round(6))
    2.0
    """

    has_edge: ClassVar[bool] = True
    width: float = 3.0
    edge: float = 0.05
    noise: noises.TruncatedNormal = set_later()

    def __post_init__(self) -> None:
        check_number("edge", self.edge, low=0, open_low=True, remedy="a wall has no gradient")
        standard = noises.TruncatedNormal(self.width, self.edge)
        set_frozen(self, width=standard.width, edge=standard.edge, noise=standard)

    @classmethod
    def for_noise(cls, noise: noises.Noise) -> Self:
        """Return the model with the noise's width, and its edge or, where that is sharp, the thin default.

        Outcomes may be truncated sharply; a likelihood must not be.
        """
        assert isinstance(noise, noises.TruncatedNormal)  # its kind is `noise_kind`
        return cls(noise.width, noise.edge) if noise.edge > 0.0 else cls(noise.width)

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return the truncated normal distribution of mean u and variance w."""
        return EdgedNormal(u, w, self.noise)


class EdgedNormal(dist.Distribution):
    """The truncated normal distribution of mean ``u`` and variance ``w``."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    support = constraints.real
    pytree_data_fields = ("u", "w", "noise")

    def __init__(
        self, u: jax.Array, w: jax.Array, noise: noises.TruncatedNormal, *, validate_args: bool | None = None
    ) -> None:
        self.u, self.w, self.noise = u, w, noise
        super().__init__(jnp.broadcast_shapes(jnp.shape(u), jnp.shape(w)), (), validate_args=validate_args)

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return the log density."""
        return self.noise.log_pdf((value - self.u) / jnp.sqrt(self.w)) - 0.5 * jnp.log(self.w)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws, as quantiles of uniform numbers."""
        uniform = jax.random.uniform(key, sample_shape + self.batch_shape, float, 1e-16)
        return self.u + jnp.sqrt(self.w) * self.noise.quantile(uniform)

    @property
    def mean(self) -> jax.Array:
        """The mean u."""
        return jnp.broadcast_to(self.u, self.batch_shape)

    @property
    def variance(self) -> jax.Array:
        """The variance w."""
        return jnp.broadcast_to(self.w, self.batch_shape)
