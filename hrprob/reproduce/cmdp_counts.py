r"""How often a CMDP knew its actions: counted from what a run recorded.

An action is known in a cell after :math:`\sqrt t` tries there, and as long as any action of a cell is unknown, CMDP
selects one of the unknown actions at random. To know all of them takes cells · actions · :math:`\sqrt T` tries. With
one action for a whole stay, the recorded actions and lifetimes are all that its counts consist of, so that they
can be counted again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import numpy as np
import xarray

from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob.policies import CMDP
from hrprob.problem import Problem
from hrprob.simulation.arrivals import arrivals

__all__ = ["COUNTED_TRIALS", "CMDPCounts", "count"]

COUNTED_TRIALS = 2
"""Trials that are counted: shares of some 30 000 users each."""

# Users whose cells are computed together.
_CHUNK = 2000


class CMDPCounts(NamedTuple):
    """How much a CMDP could know, and how often it did."""

    pairs: int  # cells times actions
    needed: float  # tries to know every action in every cell at the end
    rounds: float  # played, mean over trials
    random: float  # share of users served an unknown action at random


def count(problem: Problem, policy: CMDP, run: xarray.Dataset, name: str) -> CMDPCounts:
    """Count the tries of a CMDP that keeps one action for a whole stay, and its random choices.

    Parameters
    ----------
    problem : Problem
        What was played.
    policy : CMDP
        The policy, without warm-up and with tries counted in rounds.
    run : xarray.Dataset
        A run with every user of it.
    name : str
        The policy's name in the run.
    """
    users = run.user.values
    if policy.eager or policy.warmup or policy.tries != "rounds" or len(users) != users[-1]:
        raise ValueError(
            f"{name!r} cannot be counted: it must be lazy, without warm-up, with every user recorded"
        )
    bound = policy.bind(problem, int(users[-1]))
    actions, lifetimes = (
        run[part].sel(policy=name).values[:COUNTED_TRIALS] for part in ("action", "lifetime")
    )
    trials = run.trial.values[: len(actions)]
    random = [
        _share_of_random_choices(
            _cells(problem, bound, int(run.attrs["seed"]), int(trial), users),
            own,
            lived,
            bound.cells,
            problem,
        )
        for trial, own, lived in zip(trials, actions, lifetimes, strict=True)
    ]
    pairs = bound.cells * problem.contexts.actions
    rounds = float(run.mean_lifetime.sel(policy=name).mean()) * len(users)
    return CMDPCounts(pairs, pairs * math.sqrt(users[-1]), rounds, float(np.mean(random)))


def _cells(problem: Problem, bound: CMDP, seed: int, trial: int, users: np.ndarray) -> np.ndarray:
    """Return the cell of every user of a trial."""
    cells_of = jax.jit(jax.vmap(bound.placed.cell))
    chunks = []
    with double_precision():
        for first in range(0, len(users), _CHUNK):
            # A last chunk of another size would be another compilation; users beyond the last are not counted.
            numbers = np.arange(first + 1, first + _CHUNK + 1, dtype=np.uint32)
            arrived = arrivals(problem, trial_keys(seed, np.array([trial])), numbers)
            chunks.append(np.asarray(cells_of(arrived.contexts[..., 0], arrived.beta[..., 0])))
    return np.concatenate(chunks)[: len(users)]


def _share_of_random_choices(
    cells: np.ndarray, actions: np.ndarray, lifetimes: np.ndarray, number: int, problem: Problem
) -> float:
    tries = np.zeros((number, problem.contexts.actions))
    least = np.zeros(number)
    random = 0
    for before, (cell, action, lived) in enumerate(zip(cells, actions, lifetimes, strict=True)):
        random += bool(least[cell] < math.sqrt(before + 1))
        tries[cell, action] += lived
        least[cell] = tries[cell].min()
    return random / len(cells)
