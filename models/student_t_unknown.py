r"""Student-t outcomes whose degrees of freedom are unknown.

.. math:: r = u + \sqrt{w\,(\nu - 2)/\nu}\; T, \qquad T \sim t_\nu, \qquad \nu - 2 \sim \text{Gamma}(a, b),

so that the variance is w whatever ν is: φ keeps its meaning, and ν says how heavy the tails are. The prior with a = 2 and
b = 0.1 is that of Juárez and Steel [1]_, shifted to where a variance exists.

References
----------
.. [1] M. A. Juárez, M. F. J. Steel, "Model-based clustering of non-Gaussian panel data based on skew-t distributions",
   Journal of Business & Economic Statistics 28(1), 2010.
"""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.records import set_frozen
from hrprob.models import priors
from hrprob.models.base import Model, register
from hrprob.models.setting import Setting
from hrprob.noise import Noise
from hrprob.observations import Data, Rounds

__all__ = ["StudentTUnknown"]


@register("student-t-unknown")
class StudentTUnknown(Model):
    """Student-t outcomes, standardised, with unknown degrees of freedom: a site ``df`` that ``nuts`` and ``svi`` fit.

    Parameters
    ----------
    shape, rate : float
        The Gamma prior of ν − 2; by default its mean is 20.

    Examples
    --------
    >>> float(StudentTUnknown().df_prior().base_dist.mean)  # of ν − 2
    20.0
    """

    noise_kind: ClassVar[str] = "none"  # no noise of known shape is its own
    shape: float = 2.0
    rate: float = 0.1

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            remedy = "it is a parameter of a Gamma distribution"
            value = check_number(name, getattr(self, name), low=0, open_low=True, remedy=remedy)
            set_frozen(self, **{name: value})

    @property
    def noise(self) -> Noise:
        """Refused: expected lifetimes depend on ν, which policies do not learn."""
        remedy = "expected lifetimes depend on ν; take student-t with a number, such as the posterior mean of a fit"
        raise InvalidInput("model", "must have known degrees of freedom in a policy", self.kind, remedy)

    def df_prior(self) -> dist.Distribution:
        """Return the distribution of ν."""
        shift = transforms.AffineTransform(2.0, 1.0, domain=constraints.positive)
        return dist.TransformedDistribution(dist.Gamma(self.shape, self.rate), shift)

    def program(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Sample θ, φ, ν and the outcomes."""
        assert isinstance(data, Rounds)
        theta, phi = priors.sample(prior, setting)
        df = numpyro.sample("df", self.df_prior())
        u, w = setting.moments(theta, phi, data.x)
        with numpyro.plate("row", data.x.shape[0]):
            one = dist.StudentT(df, u[:, None], jnp.sqrt(w * (df - 2.0) / df)[:, None])
            numpyro.sample("r", one.mask(data.weight > 0).to_event(1))
