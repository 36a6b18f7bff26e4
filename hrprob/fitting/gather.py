"""The rounds that a policy played: what a bandit has seen of a problem."""

from __future__ import annotations

import jax
import numpy as np

from hrprob._core.errors import InvalidInput, check_count
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import check_run, trial_keys
from hrprob.fitting.table import Table
from hrprob.policies.base import Policy
from hrprob.problem import Problem
from hrprob.simulation.arrivals import noise_of_rounds
from hrprob.simulation.binding import bind
from hrprob.simulation.engine import check_problem
from hrprob.simulation.play import Piece, Play, play_block
from hrprob.simulation.programs import Keys
from hrprob.simulation.schedule import Chunk, Schedule
from hrprob.simulation.serving import MOST_ROUNDS

__all__ = ["gather"]


def gather(
    problem: Problem, policy: Policy, *, users: int = 100, seed: int = 0, most_rounds: int = 1000
) -> Table:
    """Return the rounds of the first trial of ``simulate(problem, policy, users=users, seed=seed)``.

    Parameters
    ----------
    problem : Problem
        What is played.
    policy : Policy
        Who plays: one action per stay, without warm-up users.
    users, seed : int
        How many users are served, and the seed of everything random.
    most_rounds : int
        Most rounds recorded of a stay, the first ones. The number is known beforehand, so it biases
        nothing; no stay ends there.

    Examples
    --------
    >>> import hrprob
    >>> table = gather(hrprob.Problem(), hrprob.Random(), users=20)  # slow
    >>> stayed = table.r >= table.beta
    >>> int((~stayed).sum())  # each user leaves once
    20
    """
    check_problem(problem)
    check_run(users, 1, seed)
    check_count("most_rounds", most_rounds, high=MOST_ROUNDS, remedy="it is a number of rounds")
    if not isinstance(policy, Policy):
        raise InvalidInput("policy", "must be a policy", policy, "write hrprob.Thompson(), for example")
    if policy.eager:
        remedy = "the actions of single rounds are not kept; take the lazy policy"
        raise InvalidInput("policy.eager", "must be false", policy.eager, remedy)
    if policy.warmup:
        remedy = "rounds of warm-up users are not kept"
        raise InvalidInput("policy.warmup", "must be 0", policy.warmup, remedy)
    schedule = Schedule(problem, users=users, trials=range(1))
    with double_precision():
        keys = trial_keys(seed, schedule.blocks[0])
        play = Play(problem, bind(policy.kind, policy, problem, users), keys, users)
        parts = [
            _rounds(problem, keys, chunk, piece, most_rounds)
            for chunk, piece in play_block(problem, play, keys, schedule, 1)
        ]
    x, r, user, beta = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Table(x=x, r=r, user=user, beta=beta if problem.satisfaction.seen else None)


def _rounds(
    problem: Problem, keys: Keys, chunk: Chunk, piece: Piece, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return context, outcome, user and level of every recorded round of these users."""
    recorded = np.minimum(piece.lifetime[:, 0], most).astype(int)
    places = np.arange(chunk.place(piece.users.start), chunk.place(piece.users.stop))
    arrived = jax.tree.map(lambda leaf: np.asarray(leaf)[places], chunk.arrived)
    noise = np.concatenate(noise_of_rounds(problem, keys, arrived, recorded))
    each = np.repeat(np.arange(len(places)), recorded)
    action = piece.action[each, 0]
    outcomes = arrived.mean[each, action, 0] + arrived.sd[each, action, 0] * noise
    return arrived.contexts[each, action, :, 0], outcomes, np.array(piece.users)[each], arrived.beta[each, 0]
