"""A run in tasks: some trials each, played anywhere, in any order, and joined to the same bits.

A random number is a function of seed, trial, user and purpose, so a task needs nothing from the others. A
scheduler says where tasks are played: :class:`InProcess` here, one after another;
:mod:`hrprob.scheduling` in other processes and on other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict, TypeVar, Unpack

import jax
import numpy as np

from hrprob._core.parallel import side_by_side
from hrprob._core.types import PyTree
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.checkpoints import ChunkStore
from hrprob.simulation.engine import simulate
from hrprob.simulation.results import kept_users
from hrprob.simulation.schedule import MOST_TRIALS_IN_BLOCK

if TYPE_CHECKING:
    import xarray

__all__ = [
    "InProcess",
    "Job",
    "JobRunner",
    "KeptJob",
    "Scheduler",
    "SideBySide",
    "Task",
    "cut",
    "join",
    "pack_tree",
    "play_task",
    "play_tasks",
    "trial_ranges",
    "unpack_tree",
]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Job(Protocol[R_co]):
    """Something that may be computed anywhere: it has all that it needs, and can be pickled."""

    @property
    def size(self) -> int:
        """How much work it is; in user-trials, where users are served."""

    def play(
        self,
        *,
        workers: int | None = None,
        report: Callable[[int], None] = lambda users: None,
        store: ChunkStore | None = None,
    ) -> R_co:
        """Compute it in this process.

        Parameters
        ----------
        workers : int, optional
            Threads; by default as many as the machine has cores.
        report : callable
            Called with the part of ``size`` that was just done.
        store : ChunkStore, optional
            Where finished chunks are kept, if the job has chunks.
        """


class KeptJob(Job[R], Protocol[R]):
    """A job whose result can be kept as arrays, and made from them again."""

    def pack(self, result: R) -> dict[str, np.ndarray]:
        """Return the result as arrays by name."""

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> R:
        """Return the result that was packed; raise KeyError or ValueError if it cannot be this job's."""


class JobRunner(Protocol):
    """Says where the jobs of one step are computed, and whether their results are kept."""

    def run(
        self, name: str, jobs: Sequence[KeptJob[R]], report: Callable[[int], None] = lambda users: None
    ) -> Iterator[R]:
        """Yield the results in the order of the jobs; ``name`` is that of the step."""


class SideBySide:
    """Runs jobs in threads of this process and keeps nothing."""

    def run(
        self, name: str, jobs: Sequence[KeptJob[R]], report: Callable[[int], None] = lambda users: None
    ) -> Iterator[R]:
        """Yield the results in the order of the jobs."""
        yield from side_by_side(lambda job: job.play(report=report), jobs)


def pack_tree(tree: PyTree) -> dict[str, np.ndarray]:
    """Return the leaves of a tree of arrays by their numbers.

    Examples
    --------
    >>> sorted(pack_tree((np.zeros(2), [np.ones(1)])))
    ['leaf-000', 'leaf-001']
    """
    return {f"leaf-{number:03d}": np.asarray(leaf) for number, leaf in enumerate(jax.tree.leaves(tree))}


def unpack_tree(blank: R, arrays: Mapping[str, np.ndarray]) -> R:
    """Return a tree with the structure of ``blank`` from what :func:`pack_tree` returned."""
    count = len(jax.tree.leaves(blank))
    leaves = [arrays[f"leaf-{number:03d}"] for number in range(count)]
    tree: R = jax.tree.unflatten(jax.tree.structure(blank), leaves)
    return tree


class Task(NamedTuple):
    """Some trials of a run, with all that is needed to play them elsewhere."""

    problem: Problem
    policies: Mapping[str, Policy]
    users: int
    trials: range
    seed: int
    keep: str | int | np.ndarray
    # As many trials are batched together, though fewer may be asked for: the engine's last digits depend on
    # how many trials share a vector register, so a task has the batches of the run that it is part of.
    batch: int | None = None

    @property
    def size(self) -> int:
        """How many user-trials it plays, of all policies together."""
        return len(self.policies) * self.users * len(self.trials)

    def play(
        self,
        *,
        workers: int | None = None,
        report: Callable[[int], None] = lambda users: None,
        store: ChunkStore | None = None,
    ) -> xarray.Dataset:
        """Play it in this process."""
        return play_task(self, workers=workers, progress=report, store=store)


