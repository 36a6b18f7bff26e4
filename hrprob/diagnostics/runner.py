"""All diagnostics of a study, side by side, on inputs that they share."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import queue
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import typeset
from hrprob._core.parallel import import_for_threads
from hrprob._core.precision import double_precision
from hrprob.diagnostics.base import Diagnostic, Verdict, make_diagnostics
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.power import ERROR_RATE
from hrprob.diagnostics.progress import Steps
from hrprob.diagnostics.study import DEFAULT, QUICK, Sizes, Study
from hrprob.io import verdicts
from hrprob.io.result_table import frame_of
from hrprob.io.verdicts import Answer, conclude
from hrprob.simulation.tasks import JobRunner

if TYPE_CHECKING:
    import pandas

    from hrprob.diagnostics.calibration import CalibrationResult
    from hrprob.diagnostics.reneging import RenegingResult

__all__ = ["Diagnosis", "diagnose", "run_side_by_side"]

T = TypeVar("T")
_MARKS = {True: "✓", False: "✗", None: "·"}
_ENDS = {True: "passed", False: "failed", None: "undecided"}
R = TypeVar("R")


QUESTION = "Can the learned variance be trusted?"
"""The title of the report."""


@dataclasses.dataclass(frozen=True, repr=False)
class Diagnosis:
    """The results of all diagnostics of a study.

    It prints its verdicts; :func:`hrprob.diagnostics.write_report` writes everything.
    """

    study: Study
    sizes: Sizes
    diagnostics: tuple[Diagnostic, ...]  # in the order of the report
    results: Mapping[str, object]  # of each diagnostic, by its kind

    def __repr__(self) -> str:
        every = self.verdicts
        failed = sum(verdict.good is False for verdict in every)
        return f"<Diagnosis of {self.study.engine.kind}: {len(every)} verdicts, {failed} failed>"

    def __str__(self) -> str:
        every = (f"{_MARKS[verdict.good]} {verdict.words}" for verdict in self.verdicts)
        return "\n".join([self.answer.sentence, *every])

    @property
    def answer(self) -> Answer:
        """Whether the learned variance can be trusted: yes, no or cannot tell, with the verdicts that count."""
        counted = [verdicts.Verdict(one.part, one.end, one.words) for one in self.verdicts if one.counts]
        remedy = "a run without --quick" if self.sizes == QUICK else "more data sets"
        return conclude(counted, remedy, QUESTION)

    @property
    def findings(self) -> list[Verdict]:
        """What is told beside the answer."""
        return [one for one in self.verdicts if not one.counts]

    @property
    def error_rate(self) -> tuple[int, float]:
        """The number of families of tests that count, and the probability at most that a sound page has any fail."""
        families = sum(one.error_families(self.results[one.kind]) for one in self.diagnostics)
        return families, families * ERROR_RATE

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li>{_MARKS[verdict.good]} {html.escape(typeset(verdict.words))}</li>"
            for verdict in self.verdicts
        )
        answer = f"<p><b>{html.escape(self.answer.sentence)}</b></p>"
        return f'{answer}<ul style="list-style: none; padding-left: 0">{items}</ul>'

    def to_frame(self) -> pandas.DataFrame:
        """Return the verdicts, one per row: the diagnostic, how it ended (passed, failed, undecided), and the words."""
        return frame_of(
            [
                {"diagnostic": verdict.part, "verdict": _ENDS[verdict.good], "words": verdict.words}
                for verdict in self.verdicts
            ]
        )

    @property
    def coverage(self) -> xarray.Dataset:
        """The table of coverages that :func:`hrprob.plot.calibration` draws."""
        table: xarray.Dataset = cast("CalibrationResult", self._part("calibration")).coverage
        return table

    @property
    def reliability(self) -> Mapping[str, xarray.Dataset]:
        """The tables, by truths, that :func:`hrprob.plot.reliability` draws."""
        tables: Mapping[str, xarray.Dataset] = cast("RenegingResult", self._part("reneging")).reliability
        return tables

    def _part(self, kind: str) -> object:
        if kind not in self.results:
            ran = ", ".join(self.results)
            raise InvalidInput(
                "diagnosis", f"must have the diagnostic {kind!r}", ran, "name it in `diagnose`"
            )
        return self.results[kind]

    def result_of(self, diagnostic: type[Diagnostic[R]]) -> R:
        """Return the result of one diagnostic.

        Examples
        --------
        ``done.result_of(Calibration).coverage`` is the table of coverages.
        """
        return cast(R, self.results[diagnostic.kind])

    @property
    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, in the order of the report."""
        return [
            verdict._replace(part=one.kind)
            for one in self.diagnostics
            for verdict in one.verdicts(self.results[one.kind])
        ]


