"""A table of results: header, rows and caption, for the terminal, a page, a notebook and a paper."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

from hrprob._core.formatting import MINUS, format_number, typeset

__all__ = ["ResultTable", "frame_of", "latex_text"]

if TYPE_CHECKING:
    import pandas

# A cell with more characters is a sentence; a page gives it room.
_LONG = 60
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{NO-BREAK SPACE}": "~",
    MINUS: "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "<": "$<$",
    ">": "$>$",
    "∞": r"$\infty$",
    "–": "--",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "δ": r"$\delta$",
    "ε": r"$\epsilon$",
    "θ": r"$\theta$",
    "λ": r"$\lambda$",
    "µ": r"$\mu$",
    "ξ": r"$\xi$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
    "φ": r"$\phi$",
    "²": "$^2$",
    "†": r"$\dagger$",
}


class ResultTable(NamedTuple):
    """A table that prints itself in columns, and that notebooks, pages and papers show.

    Attributes
    ----------
    header : sequence of str
        The names of the columns.
    rows : sequence of sequences
        The cells: texts and numbers.
    caption : str
        What the table shows.
    meanings : mapping of str to str
        What the columns mean, by their names, as far as the names do not say it.

    Examples
    --------
    >>> table = ResultTable(["policy", "regret"], [["greedy", 231.3], ["random", -37]])
    >>> print(table)
    policy  regret
    greedy   231.3
    random     −37
    >>> print(table.to_markdown())
    | policy | regret |
    |:--|--:|
    | greedy | 231.3 |
    | random | −37 |
    """

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    meanings: Mapping[str, str] = {}

    def __str__(self) -> str:
        return "\n".join([self.in_columns(), *self._below(())])

    def texts(self) -> list[list[str]]:
        """Return the cells as they are written."""
        return [[_text(cell) for cell in row] for row in self.rows]

    def in_columns(self) -> str:
        """Return header and rows as text in columns: the first aligned left, the others right."""
        rows = [list(self.header), *self.texts()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    def to_markdown(self, notes: Sequence[str] = ()) -> str:
        """Return a Markdown table, with its caption and the notes below it."""
        header = [_markdown(name) for name in self.header]
        marks = [":--", *["--:"] * (len(header) - 1)]
        rows = [[_markdown(cell) for cell in row] for row in self.texts()]
        table = "\n".join([_line(header), f"|{'|'.join(marks)}|", *map(_line, rows)])
        return "\n\n".join([table, *self._below(notes)])

    def to_latex(self, notes: Sequence[str] = ()) -> str:
        r"""Return a LaTeX table for the package booktabs, with its caption and the notes below it.

        Examples
        --------
        >>> print(ResultTable(["policy", "95 %"], [["a_b", "[−1, 2]"]]).to_latex())
        \begin{tabular}{lr}
        \toprule
        policy & 95 \% \\
        \midrule
        a\_b & [$-$1, 2] \\
        \bottomrule
        \end{tabular}
        """
        lines = [" & ".join(map(latex_text, row)) + r" \\" for row in [list(self.header), *self.texts()]]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                *(rf"\par{{\footnotesize {latex_text(words)}}}" for words in self._below(notes)),
            ]
        )

    def _below(self, notes: Sequence[str]) -> list[str]:
        return [words for words in (self.caption, *notes) if words]

    def to_html(self, classes: str = "", row_classes: Sequence[str] | None = None) -> str:
        """Return an HTML table, without its caption; cells that hold numbers are aligned right.

        Parameters
        ----------
        classes : str
            The CSS class of the table.
        row_classes : sequence of str, optional
            The CSS class of each row.
        """
        chosen = [""] * len(self.rows) if row_classes is None else row_classes
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.header)
        head = "".join(
            f"<th{_class('number' if _all_numbers(column) else '')}>{html.escape(name)}</th>"
            for name, column in zip(self.header, columns, strict=True)
        )
        body = "".join(
            f"<tr{_class(name)}>{''.join(map(_cell, row))}</tr>"
            for row, name in zip(self.rows, chosen, strict=True)
        )
        return f"<table{_class(classes)}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _repr_html_(self) -> str:
        caption = f"<p>{html.escape(self.caption)}</p>" if self.caption else ""
        return self.to_html() + caption


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _text(cell: object) -> str:
    """Return a cell as it is written; nothing for None and NaN.

    Examples
    --------
    >>> [_text(cell) for cell in (2.5, float("nan"), None, "greedy")]
    ['2.5', '', '', 'greedy']
    """
    if cell is None or cell != cell:  # NaN is not equal to itself
        return ""
    if isinstance(cell, bool) or not isinstance(cell, SupportsFloat):
        return typeset(str(cell))
    return format_number(cell)


def _cell(value: object) -> str:
    """Return a cell of an HTML table.

    Examples
    --------
    >>> [_cell(value) for value in (2.5, None, "greedy", "[−1, 2]")]
    ['<td class="number">2.5</td>', '<td></td>', '<td>greedy</td>', '<td class="number">[−1, 2]</td>']
    """
    text = _text(value)
    kind = "number" if _is_number(text) else "words" if len(text) > _LONG else ""
    return f"<td{_class(kind)}>{html.escape(text)}</td>"


def _all_numbers(column: Iterable[object]) -> bool:
    """Say whether all cells are numbers or empty, and some are numbers."""
    texts = [text for text in map(_text, column) if text]
    return bool(texts) and all(map(_is_number, texts))


def _is_number(text: str) -> bool:
    """Say whether a text is a number, perhaps with an error or an interval."""
    return text.lstrip(f"+[<{MINUS} ")[:1].isdigit() and not any(letter.isalpha() for letter in text)


def _markdown(cell: str) -> str:
    return cell.replace("|", r"\|")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex_text(cell: str) -> str:
    """Return a text with what LaTeX would read as commands or does not know written for it."""
    return "".join(_LATEX.get(letter, letter) for letter in cell)


def frame_of(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """Return rows of named numbers and texts as a data frame.

    Examples
    --------
    >>> print(frame_of([{"policy": "greedy", "regret": 231.3}]).to_string(index=False))
    policy  regret
    greedy   231.3
    """
    names = list(rows[0]) if rows else []
    # By way of xarray, which loads pandas; both only when a frame is asked for.
    import xarray

    columns = {name: ("row", [row[name] for row in rows]) for name in names}
    return xarray.Dataset(columns).to_dataframe()[names].reset_index(drop=True)
