"""A prior of one's own."""

from typing import Any

from hrprob.models import priors
from hrprob.plugins import contract


@priors.register("small-effects")
class SmallEffects(priors.Uniform):
    """θ is near 0, φ uniform on a ball of half the radius that the bounds allow."""

    share: Any = 0.2

    def theta(self, setting):
        return priors.NormalBall(setting.bounds.theta, self.share, setting.dimension)

    def phi(self, setting):
        return priors.UniformBall(0.5 * setting.bounds.phi, setting.dimension)

    def log_tilt(self, theta, phi, setting):
        return -0.5 * contract(theta, theta) / (self.share * setting.bounds.theta) ** 2
