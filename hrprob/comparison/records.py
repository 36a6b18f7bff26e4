"""What a comparison consists of: policies by themselves, pairs, and all of them with a sentence and tables."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hrprob._core.errors import check_choice
from hrprob.comparison.estimates import Estimate
from hrprob.comparison.headline import headline
from hrprob.comparison.tables import pairs_table, standings_table, summary_table
from hrprob.io.json_files import finite_or_none
from hrprob.io.result_table import ResultTable, frame_of
from hrprob.numerics.power import detectable_difference

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "Pair", "Standing", "plain_record"]


class Standing(NamedTuple):
    """One policy by itself."""

    policy: str
    regret: Estimate
    lifetime: Estimate  # realised, mean over all users
    expected_lifetime: Estimate  # the oracle's value minus the regret, per user
    optimal: float  # share of users whose first action was best
    exponent: Estimate  # growth exponent
    ratio: Estimate  # rate ratio
    microseconds: float  # computing time per user and trial


class Pair(NamedTuple):
    """Two policies: the regret of ``policy`` minus that of ``other``."""

    policy: str
    other: str
    difference: Estimate
    bootstrap: tuple[float, float]
    p_value: float
    p_holm: float
    wins: float  # probability that `policy` has less regret than `other`
    wins_low: float
    wins_high: float


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """The result of a comparison.

    Attributes
    ----------
    at : int
        The user at which regrets are compared.
    trials : int
        Number of trials, the same for all policies.
    level : float
        Probability, over all pairs, of calling equal policies different.
    baseline : str or None
        The policy that all others are compared with; None for all pairs.
    oracles : tuple of str
        Policies that know the truth and learn nothing: they have standings, and are not compared.
    standings : list of Standing
        The policies, smallest regret first.
    pairs : list of Pair
        The pairs, smallest p-value first.
    unit : str
        What regret is counted in.
    misspecified : mapping of str to list of str
        What policies assume that is not so, in words, by their names.
    """

    at: int
    trials: int
    level: float
    baseline: str | None
    oracles: tuple[str, ...]
    standings: list[Standing]
    pairs: list[Pair]
    unit: str = "rounds"
    misspecified: Mapping[str, list[str]] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Comparison of {len(self.rivals)} policies at user {self.at}, {self.trials} trials: "
            f"{self.leader} has the least mean regret>"
        )

    def __str__(self) -> str:
        return "\n\n".join([self.headline, str(summary_table(self)), *self.notes()])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return f"<p><b>{html.escape(self.headline)}</b></p>{summary_table(self)._repr_html_()}{notes}"

    @property
    def rivals(self) -> list[str]:
        """The policies that are compared, smallest mean regret first: all but the oracles."""
        return list(self.mean_regrets)

    @property
    def leader(self) -> str:
        """The policy of least mean regret."""
        return self.rivals[0]

    @property
    def mean_regrets(self) -> dict[str, float]:
        """Mean regret of every policy that is compared, by its name, the smallest first."""
        return {one.policy: one.regret.mean for one in self.standings if one.policy not in self.oracles}

    @property
    def headline(self) -> str:
        r"""Who won, in a sentence for a paper.

        It has three ends: a policy loses significantly less, significantly more, or the two are not
        significantly different, and then it says which difference would have been detected.

        Examples
        --------
        >>> import hrprob
        >>> policies = [hrprob.Greedy(), hrprob.Random()]
        >>> result = hrprob.simulate(hrprob.Problem(), policies, users=100, trials=6)  # slow
        >>> print(hrprob.compare(result).headline.replace("\xa0", " "))
        greedy loses 65 [53, 77] rounds less than random in 100 users (6 trials, 95 % interval, p < 0.001).
        """
        return headline(self)

    def notes(self) -> list[str]:
        """Return what a reader of the numbers must know: which policies hold wrong beliefs."""
        return [f"† {name} {words}." for name, beliefs in self.misspecified.items() for words in beliefs]

    def pair(self, policy: str, other: str) -> Pair:
        """Return one pair; raise KeyError if it was not compared."""
        for pair in self.pairs:
            if {pair.policy, pair.other} == {policy, other}:
                return pair
        raise KeyError(f"{policy!r} and {other!r} were not compared")

    def different(self, pair: Pair) -> bool:
        """Say whether two policies differ significantly."""
        return pair.p_holm <= self.level

    def detectable(self, pair: Pair) -> float:
        """Return the difference that would have been detected with probability 0.8, at the strictest of Holm's levels."""
        return detectable_difference(pair.difference.se, self.trials - 1, self.level / len(self.pairs))

    def to_frame(self, table: str = "standings") -> pandas.DataFrame:
        """Return a table of numbers.

        Parameters
        ----------
        table : {"standings", "pairs"}, default "standings"
            One row per policy, or one per pair.

        Examples
        --------
        >>> import hrprob
        >>> policies = [hrprob.Greedy(), hrprob.Random()]
        >>> result = hrprob.simulate(hrprob.Problem(), policies, users=100, trials=6)  # slow
        >>> hrprob.compare(result).to_frame("pairs")[["policy", "other", "different"]].values.tolist()
        [['greedy', 'random', True]]
        """
        check_choice("table", table, ("standings", "pairs"))
        rows = self.standings if table == "standings" else self.pairs
        return frame_of([_flat(row) | self._judged(row) for row in rows])

    def to_latex(self, table: str = "summary") -> str:
        r"""Return a LaTeX table for the package booktabs, with what it shows and what † means below it.

        Parameters
        ----------
        table : {"summary", "standings", "pairs"}, default "summary"
            Regrets and their differences from the leader or the baseline; every policy by itself; all pairs.
        """
        return self._table(table).to_latex(self.notes())

    def to_markdown(self, table: str = "summary") -> str:
        """Return a Markdown table, with what it shows and what † means below it.

        Parameters
        ----------
        table : {"summary", "standings", "pairs"}, default "summary"
            Regrets and their differences from the leader or the baseline; every policy by itself; all pairs.
        """
        return self._table(table).to_markdown(self.notes())

    def _table(self, name: str) -> ResultTable:
        makers = {"summary": summary_table, "standings": standings_table, "pairs": pairs_table}
        return makers[check_choice("table", name, tuple(makers))](self)

    def _judged(self, row: Standing | Pair) -> dict[str, object]:
        if isinstance(row, Pair):
            return {"different": self.different(row), "detectable": self.detectable(row)}
        return {"oracle": row.policy in self.oracles}

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as plain data; numbers that are not finite become None."""
        data = dataclasses.asdict(self)
        data["standings"] = [plain_record(standing) for standing in self.standings]
        data["pairs"] = [
            plain_record(pair)
            | {"different": self.different(pair), "detectable": finite_or_none(self.detectable(pair))}
            for pair in self.pairs
        ]
        return data | {"headline": self.headline}


def plain_record(record: NamedTuple) -> dict[str, object]:
    """Return a named tuple as plain data; numbers that are not finite become None."""

    def value(entry: object) -> object:
        if isinstance(entry, Estimate):
            return {name: value(part) for name, part in entry._asdict().items()}
        if isinstance(entry, tuple):
            return [value(part) for part in entry]
        return None if isinstance(entry, float) and not math.isfinite(entry) else entry

    return {name: value(entry) for name, entry in record._asdict().items()}


def _flat(record: Standing | Pair) -> dict[str, object]:
    """Return a record as one row of a table: estimates and intervals in columns of their own."""
    row: dict[str, object] = {}
    for name, entry in record._asdict().items():
        if isinstance(entry, Estimate):
            row |= {
                name: entry.mean,
                f"{name}_se": entry.se,
                f"{name}_low": entry.low,
                f"{name}_high": entry.high,
            }
        elif isinstance(entry, tuple):
            row |= {f"{name}_low": entry[0], f"{name}_high": entry[1]}
        else:
            row[name] = entry
    return row
