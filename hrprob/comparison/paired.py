r"""Paired comparison of policies that met the same users.

With one seed every policy meets the same users, contexts, levels and noise, so the regrets of two
policies are compared trial by trial: :math:`d_i = R_i^{A} - R_i^{B}` in trial i, at one user.

===================  ==================================================================
``difference``       mean of d with its t interval
``bootstrap``        its bias-corrected (BCa) bootstrap interval, for skewed d
``p_value``          two-sided paired t-test of a mean of 0
``p_holm``           the same, with Holm's correction for all pairs compared [1]_
``wins``             share of trials in which A has less regret than B, a tie counts half
===================  ==================================================================

References
----------
.. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
   Journal of Statistics 6, 1979.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import xarray
from scipy import stats

from hrprob._core.errors import InvalidInput, check_number
from hrprob._core.keywords import nearest_keywords
from hrprob.comparison.estimates import estimate, growth_exponent, rate_ratio
from hrprob.comparison.records import Comparison, Pair, Standing
from hrprob.numerics.multiple_testing import holm
from hrprob.simulation.reading import beliefs_in_words, oracles_of

__all__ = ["Comparison", "Pair", "Standing", "compare", "compare_pair"]

_RESAMPLES = 4999


@nearest_keywords
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
        The result of :func:`~hrprob.simulation.engine.simulate`.
    baseline : str, optional
        Compare all others with this policy; by default all pairs.
    at : int, optional
        The user at which regrets are compared; by default the last.
    level : float
        Probability, over all pairs, of calling equal policies different.

    Examples
    --------
    >>> import hrprob
    >>> policies = [hrprob.Greedy(), hrprob.Random(), hrprob.Oracle()]
    >>> result = hrprob.simulate(hrprob.Problem(), policies, users=100, trials=6)  # slow
    >>> comparison = compare(result, baseline="random")
    >>> comparison.leader, [comparison.different(pair) for pair in comparison.pairs]
    ('greedy', [True])
    """
    oracles = oracles_of(result)
    _check(result, baseline, level, oracles)
    user = _user(result, at)
    regret = result.regret.sel(user=user)
    names = [str(name) for name in regret.mean("trial").sortby(regret.mean("trial")).policy.values]
    rivals = [name for name in names if name not in oracles]
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
        oracles=oracles,
        standings=[_standing(result, name, user) for name in names],
        pairs=sorted(pairs, key=lambda pair: pair.p_holm),
        unit=str(result.regret.attrs.get("units", "rounds")),
        misspecified=beliefs_in_words(result),
    )


def compare_pair(policy: str, other: str, regret: np.ndarray, other_regret: np.ndarray) -> Pair:
    """Compare two policies by their regrets (trials,); ``p_holm`` is not corrected yet.

    Examples
    --------
    >>> pair = compare_pair("a", "b", np.array([1.0, 2.0, 3.0, 5.0]), np.array([4.0, 4.0, 6.0, 7.0]))
    >>> pair.difference.mean, pair.wins, round(pair.p_value, 4)
    (-2.5, 1.0, 0.0032)
    """
    one, two = np.asarray(regret, dtype=float), np.asarray(other_regret, dtype=float)
    # Two infinite regrets count as equal.
    equal = one == two
    difference = np.where(equal, 0.0, one - np.where(equal, 0.0, two))
    wins = float(np.mean((difference < 0) + 0.5 * (difference == 0)))
    low, high = _wilson(wins, len(difference))
    p = _p_value(difference)
    return Pair(policy, other, estimate(difference), _bootstrap(difference), p, p, wins, low, high)


def _p_value(difference: np.ndarray) -> float:
    if len(difference) < 2 or np.ptp(difference) == 0:
        # Differences without variance allow no test: they are zero in all trials, or certain.
        return 1.0 if len(difference) < 2 or difference[0] == 0 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _bootstrap(difference: np.ndarray) -> tuple[float, float]:
    if len(difference) < 2 or np.ptp(difference) == 0:
        return (math.nan, math.nan) if len(difference) < 2 else (float(difference[0]),) * 2
    # Fewer than about ten trials cannot show skewness, and the correction for it can fail.
    method = "BCa" if len(difference) >= 10 else "percentile"
    interval = stats.bootstrap(
        (difference,), np.mean, n_resamples=_RESAMPLES, method=method, rng=np.random.default_rng(0)
    ).confidence_interval
    return float(interval.low), float(interval.high)


def _wilson(share: float, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a proportion."""
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


def _check(result: xarray.Dataset, baseline: str | None, level: float, oracles: tuple[str, ...]) -> None:
    names = [str(name) for name in result.policy.values if name not in oracles]
    if len(names) < 2:
        raise InvalidInput(
            "policies", "must be two at least", names, "there is no other policy to compare with"
        )
    if baseline is not None and baseline not in names:
        raise InvalidInput(
            "baseline", f"must be one of {', '.join(names)}", baseline, "it is a policy's name"
        )
    remedy = "it is the probability of calling equal policies different"
    check_number("level", level, low=0, high=1, open_low=True, open_high=True, remedy=remedy)


def _user(result: xarray.Dataset, at: int | None) -> int:
    kept = result.user.values
    if at is None:
        return int(kept[-1])
    if at not in kept:
        near = int(kept[np.argmin(np.abs(kept - at))])
        raise InvalidInput("at", "must be a user that the result has", at, f"the nearest is {near}")
    return int(at)
