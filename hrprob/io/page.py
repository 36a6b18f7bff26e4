"""A self-contained HTML page: text, tables and figures, with nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import contextlib
import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from hrprob._core.formatting import typeset
from hrprob.io.result_table import ResultTable
from hrprob.io.verdicts import FAILS, PASSES, UNDECIDED, Answer, Verdict
from hrprob.plot.sizes import DOTS_PER_INCH

__all__ = ["Report"]

# A figure of 6.8 inches, the width of a page of a paper, is then as wide as the text.
_REM_PER_INCH = 8.7
# Tables with more columns are set in smaller type.
_MANY_COLUMNS = 8

_MARKS = {True: "good", False: "bad", None: ""}

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1d2733; background: #fff; margin: 0 auto;
       max-width: 62rem; padding: 2rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid #d8dee6; }
p { max-width: 46rem; }
.lead { color: #46556a; }
.answer { font-size: 1.15rem; font-weight: 600; line-height: 1.45; max-width: 52rem; margin: .6rem 0; }
dl.columns { color: #46556a; font-size: .82rem; line-height: 1.45; margin: -.6rem 0 1.6rem; display: grid;
             grid-template-columns: max-content 1fr; gap: .1rem .8rem; max-width: 56rem; }
dl.columns dt { font-weight: 600; }
dl.columns dd { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; margin: .4rem 0 1.2rem; }
.caption { color: #46556a; font-size: .88rem; margin: .8rem 0 0; }
table.wide { font-size: .8rem; }
table.wide th, table.wide td { padding: .25rem .4rem; }
table.wide th { white-space: normal; vertical-align: bottom; }
th, td { padding: .3rem .75rem; text-align: left; border-bottom: 1px solid #e3e8ee; vertical-align: top; }
th { border-bottom: 2px solid #9aa7b6; white-space: nowrap; }
th.number { text-align: right; }
td:first-child { white-space: nowrap; }
tr:has(td.words) td:first-child { white-space: normal; }
td.words { min-width: 16rem; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.good td:last-child { color: #00664a; }
tr.bad td:last-child { color: #a33b00; font-weight: 600; }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; }
figcaption { color: #46556a; font-size: .9rem; max-width: 46rem; }
ul.verdicts { padding-left: 1.2rem; max-width: 48rem; }
ul.verdicts li { margin: .3rem 0; }
.good::marker { content: "✓ "; color: #00664a; }
.bad::marker { content: "✗ "; color: #a33b00; }
ul.verdicts .detectable { color: #46556a; font-size: .88rem; display: block; }
ul.verdicts .end { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.answer.no { color: #a33b00; }
.answer.yes { color: #00664a; }
details { margin: .6rem 0 1rem; }
summary { cursor: pointer; color: #1d4f91; }
nav { font-size: .9rem; margin: 1rem 0; }
nav a { display: inline-block; margin-right: 1rem; white-space: nowrap; }
footer { margin-top: 3rem; color: #46556a; font-size: .82rem; }
"""


