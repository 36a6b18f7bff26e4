"""An existing NumPyro function as an outcome model, in one call: :func:`from_numpyro`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import ClassVar

import jax
from numpyro.primitives import Messenger

from hrprob._core.errors import InvalidInput
from hrprob._core.types import PyTree
from hrprob.models import priors
from hrprob.models.base import Model, register
from hrprob.models.setting import Setting
from hrprob.observations import Data, Rounds

__all__ = ["from_numpyro"]

_OWN = ("x", "r", "theta", "phi", "mean", "variance", "setting")


class _FromNumPyro(Model):
    """A program that calls a function of somebody else."""

    function: ClassVar[Callable[..., None]]
    constants: ClassVar[Mapping[str, object]]
    arguments: ClassVar[tuple[str, ...]]
    noise_kind: ClassVar[str] = "none"

    def program(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Call the function without outcomes: it samples them."""
        self._call(data, setting, prior, None)

    def conditioned(self, data: Data, setting: Setting, prior: priors.Prior) -> None:
        """Call the function with the outcomes."""
        assert isinstance(data, Rounds)
        self._call(data, setting, prior, data.r[:, 0])

    def _call(self, data: Data, setting: Setting, prior: priors.Prior, r: jax.Array | None) -> None:
        assert isinstance(data, Rounds)
        given: dict[str, object] = {"x": data.x, "r": r, "setting": setting, **data.columns, **self.constants}
        if {"theta", "phi", "mean", "variance"} & set(self.arguments):
            theta, phi = priors.sample(prior, setting)
            mean, variance = setting.moments(theta, phi, data.x)
            given |= {"theta": theta, "phi": phi, "mean": mean, "variance": variance}
        with _WithoutEmptyRows(data.weight[:, 0] > 0):
            type(self).function(**{name: given[name] for name in self.arguments})


class _WithoutEmptyRows(Messenger):
    """Takes the density of outcomes of empty rows, which pad the data, out of a program."""

    def __init__(self, there: jax.Array) -> None:
        super().__init__()
        self.there = there

    def process_message(self, msg: PyTree) -> None:
        """Mask the distribution of the outcomes."""
        if msg["type"] == "sample" and msg["name"] == "r":
            msg["fn"] = msg["fn"].mask(self.there)


def from_numpyro(
    function: Callable[..., None], *, kind: str | None = None, doc: str | None = None, **constants: object
) -> Model:
    """Return an outcome model whose program is a NumPyro function.

    Parameters
    ----------
    function : callable
        The function; see the notes for the arguments that it may have. Outcomes are observed as
        ``numpyro.sample("r", distribution, obs=r)``, one for each row of ``x``.
    kind : str, optional
        The name of the model, by which a saved posterior finds it again; by default the name of the function.
    doc : str, optional
        One line that describes it; by default that of the function.
    **constants
        Arguments of the function that are the same in every call, such as the number of users.

    Returns
    -------
    Model
        For ``fit(..., model=...)`` with the engines ``nuts`` and ``svi``. It uses every column of the table that the function names.

    Notes
    -----
    The function is called with those of the arguments below that its signature names, and with further columns of the
    table by their names. It samples ``theta`` and ``phi``, or leaves both to hrprob by naming one of the last four.
    Rows without an outcome, by which data are padded, do not count.

    ================  =====================================================================
    argument          what it gets
    ================  =====================================================================
    ``x``             contexts (n, d)
    ``r``             outcomes (n,), or None where they are to be sampled
    ``user``          the number of each round's user (n,), from 0
    ``beta``          satisfaction levels (n,)
    ``setting``       dimension, link and bounds
    ``theta, phi``    draws from the prior of the fit, on the balls of its bounds
    ``mean``          θᵀx (n,)
    ``variance``      f(φᵀx) (n,)
    ================  =====================================================================

    Examples
    --------
    >>> import jax.numpy as jnp, numpyro
    >>> import numpyro.distributions as dist
    >>> def double_exponential(mean, variance, r=None):
    ...     numpyro.sample("r", dist.Laplace(mean, jnp.sqrt(variance / 2)), obs=r)
    >>> model = from_numpyro(double_exponential)
    >>> model.kind, model.columns
    ('double-exponential', ())
    """
    if not callable(function):
        raise InvalidInput("function", "must be a function", function, "give the NumPyro function itself")
    named = inspect.signature(function).parameters
    for name, parameter in named.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            remedy = "its arguments are given by their names; wrap it in a function that has them"
            raise InvalidInput("function", "must have named arguments only", name, remedy)
    unknown = [name for name in constants if name not in named]
    if unknown:
        raise InvalidInput(
            unknown[0], "must be an argument of the function", list(named), "check its spelling"
        )
    # An argument with a default is not asked of the table; of hrprob's own ones it always gets the value.
    columns = tuple(
        name
        for name, parameter in named.items()
        if name not in _OWN and name not in constants and parameter.default is parameter.empty
    )
    name = kind or function.__name__.replace("_", "-")
    described = doc or inspect.getdoc(function) or f"The NumPyro function {function.__name__}."
    body = {
        "__doc__": described,
        "__module__": function.__module__,
        "function": staticmethod(function),
        "constants": dict(constants),
        "arguments": tuple(one for one in named if one in (*_OWN, *constants, *columns)),
        "columns": columns,
    }
    cls = type(function.__name__, (_FromNumPyro,), body)
    made: Model = register(name)(cls)()
    return made
