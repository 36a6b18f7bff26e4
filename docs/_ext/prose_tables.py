"""Tables of words: where a table has four columns or more and its last one has sentences, a narrow window shows blocks.

The style sheet turns the rows of tables of class ``prose`` into blocks there. Tables of numbers stay tables, because
a number says nothing without the heading of its column; they scroll.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

_COLUMNS = 4
# A cell of a table of numbers, an interval for example, is shorter on average.
_CHARACTERS = 20


def mark(app: Sphinx, document: nodes.document) -> None:
    """Give the tables of words of a page their class."""
    for table in document.findall(nodes.table):
        rows = [row for body in table.findall(nodes.tbody) for row in body.children]
        last = [len(row.children[-1].astext()) for row in rows if len(row.children) >= _COLUMNS]
        if last and sum(last) > _CHARACTERS * len(last):
            table["classes"].append("prose")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the mark."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