class Report:
    """A page, to which parts are added from top to bottom.

    Parameters
    ----------
    title, lead : str
        The title, and one paragraph below it.
    first : str
        The answer, in a sentence of larger type between the two.

    Examples
    --------
    >>> page = Report("Title", "What it shows.")
    >>> page.heading("One")
    >>> page.table(["policy", "regret"], [["greedy", 231.3]])
    >>> "<td>greedy</td>" in page.render()
    True
    """

    def __init__(self, title: str, lead: str, first: str = "") -> None:
        self._title, self._lead, self._first = title, lead, first
        self._answer = ""
        self._parts: list[str] = []
        self._headings: list[str] = []

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._headings.append(text)
        self._parts.append(f'<h2 id="s{len(self._headings)}">{html.escape(text)}</h2>')

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{_escaped(text)}</p>")

    def verdicts(self, verdicts: Sequence[tuple[bool | None, str]]) -> None:
        """Add a list of findings, each marked as good (True), bad (False) or neither (None)."""
        items = "".join(f'<li class="{_MARKS[good]}">{_escaped(text)}</li>' for good, text in verdicts)
        self._parts.append(f'<ul class="verdicts">{items}</ul>')

    def answer(self, answer: Answer) -> None:
        """Answer the title right below it: one sentence, at most five verdicts, and the others folded.

        Fails and passes are coloured; what is undecided is not.
        """
        colour = {"yes": " yes", "no": " no"}.get(answer.answer, "")
        self._answer = f'<p class="answer{colour}">{_escaped(answer.sentence)}</p>'
        self._answer += _verdict_list(answer.shown)
        if answer.folded:
            count = len(answer.folded)
            more = f"<summary>{count} more verdict{'s' * (count > 1)}</summary>{_verdict_list(answer.folded)}"
            self._answer += f"<details>{more}</details>"

    @contextlib.contextmanager
    def folded(self, title: str) -> Iterator[None]:
        """Fold what is added within, under a line that unfolds it."""
        self._parts.append(f"<details><summary>{_escaped(title)}</summary>")
        yield
        self._parts.append("</details>")

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        caption: str = "",
        good: Sequence[bool | None] | None = None,
    ) -> None:
        """Add a table; ``good`` marks its rows as in :meth:`verdicts`, numbers are aligned right."""
        self.result_table(ResultTable(header, rows, caption), good)

    def result_table(self, table: ResultTable, good: Sequence[bool | None] | None = None) -> None:
        """Add a table with its caption above and the meanings of its columns below."""
        marks = None if good is None else [_MARKS[mark] for mark in good]
        # The caption stands outside the part that scrolls, so that all of it is visible.
        title = f'<p class="caption">{_escaped(table.caption)}</p>' if table.caption else ""
        wide = "wide" if len(table.header) > _MANY_COLUMNS else ""
        meanings = "".join(
            f"<dt>{_escaped(name)}</dt><dd>{_escaped(words)}</dd>" for name, words in table.meanings.items()
        )
        columns = f'<dl class="columns">{meanings}</dl>' if meanings else ""
        self._parts.append(f'{title}<div class="scroll">{table.to_html(wide, marks)}</div>{columns}')

    def figure(self, path: Path, caption: str, alt: str = "") -> None:
        """Embed a PNG or SVG file."""
        kind = {".png": "image/png", ".svg": "image/svg+xml"}[path.suffix]
        content = path.read_bytes()
        data = base64.b64encode(content).decode("ascii")
        # Displayed in proportion to its width, so that text has one size in all figures. Bytes 16 to 19 of a
        # PNG file are its width in pixels.
        pixels = int.from_bytes(content[16:20], "big") if path.suffix == ".png" else 0
        width = f' style="width: {pixels / DOTS_PER_INCH * _REM_PER_INCH:.1f}rem"' if pixels else ""
        self._parts.append(
            f'<figure><img{width} alt="{html.escape(alt or caption)}" src="data:{kind};base64,{data}">'
            f"<figcaption>{_escaped(caption)}</figcaption></figure>"
        )

    def footer(self, text: str) -> None:
        """Add a closing line: versions, seed, time."""
        self._parts.append(f"<footer>{html.escape(text)}</footer>")

    def render(self) -> str:
        """Return the page."""
        links = "".join(
            f'<a href="#s{number}">{html.escape(text)}</a>' for number, text in enumerate(self._headings, 1)
        )
        sentence, _, rest = self._first.partition(". ")
        answer = f'<p class="answer">{_escaped(sentence + "." if rest else sentence)}</p>' if sentence else ""
        answer += f"<p>{_escaped(rest)}</p>" if rest else ""
        return (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self._title)}</title><style>{_STYLE}</style></head><body>"
            f'<h1>{html.escape(self._title)}</h1>{answer}{self._answer}<p class="lead">{_escaped(self._lead)}</p>'
            f"<nav>{links}</nav>{''.join(self._parts)}</body></html>\n"
        )


def _verdict_list(verdicts: Sequence[Verdict]) -> str:
    marks = {PASSES: "good", FAILS: "bad", UNDECIDED: ""}
    items = "".join(
        f'<li class="{marks[one.verdict]}"><b>{_escaped(one.name)}</b>{_end_in_words(one)}: {_escaped(one.statement)}'
        + _escaped(one.advice)
        + (f'<span class="detectable">{_escaped(one.detectable)}</span>' if one.detectable else "")
        + "</li>"
        for one in verdicts
    )
    return f'<ul class="verdicts">{items}</ul>'


def _end_in_words(verdict: Verdict) -> str:
    """Return how a verdict ended, where no mark says it; for screen readers otherwise."""
    return " undecided" if verdict.verdict == UNDECIDED else f'<span class="end"> {verdict.verdict}</span>'


def _escaped(text: str) -> str:
    """Return a text for HTML, with its numbers typeset."""
    return html.escape(typeset(text))
