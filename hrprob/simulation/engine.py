"""Play a problem: every policy, many trials, paired.

The work is cut into blocks of trials and chunks of users (:mod:`hrprob.simulation.schedule`). The
arrivals of a chunk are made once and played by every policy; the chunks of a block follow each other,
blocks and policies run side by side on the machine's cores.

===============  ====================================================================
module           what it does
===============  ====================================================================
``arrivals``     who comes: contexts, levels, noise, the oracle; made in bulk
``serving``      how one user is served, from arrival to departure
``programs``     the compiled programs: users of a chunk in all trials of a block
``schedule``     blocks of trials, chunks of users
``binding``      policies for a problem, made once
``play``         one policy on one block; what everything that plays goes through
``engine``       ``simulate``: all policies on all blocks
``results``      the arrays of a run as an xarray dataset
``reading``      what a result says of its policies
``checkpoints``  how far each block has come, kept for a later process
``tasks``        a run in tasks that may be played anywhere, and joined again
``progress``     how far a run is, for people who wait
``cost``         what takes much longer than usual, said beforehand
``truths``       a truth per trial
``data_sets``    data sets for diagnostics, each with its own truth
===============  ====================================================================
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.keywords import nearest_keywords
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import MOST_TRIALS, check_run, trial_keys
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.binding import bind
from hrprob.simulation.checkpoints import BlockProgress, ChunkStore
from hrprob.simulation.cost import slow_policies
from hrprob.simulation.play import Piece, Play
from hrprob.simulation.programs import Keys
from hrprob.simulation.progress import Progress
from hrprob.simulation.results import Recorder, kept_users
from hrprob.simulation.schedule import MOST_TRIALS_IN_BLOCK, Chunk, Schedule, arriving

if TYPE_CHECKING:
    import xarray

__all__ = ["check_policy", "check_problem", "compile_programs", "named", "simulate"]

T = TypeVar("T")


@nearest_keywords
def simulate(
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy] | Policy,
    *,
    users: int = 30000,
    trials: int = 20,
    seed: int = 0,
    first_trial: int = 0,
    keep: str | int | np.ndarray = "auto",
    block: int | None = None,
    workers: int | None = None,
    progress: bool | Callable[[int], None] = False,
    store: ChunkStore | None = None,
) -> xarray.Dataset:
    """Play ``policies`` on ``problem`` and return regret, lifetime and action of every user.

    All policies meet the same users, contexts, levels and outcome noise. Trial i is the
    same whatever else runs beside it.

    Parameters
    ----------
    problem : Problem
        What is played.
    policies : mapping of names to policies, or policies
        Without names, a policy goes by its kind.
    users, trials, seed : int
        T, the number of independent trials, and the seed of everything random.
    first_trial : int
        The number of the first trial: later trials of the same seed extend a run.
    keep : "auto", "all", int or ndarray
        Which users the result has: all, each ``keep``-th from the first, or these; and the last.
        "auto" is all as long as these are at most 100 000, and at most 20 million entries per
        variable, and else the least of 2, 5, 10, ..., 500, 1000, ... that does. Regret is
        cumulative and means are over all users, kept or not.
    block, workers : int, optional
        Trials batched together and threads; by default what suits the machine. Threads do not
        change the results, batches of another size at most their last digits.
    progress : bool or callable
        Show progress on stderr (a bar on a terminal, lines elsewhere), with a note beforehand where a policy
        will take tens of times longer than usual; or call this with the number of user-trials just played.
    store : ChunkStore, optional
        Where finished chunks are kept now and then; what it has is not played again.

    Returns
    -------
    xarray.Dataset
        Over policy, trial and user: ``regret`` (cumulative pseudo regret), ``lifetime``
        (realised), ``action`` (that of the user's first round), ``optimal`` (1 where no action
        was better than that); over policy and trial: ``mean_lifetime`` of all users; over trial
        and user: ``best``, the oracle's value, and over trial ``mean_best``, its mean over all
        users; over policy: ``seconds`` spent, without compilation.

    Examples
    --------
    >>> import hrprob
    >>> result = simulate(hrprob.Problem(), [hrprob.Oracle(), hrprob.Random()], users=50, trials=2)
    >>> result.regret.sel(policy="oracle", user=50).values.tolist()
    [0.0, 0.0]
    """
    check_problem(problem)
    chosen = named(policies)
    check_run(users, trials, seed)
    remedy = "trials are numbered from 0"
    check_count("first_trial", first_trial, low=0, high=MOST_TRIALS - trials, remedy=remedy)
    if workers is not None:
        check_count("workers", workers, remedy="it is the number of threads")
    if block is not None:
        check_count("block", block, remedy="it is the number of trials batched together")
    numbers = range(first_trial, first_trial + trials)
    recorder = Recorder(
        problem, list(chosen), kept_users(users, keep, len(chosen) * trials), numbers, users, seed
    )
    with Progress(progress, len(chosen) * users * trials) as report, double_precision():
        bound = {name: bind(name, policy, problem, users) for name, policy in chosen.items()}
        for line in slow_policies(bound, users, trials):
            report.note(line)
        schedule = _schedule(problem, bound, users, numbers, block)
        _play(problem, bound, schedule, workers or os.cpu_count() or 1, recorder, report, store)
    return recorder.dataset(chosen)


def compile_programs(
    problem: Problem,
    policies: Mapping[str, Policy],
    users: int,
    trials: range,
    block: int | None = None,
    *,
    only_long: bool = False,
) -> None:
    """Compile what serves the users of a run, so that a later :func:`simulate` of it need not wait.

    Parameters
    ----------
    problem, policies, users, trials, block
        The run.
    only_long : bool
        Only the programs that take longest.

    Raises
    ------
    InvalidInput
        If a policy cannot be bound to the problem, as :func:`simulate` would.
    """
    schedule = _schedule(problem, policies, users, trials, block)
    keys = trial_keys(0, schedule.blocks[0])
    for name, policy in policies.items():
        if policy.long_program or not only_long:
            bound = bind(name, policy, problem, users)
            for compile_one in Play(problem, bound, keys, users).programs(problem, schedule):
                compile_one().result()


def _schedule(
    problem: Problem, policies: Mapping[str, Policy], users: int, trials: range, block: int | None
) -> Schedule:
    return Schedule(
        problem,
        users=users,
        trials=trials,
        warmup=max(policy.warmup for policy in policies.values()),
        block=MOST_TRIALS_IN_BLOCK if block is None else block,
    )


def named(policies: Mapping[str, Policy] | Sequence[Policy] | Policy) -> dict[str, Policy]:
    """Return the policies by name; without one, a policy goes by its kind."""
    # Anything may be passed: the annotation is what is checked here.
    given: object = [policies] if isinstance(policies, Policy) else policies
    chosen: dict[object, object] = {}
    if isinstance(given, Mapping):
        chosen = dict(given)
    elif not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput("policies", "must be policies", given, "for example [hrprob.HRUCB()]")
    else:
        for policy in given:
            name = getattr(policy, "kind", repr(policy))
            if name in chosen:
                raise InvalidInput(
                    "policies",
                    "must have names of their own",
                    name,
                    "pass a dictionary from names to policies",
                )
            chosen[name] = policy
    if not chosen:
        raise InvalidInput("policies", "must not be empty", policies, "name at least one policy")
    for name, policy in chosen.items():
        if not isinstance(name, str) or not name:
            raise InvalidInput("policies", "must go by names of text", name, "quote it")
        check_policy(policy, "policies", "must be policies", f"see {name!r}; ")
    return cast(dict[str, Policy], chosen)


def check_policy(
    policy: object, field: str = "policy", must: str = "must be a policy", where: str = ""
) -> None:
    """Raise unless it is a policy."""
    if isinstance(policy, type) and issubclass(policy, Policy):
        raise InvalidInput(field, must, policy, f"call it: {policy.__name__}()")
    if not isinstance(policy, Policy):
        raise InvalidInput(field, must, policy, f"{where}`hrprob policies` lists them")


def check_problem(problem: object) -> None:
    """Raise unless it is a problem."""
    if not isinstance(problem, Problem):
        raise InvalidInput("problem", "must be a Problem", problem, "for example hrprob.Problem()")


def _play(
    problem: Problem,
    policies: dict[str, Policy],
    schedule: Schedule,
    workers: int,
    recorder: Recorder,
    report: Progress,
    store: ChunkStore | None,
) -> None:
    stop = threading.Event()
    with (
        ThreadPoolExecutor(workers) as pool,
        ThreadPoolExecutor(workers) as compilers,
        ThreadPoolExecutor(workers) as blocks,
    ):
        playing = [
            blocks.submit(
                _play_block,
                problem,
                policies,
                schedule,
                block,
                pool,
                compilers,
                recorder,
                report,
                stop,
                BlockProgress(store, number, block, recorder),
            )
            for number, block in enumerate(schedule.blocks)
        ]
        try:
            for block in playing:
                block.result()
        except BaseException:
            stop.set()
            for block in playing:
                block.cancel()
            raise


def _play_block(
    problem: Problem,
    policies: dict[str, Policy],
    schedule: Schedule,
    block: np.ndarray,
    pool: ThreadPoolExecutor,
    compilers: ThreadPoolExecutor,
    recorder: Recorder,
    report: Progress,
    stop: threading.Event,
    progress: BlockProgress,
) -> None:
    with double_precision():
        keys, trials = trial_keys(recorder.seed, block), schedule.real(block)
    begun = {
        name: pool.submit(_timed, _begin, name, problem, policy, keys, schedule.users, report)
        for name, policy in policies.items()
    }
    plays = {name: future.result()[0] for name, future in begun.items()}
    with double_precision():
        progress.restore(plays)
    # Programs are compiled while the first arrivals are made. A policy is sent to the pool when its program is
    # ready: its workers never wait for a compiler.
    programs = {
        name: [compilers.submit(_timed, each) for each in plays[name].programs(problem, schedule)]
        for name in sorted(plays, key=lambda name: not policies[name].long_program)
    }
    spent: dict[str, float] = {}
    for chunk in arriving(problem, keys, schedule, trials, pool, after=progress.chunks):
        if stop.is_set():
            return
        recorder.add_best(block, chunk)
        moves = {}
        # The slowest first: begun last, it would leave the other workers without work at the end of a chunk.
        for name in sorted(plays, key=lambda name: -spent.get(name, 0.0)):
            for compiling in programs[name]:
                compiling.result()[0].result()
            moves[name] = pool.submit(_timed, _pieces, plays[name], chunk)
        for name, move in moves.items():
            pieces, spent[name] = move.result()
            recorder.add(name, block, chunk, pieces, spent[name])
            report.played(name, len(chunk.users) * trials)
        progress.finished(chunk, plays, spent)


def _begin(name: str, problem: Problem, policy: Policy, keys: Keys, users: int, report: Progress) -> Play:
    report.compiling(name)
    return Play(problem, policy, keys, users)


def _pieces(play: Play, chunk: Chunk) -> list[Piece]:
    return list(play.advance(chunk))


def _timed(function: Callable[..., T], *args: object) -> tuple[T, float]:
    """Call ``function`` in this thread, in double precision; return its result and the seconds it took."""
    with double_precision():
        start = time.perf_counter()
        result = function(*args)
        return result, time.perf_counter() - start
