r"""Student-t outcomes: r = u + √w·√((ν − 2)/ν)·T with T ~ t_ν, so that the variance is w.

The tails are heavier than the theory covers: a check on the cost of a wrong normal assumption.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

from hrprob import noise as noises
from hrprob._core.records import set_frozen, set_later
from hrprob.models.base import Model, register

__all__ = ["StudentT"]


@register("student-t")
class StudentT(Model):
    """Student-t outcomes, standardised.

    Parameters
    ----------
    df : float
        ν, the degrees of freedom, above 2.

    Examples
    --------
    >>> float(StudentT(df=5.0).outcome(jnp.asarray(0.3), jnp.asarray(2.0)).variance.round(6))
    2.0
    """

    df: float = 5.0
    noise: noises.StudentT = set_later()

    def __post_init__(self) -> None:
        standard = noises.StudentT(self.df)
        set_frozen(self, df=standard.df, noise=standard)

    def outcome(self, u: jax.Array, w: jax.Array) -> dist.Distribution:
        """Return the t distribution of mean u and variance w."""
        return dist.StudentT(self.df, u, self.noise.scale * jnp.sqrt(w))
