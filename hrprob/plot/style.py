"""Colours, markers and Matplotlib settings that every figure shares."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import matplotlib

from hrprob.plot.sizes import DOTS_PER_INCH

__all__ = ["BAND", "GREY", "SETTINGS", "LineStyle", "Look", "look_of", "style"]

GREY = "#555555"
"""Colour of text that explains a figure."""

BAND = "#D9D9D9"
"""Colour of bands in which curves or points should lie."""

LineStyle = str | tuple[int, tuple[int, ...]]

# Grey replaces their yellow, which is hard to see on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_LINES: tuple[LineStyle, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")

SETTINGS = {
    "figure.dpi": 100,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "savefig.dpi": DOTS_PER_INCH,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 6),
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    # The same figure gives the same file, and its text stays text.
    "svg.hashsalt": "hrprob",
    "svg.fonttype": "none",
}


class Look(NamedTuple):
    """How one policy is drawn, the same in every figure."""

    color: str
    linestyle: LineStyle
    marker: str


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Return a context in which figures have hrprob's style.

    Whether figures are shown as they are made is not part of it: a notebook switches that on with the first figure,
    which may be made in this context, and it stays on.

    Examples
    --------
    >>> with style():
    ...     float(matplotlib.rcParams["font.size"])
    8.0
    """
    interactive = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context(SETTINGS):
            try:
                yield
            finally:
                interactive = matplotlib.is_interactive()
    finally:
        matplotlib.interactive(interactive)


def look_of(index: int) -> Look:
    """Return the look of the policy with this index, counted from 0; the first 440 differ.

    Examples
    --------
    >>> look_of(0)
    Look(color='#0072B2', linestyle='-', marker='o')
    """
    return Look(_COLOURS[index % len(_COLOURS)], _LINES[index % len(_LINES)], _MARKERS[index % len(_MARKERS)])
