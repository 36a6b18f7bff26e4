r"""Paired comparison of policies that met the same users.

With one seed every policy meets the same users, contexts, levels and noise, so what two
policies lose is compared trial by trial: :math:`d_i = R_i^{A} - R_i^{B}` at one user.

===================  ==================================================================
``difference``       mean of d with its t interval
``bootstrap``        the same by the bias-corrected bootstrap, where d is skewed
``p_value``          two-sided paired t-test of a mean of 0
``p_holm``           the same, corrected for all pairs looked at [1]_
``wins``             share of trials in which A lost less than B, a tie counting half
===================  ==================================================================

References
----------
.. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
   Journal of Statistics 6, 1979.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from typing import Any, NamedTuple

import numpy as np
import xarray
from scipy import stats

from hrprob._core.errors import InvalidInput, check_number
from hrprob.comparison.estimates import Estimate, estimate, growth_exponent, rate_ratio
from hrprob.numerics.multiple_testing import holm

__all__ = ["Comparison", "Pair", "Standing", "compare", "compare_pair"]

_RESAMPLES = 4999


class Standing(NamedTuple):
    """How one policy fared by itself."""

    policy: str
    regret: Estimate
    lifetime: Estimate  # realised, mean over all users
    expected_lifetime: Estimate  # the oracle's value less the regret, a user
    optimal: float  # share of users whose first action was best
    exponent: Estimate  # growth exponent
    ratio: Estimate  # rate ratio
    microseconds: float  # time a user and trial


class Pair(NamedTuple):
    """One policy against another: what ``policy`` loses beyond ``other``."""

    policy: str
    other: str
    difference: Estimate
    bootstrap: tuple[float, float]
    p_value: float
    p_holm: float
    wins: float  # probability that `policy` loses less than `other`
    wins_low: float
    wins_high: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What came of a comparison.

    Attributes
    ----------
    at : int
        The user at which regrets are compared.
    trials : int
        Trials, all met by all policies.
    level : float
        Probability of calling any pair different that is not.
    baseline : str or None
        Whom all others are held against; None for all pairs.
    yardsticks : tuple of str
        Policies that know the truth: they stand beside the others and are not compared.
    standings : list of Standing
        The policies, least regret first.
    pairs : list of Pair
        The pairs, most clearly decided first.
    """

    at: int
    trials: int
    level: float
    baseline: str | None
    yardsticks: tuple[str, ...]
    standings: list[Standing]
    pairs: list[Pair]

    @property
    def leader(self) -> str:
        """The policy of least mean regret."""
        return next(one.policy for one in self.standings if one.policy not in self.yardsticks)

    def pair(self, policy: str, other: str) -> Pair:
        """Return one pair; raise KeyError if it was not looked at."""
        for pair in self.pairs:
            if {pair.policy, pair.other} == {policy, other}:
                return pair
        raise KeyError(f"{policy!r} and {other!r} were not compared")

    def different(self, pair: Pair) -> bool:
        """Say whether a pair is called different."""
        return pair.p_holm <= self.level

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data; what is not finite is None."""
        data = dataclasses.asdict(self)
        data["standings"] = [_plain(standing) for standing in self.standings]
        data["pairs"] = [_plain(pair) | {"different": self.different(pair)} for pair in self.pairs]
        return data


def compare(
    result: xarray.Dataset,
    *,
    baseline: str | None = None,
    at: int | None = None,
    level: float = 0.05,
) -> Comparison:
    """Compare the policies of a result, trial by trial.

    Parameters
    ----------
    result : xarray.Dataset
        What :func:`~hrprob.simulation.engine.simulate` returned.
    baseline : str, optional
        Compare all others with this one; else all pairs.
    at : int, optional
        The user at which regrets are compared; the last unless given.
    level : float
        Probability, over all pairs, of calling one different that is not.

    Examples
    --------
    >>> import hrprob
    >>> policies = [hrprob.Greedy(), hrprob.Random(), hrprob.Oracle()]
    >>> found = compare(hrprob.simulate(hrprob.Problem(), policies, users=100, trials=6), baseline="random")
    >>> found.leader, [found.different(pair) for pair in found.pairs]
    ('greedy', [True])
    """
    aside = _yardsticks(result)
    _check(result, baseline, level, aside)
    user = _user(result, at)
    regret = result.regret.sel(user=user)
    names = [str(name) for name in regret.mean("trial").sortby(regret.mean("trial")).policy.values]
    rivals = [name for name in names if name not in aside]
    chosen = (
        list(itertools.combinations(rivals, 2))
        if baseline is None
        else [(name, baseline) for name in rivals if name != baseline]
    )
    pairs = [
        compare_pair(name, other, regret.sel(policy=name).values, regret.sel(policy=other).values)
        for name, other in chosen
    ]
    corrected = holm(np.array([pair.p_value for pair in pairs]))
    pairs = [pair._replace(p_holm=float(p)) for pair, p in zip(pairs, corrected, strict=True)]
    return Comparison(
        at=user,
        trials=result.sizes["trial"],
        level=level,
        baseline=baseline,
        yardsticks=aside,
        standings=[_standing(result, name, user) for name in names],
        pairs=sorted(pairs, key=lambda pair: pair.p_holm),
    )


def compare_pair(policy: str, other: str, regret: np.ndarray, other_regret: np.ndarray) -> Pair:
    """Return what is to be said of two policies from their regrets (trials,), uncorrected.

    Examples
    --------
    >>> pair = compare_pair("a", "b", np.array([1.0, 2.0, 3.0, 5.0]), np.array([4.0, 4.0, 6.0, 7.0]))
    >>> pair.difference.mean, pair.wins, round(pair.p_value, 4)
    (-2.5, 1.0, 0.0032)
    """
    one, two = np.asarray(regret, dtype=float), np.asarray(other_regret, dtype=float)
    # Two infinite regrets are equally bad.
    equal = one == two
    difference = np.where(equal, 0.0, one - np.where(equal, 0.0, two))
    wins = float(np.mean((difference < 0) + 0.5 * (difference == 0)))
    low, high = _wilson(wins, len(difference))
    p = _p_value(difference)
    return Pair(policy, other, estimate(difference), _bootstrap(difference), p, p, wins, low, high)


def _p_value(difference: np.ndarray) -> float:
    if len(difference) < 2 or np.ptp(difference) == 0:
        # Without a spread there is no test: equal is equal, and anything else is beyond doubt.
        return 1.0 if len(difference) < 2 or difference[0] == 0 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _bootstrap(difference: np.ndarray) -> tuple[float, float]:
    if len(difference) < 2 or np.ptp(difference) == 0:
        return (math.nan, math.nan) if len(difference) < 2 else (float(difference[0]),) * 2
    # Fewer than about ten trials cannot show a skewness, and the correction for it can fail.
    method = "BCa" if len(difference) >= 10 else "percentile"
    found = stats.bootstrap(
        (difference,), np.mean, n_resamples=_RESAMPLES, method=method, rng=np.random.default_rng(0)
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _wilson(share: float, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    z = stats.norm.ppf(0.5 + level / 2)
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return centre - half, centre + half


def _standing(result: xarray.Dataset, policy: str, user: int) -> Standing:
    own = result.sel(policy=policy)
    until = result.sel(user=slice(None, user))
    regret = own.regret.sel(user=user).values
    users = int(result.attrs["users"])
    return Standing(
        policy=policy,
        regret=estimate(regret),
        lifetime=estimate(own.mean_lifetime.values),
        expected_lifetime=estimate(result.mean_best.values - own.regret.isel(user=-1).values / users),
        optimal=float(own.optimal.sel(user=slice(None, user)).mean()),
        exponent=growth_exponent(until, policy),
        ratio=rate_ratio(until, policy),
        microseconds=1e6 * float(own.seconds) / (users * result.sizes["trial"]),
    )


def _yardsticks(result: xarray.Dataset) -> tuple[str, ...]:
    described = json.loads(result.attrs["policies"])
    return tuple(name for name in map(str, result.policy.values) if described[name]["kind"] == "oracle")


def _check(result: xarray.Dataset, baseline: str | None, level: float, aside: tuple[str, ...]) -> None:
    names = [str(name) for name in result.policy.values if name not in aside]
    if len(names) < 2:
        raise InvalidInput("policies", "must be two at least", names, "there is nobody to compare with")
    if baseline is not None and baseline not in names:
        raise InvalidInput(
            "baseline", f"must be one of {', '.join(names)}", baseline, "it is a policy's name"
        )
    remedy = "it is the probability of a false difference"
    check_number("level", level, low=0, high=1, open_low=True, open_high=True, remedy=remedy)


def _user(result: xarray.Dataset, at: int | None) -> int:
    kept = result.user.values
    if at is None:
        return int(kept[-1])
    if at not in kept:
        near = int(kept[np.argmin(np.abs(kept - at))])
        raise InvalidInput("at", "must be a user that the result has", at, f"the nearest is {near}")
    return int(at)


def _plain(record: Any) -> dict[str, Any]:
    def value(entry: Any) -> Any:
        if isinstance(entry, Estimate):
            return {name: value(part) for name, part in entry._asdict().items()}
        if isinstance(entry, tuple):
            return [value(part) for part in entry]
        return None if isinstance(entry, float) and not math.isfinite(entry) else entry

    return {name: value(entry) for name, entry in record._asdict().items()}
