"""A constant radius: the number ``xi``, for θ and for φ."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob._core.records import record
from hrprob.policies.radii.base import Radii, Radius, Width, register
from hrprob.policies.radii.parameters import RadiusParameters
from hrprob.problem import Known

__all__ = ["Constant", "ConstantWidth"]


@record()
class ConstantWidth(Width[tuple[()], object]):
    """The same number for every user."""

    value: float

    def radii(self, state: tuple[()], learned: object) -> Radii:
        """Return the number for both."""
        return Radii(jnp.asarray(self.value), jnp.asarray(self.value))

    def xi(self, state: tuple[()], learned: object) -> jax.Array:
        """Return the number."""
        return jnp.asarray(self.value)


@register("constant")
class Constant(Radius[RadiusParameters]):
    """The number ``xi``."""

    takes_xi: ClassVar[bool] = True

    def width(self, policy: RadiusParameters, known: Known) -> ConstantWidth:
        """Return a width of ``xi``."""
        assert policy.xi is not None  # checked with the other parameters
        return ConstantWidth(float(policy.xi))
