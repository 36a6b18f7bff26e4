"""Names and numbers as a figure writes them."""

from __future__ import annotations

import textwrap

from matplotlib.axes import Axes

from hrprob.plot.style import GREY

__all__ = ["format_number", "label_of", "note_above"]


def label_of(name: str) -> str:
    r"""Return a policy's name as plain text (no mathematics), in lines short enough for a legend.

    Examples
    --------
    >>> label_of("HR-UCB with a long name ($K=5$)")
    'HR-UCB with a long\nname (\\$K=5\\$)'
    """
    text = "\n".join(textwrap.wrap(name, 20)).replace("$", r"\$")
    # Matplotlib leaves a label out of the legend if it begins with an underscore.
    return f" {text}" if text.startswith("_") else text


def format_number(value: float) -> str:
    """Return a number as an axis shows it.

    Examples
    --------
    >>> format_number(-1234.5678)
    '−1235'
    """
    return f"{value:.4g}".replace("-", "−")


def note_above(axes: Axes, text: str) -> None:
    """Write a short explanation above a panel, in grey."""
    text = "\n".join(textwrap.wrap(text, 48)).replace("$", r"\$")
    axes.set_title(text, loc="left", color=GREY, fontsize=7, pad=3)
