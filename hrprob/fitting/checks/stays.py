r"""Do users stay as long as predicted? Reneging round by round, and stays replayed with the stopping rule.

- **Round by round**: a user leaves in round i with probability P(r_i < β | past). The differences between what happened
  and these probabilities are a martingale.
- **Replayed**: for draws from the posterior every user plays again until an outcome lies below β, under the contexts that
  the user had and the last of them from then on; every replicated stay has its own length. A recorded stay whose last
  outcome is not below β was cut off there, and so are its replicates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from hrprob import plot
from hrprob._core.formatting import format_number, percent, signed
from hrprob.fitting.checks.base import NO_PREDICTIONS, Check, CheckFigure, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.predicting import CHUNK, predict_chunk
from hrprob.numerics.power import detectable_difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Replayed", "StaysCheck", "StaysResult", "replay"]

# Relative error of the number of departures that does not matter.
_MARGIN = 0.25
# Departures that a normal approximation needs.
_LEAST_EXPECTED = 8.0
_EDGES = np.array([1, 2, 3, 5, 9, 17, 33, 65, np.inf])


class Replayed(NamedTuple):
    """Lengths of stays: observed (users,), and in replicated data (draws, users)."""

    observed: np.ndarray
    replicated: np.ndarray

    @property
    def overlap(self) -> tuple[float, float]:
        """The overlap of observed and predicted lengths (1 if equal), and its 5 % quantile among replicates."""
        predicted = _shares(self.replicated.ravel())
        each = [np.minimum(_shares(one), predicted).sum() for one in self.replicated]
        return float(np.minimum(_shares(self.observed), predicted).sum()), float(np.quantile(each, 0.05))


class StaysResult(NamedTuple):
    """Departures, observed minus expected, relative to the expected, and replayed stays."""

    missing: Evidence | None  # what is said where there are none
    excess: float
    se: float
    p_values: dict[str, float]
    replayed: Replayed | None
    level: float


@register("stays")
class StaysCheck(Check[StaysResult]):
    """Departures against their predicted probabilities, and replayed stays."""

    title = "Stays"
    order = 6.0
    remedy = "see which other check fails"

    def compute(self, inputs: CheckInputs) -> StaysResult:
        """Return departures and replayed stays."""
        made, table, users = inputs.prequential, inputs.table, inputs.users

        def without(missing: Evidence) -> StaysResult:
            return StaysResult(missing, math.nan, math.nan, {}, None, inputs.level)

        if table.beta is None or users is None:
            words = "the table has no satisfaction levels `beta`, or no users"
            return without(Evidence(words, decided_by="columns of users and of `beta`"))
        if made is None or inputs.unpredicted:
            return without(inputs.unpredicted or NO_PREDICTIONS)
        left, leaves = (table.r < table.beta)[made.usable], made.leaves[made.usable]
        expected, variance = float(leaves.sum()), float(np.sum(leaves * (1.0 - leaves)))
        if variance < _LEAST_EXPECTED:
            return without(Evidence(f"only {variance:.1f} departures can be told from chance"))
        excess = float(left.sum()) - expected
        p_values = {"departures": float(2.0 * stats.norm.sf(abs(excess) / math.sqrt(variance)))}
        replayed = replay(inputs)
        for name, statistic in (("log length", _mean_log), ("stays of one round", _share_of_one)):
            by_replicate = np.array([statistic(one) for one in replayed.replicated])
            distance = abs(statistic(replayed.observed) - by_replicate.mean()) / max(
                by_replicate.std(), 1e-12
            )
            p_values[name] = float(2.0 * stats.norm.sf(distance))
        return StaysResult(
            None, excess / expected, math.sqrt(variance) / expected, p_values, replayed, inputs.level
        )

    def evidence(self, result: StaysResult) -> Evidence:
        """Return whether users stay as long as predicted."""
        if result.replayed is None:
            return result.missing or NO_PREDICTIONS
        overlap, usual = result.replayed.overlap
        seen = detectable_difference(result.se, math.inf, result.level / len(result.p_values))
        return Evidence(
            f"departures {signed(100 * result.excess, 0)} ± {format_number(100 * result.se, 0)} % beyond those "
            f"expected; predicted and observed lengths overlap by {percent(overlap)} (95 % of replicates: at least "
            f"{percent(usual)})",
            f"detects probabilities of leaving off by {format_number(100 * seen, 0)} %",
            min(1.0, len(result.p_values) * min(result.p_values.values())),
            abs(result.excess) + stats.norm.ppf(0.95) * result.se <= _MARGIN,
            resolution=seen / _MARGIN,
        )

    def figures(self, result: StaysResult) -> list[CheckFigure]:
        """Return observed and replayed lengths."""
        if result.replayed is None:
            return []
        replayed = result.replayed
        caption = "Lengths of stays: observed (points), and 90 % of replicates that replay the stopping rule (bars)."
        return [CheckFigure("stays", caption, lambda: plot_stays(replayed))]

    def to_plain(self, result: StaysResult) -> Mapping[str, object]:
        """Return departures, p-values and the overlap."""
        if result.replayed is None:
            return {}
        overlap, usual = result.replayed.overlap
        return {
            "excess": result.excess,
            "se": result.se,
            "p_values": result.p_values,
            "overlap": overlap,
            "overlap_of_replicates": usual,
        }


def replay(inputs: CheckInputs, replicates: int = 256) -> Replayed:
    """Return the lengths of stays, observed and in data replicated with the stopping rule."""
    posterior, table, users = inputs.posterior, inputs.table, inputs.users
    assert users is not None
    assert table.beta is not None
    flat = posterior.flat()
    picks = np.linspace(0, len(flat["theta"]) - 1, min(1024, len(flat["theta"]))).astype(int)
    step = max(1, len(picks) // replicates)
    rng = np.random.default_rng(posterior.seed)
    count = int(users.max()) + 1
    size = len(picks[::step])
    length, alive = np.zeros((size, count)), np.ones((size, count), bool)
    last = np.ones((size, count))
    for start in range(0, len(table), CHUNK):
        stop = min(start + CHUNK, len(table))
        chunk = predict_chunk(posterior.target, flat["theta"][picks], flat["phi"][picks], table, start, stop)
        leaves = chunk.leaves[::step]
        ends = rng.uniform(size=leaves.shape) < leaves
        for place, user in enumerate(users[start:stop]):
            length[:, user] += alive[:, user]
            alive[:, user] &= ~ends[:, place]
            last[:, user] = leaves[:, place]
    observed = np.bincount(users, minlength=count).astype(float)
    # A stay that was cut off, as its last outcome is not below β, has replicates that are cut off too.
    final = np.zeros(count, bool)
    final[users] = table.r < table.beta  # the last assignment is that of the last round
    beyond = rng.geometric(np.clip(last, 1e-9, 1.0))
    return Replayed(observed, np.where(alive & final, length + beyond, length))


def _mean_log(lengths: np.ndarray) -> float:
    return float(np.mean(np.log(lengths)))


def _share_of_one(lengths: np.ndarray) -> float:
    return float(np.mean(lengths == 1))


def _shares(lengths: np.ndarray) -> np.ndarray:
    return np.histogram(lengths, _EDGES)[0] / lengths.size


def plot_stays(replayed: Replayed) -> Figure:
    """Draw shares of stays by length: observed, and the 90 % interval of replicates."""
    from matplotlib.figure import Figure

    labels = ["1", "2", "3–4", "5–8", "9–16", "17–32", "33–64", "65+"]
    each = np.array([_shares(one) for one in replayed.replicated])
    low, high = np.quantile(each, [0.05, 0.95], axis=0)
    with plot.style():
        figure = Figure(figsize=(plot.COLUMN_WIDTH, 2.0), layout="constrained")
        axes = figure.subplots()
        places = np.arange(len(labels))
        axes.bar(places, high - low, bottom=low, color=plot.BAND)
        axes.plot(places, _shares(replayed.observed), "o")
        axes.set_xticks(places, labels)
        axes.set_xlabel("rounds of a stay")
        axes.set_ylabel("share of users")
    return figure
