"""Two outcome models of one's own; outcomes of the first can also be simulated, as `diagnose` does."""

import math
from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist

from hrprob.models import Model, register
from hrprob.plugins import check_number


@register("logistic-outcomes")
class LogisticOutcomes(Model):
    """Logistic outcomes."""

    def outcome(self, u, w):
        return dist.Logistic(u, jnp.sqrt(3.0 * w) / math.pi)


@register("contaminated")
class Contaminated(Model):
    """Logistic outcomes, a share of which is spread three times as wide."""

    share: Any = 0.1

    def __post_init__(self):
        check_number("share", self.share, low=0, high=1, remedy="it is a probability")

    def outcome(self, u, w):
        # The variance of a logistic distribution of scale s is π²s²/3.
        scale = jnp.sqrt(w * 3.0 / (1.0 + 8.0 * self.share)) / math.pi
        probabilities = jnp.stack([1.0 - self.share, jnp.asarray(self.share)])
        scales = jnp.stack([scale, 3.0 * scale], axis=-1)
        parts = dist.Logistic(jnp.broadcast_to(jnp.asarray(u)[..., None], scales.shape), scales)
        return dist.MixtureSameFamily(dist.Categorical(probs=probabilities), parts)
