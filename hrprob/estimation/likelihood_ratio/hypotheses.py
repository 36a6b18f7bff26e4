r"""Hypotheses about (θ, φ), tested by the largest likelihood under them.

For a hypothesis H the e-value is :math:`\Pi q_i(r_i) / \max_{(\theta,\phi) \in H} \Pi p(r_i \mid \theta, \phi)`. If H is
true it is at most :math:`E_n` of the truth, so the probability that it *ever* exceeds 1/α is at most α: one may look
after every round and stop whenever one likes. Its reciprocal, at most 1, is an anytime p-value.

A hypothesis of one's own is a class with the two methods of :class:`Hypothesis`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_vector
from hrprob._core.keywords import nearest_fields
from hrprob._core.precision import double_precision
from hrprob._core.types import AsWritten
from hrprob.estimation.likelihood_ratio.search import Free, Function
from hrprob.lifetime import log_reneging_probability
from hrprob.noise import Noise

if TYPE_CHECKING:
    from hrprob.models.setting import Setting

__all__ = ["Homoscedastic", "Hypothesis", "NotLonger", "Stated", "Tested"]

# A direction in which contexts vary by less than this share of their norm is one in which they do not.
_FLAT = 1e-9


class Tested(NamedTuple):
    """The test of a hypothesis, valid at every n simultaneously."""

    e_value: float
    log_e_value: float
    p_value: float
    theta: np.ndarray  # (d,) the most likely pair under the hypothesis
    phi: np.ndarray  # (d,)


class Hypothesis:
    """A subset of all (θ, φ): a linear family, and an inequality."""

    def family(self, setting: Setting, contexts: np.ndarray) -> Free | None:
        """Return the linear family that the hypothesis is in; None for all (θ, φ)."""
        return None

    def inequality(self, setting: Setting, noise: Noise) -> Function | None:
        """Return a function of v = (θ, φ) that is at least 0 under the hypothesis; None for no inequality."""
        return None


@dataclasses.dataclass(frozen=True)
class Homoscedastic(Hypothesis):
    """The variance is the same for all contexts.

    Then φᵀ(x − x̄) = 0 for all contexts that were seen. Where they span the whole space around their mean, φ = 0;
    where they have a constant entry, its coefficient is free.

    Examples
    --------
    >>> from hrprob.models import Setting
    >>> Homoscedastic().family(Setting(2), np.array([[0.6, 0.0], [0.0, 0.8], [0.3, 0.3]])).basis.shape
    (4, 2)
    """

    def family(self, setting: Setting, contexts: np.ndarray) -> Free:
        """Return all θ, with φ orthogonal to the differences of contexts."""
        d = setting.dimension
        _, sizes, rows = np.linalg.svd(contexts - contexts.mean(axis=0), full_matrices=True)
        varies = np.zeros(d, dtype=bool)
        varies[: len(sizes)] = sizes > _FLAT * max(float(np.linalg.norm(contexts)), 1e-300)
        constant = rows[~varies].T  # (d, k)
        basis = np.zeros((2 * d, d + constant.shape[1]))
        basis[:d, :d], basis[d:, d:] = np.eye(d), constant
        return Free(np.zeros(2 * d), basis)


@nearest_fields
@dataclasses.dataclass(frozen=True)
class Stated(Hypothesis):
    """θ, φ or both have stated values.

    Parameters
    ----------
    theta, phi : array_like, shape (d,), optional
        The stated values; what is not stated is free.

    Examples
    --------
    >>> from hrprob.models import Setting
    >>> Stated(phi=[0.0, 0.0]).family(Setting(2), np.eye(2)).basis.shape  # θ is free
    (4, 2)
    """

    theta: AsWritten = None
    phi: AsWritten = None

    def family(self, setting: Setting, contexts: np.ndarray) -> Free:
        """Return the stated values, and a basis of what is free."""
        if self.theta is None and self.phi is None:
            raise InvalidInput("theta", "must be given, or phi, or both", None, "nothing is stated otherwise")
        d, eye = setting.dimension, np.eye(2 * setting.dimension)
        origin, free = np.zeros(2 * d), np.ones(2 * d, dtype=bool)
        for name, part in (("theta", slice(0, d)), ("phi", slice(d, 2 * d))):
            value = getattr(self, name)
            if value is not None:
                origin[part] = check_vector(name, value, dimension=d, remedy="one entry per feature")
                free[part] = False
        return Free(origin, eye[:, free])


@nearest_fields
@dataclasses.dataclass(frozen=True)
class NotLonger(Hypothesis):
    """Users with level β stay no longer under context ``x`` than under ``other``: h(x) ≤ h(other).

    To reject it is to know that h is larger at ``x``.

    Parameters
    ----------
    x, other : array_like, shape (d,)
        Two contexts.
    beta : float
        The satisfaction level.

    Examples
    --------
    >>> NotLonger(x=[0.6, 0.0], other=[0.0, 0.6], beta=-0.5).beta
    -0.5
    """

    x: AsWritten
    other: AsWritten
    beta: float

    def inequality(self, setting: Setting, noise: Noise) -> Function:
        """Return ln of the reneging probability at ``x`` minus that at ``other``."""
        d = setting.dimension
        pair = np.stack(
            [
                check_vector(name, getattr(self, name), dimension=d, remedy="it is a context")
                for name in ("x", "other")
            ]
        )

        def function(v: np.ndarray) -> tuple[float, np.ndarray]:
            with double_precision():
                value, gradient = _difference(jnp.asarray(v), jnp.asarray(pair), self.beta, setting, noise)
            return float(value), np.asarray(gradient)

        return function


@jax.jit
@jax.value_and_grad
def _difference(v: jax.Array, pair: jax.Array, beta: ArrayLike, setting: Setting, noise: Noise) -> jax.Array:
    d = setting.dimension
    u, w = setting.moments(v[:d], v[d:], pair)
    at = log_reneging_probability(u, w, beta, noise)
    return at[0] - at[1]
