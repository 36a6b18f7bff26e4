"""A table of results: header, rows and caption, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ResultTable"]


class ResultTable(NamedTuple):
    """A table that is printed in columns, or set as HTML by :meth:`hrprob.io.page.Report.table`.

    Examples
    --------
    >>> table = ResultTable(["policy", "regret"], [["greedy", 231.3], ["random", 37000]])
    >>> print(table.in_columns())
    policy  regret
    greedy   231.3
    random   37000
    """

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""

    def in_columns(self) -> str:
        """Return header and rows as text in columns: the first aligned left, the others right."""
        rows = [list(self.header), *([str(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )
