"""Everything that a log says about a policy, and where it says nothing."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.special import ndtri

from hrprob._core.errors import InvalidInput, check_choice, check_count, check_number
from hrprob._core.formatting import format_interval, format_number, percent, with_error
from hrprob._core.keywords import nearest_keywords
from hrprob.io.result_table import ResultTable
from hrprob.live.evaluation.anytime import anytime_interval
from hrprob.live.evaluation.csv_log import as_log
from hrprob.live.evaluation.estimators import Scores, doubly_robust, ips, replay, self_normalised
from hrprob.live.evaluation.logged import LoggedStays
from hrprob.live.evaluation.targets import make_target
from hrprob.live.evaluation.weights import Target, Weights, make_weights
from hrprob.problem.links import Affine

__all__ = ["Estimate", "Evaluation", "evaluate"]

# Selections per user are one batch.
_MOST_DRAWS = 1_000_000

CANNOT_TELL = "this log cannot tell"
# Below this effective number of stays the normal intervals were found to cover too seldom.
LEAST_STAYS = 200.0
# A single stay may carry this share of all weight.
_MOST_SHARE = 0.05


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What one method says; without numbers where it cannot.

    Parameters
    ----------
    method : str
        Its name.
    value, se, low, high : float or None
        The estimate, its standard error and the ends of its interval.
    reason : str or None
        Why there are no numbers.
    """

    method: str
    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What a log says about a policy.

    Parameters
    ----------
    objective : str
        "lifetime" or "reward".
    horizon : int or None
        Up to which round of a stay it is counted; None for whole stays.
    level : float
        The probability with which each interval is to contain the value.
    users, rounds, censored : int
        The stays on which the policy was evaluated, their rounds, and how many stays are censored.
    effective : float
        The effective number of stays, (Σw)²/Σw² of their weights.
    largest_share : float
        The share of the largest weight.
    mean_weight : float
        The mean of the weights, which is 1 in expectation.
    estimates : tuple of Estimate
        One per method.
    """

    objective: str
    horizon: int | None
    level: float
    users: int
    rounds: int
    censored: int
    effective: float
    largest_share: float
    mean_weight: float
    estimates: tuple[Estimate, ...]

    def __getitem__(self, method: str) -> Estimate:
        found = {estimate.method: estimate for estimate in self.estimates}
        return found[check_choice("method", method, tuple(found))]

    @property
    def table(self) -> ResultTable:
        """The estimates as a table."""
        rows = [[one.method, _said(one), _interval(one)] for one in self.estimates]
        span = "whole stays" if self.horizon is None else f"the first {self.horizon} rounds of a stay"
        caption = (
            f"Expected {self.objective} over {span}, from {format_number(self.users)} stays of "
            f"{format_number(self.rounds)} rounds, {format_number(self.censored)} of them censored. Effective number of "
            f"stays {format_number(self.effective, 0)}; the largest weight has {percent(self.largest_share, 1)} of all."
        )
        return ResultTable(["method", self.objective, f"{percent(self.level)} interval"], rows, caption)

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def to_plain(self) -> dict[str, object]:
        """Return the evaluation as plain data."""
        return dataclasses.asdict(self)


def _said(one: Estimate) -> str:
    if one.reason is not None:
        return f"{CANNOT_TELL}: {one.reason}"
    return "" if one.value is None else with_error(one.value, one.se or 0.0)


def _interval(one: Estimate) -> str:
    return "" if one.low is None or one.high is None else format_interval(one.low, one.high, 2)


@nearest_keywords
def evaluate(
    log: object,
    policy: object,
    *,
    objective: str = "lifetime",
    horizon: int | None = None,
    level: float = 0.95,
    learn: float = 0.5,
    draws: int = 256,
    link: Affine = Affine(),  # noqa: B008
    seed: int = 0,
) -> Evaluation:
    """Return what logged rounds say about the expected lifetime, or reward, of a policy that did not serve them.

    Parameters
    ----------
    log : path or LoggedStays
        A CSV file with one line per round (:mod:`hrprob.live.evaluation.csv_log`), or the log of an agent (.jsonl).
    policy : Agent, Policy, str, table or callable
        An agent as it is now; a policy, or its kind, which learns from the first stays and is evaluated on the
        others; or a function of contexts (actions, d) and level that returns a probability per action.
    objective : {"lifetime", "reward"}
        What is estimated: the number of rounds, or the sum of outcomes.
    horizon : int, optional
        Count only the first so many rounds of a stay. Needed for the interval that holds at all times, and where the logger changed
        actions within stays, whose weights are products over rounds.
    level : float
        The probability with which each interval is to contain the value.
    learn : float
        The share of stays from which a policy learns.
    draws : int
        Selections per user that give the probabilities of a policy that draws.
    link : Affine
        f of the model in the doubly robust estimate.
    seed : int
        The seed of all that is drawn.

    Examples
    --------
    Actions were drawn uniformly; always serving the first would have kept users longer:

    >>> rng = np.random.default_rng(0)
    >>> users, action = 2000, rng.integers(2, size=2000)
    >>> lengths = rng.geometric(np.where(action == 0, 0.3, 0.6))
    >>> first = np.cumsum(lengths) - lengths
    >>> propensity = np.ones(lengths.sum())
    >>> propensity[first] = 0.5
    >>> outcome = np.ones(lengths.sum())
    >>> outcome[first + lengths - 1] = -1.0
    >>> log = LoggedStays(
    ...     np.tile([[0.9, 0.0], [0.0, 0.9]], (users, 1, 1)), np.zeros(users), lengths,
    ...     np.repeat(action, lengths), propensity, outcome, np.ones(users, bool),
    ... )
    >>> found = evaluate(log, lambda contexts, beta: [1.0, 0.0])
    >>> found["ips"].low < 1 / 0.3 < found["ips"].high
    True
    """
    check_choice("objective", objective, ("lifetime", "reward"))
    if horizon is not None:
        check_count("horizon", horizon, remedy="it is a number of rounds")
    remedy = "it is a probability"
    check_number("level", level, low=0, high=1, open_low=True, open_high=True, remedy=remedy)
    check_number("learn", learn, low=0, high=1, open_high=True, remedy="it is a share of the stays")
    remedy = "they give the policy's probabilities: a thousand give them to .02"
    check_count("draws", draws, high=_MOST_DRAWS, remedy=remedy)
    target, rest = make_target(policy, as_log(log), learn=learn, draws=draws, seed=seed)
    most = math.inf if horizon is None else float(horizon)
    weights = make_weights(rest, target, most)
    reward = objective == "reward"
    estimates = [
        *_fixed_sample(rest, target, weights, most, link, level, reward=reward, seed=seed),
        _anytime(rest, weights, most, level, reward=reward),
    ]
    shares = weights.stay / max(float(weights.stay.sum()), 1e-300)
    return Evaluation(
        objective=objective,
        horizon=horizon,
        level=level,
        users=rest.users,
        rounds=int(weights.known.sum()),
        censored=int(np.sum(~weights.complete)),
        effective=_effective(weights.stay),
        largest_share=float(shares.max()),
        mean_weight=float(np.mean(weights.stay)),
        estimates=tuple(estimates),
    )


def _effective(weight: np.ndarray) -> float:
    squares = float(np.sum(weight**2))
    return float(np.sum(weight)) ** 2 / squares if squares else 0.0


def _fixed_sample(
    log: LoggedStays,
    target: Target,
    weights: Weights,
    horizon: float,
    link: Affine,
    level: float,
    *,
    reward: bool,
    seed: int,
) -> list[Estimate]:
    """Return the estimates with normal intervals."""
    reason = _why_not(weights)
    names = ("replay", "ips", "self-normalised", "doubly-robust")
    if reason is not None:
        return [Estimate(name, reason=reason) for name in names]
    found = [_estimate("ips", ips(log, weights, reward=reward), level)]
    found.append(_estimate("self-normalised", self_normalised(log, weights, reward=reward), level))
    found.insert(0, _replayed(log, weights, level, reward=reward, seed=seed))
    if np.any(np.isnan(log.beta)):
        return [*found, Estimate("doubly-robust", reason="levels are hidden, and the model needs them")]
    scores = doubly_robust(log, target, weights, horizon, link, reward=reward)
    return [*found, _estimate("doubly-robust", scores, level)]


def _replayed(log: LoggedStays, weights: Weights, level: float, *, reward: bool, seed: int) -> Estimate:
    if not weights.complete.all():
        return Estimate("replay", reason="some stays are censored, and replay needs whole ones")
    scores = replay(log, weights, reward=reward, seed=seed)
    accepted = int(np.count_nonzero(scores.influence))
    if accepted < LEAST_STAYS:
        return Estimate("replay", reason=f"it accepts {accepted} stays, fewer than {LEAST_STAYS:g}")
    return _estimate("replay", scores, level)


def _why_not(weights: Weights) -> str | None:
    """Return why no estimate can be trusted, if so."""
    if weights.unsupported > 0:
        return f"for {percent(weights.unsupported, 1)} of users the logger never did what the policy may do"
    effective = _effective(weights.stay)
    if effective < LEAST_STAYS:
        return f"its stays count as {format_number(effective, 0)}, fewer than {LEAST_STAYS:g}"
    share = float(weights.stay.max() / weights.stay.sum())
    if share > _MOST_SHARE:
        return f"one stay has {percent(share, 1)} of all weight"
    error = float(np.std(weights.stay)) / math.sqrt(len(weights.stay))
    if abs(float(np.mean(weights.stay)) - 1.0) > 4.0 * error + 1e-9:
        mean = format_number(np.mean(weights.stay), 3)
        return f"its weights have mean {mean}, not 1: propensities are wrong, or actions are missing"
    return None


def _estimate(name: str, scores: Scores, level: float) -> Estimate:
    se = float(np.std(scores.influence)) / math.sqrt(len(scores.influence))
    half = float(ndtri(0.5 + 0.5 * level)) * se
    return Estimate(name, scores.value, se, scores.value - half, scores.value + half)


def _anytime(log: LoggedStays, weights: Weights, horizon: float, level: float, *, reward: bool) -> Estimate:
    name = "anytime"
    if reward or not math.isfinite(horizon):
        what = "the reward has no bounds" if reward else "whole stays have no bound; give a horizon"
        return Estimate(name, reason=what)
    if not weights.complete.all():
        return Estimate(name, reason="some stays are censored before the horizon")
    if weights.unsupported > 0:
        return Estimate(name, reason="the logger never did what the policy may do")
    ends = anytime_interval(log, weights, horizon, level)
    low, high = float(ends.low[-1]), float(ends.high[-1])
    if low > high:
        # Either a bound failed, which has probability 1 − level, or the propensities are wrong.
        raise InvalidInput(
            "propensity", "must be those of the logger", f"{low} > {high}", "no value fits the log"
        )
    return Estimate(name, low=low, high=high)
