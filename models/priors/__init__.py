r"""Priors of θ and φ, by name.

==================  =============================================================
``uniform``         uniform on the balls ‖θ‖ ≤ ``bounds.theta``, ‖φ‖ ≤ ``bounds.phi``
``gaussian``        N(0, (share · bound)² I) truncated to the same balls
``with-intercept``  one of these for slopes, and normal intercepts outside the balls
==================  =============================================================

The first two are NumPyro distributions on a ball. Engines that work in ℝᵈ (NUTS, normal guides,
Laplace) reach the ball by the map of :mod:`hrprob.models.ball`, under which the uniform
prior is standard normal: there is no boundary to cross, and f(φᵀx) stays positive.

A prior of one's own has the three methods of :class:`Prior` and a name (:func:`register`). Its balls may
be smaller than the bounds allow, and the engines then work on those; other supports are not possible.
A complete class::

    from hrprob.models import priors

    @priors.register("half")
    class Half(priors.Uniform):
        \"\"\"Uniform on balls of half the radius.\"\"\"

        def theta(self, setting):
            return priors.UniformBall(0.5 * setting.bounds.theta, setting.dimension)

        def phi(self, setting):
            return priors.UniformBall(0.5 * setting.bounds.phi, setting.dimension)
"""

from hrprob.models.priors.balls import BallTransform, NormalBall, UniformBall
from hrprob.models.priors.base import (
    PRIORS,
    Prior,
    is_uniform,
    make_prior,
    radii,
    register,
    sample,
    supports,
    theta_precision,
)
from hrprob.models.priors.checks import check_prior, check_record
from hrprob.models.priors.gaussian import Gaussian
from hrprob.models.priors.uniform import Uniform
from hrprob.models.priors.with_intercept import WithIntercept

__all__ = [
    "PRIORS",
    "BallTransform",
    "Gaussian",
    "NormalBall",
    "Prior",
    "Uniform",
    "UniformBall",
    "WithIntercept",
    "check_prior",
    "check_record",
    "is_uniform",
    "make_prior",
    "radii",
    "register",
    "sample",
    "supports",
    "theta_precision",
]
