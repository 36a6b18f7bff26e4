"""Play a problem: every policy, many trials, paired.

The work is cut into blocks of trials and stretches of users. A stretch of arrivals
is made once and played by every policy; the stretches of a block follow each other,
blocks and policies run side by side on the machine's cores. No result depends on how
the work is cut: a random number is a function of seed, trial, user and purpose.

============  ========================================================
function      what is compiled
============  ========================================================
arrivals      one program a kind of problem
begin         first state, one program a kind of policy
warm_up       warm-up users, likewise, where there are any
advance       a stretch of users, one a kind of policy and of rules
advance_part  some users of a stretch, for a policy that pauses
============  ========================================================
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray
from jax import lax

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import MOST_TRIALS, WARMUP_USERS, Purpose, Source, check_run, trial_keys
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.problem.stay_rules import StayRules
from hrprob.simulation.arrivals import Arrivals, arrivals, checked_arrivals, from_functions
from hrprob.simulation.results import Recorder, Timing, kept_users
from hrprob.simulation.serving import Learning, Served, serve, serve_at_random

__all__ = ["named", "simulate"]

# Trials in a block: enough to fill vector registers, few enough to stay in the cache.
MOST_TRIALS_IN_BLOCK = 32
# Numbers in the contexts of a stretch: 8 MB, which the second-level cache still helps with.
MOST_CONTEXT_NUMBERS = 2**20

Keys = tuple[jax.Array, jax.Array]


class Carry(NamedTuple):
    """What a policy carries from stretch to stretch, the trials on the last axis."""

    learning: Learning
    regret: jax.Array  # (trials,) so far


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy] | Policy,
    *,
    users: int = 30000,
    trials: int = 20,
    seed: int = 0,
    first_trial: int = 0,
    keep: str | int = "auto",
    block: int | None = None,
    workers: int | None = None,
    progress: bool | Callable[[int], None] = False,
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
    keep : "auto", "all" or int
        Which users the result has: all, or each ``keep``-th from the first, and the last.
        "auto" is all as long as that makes at most 20 million entries a variable, and
        else the least of 2, 5, 10, ..., 500, 1000, ... that does.
    block, workers : int, optional
        Trials batched together and threads; by default what suits the machine. Neither
        bears on the results.
    progress : bool or callable
        Show a progress bar, or call this with the number of user-trials just played.

    Returns
    -------
    xarray.Dataset
        Over policy, trial and user: ``regret`` (cumulative pseudo regret), ``lifetime``
        (realised), ``action`` (that of the user's first round), ``optimal`` (1 where no action
        was better than that); over policy and trial: ``mean_lifetime`` of all users; over trial
        and user: ``best``, the oracle's value, and over trial ``mean_best``, its mean over all
        users; over policy: ``seconds`` spent, compilation aside.

    Examples
    --------
    >>> import hrprob
    >>> result = simulate(hrprob.Problem(), [hrprob.Oracle(), hrprob.Random()], users=50, trials=2)
    >>> result.regret.sel(policy="oracle", user=50).values.tolist()
    [0.0, 0.0]
    """
    if not isinstance(problem, Problem):
        raise InvalidInput("problem", "must be a Problem", problem, "for example hrprob.Problem()")
    chosen = named(policies)
    check_run(users, trials, seed)
    remedy = "trials are numbered from 0"
    check_count("first_trial", first_trial, low=0, high=MOST_TRIALS - trials, remedy=remedy)
    if workers is not None:
        check_count("workers", workers, remedy="it is the number of threads")
    numbers = range(first_trial, first_trial + trials)
    cuts = _Cuts(problem, users, numbers, block)
    recorder = Recorder(
        problem, list(chosen), kept_users(users, keep, len(chosen) * trials), numbers, users, seed
    )
    with _reporting(progress, len(chosen) * users * trials) as report, double_precision():
        bound = {name: _bind(name, policy, problem, users) for name, policy in chosen.items()}
        _play(problem, bound, cuts, seed, workers or os.cpu_count() or 1, recorder, report)
    return recorder.dataset(chosen)


def named(policies: Mapping[str, Policy] | Sequence[Policy] | Policy) -> dict[str, Policy]:
    """Return the policies by name; without one, a policy goes by its kind."""
    # Whatever somebody passes: what it is said to be is what is checked here.
    given: Any = [policies] if isinstance(policies, Policy) else policies
    chosen: dict[Any, Any] = {}
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
        if isinstance(policy, type) and issubclass(policy, Policy):
            raise InvalidInput("policies", "must be policies", policy, f"call it: {policy.__name__}()")
        if not isinstance(policy, Policy):
            raise InvalidInput(
                "policies", "must be policies", policy, f"see {name!r}; `hrprob policies` lists them"
            )
    return chosen


def _bind(name: str, policy: Policy, problem: Problem, users: int) -> Policy:
    try:
        return policy.bind(problem, users)
    except InvalidInput as error:
        raise error.within(f'policy "{name}"') from None


