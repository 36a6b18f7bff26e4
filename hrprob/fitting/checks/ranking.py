"""Models ranked by how well they predict: prequential score and leave-one-out, with the error of the differences.

The prequential score is the log marginal likelihood (:mod:`.prequential`), given those rounds that some model cannot predict from the ones
before: valid however contexts were chosen. Its difference between two models is summed by user, and its standard error is that of the users' sum.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import format_number, listed, with_error
from hrprob._core.records import describe
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.io.result_table import ResultTable

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior
    from hrprob.models import Model

__all__ = ["Ranked", "Ranking", "distinct", "labels", "rank"]

# Standard errors that a difference must exceed to be called one.
_CLEAR = 2.0


class Ranked(NamedTuple):
    """One model: its scores, and how far it is behind the first by each; None where a score does not exist."""

    model: str
    score: float | None
    behind: float | None
    behind_se: float | None
    elpd: float
    elpd_behind: float
    elpd_behind_se: float
    bad_k: float

    @property
    def gap(self) -> tuple[float, float]:
        """How far it is behind the first, with the standard error: by prequential score where there is one."""
        if self.behind is None or self.behind_se is None:
            return self.elpd_behind, self.elpd_behind_se
        return self.behind, self.behind_se


class Ranking(NamedTuple):
    """Models, the best first."""

    rows: list[Ranked]

    @property
    def sentence(self) -> str:
        """Which model predicts best, which are clearly behind, and which are not.

        Examples
        --------
        >>> print(Ranking([Ranked("normal", -90.0, 0.0, 0.0, -91.0, 0.0, 0.0, 0.0),
        ...                Ranked("mixture", -93.0, 3.0, 2.9, -94.0, 3.0, 2.8, 0.0),
        ...                Ranked("student-t", -150.0, 60.0, 21.0, -151.0, 60.0, 21.0, 0.0)]).sentence)
        normal comes first. Behind it by more than two standard errors: student-t. By less, which decides nothing: mixture.
        """
        first, *others = self.rows
        behind = [one.model for one in others if one.gap[0] > _CLEAR * one.gap[1]]
        undecided = [one.model for one in others if one.model not in behind]
        if not undecided:
            return (
                f"{first.model} predicts best: every other model is behind by more than two standard errors."
            )
        clear = f" Behind it by more than two standard errors: {', '.join(behind)}." if behind else ""
        rest = "By less" if behind else "Behind it by less than two standard errors"
        return f"{first.model} comes first.{clear} {rest}, which decides nothing: {', '.join(undecided)}."

    def as_table(self) -> ResultTable:
        """Return the ranking as a table."""

        def pair(value: float | None, error: float | None) -> str:
            return "–" if value is None or error is None else with_error(value, error)

        rows = [
            [
                one.model,
                "–" if one.score is None else format_number(one.score, 1),
                pair(one.behind, one.behind_se),
                format_number(one.elpd, 1),
                pair(one.elpd_behind, one.elpd_behind_se),
                f"{100 * one.bad_k:.1f} %",
            ]
            for one in self.rows
        ]
        header = ["model", "prequential score", "behind", "elpd (leave one out)", "behind", "k̂ above 0.7"]
        return ResultTable(
            header,
            rows,
            "Sums over all rounds, in nats, the best first; behind: difference from the first ± its standard error over users.",
        )

    def to_plain(self) -> dict[str, object]:
        """Return the ranking as plain data."""
        return {"models": [one._asdict() for one in self.rows], "sentence": self.sentence}


def distinct(models: Sequence[Model]) -> list[Model]:
    """Return the models without those that are equal to an earlier one.

    Examples
    --------
    >>> from hrprob.models import make_model
    >>> written = ["gaussian", "student-t", {"kind": "student-t", "df": 5.0}, "gaussian"]
    >>> labels(distinct([make_model(one) for one in written]))
    ['gaussian', 'student-t']
    """
    described = [describe(model) for model in models]
    return [model for index, model in enumerate(models) if described[index] not in described[:index]]


def labels(models: Sequence[Model]) -> list[str]:
    """Return a name for each model: its kind, with the parameters that differ where several are of one kind.

    Examples
    --------
    >>> from hrprob.models import make_model
    >>> labels([make_model({"kind": "student-t", "df": df}) for df in (3.0, 5.0)] + [make_model("gaussian")])
    ['student-t (df 3)', 'student-t (df 5)', 'gaussian']
    """
    described = [describe(model) for model in models]
    found = []
    for one in described:
        same = [other for other in described if other["kind"] == one["kind"]]
        differing = [key for key in one if any(other.get(key) != one[key] for other in same)]
        words = ", ".join(f"{key} {_written(one[key])}" for key in differing)
        found.append(f"{one['kind']} ({words})" if words else str(one["kind"]))
    return found


def _written(value: object) -> str:
    return format_number(value) if isinstance(value, int | float) else str(value)


def rank(posteriors: Sequence[Posterior]) -> Ranking:
    """Return the ranking of posteriors of the same rounds under different models.

    The first is the one with the largest prequential score, or by leave-one-out where some model has no such score.
    """
    models = [one.target.model for one in posteriors]
    if len({len(one.table) for one in posteriors}) > 1 or len(distinct(models)) < max(2, len(models)):
        must = "must be two or more of the same rounds, under different models"
        raise InvalidInput("posteriors", must, listed(labels(models)), "fit one table, each model once")
    inputs = [CheckInputs(one, 0.05) for one in posteriors]
    users = inputs[0].users
    groups = np.arange(len(posteriors[0].table)) if users is None else users
    made = [one.prequential for one in inputs]
    # The rounds that every model predicts: a comparison of scores is one of the same rounds.
    usable = functools.reduce(
        np.logical_and, [one.usable for one in made if one], np.ones(len(posteriors[0].table), dtype=bool)
    )
    scores = [None if one is None else np.where(usable, one.log_density, 0.0) for one in made]
    left = [one.left_out for one in inputs]
    known = [score for score in scores if score is not None]
    by_score = known if len(known) == len(scores) else [out.elpd for out in left]
    value = [float(np.sum(one)) for one in by_score]
    order = np.argsort(value)[::-1]
    best, names = int(order[0]), labels(models)
    rows = []
    for index in map(int, order):
        score, first = scores[index], scores[best]
        behind = None if score is None or first is None else _difference(first - score, groups)
        elpd_behind = _difference(left[best].elpd - left[index].elpd, groups)
        rows.append(
            Ranked(
                names[index],
                None if score is None else float(np.sum(score)),
                None if behind is None else behind[0],
                None if behind is None else behind[1],
                float(np.sum(left[index].elpd)),
                *elpd_behind,
                float(np.mean(left[index].pareto_k > 0.7)),
            )
        )
    return Ranking(rows)


def _difference(by_round: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """Return a sum over rounds and its standard error over users."""
    sums = np.bincount(groups, by_round)
    error = float(np.std(sums, ddof=1)) * math.sqrt(sums.size) if sums.size > 1 else 0.0
    return float(sums.sum()), error
