"""Names of policies as a figure writes them, and notes above panels."""

from __future__ import annotations

import textwrap

import xarray
from matplotlib.axes import Axes

from hrprob.plot.style import GREY
from hrprob.simulation.reading import short_beliefs

__all__ = ["label_of", "labels_of", "note_above"]


def label_of(name: str, width: int = 20) -> str:
    r"""Return a policy's name as plain text (no mathematics), in lines short enough for a legend: of ``width`` characters.

    Examples
    --------
    >>> label_of("HR-UCB with a long name ($K=5$)")
    'HR-UCB with a long\nname (\\$K=5\\$)'
    """
    text = "\n".join(textwrap.wrap(name, width, break_on_hyphens=False)).replace("$", r"\$")
    # Matplotlib leaves a label out of the legend if it begins with an underscore.
    return f" {text}" if text.startswith("_") else text


def labels_of(result: xarray.Dataset) -> dict[str, str]:
    r"""Return the labels of a result's policies; those with wrong beliefs have them in brackets.

    Examples
    --------
    >>> result = xarray.Dataset(
    ...     coords={"policy": ["a", "b"]},
    ...     attrs={"misspecified": '{"b": {"noise": {"kind": "student-t"}}}', "problem": '{"noise": {"kind": "normal"}}'})
    >>> labels_of(result)
    {'a': 'a', 'b': 'b (assumes student-t\nnoise)'}
    """
    beliefs = short_beliefs(result)
    names = [str(name) for name in result.policy.values]
    return {name: label_of(f"{name} ({beliefs[name]})" if name in beliefs else name) for name in names}


def note_above(axes: Axes, text: str) -> None:
    """Write a short explanation above a panel, in grey."""
    width = 48 if axes.get_figure(root=True).get_figwidth() < 4 else 100  # type: ignore[union-attr]
    text = "\n".join(textwrap.wrap(text, width)).replace("$", r"\$")
    axes.set_title(text, loc="left", color=GREY, fontsize=7, pad=3)
