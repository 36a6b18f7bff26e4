"""Where the replications of a diagnosis are computed, and how their results are kept for a later process.

A diagnosis consists of jobs that need nothing of each other: data sets that are played side by side, data
sets that an engine is fitted to side by side, replications of a design, one fit. A job has the same result
wherever it is computed, to the bit. A finished one is on disk, whole, before it counts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from hrprob._core.parallel import side_by_side
from hrprob.io.chunks import ArrayFolder
from hrprob.simulation.tasks import KeptJob, Scheduler

__all__ = ["Replications"]

R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class Replications:
    """Computes jobs, or takes what an earlier process left of them.

    Parameters
    ----------
    scheduler : Scheduler, optional
        Where they are computed; by default in threads of this process.
    store : ArrayFolder, optional
        Where results are kept; without it, they are not.
    """

    scheduler: Scheduler | None = None
    store: ArrayFolder | None = None

    def run(
        self, name: str, jobs: Sequence[KeptJob[R]], report: Callable[[int], None] = lambda users: None
    ) -> Iterator[R]:
        """Yield the results in the order of the jobs; ``name``, that of the step, is part of the names of files."""
        results = self._kept(name, jobs)
        missing = [number for number in range(len(jobs)) if number not in results]
        report(sum(jobs[number].size for number in results))
        coming = self._play(name, jobs, missing, report)
        for number in range(len(jobs)):
            while number not in results:
                played, result = next(coming)
                results[played] = result
            yield results.pop(number)

    def _kept(self, name: str, jobs: Sequence[KeptJob[R]]) -> dict[int, R]:
        """Return the results that an earlier process left; what is damaged does not count."""
        found = {}
        for number, job in enumerate(jobs if self.store is not None else ()):
            arrays = self.store.load(_file(name, number)) if self.store is not None else None
            if arrays is not None:
                try:
                    found[number] = job.unpack(arrays)
                except (KeyError, ValueError):
                    continue
        return found

    def _play(
        self, name: str, jobs: Sequence[KeptJob[R]], numbers: list[int], report: Callable[[int], None]
    ) -> Iterator[tuple[int, R]]:
        """Yield the number and the result of each of these jobs, as they are finished and kept."""
        if self.scheduler is None:
            yield from side_by_side(
                lambda number: (
                    number,
                    self._keep(name, number, jobs[number], jobs[number].play(report=report)),
                ),
                numbers,
            )
            return
        for place, result in self.scheduler.play(
            [jobs[number] for number in numbers], report, lambda number: None
        ):
            number = numbers[place]
            yield number, self._keep(name, number, jobs[number], result)

    def _keep(self, name: str, number: int, job: KeptJob[R], result: R) -> R:
        if self.store is not None:
            self.store.save(_file(name, number), job.pack(result))
        return result


def _file(name: str, number: int) -> str:
    """Return the name of the file of a job.

    Examples
    --------
    >>> _file("laplace: posteriors over the prior", 3)
    'laplace-posteriors-over-the-prior-0003'
    """
    return f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}-{number:04d}"
