r"""Normal outcomes: r ~ N(θᵀx, f(φᵀx)), the paper's model.

The likelihood of a stay of m rounds under one context depends on m, Σr and Σr² alone:

.. math:: \ln p = -\tfrac m2 \ln(2\pi w) - \frac{\sum r^2 - 2u\sum r + m u^2}{2w}.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from hrprob.models.base import Model, register
from hrprob.noise import NORMAL, Noise
from hrprob.noise.normal import log_density_of_rounds
from hrprob.observations import Data, Stays

__all__ = ["Gaussian"]


@register("gaussian")
class Gaussian(Model):
    """Normal outcomes, from stays or from single rounds.

    Examples
    --------
    >>> from hrprob.models import rounds, stays
    >>> x, r = [[0.6], [0.6]], [1.0, -1.0]
    >>> u, w = jnp.full(1, 0.3), jnp.full(1, 2.0)
    >>> model = Gaussian()
    >>> f"{model.row_log_likelihood(stays(x, r, user=[1, 1]), u, w).sum():.4f}"
    '-3.0760'
    >>> f"{model.row_log_likelihood(rounds(x, r), u, w).sum():.4f}"
    '-3.0760'
    """

    has_normal_rounds: ClassVar[bool] = True
    data: ClassVar[type] = Stays
    noise: ClassVar[Noise] = NORMAL
    noise_kind: ClassVar[str] = "normal"

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return N(u, w)."""
        return dist.Normal(u, jnp.sqrt(w))

    def observe(self, data: Data, u: jax.Array, w: jax.Array) -> None:
        """Sample the sums of each stay, or single rounds."""
        if isinstance(data, Stays):
            numpyro.sample("stay", NormalStay(u, w, data.rounds))
        else:
            super().observe(data, u, w)

    def observed(self, data: Data) -> dict[str, jax.Array]:
        """Return Σr and Σr² of each stay, or single rounds."""
        if isinstance(data, Stays):
            return {"stay": jnp.stack([data.total, data.squares], axis=-1)}
        return super().observed(data)

    def row_log_likelihood(self, data: Data, u: jax.Array, w: jax.Array) -> jax.Array:
        """Return the log likelihood of each row."""
        if isinstance(data, Stays):
            return log_density_of_rounds(u, w, data.rounds, data.total, data.squares)
        return super().row_log_likelihood(data, u, w)


class NormalStay(dist.Distribution):
    """(Σr, Σr²) of m normal rounds; the density is that of the rounds themselves."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    pytree_data_fields = ("u", "w", "rounds")

    def __init__(
        self, u: jax.Array, w: jax.Array, rounds: jax.Array, *, validate_args: bool | None = None
    ) -> None:
        self.u, self.w, self.rounds = u, w, rounds
        super().__init__(jnp.shape(u), (2,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Two real numbers; that Σr² ≥ (Σr)²/m is not checked."""
        return constraints.real_vector

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Return draws: Σr is normal, and Σr² − (Σr)²/m is w·χ²(m − 1)."""
        by_mean, by_rest = jax.random.split(key)
        shape = sample_shape + self.batch_shape
        total = self.rounds * self.u + jnp.sqrt(self.rounds * self.w) * jax.random.normal(by_mean, shape)
        freedom = jnp.broadcast_to(jnp.maximum(self.rounds - 1.0, 0.0), shape)
        rest = 2.0 * jax.random.gamma(by_rest, jnp.where(freedom > 0, 0.5 * freedom, 1.0))
        squares = total**2 / jnp.maximum(self.rounds, 1.0) + self.w * jnp.where(freedom > 0, rest, 0.0)
        return jnp.stack([total, squares], axis=-1)

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Return the log likelihood of each stay."""
        return log_density_of_rounds(self.u, self.w, self.rounds, value[..., 0], value[..., 1])
