r"""Earlier rows of data, in a state of bounded size.

The log likelihood of n rows is smooth on the scale of the posterior, whose standard deviations shrink as
1/√n. So after many rows their sum is replaced by its expansion to second order in b = (θ, φ) at the mode b₀,

.. math:: \sum_i \ell_i(b) \approx g^\top (b - b_0) + \tfrac12 (b - b_0)^\top H (b - b_0) + \text{const},

and enters every later fit as a factor of the prior. Within a few standard deviations of b₀ the cubic remainder
is of order 1/√n, .003 with 131 072 rows, in the units of the log density. A
quadratic is its own expansion, so later rows are added at later modes without further loss.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from hrprob._core.records import record, with_fields
from hrprob._core.types import PyTree
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting
from hrprob.numerics.products import contract

__all__ = ["Past", "after", "fold", "nothing"]


class Past(NamedTuple):
    """The log likelihood of earlier rows as a quadratic in b = (θ, φ), up to a constant."""

    origin: jax.Array  # (2d,) b₀
    gradient: jax.Array  # (2d,) there
    hessian: jax.Array  # (2d, 2d)

    def __call__(self, theta: jax.Array, phi: jax.Array) -> jax.Array:
        """Return it at θ and φ (..., d)."""
        moved = jnp.concatenate([theta, phi], axis=-1) - self.origin
        return contract(moved, self.gradient) + 0.5 * contract(
            moved, contract(self.hessian, moved[..., None, :])
        )


@record()
class PriorAndPast:
    """A prior times the likelihood of earlier rows."""

    prior: PyTree
    past: PyTree

    def theta(self, setting: Setting) -> PyTree:
        """Return the prior's distribution of θ, for its ball."""
        return self.prior.theta(setting)

    def phi(self, setting: Setting) -> PyTree:
        """Return the prior's distribution of φ, for its ball."""
        return self.prior.phi(setting)

    def log_tilt(self, theta: jax.Array, phi: jax.Array, setting: Setting) -> jax.Array:
        """Return the log density of both."""
        tilt: jax.Array = self.prior.log_tilt(theta, phi, setting) + self.past(theta, phi)
        return tilt


def nothing(target: Target) -> Past:
    """Return the past before any row."""
    k = target.size
    return Past(jnp.zeros(k), jnp.zeros(k), jnp.zeros((k, k)))


def after(target: Target, past: Past) -> Target:
    """Return the posterior given later rows alone, where ``past`` stands for the earlier ones."""
    return with_fields(target, prior=PriorAndPast(target.prior, past))


def fold(target: Target, past: Past, tables: PyTree, z: jax.Array) -> Past:
    """Return the past with all rows of ``tables`` added to it, expanded at z, the mode given both.

    Parameters
    ----------
    target : Target
        Model, prior and setting.
    past : Past
        Earlier rows.
    tables
        Pairs of data and the number of rows in use.
    z : array, shape (2d,)
        Where it is expanded.
    """
    own, _ = target.curve(z, [])
    whole, _ = after(target, past).curve(z, tables)
    origin = jnp.concatenate(target.coefficients(z))
    return Past(origin, whole.gradient - own.gradient, whole.hessian - own.hessian)
