"""A problem: all that is played, the truth included."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import jax
import numpy as np

from hrprob._core.descriptions import describe_class, short_toml, values_as_html
from hrprob._core.docstrings import summary_of
from hrprob._core.errors import InvalidInput, check_count, check_vector
from hrprob._core.records import describe, record, set_frozen
from hrprob._core.types import AsWritten, Numbers
from hrprob.noise import NORMAL, Noise
from hrprob.problem.bounds import Bounds
from hrprob.problem.contexts import Contexts, Sphere
from hrprob.problem.drift import Drift
from hrprob.problem.known import Known
from hrprob.problem.levels import Satisfaction, SeenLevels, UniformLevels
from hrprob.problem.links import Affine, Link
from hrprob.problem.objectives import Lifetime, Objective
from hrprob.problem.parts import PARTS
from hrprob.problem.reachable import reachable_outcomes
from hrprob.problem.stay_rules import StayRules

__all__ = ["Problem"]

# What a user could have written in place of a part that cannot be used.
_EXAMPLES = {
    "link": "Affine(slope=1.0, offset=2.0)",
    "noise": "Normal()",
    "objective": "Lifetime()",
    "contexts": "Sphere(actions=20)",
    "satisfaction": "UniformLevels(low=-1.0, high=1.0)",
    "bounds": "Bounds(theta=1.0, phi=2.0)",
    "drift": "Rotating(period=20000.0)",
}


@record()
class Problem:
    r"""Users who leave for good after one outcome below their level β.

    An outcome is :math:`r = \theta_*^\top x + \varepsilon` with
    :math:`\varepsilon` of variance :math:`f(\phi_*^\top x)`. The defaults are the paper's
    simulation in its released settings.

    Parameters
    ----------
    theta : array_like, shape (d,)
        θ*, the weights of the mean: an outcome has mean θ*ᵀx.
    phi : array_like, shape (d,)
        φ*, the weights of the variance: an outcome has variance f(φ*ᵀx).
    link : Link
        f, from φᵀx to the variance.
    noise : Noise
        The standardised distribution of the noise.
    objective : Objective
        What is maximised.
    contexts : Contexts
        How the contexts of users are made.
    satisfaction : Satisfaction
        How the levels β of users are drawn, and whether they are seen.
    bounds : Bounds
        The norm bounds that policies know; the truth must respect them.
    drift : Drift, optional
        How θ* and φ* move from user to user; by default they stay. ``theta`` and ``phi`` are the truth of the first
        user, and regret is measured against the oracle of the moment.

    Examples
    --------
    >>> problem = Problem(theta=[0.6, 0.3], phi=[0.5, -0.9])
    >>> problem.dimension
    2
    >>> print(problem)  # as a configuration has it
    theta = [0.6, 0.3]
    phi = [0.5, -0.9]
    link = { kind = "affine", slope = 1.0, offset = 2.0 }
    noise = { kind = "normal" }
    objective = { kind = "lifetime" }
    contexts = { kind = "sphere", actions = 20 }
    satisfaction = { kind = "uniform", low = -1.0, high = 1.0 }
    bounds = { theta = 1.0, phi = 2.0 }
    >>> Problem(theta=[0.9, 0.9], phi=[0.5, 0.9])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hrprob._core.errors.InvalidInput: `theta` must have norm at most bounds.theta = 1, got 1.2728: shorten it, ...
    """

    theta: Annotated[AsWritten, "ArrayLike"] = (0.6, 0.5, 0.5, 0.3)
    phi: Annotated[AsWritten, "ArrayLike"] = (0.5, 0.2, 0.8, 0.9)
    link: Link = Affine()
    noise: Noise = NORMAL
    objective: Objective = Lifetime()
    contexts: Contexts = Sphere()
    satisfaction: Satisfaction = UniformLevels()
    bounds: Bounds = Bounds()
    drift: Drift | None = None

    def __post_init__(self) -> None:
        for name, example in _EXAMPLES.items():
            part = getattr(self, name)
            if name == "drift" and part is None:
                continue
            fits = PARTS[name].is_instance(part) if name in PARTS else isinstance(part, Bounds)
            if not fits:
                raise InvalidInput(name, "must be a part of a problem", part, f"for example hrprob.{example}")
        theta = check_vector("theta", self.theta, remedy="it holds the weights of the mean, one per feature")
        phi = check_vector("phi", self.phi, dimension=theta.size, remedy="it has as many entries as `theta`")
        for name, vector in (("theta", theta), ("phi", phi)):
            bound, norm = getattr(self.bounds, name), float(np.linalg.norm(vector))
            if norm > bound * (1 + 1e-12):
                raise InvalidInput(
                    name,
                    f"must have norm at most bounds.{name} = {bound:g}",
                    round(norm, 4),
                    f"shorten it, or raise `bounds.{name}`, which policies rely on",
                )
        self.link.check_bound(self.bounds.phi)
        self.contexts.check_dimension(theta.size)
        if self.drift is not None:
            self.drift.check(theta.size)
        set_frozen(self, theta=theta, phi=phi)
        # The check of seen levels accepts all; putting the outcomes together takes some milliseconds.
        if getattr(type(self.satisfaction), "check_finite", None) is not SeenLevels.check_finite:
            self._check_finite()

    def _check_finite(self) -> None:
        try:
            outcomes = reachable_outcomes(
                self.contexts, self.theta, self.phi, self.link, self.noise, turns=self.drift is not None
            )
            self.satisfaction.check_finite(self.noise, *outcomes)
        except InvalidInput as complaint:
            raise complaint.within("satisfaction") from None

    def __str__(self) -> str:
        values = describe(self).items()
        return "\n".join(f"{name} = {short_toml(value)}" for name, value in values if value is not None)

    def _repr_html_(self) -> str:
        values = describe(self)
        parameters = describe_class("problem", "problem", type(self)).parameters
        return values_as_html(
            summary_of(type(self)),
            [(one, values[one.name]) for one in parameters if values[one.name] is not None],
        )

    @property
    def dimension(self) -> int:
        """d, the length of a context."""
        return int(self.theta.shape[0])

    def value(self, u: Numbers, w: Numbers, beta: Numbers) -> jax.Array:
        """Return the true value of an action of mean ``u`` and variance ``w`` for a user of level ``beta``."""
        return self.rules.value(u, w, beta)

    @property
    def rules(self) -> StayRules:
        """What decides how long a stay is, what it is worth and what it costs."""
        return StayRules(self.noise, self.satisfaction, self.objective)

    @property
    def sets(self) -> np.ndarray | None:
        """The context sets (sets, actions, d), where there are finitely many."""
        return getattr(self.contexts, "finite_sets", None)

    def check_still(self, purpose: str) -> None:
        """Raise if the truth drifts; ``purpose`` says what needs one that stays."""
        if self.drift is not None:
            remedy = f"{purpose}; leave `drift` out"
            raise InvalidInput("drift", "must not be given here", self.drift.kind, remedy)

    def known(self, users: int) -> Known:
        """Return what a policy may know before ``users`` users arrive."""
        check_count("users", users, remedy="at least one user must arrive")
        return Known(
            dimension=self.dimension,
            actions=self.contexts.actions,
            link=self.link,
            noise=self.noise,
            objective=self.objective,
            bounds=self.bounds,
            satisfaction=self.satisfaction,
            users=float(users),
        )

    def replace(self, **changes: AsWritten) -> Problem:
        """Return a copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)
