"""Play policies, and look at the intervals that their data give after the last user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput, check_count, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob._core.parallel import side_by_side
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import check_run, trial_keys
from hrprob._core.types import PyTree
from hrprob.comparison.frontier.dials import Setting, dial_policies
from hrprob.comparison.frontier.intervals import KINDS, PARAMETERS, intervals_of
from hrprob.observations import Stays
from hrprob.policies.base import Policy, Seen, make_policy
from hrprob.problem import Problem
from hrprob.problem.links.base import is_affine
from hrprob.simulation.play import Play, play_block
from hrprob.simulation.schedule import MOST_TRIALS_IN_BLOCK, Schedule

__all__ = ["frontier"]

# Of long runs fewer are played side by side, to bound the rows held at once.
_MOST_ROWS, _LEAST_BLOCK = 2**20, 8


@nearest_keywords
def frontier(
    problem: Problem,
    policies: Mapping[str, Policy] | Sequence[Policy],
    *,
    users: int,
    trials: int = 200,
    seed: int = 0,
    level: float = 0.9,
    scales: Sequence[float] = (),
    radii: Sequence[float] = (),
    say: Callable[[str], None] = lambda line: None,
) -> xarray.Dataset:
    """Measure regret, and how well intervals from the same data cover θ* and φ*, for each policy.

    Intervals are computed once, after the last user, from the rounds in the policy's sample set: ordinary (Wald) intervals of
    least squares, equal tails of the posterior, and those of the likelihood-ratio set, which hold for all n at once
    (:mod:`hrprob.comparison.frontier.intervals`). Warm-up users are left out.

    Parameters
    ----------
    problem : Problem
        What is played; its link must be affine and its truth must not drift.
    policies : mapping or sequence
        Policies by name, or a sequence of them, named by their kinds.
    users, trials, seed : int
        Users and trials per policy, and the seed of everything random; all policies meet the same users.
    level : float, default 0.9
        Nominal coverage of the intervals.
    scales, radii : sequence of float
        Two dials, from little exploration to much: Thompson sampling with each ``scale`` and HR-UCB with each constant radius ξ are played too.
    say : callable
        Called with a line whenever a policy has been played.

    Returns
    -------
    xarray.Dataset
        ``regret`` over policy and trial; ``covered`` and ``width`` over policy, kind (wald, posterior, anytime), parameter (theta, phi),
        coordinate and trial; ``joint`` over policy and trial: whether the likelihood-ratio set contains (θ*, φ*); ``rounds`` over policy
        and trial; the coordinates ``dial`` and ``setting`` of policies.

    Examples
    --------
    >>> import hrprob
    >>> small = hrprob.Problem(theta=[0.5, 0.2], phi=[0.3, -0.4], contexts=hrprob.Sphere(3))  # slow
    >>> result = hrprob.frontier(small, [hrprob.Random(), hrprob.Greedy()], users=300, trials=4)
    >>> result.covered.sel(policy="random", kind="anytime").mean().item()
    1.0
    """
    named = _named(policies, dial_policies(scales, radii))
    _check(problem, named, users, trials, seed, level)
    found = []
    for name, one in named.items():
        found.append(_of_policy(problem, one.policy, users, trials, seed, level))
        say(name)
    by = ("policy", "kind", "parameter", "coordinate", "trial")
    # (policy, trial, kind, parameter, coordinate), the trials moved to the end.
    covered, width = (
        np.moveaxis(np.stack([one[field] for one in found]), 1, -1) for field in ("covered", "width")
    )
    return xarray.Dataset(
        {
            "regret": (("policy", "trial"), np.stack([one["regret"] for one in found])),
            "rounds": (("policy", "trial"), np.stack([one["rounds"] for one in found])),
            "joint": (("policy", "trial"), np.stack([one["joint"] for one in found])),
            "covered": (by, covered),
            "width": (by, width),
        },
        coords={
            "policy": list(named),
            "dial": ("policy", [one.dial for one in named.values()]),
            "setting": ("policy", [one.value for one in named.values()]),
            "kind": list(KINDS),
            "parameter": list(PARAMETERS),
            "coordinate": np.arange(1, problem.dimension + 1),
            "trial": np.arange(trials),
        },
        attrs={"users": users, "seed": seed, "level": level, "noise": problem.noise.kind},
    )


def _named(
    policies: Mapping[str, Policy] | Sequence[Policy], dials: Mapping[str, Setting]
) -> dict[str, Setting]:
    if not isinstance(policies, Mapping):
        made = [make_policy(policy) for policy in policies]
        names = [str(policy) for policy in made]
        if len(set(names)) < len(names):
            remedy = "give a mapping from names to policies"
            raise InvalidInput("policies", "must differ from each other", names, remedy)
        policies = dict(zip(names, made, strict=True))
    if set(policies) & set(dials):
        remedy = "a policy on a dial has that name; choose another"
        raise InvalidInput(
            "policies", "must have names of their own", sorted(set(policies) & set(dials)), remedy
        )
    named = {name: Setting(make_policy(one), "", float("nan")) for name, one in policies.items()} | dict(
        dials
    )
    if not named:
        raise InvalidInput("policies", "must not be empty", {}, "give at least one")
    return named


def _check(
    problem: Problem, named: Mapping[str, Setting], users: int, trials: int, seed: int, level: float
) -> None:
    check_run(users, trials, seed)
    check_count("trials", trials, low=2, remedy="coverage is a share of trials")
    remedy = "it is the nominal coverage of the intervals"
    check_number("level", level, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    if not is_affine(problem.link):
        remedy = "least squares for φ, and the set in closed form, need a slope"
        raise InvalidInput("problem.link", "must be affine", problem.link.kind, remedy)
    problem.check_still("intervals are for one truth")
    for name, one in named.items():
        if one.policy.eager:
            remedy = "intervals are computed from stays under one action; set eager = false"
            raise InvalidInput(f"policies.{name}", "must keep one action per stay", one.policy.kind, remedy)


def _record(seen: Seen, state: PyTree) -> Stays:
    """Return what the intervals need of a stay."""
    return Stays(seen.context, seen.sampled, seen.total, seen.squares)


def _of_policy(
    problem: Problem, policy: Policy, users: int, trials: int, seed: int, level: float
) -> dict[str, np.ndarray]:
    """Return regret, rounds, coverage and widths of one policy, the trials on the first axis."""
    with double_precision():
        bound = policy.bind(problem, users)
        most = min(MOST_TRIALS_IN_BLOCK, max(_LEAST_BLOCK, _MOST_ROWS // users))
        schedule = Schedule(problem, users=users, trials=range(trials), warmup=bound.warmup, block=most)

        def play(block: np.ndarray) -> dict[str, np.ndarray]:
            keys, real = trial_keys(seed, block), schedule.real(block)
            playing = Play(problem, bound, keys, users, observe=_record)
            pieces = [piece for _, piece in play_block(problem, playing, keys, schedule, real)]
            columns = [
                np.moveaxis(np.concatenate([np.asarray(part) for part in parts]), -1, 0)
                for parts in zip(*(piece.observed for piece in pieces), strict=True)
            ]
            stays = Stays(*columns)  # type: ignore[arg-type]
            # A block that was filled up has the shape of the others, and shares their programs.
            ends = intervals_of(problem, stays, level, seed)
            truth = np.stack([problem.theta, problem.phi])
            looked_at = {
                "regret": pieces[-1].regret[-1],
                "rounds": np.asarray(stays.rounds).sum(axis=1),
                "joint": ends.joint,
                "covered": (ends.low <= truth) & (truth <= ends.high),
                "width": ends.high - ends.low,
            }
            return {name: np.asarray(values)[:real] for name, values in looked_at.items()}

        blocks = list(side_by_side(play, schedule.blocks))
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
