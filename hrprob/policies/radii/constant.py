"""A constant radius: the number ``xi``, for θ and for φ."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.records import record
from hrprob.policies.radii.base import Radii, Radius, Width, register
from hrprob.problem import Known

__all__ = ["Constant", "ConstantWidth"]


@record()
class ConstantWidth(Width):
    """The same number for every user."""

    value: Any

    def radii(self, state: Any, learned: Any) -> Radii:
        """Return the number for both."""
        return Radii(jnp.asarray(self.value), jnp.asarray(self.value))

    def xi(self, state: Any, learned: Any) -> jax.Array:
        """Return the number."""
        return jnp.asarray(self.value)


@register("constant")
class Constant(Radius):
    """The number ``xi``."""

    takes_xi: ClassVar[bool] = True

    def width(self, policy: Any, known: Known) -> ConstantWidth:
        """Return a width of ``xi``."""
        return ConstantWidth(float(policy.xi))
