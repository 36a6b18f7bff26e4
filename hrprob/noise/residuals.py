r"""Noise resampled from residuals, smoothed by a narrow normal kernel.

.. math:: \Psi(z) = \frac1n \sum_i \Phi\Big(\frac{z - e_i}{s}\Big),
    \qquad \sum_i e_i = 0, \quad \frac1n \sum_i e_i^2 + s^2 = 1.

Residuals themselves would give Ψ = 0 below the least of them: a user with a lower level would stay for ever,
because of the size of a sample. The kernel gives every level a positive probability, and beyond the
last residual the tail is that of a normal distribution with standard deviation s. Long stays there are
extrapolation.

References
----------
.. [1] B. W. Silverman, G. A. Young, "The bootstrap: to smooth or not to smooth?", Biometrika 74, 1987.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.precision import float64
from hrprob._core.random_numbers import Purpose, Source
from hrprob._core.records import set_frozen
from hrprob._core.types import AsWritten, Number
from hrprob.noise.base import Tailed, real, register
from hrprob.noise.normal import NORMAL

__all__ = ["Residuals"]


@register("residuals", static=("points",))
class Residuals(Tailed):
    """Residuals of one's own data, standardised and smoothed.

    Parameters
    ----------
    values : array_like, shape (n,)
        Residuals in any unit, at least ten that are not all equal.
    smoothing : float
        s, the standard deviation of the kernel, in standard deviations of the whole; in (0, 1).
    points : int
        More residuals than this are represented by this many of their quantiles, because every evaluation of Ψ
        goes over all of them.

    Examples
    --------
    >>> skewed = Residuals(np.random.default_rng(0).exponential(size=500))
    >>> f"{skewed.cdf(-1.5):.3f}, {NORMAL.cdf(-1.5):.3f}"
    '0.001, 0.067'
    """

    kind: ClassVar[str]
    values: Annotated[AsWritten, "ArrayLike"] = tuple(np.linspace(-1.5, 1.5, 16).round(1).tolist())
    smoothing: float = 0.2
    points: int = 64

    def __post_init__(self) -> None:
        set_frozen(
            self,
            smoothing=check_number(
                "smoothing", self.smoothing, low=0, high=1, open_low=True, open_high=True,
                remedy="it is the standard deviation of the kernel; 0 would let users stay for ever",
            ),
            points=check_count("points", self.points, low=10, remedy="ten points are a rough shape"),
        )  # fmt: skip
        remedy = "give residuals as a list of at least ten finite numbers that are not all equal"
        try:
            given = np.sort(np.asarray(self.values, dtype=float).ravel())
        except (TypeError, ValueError):
            raise InvalidInput("values", "must be numbers", self.values, remedy) from None
        if len(given) < 10 or not np.all(np.isfinite(given)) or given[0] == given[-1]:
            raise InvalidInput("values", "must be residuals", f"{len(given)} values", remedy)
        if len(given) > self.points:
            given = np.quantile(given, (np.arange(self.points) + 0.5) / self.points)
        centred, spread = given - given.mean(), math.sqrt(1.0 - self.smoothing**2)
        # Values that are standardised already stay as they are, to the last digit.
        if max(abs(given.mean()), abs(given.std() - spread)) > 1e-12:
            given = centred * (spread / centred.std())
        set_frozen(self, values=given)

    @property
    def tail(self) -> Number:
        """The standard deviation of the kernel."""
        return self.smoothing

    @property
    def tail_centre(self) -> Number:
        """The least residual."""
        return self.values[0]

    @property
    def corners(self) -> tuple[Number, ...]:
        """The residuals: Ψ has a step of one kernel at each."""
        return tuple(self.values)

    @property
    def turns(self) -> tuple[Number, ...]:
        """Points below the least residual, from where the tail is that of its kernel."""
        return tuple(self.values[0] - k * self.smoothing for k in (1.0, 2.0, 4.0, 6.0, 8.0))

    def normal_components(self) -> tuple[tuple[Number, Number, Number], ...]:
        """Return weight, mean and sd of each kernel."""
        return tuple((1.0 / len(self.values), value, self.smoothing) for value in self.values)

    def _standardised(self, z: jax.Array) -> jax.Array:
        return (z[..., None] - self.values) / self.smoothing

    def log_density(self, z: jax.Array) -> jax.Array:
        """Return ln ψ(z)."""
        each = NORMAL.log_pdf(self._standardised(z))
        return logsumexp(each, axis=-1) - jnp.log(self.smoothing * each.shape[-1])

    def probability(self, z: jax.Array) -> jax.Array:
        """Return the value of Ψ(z)."""
        return jnp.mean(NORMAL.cdf(self._standardised(z)), axis=-1)

    def log_probability(self, z: jax.Array) -> jax.Array:
        """Return the value of ln Ψ(z)."""
        each = NORMAL.log_cdf(self._standardised(z))
        below = logsumexp(each, axis=-1) - jnp.log(1.0 * each.shape[-1])
        # Where Ψ rounds to 1 its logarithm follows from the probability above.
        return jnp.where(z > 0.0, jnp.log1p(-self.survival(z)), below)

    @float64
    def survival(self, z: ArrayLike) -> jax.Array:
        """Return the probability of a draw above ``z``, from the upper tails of the kernels."""
        return jnp.mean(NORMAL.cdf(-self._standardised(real(z))), axis=-1)

    def draw(self, source: Source, rounds: int, start: jax.Array | int = 0) -> jax.Array:
        """Return the noise of ``rounds`` rounds: a residual, and a normal number about it."""
        number = len(self.values)
        which = jnp.floor(number * source.uniform(Purpose.NOISE_AUXILIARY, (rounds,), start)).astype(
            jnp.int32
        )
        normal = source.normal(Purpose.NOISE, (rounds,), start)
        return jnp.asarray(self.values)[jnp.minimum(which, number - 1)] + self.smoothing * normal
