"""What a check is: one class in one file, from the computation to its part of the page.

A check of one's own is a subclass of :class:`Check` with a kind. It then runs in ``hrprob check`` and in
``Posterior.check()``: its verdict in ``check.json``, its figures as files. No other file is edited::

    from hrprob.fitting.checks.base import Check, Evidence, register

    @register("largest-outcome")
    class LargestOutcome(Check[float]):
        title = "Largest outcome"

        def compute(self, inputs):
            return float(abs(inputs.table.r).max())

        def evidence(self, result):
            return Evidence(statement=f"the largest outcome is {result:.3g}", sound=result < 1e3)

A module that registers a check is found by ``hrprob check --import MODULE``, by an entry point of the group
``hrprob.checks``, or by being imported before.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar, dataclass_transform

from hrprob._core.registry import Registry
from hrprob._core.types import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hrprob.fitting.checks.inputs import CheckInputs
    from hrprob.fitting.posterior import Posterior

__all__ = [
    "CHECKS",
    "ERROR_RATE",
    "FALSE_ALARMS",
    "NO_PREDICTIONS",
    "TESTED_AT",
    "Check",
    "CheckFigure",
    "Evidence",
    "make_checks",
    "register",
]

ERROR_RATE = 0.05
"""Wanted probability at most that any check of a page fails although model and draws are right."""

TESTED_AT = ERROR_RATE / 2
"""The level of all tests of a page together; the other half is left for the approximations behind them, normal tails
above all."""

FALSE_ALARMS = {100: (7, 200), 400: (3, 200)}
"""By number of users, quick pages with the engine ``laplace`` (‖θ‖ ≤ 1.5) on ten sound problems that had any check that fails,
and all of them; 95 % intervals of the rates are 1.4 to 7.1 % and 0.3 to 4.3 %. Other pages were not measured."""

C = TypeVar("C", bound="type[Check]")


class Evidence(NamedTuple):
    """What a check found, before the number of checks is allowed for.

    A check with a ``p_value`` fails where that, adjusted for all checks of the page, is below :data:`TESTED_AT`; else
    it passes if ``within`` says that the data exclude a difference that matters, and is undecided otherwise. A check
    without one fails, passes or is undecided as ``sound`` is False, True or None. ``decided_by`` says what may decide it
    if it is undecided: by default more rounds; nothing ("") where the check does not exist for this model. ``remedy``
    says what to do if it fails, where that depends on what was found. ``resolution`` is the detectable difference over
    the one that matters: about its square times as many rounds decide.
    """

    statement: str
    detectable: str = ""
    p_value: float | None = None
    within: bool = False
    sound: bool | None = None
    decided_by: str | None = None
    remedy: str = ""
    resolution: float = 1.0


NO_PREDICTIONS = Evidence(
    "does not exist for this model: it has unknowns beyond θ and φ, so that its rounds cannot be predicted from those before",
    decided_by="",
)
"""What checks of prequential predictions say where there are none."""


class CheckFigure(NamedTuple):
    """A figure: the name of its file, its caption, and a function that draws it."""

    name: str
    caption: str
    draw: Callable[[], Figure]


class Check(abc.ABC, Generic[Result]):
    """One question about a posterior and its data. ``Result`` is the type of its result.

    Attributes
    ----------
    kind : str
        Its name, set by :func:`register`.
    title : str
        The heading of its part of the page.
    order : float
        Checks stand in rising order; those of hrprob's own are below 10.
    quick : bool
        Whether it is part of the quick page, which ``hrprob fit`` makes by itself.
    remedy : str
        What to do if it fails.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    order: ClassVar[float] = 10.0
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = ""

    @abc.abstractmethod
    def compute(self, inputs: CheckInputs) -> Result:
        """Return the result."""

    @abc.abstractmethod
    def evidence(self, result: Result) -> Evidence:
        """Return the finding in words, with its p-value or without."""

    def advice(self, posterior: Posterior) -> str:
        """Return what to do if it fails for this posterior: :attr:`remedy`, unless that is done already."""
        return self.remedy

    def figures(self, result: Result) -> list[CheckFigure]:
        """Return the figures."""
        return []

    def tables(self, result: Result) -> list[tuple[list[str], list[list[object]], str]]:
        """Return tables: header, rows, caption."""
        return []

    def to_plain(self, result: Result) -> Mapping[str, object]:
        """Return numbers for ``check.json``, without NaN or infinity."""
        return {}


CHECKS: Registry[Check] = Registry(
    "checks", field="check", package="hrprob.fitting.checks", requires=("title", "compute", "evidence")
)
"""All checks."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Make a class a check, as :meth:`hrprob._core.registry.Registry.register` does."""
    return CHECKS.register(kind, static=static)


def make_checks(written: Sequence[object] | None = None, quick: bool = False) -> tuple[Check, ...]:
    """Return checks in the order of the page: those given by kind or as they are, or all (all quick ones).

    Examples
    --------
    >>> [check.kind for check in make_checks(["shape", "variance"])]
    ['variance', 'shape']
    """
    made = CHECKS.make_several(written)
    return tuple(
        sorted(
            (one for one in made if written is not None or one.quick or not quick),
            key=lambda one: (one.order, one.kind),
        )
    )
