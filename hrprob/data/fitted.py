"""The problem that a fit to real data describes, for simulations of what a policy would have done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.types import AsWritten
from hrprob.data.joining import JoinedContexts
from hrprob.noise import Noise, Residuals
from hrprob.problem import Finite, Normal, Problem
from hrprob.problem.levels import Satisfaction

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["fitted_problem", "standardised_residuals"]


def fitted_problem(
    posterior: Posterior,
    contexts: JoinedContexts | ArrayLike,
    *,
    satisfaction: Satisfaction | None = None,
    noise: Noise | str = "normal",
    smoothing: float = 0.2,
) -> Problem:
    """Return the problem in which the posterior means of a fit are the truth.

    A user is a person drawn from the table, with replacement, who can receive every action. What the data say
    enters by θ, φ, and the people; what they do not say, above all the levels β at which a person would
    leave, is an assumption of the caller.

    Parameters
    ----------
    posterior : Posterior
        A fit of :func:`hrprob.fit`, without a scale of its own (``scale=False``).
    contexts : JoinedContexts or array_like, shape (users, actions, d)
        The contexts of every person under every action.
    satisfaction : Satisfaction, str or table, optional
        How levels are distributed; by default that of :class:`~hrprob.problem.problem.Problem`.
    noise : {"normal", "residuals"} or Noise
        How outcomes scatter: "residuals" draws from those of the fit.
    smoothing : float
        Of residuals; see :class:`~hrprob.noise.residuals.Residuals`.

    Examples
    --------
    >>> import hrprob  # slow
    >>> posterior = hrprob.fit(([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5]], [0.7, -0.2, 0.4]), "laplace", draws=200)
    >>> fitted_problem(posterior, [[[0.6, 0.0], [0.0, 0.8]]]).contexts.actions
    2
    """
    if posterior.table.scale is not None:
        remedy = "join_contexts has divided contexts already; fit with scale=False"
        raise InvalidInput("posterior", "must be fitted without a scale", posterior.table.scale, remedy)
    if posterior.table.intercept:
        remedy = "a problem has no intercepts; let a constant be one of the features, and fit without"
        raise InvalidInput("posterior", "must be fitted without intercepts", "intercept=True", remedy)
    sets = contexts.contexts if isinstance(contexts, JoinedContexts) else contexts
    draws, setting = posterior.flat(), posterior.setting
    made: AsWritten = noise  # Problem refuses what is no noise
    if isinstance(noise, str) and noise == "residuals":
        made = Residuals(standardised_residuals(posterior), smoothing=smoothing)
    elif isinstance(noise, str) and noise == "normal":
        made = Normal()
    parts: dict[str, Satisfaction] = {} if satisfaction is None else {"satisfaction": satisfaction}
    return Problem(
        theta=_within(draws["theta"].mean(axis=0), setting.bounds.theta),
        phi=_within(draws["phi"].mean(axis=0), setting.bounds.phi),
        link=setting.link,
        noise=made,
        contexts=Finite(sets),
        bounds=setting.bounds,
        **parts,  # type: ignore[arg-type]  # one key
    )


def standardised_residuals(posterior: Posterior, floor: float = 1e-6) -> np.ndarray:
    """Return (r − θᵀx)/√f(φᵀx) of every round (n,), at the posterior means of θ and φ.

    Parameters
    ----------
    posterior : Posterior
        A fit of :func:`hrprob.fit`.
    floor : float
        The least variance that a residual is divided by.

    Examples
    --------
    >>> import hrprob  # slow
    >>> posterior = hrprob.fit(([[0.6, 0.0], [0.0, 0.8], [0.5, 0.5]], [0.7, -0.2, 0.4]), "laplace", draws=200)
    >>> standardised_residuals(posterior).shape
    (3,)
    """
    check_number("floor", floor, low=0, open_low=True, remedy="residuals are divided by its root")
    draws, table = posterior.flat(), posterior.table
    theta, phi = (draws[name].mean(axis=0) for name in ("theta", "phi"))
    variance = np.maximum(np.asarray(posterior.setting.link(table.x @ phi)), floor)
    residuals: np.ndarray = (table.r - table.x @ theta) / np.sqrt(variance)
    return residuals


def _within(vector: np.ndarray, bound: float) -> np.ndarray:
    """Return the vector, shortened by the last digits where rounding took it out of its ball."""
    return vector * min(1.0, bound / max(float(np.linalg.norm(vector)), 1e-300))
