"""Figures of known numbers: what is marked, and that ArviZ of this version draws the chains."""

import numpy as np
import pytest
import xarray
from arviz_base import from_dict

from hrprob.diagnostics import figures


def colours(figure):
    return [axes.lines[0].get_color() for axes in figure.axes]


def test_a_curve_that_leaves_its_band_is_marked():
    rng = np.random.default_rng(0)
    figure = figures.plot_pit({"sound": rng.uniform(size=200), "not": rng.uniform(size=200) ** 2}, 0.01)
    sound, other = colours(figure)
    assert sound != other
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["sound", "not"]


def test_histograms_of_uniform_places_are_seldom_marked():
    rng = np.random.default_rng(1)
    names = [f"q{number}" for number in range(300)]
    places = xarray.DataArray(
        rng.uniform(size=(300, 100)), dims=("quantity", "data_set"), coords={"quantity": names}
    )
    marked = 0
    for first in range(0, 300, 12):
        figure = figures.plot_ranks({"engine": places[first : first + 12]})
        faces = {axes.patches[-1].get_facecolor() for axes in figure.axes}
        blue = figures.plots.look_of(0).color
        from matplotlib.colors import to_rgba

        marked += sum(axes.patches[-1].get_facecolor()[:3] != to_rgba(blue)[:3] for axes in figure.axes)
        assert faces
    # One in a hundred at most, 300 of them: more than 9 has a chance of 1e-3.
    assert marked <= 9


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_arviz_draws_the_chains():
    rng = np.random.default_rng(2)
    groups = {
        "posterior": {"theta": rng.normal(size=(4, 100, 2)), "phi": rng.normal(size=(4, 100, 2))},
        "sample_stats": {"energy": rng.normal(size=(4, 100)), "diverging": np.zeros((4, 100), dtype=bool)},
    }
    drawn = figures.plot_chains(from_dict(groups, dims={"theta": ["feature"], "phi": ["feature"]}))
    assert list(drawn) == ["trace", "rank", "energy"]
    for figure in drawn.values():
        assert any(axes.has_data() for axes in figure.axes)
