"""A problem: what is played, the truth included, and the part of it that a policy may know."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hrprob.errors import InvalidInput, check_count, check_number, check_vector
from hrprob.noise import NORMAL, Noise
from hrprob.problem.contexts import Contexts, Finite, Sphere
from hrprob.problem.link import Affine
from hrprob.problem.objective import Lifetime, Objective
from hrprob.problem.satisfaction import Satisfaction, Uniform
from hrprob.record import record, settle

__all__ = ["Bounds", "Known", "Problem"]


@record()
class Bounds:
    """The norms that a policy may rely on: ‖θ*‖ ≤ ``theta`` and ‖φ*‖ ≤ ``phi`` (the paper's 1 and L).

    Examples
    --------
    >>> Bounds(theta=1.0, phi=2.0)
    Bounds(theta=1.0, phi=2.0)
    """

    theta: Any = 1.0
    phi: Any = 2.0

    def __post_init__(self) -> None:
        remedy = "it bounds a norm"
        settle(
            self,
            theta=check_number("theta", self.theta, low=0, open_low=True, remedy=remedy),
            phi=check_number("phi", self.phi, low=0, open_low=True, remedy=remedy),
        )


@record(static=("dimension", "actions"))
class Known:
    """What a policy may know before the first user arrives.

    Attributes
    ----------
    dimension, actions : int
        Length of a context, and how many of them a user has.
    link, noise, objective : Affine, Noise, Objective
        f, the standardised distribution of the noise, and what is to be maximised.
    bounds : Bounds
        Norm bounds of θ* and φ*.
    satisfaction : Satisfaction
        How levels are distributed; each user's own level is seen on arrival.
    users : float
        T, the number of users to come.
    sets : ndarray or None
        The context sets, where there are finitely many: shape (sets, actions, d).
    """

    dimension: int
    actions: int
    link: Any
    noise: Any
    objective: Any
    bounds: Any
    satisfaction: Any
    users: Any
    sets: Any = None

    def value(self, u: Any, w: Any, beta: Any) -> Any:
        """Return the value of an action: with the lifetime objective, h_β(u, w)."""
        return self.objective.value(u, w, beta, self.noise)


# Each part, an example of it, and something that every such part has.
_PARTS = (
    ("link", "Affine(slope=1.0, offset=2.0)", "check_bound"),
    ("noise", "Normal()", "inverse_chance"),
    ("objective", "Lifetime()", "round_cost"),
    ("contexts", "Sphere(actions=20)", "place"),
    ("satisfaction", "Uniform(low=-1.0, high=1.0)", "support"),
    ("bounds", "Bounds(theta=1.0, phi=2.0)", "phi"),
)


@record()
class Problem:
    r"""Users who leave for good after one outcome below their level β.

    An outcome is :math:`r = \theta_*^\top x + \varepsilon` with
    :math:`\varepsilon` of variance :math:`f(\phi_*^\top x)`. The defaults are the paper's
    simulation in its released settings.

    Parameters
    ----------
    theta, phi : array_like, shape (d,)
        The truth, :math:`\theta_*` and :math:`\phi_*`.
    link : Affine
        f.
    noise : Noise
        Distribution of the standardised noise.
    objective : Objective
        What is to be maximised.
    contexts : Contexts
        How a user's contexts arise.
    satisfaction : Satisfaction
        How a user's β arises.
    bounds : Bounds
        The norm bounds that policies know; the truth must respect them.

    Examples
    --------
    >>> problem = Problem(theta=[0.6, 0.3], phi=[0.5, -0.9])
    >>> problem.dimension
    2
    >>> Problem(theta=[0.9, 0.9], phi=[0.5, 0.9])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hrprob.errors.InvalidInput: `theta` must have norm at most bounds.theta = 1, got 1.2728: shorten it, ...
    """

    theta: Any = (0.6, 0.5, 0.5, 0.3)
    phi: Any = (0.5, 0.2, 0.8, 0.9)
    link: Affine = Affine()
    noise: Noise = NORMAL
    objective: Objective = Lifetime()
    contexts: Contexts = Sphere()
    satisfaction: Satisfaction = Uniform()
    bounds: Bounds = Bounds()

    def __post_init__(self) -> None:
        for name, example, wanted in _PARTS:
            part = getattr(self, name)
            if isinstance(part, type) or not hasattr(part, wanted):
                raise InvalidInput(name, "must be a part of a problem", part, f"for example hrprob.{example}")
        theta = check_vector("theta", self.theta, remedy="it holds the weights of the mean, one a feature")
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
        settle(self, theta=theta, phi=phi)

    @property
    def dimension(self) -> int:
        """d, the length of a context."""
        return int(self.theta.shape[0])

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
            sets=self.contexts.sets if isinstance(self.contexts, Finite) else None,
        )

    def replace(self, **changes: Any) -> Problem:
        """Return the same problem with some fields changed, checked anew."""
        return dataclasses.replace(self, **changes)
