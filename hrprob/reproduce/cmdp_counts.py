r"""How often a CMDP knew its actions: counted from what a run recorded.

An action is known in a cell after :math:`\sqrt t` tries there, and as long as any action of a cell is unknown, CMDP
selects one of the unknown actions at random. To know all of them takes cells · actions · :math:`\sqrt T` tries. With
one action for a whole stay, the recorded actions and lifetimes are all that its counts consist of, so that they
can be counted again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from hrprob._core.compiled import program
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.policies import CMDP
from hrprob.policies.partitions import Cells
from hrprob.problem import Problem
from hrprob.simulation.binding import bind
from hrprob.simulation.schedule import Schedule, arriving

__all__ = ["COUNTED_TRIALS", "CMDPCounts", "count", "counts_of", "with_counts"]

COUNTED_TRIALS = 2
"""Trials that are counted, the first of a run: shares of some 30 000 users each."""


class CMDPCounts(NamedTuple):
    """How much a CMDP could know, and how often it did."""

    pairs: int  # cells times actions
    needed: float  # tries to know every action in every cell at the end
    rounds: float  # played, mean over trials
    random: float  # share of users served an unknown action at random


_ATTRIBUTE = "cmdp_counts"


def with_counts(run: xarray.Dataset, counts: Mapping[str, CMDPCounts]) -> xarray.Dataset:
    """Return a run that says what was counted of its CMDPs, so that it need not have all users."""
    return run.assign_attrs({_ATTRIBUTE: json.dumps({name: each._asdict() for name, each in counts.items()})})


def counts_of(run: xarray.Dataset) -> dict[str, CMDPCounts]:
    """Return what :func:`with_counts` put into a run; raise KeyError if nothing was."""
    return {name: CMDPCounts(**each) for name, each in json.loads(run.attrs[_ATTRIBUTE]).items()}


def count(problem: Problem, policies: Mapping[str, CMDP], run: xarray.Dataset) -> dict[str, CMDPCounts]:
    """Count the tries of CMDPs that keep one action for a whole stay, and their random choices.

    Parameters
    ----------
    problem : Problem
        What was played.
    policies : mapping of names to CMDP
        The policies, without warm-up and with tries counted in rounds.
    run : xarray.Dataset
        A run with every user of them.
    """
    users = run.user.values
    for name, policy in policies.items():
        if policy.eager or policy.warmup or policy.tries != "rounds" or len(users) != users[-1]:
            raise ValueError(
                f"{name!r} cannot be counted: it must be lazy, without warm-up, with every user recorded"
            )
    with double_precision():
        bound = {name: bind(name, policy, problem, len(users)) for name, policy in policies.items()}
    cells = _cells(problem, {name: policy.placed for name, policy in bound.items()}, run)
    return {
        name: _counted(problem, policy.cells, cells[name], run.sel(policy=name))
        for name, policy in bound.items()
    }


def _counted(problem: Problem, number: int, cells: np.ndarray, run: xarray.Dataset) -> CMDPCounts:
    users = run.sizes["user"]
    actions, lifetimes = (run[part].values[: len(cells)] for part in ("action", "lifetime"))
    random = [
        _share_of_random_choices(*of_trial, number, problem.contexts.actions)
        for of_trial in zip(cells, actions, lifetimes, strict=True)
    ]
    pairs = number * problem.contexts.actions
    rounds = float(run.mean_lifetime[: len(cells)].mean()) * users
    return CMDPCounts(pairs, pairs * math.sqrt(users), rounds, float(np.mean(random)))


def _cells(problem: Problem, placed: Mapping[str, Cells], run: xarray.Dataset) -> dict[str, np.ndarray]:
    """Return the cells of every user of the trials that are counted, (trials, users), of every policy."""
    # The blocks and chunks of the run: their programs are there already.
    first, trials = int(run.trial[0]), run.sizes["trial"]
    schedule = Schedule(problem, users=run.sizes["user"], trials=range(first, first + trials), warmup=0)
    block = schedule.blocks[0]
    counted = min(COUNTED_TRIALS, trials)
    found: dict[str, list[np.ndarray]] = {name: [] for name in placed}
    with double_precision():
        keys = trial_keys(int(run.attrs["seed"]), block)
        for chunk in arriving(problem, keys, schedule, schedule.real(block)):
            contexts, beta = (
                jnp.asarray(np.asarray(part)[..., :counted])
                for part in (chunk.arrived.contexts, chunk.arrived.beta)
            )
            for name, own in placed.items():
                found[name].append(np.asarray(_cells_of(own, contexts, beta))[: len(chunk.users)])
    return {name: np.concatenate(chunks).T for name, chunks in found.items()}


@program()
def _cells_of(placed: Cells, contexts: jax.Array, beta: jax.Array) -> jax.Array:
    """Return the cells of users (users, trials) from contexts (users, actions, d, trials) and levels."""
    return jax.vmap(jax.vmap(placed.cell, (-1, -1)))(contexts, beta)


def _share_of_random_choices(
    cells: np.ndarray, chosen: np.ndarray, lifetimes: np.ndarray, number: int, actions: int
) -> float:
    # In lists: one entry at a time, these take a tenth of the time that arrays take.
    tries = [[0.0] * actions for _ in range(number)]
    least = [0.0] * number
    random = 0
    rows = zip(cells.tolist(), chosen.tolist(), lifetimes.tolist(), strict=True)
    for before, (cell, action, lived) in enumerate(rows):
        random += least[cell] < math.sqrt(before + 1)
        tries[cell][action] += lived
        least[cell] = min(tries[cell])
    return random / len(cells)