class Scheduler(Protocol):
    """Says where tasks are played."""

    def play(
        self,
        tasks: Sequence[Job[R]],
        report: Callable[[int], None],
        store: Callable[[int], ChunkStore | None],
    ) -> Iterator[tuple[int, R]]:
        """Yield the number of each task and its result, in the order in which they are finished.

        Parameters
        ----------
        tasks : sequence of Job
            What is to be played: tasks, or other jobs.
        report : callable
            Called with the number of user-trials just played.
        store : callable
            Gives the store for the finished chunks of a task, by its number; only called where tasks are
            played in this process.
        """


class InProcess:
    """Plays tasks in this process, one after another; each uses the machine's cores.

    Parameters
    ----------
    workers : int, optional
        Threads; by default as many as the machine has cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers

    def play(
        self,
        tasks: Sequence[Job[R]],
        report: Callable[[int], None],
        store: Callable[[int], ChunkStore | None],
    ) -> Iterator[tuple[int, R]]:
        """Yield the number of each task and its result, in order."""
        for number, task in enumerate(tasks):
            yield number, task.play(workers=self.workers, report=report, store=store(number))


class PlayOptions(TypedDict, total=False):
    """How a task is played: see :func:`~hrprob.simulation.engine.simulate`."""

    workers: int | None
    progress: bool | Callable[[int], None]
    store: ChunkStore | None


def play_task(task: Task, **options: Unpack[PlayOptions]) -> xarray.Dataset:
    """Play a task in this process.

    Parameters
    ----------
    task : Task
        What to play.
    options
        Further arguments of :func:`~hrprob.simulation.engine.simulate`.
    """
    result = simulate(
        task.problem,
        task.policies,
        users=task.users,
        trials=task.batch or len(task.trials),
        seed=task.seed,
        first_trial=task.trials.start,
        keep=task.keep,
        **options,
    )
    return result.isel(trial=slice(0, len(task.trials)))


def trial_ranges(trials: int, first: int = 0) -> list[range]:
    """Return the trials of a run in as few even ranges as the engine batches them.

    Examples
    --------
    >>> trial_ranges(50)
    [range(0, 25), range(25, 50)]
    """
    count = -(-trials // MOST_TRIALS_IN_BLOCK)
    size = -(-trials // count)
    return [range(low, min(low + size, first + trials)) for low in range(first, first + trials, size)]


def cut(task: Task) -> list[Task]:
    """Return a run of many trials in tasks, which keep the users that the run as a whole would keep."""
    kept = kept_users(task.users, task.keep, len(task.policies) * len(task.trials))
    ranges = trial_ranges(len(task.trials), task.trials.start)
    return [task._replace(trials=trials, keep=kept, batch=len(ranges[0])) for trials in ranges]


def join(parts: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Return the results of the tasks of one run, in the order of their trials, as one result."""
    import xarray

    if len(parts) == 1:
        return parts[0]
    whole = xarray.concat(
        parts, "trial", data_vars="minimal", coords="minimal", compat="override", join="exact"
    )
    return whole.assign(seconds=sum(part.seconds for part in parts))


def play_tasks(
    task: Task, scheduler: Scheduler, report: Callable[[int], None] = lambda users: None
) -> xarray.Dataset:
    """Play a run on a scheduler: the result of :func:`~hrprob.simulation.engine.simulate`, to the bit.

    Examples
    --------
    >>> import hrprob
    >>> task = Task(Problem(), {"oracle": hrprob.Oracle()}, 50, range(2), seed=0, keep="all")
    >>> play_tasks(task, InProcess()).regret.shape
    (1, 2, 50)
    """
    played = dict(scheduler.play(cut(task), report, lambda number: None))
    return join([played[number] for number in sorted(played)])
