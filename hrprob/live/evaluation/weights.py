r"""Products of probability ratios over the rounds of a stay, and inverse probabilities of censoring.

With b the logger's probabilities and π the target's, a stay of which rounds 1…k are known has the weight

.. math:: \rho_{1:k} = \prod_{j \le k} \frac{\pi_j(a_j)}{b_j(a_j)}.

A target that keeps its action for the whole stay has π_j(a) = 1 in later rounds if a is the first round's action, and 0
otherwise. A logger that keeps its action has b_j = 1 there: its stays have one ratio.

A stay that is censored after round c counts in rounds 1…c, each divided by the probability K(k) of not being censored
before round k. K is the Kaplan–Meier estimate from all stays, under the assumption that being censored after a round depends on the
number of the round alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hrprob.live.evaluation.logged import LoggedStays

__all__ = ["Target", "Weights", "make_weights"]


class Target(NamedTuple):
    """The policy to evaluate, at every logged user."""

    probabilities: np.ndarray  # (users, actions)
    keeps: bool  # whether the action of the first round is kept


class Weights(NamedTuple):
    """The weight of every round up to the horizon, and of every stay."""

    known: np.ndarray  # (rounds,) bool: whether a round counts, being within the horizon
    before: np.ndarray  # (rounds,) ρ up to the round before
    upto: np.ndarray  # (rounds,) ρ up to the round itself
    uncensored: np.ndarray  # (rounds,) K of the round
    stay: np.ndarray  # (users,) ρ of the whole stay, by K; 0 for a stay that is censored within the horizon
    lengths: np.ndarray  # (users,) rounds within the horizon
    complete: np.ndarray  # (users,) bool: the user left, or reached the horizon
    unsupported: float  # share of users for whom the logger could not have done what the target may do


def make_weights(log: LoggedStays, target: Target, horizon: float) -> Weights:
    """Return the weights of a target on a log."""
    owner, number, first = log.owner, log.number, log.first
    known = number <= horizon
    chosen = target.probabilities[owner, log.action]
    later = number > 1
    if target.keeps:
        chosen = np.where(later, log.action == log.action[first[owner]], chosen)
    upto = _products(chosen / log.propensity, first, owner)
    before = np.where(later, np.roll(upto, 1), 1.0)
    lengths = np.minimum(log.lengths, horizon).astype(int)
    complete = log.left | (log.lengths >= horizon)
    survival = _uncensored(log, lengths, complete)
    last = first + lengths - 1
    stay = np.where(complete, upto[last] / survival[lengths - 1], 0.0)
    # Where the logger had no choice, a target that is not sure of that action would have done something else.
    impossible = known & (log.propensity >= 1.0) & (chosen < 1.0 - 1e-9) & (before > 0)
    unsupported = float(np.mean(np.bincount(owner, impossible, minlength=log.users) > 0))
    uncensored = survival[np.minimum(number, len(survival)) - 1]
    return Weights(known, before, upto, uncensored, stay, lengths, complete, unsupported)


def _products(ratio: np.ndarray, first: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return the running product of the ratios of each stay (rounds,)."""
    zero = ratio <= 0
    logs = np.cumsum(np.log(np.where(zero, 1.0, ratio)))
    zeros = np.cumsum(zero)
    so_far, so_many = np.append(0.0, logs)[first][owner], np.append(0, zeros)[first][owner]
    return np.where(zeros > so_many, 0.0, np.exp(logs - so_far))


def _uncensored(log: LoggedStays, lengths: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Return K(k), the probability of not being censored before round k, for k = 1, 2, ... (most,)."""
    most = int(lengths.max())
    censored = np.bincount(lengths[~complete], minlength=most + 1)[1:]
    # Who survived round k and could be censored after it: those with more rounds, and those censored there.
    ended = np.bincount(lengths, minlength=most + 1)[1:]
    at_risk = len(lengths) - np.cumsum(ended) + censored
    hazard = np.where(at_risk > 0, censored / np.maximum(at_risk, 1), 0.0)
    return np.append(1.0, np.cumprod(1.0 - hazard)[:-1])
