"""Verdicts with three ends, and the one answer that they add up to: the frame of every page and its printed text.

A verdict *passes*, *fails* or is *undecided*; it says what could have been detected. A page's question is its title. It is
answered *no* if any verdict fails, *yes* if all pass, and *cannot tell* otherwise: not to reject is not to confirm. ``check``,
``diagnose`` and ``reproduce`` conclude so; ``compare`` has a rule of its own (:mod:`hrprob.comparison.answer`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "FAILS",
    "MARKS",
    "MOST_LINES",
    "PASSES",
    "UNDECIDED",
    "Answer",
    "Verdict",
    "conclude",
    "conclude_words",
]

PASSES, FAILS, UNDECIDED = "passes", "fails", "undecided"
MARKS = {PASSES: "✓", FAILS: "✗", UNDECIDED: "·"}
"""The sign before a verdict in lines of text."""
MOST_LINES = 5
"""Verdicts that stand below the answer; the others are folded."""
# Names of more characters together are left out of the sentence.
_LONG = 100


class Verdict(NamedTuple):
    """One conclusion: how it ended, in words, what could have been detected, and what to do about it."""

    name: str
    verdict: str
    statement: str
    detectable: str = ""
    remedy: str = ""  # of what fails; what may decide what is undecided

    def __str__(self) -> str:
        seen = f" ({self.detectable})" if self.detectable else ""
        return f"{MARKS[self.verdict]} {self.name}: {self.statement}{seen}{self.advice}"

    @property
    def advice(self) -> str:
        """The remedy of what fails, as the end of a line; what decides the undecided is told once, in the answer."""
        return f". Try: {self.remedy}" if self.remedy and self.verdict == FAILS else ""

    def short(self) -> str:
        """Return mark, name and the first clause of the statement.

        Examples
        --------
        >>> Verdict("Panel a", "passes", "agrees; at user 30000 ours is 812").short()
        '✓ Panel a: agrees'
        """
        clause = re.split(r"; |\. ", self.statement, maxsplit=1)[0].removesuffix(".")
        return f"{MARKS[self.verdict]} {self.name}: {clause}"


class Answer(NamedTuple):
    """The answer to a page's question: yes, no or cannot tell, why, and the verdicts behind it."""

    answer: str
    sentence: str
    verdicts: list[Verdict]  # those that decide first
    question: str = ""  # the title of the page

    @property
    def shown(self) -> list[Verdict]:
        """The verdicts that stand below the answer."""
        return self.verdicts[:MOST_LINES]

    @property
    def folded(self) -> list[Verdict]:
        """The others."""
        return self.verdicts[MOST_LINES:]

    def lines(self, *, short: bool = False) -> list[str]:
        """Return question, answer and at most five verdicts, as lines of text; ``short``: of each its first clause."""
        rest = [f"  and {len(self.folded)} more"] if self.folded else []
        asked = [self.question] if self.question else []
        shown = [one.short() if short else str(one) for one in self.shown]
        return [*asked, self.sentence, *(f"  {one}" for one in shown), *rest]

    def to_plain(self) -> dict[str, object]:
        """Return answer and verdicts as plain data, and the remedies by the names of the verdicts that have one."""
        keys = ("name", "verdict", "statement", "detectable")
        return {
            "question": self.question,
            "answer": self.answer,
            "sentence": self.sentence,
            "verdicts": [{key: getattr(one, key) for key in keys} for one in self.verdicts],
            "remedies": {one.name: one.remedy for one in self.verdicts if one.remedy},
        }


