"""A problem: what is played, the truth included, and the part of it that a policy may know."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from hrprob import lifetime
from hrprob._core.errors import InvalidInput, check_count, check_number, check_vector
from hrprob._core.precision import float64
from hrprob._core.records import record, set_frozen
from hrprob.noise import NORMAL, Noise
from hrprob.problem.contexts import Contexts, Finite, Sphere
from hrprob.problem.levels import HiddenLevels, Satisfaction, UniformLevels
from hrprob.problem.levels.unseen import lowest_outcome
from hrprob.problem.links import Affine
from hrprob.problem.objectives import Lifetime, Objective, total
from hrprob.problem.parts import PARTS

__all__ = ["Bounds", "Known", "Problem"]

# The unit ball is looked at from so many angles, and anew about the one that matters, until that is known to 1e-7.
_ANGLES, _GRIDS = 721, 3


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
        set_frozen(
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
        How levels are distributed; a user's own is seen on arrival where ``satisfaction.seen``.
    users : float
        T, the number of users to come.
    """

    dimension: int
    actions: int
    link: Any
    noise: Any
    objective: Any
    bounds: Any
    satisfaction: Any
    users: Any

    def value(self, u: Any, w: Any, beta: Any) -> Any:
        """Return the value of an action: with the lifetime objective, h_β(u, w).

        Where levels are not seen ``beta`` is NaN, and the value an average over them.
        """
        return _value(self, u, w, beta)


def _value(of: Any, u: Any, w: Any, beta: Any) -> Any:
    """Return what one action throughout is worth under ``of``'s objective, noise and satisfaction."""
    rounds = of.satisfaction.rounds(u, w, beta, of.noise)
    return total(of.objective.earning(u, w, of.noise), rounds)


def _reachable(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances that actions can have: of all contexts, or on grids of the unit ball."""
    sets = getattr(problem.contexts, "sets", None)
    if sets is not None:
        contexts = sets.reshape(-1, problem.dimension)
        return contexts @ problem.theta, _variances(problem, contexts @ problem.phi)
    # Both inner products of a unit vector x are those of its part in the plane of θ and φ.
    basis, _ = np.linalg.qr(np.column_stack([problem.phi, problem.theta]))
    grids, (low, high) = [], (0.0, 2.0 * np.pi)
    for _ in range(_GRIDS):
        angle, radius = np.linspace(low, high, _ANGLES)[:, None], np.linspace(0.0, 1.0, 41)
        x = [radius * np.cos(angle), radius * np.sin(angle)][: basis.shape[1]]
        u, v = (
            sum(a * b for a, b in zip(x, basis.T @ vector, strict=True))
            for vector in (problem.theta, problem.phi)
        )
        w = _variances(problem, v)
        grids.append((np.ravel(u), np.ravel(w)))
        # The next lies between the neighbours of the angle at which the lowest outcome is highest.
        place = int(np.argmax(np.max(lowest_outcome(problem.noise, u, w), axis=1)))
        step = (high - low) / (_ANGLES - 1)
        low, high = angle[place, 0] - step, angle[place, 0] + step
    means, variances = zip(*grids, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _variances(problem: Problem, v: np.ndarray) -> np.ndarray:
    return np.maximum(problem.link(v), 0.0)


_EXAMPLES = {
    "link": "Affine(slope=1.0, offset=2.0)",
    "noise": "Normal()",
    "objective": "Lifetime()",
    "contexts": "Sphere(actions=20)",
    "satisfaction": "UniformLevels(low=-1.0, high=1.0)",
    "bounds": "Bounds(theta=1.0, phi=2.0)",
}


@record()
class StayRules:
    """What decides a stay, once mean and variance of an action are known.

    Problems that differ in their truth or contexts alone have rules of one kind, and the
    compiled programs of the engine serve them all.
    """

    noise: Any
    satisfaction: Any
    objective: Any

    @float64
    def round_cost(self, best: Any, value: Any, u: Any, w: Any, beta: Any) -> Any:
        r"""Return what one round of an action costs where the action may change from round to round.

        If a round earns g and ends the stay with probability p, it costs :math:`v_* p - g`: a user's
        probabilities p add up to 1 in expectation over the rounds played, so these costs add up to
        :math:`v_*` less what was earned, and with one action throughout to :math:`v_* - v`.

        With :math:`v = g/p` that is :math:`(v_* - v)\,p`, never negative. Where nobody leaves an
        action that earns less than nothing, v = −∞ and the first form is taken: a round costs −g.
        Where some action earns for ever, :math:`v_* = \infty` and a round of any other costs as much,
        like a stay with it.

        Where the level is hidden and kept, v is an average over levels and the first form is taken,
        with the user's own p: it is right in expectation too. A policy may then learn about the level
        within a stay and do better than the best of single actions, so that a cost can be negative.

        Parameters
        ----------
        best, value : array_like
            :math:`v_*` and v.
        u, w, beta : array_like
            Mean and variance of the outcome, and the user's true level.
        """
        probability = jnp.asarray(self.satisfaction.reneging_probability(u, w, beta, self.noise))
        plain = best * probability - self.objective.earning(u, w, self.noise)
        if isinstance(self.satisfaction, HiddenLevels):
            return plain
        loss = lifetime.pseudo_regret(best, value)
        # What either form makes of 0·∞ is not taken.
        endless = jnp.where(jnp.isinf(best), loss, plain)
        return jnp.where(jnp.isinf(loss), endless, loss * probability)

    def rest_cost(self, best: Any, value: Any, u: Any, w: Any, beta: Any) -> Any:
        """Return what the rest of a stay costs in expectation, one action being kept; see :meth:`round_cost`."""
        if isinstance(self.satisfaction, HiddenLevels):
            earned = total(self.objective.earning(u, w, self.noise), lifetime.h(u, w, beta, self.noise))
            return best - earned
        return lifetime.pseudo_regret(best, value)


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
    hrprob._core.errors.InvalidInput: `theta` must have norm at most bounds.theta = 1, got 1.2728: shorten it, ...
    """

    theta: Any = (0.6, 0.5, 0.5, 0.3)
    phi: Any = (0.5, 0.2, 0.8, 0.9)
    link: Affine = Affine()
    noise: Noise = NORMAL
    objective: Objective = Lifetime()
    contexts: Contexts = Sphere()
    satisfaction: Satisfaction = UniformLevels()
    bounds: Bounds = Bounds()

    def __post_init__(self) -> None:
        for name, example in _EXAMPLES.items():
            part = getattr(self, name)
            fits = PARTS[name].is_instance(part) if name in PARTS else isinstance(part, Bounds)
            if not fits:
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
        set_frozen(self, theta=theta, phi=phi)
        try:
            self.satisfaction.check_finite(self.noise, *_reachable(self))
        except InvalidInput as complaint:
            raise complaint.within("satisfaction") from None

    @property
    def dimension(self) -> int:
        """d, the length of a context."""
        return int(self.theta.shape[0])

    def value(self, u: Any, w: Any, beta: Any) -> Any:
        """Return the true value of an action of mean ``u`` and variance ``w`` for such a user."""
        return _value(self, u, w, beta)

    @property
    def rules(self) -> StayRules:
        """What decides how long a stay is and what it is worth."""
        return StayRules(self.noise, self.satisfaction, self.objective)

    @property
    def sets(self) -> np.ndarray | None:
        """The context sets (sets, actions, d), where there are finitely many."""
        return self.contexts.sets if isinstance(self.contexts, Finite) else None

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

    def replace(self, **changes: Any) -> Problem:
        """Return the same problem with some fields changed, checked anew."""
        return dataclasses.replace(self, **changes)