class _Cuts:
    """How the work is cut: blocks of trials, stretches of users."""

    def __init__(self, problem: Problem, users: int, trials: range, block: int | None) -> None:
        most = min(
            len(trials),
            check_count(
                "block", MOST_TRIALS_IN_BLOCK if block is None else block, remedy="trials batched together"
            ),
        )
        blocks = -(-len(trials) // most)
        # Even blocks waste the least on the last one, which is filled up so that all have one shape.
        self.lanes = -(-len(trials) // blocks)
        self.blocks = [np.arange(first, first + self.lanes) for first in trials[:: self.lanes]]
        numbers = problem.contexts.actions * problem.dimension * self.lanes
        self.stretch = int(min(users, max(16, MOST_CONTEXT_NUMBERS // numbers)))
        self.firsts = range(1, users + 1, self.stretch)


def _play(
    problem: Problem,
    policies: dict[str, Policy],
    cuts: _Cuts,
    seed: int,
    workers: int,
    recorder: Recorder,
    report: Callable[[int], None],
) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(workers) as pool, ThreadPoolExecutor(workers) as blocks:
        playing = [
            blocks.submit(_play_block, problem, policies, cuts, seed, trials, pool, recorder, report, stop)
            for trials in cuts.blocks
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
    cuts: _Cuts,
    seed: int,
    trials: np.ndarray,
    pool: ThreadPoolExecutor,
    recorder: Recorder,
    report: Callable[[int], None],
    stop: threading.Event,
) -> None:
    with double_precision():
        keys = trial_keys(seed, trials)
    # The last block is filled up with trials that nobody asked for.
    real = int(np.sum(trials < recorder.trials.stop))
    check_warm_up(problem, keys, max(policy.warmup for policy in policies.values()), cuts.stretch, real)
    pauses = {name: policy.pauses(recorder.users) for name, policy in policies.items()}
    begun = {
        name: pool.submit(_timed, _begin, problem, policy, keys, pauses[name])
        for name, policy in policies.items()
    }
    carried = {name: future.result()[0] for name, future in begun.items()}
    for first, arrived in _stretches(problem, keys, cuts, pool, recorder.users, real):
        if stop.is_set():
            return
        moves = {
            name: pool.submit(
                _timed, _advance, problem, policy, keys, carried[name], arrived, first, pauses[name]
            )
            for name, policy in policies.items()
        }
        recorder.add_best(trials, first, arrived)
        for name, move in moves.items():
            (carried[name], served), timing = move.result()
            recorder.add(name, trials, first, served, arrived, timing)
            report(min(cuts.stretch, recorder.users - first + 1) * real)


def _stretches(
    problem: Problem, keys: Keys, cuts: _Cuts, pool: ThreadPoolExecutor, users: int, trials: int
) -> Iterator[tuple[int, Arrivals]]:
    """Yield the arrivals stretch by stretch, the next one being made while one is played."""

    def make(first: int) -> Future[tuple[Arrivals, Timing]]:
        numbers = np.arange(first, first + cuts.stretch, dtype=np.uint32)
        return pool.submit(_timed, checked_arrivals, problem, keys, numbers, users - first + 1, trials)

    upcoming = make(cuts.firsts[0])
    for place, first in enumerate(cuts.firsts):
        arrived = upcoming.result()[0]
        if place + 1 < len(cuts.firsts):
            upcoming = make(cuts.firsts[place + 1])
        yield first, arrived


def check_warm_up(
    problem: Problem, keys: Keys, users: int, stretch: int = 64, trials: int | None = None
) -> None:
    """Raise unless the warm-up users are fit to be played: :func:`warm_up` makes them where none can complain."""
    if not from_functions(problem):
        return
    with double_precision():
        for first in range(0, users, stretch):
            numbers = np.arange(WARMUP_USERS + first, WARMUP_USERS + first + stretch, dtype=np.uint32)
            checked_arrivals(problem, keys, numbers, users - first, trials)


def _timed(function: Callable[..., Any], *args: Any) -> tuple[Any, Timing]:
    """Call ``function`` in this thread, wait for its result, and say how long it took."""
    with double_precision():
        start = time.perf_counter()
        result = jax.block_until_ready(function(*args))
        return result, time.perf_counter() - start


def _begin(problem: Problem, policy: Policy, keys: Keys, pauses: Sequence[int]) -> Carry:
    """Return a policy's first state, after its warm-up users."""
    carry = begin(policy, keys)
    if policy.warmup:
        carry = warm_up(problem, policy, keys, carry)
    return _paused(policy, keys, carry, 0) if 0 in pauses else carry


def _advance(
    problem: Problem,
    policy: Policy,
    keys: Keys,
    carry: Carry,
    arrived: Arrivals,
    first: int,
    pauses: Sequence[int],
) -> tuple[Carry, Served]:
    """Play a stretch of users, whose first is number ``first``, with the pauses that fall into it."""
    if not pauses:
        return advance(problem.rules, policy, keys, carry, arrived)
    size = len(arrived.users)
    stops = [user for user in pauses if first <= user < first + size]
    served = Served(*(jnp.zeros(arrived.beta.shape, kind) for kind in (jnp.int32, float, float)))
    low = 0
    for stop in stops:
        high = stop - first + 1
        carry, served = advance_part(problem.rules, policy, keys, carry, arrived, served, low, high)
        carry, low = _paused(policy, keys, carry, stop), high
    return advance_part(problem.rules, policy, keys, carry, arrived, served, low, size)


def _paused(policy: Policy, keys: Keys, carry: Carry, user: int) -> Carry:
    state = policy.fit_outside(carry.learning.state, user, _fit_keys(keys, user))
    return carry._replace(learning=carry.learning._replace(state=state))


@jax.jit
def _fit_keys(keys: Keys, user: Any) -> jax.Array:
    number = jnp.asarray(user, jnp.uint32)
    return jax.vmap(lambda one, two: Source((one, two), number).key(Purpose.FIT))(*keys)


@jax.jit
def begin(policy: Policy, keys: Keys) -> Carry:
    """Return a policy's state before anybody has come."""
    lanes = keys[0].shape[0]
    learning = jax.vmap(lambda: Learning(policy.init(), jnp.zeros(())), axis_size=lanes, out_axes=-1)()
    return Carry(learning, jnp.zeros(lanes))


@jax.jit
def warm_up(problem: Problem, policy: Policy, keys: Keys, carry: Carry) -> Carry:
    """Serve the warm-up users."""

    def serve_one(number: jax.Array, learning: Learning) -> Learning:
        users = jnp.asarray([WARMUP_USERS], jnp.uint32) + number.astype(jnp.uint32)
        arrived = jax.tree.map(lambda leaf: leaf[0], arrivals(problem, keys, users))

        def one(learning: Learning, arrival: Arrivals, keys: Keys) -> Learning:
            source = Source(keys, arrival.users)
            return serve_at_random(problem.rules, policy, learning, number + 1.0, arrival, source)

        return jax.vmap(one, (-1, _LAST, -1), -1)(learning, arrived, keys)

    warm = lax.fori_loop(0, jnp.asarray(policy.warmup, jnp.int32), serve_one, carry.learning)
    return carry._replace(learning=warm)


@jax.jit
def advance(
    rules: StayRules, policy: Policy, keys: Keys, carry: Carry, arrived: Arrivals
) -> tuple[Carry, Served]:
    """Play a stretch of users; the ``cost`` of what is returned is cumulative."""
    return lax.scan(lambda carry, arrival: _step(rules, policy, keys, carry, arrival), carry, arrived)


@jax.jit
def advance_part(
    rules: StayRules,
    policy: Policy,
    keys: Keys,
    carry: Carry,
    arrived: Arrivals,
    served: Served,
    low: Any,
    high: Any,
) -> tuple[Carry, Served]:
    """Play users ``low`` to ``high`` of a stretch, and note them in ``served``; one program for all such parts."""

    def play(number: Any, now: tuple[Carry, Served]) -> tuple[Carry, Served]:
        arrival = jax.tree.map(lambda leaf: leaf[number], arrived)
        carry, one = _step(rules, policy, keys, now[0], arrival)
        return carry, jax.tree.map(lambda all_of, new: all_of.at[number].set(new), now[1], one)

    return lax.fori_loop(low, high, play, (carry, served))


def _step(
    rules: StayRules, policy: Policy, keys: Keys, carry: Carry, arrival: Arrivals
) -> tuple[Carry, Served]:
    def one(learning: Learning, arrival: Arrivals, keys: Keys) -> tuple[Learning, Served]:
        source = Source(keys, arrival.users)
        user = arrival.users.astype(float) + policy.warmup
        return serve(rules, policy, learning, user, arrival, source)

    learning, served = jax.vmap(one, (-1, _LAST, -1), -1)(carry.learning, arrival, keys)
    regret = carry.regret + served.cost
    return Carry(learning, regret), served._replace(cost=regret)


# The user's number is the same in all trials; everything else has the trials on its last axis.
_LAST = Arrivals(None, *[-1] * (len(Arrivals._fields) - 1))  # type: ignore[arg-type]


class _reporting:
    """A progress bar, somebody's callback, or nothing."""

    def __init__(self, progress: bool | Callable[[int], None], total: int) -> None:
        self._progress, self._total = progress, total

    def __enter__(self) -> Callable[[int], None]:
        if callable(self._progress):
            return self._progress
        from tqdm import tqdm

        self._bar = tqdm(
            total=self._total, unit=" users", unit_scale=True, disable=not self._progress, leave=False
        )
        return lambda played: self._bar.update(played) and None

    def __exit__(self, *error: object) -> None:
        if not callable(self._progress):
            self._bar.close()
