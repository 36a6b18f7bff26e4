"""Tables of words: where a table has four columns or more and its last one has sentences, a narrow window shows blocks.

The style sheet turns the rows of tables of class ``prose`` into blocks there. Tables of numbers stay tables, because
a number says nothing without the heading of its column; they scroll. Cells with a sentence get the class ``words``, which keeps
them from being squeezed, cells with a number alone get ``number``, and code that may break gets ``long``.

On every page a number and its standard error, 363 ± 17, stay on one line.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

_COLUMNS = 4
# A cell of a table of numbers, an interval for example, is shorter on average.
_CHARACTERS = 20
# Of a table of words, at most this share of cells begins with a digit.
_DIGITS = 1 / 3
_SENTENCE = 45
_LONG_NAME = 20
_ERROR = re.compile(r"(?<=\d) ± (?=\d)")
_NUMBER = re.compile(r"[−+]?\d[\d\s.,]*(\s*±\s*[\d.,]+)?(\s*%)?")


def mark(app: Sphinx, document: nodes.document) -> None:
    """Give the tables of words of a page their class, and cells and names theirs."""
    for table in document.findall(nodes.table):
        rows = [row.children for body in table.findall(nodes.tbody) for row in body.children]
        cells = [cell for row in rows if len(row) >= _COLUMNS for cell in row]
        last = [len(row[-1].astext()) for row in rows if len(row) >= _COLUMNS]
        digits = sum(cell.astext()[:1].isdigit() for cell in cells)
        if last and sum(last) > _CHARACTERS * len(last) and digits <= _DIGITS * len(cells):
            table["classes"].append("prose")
        for cell in cells:
            text = cell.astext()
            kinds = {"words": len(text) > _SENTENCE, "number": _NUMBER.fullmatch(text)}
            cell["classes"] += [kind for kind, applies in kinds.items() if applies]
        for name in table.findall(nodes.literal):
            if len(name.astext()) > _LONG_NAME:
                name["classes"].append("long")


def keep_together(app: Sphinx, document: nodes.document) -> None:
    """Put spaces that do not break between numbers and their standard errors."""
    for text in list(document.findall(nodes.Text)):
        if _ERROR.search(text) and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(_ERROR.sub("\u00a0±\u00a0", text)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both."""
    app.connect("doctree-read", mark)
    app.connect("doctree-read", keep_together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
