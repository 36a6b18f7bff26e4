"""Variational inference with NumPyro: the normal distribution in z that is closest to the posterior.

The guide is ``AutoMultivariateNormal``; the result is a mean and a Cholesky factor in the
same coordinates as those of ``laplace``. It is optimised in stages, each in coordinates in which
the result of the stage before is the standard normal distribution: so a step size means the same
after ten users as after ten thousand, when the posterior is a hundredth as wide. Data are
padded to a power of two and enter as arguments: growing data compile a new program only when
they outgrow their padding. A fit can start from the last one. Latent sites of the program
beyond θ and φ are part of the guide (:mod:`.sites`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax import lax
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.infer import SVI as Inference
from numpyro.infer import Trace_ELBO
from numpyro.infer.autoguide import AutoMultivariateNormal
from numpyro.infer.initialization import init_to_value
from numpyro.optim import Adam

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.precision import is_traced
from hrprob._core.records import set_frozen
from hrprob._core.types import Number, PyTree
from hrprob.estimation.posterior import sites as program
from hrprob.estimation.posterior.base import BatchEngine
from hrprob.estimation.posterior.engines import register
from hrprob.estimation.posterior.normal import Normal, NormalBelief
from hrprob.estimation.posterior.target import Target
from hrprob.models import Data

__all__ = ["SVI"]

# The first stage finds the location, the second the scale; two more serve posteriors a thousandth as wide as
# the prior, and posteriors at the edge of a ball.
_STAGES = 4
# Standard deviation of the first guide where no fit came before; the uniform prior's is 1 in z.
_FIRST_SPREAD = 0.3
# Within a stage the step size falls to this share of its first value: to a thousandth of a standard deviation.
_LAST_RATE = 1e-2


@register("svi", static=("steps", "particles"))
class SVI(NormalBelief, BatchEngine):
    """The engine ``svi``: a normal approximation of the model's program.

    Parameters
    ----------
    steps : int
        Steps of the optimiser, a quarter of them, rounded up, in each of four stages.
    particles : int
        Draws from the guide per step.
    rate : float
        First step size of Adam, in standard deviations of the guide; in each stage it falls to a hundredth.
    """

    kind: ClassVar[str]
    runs_programs: ClassVar[bool] = True
    seconds_per_fit: ClassVar[float] = 2.0
    library: ClassVar[str] = "numpyro"
    shorter: ClassVar[Mapping[str, object]] = {"steps": 1000}
    steps: int = 2000
    particles: int = 8
    rate: float = 0.1

    def __post_init__(self) -> None:
        set_frozen(
            self,
            steps=check_count("steps", self.steps, high=10**7, remedy="some thousand reach the optimum"),
            particles=check_count(
                "particles", self.particles, high=10**6, remedy="they make the gradient less noisy"
            ),
            rate=check_number("rate", self.rate, low=0, open_low=True, remedy="it is a step size"),
        )

    def fit(self, target: Target, data: Data, key: jax.Array, start: Normal | None = None) -> Normal:
        """Return the guide fitted to ``data``, in the coordinates of ``start`` first where there is one."""
        wide, sites = program.padded(target, data)
        size = program.size(target, sites)
        mean, factor, spread = jnp.zeros(size), jnp.eye(size), _FIRST_SPREAD
        if start is not None:
            spread = 1.0
            known = start.mean.shape[0]  # the belief that a policy kept has no sites beyond θ and φ
            mean, factor = mean.at[:known].set(start.mean), factor.at[:known, :known].set(start.factor)
        guide = _run(self, target, sites, wide, key, Normal(mean, mean, factor), spread)
        if not is_traced(guide) and not np.all(np.isfinite(guide.factor)):
            remedy = "svi got no finite density or gradient on its way; look at the program, or take nuts"
            raise InvalidInput("engine", "must find a posterior", self.kind, remedy)
        return guide


@functools.partial(jax.jit, static_argnames="sites")
@program.runs_alone
def _run(
    engine: SVI,
    target: Target,
    sites: program.Sites,
    data: Data,
    key: jax.Array,
    start: Normal,
    spread: Number,
) -> Normal:
    size = start.mean.shape[0]
    steps = -(-engine.steps // _STAGES)

    def relative(guess: Normal) -> None:
        """Sample the posterior in coordinates in which ``guess`` is the standard normal distribution."""
        e = numpyro.sample("e", dist.ImproperUniform(constraints.real_vector, (), (size,)))
        with handlers.block():  # the program's own sites are functions of e
            value = program.log_density(target, sites, guess.mean + guess.factor @ e, data)
        numpyro.factor("posterior", value)

    falling = lambda step: engine.rate * _LAST_RATE ** (step / steps)  # noqa: E731
    guide = AutoMultivariateNormal(relative, init_loc_fn=init_to_value(values={"e": jnp.zeros(size)}))
    inference = Inference(relative, guide, Adam(falling), Trace_ELBO(num_particles=engine.particles))

    def stage(guess: Normal, given: tuple[jax.Array, jax.Array]) -> tuple[Normal, None]:
        key, spread = given

        def step(state: PyTree, _: None) -> tuple[PyTree, PyTree]:
            state, _ = inference.update(state, guess)
            now = inference.get_params(state)
            return state, (now["auto_loc"], now["auto_scale_tril"])

        first = {"auto_loc": jnp.zeros(size), "auto_scale_tril": spread * jnp.eye(size)}
        state = inference.init(key, guess, init_params=first)
        _, path = lax.scan(step, state, None, steps)
        # An average over the last tenth of the steps, without the noise of single steps.
        shift, factor = (jnp.mean(leaf[-max(steps // 10, 1) :], axis=0) for leaf in path)
        mean = guess.mean + guess.factor @ shift
        return Normal(mean, mean, guess.factor @ factor), None

    spreads = jnp.ones(_STAGES).at[0].set(spread)
    return lax.scan(stage, start, (jax.random.split(key, _STAGES), spreads))[0]
