"""Verdicts with three ends, and the one answer that they add up to.

A verdict *passes*, *fails* or is *undecided*; it says what could have been detected. A page's question is answered
*no* if any verdict fails, *yes* if all pass, and *cannot tell* otherwise: not to reject is not to confirm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["FAILS", "MARKS", "MOST_LINES", "PASSES", "UNDECIDED", "Answer", "Verdict", "conclude"]

PASSES, FAILS, UNDECIDED = "passes", "fails", "undecided"
MARKS = {PASSES: "✓", FAILS: "✗", UNDECIDED: "·"}
"""The sign before a verdict in lines of text."""
MOST_LINES = 5
"""Verdicts that stand below the answer; the others are folded."""


class Verdict(NamedTuple):
    """One conclusion: how it ended, in words, and what could have been detected."""

    name: str
    verdict: str
    statement: str
    detectable: str = ""

    def __str__(self) -> str:
        return f"{MARKS[self.verdict]} {self.name}: {self.statement}" + (
            f" ({self.detectable})" if self.detectable else ""
        )


class Answer(NamedTuple):
    """The answer to a page's question: yes, no or cannot tell, why, and the verdicts behind it."""

    answer: str
    sentence: str
    verdicts: list[Verdict]  # fails first, then what is undecided, then what passes

    @property
    def shown(self) -> list[Verdict]:
        """The verdicts that stand below the answer."""
        return self.verdicts[:MOST_LINES]

    @property
    def folded(self) -> list[Verdict]:
        """The others."""
        return self.verdicts[MOST_LINES:]

    def lines(self) -> list[str]:
        """Return the answer and at most five verdicts, as lines of text."""
        rest = f"  and {len(self.folded)} more" if self.folded else ""
        return [self.sentence, *(f"  {verdict}" for verdict in self.shown), *([rest] if rest else [])]

    def to_plain(self) -> dict[str, object]:
        """Return answer and verdicts as plain data."""
        return {
            "answer": self.answer,
            "sentence": self.sentence,
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
        }


def conclude(verdicts: Sequence[Verdict], remedy: str = "") -> Answer:
    """Return the answer that verdicts add up to, in one sentence with its reason.

    Parameters
    ----------
    verdicts : sequence of Verdict
        All that count.
    remedy : str
        What to run to decide what is undecided, as far as it can be.

    Examples
    --------
    >>> conclude([Verdict("variance", "fails", "it rises with x1²"), Verdict("shape", "passes", "normal")]).sentence
    'No: 1 of 2 checks fails (variance).'
    >>> conclude([Verdict("shape", "undecided", "few rounds")], "more rounds").sentence
    'Cannot tell: nothing fails, but 1 of 1 checks is undecided (shape); more rounds may decide.'
    >>> conclude([Verdict("shape", "passes", "normal")]).sentence
    'Yes: the only check passes.'
    """
    by_end = {
        end: _spread([one for one in verdicts if one.verdict == end]) for end in (FAILS, UNDECIDED, PASSES)
    }
    ordered = [*by_end[FAILS], *by_end[UNDECIDED], *by_end[PASSES]]
    for answer, words, end in (
        ("no", "No: ", FAILS),
        ("cannot tell", "Cannot tell: nothing fails, but ", UNDECIDED),
    ):
        if by_end[end]:
            count, verb = (
                len(by_end[end]),
                {FAILS: ("fails", "fail"), UNDECIDED: ("is undecided", "are undecided")},
            )
            names = ", ".join(dict.fromkeys(one.name for one in by_end[end]))
            more = f"; {remedy} may decide" if remedy and end == UNDECIDED else ""
            sentence = f"{words}{count} of {len(verdicts)} checks {verb[end][count > 1]} ({names}){more}."
            return Answer(answer, sentence, ordered)
    if not verdicts:
        return Answer("cannot tell", "Cannot tell: nothing was checked.", [])
    number = "the only check passes" if len(verdicts) == 1 else f"all {len(verdicts)} checks pass"
    return Answer("yes", f"Yes: {number}.", ordered)


def _spread(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the first verdict of each name before the second of any: the few that are shown tell more."""
    seen: dict[str, int] = {}
    turn = []
    for one in verdicts:
        seen[one.name] = seen.get(one.name, 0) + 1
        turn.append(seen[one.name])
    return [one for _, one in sorted(zip(turn, verdicts, strict=True), key=lambda pair: pair[0])]
