"""Two posterior engines of one's own, one of each sort."""

import jax
import jax.numpy as jnp

from hrprob.estimation.posterior import engines
from hrprob.estimation.posterior.base import BatchEngine, StreamingEngine
from hrprob.estimation.posterior.laplace import laplace_approximation
from hrprob.estimation.posterior.normal import NormalBelief


@engines.register("resampled-prior", static=("points",))
class ResampledPrior(BatchEngine):
    """Draws from the prior, resampled in proportion to their likelihood."""

    points: int = 20_000

    @jax.jit
    def fit(self, target, data, key, start=None):
        by_prior, by_pick = jax.random.split(key)
        z = target.prior_of_both(by_prior, self.points)

        def log_likelihood(z):
            return jnp.sum(target.model.log_likelihood(*target.coefficients(z), data, target.setting))

        picks = jax.random.categorical(
            by_pick, jax.lax.map(log_likelihood, z, batch_size=1000), shape=(1, 2000)
        )
        return z[picks]


@engines.register("wide-laplace")
class WideLaplace(NormalBelief, StreamingEngine):
    """Laplace's approximation with its standard deviations raised by a factor."""

    factor: float = 1.5

    def fit(self, target, tables, start):
        normal = laplace_approximation(target, tables, start.mode)
        return normal._replace(factor=self.factor * normal.factor)
