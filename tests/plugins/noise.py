"""A third-party noise: logistic, with heavier tails than the normal and a closed-form Ψ."""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from hrprob.noise import Tailed, register
from hrprob.plugins import Purpose

# The variance of a logistic distribution of scale s is π²s²/3.
SCALE = math.sqrt(3.0) / math.pi


@register("logistic")
class Logistic(Tailed):
    """Logistic noise."""

    kind: ClassVar[str]
    symmetric = True
    tail = math.inf

    def log_density(self, z):
        return jax.nn.log_sigmoid(z / SCALE) + jax.nn.log_sigmoid(-z / SCALE) - math.log(SCALE)

    def probability(self, z):
        return jax.nn.sigmoid(z / SCALE)

    def log_probability(self, z):
        return jax.nn.log_sigmoid(z / SCALE)

    def draw(self, source, rounds, start=0):
        uniform = source.uniform(Purpose.NOISE, (rounds,), start)
        return SCALE * (jnp.log(uniform) - jnp.log1p(-uniform))