def conclude(
    verdicts: Sequence[Verdict], remedy: str = "", question: str = "", noun: str = "checks"
) -> Answer:
    """Return the answer that verdicts add up to, in one sentence with its reason.

    Parameters
    ----------
    verdicts : sequence of Verdict
        All that count.
    remedy : str
        What to run to decide what is undecided, where the verdicts themselves do not say it.
    question : str
        The question, the title of its page.
    noun : str
        What the verdicts are about, in the plural.

    Examples
    --------
    >>> conclude([Verdict("variance", "fails", "it rises with x1²"), Verdict("shape", "passes", "normal")]).sentence
    'No: 1 of 2 checks fails (variance); 1 passes.'
    >>> conclude([Verdict("shape", "undecided", "few rounds")], "more rounds").sentence
    'Cannot tell: nothing fails, but 1 of 1 checks is undecided (shape); more rounds may decide.'
    >>> conclude([Verdict("shape", "passes", "normal")]).sentence
    'Yes: the only check passes.'
    """
    by_end = {
        end: _spread([one for one in verdicts if one.verdict == end]) for end in (FAILS, UNDECIDED, PASSES)
    }
    ordered = [*by_end[FAILS], *by_end[UNDECIDED], *by_end[PASSES]]
    total = f"of {len(verdicts)} {noun}"
    if by_end[FAILS]:
        rest = [_counted(len(by_end[end]), end) for end in (PASSES, UNDECIDED) if by_end[end]]
        why = f"{_counted(len(by_end[FAILS]), FAILS, total)}{_named(by_end[FAILS])}"
        return Answer(
            "no", f"No: {'; '.join([why, *([', '.join(rest)] if rest else [])])}.", ordered, question
        )
    if by_end[UNDECIDED]:
        decisive = list(dict.fromkeys(one.remedy for one in by_end[UNDECIDED] if one.remedy)) or [remedy]
        more = f"; {'; '.join(decisive)} may decide" if any(decisive) else ""
        why = f"{_counted(len(by_end[UNDECIDED]), UNDECIDED, total)}{_named(by_end[UNDECIDED])}{more}"
        return Answer("cannot tell", f"Cannot tell: nothing fails, but {why}.", ordered, question)
    if not verdicts:
        return Answer("cannot tell", "Cannot tell: nothing was checked.", [], question)
    number = (
        f"the only {noun.removesuffix('s')} passes"
        if len(verdicts) == 1
        else f"all {len(verdicts)} {noun} pass"
    )
    return Answer("yes", f"Yes: {number}.", ordered, question)


def conclude_words(
    found: Sequence[tuple[bool | None, str]], question: str, noun: str, remedy: str = ""
) -> Answer:
    r"""Return the answer of findings in words, each good, bad or neither; a name stands before the first colon.

    ``remedy`` is what to run to decide what is undecided.

    Examples
    --------
    >>> print(*conclude_words([(False, "Lemma 2: a ≤ b: fails. In 3 of 10 trials.")], "Does it hold?", "claims").lines(short=True), sep="\n")
    Does it hold?
    No: 1 of 1 claims fails (Lemma 2).
      ✗ Lemma 2: a ≤ b: fails
    """
    ends = {True: PASSES, False: FAILS, None: UNDECIDED}
    parts = [(good, *words.partition(": ")) for good, words in found]
    verdicts = [Verdict(name, ends[good], statement) for good, name, _, statement in parts]
    return conclude(verdicts, remedy, question, noun)


_VERBS = {FAILS: ("fails", "fail"), UNDECIDED: ("is undecided", "are undecided"), PASSES: ("passes", "pass")}


def _counted(count: int, end: str, total: str = "") -> str:
    """Return how many verdicts ended so: "2 of 5 checks fail"."""
    return " ".join(part for part in (str(count), total, _VERBS[end][count > 1]) if part)


def _named(verdicts: Sequence[Verdict]) -> str:
    """Return the names of some verdicts in brackets, each once; nothing where they are long and stand below anyway."""
    names = ", ".join(dict.fromkeys(one.name for one in verdicts))
    return f" ({names})" if len(names) <= _LONG else ""


def _spread(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the first verdict of each name before the second of any: the few that are shown tell more."""
    seen: dict[str, int] = {}
    turn = []
    for one in verdicts:
        seen[one.name] = seen.get(one.name, 0) + 1
        turn.append(seen[one.name])
    return [one for _, one in sorted(zip(turn, verdicts, strict=True), key=lambda pair: pair[0])]
