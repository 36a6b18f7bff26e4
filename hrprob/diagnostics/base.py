"""What a diagnostic is: one class in one file, from the computation to its section of the report.

A diagnostic of one's own is a subclass of :class:`Diagnostic` with a kind. It then appears in
``hrprob diagnose``: its verdicts and its section in ``report.html``, its figures as files, its numbers in
``calibration.json``, its arrays in ``diagnostics.nc``. No other file is edited::

    from typing import NamedTuple
    from hrprob.diagnostics.base import Diagnostic, Verdict, register

    class Share(NamedTuple):
        share: float

    @register("long-stays")
    class LongStays(Diagnostic[Share]):
        title = "Long stays"
        needs = ("at_truth",)

        def compute(self, inputs):
            return Share(float((inputs.at_truth.data.played > 10).mean()))

        def verdicts(self, result):
            return [Verdict(None, f"{result.share:.0%} of the users stay for more than ten rounds")]

        def to_plain(self, result):
            return {"long_stays": result.share}

A module that registers a diagnostic is found by ``hrprob diagnose --import MODULE``, by an entry point of
the group ``hrprob.diagnostics``, or by being imported before.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Protocol, TypeVar, dataclass_transform

import xarray

from hrprob._core.errors import check_choice
from hrprob._core.registry import Registry
from hrprob._core.types import Result
from hrprob.diagnostics.inputs import INPUTS, SharedInputs
from hrprob.io.verdicts import FAILS, PASSES, UNDECIDED

if TYPE_CHECKING:  # computing alone does not need matplotlib
    from matplotlib.figure import Figure

__all__ = [
    "DIAGNOSTICS",
    "Diagnostic",
    "Page",
    "ReportFigure",
    "Verdict",
    "make_diagnostics",
    "register",
]

D = TypeVar("D", bound="type[Diagnostic]")


class Verdict(NamedTuple):
    """A conclusion in words: passes, fails, or (None) undecided. ``part`` is the kind of the diagnostic.

    What does not ``count`` is a finding beside the page's question, such as the width of a printed set: it is told,
    but the answer does not depend on it.
    """

    good: bool | None
    words: str
    part: str = ""
    counts: bool = True

    @property
    def end(self) -> str:
        """How it ended, in a word: passes, fails or undecided."""
        return {True: PASSES, False: FAILS, None: UNDECIDED}[self.good]


class ReportFigure(NamedTuple):
    """A figure of the report: the name of its files, its caption, and a function that draws it.

    The function returns None where there is nothing to show.
    """

    name: str
    caption: str
    draw: Callable[[], Figure | None]


class Page(Protocol):
    """The part of a report that a section writes with."""

    def text(self, text: str) -> None:
        """Add a paragraph."""

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        caption: str = "",
        good: Sequence[bool | None] | None = None,
    ) -> None:
        """Add a table; ``good`` marks its rows."""


class Diagnostic(abc.ABC, Generic[Result]):
    """One question about the posterior, the data or the confidence sets, and the answer in every form.

    ``Result`` is the type of its result, a NamedTuple or a frozen dataclass.

    Attributes
    ----------
    kind : str
        Its name, set by :func:`register`.
    title : str
        The heading of its section.
    order : float
        Sections and verdicts stand in rising order; those of hrprob's own diagnostics are below 10.
    needs : tuple of str
        Attributes of :class:`~hrprob.diagnostics.inputs.SharedInputs` that ``compute`` uses. They are made
        side by side with each other before it asks for them.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    order: ClassVar[float] = 10.0
    needs: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def compute(self, inputs: SharedInputs) -> Result:
        """Return the result. It runs in a thread of its own, in double precision."""

    def own_steps(self, inputs: SharedInputs) -> int:
        """Return how many steps of the progress bar ``compute`` takes by itself, with ``inputs.step``."""
        return 0

    def verdicts(self, result: Result) -> list[Verdict]:
        """Return the conclusions in words."""
        return []

    def error_families(self, result: Result) -> int:
        """Return how many families of tests may fail a sound posterior, each with the error rate of a family."""
        return 0

    def figures(self, result: Result) -> list[ReportFigure]:
        """Return the figures, in the order of the report; they are drawn while other diagnostics still run."""
        return []

    def write_section(self, page: Page, result: Result) -> None:
        """Write text and tables of the section; heading and figures are added by the report."""
        return

    def to_plain(self, result: Result) -> Mapping[str, object]:
        """Return the entries of ``calibration.json``, by their keys: plain data without NaN or infinity."""
        return {}

    def to_datasets(self, result: Result) -> Mapping[str, xarray.Dataset]:
        """Return the groups of ``diagnostics.nc``, by their paths."""
        return {}


DIAGNOSTICS: Registry[Diagnostic] = Registry(
    "diagnostics",
    field="diagnostic",
    package="hrprob.diagnostics",
    requires=("title", "needs", "compute"),
)
"""All diagnostics."""


@dataclass_transform(frozen_default=True)
def register(kind: str, *, static: tuple[str, ...] = ()) -> Callable[[D], D]:
    """Make a class a diagnostic, as :meth:`hrprob._core.registry.Registry.register` does."""

    def decorate(cls: D) -> D:
        for name in cls.needs:
            check_choice(f"{cls.__name__}.needs", name, INPUTS)
        return DIAGNOSTICS.register(kind, static=static)(cls)

    return decorate


def make_diagnostics(written: Sequence[object] | None = None) -> tuple[Diagnostic, ...]:
    """Return diagnostics in the order of the report: those given by kind, as tables or as they are, or all.

    Examples
    --------
    >>> [diagnostic.kind for diagnostic in make_diagnostics(["estimates", "calibration"])]
    ['calibration', 'estimates']
    """
    made = DIAGNOSTICS.make_several(written)
    return tuple(sorted(made, key=lambda one: (one.order, one.kind)))
