"""All checks of a posterior, the verdicts that they add up to, and the answer."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hrprob.fitting.checks.base import ERROR_RATE, TESTED_AT, Check, Evidence, make_checks
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.io.json_files import finite_tree
from hrprob.io.verdicts import FAILS, PASSES, UNDECIDED, Answer, Verdict, conclude
from hrprob.numerics.multiple_testing import holm

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["QUESTION", "Checked", "check"]


QUESTION = "Can this posterior be trusted on these data?"
"""The title of the page."""


class Checked(NamedTuple):
    """A checked posterior: answer, verdicts and the result of every check."""

    inputs: CheckInputs
    checks: tuple[Check, ...]
    results: Mapping[str, object]  # by kind
    answer: Answer

    def __repr__(self) -> str:
        return f"<Checked: {self.answer.sentence}>"

    def __str__(self) -> str:
        return "\n".join(self.answer.lines())

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(str(verdict))}</li>" for verdict in self.answer.verdicts)
        return f"<p><b>{html.escape(self.answer.sentence)}</b></p><ul>{items}</ul>"

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts: fails first, then what is undecided, then what passes."""
        return self.answer.verdicts

    @property
    def scores(self) -> dict[str, float] | None:
        """Prequential score of every user, in the order of arrival; their sum is the log marginal likelihood.

        Rounds whose predictions are not usable (:attr:`.prequential.Prequential.usable`) do not count.

        None where rounds have no users, or the model no predictions of rounds from those before.
        """
        made, users, labels = self.inputs.prequential, self.inputs.users, self.inputs.table.user
        if made is None or users is None or labels is None:
            return None
        first = np.unique(users, return_index=True)[1]
        sums = np.bincount(users, np.where(made.usable, made.log_density, 0.0))
        return {str(labels[at]): float(total) for at, total in zip(first, sums, strict=True)}

    def to_plain(self) -> dict[str, object]:
        """Return the content of ``check.json``."""
        made = self.inputs.__dict__.get("prequential")
        scores = (
            {}
            if made is None
            else {
                "log_marginal_likelihood": {
                    "value": made.log_marginal_likelihood,
                    "error": made.error,
                    "left_out": int(np.sum(~made.usable)),
                    **({"by_user": self.scores} if self.scores else {}),
                }
            }
        )
        numbers = {one.kind: dict(one.to_plain(self.results[one.kind])) for one in self.checks}
        every = self.answer.to_plain() | {"wanted_error_rate": ERROR_RATE} | scores | {"checks": numbers}
        return {key: finite_tree(value) for key, value in every.items()}

    def write(self, out: str | Path) -> None:
        """Write page, figures and ``check.json`` into a folder, whole or not at all."""
        from hrprob.fitting.checks.page import write_checked

        write_checked(self, out)


def check(posterior: Posterior, *, quick: bool = False, checks: Sequence[object] | None = None) -> Checked:
    """Return what :meth:`hrprob.Posterior.check` documents."""
    chosen = make_checks(checks, quick)
    inputs = CheckInputs(posterior, TESTED_AT / len(chosen))
    results = {one.kind: one.compute(inputs) for one in chosen}
    found = {one.kind: one.evidence(results[one.kind]) for one in chosen}
    remedies = {one.kind: one.advice(posterior) for one in chosen}
    verdicts = decide(found, remedies, more_rounds(found, len(posterior.table)))
    return Checked(inputs, chosen, results, conclude(verdicts, question=QUESTION))


def more_rounds(found: Mapping[str, Evidence], rounds: int) -> str:
    """Return about how many rounds would decide what is undecided, in words.

    Examples
    --------
    >>> more_rounds({"mean": Evidence("", p_value=0.4, resolution=2.7), "users": Evidence("", p_value=0.4, resolution=3.2)}, 122)
    'about 1300 rounds like these'
    >>> more_rounds({"shape": Evidence("few", p_value=0.4)}, 122)
    'more than 122 rounds'
    """
    most = max(
        (one.resolution for one in found.values() if one.sound is None and not one.within), default=1.0
    )
    if not 1.0 < most < math.inf:
        return f"more than {rounds} rounds"
    wanted = rounds * most**2
    unit = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return f"about {math.ceil(wanted / unit) * unit:.0f} rounds like these"


def decide(
    found: Mapping[str, Evidence], remedies: Mapping[str, str] | None = None, more: str = ""
) -> list[Verdict]:
    """Return the verdicts of some evidence, by kind; p-values are adjusted by Holm's procedure.

    Parameters
    ----------
    found : mapping
        The evidence.
    remedies : mapping, optional
        What to do about each kind that fails.
    more : str
        What may decide what is undecided, unless the evidence says it.

    Examples
    --------
    >>> [one.verdict for one in decide({
    ...     "shape": Evidence("heavy tails", p_value=0.001), "mean": Evidence("right", p_value=0.4, within=True),
    ...     "draws": Evidence("few", sound=None)})]
    ['fails', 'passes', 'undecided']
    """
    tested = [kind for kind, one in found.items() if one.p_value is not None]
    adjusted = dict(zip(tested, holm(np.array([found[kind].p_value for kind in tested])), strict=True))
    verdicts = []
    for kind, one in found.items():
        sound = one.sound
        if kind in adjusted:
            sound = False if adjusted[kind] < TESTED_AT else True if one.within else None
        end = {True: PASSES, False: FAILS, None: UNDECIDED}[sound]
        by = more if one.decided_by is None else one.decided_by
        remedy = {PASSES: "", FAILS: one.remedy or (remedies or {}).get(kind, ""), UNDECIDED: by}[end]
        verdicts.append(Verdict(kind, end, one.statement, one.detectable, remedy))
    return verdicts