class _Finished(NamedTuple):
    """A diagnostic that is done, with its result."""

    diagnostic: Diagnostic
    result: object


def diagnose(
    study: Study,
    sizes: Sizes = DEFAULT,
    *,
    diagnostics: Sequence[object] | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
    finished: Callable[[Diagnostic, object], None] = lambda diagnostic, result: None,
    runner: JobRunner | None = None,
) -> Diagnosis:
    """Run diagnostics and return their results.

    Parameters
    ----------
    study : Study
        What is diagnosed; see :func:`~hrprob.diagnostics.study.make_study`.
    sizes : Sizes
        How much is simulated and fitted.
    diagnostics : sequence, optional
        Diagnostics by kind, as tables or as they are; all that are registered by default.
    say : callable
        Called with one line for each step that is done.
    progress : bool
        Show a progress bar.
    finished : callable
        Called in this thread with each diagnostic that is done and its result, while others still run.
    runner : JobRunner, optional
        Where data sets are played and fitted, :class:`~hrprob.diagnostics.replications.Replications` for example;
        by default in threads of this process.
    """
    study.problem.check_still("posteriors are compared with one truth per data set")
    chosen = make_diagnostics(diagnostics)
    needs = list(dict.fromkeys(name for one in chosen for name in one.needs))
    steps = Steps(say, progress)
    inputs = SharedInputs(study.refitting(sizes.refit), sizes, steps, runner)
    steps.total = inputs.count_steps(needs) + sum(one.own_steps(inputs) for one in chosen)

    def fetch(name: str) -> Callable[[], None]:
        def task() -> None:
            getattr(inputs, name)

        return task

    def compute(one: Diagnostic) -> Callable[[], _Finished]:
        return lambda: _Finished(one, one.compute(inputs))

    tasks = [*map(fetch, needs), *map(compute, chosen)]
    results = {}
    with steps, contextlib.closing(run_side_by_side(tasks, steps)) as coming:
        for done in coming:
            results[done.diagnostic.kind] = done.result
            finished(*done)
    return Diagnosis(inputs.study, sizes, chosen, results)


class _Message(NamedTuple, Generic[T]):
    """News from a thread: a task that has ended, or a step that has failed within a task."""

    ended: Future[T | None] | None
    failure: BaseException | None


def run_side_by_side(tasks: Sequence[Callable[[], T | None]], steps: Steps) -> Generator[T, None, None]:
    """Yield what tasks return (other than None) as it comes, until all have ended or one has failed.

    Compiling keeps one core busy: tasks in threads of their own use the other cores. A failure is raised at
    once; steps that other tasks have begun then end by themselves, and nothing waits for them.
    """
    messages: queue.SimpleQueue[_Message[T]] = queue.SimpleQueue()
    steps.on_failure = lambda error: messages.put(_Message(None, error))

    def run(task: Callable[[], T | None]) -> T | None:
        with double_precision():
            return task()

    import_for_threads()
    pool = ThreadPoolExecutor(len(tasks))
    try:
        for task in tasks:
            pool.submit(run, task).add_done_callback(lambda future: messages.put(_Message(future, None)))
        running = len(tasks)
        while running:
            ended, failure = messages.get()
            if failure is not None:
                raise failure
            if ended is not None:
                running -= 1
                result = ended.result()
                if result is not None:
                    yield result
    finally:
        steps.stop()
        pool.shutdown(wait=False)
